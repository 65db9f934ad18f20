"""Walks: rows on their way from question to question."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import torch
from torch import Tensor

from askwise.core.arrays import (
    any_in_row,
)
from askwise.core.belief import Belief
from askwise.core.policy import Policy
from askwise.core.rows import Rows
from askwise.core.step import Step, StoppingRule, _chosen, askable, parts_of, propose

# Values nearer to each other than this share of them may change places by the rounding of float32, and values nearer
# to a threshold than that may change sides.
NEAR, NEAR_THRESHOLD = 1e-5, 5e-5


def random_open(open_: Tensor, order: Tensor | None = None) -> Tensor:
    """A random one of each row's open groups, (batch,), from (batch, groups); any where none is open.

    order: random numbers (batch, groups) to draw by. The same ones may serve a whole walk: the first open group of a
    random order is a random one of those still open, however the others were chosen.
    """
    order = torch.rand(open_.shape, device=open_.device) if order is None else order
    return order.masked_fill(~open_, -1).argmax(1)


def explore(step: Step, epsilon: Tensor, order: Tensor) -> Step:
    """The same step with, at probability epsilon, a random open group for its choice."""
    other = random_open(step.open, order)
    random = torch.rand(len(other), device=other.device) < epsilon
    return replace(step, choice=torch.where(random, other, step.choice))


def walk(
    policy: Policy,
    rows: Rows,
    costs: Tensor,
    n_steps: int,
    rule: StoppingRule | None = None,
    epsilon: Tensor | None = None,
    change: Callable[[Step], Step] | None = None,
) -> Iterator[Step]:
    """The first `n_steps` steps of each row, asking the best group each time. Without a rule, the host never waits.

    change: gives the same step with another choice.
    """
    path = Walk(policy, rows, costs, rule)
    order = None if epsilon is None else torch.rand(rows.available.shape, device=rows.x.device)
    for _ in range(n_steps):
        step = path.step()
        if epsilon is not None and order is not None:
            step = explore(step, epsilon, order)
        if change is not None:
            step = change(step)
        yield step
        path.go_on(step)


class Walk:
    """Rows on their way from question to question."""

    def __init__(
        self,
        policy: Policy,
        rows: Rows,
        costs: Tensor,
        rule: StoppingRule | None = None,
        exact: Policy | None = None,
        judges: Sequence[StoppingRule | None] = (),
    ) -> None:
        self.policy = policy
        self.rows = rows
        self.costs = costs
        self.rule = rule
        self.exact = exact
        self.judges = [part for judge in judges for part in parts_of(judge) if hasattr(part, "near")]
        self.known = torch.zeros_like(rows.available)
        # Money in the precision of the costs: a sum of prices must meet a budget exactly.
        self.spent = costs.new_zeros(len(rows))
        self.tracker = policy.track(rows)

    def step(self) -> Step:
        """Where the rows stand now."""
        open_, candidates = askable(self.known, self.rows.available, self.spent, self.costs, self.rule)
        scores = self._anything_allowed(candidates)
        belief = self.tracker.belief(self.known, scores)
        if not scores:
            belief = Belief(belief.outputs, belief.outputs.new_zeros(()).expand(self.known.shape))
        step = _chosen(self.policy, belief, self.known, open_, candidates, self.spent, self.costs)
        return step if self.exact is None else self._settled(self.exact, step)

    def _anything_allowed(self, candidates: Tensor) -> bool:
        """Whether any row may ask anything: where a budget is spent, scores would be computed for nothing."""
        return not hasattr(self.rule, "allows") or bool(any_in_row(candidates).any())

    def _settled(self, exact: Policy, step: Step) -> Step:
        """The same step, thought anew by the exact policy where values are nearly equal, or nearly at a threshold."""
        second = step.values.scatter(1, step.choice[:, None], -math.inf).amax(1)
        rounding = self.policy.rounding
        near = step.best - second <= rounding * NEAR * step.best.abs()
        for judge in self.judges:
            near = near | judge.near(step, rounding * NEAR_THRESHOLD)
        outputs, best, choice = step.belief.outputs.double(), step.best.double(), step.choice
        index = near.nonzero()[:, 0]
        if len(index):
            rows, known = self.rows.take(index), self.known[index]
            belief = exact(rows.x.double(), exact.mask(known, rows.present))
            again = propose(exact, belief, known, rows.available, self.spent[index], self.costs, self.rule)
            outputs = outputs.index_copy(0, index, belief.outputs)
            best, choice = best.index_copy(0, index, again.best), choice.index_copy(0, index, again.choice)
        return replace(step, belief=Belief(outputs, step.belief.scores), best=best, choice=choice)

    def go_on(self, step: Step) -> None:
        """Ask what the step chose."""
        self.tracker.reveal(step.choice, step.can_ask)
        self.known, self.spent = step.known_next, step.spent_next

    def keep(self, index: Tensor) -> None:
        """Leave all rows but these behind."""
        self.tracker.keep(index)
        self.rows, self.known, self.spent = self.rows.take(index), self.known[index], self.spent[index]
