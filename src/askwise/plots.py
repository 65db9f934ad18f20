"""Pictures of an evaluation, each drawn from a table of numbers that was made elsewhere."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import pandas as pd

from askwise.acquisition import NOTHING_LEFT
from askwise.errors import AskwiseError, unknown_name
from askwise.summaries import HIGHER_IS_BETTER, everything, main_metric, metrics_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

# Colours that stay apart for every kind of colour vision (Okabe and Ito).
BLUE, ORANGE, GREEN, PURPLE, SKY, AMBER = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00"
INK, SOFT, PALE = "#222222", "#6B6B6B", "#D9D9D9"
CATEGORIES = (BLUE, AMBER, GREEN, PURPLE, SKY, ORANGE)
RULES = {"budget": (BLUE, "o"), "confidence": (ORANGE, "s"), "penalty": (GREEN, "^")}
OTHERS = (PURPLE, AMBER, SKY, INK)
DPI = 150
LONGEST_NAME = 26
# From this many times the price of one question on, the low costs would be squeezed on an even axis.
WIDE_RANGE = 8
# Penalties below this share of the largest one that spend more than half of all are nothing that anyone would choose.
SMALLEST_PENALTY = 1e-6


class Wording(NamedTuple):
    """How a metric is called and written."""

    label: str
    form: str = "{:.3f}"

    @property
    def is_share(self) -> bool:
        return self.form.endswith("%}")


METRIC_WORDS = {
    "accuracy": Wording("Accuracy", "{:.1%}"),
    "auroc": Wording("AUROC"),
    "log_loss": Wording("Log loss (nats)"),
    "brier": Wording("Brier score"),
    "ece": Wording("Calibration error (ECE)"),
    "rmse": Wording("RMSE (units of y)", "{:.4g}"),
    "r2": Wording("R²"),
}


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
    ax.set_ylabel(y, fontsize=size - 1, color=INK)


def diagonal(ax: Axes, start: float, end: float) -> Line2D:
    """A dashed line where both axes agree."""
    (line,) = ax.plot([start, end], [start, end], color=SOFT, linewidth=1, linestyle=(0, (4, 3)), zorder=4)
    return line


def _percent(value: float, position: object = None) -> str:
    del position
    return f"{value:.0%}"


def _metric_label(metric: str) -> str:
    return f"{METRIC_WORDS[metric].label}, {'higher' if HIGHER_IS_BETTER[metric] else 'lower'} is better"


def _title(ax: Axes, text: str) -> None:
    ax.set_title(text, loc="left", fontsize=11, fontweight="bold", color=INK, pad=8)


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


def colour_legend(figure: Figure, title: str, colours: Mapping[str, str]) -> None:
    """A legend of coloured fields above everything, under a title that makes a sentence with their names."""
    from matplotlib.patches import Patch

    figure.legend(
        [Patch(color=colour) for colour in colours.values()], [plain(name) for name in colours],
        loc="outside upper left", ncols=min(7, len(colours)), frameon=False, fontsize=9, title=title, title_fontsize=9,
        alignment="left", handlelength=1.2,
    )  # fmt: skip


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
