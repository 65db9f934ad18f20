"""Pictures of image models: what was asked of single images, and how often each patch is asked of many."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from askwise.core.arrays import Array
from askwise.core.rows import Rows, evenly
from askwise.core.step import StoppingRule
from askwise.data.images.patches import PatchLayout
from askwise.evaluation.image_cases import (
    AskedImage,
    ImageCase,
    asked_image,
    image_case,
    image_schema,
    labels_of,
    mean_image,
    patch_shares,
)
from askwise.evaluation.metrics import as_labelled
from askwise.methods.base import Method
from askwise.model.model import Acquisition, Costs, Model
from askwise.report.plots.style import (
    CATEGORIES,
    INK,
    ORANGE,
    PALE,
    SOFT,
    new_figure,
    number_text,
    panel_words,
    plain,
    verdict,
)
from askwise.session.replies import in_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.gridspec import SubplotSpec
    from matplotlib.image import AxesImage
    from matplotlib.patches import Rectangle


HEAT = "YlGnBu"
MOMENTS = 3
MOST_LINES = 5
MARKERS = "osD^v"
MOST_MARKERS = 25
GREY = "grey: not seen by the model"
SKETCHED = "lines: a sketch, known from the start"
# How much of an image shows through where it was not asked, the grey that covers it, and that of a sketch's lines.
SHOWS, COVER, LINES = 0.3, 205, 90
# Sizes of numbers in points: below the first nobody reads them.
SMALLEST, LARGEST = 4.5, 10.0
# The width of a letter, in the size of its font, where a few are wide; letters in a line below a panel, at most.
LETTER, LONGEST_LINE = 0.56, 60


def case_picture(
    model: Method,
    image: Any,
    stop: StoppingRule | None = None,
    costs: Costs = None,
    truth: Any = None,
    name: str = "",
) -> Figure:
    """One image of an image model: what was asked of it, what each patch was worth, and how the prediction moved.

    image (height, width, channels), as the model takes it. truth: the right answer, where it is known. name: what the
    image is called, such as its file.
    """
    image_schema(model.model_)
    rule = model.stop if stop is None else stop
    case = image_case(model.model_, model.encode([image]), rule, costs)
    return draw_case(case, None if truth is None else as_labelled(model.model_.task, np.array([truth]))[0], name)


def selection_map(model: Method, images: Any, stop: StoppingRule | None = None, costs: Costs = None) -> pd.DataFrame:
    """In which share of the images each patch is asked: a line for each row of patches, counted from 1."""
    image_schema(model.model_)
    return patch_shares(model.model_, model.acquire(images, stop, costs))


def selection_picture(model: Method, images: Any, stop: StoppingRule | None = None, costs: Costs = None) -> Figure:
    """How often each patch is asked, beside the mean of the images."""
    shares = selection_map(model, images, stop, costs)
    return draw_selection(shares, mean_image(model.model_, model.encode(images)))


def examples_picture(
    model: Method,
    images: Any,
    labels: Any = None,
    stop: StoppingRule | None = None,
    n: int = 6,
    costs: Costs = None,
    names: Sequence[str] | None = None,
) -> Figure:
    """A sheet of n of the images with their asked patches numbered, spread evenly from few patches to many.

    names: what each image is called, such as its file; without them it is its row, counted from 0.
    """
    image_schema(model.model_)
    rows, acquired = model.encode(images), model.acquire(images, stop, costs)
    by_number = np.argsort(acquired.n_asked, kind="stable")
    chosen = by_number[evenly(len(by_number), n).numpy()]
    truth = None if labels is None else as_labelled(model.model_.task, np.asarray(labels))
    return draw_examples(model.model_, rows, acquired, chosen.tolist(), truth, names)


def draw_case(case: ImageCase, truth: Any = None, name: str = "") -> Figure:
    """The picture of a case from its numbers; truth: a label as the model writes it, or a number."""
    width = 4.7 * float(np.clip(case.layout.width / case.layout.height, 0.5, 1))
    words = _legend([case]) + ["crossed: can't be had"] * bool(case.absent.any())
    below = "\n".join(_fitting(line, 0.85 * width, 9) for line in (*words, end_of(name)) if line)
    figure = new_figure(width + 5.9, 4.9 + 0.15 * max(0, below.count("\n") - 2))
    grid = figure.add_gridspec(2, 2, width_ratios=[width, 6])
    ax = figure.add_subplot(grid[:, 0])
    draw_patches(ax, case, 3.9)
    ax.set_anchor("NW")
    _panel_title(ax, "What was asked, in this order")
    ax.set_xlabel(below, fontsize=9, color=SOFT, loc="left")
    _draw_values(figure, grid[0, 1], case)
    _draw_answers(figure.add_subplot(grid[1, 1]), case, truth)
    n = len(case.asked)
    spent = "" if case.spent == n else f" for {number_text(case.spent)}"
    said, colour = _says(case.labels, case.answers[-1], truth, sure=True)
    title = f"{n} of {case.layout.n_patches} patches{spent}: {said}"
    figure.suptitle(title, x=0.004, ha="left", fontsize=12, fontweight="bold", color=colour)
    return figure


def _legend(asked: Sequence[AskedImage]) -> list[str]:
    """What the pale parts of images are, where they have any."""
    pale = [one for one in asked if len(one.asked) + int(one.absent.sum()) < one.layout.n_patches]
    return [GREY] * bool(pale) + [SKETCHED] * any(one.sketch is not None for one in pale)


def _fitting(words: str, inches: float, size: float) -> str:
    """Words on as many lines as it takes to stay within a width; the layout of a figure would let them be cut off."""
    return textwrap.fill(words, max(8, int(72 * inches / (LETTER * size))), break_on_hyphens=False)


def end_of(name: str, longest: int = 40) -> str:
    """The name of a file, from its end where it is long: folders come first, and are often the same."""
    return plain(name if len(name) <= longest else f"…{name[1 - longest :]}", longest)


def _says(
    labels: tuple[Any, ...] | None, answer: Array, truth: Any, longest: int = 26, sure: bool = False
) -> tuple[str, str]:
    """What is said in the end, how sure where that is wanted, whether it is so, and the colour of these words."""
    if labels is None:
        true = "" if truth is None else f", is {number_text(float(truth))}"
        return f"says {number_text(float(answer[0]))}{true}", INK
    return verdict(labels[int(answer.argmax())], truth, longest, float(answer.max()) if sure else None)


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
        ax.add_patch(_cell(layout, patch, p, facecolor="white", edgecolor=PALE, hatch="xxx", linewidth=0))
    for order, patch in enumerate(asked.asked):
        # White around a colour: seen on any image.
        ax.add_patch(_cell(layout, patch, p, fill=False, edgecolor="white", linewidth=2.2 * thick))
        ax.add_patch(_cell(layout, patch, p, fill=False, edgecolor=ORANGE, linewidth=thick))
        row, column = divmod(patch, layout.grid[1])
        _number(ax, (column + 0.06) * p - 0.5, (row + 0.06) * p - 0.5, order + 1, points)
    _bare(ax)


def _number(ax: Axes, x: float, y: float, number: int, points: float) -> None:
    """A number in the corner of a cell that is so many points wide; nothing where it could not be read."""
    from matplotlib.patheffects import withStroke

    size = min(LARGEST, 0.42 * points, 1.05 * points / len(str(number)))
    if size >= SMALLEST:
        ax.text(
            x, y, str(number), ha="left", va="top", fontsize=size, fontweight="bold", color=INK,
            path_effects=[withStroke(linewidth=size / 4, foreground="white")], zorder=5,
        )  # fmt: skip


def _cell(layout: PatchLayout, patch: int, side: float, **style: Any) -> Rectangle:
    from matplotlib.patches import Rectangle

    row, column = divmod(patch, layout.grid[1])
    return Rectangle((column * side - 0.5, row * side - 0.5), side, side, **style)


def _panel_title(ax: Axes, words: str) -> None:
    ax.set_title(words, loc="left", fontsize=9.5, color=INK, pad=4)


def _bare(ax: Axes) -> None:
    ax.set_xticks([])
    ax.set_yticks([])
    ax.spines[:].set_color(PALE)


def _draw_values(figure: Figure, place: SubplotSpec, case: ImageCase) -> None:
    """The estimate for every open patch at some moments, in the same colours; a ring is around what is asked next."""
    from matplotlib.colors import PowerNorm

    n = len(case.asked)
    moments = sorted({0, -(-n // MOMENTS), n})
    shown = case.values[moments]
    finite = shown[np.isfinite(shown)]
    # Information is never negative; what is only an order may be.
    low = 0.0 if case.unit else float(finite.min(initial=0.0))
    high = max(float(finite.max(initial=low)), low + 1e-9)
    if any(values.max() == high <= 2 * values.min() for one in shown if len(values := one[np.isfinite(one)])):
        # A map of values much alike, the largest of all, would be dark all over.
        high *= 2
    # The first answers take most of what is to be known: in even colours all later maps would be pale.
    norm = PowerNorm(0.5, low, high, clip=True)
    grid = place.subgridspec(1, MOMENTS)
    axes = [figure.add_subplot(grid[0, i]) for i in range(MOMENTS)]
    for ax in axes[len(moments) :]:
        ax.set_axis_off()
    for ax, moment, values in zip(axes, moments, shown, strict=False):
        drawn = ax.imshow(np.ma.masked_invalid(values), cmap=HEAT, norm=norm)
        hatched: dict[str, Any] = {"facecolor": "white", "edgecolor": SOFT, "hatch": "////", "linewidth": 0}
        for patch in np.flatnonzero(np.isnan(values)).tolist():
            ax.add_patch(_cell(case.layout, patch, 1, **hatched))
        if moment < n:
            ax.add_patch(_cell(case.layout, case.asked[moment], 1, fill=False, edgecolor=ORANGE, linewidth=2, zorder=4))
        when = f"after {moment}" if moment else "before asking"
        _panel_title(ax, when + (", at the stop" if moment == n else ""))
        if np.isfinite(values).any():
            ax.set_xlabel(f"at most {number_text(float(f'{np.nanmax(values):.2g}'))}", fontsize=9, color=SOFT)
        _bare(ax)
    _colour_bar(figure, drawn, axes, f"information\nin {case.unit}" if case.unit else "score\n(an order only)")


def _colour_bar(figure: Figure, drawn: AxesImage, axes: Sequence[Axes], label: str = "", form: Any = None) -> None:
    from matplotlib.ticker import MaxNLocator

    low, high = drawn.get_clim()
    # Ticks beyond the end would be drawn on top of the last one.
    ticks = [tick for tick in MaxNLocator(nbins=5).tick_values(low, high) if low <= tick <= high]
    bar = figure.colorbar(drawn, ax=axes, shrink=0.85, pad=0.02, aspect=16, format=form, ticks=ticks)
    bar.ax.spines[:].set_visible(False)
    bar.ax.tick_params(labelsize=8, colors=SOFT)
    bar.set_label(label, fontsize=9, color=INK)


def _draw_answers(ax: Axes, case: ImageCase, truth: Any) -> None:
    """The prediction after each patch, up to the stop, and why it stopped there."""
    from matplotlib.ticker import MaxNLocator

    words = "probability"
    if case.labels is not None:
        _draw_probabilities(ax, case, case.labels, truth)
    else:
        ax.plot(case.answers[:, 0], **_line(case, 0))
        words = "prediction"
        if truth is not None:
            ax.axhline(float(truth), color=ORANGE, linewidth=1.4, linestyle="--")
            words = "prediction (dashed: true)"
    why = in_words(case.reason)
    by = f"stopped by {plain(case.rule, LONGEST_LINE - 12)}:" if case.rule else "stopped:"
    stopped = f"{by} {why}" if len(f"{by} {why}") <= LONGEST_LINE else f"{by}\n{why}"
    panel_words(ax, "", f"patches asked\n{stopped}", words, size=10)
    ax.axvline(len(case.asked), color=SOFT, linewidth=1, linestyle=(0, (1, 2)), zorder=1)
    ax.set_xlim(-0.02 * len(case.asked), max(1, 1.02 * len(case.asked)))
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    _panel_title(ax, "How the prediction moved")


def _line(case: ImageCase, place: int) -> dict[str, Any]:
    """The look of a line: its colour, and markers that stay apart on a long way."""
    every = -(-len(case.answers) // MOST_MARKERS)
    style: dict[str, Any] = {"color": CATEGORIES[place], "marker": MARKERS[place], "markevery": every}
    return style | {"markersize": 4, "linewidth": 1.6}


def _draw_probabilities(ax: Axes, case: ImageCase, labels: tuple[Any, ...], truth: Any) -> None:
    """A line for the true label, the one that is said, and those that were likeliest on the way."""
    last, highest = case.answers[-1], case.answers.max(0)
    kept = sorted(range(len(last)), key=lambda i: (labels[i] != truth, i != last.argmax(), -highest[i]))[:MOST_LINES]
    for place, i in enumerate(sorted(kept, key=lambda i: -last[i])):
        is_true = truth is not None and labels[i] == truth
        label = f"{plain(labels[i], 18)}{' (true)' if is_true else ''}: {last[i]:.0%}"
        ax.plot(case.answers[:, i], label=label, clip_on=False, zorder=3, **_line(case, place))
    ax.set_ylim(0, 1)
    some = f"\n({len(kept)} of {len(last)} labels)" if len(kept) < len(last) else ""
    ax.legend(
        loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False, fontsize=9, title=f"In the end{some}",
        title_fontsize=9, alignment="left", handlelength=1.4,
    )  # fmt: skip


def draw_selection(shares: pd.DataFrame, mean: Array) -> Figure:
    """The picture of `selection_map`'s table beside the mean image (height, width, channels)."""
    (n_rows, n_columns), (height, width, _) = shares.shape, mean.shape
    side = 3.9
    figure = new_figure(2 * side + 1.1, side * height / width + 0.5)
    left, right = figure.subplots(1, 2)
    left.imshow(mean if mean.shape[2] == 3 else mean[..., 0], cmap="gray", vmin=0, vmax=255)
    left.hlines(np.arange(1, n_rows) * height / n_rows - 0.5, -0.5, width - 0.5, color="white", linewidth=0.5)
    left.vlines(np.arange(1, n_columns) * width / n_columns - 0.5, -0.5, height - 0.5, color="white", linewidth=0.5)
    high = max(float(shares.to_numpy().max()), 1e-9)
    drawn = right.imshow(shares.to_numpy(), cmap=HEAT, vmin=0, vmax=high)
    size = min(9, 0.38 * 72 * side / n_columns)
    for (row, column), share in np.ndenumerate(shares.to_numpy()):
        if size >= SMALLEST and share >= 0.005:
            colour = "white" if share > 0.6 * high else INK
            right.text(column, row, f"{share:.0%}"[:-1], ha="center", va="center", fontsize=size, color=colour)
    _colour_bar(figure, drawn, [right], form=lambda share, _: f"{share:.0%}")
    for ax, words in ((left, "Mean of the images"), (right, "Asked in % of the images")):
        _bare(ax)
        ax.set_title(words, loc="left", fontsize=10.5, fontweight="bold", color=INK, pad=6)
    return figure


def draw_examples(
    model: Model,
    rows: Rows,
    acquired: Acquisition,
    which: Sequence[int],
    truth: Array | None = None,
    names: Sequence[str] | None = None,
) -> Figure:
    """The sheet of some images, by their positions in rows, acquired, truth and names."""
    layout, labels = image_schema(model).layout, labels_of(model)
    columns, side = len(which) if len(which) <= 4 else 3, 2.9
    n_lines = -(-len(which) // columns)
    width = side * columns + 0.2
    found = acquired.prediction if acquired.proba is None else acquired.proba
    assert found is not None
    answers = found.reshape(len(rows), -1)
    shown = [asked_image(model, rows.take(slice(i, i + 1)), acquired.order[i]) for i in which]
    title = _fitting("; ".join(["Patches asked, in this order", *_legend(shown)]), width, 10)
    above = 0.2 + 0.2 * len(title.splitlines())
    figure = new_figure(width, (side * layout.height / layout.width + 0.6) * n_lines + above)
    for place, i in enumerate(which):
        ax = figure.add_subplot(n_lines, columns, place + 1)
        draw_patches(ax, shown[place], side)
        said, colour = _says(labels, answers[i], None if truth is None else truth[i], 12)
        ax.set_title(said, loc="left", fontsize=10, fontweight="bold", color=colour, pad=4)
        below = f"row {i}" if names is None else end_of(names[i])
        ax.set_xlabel(f"{acquired.n_asked[i]} of {layout.n_patches} patches\n{below}", fontsize=9, color=SOFT)
    figure.suptitle(title, x=0.004, ha="left", fontsize=10, color=SOFT)
    return figure
