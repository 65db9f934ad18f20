"""Pictures of a calibration: what the model said against what came true."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from askwise.core.rows import evenly
from askwise.evaluation.calibration import Z
from askwise.report.plots.style import BLUE, GREEN, ORANGE, diagonal, new_figure, number_text, panel_words, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# More points than this would hide each other.
MOST_POINTS = 4000
# Two models' names in brackets tell them apart: more of a name than elsewhere.
LONGEST_MODEL = 50
REDUCTIONS = {"loss_reduction": ("Reduction of loss", BLUE), "entropy_reduction": ("Reduction of entropy", GREEN)}


def reliability(table: pd.DataFrame, counts: pd.DataFrame, ece: float, by_chance: float) -> Figure:
    """Accuracy against confidence from `reliability`, beside how many rows have which confidence.

    ece, by_chance: the error of these rows, and up to which one a perfect model would show on them by chance.
    """
    figure = new_figure(8.6, 3.9)
    left, right = figure.subplots(1, 2)
    _points(left, table["confidence"], table["accuracy"], table[["low", "high"]], BLUE)
    diagonal(left, float(min(table["confidence"].min(), table["low"].min())), 1.0)
    below = f"ECE {ece:.3f}; of a perfect model by chance up to {by_chance:.3f}"
    panel_words(left, "Accuracy against confidence", "confidence of the prediction", "accuracy", below)
    _bars(right, counts, "the same cases")
    return figure


def number_reliability(table: pd.DataFrame) -> Figure:
    """Mean truth against mean prediction, from `number_reliability`."""
    figure = new_figure(_width(1), 3.9)
    ax = figure.add_subplot()
    _points(ax, table["prediction"], table["truth"], table[["low", "high"]], BLUE)
    diagonal(ax, float(table["prediction"].min()), float(table["prediction"].max()))
    below = "means over at most ten bins of cases"
    panel_words(ax, "Truth against prediction", "mean prediction", "mean truth", below)
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
            diagonal(ax, 0.0, most)
            x, y = f"predicted information ({unit})", f"mean reduction ({unit})"
            panel_words(ax, what, x, y, plain(model, LONGEST_MODEL))
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
        some = evenly(len(table), MOST_POINTS).numpy()
        # What is impossible stands out, in front, even where it is rare.
        for which, colour, size, alpha in ((~above, BLUE, 6, 0.25), (above, ORANGE, 12, 0.9)):
            part = table.iloc[some][which.iloc[some]]
            ax.scatter(part["entropy"], part["largest"], s=size, color=colour, alpha=alpha, linewidths=0)
        bound = diagonal(ax, 0.0, most)
        ax.legend([bound], ["the bound"], loc="upper left", frameon=False, fontsize=9)
        title = f"{above.mean():.1%} above the bound"
        x, y = "entropy of the prediction (nats)", "largest estimate (nats)"
        panel_words(ax, title, x, y, plain(model, LONGEST_MODEL))
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
    """Points, each with its interval from low to high where that is known."""
    reach = np.maximum([y - ends["low"], ends["high"] - y], 0)
    style: dict[str, Any] = {"color": colour, "linestyle": "", "marker": "o", "markersize": 4.5}
    ax.errorbar(x, y, yerr=reach, ecolor=colour, elinewidth=1, capsize=2.5, zorder=3, **style)


def _bars(ax: Axes, counts: pd.DataFrame, below: str) -> None:
    """Right and wrong rows side by side, from the least confidence that occurs."""
    held = counts[(counts["right"] + counts["wrong"]).cumsum() > 0]
    width = held["high"] - held["low"]
    # Not one on the other: on a log scale heights do not add up.
    for place, (name, colour) in zip((0.1, 0.5), {"right": BLUE, "wrong": ORANGE}.items(), strict=True):
        ax.bar(held["low"] + place * width, held[name], 0.4 * width, align="edge", color=colour, label=name)
    # Most rows are often near certain: on an even axis nobody would see the others.
    ax.set_yscale("log")
    ax.set_ylim(0.7, None)
    ax.yaxis.set_major_formatter(lambda value, _: number_text(value))
    panel_words(ax, "Cases by confidence", "confidence of the prediction", "cases (log scale)", below, grid="y")
    ax.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=2, frameon=False, fontsize=9, borderaxespad=0.2)
