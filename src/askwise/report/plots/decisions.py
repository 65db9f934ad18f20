"""The picture of a decision curve: what calling cases is worth at every threshold."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from askwise.report.plots.axes import percent_axis
from askwise.report.plots.style import AMBER, BLUE, INK, SOFT, new_figure, panel_words, plain

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# The least net benefit that is drawn, as a share of the largest: below it nobody would decide so.
LOWEST = -0.25


def decision_curve(table: pd.DataFrame, threshold: float, label: str) -> Figure:
    """Net benefit against the threshold from `Decisions.curve`, with the one that was chosen marked."""
    figure = new_figure(7.2, 4.4)
    ax = figure.add_subplot()
    at = table["threshold"]
    if "net_benefit_low" in table:
        ax.fill_between(at, table["net_benefit_low"], table["net_benefit_high"], color=BLUE, alpha=0.12, linewidth=0)
    ax.plot(at, table["net_benefit"], color=BLUE, linewidth=1.8, label="this model, where it stops", zorder=4)
    if not np.array_equal(table["everything_asked"], table["net_benefit"]):
        ax.plot(at, table["everything_asked"], color=AMBER, linewidth=1.3, label="with everything asked", zorder=3)
    name = plain(label)
    ax.plot(at, table["treat_all"], color=INK, linewidth=1.2, linestyle=(0, (5, 3)), label=f"calling everybody {name}")
    ax.axhline(0, color=SOFT, linewidth=1.2, linestyle=(0, (1, 2)), label=f"calling nobody {name}")
    ax.axvline(threshold, color=SOFT, linewidth=1, zorder=1)
    largest = float(table[["net_benefit", "everything_asked", "treat_all"]].max().max())
    highest = float(table.get("net_benefit_high", table["net_benefit"]).max())
    ax.set_ylim(LOWEST * largest, 1.08 * min(max(largest, highest), 2 * largest))
    ax.set_xlim(0, 1)
    percent_axis(ax.xaxis)
    bands = " (band: 95% interval)" if "net_benefit_low" in table else ""
    below = f"the upright line is at {threshold:.3g}, the chosen threshold{bands}"
    panel_words(ax, "Net benefit against the threshold", f"threshold: called {name} from this probability on",
                "net benefit (true calls per case)", below)  # fmt: skip
    ax.legend(frameon=False, fontsize=9, loc="upper right")
    return figure
