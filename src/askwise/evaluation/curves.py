"""Curves: metrics against cost, for every rule."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from askwise.core.arrays import Array
from askwise.core.rows import Rows, evenly
from askwise.core.step import Step, StoppingRule, rule_name
from askwise.core.stopping import Budget, Confidence, Penalty
from askwise.core.tasks import Classification, entropy
from askwise.core.trace import Trace
from askwise.evaluation.metrics import bootstrap_draws, coded, metrics
from askwise.model.model import Costs, Model

# Sorting more values than this, to spread thresholds among them, would take long and gain nothing.
MOST_LEVELS = 1_000_000


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
