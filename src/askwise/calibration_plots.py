"""Pictures of a calibration: what the model said against what came true."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from askwise.calibration import Z
from askwise.plots import BLUE, GREEN, INK, ORANGE, SOFT, new_figure, number_text, plain, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# More points than this would hide each other.
MOST_POINTS = 4000
REDUCTIONS = {"loss_reduction": ("Reduction of loss", BLUE), "entropy_reduction": ("Reduction of entropy", GREEN)}


def reliability(table: pd.DataFrame, counts: pd.DataFrame, ece: float, perfect: float) -> Figure:
    """Accuracy against confidence from `reliability`, beside how many rows have which confidence.

    ece, perfect: the error of these rows, and what a perfect model would show on them.
    """
    figure = new_figure(8.6, 3.9)
    left, right = figure.subplots(1, 2)
    _points(left, table["confidence"], table["accuracy"], table[["low", "high"]], BLUE)
    _diagonal(left, float(min(table["confidence"].min(), table["low"].min())), 1.0)
    below = f"ECE {ece:.3f}; a perfect model would show {perfect:.3f}"
    _words(left, "Accuracy against confidence", below, "confidence of the prediction", "accuracy")
    _bars(right, counts, "the same cases")
    return figure


def number_reliability(table: pd.DataFrame) -> Figure:
    """Mean truth against mean prediction, from `number_reliability`."""
    figure = new_figure(_width(1), 3.9)
    ax = figure.add_subplot()
    _points(ax, table["prediction"], table["truth"], table[["low", "high"]], BLUE)
    _diagonal(ax, float(table["prediction"].min()), float(table["prediction"].max()))
    _words(ax, "Truth against prediction", "means of tenths of the cases", "mean prediction", "mean truth")
    return figure


def information(tables: Mapping[str, pd.DataFrame], unit: str) -> Figure:
    """What questions brought against what they promised, from `realised_bins`: a line of panels for each model."""
    names = [name for name in REDUCTIONS if name in next(iter(tables.values()))]
    figure = new_figure(_width(len(names)), 3.6 * len(tables) + 0.3)
    panels = figure.subplots(len(tables), len(names), squeeze=False, sharex=True, sharey=True)
    most = max(float(table["predicted"].max()) for table in tables.values())
    for line, (model, table) in zip(panels, tables.items(), strict=True):
        for ax, name in zip(line, names, strict=True):
            what, colour = REDUCTIONS[name]
            half = Z * table[f"{name}_error"]
            ends = pd.DataFrame({"low": table[name] - half, "high": table[name] + half})
            _points(ax, table["predicted"], table[name], ends, colour)
            _diagonal(ax, 0.0, most)
            _words(ax, what, model, f"predicted information ({unit})", f"mean reduction ({unit})")
            ax.label_outer()
    return figure


def entropy_bound(tables: Mapping[str, pd.DataFrame]) -> Figure:
    """The largest estimate at each moment against the entropy of the prediction, from `realised`: a panel a model.

    Information can't exceed the entropy: what lies above the diagonal is impossible, and is drawn in another colour.
    """
    figure = new_figure(_width(len(tables)), 3.9)
    panels = figure.subplots(1, len(tables), squeeze=False, sharex=True, sharey=True)[0]
    most, highest = (max(float(table[name].max()) for table in tables.values()) for name in ("entropy", "largest"))
    for ax, (model, table) in zip(panels, tables.items(), strict=True):
        above = table["largest"] > table["entropy"]
        some = np.linspace(0, len(table) - 1, min(len(table), MOST_POINTS)).astype(int)
        for which, colour in ((~above, BLUE), (above, ORANGE)):
            part = table.iloc[some][which.iloc[some]]
            ax.scatter(part["entropy"], part["largest"], s=6, color=colour, alpha=0.35, linewidths=0)
        _diagonal(ax, 0.0, most)
        ax.legend(ax.lines[-1:], ["the bound"], loc="upper left", frameon=False, fontsize=9)
        title = f"{above.mean():.1%} above the bound"
        _words(ax, title, model, "entropy of the prediction (nats)", "largest estimate (nats)")
        ax.label_outer()
    # The bound may leave at the top: room for the estimates matters more.
    panels[0].set_ylim(-0.03 * (highest or 1), 1.2 * (highest or 1))
    return figure


def confidence(counts: pd.DataFrame) -> Figure:
    """How many rows have which confidence, from `confidence_counts`, right and wrong ones."""
    figure = new_figure(_width(1), 3.6)
    _bars(figure.add_subplot(), counts, "with everything known")
    return figure


def _width(n_panels: int) -> float:
    return 7.2 if n_panels == 1 else 4.3 * n_panels


def _points(ax: Axes, x: pd.Series[Any], y: pd.Series[Any], ends: pd.DataFrame, colour: str) -> None:
    """Points joined by a line, each with its interval from low to high."""
    reach = np.maximum([y - ends["low"], ends["high"] - y], 0)
    style: dict[str, Any] = {"color": colour, "marker": "o", "markersize": 4.5, "linewidth": 1.2}
    ax.errorbar(x, y, yerr=reach, ecolor=colour, elinewidth=1, capsize=2.5, zorder=3, **style)


def _diagonal(ax: Axes, start: float, end: float) -> None:
    """Where both axes agree."""
    ax.plot([start, end], [start, end], color=SOFT, linewidth=1, linestyle=(0, (4, 3)), zorder=2)


def _bars(ax: Axes, counts: pd.DataFrame, below: str) -> None:
    """Right rows in wide bars and wrong ones in narrow bars before them, from the least confidence that occurs."""
    held = counts[(counts["right"] + counts["wrong"]).cumsum() > 0]
    middle, width = (held["low"] + held["high"]) / 2, held["high"] - held["low"]
    ax.bar(middle, held["right"], 0.9 * width, color=BLUE, label="right")
    ax.bar(middle, held["wrong"], 0.45 * width, color=ORANGE, label="wrong")
    # Most rows are often near certain: on an even axis nobody would see the others.
    ax.set_yscale("log")
    ax.set_ylim(0.7, None)
    ax.yaxis.set_major_formatter(lambda value, _: number_text(value))
    _words(ax, "Cases by confidence", below, "confidence of the prediction", "cases (log scale)", grid="y")
    ax.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=2, frameon=False, fontsize=9, borderaxespad=0.2)


def _words(ax: Axes, title: str, below: str, x: str, y: str, grid: Literal["both", "y"] = "both") -> None:
    """A title, a softer line below it, and what the axes are."""
    tidy(ax, grid)
    ax.set_title(title, loc="left", fontsize=11, fontweight="bold", color=INK, pad=20 if below else 8)
    ax.text(0, 1.02, plain(below, 50), transform=ax.transAxes, fontsize=9, color=SOFT, va="bottom")
    ax.set_xlabel(x, fontsize=10, color=INK)
    ax.set_ylabel(y, fontsize=10, color=INK)
