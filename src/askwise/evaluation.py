"""Numbers: metrics against cost, for every rule, with bootstrap intervals."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from askwise.acquisition import Step, StoppingRule, Trace, rule_name
from askwise.errors import AskwiseError
from askwise.features import Rows, evenly
from askwise.model import Costs, Model
from askwise.stopping import Budget, Confidence, Penalty
from askwise.tasks import Classification, Task, entropy

Array = np.ndarray[Any, Any]
Metric = Callable[[Array, Array, Array], Array]

# Sorting more values than this, to spread thresholds among them, would take long and gain nothing.
MOST_LEVELS = 1_000_000
# Penalties to look an average cost up among.
FINE_POINTS = 2000
# Rows of the curve that a model keeps.
KEPT_ROWS = 1000
# Of confidence, of predictions and of estimates: so many bins.
BINS = 10
# Drawing rows again adds noise to every bin, and ECE is a mean of absolute values, which noise can only raise: its
# interval would lie too high, often above the ECE itself. `calibration.drawn_ece` says what chance does to it.
WITHOUT_INTERVAL = ("ece",)


def _weighted_mean(values: Array, weights: Array) -> Array:
    return (weights @ values) / weights.sum(1)


def accuracy(proba: Array, y: Array, weights: Array) -> Array:
    return _weighted_mean((proba.argmax(1) == y).astype(float), weights)


def log_loss(proba: Array, y: Array, weights: Array) -> Array:
    return _weighted_mean(-np.log(np.clip(proba[np.arange(len(y)), y], 1e-15, 1)), weights)


def brier(proba: Array, y: Array, weights: Array) -> Array:
    """Mean squared distance to the one-hot answer; for two classes, of the probability of the second one."""
    if proba.shape[1] == 2:
        return _weighted_mean((proba[:, 1] - y) ** 2, weights)
    return _weighted_mean(((proba - np.eye(proba.shape[1])[y]) ** 2).sum(1), weights)


def expected_calibration_error(proba: Array, y: Array, weights: Array) -> Array:
    """Mean gap between confidence and accuracy over at most ten bins of confidence, of equally many rows."""
    confidence = proba.max(1)
    gap = (proba.argmax(1) == y) - confidence
    sums = bin_sums(equal_mass_bins(confidence, weights), weights * gap)
    return np.abs(sums).sum(1) / weights.sum(1)


def equal_mass_bins(by: Array, weights: Array) -> Array:
    """The bin of each row, (draws, rows), counted from 0: rows in rising order of `by`, cut into equal weights.

    Rows with the same value stay together, so that their order does not matter; there may then be fewer bins.
    """
    by = without_last_bits(by)
    order = np.argsort(by, kind="stable")
    is_first = np.r_[True, np.diff(by[order]) > 0]
    mass = np.add.reduceat(weights[:, order], np.flatnonzero(is_first), axis=1)
    middle = np.cumsum(mass, axis=1) - mass / 2
    found = np.minimum(middle * BINS / weights.sum(1, keepdims=True), BINS - 1).astype(np.int64)
    bins = np.empty(weights.shape, dtype=np.int64)
    bins[:, order] = found[:, np.cumsum(is_first) - 1]
    return bins


def without_last_bits(values: Array) -> Array:
    """Values to six digits: predictions from the same answers differ in the last bits of float32, and are a tie."""
    fraction, exponent = np.frexp(values)
    return np.ldexp(np.round(fraction, 6), exponent)


def bin_sums(bins: Array, values: Array) -> Array:
    """Sums of values (draws, rows) over the rows of each bin, (draws, bins)."""
    n_draws = len(values)
    place = bins + BINS * np.arange(n_draws)[:, None]
    return np.bincount(place.ravel(), values.ravel(), minlength=n_draws * BINS).reshape(n_draws, BINS)


def auroc(proba: Array, y: Array, weights: Array) -> Array:
    """Area under the ROC curve; for several classes the mean of one-against-rest over the classes that occur."""
    if proba.shape[1] == 2:
        return _binary_auroc(proba[:, 1], y == 1, weights)
    classes = [k for k in range(proba.shape[1]) if 0 < (y == k).sum() < len(y)]
    if not classes:
        return np.full(len(weights), np.nan)
    with np.errstate(invalid="ignore"):
        return np.nanmean([_binary_auroc(proba[:, k], y == k, weights) for k in classes], axis=0)


def _binary_auroc(score: Array, positive: Array, weights: Array) -> Array:
    """Weighted share of (positive, negative) pairs in order, ties counting half; for each row of weights."""
    score = without_last_bits(score)
    order = np.argsort(score)
    ranked, truth, w = score[order], positive[order], weights[:, order]
    starts = np.flatnonzero(np.r_[True, ranked[1:] != ranked[:-1]])
    up = np.add.reduceat(w * truth, starts, axis=1)
    down = np.add.reduceat(w * ~truth, starts, axis=1)
    below = np.cumsum(down, axis=1) - down
    with np.errstate(invalid="ignore", divide="ignore"):
        return (up * (below + 0.5 * down)).sum(1) / (up.sum(1) * down.sum(1))


def rmse(prediction: Array, y: Array, weights: Array) -> Array:
    return np.sqrt(_weighted_mean((prediction - y) ** 2, weights))


def r2(prediction: Array, y: Array, weights: Array) -> Array:
    mean = _weighted_mean(y, weights)
    spread = (weights * (y[None] - mean[:, None]) ** 2).sum(1) / weights.sum(1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return 1 - _weighted_mean((prediction - y) ** 2, weights) / spread


METRICS: dict[str, dict[str, Metric]] = {
    "classification": {
        "accuracy": accuracy,
        "auroc": auroc,
        "log_loss": log_loss,
        "brier": brier,
        "ece": expected_calibration_error,
    },
    "regression": {"rmse": rmse, "r2": r2},
}


def bootstrap_draws(n_rows: int, count: int, seed: int = 0) -> Array:
    """How often each row is drawn in each of `count` bootstrap samples, (count, rows)."""
    rng = np.random.default_rng(seed)
    draws = np.empty((count, n_rows), dtype=np.uint8)
    for draw in draws:
        draw[:] = np.bincount(rng.integers(0, n_rows, n_rows), minlength=n_rows)
    return draws


def metrics(task: Task, answer: Array, y: Array, draws: Array | None = None) -> dict[str, float]:
    """Every metric of the task; with bootstrap draws also 95 % intervals, as `<metric>_low` and `_high`, but of ECE."""
    ones = np.ones((1, len(y)))
    # A few draws at a time, so that memory does not grow with their number.
    chunks = [] if draws is None else np.array_split(draws, -(-draws.size // 2_000_000))
    result: dict[str, float] = {}
    for name, metric in METRICS[task.kind].items():
        result[name] = float(metric(answer, y, ones)[0])
        if chunks and name not in WITHOUT_INTERVAL:
            drawn = np.concatenate([metric(answer, y, chunk.astype(float)) for chunk in chunks])
            drawn = drawn[np.isfinite(drawn)]
            low, high = np.quantile(drawn, [0.025, 0.975]) if len(drawn) else (np.nan, np.nan)
            result |= {f"{name}_low": float(low), f"{name}_high": float(high)}
    return result


def coded(task: Task, y: Array) -> Array:
    """Answers as the metrics take them: positions of labels, or numbers."""
    if not isinstance(task, Classification):
        return y.astype(np.float64)
    unknown = [label for label in np.unique(y).tolist() if label not in task.labels]
    if unknown:
        raise AskwiseError(f"unknown label {unknown[0]!r} in y; the model knows {list(task.labels)!r}")
    return task.encode(y).numpy()


def as_labelled(task: Task, y: Array) -> Array:
    """Answers in the model's own labels, so that 1.0 in a file is the label 1; numbers as they are."""
    return np.array(task.labels)[coded(task, y)] if isinstance(task, Classification) else y


def curve(
    model: Model,
    rows: Rows,
    y: Array,
    costs: Costs = None,
    points: int = 20,
    bootstrap: int = 0,
    progress: Callable[[float], None] | None = None,
) -> pd.DataFrame:
    """Metrics against mean cost and mean number of groups, for every rule over a grid that covers its range."""
    prices = model.costs(costs)
    # Unequal prices take a walk for each budget too.
    share = 1 if _equal(prices) else 1 / (1 + points)
    trace = model.trace(rows, [None], prices, progress=None if progress is None else _within(progress, 0, share))
    rest = None if progress is None else _within(progress, share, 1 - share)
    return _curve(model, rows, coded(model.task, y), trace, prices, points, bootstrap, rest)


def _curve(
    model: Model,
    rows: Rows,
    truth: Array,
    trace: Trace,
    prices: tuple[float, ...],
    points: int = 20,
    bootstrap: int = 0,
    progress: Callable[[float], None] | None = None,
) -> pd.DataFrame:
    """The same from a walk of these rows to the end, which all rules cut but those that limit what can be chosen."""
    draws = bootstrap_draws(len(rows), bootstrap) if bootstrap else None
    seen = _seen(model, trace, prices)
    shared, budgets = _rules(model, seen, prices, points)
    records = [_record(model, trace, rule, _cut(trace, seen, rule), truth, draws) for rule in shared]
    for i, rule in enumerate(budgets):
        inner = None if progress is None else _within(progress, i / len(budgets), 1 / len(budgets))
        walked = model.trace(rows, [rule], prices, rule, inner)
        records.append(_record(model, walked, rule, walked.stops[0].at, truth, draws))
    order = {name: i for i, name in enumerate(("budget", "confidence", "penalty"))}
    table = pd.DataFrame(records).drop_duplicates(["rule", "mean_cost", "mean_groups"])
    return table.iloc[np.lexsort([table["mean_cost"], table["rule"].map(order)])].reset_index(drop=True)


@dataclass(frozen=True)
class _Seen:
    """What the rules of a curve look at, of all steps (steps + 1, rows) of a walk that went on to the end."""

    best: Tensor
    spent: Tensor
    entropy: Tensor | None
    cheapest: float
    can_ask: bool = True


def _seen(model: Model, trace: Trace, prices: tuple[float, ...]) -> _Seen:
    # Step by step: in float64 all at once would fill gigabytes.
    classes = isinstance(model.task, Classification)
    unsure = torch.stack([entropy(outputs) for outputs in trace.outputs]) if classes else None
    return _Seen(trace.best, trace.spent, unsure, min(prices))


def _cut(trace: Trace, seen: _Seen, rule: StoppingRule) -> Tensor:
    """The steps (rows,) where a rule stops a walk that went on to the end.

    Where a value is a threshold but for rounding, the walk's float32 decides here, and float64 in use.
    """
    stops, end = rule.stops(cast(Step, seen)), trace.stops[0].at
    return torch.where(stops.any(0), stops.to(torch.uint8).argmax(0), end).minimum(end)


def frontier(model: Model, rows: Rows, y: Array, costs: Costs = None, points: int = 200) -> pd.DataFrame:
    """Penalty against mean cost, mean number of groups and metrics, from asking everything to asking nothing."""
    trace = model.trace(rows, [None], model.costs(costs))
    return _frontier(model, trace, coded(model.task, y), points)


def keep_frontier(model: Model, rows: Rows, y: Array, costs: Costs = None) -> pd.DataFrame:
    """Have a model keep the frontier and the curve of these rows, and what it spends at ten times as many penalties.

    Where scores are only an order there are no penalties: the frontier is then of budgets.
    """
    prices = model.costs(costs)
    if not model.policy.is_information:
        model.curves[prices] = table = curve(model, rows, y, costs)
        kept = table[table["rule"] == "budget"].drop(columns="rule").rename(columns={"parameter": "budget"})
        model.frontiers[prices] = kept.reset_index(drop=True)
        return model.frontiers[prices]
    trace, truth = model.trace(rows, [None], prices), coded(model.task, y)
    # Unequal prices take a walk for each budget.
    if model.policy.is_quick or _equal(prices):
        some = evenly(len(rows), KEPT_ROWS)
        model.curves[prices] = _curve(model, rows.take(some), truth[some.numpy()], trace.take(some), prices)
    penalties = _grid(trace.best.numpy(), trace.spent.numpy(), FINE_POINTS)
    # Row by row: all stops of all rows at once would fill gigabytes.
    cost = sum(spent[at] for spent, at in zip(trace.spent.numpy().T, _stops(trace, penalties), strict=True))
    model.frontiers[prices] = _frontier(model, trace, truth, 200)
    model.spending[prices] = pd.DataFrame({"penalty": penalties, "mean_cost": cost / len(rows)})
    return model.frontiers[prices]


def _frontier(model: Model, trace: Trace, truth: Array, points: int) -> pd.DataFrame:
    penalties = _grid(trace.best.numpy(), trace.spent.numpy(), points)
    stops = torch.from_numpy(np.array(list(_stops(trace, penalties))).T)
    records = [_record(model, trace, Penalty(lam), at, truth, None) for lam, at in zip(penalties, stops, strict=True)]
    table = pd.DataFrame(records).drop(columns="rule").rename(columns={"parameter": "penalty"})
    return table.drop_duplicates("mean_cost", keep="first").reset_index(drop=True)


def _stops(trace: Trace, penalties: Sequence[float]) -> Iterator[Array]:
    """For each row the steps where penalties, falling, stop it.

    A walk to the end holds those of all penalties: a row goes on while its best value has stayed at one or above.
    """
    levels = -np.array(penalties)
    for best in trace.best.numpy().T:
        yield np.searchsorted(-np.minimum.accumulate(best, dtype=np.float64), levels, side="right")


def area_under_curve(table: pd.DataFrame, metric: str, most: float | None = None) -> float:
    """Mean of a metric over cost, from 0 to `most` (default: the largest in the table), by the trapezoid rule.

    Before the first point the metric is that of the first point, after the last one that of the last.
    """
    points = table.sort_values("mean_cost")
    cost, value = points["mean_cost"].to_numpy(), points[metric].to_numpy()
    end = float(cost[-1] if most is None else most)
    if end <= 0:
        return float(value[-1])
    at = np.unique(np.r_[0.0, cost[cost <= end], end])
    return float(np.trapezoid(np.interp(at, cost, value), at) / end)


def _rules(
    model: Model, seen: _Seen, prices: tuple[float, ...], points: int
) -> tuple[list[StoppingRule], list[StoppingRule]]:
    """The rules of a curve: those that cut a walk to the end, and those that need one each."""
    spent = seen.spent.numpy()
    budgets: list[StoppingRule] = [Budget(k) for k in _budgets(prices, points)]
    others: list[StoppingRule] = []
    if seen.entropy is not None:
        others += [Confidence(m) for m in _grid(seen.entropy.numpy(), spent, points)]
    if model.policy.is_information:
        others += [Penalty(lam) for lam in _grid(seen.best.numpy(), spent, points)]
    # With equal costs a budget cuts the same walk, since all or none of the groups are affordable.
    return (budgets + others, []) if _equal(prices) else (others, budgets)


def _equal(prices: tuple[float, ...]) -> bool:
    return len(set(prices)) == 1


def _grid(signal: Array, spent: Array, points: int) -> list[float]:
    """Thresholds, falling, of a signal (steps, rows) that spread the mean cost of stopping below them.

    A row that stops once its signal is below v has paid for every step up to which the signal stayed at v or above;
    so the steps of all rows, sorted by the lowest signal so far, add up to the exact mean cost at each threshold.
    """
    # Where to put the thresholds, some of the rows tell: what each of them spends is counted on all.
    some = evenly(signal.shape[1], max(200, MOST_LEVELS // len(signal))).numpy()
    signal, spent = signal[:, some], spent[:, some]
    lowest = np.minimum.accumulate(signal, axis=0, dtype=np.float64)[:-1]
    paid = np.diff(spent, axis=0)
    counts = (paid > 0) & np.isfinite(lowest)
    if not counts.any():
        return [0.0]
    # Equal values may come in any order: only the last of them counts.
    order = np.argsort(-lowest[counts])
    values = lowest[counts][order]
    cost = np.cumsum(paid[counts][order]) / signal.shape[1]
    last_of_equals = np.r_[values[1:] != values[:-1], True]
    cost = np.r_[0.0, cost[last_of_equals]]
    # Just below the values that occur: a threshold that equals a row's value would be met or missed by rounding,
    # and the same row could stop in a batch and go on in a session.
    levels = np.r_[values[0] * 1.001 + 1e-12, values[last_of_equals] * (1 - 1e-4)]
    # What is hardly a number in float32 is nothing.
    levels[levels < 1e-30] = 0.0
    levels[-1] = 0.0
    # Most of them in equal ratios, the rest evenly: metrics change most where little is spent.
    even = points // 4
    ratios = points - even
    wanted = np.r_[np.linspace(0, cost[-1], even), np.geomspace(max(cost[1], cost[-1] / 1000), cost[-1], ratios)]
    return [float(levels[k]) for k in np.unique(np.searchsorted(cost, wanted * (1 + 1e-9), side="right") - 1)]


def _budgets(prices: tuple[float, ...], points: int) -> list[float]:
    """Budgets from nothing to everything: each whole number of groups where costs are equal and few."""
    total = sum(prices)
    if _equal(prices):
        counts = np.unique(np.round(np.r_[0:6, np.geomspace(5, len(prices), points)]).astype(int))
        return [float(c * prices[0]) for c in counts if c <= len(prices)]
    return [0.0, *np.unique(np.r_[np.geomspace(min(prices), total, points), total]).tolist()]


def _record(
    model: Model, trace: Trace, rule: StoppingRule, at: Tensor, truth: Array, draws: Array | None
) -> dict[str, Any]:
    """What a rule that cuts a trace at these steps spends and brings."""
    brought = brings(model, trace, at, truth, draws)
    return {"rule": rule_name(rule), "parameter": next(iter(vars(rule).values())), **brought}


def brings(model: Model, trace: Trace, at: Tensor, truth: Array, draws: Array | None = None) -> dict[str, float]:
    """What rows that stop at these steps of a trace spend on average, how many groups that is, and every metric."""
    outputs, spent, n_asked = trace.at(at)
    return {
        "mean_cost": float(spent.mean()),
        "mean_groups": float(n_asked.double().mean()),
        **metrics(model.task, model.task.decode(outputs), truth, draws),
    }


def _within(progress: Callable[[float], None], start: float, width: float) -> Callable[[float], None]:
    return lambda fraction: progress(start + width * fraction)
