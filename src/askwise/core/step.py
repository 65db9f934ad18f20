"""The greedy step: the only place where a question is chosen."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from askwise.core.arrays import both, largest, like, mask_with_neg_inf, namespace
from askwise.core.belief import Belief
from askwise.core.errors import AskwiseError
from askwise.core.prices import Prices
from askwise.core.ranking import BY_INFORMATION, Ranking
from askwise.core.tasks import entropy, error_probability

NOTHING_LEFT = "nothing-left"


class Signals(Protocol):
    """What a stopping rule looks at: one step of a batch (batch,), or all steps of a rollout (steps, batch)."""

    @property
    def best(self) -> Any:
        """The largest value (score per cost) of a group that can be asked; -inf where none can."""

    @property
    def spent(self) -> Any: ...

    @property
    def n_asked(self) -> Any:
        """How many groups are known."""

    @property
    def entropy(self) -> Any:
        """H(y | x_S) of the prediction in nats; classes only."""

    @property
    def error(self) -> Any:
        """1 - max p of the prediction, the probability that the most likely label is wrong; classes only."""

    @property
    def cheapest(self) -> Any:
        """The lowest cost of an open group; infinite where none is open."""

    @property
    def can_ask(self) -> Any: ...


@dataclass(frozen=True)
class Step:
    """One moment of a batch of cases, before the next question is asked.

    known, open (batch, groups): answered; askable, that is neither known nor unavailable. spent (batch,).
    values (batch, groups): score per cost, -inf where it can't be asked or paid. best, choice (batch,): the largest
    value and its group; `can_ask` is False where nothing can be chosen. recorded (batch, groups): which answers are
    there, None: those of all open groups; what is asked in vain costs nothing. A batch holds tensors. A session's step
    holds numpy arrays of one row, or tensors if its rule is a user's own.
    """

    belief: Belief
    known: Any
    open: Any
    spent: Any
    prices: Prices
    values: Any
    best: Any
    choice: Any
    ranks: Any = None
    recorded: Any = None

    @property
    def bought(self) -> Any:
        """The groups that were paid, (batch, groups): those that are known, but not those that were asked in vain."""
        return bought(self.known, self.recorded)

    @property
    def reveals(self) -> Any:
        """Whether a value is learnt by asking the choice, (batch,)."""
        if self.recorded is None:
            return self.can_ask
        return self.can_ask & self.recorded.gather(1, self.choice[:, None])[:, 0]

    @property
    def costs(self) -> Any:
        """The cost of each group, (groups,) or (batch, groups)."""
        return self.prices.of(self.bought)

    # Several rules may look at one step: what they share is computed once.
    @cached_property
    def can_ask(self) -> Any:
        return self.best > -math.inf

    @cached_property
    def cheapest(self) -> Any:
        """The lowest cost of an open group, (batch,); infinite where none is open."""
        return self.prices.cheapest(self.bought, self.open)

    @property
    def any_open(self) -> Any:
        return self.cheapest < math.inf

    @cached_property
    def entropy(self) -> Any:
        """H(y | x_S) of the prediction in nats, (batch,); classes only."""
        return entropy(self.belief.outputs)

    @cached_property
    def error(self) -> Any:
        """1 - max p of the prediction, (batch,); classes only."""
        return error_probability(self.belief.outputs)

    @property
    def n_asked(self) -> Any:
        """How many groups are known, (batch,)."""
        return self.known.sum(1)

    @property
    def known_next(self) -> Any:
        """What is known once the choice is answered; unchanged where nothing can be asked."""
        choice = self.choice[:, None]
        return self.known.scatter(1, choice, self.known.gather(1, choice) | self.can_ask[:, None])

    @property
    def spent_next(self) -> Any:
        return self.spent + self.prices.of_choice(self.bought, self.choice) * self.reveals


class StoppingRule(Protocol):
    """What a rule must have: it judges each case by itself, since cases that have stopped leave the batch.

    `allows(spent, costs)` is optional: which groups the rule lets one pay, (batch, groups), or (batch, 1) for all.
    """

    def stops(self, step: Any) -> Any:
        """Which cases of a Step stop here, (batch,)."""


def propose(
    belief: Belief,
    known: Any,
    available: Any,
    spent: Any,
    prices: Prices,
    rule: StoppingRule | None = None,
    ranking: Ranking = BY_INFORMATION,
    recorded: Any = None,
) -> Step:
    """The step at `known`: the best group per cost among those that are open, available and affordable.

    Exact ties go to the cheaper group, then to the first. recorded: as in Step.
    """
    open_, candidates = askable(known, available, spent, prices, rule, recorded)
    return choose(belief, known, open_, candidates, spent, prices, ranking, recorded)


def bought(known: Any, recorded: Any) -> Any:
    """The groups of `known` that were paid; recorded: as in Step."""
    return known if recorded is None else known & recorded


def askable(
    known: Any, available: Any, spent: Any, prices: Prices, rule: StoppingRule | None, recorded: Any = None
) -> tuple[Any, Any]:
    """The open groups, and those of them that the rule allows to be paid, (batch, groups) each."""
    open_ = available & ~known
    allows = getattr(rule, "allows", None)
    if allows is None:
        return open_, open_
    return open_, both(open_, allows(spent, prices.of(bought(known, recorded))))


def choose(
    belief: Belief,
    known: Any,
    open_: Any,
    candidates: Any,
    spent: Any,
    prices: Prices,
    ranking: Ranking,
    recorded: Any = None,
) -> Step:
    """The step that chooses the best of the candidates (batch, groups)."""
    costs = prices.of(bought(known, recorded))
    values = ranks = mask_with_neg_inf(ranking.values(belief, costs), candidates)
    best, choice = most, _ = largest(values)
    if belief.ahead is not None:
        ranks = mask_with_neg_inf(ranking.ranks(belief, costs), candidates)
        most, choice = largest(ranks)
        best = namespace(known).maximum(best, most)
    if not prices.are_equal:
        choice = namespace(known).where(ranks == most[:, None], like(costs, ranks), math.inf).argmin(1)
    return Step(belief, known, open_, spent, prices, values, best, choice, ranks, recorded)


def parts_of(rule: StoppingRule | None) -> tuple[StoppingRule, ...]:
    """The rules that one is made of: its parts, itself, or none."""
    return tuple(getattr(rule, "parts", () if rule is None else (rule,)))


def rule_name(rule: object) -> str:
    """The reason a rule gives for stopping: its `name`, else its class's."""
    return str(getattr(rule, "name", type(rule).__name__))


def reasons(rule: StoppingRule | None, step: Step) -> tuple[Any, list[str]]:
    """Why each case stops here, as an index into the returned names; -1 where it goes on."""
    xp = namespace(step.known)
    names = [NOTHING_LEFT]
    reason = xp.where(step.any_open, -1, 0)
    parts = parts_of(rule)
    for part in parts:
        names.append(rule_name(part))
        reason = xp.where((reason < 0) & _checked_stops(part, step), len(names) - 1, reason)
    # A rule that allows nothing more has stopped the case, whether it says so or not.
    limiting = next((part for part in parts if hasattr(part, "allows")), None)
    names.append(NOTHING_LEFT if limiting is None else rule_name(limiting))
    return xp.where((reason < 0) & ~step.can_ask, len(names) - 1, reason), names


def _checked_stops(rule: StoppingRule, step: Step) -> Any:
    """What a rule says, or a clear error if it is no bool for each row."""
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
