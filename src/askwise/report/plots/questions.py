"""Pictures of the questions of many cases: which are asked, and why asking stops."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from askwise.core.step import NOTHING_LEFT
from askwise.report.plots import style
from askwise.report.plots.axes import percent_axis
from askwise.report.plots.style import INK, SOFT, new_figure, plain, set_panel_title, tidy

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def selection_heatmap(table: pd.DataFrame, groups: int = 20) -> Figure:
    """In how many cases each group is known after how many questions, from `selection_frequency`."""
    shown = table.iloc[:groups]
    n_lines, n_columns = shown.shape
    figure = new_figure(max(5.5, 2.6 + 0.46 * n_columns), max(2.4, 1.3 + 0.27 * n_lines))
    ax = figure.add_subplot()
    ax.pcolormesh(shown.to_numpy(), cmap="Blues", vmin=0, vmax=1.15, edgecolors="white", linewidth=1.2)
    for (line, column), share in np.ndenumerate(shown.to_numpy()):
        if share >= 0.005:
            colour = "white" if share > 0.65 else INK
            ax.text(column + 0.5, line + 0.5, f"{share:.0%}"[:-1], ha="center", va="center", fontsize=8, color=colour)
    ax.set_yticks(np.arange(n_lines) + 0.5, [plain(name) for name in shown.index])
    ax.set_xticks(np.arange(n_columns) + 0.5, [str(k) for k in shown.columns])
    ax.invert_yaxis()
    tidy(ax, grid=None)
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
    ax.set_xlabel("questions asked so far", fontsize=10, color=INK)
    some = f" (first {n_lines} of {len(table)} groups)" if n_lines < len(table) else ""
    set_panel_title(ax, f"Known in % of cases{some}")
    return figure


def stop_reasons(table: pd.DataFrame) -> Figure:
    """Why rows stopped, from `reason_counts`: one bar for each rule, in shares of its rows."""
    figure = new_figure(7.2, 1.2 + 0.48 * len(table))
    ax = figure.add_subplot()
    share = table.div(table.sum(axis=1), axis=0)
    left = np.zeros(len(table))
    colours = _reason_colours(table.columns)
    for reason, colour in colours.items():
        width = share[reason].to_numpy()
        ax.barh(range(len(table)), width, left=left, height=0.66, color=colour, edgecolor="white")
        for line, (wide, count) in enumerate(zip(width, table[reason], strict=True)):
            if wide > 0.035:
                words = f"{count} ({wide:.0%})" if wide > 0.16 else str(count)
                ax.text(left[line] + wide / 2, line, words, ha="center", va="center", fontsize=8.5, color="white")
        left += width
    ax.set_yticks(range(len(table)), [plain(name, 40) for name in table.index])
    ax.invert_yaxis()
    ax.set_xlim(0, 1)
    percent_axis(ax.xaxis)
    tidy(ax, grid=None)
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0)
    ax.set_xlabel("share of cases", fontsize=10, color=INK)
    style.colour_legend(figure, "Stopped because of", colours)
    return figure


def _reason_colours(reasons: Iterable[str]) -> dict[str, str]:
    spare = itertools.cycle(style.SPARE)
    known = {name: colour for name, (colour, _) in style.RULES.items()} | {NOTHING_LEFT: SOFT}
    return {reason: known.get(reason) or next(spare) for reason in reasons}
