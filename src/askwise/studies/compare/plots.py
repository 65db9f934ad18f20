"""The picture of a comparison: a metric against the budget, one panel a dataset and one line a method."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from askwise.evaluation.summaries import HIGHER_IS_BETTER
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
    new_figure,
    number_text,
    panel_words,
    plain,
)
from askwise.studies.compare.plan import CEILING
from askwise.studies.compare.tables import AVERAGE, BUDGET, ceilings, ordered, standings, summary

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

MOST_COLUMNS = 4
PANEL_WIDTH, PANEL_HEIGHT = 3.6, 2.9
LEGEND_LINE, LEGEND_COLUMN = 0.24, 1.8
# Fewer ticks than this are all named; more would run into each other.
MOST_TICKS = 9


class Style(NamedTuple):
    """How a method is drawn: colour, marker and dashes each tell it from others, for those who can't tell by one."""

    colour: str
    marker: str
    dashes: Any = "-"
    width: float = 1.4


SHORT_DASH, DOTS = (0, (4, 1.6)), (0, (1, 1.4))
# Methods that ask every case the same are dashed.
STYLES = {
    "dime": Style(BLUE, "o", width=2.2),
    "argmax-direct": Style(ORANGE, "s"),
    "eddi": Style(GREEN, "^"),
    "cwcf": Style(PURPLE, "D"),
    "opportunistic": Style(AMBER, "v"),
    "concrete-autoencoder": Style(SKY, "P", SHORT_DASH),
    "mrmr": Style(GREEN, "X", SHORT_DASH),
    "cmicot": Style(ORANGE, "<", SHORT_DASH),
    "random-order": Style(SOFT, "d", SHORT_DASH),
    "exact": Style(INK, "*", DOTS),
}
OTHERS = tuple(Style(c, m, DOTS) for m, c in itertools.product("hp8>", (BLUE, AMBER, GREEN, PURPLE, SKY, ORANGE, INK)))
CEILING_STYLE = Style(SOFT, "", (0, (6, 3)), 1.1)


def comparison(results: pd.DataFrame, rule: str = BUDGET) -> Figure:
    """A metric against cost for every dataset, with bands of a standard error over seeds.

    rule: "budget", or "average-cost" to draw what can stop by a penalty against what it really spent on average; the
    others stay as they are under a budget.
    """
    datasets = [str(name) for name in results["dataset"].unique()]
    methods = [str(name) for name in results["method"].unique()]
    styles = dict(_styles(methods))
    columns = min(MOST_COLUMNS, len(datasets))
    lines = -(-len(datasets) // columns)
    legend_columns = max(1, min(len(methods), int(PANEL_WIDTH * columns / LEGEND_COLUMN)))
    below = 0.45 + LEGEND_LINE * -(-len(methods) // legend_columns)
    figure = new_figure(max(PANEL_WIDTH * columns, 4.4), PANEL_HEIGHT * lines + below)
    # Titles keep away from the words of the panel above.
    figure.set_layout_engine("constrained", h_pad=0.09, w_pad=0.05)
    for i, dataset in enumerate(datasets):
        ax = figure.add_subplot(lines, columns, i + 1)
        _draw_panel(ax, results[results["dataset"] == dataset], rule, styles)
    _legend(figure, styles, legend_columns)
    return figure


def _styles(methods: Iterable[str]) -> Iterator[tuple[str, Style]]:
    spare = itertools.cycle(OTHERS)
    for method in methods:
        yield method, CEILING_STYLE if method == CEILING else STYLES.get(method) or next(spare)


def _draw_panel(ax: Axes, results: pd.DataFrame, rule: str, styles: dict[str, Style]) -> None:
    metric, dataset = str(results["metric"].iloc[0]), str(results["dataset"].iloc[0])
    curves = summary(results, BUDGET)
    curves = curves.assign(cost=curves["budget"])
    if rule == AVERAGE:
        own = summary(results, AVERAGE)
        curves = curves[~curves["method"].isin(own["method"])]
        # Where a seed asks nothing it has no place on an axis of ratios, and a mean with the others says nothing.
        least = results[results["rule"] == AVERAGE].groupby(["method", "budget"])["mean_cost"].min()
        asks = least[least > 0].index
        own = own[own.set_index(["method", "budget"]).index.isin(asks)]
        curves = pd.concat([curves, own.assign(cost=own["mean_cost"])])
    # The best lies on top.
    for method in reversed(ordered(standings(results), metric)):
        part = curves[curves["method"] == method].sort_values("cost")
        _draw_line(ax, part, styles[method])
    levels = ceilings(results)
    if len(levels):
        style = CEILING_STYLE
        ax.axhline(
            float(levels["mean"].iloc[0]), color=style.colour, linestyle=style.dashes, linewidth=style.width, zorder=2
        )
    words = METRIC_WORDS[metric]
    if words.is_share:
        ax.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    way = "" if HIGHER_IS_BETTER[metric] else ", lower is better"
    what = "cost" if _is_priced(results) else "questions"
    x = f"{what}, mean per case" if rule == AVERAGE else f"budget ({what} per case)"
    panel_words(ax, plain(dataset), x, words.label.split(" (")[0] + way, size=10)
    _cost_axis(ax, sorted(summary(results, BUDGET)["budget"].unique()), _is_priced(results))


def _is_priced(results: pd.DataFrame) -> bool:
    asked = results[results["rule"] == BUDGET]
    return not np.allclose(asked["mean_cost"], asked["mean_groups"])


def _draw_line(ax: Axes, part: pd.DataFrame, style: Style) -> None:
    cost, mean = part["cost"].to_numpy(), part["mean"].to_numpy()
    error = part["error"].fillna(0.0).to_numpy()
    ax.fill_between(cost, mean - error, mean + error, color=style.colour, alpha=0.13, linewidth=0, zorder=2)
    ax.plot(cost, mean, zorder=3, **_line_style(style))


def _line_style(style: Style) -> dict[str, Any]:
    marks = {"marker": style.marker or None, "markersize": 4.5, "markeredgecolor": "white", "markeredgewidth": 0.4}
    return {"color": style.colour, "linestyle": style.dashes, "linewidth": style.width, **marks}


def _cost_axis(ax: Axes, budgets: list[float], priced: bool) -> None:
    """In equal ratios where the range is wide, with the budgets themselves for ticks where they are round numbers."""
    if not budgets or budgets[-1] <= WIDE_RANGE * budgets[0] or budgets[0] <= 0:
        if budgets and not priced and len(budgets) <= MOST_TICKS:
            ax.set_xticks(budgets, [number_text(k) for k in budgets])
        return
    ax.set_xscale("log")
    ax.minorticks_off()
    ticks = budgets if not priced and len(budgets) <= MOST_TICKS else _round_ticks(budgets[0], budgets[-1])
    ax.set_xticks(ticks, [number_text(t) for t in ticks])


def _round_ticks(least: float, most: float) -> list[float]:
    """1, 3, 10, 30, ..., or their tens alone where there would be too many."""
    powers = 10.0 ** np.arange(np.floor(np.log10(least)), np.ceil(np.log10(most)) + 1)
    for steps in ([1, 3], [1]):
        ticks = np.sort(np.outer(powers, steps).ravel())
        inside = ticks[(ticks >= least * 0.99) & (ticks <= most * 1.01)]
        if len(inside) <= MOST_TICKS:
            break
    return [float(t) for t in inside]


def _legend(figure: Figure, styles: dict[str, Style], columns: int) -> None:
    """Below everything, where it hides nothing."""
    from matplotlib.lines import Line2D

    handles: list[Line2D] = [Line2D([], [], **_line_style(style)) for style in styles.values()]
    names = [plain(name) for name in styles]
    figure.legend(
        handles, names, loc="outside lower left", ncols=columns, frameon=False, fontsize=9, handlelength=2.8,
    )  # fmt: skip
