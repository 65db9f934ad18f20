"""The picture of a comparison: a metric against the budget, one panel a dataset and one line a method."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from askwise.evaluation.summaries import HIGHER_IS_BETTER
from askwise.report.plots.axes import WIDE_RANGE, percent_axis, set_ticks, spread_limits, spread_scale, spread_ticks
from askwise.report.plots.style import METRIC_WORDS, new_figure, panel_words, plain
from askwise.studies.compare.method_styles import CEILING_STYLE, STYLES, Style, styles_of
from askwise.studies.compare.tables import AVERAGE, BUDGET, COSTS, ceilings, ordered, standings, summary

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["STYLES", "comparison"]

MOST_COLUMNS = 4
PANEL_WIDTH, PANEL_HEIGHT = 3.6, 2.9
LEGEND_LINE, LEGEND_COLUMN = 0.24, 1.8
# Fewer ticks than this are all named; more would run into each other.
MOST_TICKS = 9


def comparison(results: pd.DataFrame, rule: str = BUDGET) -> Figure:
    """A metric against cost for every dataset, with bands of a standard error over seeds.

    rule: "budget", or "average-cost" to draw what can stop by a penalty against what it really spent on average; the
    others stay as they are under a budget.
    """
    datasets = [str(name) for name in results["dataset"].unique()]
    styles = styles_of(str(name) for name in results["method"].unique())
    columns = min(MOST_COLUMNS, len(datasets))
    lines = -(-len(datasets) // columns)
    legend_columns = max(1, min(len(styles), int(PANEL_WIDTH * columns / LEGEND_COLUMN)))
    below = 0.45 + LEGEND_LINE * -(-len(styles) // legend_columns)
    figure = new_figure(max(PANEL_WIDTH * columns, 4.4), PANEL_HEIGHT * lines + below)
    # Titles keep away from the words of the panel above.
    figure.set_layout_engine("constrained", h_pad=0.09, w_pad=0.05)
    for i, dataset in enumerate(datasets):
        ax = figure.add_subplot(lines, columns, i + 1)
        _draw_panel(ax, results[results["dataset"] == dataset], rule, styles)
    _legend(figure, styles, legend_columns)
    return figure


def points(results: pd.DataFrame, rule: str = BUDGET) -> pd.DataFrame:
    """The points of a picture: those of `summary`, each at its `cost`.

    Under average costs, methods that can't stop by a penalty keep their points under budgets.
    """
    own = summary(results, rule)
    if rule == BUDGET:
        return own.assign(cost=own[COSTS[BUDGET]])
    others = points(results, BUDGET)
    return pd.concat([others[~others["method"].isin(own["method"])], own.assign(cost=own[COSTS[rule]])])


def _draw_panel(ax: Axes, results: pd.DataFrame, rule: str, styles: dict[str, Style]) -> None:
    metric, dataset = str(results["metric"].iloc[0]), str(results["dataset"].iloc[0])
    drawn = points(results, rule)
    # The best lies on top.
    for method in reversed(ordered(standings(results), metric)):
        _draw_line(ax, drawn[drawn["method"] == method].sort_values("cost"), styles[method])
    levels = ceilings(results)
    if len(levels):
        ax.axhline(float(levels["mean"].iloc[0]), zorder=2, **CEILING_STYLE.line)
    words = METRIC_WORDS[metric]
    if words.is_share:
        percent_axis(ax.yaxis)
    way = "" if HIGHER_IS_BETTER[metric] else ", lower is better"
    is_priced = _is_priced(results)
    what = "cost" if is_priced else "questions"
    x = f"{what}, mean per case" if rule == AVERAGE else f"budget ({what} per case)"
    panel_words(ax, plain(dataset), x, words.name + way, size=10)
    _cost_axis(ax, sorted(summary(results, BUDGET)["budget"].unique()), drawn["cost"], is_priced)


def _is_priced(results: pd.DataFrame) -> bool:
    asked = results[results["rule"] == BUDGET]
    return not np.allclose(asked["mean_cost"], asked["mean_groups"])


def _draw_line(ax: Axes, part: pd.DataFrame, style: Style) -> None:
    cost, mean = part["cost"].to_numpy(), part["mean"].to_numpy()
    error = part["error"].fillna(0.0).to_numpy()
    ax.fill_between(cost, mean - error, mean + error, color=style.colour, alpha=0.13, linewidth=0, zorder=2)
    ax.plot(cost, mean, zorder=3, **style.line)


def _cost_axis(ax: Axes, budgets: list[float], drawn: pd.Series[float], is_priced: bool) -> None:
    """Spread the low costs where the range is wide; the budgets are the ticks where they are few round numbers.

    drawn: the costs of all points; some may lie below the first budget, down to 0.
    """
    are_ticks = not is_priced and len(budgets) <= MOST_TICKS
    is_wide = bool(budgets) and 0 < WIDE_RANGE * budgets[0] < budgets[-1]
    if not budgets or not (is_wide or are_ticks):
        return
    first, least = budgets[0], float(drawn.min())
    ticks = budgets if are_ticks else [tick for tick in spread_ticks(first, budgets[-1]) if tick >= 0.99 * first]
    if is_wide:
        spread_scale(ax, "x", first)
    set_ticks(ax, "x", [0.0, *ticks] if least < 0.1 * first else ticks)
    if is_wide:
        ax.set_xlim(spread_limits(first, least, float(drawn.max())))


def _legend(figure: Figure, styles: dict[str, Style], columns: int) -> None:
    """Below everything, where it hides nothing."""
    from matplotlib.lines import Line2D

    handles: list[Line2D] = [Line2D([], [], **style.line) for style in styles.values()]
    names = [plain(name) for name in styles]
    figure.legend(
        handles, names, loc="outside lower left", ncols=columns, frameon=False, fontsize=9, handlelength=2.8,
    )  # fmt: skip
