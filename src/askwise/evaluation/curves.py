"""Curves: metrics against cost, for every rule."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from askwise.core.arrays import Array
from askwise.core.rows import Rows
from askwise.core.step import StoppingRule
from askwise.core.stopping import RULES, Budget, Confidence, NumberRule, Penalty
from askwise.core.tasks import Classification, entropy
from askwise.core.trace import Trace
from askwise.evaluation.metrics import bootstrap_draws, coded, metrics
from askwise.evaluation.thresholds import are_equal, budgets, thresholds
from askwise.model.model import Model
from askwise.model.session_model import Costs


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
    share = 1 if are_equal(prices) else 1 / (1 + points)
    trace = model.trace(rows, [None], prices, progress=None if progress is None else _within(progress, 0, share))
    rest = None if progress is None else _within(progress, share, 1 - share)
    return curve_of_trace(model, rows, coded(model.task, y), trace, prices, points, bootstrap, rest)


def curve_of_trace(
    model: Model,
    rows: Rows,
    truth: Array,
    trace: Trace,
    prices: tuple[float, ...],
    points: int = 20,
    bootstrap: int = 0,
    progress: Callable[[float], None] | None = None,
) -> pd.DataFrame:
    """The same from a walk of these rows to the end. Rules that limit what can be chosen need walks of their own."""
    draws = bootstrap_draws(len(rows), bootstrap) if bootstrap else None
    signals = TraceSignals.of(model, trace, prices)
    shared, own = _rules(model, signals, prices, points)
    records = [record(model, trace, rule, _cut(trace, signals, rule), truth, draws) for rule in shared]
    for i, rule in enumerate(own):
        inner = None if progress is None else _within(progress, i / len(own), 1 / len(own))
        walked = model.trace(rows, [rule], prices, rule, inner)
        records.append(record(model, walked, rule, walked.stops[0].at, truth, draws))
    order = {name: i for i, name in enumerate(RULES)}
    table = pd.DataFrame(records).drop_duplicates(["rule", "mean_cost", "mean_groups"])
    return table.iloc[np.lexsort([table["mean_cost"], table["rule"].map(order)])].reset_index(drop=True)


@dataclass(frozen=True)
class TraceSignals:
    """The signals of all steps (steps + 1, rows) of a walk that went on to the end."""

    best: Tensor
    spent: Tensor
    n_asked: Tensor
    entropy: Tensor | None
    cheapest: float
    can_ask: bool = True

    @staticmethod
    def of(model: Model, trace: Trace, prices: tuple[float, ...]) -> TraceSignals:
        # Step by step: in float64 all at once would fill gigabytes.
        classes = isinstance(model.task, Classification)
        unsure = torch.stack([entropy(outputs) for outputs in trace.outputs]) if classes else None
        return TraceSignals(trace.best, trace.spent, trace.n_asked, unsure, min(prices))


def _cut(trace: Trace, signals: TraceSignals, rule: StoppingRule) -> Tensor:
    """The steps (rows,) at which a rule stops a walk that went on to the end.

    If a value equals a threshold but for rounding, the walk's float32 decides here; in use float64 does.
    """
    stops, end = rule.stops(signals), trace.stops[0].at
    return torch.where(stops.any(0), stops.to(torch.uint8).argmax(0), end).minimum(end)


def _rules(
    model: Model, signals: TraceSignals, prices: tuple[float, ...], points: int
) -> tuple[list[NumberRule], list[NumberRule]]:
    """The rules of a curve: those that cut a walk to the end, and those that need one each."""
    spent = signals.spent.numpy()
    by_budget: list[NumberRule] = [Budget(k) for k in budgets(prices, points)]
    others: list[NumberRule] = []
    if signals.entropy is not None:
        others += [Confidence(m) for m in thresholds(signals.entropy.numpy(), spent, points)]
    if model.policy.is_information:
        others += [Penalty(lam) for lam in thresholds(signals.best.numpy(), spent, points)]
    # With equal costs a budget cuts the same walk, since all or none of the groups are affordable.
    return (by_budget + others, []) if are_equal(prices) else (others, by_budget)


def record(
    model: Model, trace: Trace, rule: NumberRule, at: Tensor, truth: Array, draws: Array | None = None
) -> dict[str, Any]:
    """One line of a curve: a rule that cuts a trace at these steps, its cost and its metrics."""
    return {"rule": rule.name, "parameter": rule.number, **cost_and_metrics(model, trace, at, truth, draws)}


def cost_and_metrics(
    model: Model, trace: Trace, at: Tensor, truth: Array, draws: Array | None = None
) -> dict[str, float]:
    """Mean cost, mean number of groups and every metric of rows that stop at these steps of a trace."""
    outputs, spent, n_asked = trace.at(at)
    return {
        "mean_cost": float(spent.mean()),
        "mean_groups": float(n_asked.double().mean()),
        **metrics(model.task, model.task.decode(outputs), truth, draws),
    }


def _within(progress: Callable[[float], None], start: float, width: float) -> Callable[[float], None]:
    return lambda fraction: progress(start + width * fraction)
