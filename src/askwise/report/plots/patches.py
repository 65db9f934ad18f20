"""An image with its patches on axes, and the words around it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from askwise.core.arrays import Array
from askwise.data.images.patches import PatchLayout
from askwise.evaluation.image_cases import AskedImage
from askwise.report.plots.style import INK, ORANGE, PALE, SOFT, number_text, plain, verdict, without_ticks

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage
    from matplotlib.patches import Rectangle


HEAT = "YlGnBu"
GREY = "grey: not seen by the model"
SKETCHED = "lines: a sketch, known from the start"
# How much of an image shows through where it was not asked, the grey that covers it, and that of a sketch's lines.
SHOWS, COVER, LINES = 0.3, 205, 90
# Sizes of numbers in points: below the first nobody reads them.
SMALLEST, LARGEST = 4.5, 10.0


def draw_patches(ax: Axes, asked: AskedImage, inches: float) -> None:
    """An image on axes: in colour where asked, with the order of asking; the rest pale, crossed where it is absent.

    inches: the width of the axes, by which numbers are sized.
    """
    layout, image = asked.layout, asked.image
    shown = COVER * (1 - SHOWS) + SHOWS * image.mean(2, keepdims=True).repeat(3, 2)
    if asked.sketch is not None:
        shown[asked.sketch > 0] = LINES
    for patch in asked.asked:
        shown[layout.window(patch)] = image[layout.window(patch)]
    ax.imshow(shown.astype(np.uint8), interpolation="nearest")
    p, points = layout.patch, 72 * inches * min(1, layout.width / layout.height) / layout.grid[1]
    thick = float(np.clip(points / 14, 0.5, 1.6))
    for patch in np.flatnonzero(asked.absent).tolist():
        ax.add_patch(patch_rectangle(layout, patch, p, facecolor="white", edgecolor=PALE, hatch="xxx", linewidth=0))
    for order, patch in enumerate(asked.asked):
        # White around a colour: seen on any image.
        ax.add_patch(patch_rectangle(layout, patch, p, fill=False, edgecolor="white", linewidth=2.2 * thick))
        ax.add_patch(patch_rectangle(layout, patch, p, fill=False, edgecolor=ORANGE, linewidth=thick))
        row, column = divmod(patch, layout.grid[1])
        _number(ax, (column + 0.06) * p - 0.5, (row + 0.06) * p - 0.5, order + 1, points)
    without_ticks(ax)


def _number(ax: Axes, x: float, y: float, number: int, points: float) -> None:
    """A number in the corner of a cell that is so many points wide; nothing where it could not be read."""
    from matplotlib.patheffects import withStroke

    size = min(LARGEST, 0.42 * points, 1.05 * points / len(str(number)))
    if size >= SMALLEST:
        ax.text(
            x, y, str(number), ha="left", va="top", fontsize=size, fontweight="bold", color=INK,
            path_effects=[withStroke(linewidth=size / 4, foreground="white")], zorder=5,
        )  # fmt: skip


def patch_rectangle(layout: PatchLayout, patch: int, side: float, **style: Any) -> Rectangle:
    from matplotlib.patches import Rectangle

    row, column = divmod(patch, layout.grid[1])
    return Rectangle((column * side - 0.5, row * side - 0.5), side, side, **style)


def colour_bar(figure: Figure, drawn: AxesImage, axes: Sequence[Axes], label: str = "", form: Any = None) -> None:
    from matplotlib.ticker import MaxNLocator

    low, high = drawn.get_clim()
    # Ticks beyond the end would be drawn on top of the last one.
    ticks = [tick for tick in MaxNLocator(nbins=5).tick_values(low, high) if low <= tick <= high]
    bar = figure.colorbar(drawn, ax=axes, shrink=0.85, pad=0.02, aspect=16, format=form, ticks=ticks)
    bar.ax.spines[:].set_visible(False)
    bar.ax.tick_params(labelsize=8, colors=SOFT)
    bar.set_label(label, fontsize=9, color=INK)


def patch_legend(asked: Sequence[AskedImage]) -> list[str]:
    """What the pale parts of images are, where they have any."""
    pale = [one for one in asked if len(one.asked) + int(one.absent.sum()) < one.layout.n_patches]
    return [GREY] * bool(pale) + [SKETCHED] * any(one.sketch is not None for one in pale)


def end_of(name: str, longest: int = 40) -> str:
    """The name of a file, from its end where it is long: folders come first, and are often the same."""
    return plain(name if len(name) <= longest else f"…{name[1 - longest :]}", longest)


def verdict_of(
    labels: tuple[Any, ...] | None, answer: Array, truth: Any, longest: int = 26, sure: bool = False
) -> tuple[str, str]:
    """What is said in the end, how sure where that is wanted, whether it is so, and the colour of these words."""
    if labels is None:
        true = "" if truth is None else f", is {number_text(float(truth))}"
        return f"says {number_text(float(answer[0]))}{true}", INK
    return verdict(labels[int(answer.argmax())], truth, longest, float(answer.max()) if sure else None)
