"""The house style of all pictures: colours, words, numbers, axes."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

import numpy as np

from askwise.core.errors import AskwiseError
from askwise.evaluation.metrics import OfMetrics
from askwise.evaluation.summaries import HIGHER_IS_BETTER

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

# Colours that stay apart for every kind of colour vision (Okabe and Ito).
BLUE, ORANGE, GREEN, PURPLE, SKY, AMBER = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00"

INK, SOFT, PALE = "#222222", "#6B6B6B", "#D9D9D9"

CATEGORIES = (BLUE, AMBER, GREEN, PURPLE, SKY, ORANGE)

# The colour and marker of each stopping rule; rules of one's own get the spare colours.
RULES = {"budget": (BLUE, "o"), "confidence": (ORANGE, "s"), "penalty": (GREEN, "^"), "average-cost": (INK, "v")}
SPARE = (PURPLE, AMBER, SKY)

DPI = 150

LONGEST_NAME = 26

# The width of a letter, in the size of its font, where a few are wide.
LETTER = 0.56
# The least height, in inches, of the axes of a panel.
PANEL_HEIGHT = 3.0


# How each metric is called and written.
METRIC_WORDS = OfMetrics(lambda metric: metric)


def metric_name(metric: str, target: str = "") -> str:
    """A metric's label; a unit is that of the target where its name is known."""
    return in_units_of(target, METRIC_WORDS[metric].label)


def in_units_of(target: str, words: str) -> str:
    """Words about units of y, with the target's name where it is known."""
    return words.replace("units of y", f"units of {plain(target)}") if target else words


def metric_text(metric: str, value: float) -> str:
    """A metric's value as a person reads it: 94.7%, 0.993."""
    return METRIC_WORDS[metric].form.format(value) if np.isfinite(value) else "n/a"


def number_text(value: float) -> str:
    """A cost or a count with three digits, and no exponent where it is not needed."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def require_matplotlib() -> None:
    """Raise a clear error where matplotlib, an optional part, is not installed."""
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError:
        raise AskwiseError("pictures need matplotlib, which is not installed: pip install 'askwise[plot]'") from None


def new_figure(width: float, height: float) -> Figure:
    """An empty figure that belongs to nobody: no global state, so any thread of a service may draw."""
    require_matplotlib()
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), dpi=DPI, layout="constrained", facecolor="white")


def plain(text: object, longest: int = LONGEST_NAME) -> str:
    """A user's name as text: on one line, not too long, and a dollar sign is a dollar sign, not mathematics."""
    words = " ".join(str(text).split())
    words = words if len(words) <= longest else words[: longest - 1].rstrip() + "…"
    return words.replace("$", r"\$")


def wrapped(words: str, inches: float, size: float) -> str:
    """Words on as many lines as it takes to stay within a width; the layout of a figure would let them be cut off."""
    return textwrap.fill(words, max(8, int(72 * inches / (LETTER * size))), break_on_hyphens=False)


def upright(words: str, size: float) -> str:
    """The words along the upright axis of a panel, on as many lines as it is low."""
    return wrapped(words, PANEL_HEIGHT, size)


def verdict(
    guess: object, true: object = None, longest: int = LONGEST_NAME, probability: float | None = None
) -> tuple[str, str]:
    """What a model says of a case and whether it is so, in words, and the colour to write them in."""
    words = f"says {plain(guess, longest)}" + ("" if probability is None else f", {probability:.0%}")
    if true is None:
        return words, INK
    if guess != true:
        return f"{words}, is {plain(true, longest)}", ORANGE
    return f"{words} ✓", INK


def tidy(ax: Axes, grid: Literal["both", "x", "y"] | None = "both") -> None:
    """The common look of axes: no box, a light grid behind the data, small grey ticks."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(PALE)
    ax.tick_params(colors=SOFT, labelcolor=INK, labelsize=9, length=3)
    ax.set_axisbelow(True)
    if grid:
        ax.grid(True, axis=grid, color="#ECECEC", linewidth=0.8)


def panel_words(
    ax: Axes,
    title: str,
    x: str,
    y: str,
    below: str = "",
    beside: str = "",
    grid: Literal["both", "y"] = "both",
    size: float = 11,
) -> None:
    """A title, softer words below it or beside it at the right, and what the axes are; size: that of the title."""
    tidy(ax, grid)
    ax.tick_params(labelsize=size - 2)
    pad = 20 if below else 8
    ax.set_title(title, loc="left", fontsize=size, fontweight="bold", color=INK, pad=pad)
    ax.set_title(beside, loc="right", fontsize=size - 2, color=SOFT, pad=pad)
    ax.text(0, 1.02, below, transform=ax.transAxes, fontsize=size - 2, color=SOFT, va="bottom")
    ax.set_xlabel(x, fontsize=size - 1, color=INK)
    ax.set_ylabel(upright(y, size - 1), fontsize=size - 1, color=INK)


def diagonal(ax: Axes, start: float, end: float) -> Line2D:
    """A dashed line where both axes agree."""
    (line,) = ax.plot([start, end], [start, end], color=SOFT, linewidth=1, linestyle=(0, (4, 3)), zorder=4)
    return line


def metric_label(metric: str, target: str = "") -> str:
    """A metric's name, and which way it is better."""
    return f"{metric_name(metric, target)}, {'higher' if HIGHER_IS_BETTER[metric] else 'lower'} is better"


def set_panel_title(ax: Axes, words: str, size: float = 11, bold: bool = True, colour: str = INK) -> None:
    """The title of a panel, at its left."""
    weight = "bold" if bold else "normal"
    ax.set_title(words, loc="left", fontsize=size, fontweight=weight, color=colour, pad=8 if size > 10 else 4)


def without_ticks(ax: Axes) -> None:
    """The look of axes that hold an image."""
    ax.set_xticks([])
    ax.set_yticks([])
    ax.spines[:].set_color(PALE)


def colour_legend(figure: Figure, title: str, colours: Mapping[str, str]) -> None:
    """A legend of coloured fields above everything, under a title that makes a sentence with their names."""
    from matplotlib.patches import Patch

    figure.legend(
        [Patch(color=colour) for colour in colours.values()], [plain(name) for name in colours],
        loc="outside upper left", ncols=min(7, len(colours)), frameon=False, fontsize=9, title=title, title_fontsize=9,
        alignment="left", handlelength=1.2,
    )  # fmt: skip
