"""Pictures of an evaluation: curves, frontiers, what is asked and why it stops."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from askwise.core.errors import unknown_name
from askwise.core.step import NOTHING_LEFT
from askwise.evaluation.summaries import HIGHER_IS_BETTER, everything, main_metric, metrics_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
from askwise.report.plots.style import (
    AMBER,
    BLUE,
    GREEN,
    INK,
    METRIC_WORDS,
    ORANGE,
    PURPLE,
    SKY,
    SOFT,
    WIDE_RANGE,
    _metric_label,
    _percent,
    _title,
    colour_legend,
    metric_text,
    new_figure,
    number_text,
    plain,
    tidy,
)

RULES = {"budget": (BLUE, "o"), "confidence": (ORANGE, "s"), "penalty": (GREEN, "^")}

OTHERS = (PURPLE, AMBER, SKY, INK)

# Penalties below this share of the largest one that spend more than half of all are nothing that anyone would choose.
SMALLEST_PENALTY = 1e-6


def cost_curve(table: pd.DataFrame, metric: str | None = None) -> Figure:
    """A metric against mean cost from `model.curve(X, y)`, one line a rule, with intervals where the table has them."""
    metric = _check_metric(table, metric)
    figure = new_figure(7.2, 4.4)
    ax = figure.add_subplot()
    _draw_curves(ax, table, metric)
    _title(ax, f"{METRIC_WORDS[metric].label.split(' (')[0]} against cost")
    _rule_legend(ax, table, metric)
    return figure


def metric_curves(table: pd.DataFrame, metrics: Sequence[str] | None = None, columns: int = 3) -> Figure:
    """Several metrics against mean cost, one panel each (default: every metric of the table)."""
    names = [_check_metric(table, m) for m in (metrics or metrics_of(table))]
    columns = min(len(names), columns)
    n_lines = -(-len(names) // columns)
    figure = new_figure(4.3 * columns, 3.2 * n_lines)
    for i, name in enumerate(names):
        ax = figure.add_subplot(n_lines, columns, i + 1)
        _draw_curves(ax, table, name)
        _title(ax, METRIC_WORDS[name].label)
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
    spare = itertools.cycle(OTHERS)
    for name in table["rule"].unique():
        colour, marker = RULES[name] if name in RULES else (next(spare), "D")
        yield str(name), colour, marker, table[table["rule"] == name].sort_values("mean_cost")


def _draw_curves(ax: Axes, table: pd.DataFrame, metric: str) -> None:
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
    ax.set_ylabel(_metric_label(metric), fontsize=10, color=INK)
    if words.is_share:
        ax.yaxis.set_major_formatter(_percent)
    _mark_everything(ax, table, metric)


def _mark_everything(ax: Axes, table: pd.DataFrame, metric: str) -> None:
    """A dotted line at the level that asking everything reaches; its words are above the axes, clear of the data."""
    level = float(everything(table)[metric])
    if np.isfinite(level):
        ax.axhline(level, color=SOFT, linewidth=1, linestyle=(0, (1, 2)), zorder=1)
        ax.set_title(f"⋯ with everything: {metric_text(metric, level)}", loc="right", fontsize=8.5, color=SOFT, pad=8)


def _cost_axis(ax: Axes, which: Literal["x", "y"], table: pd.DataFrame) -> None:
    """An axis of mean cost: even where the range is small, else spread at the low costs, where most is decided."""
    cost, groups = table["mean_cost"].to_numpy(), table["mean_groups"].to_numpy()
    most, asked = float(cost.max()), groups > 0
    unit = float((cost[asked] / groups[asked]).min()) if asked.any() else 1.0
    label = "questions asked, mean per case" if np.allclose(cost, groups) else "cost, mean per case"
    if most > WIDE_RANGE * unit:
        label += " (log scale)"
        forward, back = lambda x: np.log1p(np.maximum(x, 0) / unit), lambda u: unit * np.expm1(u)
        getattr(ax, f"set_{which}scale")("function", functions=(forward, back))
        ticks = _spread_ticks(unit, most)
        getattr(ax, f"set_{which}ticks")(ticks, [number_text(t) for t in ticks])
        ax.minorticks_off()
    getattr(ax, f"set_{which}lim")(0, most * 1.02 or 1)
    getattr(ax, f"set_{which}label")(label, fontsize=10, color=INK)


def _spread_ticks(unit: float, most: float) -> list[float]:
    """0, round numbers, and the end, none nearer to the next than a fifteenth of a log1p axis."""
    powers = 10.0 ** np.arange(np.floor(np.log10(unit)), np.log10(most) + 1)
    round_numbers = np.sort(np.outer(powers, [1, 2, 5]).ravel())
    far = np.log1p(most / unit) / 15
    ticks = [0.0]
    for tick in round_numbers[(round_numbers >= 0.9 * unit) & (round_numbers < most)]:
        apart = np.log1p(tick / unit) - np.log1p(ticks[-1] / unit)
        if apart > far and np.log1p(most / unit) - np.log1p(tick / unit) > far:
            ticks.append(float(tick))
    return [*ticks, most]


def _rule_legend(ax: Axes, table: pd.DataFrame, metric: str, of: Axes | None = None) -> None:
    """The legend, in the corner that a curve of this metric leaves empty, or of other axes on empty ones."""
    higher = HIGHER_IS_BETTER[metric]
    corner: Literal["upper left", "lower right", "upper right"] = (
        "upper left" if of is not None else "lower right" if higher else "upper right"
    )
    title = "Stop by (bands: 95% intervals)" if f"{metric}_low" in table else "Stop by"
    handles, labels = (of or ax).get_legend_handles_labels()
    ax.legend(handles, labels, loc=corner, frameon=False, fontsize=9, title=title, title_fontsize=9, alignment="left")


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
    _title(ax, f"Known in % of cases{some}")
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
    ax.xaxis.set_major_formatter(_percent)
    tidy(ax, grid=None)
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0)
    ax.set_xlabel("share of cases", fontsize=10, color=INK)
    colour_legend(figure, "Stopped because of", colours)
    return figure


def _reason_colours(reasons: Iterable[str]) -> dict[str, str]:
    spare = itertools.cycle(OTHERS)
    known = {name: colour for name, (colour, _) in RULES.items()} | {NOTHING_LEFT: SOFT}
    return {reason: known.get(reason) or next(spare) for reason in reasons}


def frontier(table: pd.DataFrame, metric: str | None = None) -> Figure:
    """Mean cost against penalty and against a metric: pick a cost, read the penalty left and the metric right."""
    metric = _check_metric(table, metric)
    figure = new_figure(8.6, 3.9)
    left, right = figure.subplots(1, 2, sharey=True)
    by_cost = table.sort_values("mean_cost")
    marker = "^" if len(table) <= 30 else None
    style: dict[str, Any] = {"color": GREEN, "marker": marker, "markersize": 3, "linewidth": 1.6}
    low = by_cost["penalty"] <= by_cost["penalty"].max() * SMALLEST_PENALTY
    some = by_cost[~(low & (by_cost["mean_cost"] > by_cost["mean_cost"].max() / 2))]
    left.plot(some["penalty"], some["mean_cost"], **style)
    left.set_xscale("log")
    unit = "squared units of y" if "rmse" in table.columns else "nats"
    left.set_xlabel(f"penalty ({unit} per unit of cost)", fontsize=10, color=INK)
    _cost_axis(left, "y", table)
    right.plot(by_cost[metric], by_cost["mean_cost"], **style)
    right.set_xlabel(_metric_label(metric), fontsize=10, color=INK)
    if METRIC_WORDS[metric].is_share:
        right.xaxis.set_major_formatter(_percent)
    _title(left, "Which penalty spends how much")
    _title(right, "What the cost buys")
    for ax in (left, right):
        tidy(ax)
    return figure
