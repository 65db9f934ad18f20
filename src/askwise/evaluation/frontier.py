"""The frontier: what every average cost brings, and by which rule."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
from torch import Tensor

from askwise.core.arrays import Array
from askwise.core.costs import are_equal
from askwise.core.rows import Rows, evenly
from askwise.core.stopping import Budget, Penalty, Rule
from askwise.core.trace import Trace
from askwise.evaluation.average_cost import Chooser, expected_cost
from askwise.evaluation.curves import Walks, cost_and_metrics, curve_of_trace
from askwise.evaluation.metrics import coded
from askwise.evaluation.recorded import Outcome, Recorded
from askwise.evaluation.thresholds import average_costs, budgets, thresholds
from askwise.evaluation.weights import RowWeights
from askwise.model.model import Model
from askwise.model.session_model import Costs
from askwise.training.weights import StateWeights

# Penalties to look up what each of them spends.
FINE_POINTS = 2000

# Rows on which rules are chosen, and those of the curve that a model keeps.
CHOSEN_ON_ROWS, CHOSEN_ON_STEPS = 2000, 400_000
KEPT_ROWS = 1000


def frontier(model: Model, rows: Rows, y: Array, costs: Costs = None, points: int = 100) -> pd.DataFrame:
    """Average cost against the rule that is run, what it spends, and metrics: from asking nothing to everything.

    `penalty` is the one that spends as much, if scores are information; else `budget` is the average cost.
    """
    prices = model.costs(costs)
    trace, truth = model.trace(rows, [None], prices), coded(model.task, y)
    some = _some(model, rows)
    walks, weights = _walks(model, rows.take(some), prices), RowWeights.of(rows)
    recorded = Recorded.of(model, trace.take(some), truth[some.numpy()], weights.take(some))
    return _frontier(model, recorded, prices, walks, _spending(trace, weights), points)


def keep_frontier(
    model: Model, rows: Rows, y: Array, costs: Costs = None, states: StateWeights | None = None
) -> pd.DataFrame:
    """Have a model keep the frontier and the curve of these rows, and what it spends at many penalties.

    states: how much states count; by default as much as their rows.
    """
    rows = rows if states is None else states.rows_with_tries(rows)
    prices = model.costs(costs)
    trace, truth = model.trace(rows, [None], prices), coded(model.task, y)
    some = _some(model, rows)
    walks, weights = _walks(model, rows.take(some), prices), RowWeights.of(rows, states)
    spending = _spending(trace, weights)
    recorded = Recorded.of(model, trace.take(some), truth[some.numpy()], weights.take(some))
    chosen = _frontier(model, recorded, prices, walks, spending)
    model.frontiers[prices] = chosen
    if model.policy.is_information:
        model.spending[prices] = spending
    if _walks_are_cheap(model, prices):
        few = evenly(len(some), KEPT_ROWS)
        walks = {k: walked.take(few) for k, walked in walks.items()}
        kept = some[few]
        of_kept = rows.take(kept), truth[kept.numpy()], trace.take(kept)
        model.curves[prices] = curve_of_trace(model, *of_kept, prices, walks=walks, weights=weights.take(kept))
    return chosen


def _walks_are_cheap(model: Model, prices: tuple[float, ...]) -> bool:
    """Whether budgets can be tried: unequal prices take a walk for each, which takes long where scores are sampled."""
    return model.policy.capabilities.cheap_scores or are_equal(prices)


def _walks(model: Model, rows: Rows, prices: tuple[float, ...]) -> Walks:
    """Walks under budgets, by budget; none where prices are equal: a budget then cuts the walk to the end."""
    if are_equal(prices) or not _walks_are_cheap(model, prices):
        return {}
    rules = [Budget(k) for k in budgets(prices)]
    return {rule.k: model.trace(rows, [rule], prices, rule) for rule in rules}


def _spending(trace: Trace, weights: RowWeights) -> pd.DataFrame:
    """What many penalties spend on average."""
    penalties = thresholds(trace.best.numpy(), trace.spent.numpy(), FINE_POINTS)
    # Row by row: all stops of all rows at once would fill gigabytes.
    stops = Penalty.steps_of_many(trace.best.numpy(), penalties)
    cost, total = np.zeros(len(penalties)), np.zeros(len(penalties))
    for spent, weight, at in zip(trace.spent.numpy().T, weights.of_states(trace).T, stops, strict=True):
        cost += spent[at] * weight[at]
        total += weight[at]
    return pd.DataFrame({"penalty": penalties, "mean_cost": cost / total})


def _frontier(
    model: Model,
    recorded: Recorded,
    prices: tuple[float, ...],
    walks: Walks,
    spending: pd.DataFrame,
    points: int = 100,
) -> pd.DataFrame:
    price = prices[0] if are_equal(prices) else None
    chooser = Chooser(recorded, price, model.policy.is_information, walks)
    records = []
    for k, rule, found in _chosen(chooser, prices, points):
        interval = expected_cost(found.spent, found.weights)
        measures = cost_and_metrics(model, found.trace, found.at, recorded.truth, weights=found.weights)
        record = {"average_cost": k, "rule": str(rule), **measures}
        records.append(record | {"cost_low": interval.low, "cost_high": interval.high})
    table = pd.DataFrame(records).drop_duplicates("mean_cost", keep="first").reset_index(drop=True)
    if not model.policy.is_information:
        return table.assign(budget=table["average_cost"])
    paid = spending["mean_cost"].to_numpy()
    place = np.searchsorted(paid, table["mean_cost"].to_numpy() * (1 + 1e-9), side="right") - 1
    penalty = spending["penalty"].to_numpy()[np.maximum(place, 0)]
    return table.assign(penalty=np.where(place < 0, np.inf, penalty))


def _some(model: Model, rows: Rows) -> Tensor:
    """Rows to choose rules on: fewer the more questions there are."""
    return evenly(len(rows), max(100, min(CHOSEN_ON_ROWS, CHOSEN_ON_STEPS // model.schema.space.n_groups)))


def _chosen(chooser: Chooser, prices: tuple[float, ...], points: int) -> Iterator[tuple[float, Rule, Outcome]]:
    """The rule for each of many average costs; what kind of rule is better than a budget is found at some of them."""
    everything = chooser.everything
    # Where a budget takes a walk, there are walks under these.
    grid = budgets(prices) if chooser.budgets else budgets(prices, 10)
    tried = np.array([k for k in grid if 0 < k < everything])
    kinds = [chooser.kind(float(k)) for k in tried]
    for k in average_costs(prices, everything, points):
        nearest = int(np.abs(np.log(tried / k)).argmin()) if len(tried) and k >= min(prices) else None
        kind = None if nearest is None else kinds[nearest]
        rule, found = chooser.rule(k, kind)
        # What a budget between two that were walked spends is not known: it is looked up at the lower one.
        if rule != Budget(k) or k in chooser.budgets or not chooser.budgets:
            yield k, rule, found
    yield everything, Budget(np.inf), chooser.walk.outcome(chooser.walk.end)
