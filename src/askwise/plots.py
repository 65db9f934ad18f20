"""Pictures of an evaluation, each drawn from a table of numbers; nothing here trains or evaluates a model."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import pandas as pd
import torch

from askwise.acquisition import NOTHING_LEFT, StoppingRule
from askwise.errors import AskwiseError, unknown_name
from askwise.features import Rows
from askwise.model import Acquisition, Costs, Model
from askwise.tasks import Classification

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Array = np.ndarray[Any, Any]

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
    higher_is_better: bool
    form: str = "{:.3f}"

    @property
    def is_share(self) -> bool:
        return self.form.endswith("%}")


METRIC_WORDS = {
    "accuracy": Wording("Accuracy", True, "{:.1%}"),
    "auroc": Wording("AUROC", True),
    "log_loss": Wording("Log loss (nats)", False),
    "brier": Wording("Brier score", False),
    "ece": Wording("Calibration error (ECE)", False),
    "rmse": Wording("RMSE (units of y)", False, "{:.4g}"),
    "r2": Wording("R²", True),
}


def metric_text(metric: str, value: float) -> str:
    """A metric's value as a person reads it: 94.7%, 0.993."""
    return METRIC_WORDS[metric].form.format(value) if np.isfinite(value) else "n/a"


def number_text(value: float) -> str:
    """A cost or a count with three digits, and no exponent where it is not needed."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


# Numbers first -------------------------------------------------------------------------------------------------------


def metrics_of(table: pd.DataFrame) -> list[str]:
    """The metrics that a table of a curve or frontier holds, in its order."""
    return [name for name in table.columns if name in METRIC_WORDS]


def main_metric(table: pd.DataFrame) -> str:
    """The metric to show where none is named: accuracy, or RMSE where a number is predicted."""
    for name in ("accuracy", "rmse", *metrics_of(table)):
        if name in table.columns:
            return name
    raise AskwiseError(f"the table has no metric; it has the columns {list(table.columns)!r}: give that of model.curve")


def everything(table: pd.DataFrame) -> pd.Series[Any]:
    """The record of a curve that spends most: what asking everything reaches."""
    return table.loc[table["mean_cost"].idxmax()]


def selection_frequency(order: Sequence[Sequence[str]], names: Sequence[str], most: int | None = None) -> pd.DataFrame:
    """Share of rows in which each group is among the first 1, 2, ..., `most` questions; the earliest asked comes first.

    order: what was asked of each row, as in `Acquisition.order`. A row that stopped early keeps what it knew.
    """
    longest = max((len(row) for row in order), default=0)
    most = max(1, longest if most is None else min(most, longest))
    position = {name: i for i, name in enumerate(names)}
    asked = np.zeros((len(names), most))
    for row in order:
        for step, name in enumerate(row[:most]):
            asked[position[name], step] += 1
    share = asked.cumsum(1) / max(1, len(order))
    first = np.argsort(-share.sum(1), kind="stable")
    return pd.DataFrame(share[first], index=[names[i] for i in first], columns=pd.RangeIndex(1, most + 1))


def reason_counts(acquisitions: Mapping[str, Acquisition]) -> pd.DataFrame:
    """How many rows stopped for which reason: one line for each named acquisition, one column for each reason."""
    counts = {name: pd.Series(a.reason).value_counts() for name, a in acquisitions.items()}
    table = pd.DataFrame(counts).T.fillna(0).astype(int)
    known = [r for r in (*RULES, NOTHING_LEFT) if r in table.columns]
    return table[[*known, *sorted(c for c in table.columns if c not in known)]]


PATH_FACTS = ("row", "step", "asked", "spent", "reason")


def path_table(
    model: Model, rows: Rows, stop: StoppingRule | None, costs: Costs = None, which: Sequence[int] | None = None
) -> pd.DataFrame:
    """The path of single rows: after each question what was asked, what is spent and what is predicted.

    which: positions of rows (default: all). Columns: row, step (0: nothing asked), asked, spent, reason (at the last
    step), then P(label) for each label, or prediction.
    """
    chosen = list(range(len(rows))) if which is None else [int(i) for i in which]
    wrong = [i for i in chosen if not 0 <= i < len(rows)]
    if wrong or not chosen:
        raise AskwiseError(f"which={chosen!r} must name rows by position, 0 to {len(rows) - 1}, and at least one")
    prices = model.costs(costs)
    rule = model.rule(stop, prices)
    trace = model.trace(rows.take(torch.tensor(chosen)), [rule], prices, walked_by=rule)
    names = model.schema.space.names
    found: list[tuple[Any, ...]] = []
    for i, row in enumerate(chosen):
        choices = trace.choice[: int(trace.stops[0].at[i]), i].tolist()
        # A rule may hold a row where nothing can be asked: such a step changed nothing.
        asked = [(t + 1, names[group]) for t, group in enumerate(choices) if group >= 0]
        at = [0, *(t for t, _ in asked)]
        reasons = [*[""] * len(asked), str(trace.stops[0].reason[i])]
        answers = model.task.decode(trace.outputs[at, i]).reshape(len(at), -1).tolist()
        spent = trace.spent[at, i].tolist()
        steps = zip(["", *(name for _, name in asked)], spent, reasons, answers, strict=True)
        found += [(row, step, name, cost, why, *answer) for step, (name, cost, why, answer) in enumerate(steps)]
    return pd.DataFrame(found, columns=[*PATH_FACTS, *_answer_columns(model)])


def _answer_columns(model: Model) -> list[str]:
    if isinstance(model.task, Classification):
        return [f"P({label})" for label in model.task.labels]
    return ["prediction"]


# Pictures ------------------------------------------------------------------------------------------------------------


def require_matplotlib() -> None:
    """Raise a clear error where matplotlib, an optional part, is not installed."""
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError:
        raise AskwiseError("pictures need matplotlib, which is not installed: pip install 'askwise[plot]'") from None


def _figure(width: float, height: float) -> Figure:
    """An empty figure that belongs to nobody: no global state, so any thread of a service may draw."""
    require_matplotlib()
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), dpi=DPI, layout="constrained", facecolor="white")


def _plain(text: object, longest: int = LONGEST_NAME) -> str:
    """A user's name as text: on one line, not too long, and a dollar sign is a dollar sign, not mathematics."""
    words = " ".join(str(text).split())
    words = words if len(words) <= longest else words[: longest - 1].rstrip() + "…"
    return words.replace("$", r"\$")


def _tidy(ax: Axes, grid: Literal["both", "x", "y"] | None = "both") -> None:
    """The common look of axes: no box, a light grid behind the data, small grey ticks."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(PALE)
    ax.tick_params(colors=SOFT, labelcolor=INK, labelsize=9, length=3)
    ax.set_axisbelow(True)
    if grid:
        ax.grid(True, axis=grid, color="#ECECEC", linewidth=0.8)


def _percent(value: float, position: object = None) -> str:
    del position
    return f"{value:.0%}"


def _metric_label(metric: str) -> str:
    words = METRIC_WORDS[metric]
    return f"{words.label}, {'higher' if words.higher_is_better else 'lower'} is better"


def _title(ax: Axes, text: str) -> None:
    ax.set_title(text, loc="left", fontsize=11, fontweight="bold", color=INK, pad=8)


def cost_curve(table: pd.DataFrame, metric: str | None = None) -> Figure:
    """A metric against mean cost from `model.curve(X, y)`, one line a rule, with intervals where the table has them."""
    metric = _check_metric(table, metric)
    figure = _figure(7.2, 4.4)
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
    figure = _figure(4.3 * columns, 3.2 * n_lines)
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
        ax.plot(cost, part[metric], label=_plain(name), clip_on=False, zorder=3, **style)
    _cost_axis(ax, "x", table)
    _tidy(ax)
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
    higher = METRIC_WORDS[metric].higher_is_better
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
    figure = _figure(max(5.5, 2.6 + 0.46 * n_columns), max(2.4, 1.3 + 0.27 * n_lines))
    ax = figure.add_subplot()
    ax.pcolormesh(shown.to_numpy(), cmap="Blues", vmin=0, vmax=1.15, edgecolors="white", linewidth=1.2)
    for (line, column), share in np.ndenumerate(shown.to_numpy()):
        if share >= 0.005:
            colour = "white" if share > 0.65 else INK
            ax.text(column + 0.5, line + 0.5, f"{share:.0%}"[:-1], ha="center", va="center", fontsize=8, color=colour)
    ax.set_yticks(np.arange(n_lines) + 0.5, [_plain(name) for name in shown.index])
    ax.set_xticks(np.arange(n_columns) + 0.5, [str(k) for k in shown.columns])
    ax.invert_yaxis()
    _tidy(ax, grid=None)
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
    ax.set_xlabel("questions asked so far", fontsize=10, color=INK)
    some = f" (first {n_lines} of {len(table)} groups)" if n_lines < len(table) else ""
    _title(ax, f"Known in % of cases{some}")
    return figure


def stop_reasons(table: pd.DataFrame) -> Figure:
    """Why rows stopped, from `reason_counts`: one bar for each rule, in shares of its rows."""
    figure = _figure(7.2, 1.2 + 0.48 * len(table))
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
    ax.set_yticks(range(len(table)), [_plain(name, 40) for name in table.index])
    ax.invert_yaxis()
    ax.set_xlim(0, 1)
    ax.xaxis.set_major_formatter(_percent)
    _tidy(ax, grid=None)
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0)
    ax.set_xlabel("share of cases", fontsize=10, color=INK)
    _colour_legend(figure, "Stopped because of", colours)
    return figure


def _reason_colours(reasons: Iterable[str]) -> dict[str, str]:
    spare = itertools.cycle(OTHERS)
    known = {name: colour for name, (colour, _) in RULES.items()} | {NOTHING_LEFT: SOFT}
    return {reason: known.get(reason) or next(spare) for reason in reasons}


def _colour_legend(figure: Figure, title: str, colours: Mapping[str, str]) -> None:
    """A legend of coloured fields above everything, under a title that makes a sentence with their names."""
    from matplotlib.patches import Patch

    figure.legend(
        [Patch(color=colour) for colour in colours.values()], [_plain(name) for name in colours],
        loc="outside upper left", ncols=min(7, len(colours)), frameon=False, fontsize=9, title=title, title_fontsize=9,
        alignment="left", handlelength=1.2,
    )  # fmt: skip


def frontier(table: pd.DataFrame, metric: str | None = None) -> Figure:
    """Mean cost against penalty and against a metric: pick a cost, read the penalty left and the metric right."""
    metric = _check_metric(table, metric)
    figure = _figure(8.6, 3.9)
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
        _tidy(ax)
    return figure


def paths(table: pd.DataFrame, truth: Sequence[Any] | Array | None = None, steps: int = 12, columns: int = 3) -> Figure:
    """The path of single rows, from `path_table`: the prediction after each question, from top to bottom.

    truth: the answers of all rows, by position. Of a longer path the first `steps` questions are drawn, and the last.
    """
    parts = [_shortened(part, steps) for _, part in table.groupby("row", sort=False)]
    columns = min(columns, len(parts))
    # A line of panels is as high as its longest path, and has one more slot for the reason of stopping.
    slots = [max(map(len, parts[i : i + columns])) + 1 for i in range(0, len(parts), columns)]
    figure = _figure(3.9 * columns, sum(0.245 * n + 0.65 for n in slots) + 0.4)
    grid = figure.add_gridspec(len(slots), columns, height_ratios=slots)
    answers = [c for c in table.columns if c not in PATH_FACTS]
    colours = _label_colours(table, answers)
    for i, part in enumerate(parts):
        ax = figure.add_subplot(grid[i // columns, i % columns])
        true = None if truth is None else np.asarray(truth)[int(part["row"].iloc[0])]
        _path_axis(ax, part, slots[i // columns])
        if colours:
            _class_path(ax, part, colours, true)
        else:
            _number_path(ax, part, true)
    if colours:
        others = {"others": PALE} if len(answers) > len(colours) else {}
        labels = {_label(column): colour for column, colour in colours.items()}
        _colour_legend(figure, "Probability after each question", labels | others)
    else:
        _same_range(figure.axes)
    return figure


def _shortened(part: pd.DataFrame, steps: int) -> pd.DataFrame:
    return part if len(part) <= steps + 2 else pd.concat([part.iloc[: steps + 1], part.iloc[-1:]])


def _label_colours(table: pd.DataFrame, answers: list[str]) -> dict[str, str]:
    """A colour for each label, none for numbers; of many labels, for those predicted in the end, then the likeliest."""
    if answers == ["prediction"]:
        return {}
    predicted = set(table.groupby("row")[answers].last().idxmax(axis=1))
    highest = table[answers].max()
    kept = sorted(answers, key=lambda a: (a not in predicted, -highest[a]))[: len(CATEGORIES)]
    return dict(zip([a for a in answers if a in kept], CATEGORIES, strict=False))


def _label(column: str) -> str:
    """The label of a column P(label)."""
    return column[2:-1]


def _class_path(ax: Axes, part: pd.DataFrame, colours: dict[str, str], true: Any) -> None:
    """Probabilities as stacked bars; labels without a colour of their own are grey together."""
    guess = str(part.drop(columns=list(PATH_FACTS)).iloc[-1].idxmax())
    # Of several labels the one predicted in the end lies at the left, where bars can be compared.
    order = sorted(colours, key=lambda label: label != guess) if len(colours) > 2 else list(colours)
    left = np.zeros(len(part))
    for label in order:
        width = part[label].to_numpy()
        ax.barh(range(len(part)), width, left=left, height=0.8, color=colours[label], edgecolor="white", linewidth=0.5)
        left += width
    ax.barh(range(len(part)), 1 - left, left=left, height=0.8, color=PALE)
    ax.set_xlim(0, 1)
    ax.set_xticks([0, 0.5, 1], ["0", "0.5", "1"])
    words = f"Case {part['row'].iloc[0]}: {_plain(_label(guess), 16)}"
    wrong = true is not None and str(true) != _label(guess)
    if true is not None:
        words += f", but is {_plain(true, 16)}" if wrong else " ✓"
    _path_title(ax, words, ORANGE if wrong else INK)


def _number_path(ax: Axes, part: pd.DataFrame, true: Any) -> None:
    ax.plot(part["prediction"], range(len(part)), color=BLUE, marker="o", markersize=5, linewidth=1.4)
    words = f"Case {part['row'].iloc[0]}: {number_text(float(part['prediction'].iloc[-1]))}"
    if true is not None:
        # Down to the last step only, so that it does not cross the words below.
        ax.plot([float(true)] * 2, [-0.5, len(part) - 0.6], color=ORANGE, linewidth=1.4, linestyle="--")
        words += f", true {number_text(float(true))}"
    _path_title(ax, words, INK)


def _path_title(ax: Axes, words: str, colour: str) -> None:
    ax.set_title(words, loc="left", fontsize=9.5, fontweight="bold", color=colour, pad=4)


def _path_axis(ax: Axes, part: pd.DataFrame, slots: int) -> None:
    """Questions down the left side, what is spent by then down the right, and why it ended below."""
    skipped = part["step"].diff().to_numpy() > 1
    names = [
        f"… {step}: {_plain(asked, 20)}" if skip else _plain(asked, 24) or "nothing asked"
        for step, asked, skip in zip(part["step"], part["asked"], skipped, strict=True)
    ]
    ax.set_yticks(range(len(part)), names)
    ax.set_ylim(slots - 0.5, -0.6)
    beside: dict[str, Any] = {"transform": ax.get_yaxis_transform(), "va": "center", "fontsize": 8, "color": SOFT}
    for line, spent in enumerate(part["spent"]):
        ax.text(1.02, line, number_text(spent), **beside)
    ax.text(1.02, len(part) - 0.1, "spent", style="italic", **beside)
    ax.text(0, len(part) - 0.1, f"stopped: {_plain(part['reason'].iloc[-1])}", style="italic", **beside)
    _tidy(ax, grid="x")
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0, labelsize=8.5)


def _same_range(axes: Sequence[Axes]) -> None:
    limits = np.array([ax.get_xlim() for ax in axes])
    for ax in axes:
        ax.set_xlim(limits[:, 0].min(), limits[:, 1].max())
        ax.set_xlabel("prediction (dashed: true)", fontsize=9, color=INK)


def digit_selections(
    images: Array,
    orders: Sequence[Sequence[str]],
    names: Sequence[str],
    truth: Sequence[Any] | Array | None = None,
    predicted: Sequence[Any] | Array | None = None,
    columns: int = 5,
) -> Figure:
    """Which pixels were asked of each image, numbered in the order of asking; what was not asked is dim.

    images (rows, height, width); orders: names of pixels as in `Acquisition.order`; names: of all pixels, line by line.
    """
    images = np.asarray(images, dtype=float)
    columns = min(columns, len(images))
    n_lines = -(-len(images) // columns)
    figure = _figure(2.05 * columns, 2.25 * n_lines + 0.3)
    position = {name: i for i, name in enumerate(names)}
    for i, (image, order) in enumerate(zip(images, orders, strict=True)):
        ax = figure.add_subplot(n_lines, columns, i + 1)
        _draw_digit(ax, image / max(images.max(), 1e-9), [position[name] for name in order])
        guess, true = (None if values is None else np.asarray(values)[i] for values in (predicted, truth))
        _digit_title(ax, guess, true)
    figure.suptitle(
        "Pixels asked, numbered in order (pale: empty, dark: ink); grey was never seen",
        x=0.01, ha="left", fontsize=10.5, fontweight="bold", color=INK,
    )  # fmt: skip
    return figure


def _draw_digit(ax: Axes, image: Array, asked: Sequence[int]) -> None:
    from matplotlib import colormaps

    height, width = image.shape
    colours = colormaps["Greys"](0.04 + 0.30 * image)
    lines, across = np.divmod(np.asarray(asked, dtype=int), width)
    colours[lines, across] = colormaps["YlOrBr"](0.18 + 0.72 * image[lines, across])
    ax.imshow(colours, interpolation="nearest")
    for order, (line, column) in enumerate(zip(lines, across, strict=True)):
        colour = "white" if image[line, column] > 0.5 else INK
        size = min(8.5, 68 / max(height, width))
        ax.text(column, line, str(order + 1), ha="center", va="center", fontsize=size, color=colour)
    ax.set_xticks([])
    ax.set_yticks([])
    ax.spines[:].set_color(PALE)


def _digit_title(ax: Axes, guess: Any, true: Any) -> None:
    if guess is None:
        return
    wrong = true is not None and guess != true
    words = f"says {_plain(guess)}" + (f", is {_plain(true)}" if wrong else "" if true is None else " ✓")
    ax.set_title(words, fontsize=9.5, fontweight="bold", color=ORANGE if wrong else INK, pad=4)
