"""The greedy step: the only place where a question is chosen."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from torch import Tensor

from askwise.core.arrays import (
    among,
    any_in_row,
    at_least_zero,
    both,
    largest,
    like,
    namespace,
    uniform,
)
from askwise.core.belief import Belief
from askwise.core.errors import AskwiseError
from askwise.core.policy import Policy
from askwise.core.tasks import entropy

NOTHING_LEFT = "nothing-left"


@dataclass(frozen=True)
class Step:
    """One moment of a batch of cases, before the next question is asked.

    known, open (batch, groups): answered; askable, that is neither known nor unavailable. spent (batch,).
    values (batch, groups): score per cost, -inf where it can't be asked or paid. best, choice (batch,): the largest
    value and its group; `can_ask` is False where nothing can be chosen. In a batch they are tensors; a session's step,
    of one case, holds numpy arrays, but for rules of a user's own.
    """

    belief: Belief
    known: Any
    open: Any
    spent: Any
    costs: Any
    values: Any
    best: Any
    choice: Any

    # Many rules look at one step: what they share is computed once.
    @cached_property
    def can_ask(self) -> Any:
        return self.best > -math.inf

    @cached_property
    def cheapest(self) -> Any:
        """The lowest cost of an open group, (batch,); infinite where none is open."""
        xp = namespace(self.open)
        if uniform(self.costs):
            return xp.where(any_in_row(self.open), self.costs[0], math.inf)
        return xp.amin(xp.where(self.open, self.costs, math.inf), 1)

    @property
    def any_open(self) -> Any:
        return self.cheapest < math.inf

    @cached_property
    def entropy(self) -> Any:
        """H(y | x_S) of the prediction in nats, (batch,); classes only."""
        return entropy(self.belief.outputs)

    @property
    def n_asked(self) -> Any:
        return self.known.sum(1)

    @property
    def known_next(self) -> Tensor:
        """What is known once the choice is answered; unchanged where nothing can be asked."""
        choice = self.choice[:, None]
        return self.known.scatter(1, choice, self.known.gather(1, choice) | self.can_ask[:, None])

    @property
    def spent_next(self) -> Tensor:
        cost = self.costs[0] if uniform(self.costs) else self.costs[self.choice]
        return self.spent + cost * self.can_ask


class StoppingRule(Protocol):
    """What a rule must have: it judges each case by itself, since those that have stopped leave the batch.

    `allows(spent, costs)` is optional: which groups it lets one pay, (batch, groups), or (batch, 1) for all of them.
    """

    def stops(self, step: Step) -> Tensor:
        """Which cases stop here, (batch,)."""
        ...


def price(policy: Policy, scores: Any, costs: Any) -> Any:
    """Score per cost, never below 0, where scores are information; else the scores themselves."""
    return at_least_zero(scores) / like(costs, scores) if policy.is_information else scores


def propose(
    policy: Policy,
    belief: Belief,
    known: Any,
    available: Any,
    spent: Any,
    costs: Any,
    rule: StoppingRule | None = None,
) -> Step:
    """The step at `known`: the best group per cost among those that are open, available and affordable.

    Exact ties go to the cheaper group, then to the first.
    """
    open_, candidates = askable(known, available, spent, costs, rule)
    return _chosen(policy, belief, known, open_, candidates, spent, costs)


def askable(known: Any, available: Any, spent: Any, costs: Any, rule: StoppingRule | None) -> tuple[Any, Any]:
    """The open groups, and those of them that the rule allows to be paid, (batch, groups) each."""
    open_ = available & ~known
    allows = getattr(rule, "allows", None)
    return open_, open_ if allows is None else both(open_, allows(spent, costs))


def _chosen(policy: Policy, belief: Belief, known: Any, open_: Any, candidates: Any, spent: Any, costs: Any) -> Step:
    xp = namespace(known)
    values = among(price(policy, belief.scores, costs), candidates)
    best, choice = largest(values)
    if not uniform(costs):
        choice = xp.where(values == best[:, None], like(costs, values), math.inf).argmin(1)
    return Step(belief, known, open_, spent, costs, values, best, choice)


def parts_of(rule: StoppingRule | None) -> tuple[StoppingRule, ...]:
    """The rules that one is made of: its parts, itself, or none."""
    return tuple(getattr(rule, "parts", () if rule is None else (rule,)))


def rule_name(rule: object) -> str:
    """The reason a rule gives for stopping: its `name`, else its class's."""
    return str(getattr(rule, "name", type(rule).__name__))


def _judgement(rule: StoppingRule, step: Step) -> Any:
    """What a rule says, or a clear error where it can't be meant."""
    stops = rule.stops(step)
    whole = isinstance(stops, (bool, np.bool_))
    if whole or (str(getattr(stops, "dtype", "")).endswith("bool") and tuple(stops.shape) in ((), step.best.shape)):
        return stops
    what = f"{type(stops).__name__}{' of ' + str(stops.dtype) if hasattr(stops, 'dtype') else ''}"
    shape = f" and shape {tuple(stops.shape)}" if hasattr(stops, "shape") else ""
    raise AskwiseError(
        f"{rule_name(rule)}.stops(step) must give one bool for each row, of shape ({len(step.best)},); "
        f"it gave a {what}{shape}"
    )


def reasons(rule: StoppingRule | None, step: Step) -> tuple[Any, list[str]]:
    """Why each case stops here, as an index into the returned names; -1 where it goes on."""
    xp = namespace(step.known)
    names = [NOTHING_LEFT]
    reason = xp.where(step.any_open, -1, 0)
    parts = parts_of(rule)
    for part in parts:
        names.append(rule_name(part))
        reason = xp.where((reason < 0) & _judgement(part, step), len(names) - 1, reason)
    # A rule that allows nothing more has stopped the case, whether it says so or not.
    limiting = next((part for part in parts if hasattr(part, "allows")), None)
    names.append(NOTHING_LEFT if limiting is None else rule_name(limiting))
    return xp.where((reason < 0) & ~step.can_ask, len(names) - 1, reason), names
