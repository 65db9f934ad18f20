"""A model asked about test rows: every metric at every budget, by budgets and by average costs."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from askwise.core.arrays import Array
from askwise.core.costs import are_equal, total_cost
from askwise.core.prices import Prices
from askwise.core.rows import Rows
from askwise.core.stopping import AverageCost, Budget
from askwise.core.tasks import Classification, Task
from askwise.core.trace import Trace
from askwise.evaluation import curves, metrics
from askwise.evaluation.reweighted import weights_against_gaps, with_answers
from askwise.evaluation.weights import RowWeights
from askwise.model.model import Model
from askwise.training.modes import threads
from askwise.training.weights import StateWeights

Record = dict[str, Any]
# A budget on rows that are weighed against gaps which told the answer in training.
REWEIGHTED = "reweighted-budget"


@dataclass(frozen=True, eq=False)
class FittedModel:
    """A trained model, on the device that it is asked on."""

    model: Model

    @property
    def task(self) -> Task:
        return self.model.task

    @property
    def n_groups(self) -> int:
        return self.model.schema.space.n_groups

    @property
    def rows_trained(self) -> int:
        return int(self.model.card["rows_trained"])

    def ask(
        self, X: Any, y: Array, budgets: Sequence[float], weights: Array | None = None
    ) -> tuple[list[Record], float]:
        """The records at each budget and average cost, and the seconds of asking up to the largest budget."""
        with self._threads():
            rows = self._rows(X).with_weight(weights)
            records, seconds = _at_budgets(self.model, rows, y, budgets)
            records += _at_average_costs(self.model, rows, y, budgets)
            return records + _reweighted(self.model, rows, y, budgets), seconds

    def _threads(self) -> Any:
        return threads(1 if torch.device(self.model.device).type == "cpu" else None)

    def _rows(self, X: Any) -> Rows:
        rows = self.model.schema.encode(X)
        # The first steps copy the policy and fill caches: they are not asking's own time.
        self.model.trace(rows.take(slice(0, 1)), [None], self.model.costs())
        return rows


@dataclass(frozen=True, eq=False)
class FittedCeiling(FittedModel):
    """A trained model that is told everything, whatever the budgets."""

    def ask(
        self, X: Any, y: Array, budgets: Sequence[float], weights: Array | None = None
    ) -> tuple[list[Record], float]:
        """The record with everything known, and the seconds that took."""
        del budgets
        with self._threads():
            return _everything(self.model, self._rows(X).with_weight(weights), y)


def _everything(model: Model, rows: Rows, truth: Array) -> tuple[list[Record], float]:
    """The metrics with everything known, and the seconds that took."""
    started = time.perf_counter()
    answer = model.task.decode(model.outputs(rows))
    seconds = time.perf_counter() - started
    paid = Prices.tensor(model.costs()).total(rows.available)
    counts, weights = rows.available.double().sum(1), RowWeights.of(rows).of_rows
    means = [float(np.average(part.cpu().numpy(), weights=weights)) for part in (paid, counts)]
    facts = {"mean_cost": means[0], "mean_groups": means[1]}
    facts |= metrics.metrics(model.task, answer, truth, weights=weights)
    return [{"rule": "everything", "budget": float(total_cost(model.costs())), **facts}], seconds


def _reweighted(model: Model, rows: Rows, truth: Array, budgets: Sequence[float]) -> list[Record]:
    """The metrics at each budget of rows weighed against gaps; none if no gaps told the answer in training."""
    labels = np.array(model.task.labels)[truth] if isinstance(model.task, Classification) else truth
    with_y = with_answers(model, rows, labels)
    states = weights_against_gaps(model, with_y)
    if states is None:
        return []
    records, _ = _at_budgets(model, states.rows_with_tries(with_y), truth, budgets, states)
    return [record | {"rule": REWEIGHTED} for record in records]


def _at_budgets(
    model: Model, rows: Rows, truth: Array, budgets: Sequence[float], states: StateWeights | None = None
) -> tuple[list[Record], float]:
    """The metrics at each budget, and the seconds of asking up to the largest."""
    prices, rules = model.costs(), [Budget(k) for k in sorted(budgets)]
    # With equal costs a budget cuts the walk of the largest one; else each goes on with what it can still pay.
    walks = [rules] if are_equal(prices) else [[rule] for rule in rules]
    records: list[Record] = []
    seconds = 0.0
    for together in walks:
        started = time.perf_counter()
        trace = model.trace(rows, together, prices, walked_by=together[-1])
        seconds = time.perf_counter() - started
        weights = RowWeights.of(rows, states)
        records += _records(model, weights, trace, Budget.name, [rule.k for rule in together], truth)
    return records, seconds


def _at_average_costs(model: Model, rows: Rows, truth: Array, budgets: Sequence[float]) -> list[Record]:
    """The metrics where each budget is an average over cases; none where scores are only an order."""
    if not model.policy.is_information:
        return []
    prices = model.costs()
    rules, weights = [model.rule(AverageCost(k), prices) for k in budgets], RowWeights.of(rows)
    if are_equal(prices):
        return _records(model, weights, model.trace(rows, rules, prices), AverageCost.name, budgets, truth)
    # Each may stand for a budget, which goes on with what it can still pay.
    traces = [model.trace(rows, [rule], prices, walked_by=rule) for rule in rules]
    each = zip(budgets, traces, strict=True)
    return [record for k, trace in each for record in _records(model, weights, trace, AverageCost.name, [k], truth)]


def _records(
    model: Model, weights: RowWeights, trace: Trace, rule: str, budgets: Sequence[float], truth: Array
) -> list[Record]:
    """The costs and metrics at the step where each rule stops the trace of rows with these weights."""
    records = []
    for k, stop in zip(budgets, trace.stops, strict=True):
        found = curves.cost_and_metrics(model, trace, stop.at, truth, weights=weights.at(trace, stop.at))
        records.append({"rule": rule, "budget": float(k), **found})
    return records
