"""Pictures of an evaluation: metrics against cost, and the frontier of penalties."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from askwise.core.errors import unknown_name
from askwise.evaluation.summaries import HIGHER_IS_BETTER, everything, main_metric, metrics_of
from askwise.report.plots.axes import WIDE_RANGE, percent_axis, set_ticks, spread_scale, spread_ticks
from askwise.report.plots.style import (
    GREEN,
    INK,
    METRIC_WORDS,
    RULES,
    SOFT,
    SPARE,
    in_units_of,
    metric_label,
    metric_name,
    metric_text,
    new_figure,
    plain,
    set_panel_title,
    tidy,
    upright,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Penalties below this share of the largest one are drawn at the left edge: 0 has no place on a log axis.
SMALLEST_PENALTY = 1e-6


def cost_curve(table: pd.DataFrame, metric: str | None = None, target: str = "") -> Figure:
    """A metric against mean cost from `model.curve(X, y)`, one line a rule, with intervals where the table has them.

    target: the name of what is predicted, for the unit of a number.
    """
    metric = _check_metric(table, metric)
    figure = new_figure(7.2, 4.4)
    ax = figure.add_subplot()
    _draw_curves(ax, table, metric, target)
    _titles(ax, f"{METRIC_WORDS[metric].name} against cost", table, metric)
    _rule_legend(ax, table, metric)
    return figure


def metric_curves(
    table: pd.DataFrame, metrics: Sequence[str] | None = None, columns: int = 3, target: str = ""
) -> Figure:
    """Several metrics against mean cost, one panel each (default: every metric of the table)."""
    names = [_check_metric(table, m) for m in (metrics or metrics_of(table))]
    columns = min(len(names), columns)
    n_lines = -(-len(names) // columns)
    figure = new_figure(4.3 * columns, 3.2 * n_lines)
    for i, name in enumerate(names):
        ax = figure.add_subplot(n_lines, columns, i + 1)
        _draw_curves(ax, table, name, target)
        _titles(ax, metric_name(name, target), table, name)
        ax.set_ylabel("")
        if i < len(names) - columns:
            ax.set_xlabel("")
    if len(names) < n_lines * columns:
        empty = figure.add_subplot(n_lines, columns, n_lines * columns)
        empty.set_axis_off()
        _rule_legend(empty, table, names[0], of=figure.axes[0])
    else:
        _rule_legend(figure.axes[0], table, names[0])
    return figure


def _check_metric(table: pd.DataFrame, metric: str | None) -> str:
    if metric is None:
        return main_metric(table)
    if metric not in metrics_of(table):
        raise unknown_name("metric", metric, metrics_of(table))
    return metric


def _rules_in(table: pd.DataFrame) -> Iterator[tuple[str, str, str, pd.DataFrame]]:
    """Each rule's name, colour, marker and records by rising cost; rules of one's own get the spare colours."""
    spare = itertools.cycle(SPARE)
    for name in table["rule"].unique():
        colour, marker = RULES.get(name) or (next(spare), "D")
        yield str(name), colour, marker, table[table["rule"] == name].sort_values("mean_cost")


def _draw_curves(ax: Axes, table: pd.DataFrame, metric: str, target: str = "") -> None:
    words = METRIC_WORDS[metric]
    for name, colour, marker, part in _rules_in(table):
        cost = part["mean_cost"].to_numpy()
        if f"{metric}_low" in part:
            low, high = part[f"{metric}_low"].to_numpy(), part[f"{metric}_high"].to_numpy()
            ax.fill_between(cost, low, high, color=colour, alpha=0.10, linewidth=0)
        style: dict[str, Any] = {"color": colour, "marker": marker, "markersize": 3.5, "linewidth": 1.6}
        ax.plot(cost, part[metric], label=plain(name), clip_on=False, zorder=3, **style)
    _cost_axis(ax, "x", table)
    tidy(ax)
    ax.set_ylabel(upright(metric_label(metric, target), 10), fontsize=10, color=INK)
    if words.is_share:
        percent_axis(ax.yaxis)


def _titles(ax: Axes, words: str, table: pd.DataFrame, metric: str) -> None:
    """A title and, below it, the level that asking everything reaches, which a dotted line marks.

    One stands under the other: beside each other a long name and the level would not fit over a narrow panel.
    """
    level = float(everything(table)[metric])
    if np.isfinite(level):
        ax.axhline(level, color=SOFT, linewidth=1, linestyle=(0, (1, 2)), zorder=1)
        ax.text(
            0, 1.02, f"⋯ with everything: {metric_text(metric, level)}", transform=ax.transAxes, fontsize=8.5,
            color=SOFT, va="bottom",
        )  # fmt: skip
    ax.set_title(words, loc="left", fontsize=11, fontweight="bold", color=INK, pad=19)


def _cost_axis(ax: Axes, which: Literal["x", "y"], table: pd.DataFrame) -> None:
    """An axis of mean cost: even where the range is small, else spread at the low costs, where most is decided."""
    cost, groups = table["mean_cost"].to_numpy(), table["mean_groups"].to_numpy()
    most, asked = float(cost.max()), groups > 0
    unit = float((cost[asked] / groups[asked]).min()) if asked.any() else 1.0
    label = "questions asked, mean per case" if np.allclose(cost, groups) else "cost, mean per case"
    if most > WIDE_RANGE * unit:
        label += " (log scale)"
        spread_scale(ax, which, unit)
        set_ticks(ax, which, spread_ticks(unit, most))
    getattr(ax, f"set_{which}lim")(0, most * 1.02 or 1)
    getattr(ax, f"set_{which}label")(label, fontsize=10, color=INK)


def _rule_legend(ax: Axes, table: pd.DataFrame, metric: str, of: Axes | None = None) -> None:
    """The legend, in the corner that a curve of this metric leaves empty, or of other axes on empty ones."""
    higher = HIGHER_IS_BETTER[metric]
    corner: Literal["upper left", "lower right", "upper right"] = (
        "upper left" if of is not None else "lower right" if higher else "upper right"
    )
    words = "Stop by (bands: 95% intervals)" if f"{metric}_low" in table else "Stop by"
    handles, labels = (of or ax).get_legend_handles_labels()
    ax.legend(handles, labels, loc=corner, frameon=False, fontsize=9, title=words, title_fontsize=9, alignment="left")


def frontier(table: pd.DataFrame, metric: str | None = None, target: str = "") -> Figure:
    """Penalty and a metric against mean cost: pick a cost, read the penalty left and what it brings right."""
    metric = _check_metric(table, metric)
    figure = new_figure(8.6, 3.9)
    left, right = figure.subplots(1, 2, sharex=True)
    by_cost = table.sort_values("mean_cost")
    marker = "^" if len(table) <= 30 else None
    style: dict[str, Any] = {"color": GREEN, "marker": marker, "markersize": 3, "linewidth": 1.6}
    at_edge = _draw_penalties(left, by_cost, style)
    unit = in_units_of(target, "squared units of y") if "rmse" in table.columns else "nats"
    note = "\n▾: nearly 0" if at_edge else ""
    left.set_ylabel(upright(f"penalty ({unit} per unit of cost)", 10) + note, fontsize=10, color=INK)
    right.plot(by_cost["mean_cost"], by_cost[metric], **style)
    right.set_ylabel(upright(metric_label(metric, target), 10), fontsize=10, color=INK)
    if METRIC_WORDS[metric].is_share:
        percent_axis(right.yaxis)
    set_panel_title(left, "Which penalty spends how much")
    set_panel_title(right, "What the cost buys")
    for ax in (left, right):
        _cost_axis(ax, "x", table)
        tidy(ax)
    return figure


def _draw_penalties(ax: Axes, table: pd.DataFrame, style: dict[str, Any]) -> int:
    """Penalties on a log axis against mean cost; gives how many are too small for it, drawn at its edge."""
    penalty, cost = table["penalty"].to_numpy(), table["mean_cost"].to_numpy()
    is_small = penalty <= penalty.max() * SMALLEST_PENALTY
    edge = 1.0 if is_small.all() else 0.5 * float(penalty[~is_small].min())
    ax.plot(cost, np.where(is_small, edge, penalty), **style)
    ax.set_yscale("log")
    ax.plot(cost[is_small], np.full(is_small.sum(), edge), color=style["color"], linestyle="", marker="v", markersize=5)
    return int(is_small.sum())
