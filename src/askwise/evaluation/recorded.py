"""A walk of rows to its end, and what rules that cut it make of the rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from askwise.core.arrays import Array
from askwise.core.stopping import Blend, Budget
from askwise.core.tasks import Classification, Task, error_probability
from askwise.core.trace import Trace
from askwise.evaluation.weights import RowWeights
from askwise.model.model import Model


@dataclass(frozen=True)
class Outcome:
    """Rows that stop at these steps of a trace: what each of them cost, its loss, and how much it counts, (rows,)."""

    trace: Trace
    at: Tensor
    task: Task
    truth: Array
    row_weights: RowWeights

    @cached_property
    def outputs(self) -> Tensor:
        return self.trace.at(self.at)[0].double()

    @cached_property
    def spent(self) -> Array:
        return np.asarray(self.trace.at(self.at)[1].double().numpy())

    @cached_property
    def loss(self) -> Array:
        return _loss(self.task, self.outputs, self.truth)

    @cached_property
    def weights(self) -> Array:
        return self.row_weights.at(self.trace, self.at)

    @property
    def mean_spent(self) -> float:
        return float(np.average(self.spent, weights=self.weights))

    @property
    def mean_loss(self) -> float:
        return float(np.average(self.loss, weights=self.weights))

    @property
    def share(self) -> Array:
        """The weights with a mean of 1: a mean of share * loss is the mean loss."""
        return self.weights / self.weights.mean()


@dataclass(frozen=True)
class Recorded:
    """A walk to its end, (steps + 1, rows): spent, best value per cost, error (1 - max p; classes only) and loss.

    weights: how much each row counts in each state.
    """

    trace: Trace
    task: Task
    truth: Array
    spent: Array
    best: Array
    error: Array | None
    loss: Array
    weights: Array
    row_weights: RowWeights
    can_ask: bool = True

    @staticmethod
    def of(model: Model, trace: Trace, truth: Array, row_weights: RowWeights | None = None) -> Recorded:
        task, counts = model.task, row_weights or RowWeights(np.ones(len(truth)))
        # Step by step: in float64 all at once would fill gigabytes.
        doubts = [error_probability(outputs) for outputs in trace.outputs] if isinstance(task, Classification) else None
        loss = np.stack([_loss(task, outputs, truth) for outputs in trace.outputs])
        error = None if doubts is None else torch.stack(doubts).double().numpy()
        walked = trace.spent.double().numpy(), trace.best.double().numpy()
        return Recorded(trace, task, truth, *walked, error, loss, counts.of_states(trace), counts)

    @cached_property
    def parts_of_error(self) -> list[Array]:
        """What a mean cost and its error are made of: weights and their squares, alone and times costs."""
        cost, squares = self.weights * self.spent, self.weights**2
        return [self.weights, cost, squares, squares * self.spent, cost**2]

    @cached_property
    def weighted_loss(self) -> Array:
        return np.asarray(self.weights * self.loss)

    @property
    def end(self) -> Array:
        """The step (rows,) at which nothing was left to ask."""
        return np.asarray(self.trace.stops[0].at.numpy())

    @property
    def n_rows(self) -> int:
        return self.spent.shape[1]

    def outcome(self, at: Array) -> Outcome:
        """Rows that stop at these steps, (rows,)."""
        return Outcome(self.trace, torch.from_numpy(at), self.task, self.truth, self.row_weights)

    def within(self, budget: Budget, price: float | None = None) -> Outcome:
        """Rows that stop where a budget can't pay the next question. price: of every question, if all have one.

        Then it is where that budget stops them; else nearly.
        """
        most = budget.k * (1 + 1e-9)
        if price is None:
            return self.outcome(np.minimum((self.spent <= most).sum(0) - 1, self.end))
        # What is asked in vain costs nothing, but is asked only if it could be paid.
        stops = self.spent + price > most
        return self.outcome(np.where(stops.any(0), np.minimum(stops.argmax(0), self.end), self.end))


class _Sum:
    """A sum over rows: what each row gives at the start, (rows,), and by how much each of the steps changes it."""

    def __init__(self, start: Array, change: Array) -> None:
        self.start = start
        self.change = change if change.any() else None

    def along(self, rows: Array, taken: Array, places: Array) -> Array:
        """The sum over some rows after so many of the steps; taken: whether each step is one of these rows."""
        start = self.start[rows].sum()
        if self.change is None:
            return np.full(len(places), start)
        return np.asarray(start + np.r_[0.0, np.cumsum(self.change * taken)][places])

    def after(self, rows: Array, taken: Array) -> float:
        """The sum over some rows after as many of the steps as are `taken` or not."""
        grown = 0.0 if self.change is None else (self.change[: len(taken)] * taken).sum()
        return float(self.start[rows].sum() + grown)


class Purchases:
    """The steps that blends of one weight, between the same limits, pay for; a threshold says for how many of them.

    A row goes on while the lowest signal so far is at the threshold or above. So the steps of all rows, sorted by that,
    add up to the mean cost, its error and the mean loss at every threshold. A sum grows with a step by what the state
    after it counts more than the state before.
    """

    def __init__(self, walk: Recorded, rule: Blend) -> None:
        self.walk = walk
        steps = slice(0, max(1, int((walk.spent[:-1] < rule.most * (1 - 1e-9)).any(1).sum())))
        spent = walk.spent[:-1][steps]
        goes_on = spent < rule.least * (1 - 1e-9)
        lowest = np.minimum.accumulate(np.where(goes_on, np.inf, rule.signal(walk)[:-1][steps]), axis=0)
        is_over = (spent >= rule.most * (1 - 1e-9)) | (np.arange(len(spent))[:, None] >= walk.end)
        self.lowest = np.where(is_over, -1.0, lowest)
        step, row = np.nonzero(self.lowest >= 0)
        order = np.argsort(-self.lowest[step, row], kind="stable")
        step, self.row = step[order], row[order]
        self.level = self.lowest[step, self.row]
        before, after = (step, self.row), (step + 1, self.row)
        # What a sum is before any step, and by how much each step changes it; nothing where weights are of rows.
        self.sums = [_Sum(part[0], part[after] - part[before]) for part in walk.parts_of_error]
        self.loss = _Sum(walk.weighted_loss[0], walk.weighted_loss[after] - walk.weighted_loss[before])

    @cached_property
    def places(self) -> Array:
        """How many of the steps can be paid for: all of equal levels or none, and those of no threshold in any case."""
        ends = np.r_[self.level[1:] != self.level[:-1], True] if len(self.level) else np.zeros(0, dtype=bool)
        return np.r_[0, np.flatnonzero(ends) + 1][int(len(self.level) > 0 and bool(np.isinf(self.level[0]))) :]

    def threshold(self, place: int) -> float:
        """A threshold that pays for so many of the steps: between two levels, so that rounding decides nothing."""
        below = self.level[place] if place < len(self.level) else 0.0
        if place == 0 or np.isinf(self.level[place - 1]):
            return float(below * 1.001 + 1e-12)
        return float((self.level[place - 1] + below) / 2)

    def spending(self, rows: Array) -> tuple[Array, Array]:
        """At each of the places, the mean cost of some rows (a bool each) and its standard error."""
        taken = rows[self.row]
        weight, cost, squares, squares_cost, squares_cost2 = (
            part.along(rows, taken, self.places) for part in self.sums
        )
        mean = cost / weight
        away = squares_cost2 - 2 * mean * squares_cost + mean**2 * squares
        return mean, np.sqrt(np.maximum(away, 0.0)) / weight

    def mean_loss(self, rows: Array, place: int) -> float:
        """The mean loss of some rows where so many of the steps are paid for."""
        taken = rows[self.row[:place]]
        return self.loss.after(rows, taken) / self.sums[0].after(rows, taken)

    def stops(self, threshold: float) -> Array:
        """The steps at which a threshold stops the rows."""
        return np.asarray((self.lowest >= threshold).sum(0))


def folds(n_rows: int, n_folds: int) -> Sequence[Array]:
    """For each fold, whether each row belongs to it; drawn the same each time."""
    fold = np.random.default_rng(0).permutation(n_rows) % n_folds
    return [fold == i for i in range(n_folds)]


def _loss(task: Task, outputs: Tensor, truth: Array) -> Array:
    """The loss of each row: nats, or squared units of y."""
    y = torch.as_tensor(truth)
    if isinstance(task, Classification):
        return np.asarray(task.loss(outputs.double(), y.long()).numpy())
    return np.asarray(((torch.as_tensor(task.decode(outputs)) - y.double()) ** 2).numpy())
