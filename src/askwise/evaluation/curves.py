"""Curves: metrics against cost, for every rule."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from askwise.core.arrays import Array
from askwise.core.costs import are_equal
from askwise.core.rows import Rows, evenly
from askwise.core.step import StoppingRule
from askwise.core.stopping import RULES, AverageCost, Budget, Confidence, NumberRule, Penalty, Rule, parse_rule
from askwise.core.tasks import Classification, entropy, error_probability
from askwise.core.trace import Trace
from askwise.evaluation.intervals import bootstrap_draws, percentiles
from askwise.evaluation.label_to_find import label_to_find
from askwise.evaluation.metrics import coded, metrics, weighted_draws
from askwise.evaluation.thresholds import budgets, thresholds
from askwise.evaluation.weights import RowWeights
from askwise.model.model import Model
from askwise.model.session_model import Costs
from askwise.training.weights import StateWeights

# Walks under budgets, by budget.
Walks = dict[float, Trace]


def curve(
    model: Model,
    rows: Rows,
    y: Array,
    costs: Costs = None,
    points: int = 20,
    bootstrap: int = 0,
    progress: Callable[[float], None] | None = None,
    states: StateWeights | None = None,
    persons: Array | None = None,
) -> pd.DataFrame:
    """Metrics against mean cost and mean number of groups, for every rule over a grid that covers its range.

    Rows count as much as their weights; states: if it differs from state to state, rows need their answers. persons:
    the number of each row's person; intervals are then those of drawing persons again, not rows.
    """
    rows = rows if states is None else states.rows_with_tries(rows)
    prices = model.costs(costs)
    # Unequal prices take a walk for each budget too.
    share = 1 if are_equal(prices) else 1 / (1 + points)
    trace = model.trace(rows, [None], prices, progress=None if progress is None else _within(progress, 0, share))
    rest = None if progress is None else _within(progress, share, 1 - share)
    weights, truth = RowWeights.of(rows, states), coded(model.task, y)
    return curve_of_trace(model, rows, truth, trace, prices, points, bootstrap, rest, weights=weights, persons=persons)


def curve_of_trace(
    model: Model,
    rows: Rows,
    truth: Array,
    trace: Trace,
    prices: tuple[float, ...],
    points: int = 20,
    bootstrap: int = 0,
    progress: Callable[[float], None] | None = None,
    walks: Walks | None = None,
    weights: RowWeights | None = None,
    persons: Array | None = None,
) -> pd.DataFrame:
    """The same from a walk of these rows to the end. Rules that limit what can be chosen need walks of their own.

    walks: those that were made before, by budget. weights: by default those of the rows. persons: as in `curve`.
    """
    draws = bootstrap_draws(len(rows), bootstrap, persons=persons) if bootstrap else None
    weights = weights or RowWeights.of(rows)
    signals = TraceSignals.of(model, trace, prices)
    found = _rules(model, signals, prices, points)
    # With equal costs a budget cuts the same walk, since all or none of the groups are affordable.
    limits = [] if are_equal(prices) else [point.rule for point in found if isinstance(point.rule, Budget)]
    walked = _walked(model, rows, prices, {rule.k for rule in limits}, walks or {}, progress)
    records = []
    for point in found:
        own = walked.get(point.rule.k) if isinstance(point.rule, Budget) else None
        at = _cut(trace, signals, point.rule) if own is None else own.stops[0].at
        walk = trace if own is None else own
        measures = cost_and_metrics(model, walk, at, truth, draws, weights.at(walk, at), persons)
        records.append({"rule": point.name, "parameter": point.number, **measures})
    order = {name: i for i, name in enumerate(RULES)}
    table = pd.DataFrame(records).drop_duplicates(["rule", "mean_cost", "mean_groups"])
    return table.iloc[np.lexsort([table["mean_cost"], table["rule"].map(order)])].reset_index(drop=True)


def _walked(
    model: Model,
    rows: Rows,
    prices: tuple[float, ...],
    budgets: set[float],
    before: Walks,
    progress: Callable[[float], None] | None,
) -> Walks:
    """A walk for each budget; those that were made before are taken."""
    found = {k: before[k] for k in budgets if k in before}
    others = sorted(budgets - set(found))
    for i, k in enumerate(others):
        inner = None if progress is None else _within(progress, i / len(others), 1 / len(others))
        found[k] = model.trace(rows, [Budget(k)], prices, Budget(k), inner)
    return found


@dataclass(frozen=True)
class TraceSignals:
    """The signals of all steps (steps + 1, rows) of a walk that went on to the end."""

    best: Tensor
    spent: Tensor
    n_asked: Tensor
    entropy: Tensor | None
    error: Tensor | None
    cheapest: float
    can_ask: bool = True

    @staticmethod
    def of(model: Model, trace: Trace, prices: tuple[float, ...]) -> TraceSignals:
        # Step by step: in float64 all at once would fill gigabytes.
        classes = isinstance(model.task, Classification)
        unsure = torch.stack([entropy(outputs) for outputs in trace.outputs]) if classes else None
        error = torch.stack([error_probability(outputs) for outputs in trace.outputs]) if classes else None
        return TraceSignals(trace.best, trace.spent, trace.n_asked, unsure, error, min(prices))


def _cut(trace: Trace, signals: TraceSignals, rule: StoppingRule) -> Tensor:
    """The steps (rows,) at which a rule stops a walk that went on to the end.

    If a value equals a threshold but for rounding, the walk's float32 decides here; in use float64 does.
    """
    stops, end = rule.stops(signals), trace.stops[0].at
    return torch.where(stops.any(0), stops.to(torch.uint8).argmax(0), end).minimum(end)


class Point(NamedTuple):
    """A rule of a curve: its name and number there, and the rule that is run."""

    name: str
    number: float
    rule: Rule


def _rules(model: Model, signals: TraceSignals, prices: tuple[float, ...], points: int) -> list[Point]:
    """The rules of a curve, each over a grid that covers its range."""
    spent = signals.spent.numpy()
    rules: list[NumberRule] = [Budget(k) for k in budgets(prices, points)]
    if signals.entropy is not None:
        rules += [Confidence(m) for m in thresholds(signals.entropy.numpy(), spent, points)]
    if model.policy.is_information:
        rules += [Penalty(lam) for lam in thresholds(signals.best.numpy(), spent, points)]
    return [Point(rule.name, rule.number, rule) for rule in rules] + _average_costs(model, prices, points)


def _average_costs(model: Model, prices: tuple[float, ...], points: int) -> list[Point]:
    """Average costs, by the rules that the model keeps for them; none under prices that it has no frontier of."""
    table = model.frontiers.get(prices)
    if table is None or "rule" not in table:
        return []
    some = table.iloc[evenly(len(table), points).numpy()]
    return [
        Point(AverageCost.name, float(k), parse_rule(text))
        for k, text in zip(some["average_cost"], some["rule"], strict=True)
    ]


def cost_and_metrics(
    model: Model,
    trace: Trace,
    at: Tensor,
    truth: Array,
    draws: Array | None = None,
    weights: Array | None = None,
    persons: Array | None = None,
) -> dict[str, float]:
    """Mean cost, mean number of groups and every metric of rows that stop at these steps of a trace."""
    outputs, spent, n_asked = trace.at(at)
    to_find = label_to_find(model)
    return {
        "mean_cost": float(np.average(spent.double().numpy(), weights=weights)),
        "mean_groups": float(np.average(n_asked.double().numpy(), weights=weights)),
        **metrics(model.task, model.task.decode(outputs), truth, draws, weights, persons, to_find),
        **({} if draws is None else _ends({"mean_cost": spent, "mean_groups": n_asked}, draws, weights)),
    }


def _ends(values: dict[str, Tensor], draws: Array, weights: Array | None) -> dict[str, float]:
    """The 95 % intervals of means over rows, by name."""
    each = np.stack([part.double().numpy() for part in values.values()], 1)
    counts = weighted_draws(draws, np.ones(len(each)) if weights is None else weights)
    means = np.concatenate([count @ each / count.sum(1, keepdims=True) for count in counts])
    ends = {name: percentiles(column) for name, column in zip(values, means.T, strict=True)}
    return {f"{name}_{end}": ends[name][i] for name in values for i, end in enumerate(("low", "high"))}


def _within(progress: Callable[[float], None], start: float, width: float) -> Callable[[float], None]:
    return lambda fraction: progress(start + width * fraction)
