"""Walks: rows on their way from question to question."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import torch
from torch import Tensor

from askwise.core.arrays import any_in_row
from askwise.core.belief import Belief
from askwise.core.policy import Policy
from askwise.core.prices import Prices
from askwise.core.prior import PriorShift
from askwise.core.rows import Rows
from askwise.core.step import Step, StoppingRule, askable, choose, parts_of, propose

# In float32, two values closer than NEAR (relative) may change places by rounding, and a value closer than
# NEAR_THRESHOLD to a threshold may change sides.
NEAR, NEAR_THRESHOLD = 1e-5, 5e-5


def random_open(open_: Tensor, order: Tensor | None = None) -> Tensor:
    """Choose one open group of each row at random, (batch,), from (batch, groups); any group where none is open.

    order: random numbers (batch, groups) to draw by. One order can serve a whole walk: the first open group of a
    random order is a random one of those still open, however the others were chosen.
    """
    order = torch.rand(open_.shape, device=open_.device) if order is None else order
    return order.masked_fill(~open_, -1).argmax(1)


def explore(step: Step, epsilon: Tensor, order: Tensor) -> Step:
    """The same step with a random open group for its choice, with probability epsilon."""
    other = random_open(step.open, order)
    random = torch.rand(len(other), device=other.device) < epsilon
    return replace(step, choice=torch.where(random, other, step.choice))


def walk(
    policy: Policy,
    rows: Rows,
    prices: Prices,
    n_steps: int,
    rule: StoppingRule | None = None,
    epsilon: Tensor | None = None,
    change: Callable[[Step], Step] | None = None,
) -> Iterator[Step]:
    """The first `n_steps` steps of each row; each asks the best group. Without a rule, the host never waits.

    change: returns the same step with another choice.
    """
    path = Walk(policy, rows, prices, rule)
    order = None if epsilon is None else torch.rand(rows.available.shape, device=rows.x.device)
    for _ in range(n_steps):
        step = path.step()
        if epsilon is not None and order is not None:
            step = explore(step, epsilon, order)
        if change is not None:
            step = change(step)
        yield step
        path.advance(step)


class Walk:
    """A batch of rows on its way: what is known and spent, and the policy's tracker.

    exact: the policy in float64. It computes a step again where values are nearly equal, or nearly at a threshold of
    one of the `rules`. shift: moves predictions to another prevalence.
    """

    def __init__(
        self,
        policy: Policy,
        rows: Rows,
        prices: Prices,
        rule: StoppingRule | None = None,
        exact: Policy | None = None,
        rules: Sequence[StoppingRule | None] = (),
        shift: PriorShift | None = None,
    ) -> None:
        self.policy = policy
        self.rows = rows
        self.prices = prices
        self.rule = rule
        self.exact = exact
        self.shift = shift
        self.thresholds = [part for given in rules for part in parts_of(given) if hasattr(part, "near")]
        self.known = torch.zeros_like(rows.available)
        self.spent = prices.nothing_spent(len(rows))
        self.tracker = policy.track(rows)
        in_vain = rows.tries or policy.space.presence_columns
        self.recorded = policy.space.recorded(rows.present) if in_vain else None

    def step(self) -> Step:
        """The step at which the rows stand now."""
        available, recorded = self.rows.available, self.recorded
        open_, candidates = askable(self.known, available, self.spent, self.prices, self.rule, recorded)
        scores = self._anything_allowed(candidates)
        belief = self._moved(self.tracker.belief(self.known, scores))
        if not scores:
            belief = Belief(belief.outputs, belief.outputs.new_zeros(()).expand(self.known.shape))
        ranking = self.policy.ranking
        step = choose(belief, self.known, open_, candidates, self.spent, self.prices, ranking, recorded)
        return step if self.exact is None else self._recompute_near_ties(self.exact, step)

    def _anything_allowed(self, candidates: Tensor) -> bool:
        """Whether any row may ask anything; if no budget allows it, scores need not be computed."""
        return not hasattr(self.rule, "allows") or bool(any_in_row(candidates).any())

    def _moved(self, belief: Belief) -> Belief:
        return belief if self.shift is None else self.shift.belief(belief)

    def _recompute_near_ties(self, exact: Policy, step: Step) -> Step:
        """The same step, computed by the exact policy where values are nearly equal, or nearly at a threshold."""
        chosen = step.choice[:, None]
        most = step.ranks.gather(1, chosen)[:, 0]
        second = step.ranks.scatter(1, chosen, -math.inf).amax(1)
        error = self.policy.capabilities.float32_error
        near = most - second <= error * NEAR * most.abs()
        for rule in self.thresholds:
            near = near | rule.near(step, error * NEAR_THRESHOLD)
        outputs, best, choice = step.belief.outputs.double(), step.best.double(), step.choice
        index = near.nonzero()[:, 0]
        if len(index):
            rows, known = self.rows.take(index), self.known[index]
            belief = self._moved(exact(rows.x.double(), exact.mask(known, rows.present)))
            spent = self.spent[index]
            recorded = None if self.recorded is None else self.recorded[index]
            again = propose(belief, known, rows.available, spent, self.prices, self.rule, exact.ranking, recorded)
            outputs = outputs.index_copy(0, index, belief.outputs)
            best, choice = best.index_copy(0, index, again.best), choice.index_copy(0, index, again.choice)
        return replace(step, belief=Belief(outputs, step.belief.scores), best=best, choice=choice)

    def advance(self, step: Step) -> None:
        """Ask what the step chose."""
        self.tracker.reveal(step.choice, step.can_ask)
        self.known, self.spent = step.known_next, step.spent_next

    def keep(self, index: Tensor) -> None:
        """Go on with these rows only."""
        self.tracker.keep(index)
        self.rows, self.known, self.spent = self.rows.take(index), self.known[index], self.spent[index]
        self.recorded = None if self.recorded is None else self.recorded[index]
