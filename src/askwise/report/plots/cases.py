"""Pictures of single cases: the path of their predictions, and the pixels that were asked of digits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from askwise.core.arrays import Array
from askwise.evaluation.summaries import PATH_FACTS
from askwise.report.plots.style import (
    BLUE,
    CATEGORIES,
    INK,
    ORANGE,
    PALE,
    SOFT,
    colour_legend,
    new_figure,
    number_text,
    plain,
    set_panel_title,
    tidy,
    verdict,
    without_ticks,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def paths(table: pd.DataFrame, truth: Sequence[Any] | Array | None = None, steps: int = 12, columns: int = 3) -> Figure:
    """The path of single rows, from `path_table`: the prediction after each question, from top to bottom.

    truth: the answers of all rows, by position. Of a longer path the first `steps` questions are drawn, and the last.
    """
    parts = [_shortened(part, steps) for _, part in table.groupby("row", sort=False)]
    columns = min(columns, len(parts))
    # A line of panels is as high as its longest path, and has one more slot for the reason of stopping.
    slots = [max(map(len, parts[i : i + columns])) + 1 for i in range(0, len(parts), columns)]
    figure = new_figure(3.9 * columns, sum(0.245 * n + 0.65 for n in slots) + 0.4)
    grid = figure.add_gridspec(len(slots), columns, height_ratios=slots)
    answers = [c for c in table.columns if c not in PATH_FACTS]
    colours = _label_colours(table, answers)
    for i, part in enumerate(parts):
        ax = figure.add_subplot(grid[i // columns, i % columns])
        true = None if truth is None else np.asarray(truth)[int(part["row"].iloc[0])]
        _path_axis(ax, part, slots[i // columns])
        if colours:
            _class_path(ax, part, colours, true)
        else:
            _number_path(ax, part, true)
    if colours:
        others = {"others": PALE} if len(answers) > len(colours) else {}
        labels = {_label(column): colour for column, colour in colours.items()}
        colour_legend(figure, "Probability after each question", labels | others)
    else:
        _same_range(figure.axes)
    return figure


def _shortened(part: pd.DataFrame, steps: int) -> pd.DataFrame:
    return part if len(part) <= steps + 2 else pd.concat([part.iloc[: steps + 1], part.iloc[-1:]])


def _label_colours(table: pd.DataFrame, answers: list[str]) -> dict[str, str]:
    """A colour for each label, none for numbers; of many labels, for those predicted in the end, then the likeliest."""
    if answers == ["prediction"]:
        return {}
    predicted = set(table.groupby("row")[answers].last().idxmax(axis=1))
    highest = table[answers].max()
    kept = sorted(answers, key=lambda a: (a not in predicted, -highest[a]))[: len(CATEGORIES)]
    return dict(zip([a for a in answers if a in kept], CATEGORIES, strict=False))


def _label(column: str) -> str:
    """The label of a column P(label)."""
    return column[2:-1]


def _class_path(ax: Axes, part: pd.DataFrame, colours: dict[str, str], true: Any) -> None:
    """Probabilities as stacked bars; labels without a colour of their own are grey together."""
    guess = str(part.drop(columns=list(PATH_FACTS)).iloc[-1].idxmax())
    # Of several labels the one predicted in the end lies at the left, where bars can be compared.
    order = sorted(colours, key=lambda label: label != guess) if len(colours) > 2 else list(colours)
    left = np.zeros(len(part))
    for label in order:
        width = part[label].to_numpy()
        ax.barh(range(len(part)), width, left=left, height=0.8, color=colours[label], edgecolor="white", linewidth=0.5)
        left += width
    ax.barh(range(len(part)), 1 - left, left=left, height=0.8, color=PALE)
    ax.set_xlim(0, 1)
    ax.set_xticks([0, 0.5, 1], ["0", "0.5", "1"])
    words = f"Case {part['row'].iloc[0]}: {plain(_label(guess), 16)}"
    wrong = true is not None and str(true) != _label(guess)
    if true is not None:
        words += f", but is {plain(true, 16)}" if wrong else " ✓"
    set_panel_title(ax, words, 9.5, colour=ORANGE if wrong else INK)


def _number_path(ax: Axes, part: pd.DataFrame, true: Any) -> None:
    ax.plot(part["prediction"], range(len(part)), color=BLUE, marker="o", markersize=5, linewidth=1.4)
    words = f"Case {part['row'].iloc[0]}: {number_text(float(part['prediction'].iloc[-1]))}"
    if true is not None:
        # Down to the last step only, so that it does not cross the words below.
        ax.plot([float(true)] * 2, [-0.5, len(part) - 0.6], color=ORANGE, linewidth=1.4, linestyle="--")
        words += f", true {number_text(float(true))}"
    set_panel_title(ax, words, 9.5)


def _path_axis(ax: Axes, part: pd.DataFrame, slots: int) -> None:
    """Questions down the left side, what is spent by then down the right, and why it ended below."""
    skipped = part["step"].diff().to_numpy() > 1
    names = [
        f"… {step}: {plain(asked, 20)}" if skip else plain(asked, 24) or "nothing asked"
        for step, asked, skip in zip(part["step"], part["asked"], skipped, strict=True)
    ]
    ax.set_yticks(range(len(part)), names)
    ax.set_ylim(slots - 0.5, -0.6)
    beside: dict[str, Any] = {"transform": ax.get_yaxis_transform(), "va": "center", "fontsize": 8, "color": SOFT}
    for line, spent in enumerate(part["spent"]):
        ax.text(1.02, line, number_text(spent), **beside)
    ax.text(1.02, len(part) - 0.1, "spent", style="italic", **beside)
    ax.text(0, len(part) - 0.1, f"stopped: {plain(part['reason'].iloc[-1])}", style="italic", **beside)
    tidy(ax, grid="x")
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0, labelsize=8.5)


def _same_range(axes: Sequence[Axes]) -> None:
    limits = np.array([ax.get_xlim() for ax in axes])
    for ax in axes:
        ax.set_xlim(limits[:, 0].min(), limits[:, 1].max())
        ax.set_xlabel("prediction (dashed: true)", fontsize=9, color=INK)


def digit_selections(
    images: Array,
    orders: Sequence[Sequence[str]],
    names: Sequence[str],
    truth: Sequence[Any] | Array | None = None,
    predicted: Sequence[Any] | Array | None = None,
    columns: int = 5,
) -> Figure:
    """Which pixels were asked of each image, numbered in the order of asking; what was not asked is dim.

    images (rows, height, width); orders: names of pixels as in `Acquisition.order`; names: of all pixels, line by line.
    """
    images = np.asarray(images, dtype=float)
    columns = min(columns, len(images))
    n_lines = -(-len(images) // columns)
    figure = new_figure(2.05 * columns, 2.25 * n_lines + 0.3)
    position = {name: i for i, name in enumerate(names)}
    for i, (image, order) in enumerate(zip(images, orders, strict=True)):
        ax = figure.add_subplot(n_lines, columns, i + 1)
        _draw_digit(ax, image / max(images.max(), 1e-9), [position[name] for name in order])
        guess, true = (None if values is None else np.asarray(values)[i] for values in (predicted, truth))
        if guess is not None:
            words, colour = verdict(guess, true)
            ax.set_title(words, fontsize=9.5, fontweight="bold", color=colour, pad=4)
    figure.suptitle(
        "Pixels asked, numbered in order (pale: empty, dark: ink); grey was never seen",
        x=0.01, ha="left", fontsize=10.5, fontweight="bold", color=INK,
    )  # fmt: skip
    return figure


def _draw_digit(ax: Axes, image: Array, asked: Sequence[int]) -> None:
    from matplotlib import colormaps

    height, width = image.shape
    colours = colormaps["Greys"](0.04 + 0.30 * image)
    lines, across = np.divmod(np.asarray(asked, dtype=int), width)
    colours[lines, across] = colormaps["YlOrBr"](0.18 + 0.72 * image[lines, across])
    ax.imshow(colours, interpolation="nearest")
    for order, (line, column) in enumerate(zip(lines, across, strict=True)):
        colour = "white" if image[line, column] > 0.5 else INK
        size = min(8.5, 68 / max(height, width))
        ax.text(column, line, str(order + 1), ha="center", va="center", fontsize=size, color=colour)
    without_ticks(ax)
