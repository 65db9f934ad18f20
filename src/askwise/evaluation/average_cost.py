"""Which rule to run for an average cost: a budget, unless a blend is better on the validation rows."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from torch import Tensor

from askwise.core.arrays import Array
from askwise.core.stopping import Blend, Budget, Interval, Rule
from askwise.core.tasks import Classification
from askwise.core.trace import Trace
from askwise.evaluation.metrics import METRICS
from askwise.evaluation.recorded import Outcome, Purchases, Recorded, folds
from askwise.evaluation.weights import mean_and_error

# Blends that are tried: how much information counts, and from which to which share of the average cost they may spend.
WEIGHTS = (0.0, 0.25, 0.5, 0.75, 1.0)
LIMITS = ((0.0, 2.0), (0.0, 4.0), (0.5, 1.5), (0.5, 2.0))
N_FOLDS = 5
# With fewer rows, folds of them can't tell which rule is better.
FEWEST_ROWS = 60
# Folds share their other rows, so that the standard error of their mean is larger than that of as many rows drawn
# apart: by sqrt(1 + N_FOLDS / (N_FOLDS - 1)) (Nadeau and Bengio, 2003).
ONE_STANDARD_ERROR = math.sqrt(1 + N_FOLDS / (N_FOLDS - 1))
# What the mean cost of as many fresh rows is to be of k, in nine of ten cases at either end: both sets of rows vary.
# Only where prices are equal is there a least: else what is left may not buy anything.
LEAST_SPENT, MOST_SPENT = 0.9, 1.03
NINE_OF_TEN, NINETEEN_OF_TWENTY = 1.28 * math.sqrt(2), 1.96 * math.sqrt(2)
# A budget that spends less of k than this leaves something to be asked.
NEARLY_ALL = 0.97
# A budget that spends less of k than this, since what is left buys nothing, gives way to all that is better on folds.
SPENDS_LITTLE = 2 / 3


class Settled(NamedTuple):
    """A rule whose mean cost fits k, and the mean loss that it has."""

    rule: Rule
    loss: float


def _is_above(gain: Array, errors: float) -> bool:
    """Whether a mean gain is above 0 by so many standard errors."""
    return bool(gain.mean() > errors * gain.std() / math.sqrt(len(gain)))


class Candidate(ABC):
    """A rule that an average cost may stand for."""

    @abstractmethod
    def settle(self, rows: Array, k: float, least: float) -> Settled | None:
        """Fit its numbers to k on some rows (a bool each); None where it might spend too much, or less than `least`."""

    @abstractmethod
    def outcome(self, rule: Rule) -> Outcome:
        """What the rule, as it was settled, makes of all rows."""


class BlendCandidate(Candidate):
    """Blends of one weight between the same limits."""

    def __init__(self, walk: Recorded, blend: Blend) -> None:
        self.walk = walk
        self.blend = blend
        self.purchases = Purchases(walk, blend)

    def settle(self, rows: Array, k: float, least: float) -> Settled | None:
        mean, error = self.purchases.spending(rows)
        fits = np.flatnonzero(_fits(mean, error, k))
        if not len(fits) or mean[fits[-1]] - NINE_OF_TEN * error[fits[-1]] < least:
            return None
        place = int(self.purchases.places[fits[-1]])
        rule = replace(self.blend, threshold=self.purchases.threshold(place))
        return Settled(rule, self.purchases.mean_loss(rows, place))

    def outcome(self, rule: Rule) -> Outcome:
        assert isinstance(rule, Blend)
        return self.walk.outcome(self.purchases.stops(rule.threshold))


@dataclass(frozen=True)
class BudgetCandidate(Candidate):
    """A budget above k that is not used up on average."""

    budget: Budget
    found: Outcome

    def settle(self, rows: Array, k: float, least: float) -> Settled | None:
        weights = self.found.weights[rows]
        mean, error = mean_and_error(self.found.spent[rows], weights)
        if mean - NINE_OF_TEN * error < least or not _fits(mean, error, k):
            return None
        return Settled(self.budget, float(np.average(self.found.loss[rows], weights=weights)))

    def outcome(self, rule: Rule) -> Outcome:
        del rule
        return self.found


def _fits(mean: Any, error: Any, k: float) -> Any:
    """Whether mean costs on the validation rows promise to stay near k on fresh ones."""
    return (mean <= k * (1 + 1e-9)) & (mean + NINE_OF_TEN * error <= MOST_SPENT * k)


def expected_cost(spent: Array, weights: Array | None = None) -> Interval:
    """Where the mean cost of as many fresh rows lies in 19 of 20 cases, from what each row spent, and counts."""
    mean, error = mean_and_error(spent, np.ones(len(spent)) if weights is None else weights)
    half = NINETEEN_OF_TWENTY * error
    return Interval(max(0.0, mean - half), mean + half)


class Kind(NamedTuple):
    """A family of blends that was found better than the budget: its weight, and its limits as shares of k."""

    weight: float
    limits: tuple[float, float]

    def spans(self, k: float) -> tuple[float, float]:
        """From what to what it may spend on a row."""
        return self.limits[0] * k, self.limits[1] * k

    def blend(self, k: float, price: float | None) -> Blend:
        """The blend for k; its limits are whole questions where all have one price."""
        least, most = self.spans(k)
        if price is not None:
            least, most = (price * math.ceil(amount / price - 1e-9) for amount in (least, most))
        return Blend(0.0, self.weight, least, most)


@dataclass(frozen=True)
class Chooser:
    """Chooses the rule for average costs on a walk of rows under some prices.

    price: what each group costs where all cost the same. budgets: where they do not, walks of the same rows under
    budgets, since a budget then chooses otherwise. is_information: whether scores are, or only an order.
    """

    walk: Recorded
    price: float | None
    is_information: bool
    budgets: dict[float, Trace]

    def kind(self, k: float) -> Kind | Budget | None:
        """What is better than the budget of k: blends of a kind, a larger budget, or nothing (None)."""
        if self.walk.n_rows < FEWEST_ROWS:
            return None
        candidates, (_, plain) = self._candidates(k), self.baseline(k)
        best = self._best(list(candidates.values()), self._every, k)
        # What is no better on the rows that it was settled on needs no folds.
        if best is None or best[1].loss >= plain.mean_loss or not self._wins(list(candidates.values()), k, plain):
            return None
        return next(kind for kind, candidate in candidates.items() if candidate is best[0])

    def rule(self, k: float, kind: Kind | Budget | None) -> tuple[Rule, Outcome]:
        """The rule for k where this kind was found better near k, and what it makes of the rows."""
        plain, found = self.baseline(k)
        if kind is None or self.walk.n_rows < FEWEST_ROWS:
            return plain, found
        candidate = self._candidate(kind, k)
        settled = candidate.settle(self._every, k, self._least(k))
        if settled is None or settled.loss > found.mean_loss:
            return plain, found
        return settled.rule, candidate.outcome(settled.rule)

    def baseline(self, k: float) -> tuple[Rule, Outcome]:
        """The budget of k, and what it makes of the rows.

        If all groups have one price, the budget is larger where rows that lack groups leave something of it; and some
        rows are asked once more where it spends less than k.
        """
        if self.price is None:
            walked = self.budgets.get(k)
            return Budget(k), self.walk.within(Budget(k)) if walked is None else self._walked(walked)
        count = int(np.flatnonzero(self._cost_of_counts <= k * (1 + 1e-9))[-1])
        limit = count * self.price
        budget = Budget(max(limit, k))
        found = self.walk.within(budget, self.price)
        if found.mean_spent < NEARLY_ALL * k and self.weights:
            weight = self.weights[len(self.weights) // 2]
            blend = BlendCandidate(self.walk, Blend(0.0, weight, limit, limit + self.price))
            settled = blend.settle(self._every, k, 0.0)
            if settled is not None and (mixed := blend.outcome(settled.rule)).mean_spent > found.mean_spent:
                return settled.rule, mixed
        return budget, found

    @cached_property
    def weights(self) -> tuple[float, ...]:
        """The weights of blends that the task and the scores allow."""
        classes = isinstance(self.walk.task, Classification)
        return tuple(w for w in WEIGHTS if (w == 0 or self.is_information) and (w == 1 or classes))

    @cached_property
    def _every(self) -> Array:
        """Every row."""
        return np.ones(self.walk.n_rows, dtype=bool)

    @cached_property
    def _cost_of_counts(self) -> Array:
        """What rows cost on average if so many groups are asked of each, at most; equal prices only."""
        price = self.price or 1.0
        counts = range(len(self.walk.spent) + 1)
        return np.asarray([self.walk.within(Budget(count * price), price).mean_spent for count in counts])

    @cached_property
    def everything(self) -> float:
        """What asking everything costs on average."""
        return self.walk.outcome(self.walk.end).mean_spent

    def _least(self, k: float) -> float:
        """What is to be spent at least."""
        return LEAST_SPENT * k if self.price is not None and self.everything > k else 0.0

    def _candidates(self, k: float) -> dict[Kind | Budget, Candidate]:
        """What may be better than the budget of k, by its kind."""
        kinds = [Kind(weight, limits) for weight in self.weights for limits in LIMITS]
        # Limits above the cost of everything are all the same.
        everything = float(self.walk.spent[-1].max())
        apart = {(kind.weight, least, min(most, everything)): kind for kind in kinds for least, most in [kind.spans(k)]}
        found: list[Kind | Budget] = [*apart.values(), *(Budget(other) for other in self.budgets if other > k)]
        return {kind: self._candidate(kind, k) for kind in found}

    def _candidate(self, kind: Kind | Budget, k: float) -> Candidate:
        if isinstance(kind, Budget):
            return BudgetCandidate(kind, self._walked(self.budgets[kind.k]))
        return BlendCandidate(self.walk, kind.blend(k, self.price))

    def _walked(self, trace: Trace) -> Outcome:
        return Outcome(trace, trace.stops[0].at, self.walk.task, self.walk.truth, self.walk.row_weights)

    def _best(self, candidates: Sequence[Candidate], rows: Array, k: float) -> tuple[Candidate, Settled] | None:
        """The candidate with the lowest loss on some rows."""
        found = [(one, settled) for one in candidates if (settled := one.settle(rows, k, self._least(k))) is not None]
        return min(found, key=lambda pair: pair[1].loss, default=None)

    def _wins(self, candidates: Sequence[Candidate], k: float, plain: Outcome) -> bool:
        """Whether what is best on the other folds beats the budget on each fold: in loss and in what is shown."""
        loss, outputs, share = plain.loss.copy(), plain.outputs.clone(), plain.share.copy()
        for fold in folds(len(loss), N_FOLDS):
            best = self._best(candidates, ~fold, k)
            if best is not None:
                found = best[0].outcome(best[1].rule)
                loss[fold], outputs[fold], share[fold] = found.loss[fold], found.outputs[fold], found.share[fold]
        needed = ONE_STANDARD_ERROR if plain.mean_spent >= SPENDS_LITTLE * k else 0.0
        gain = plain.share * plain.loss - share * loss
        fewer = self._fewer_errors(outputs, share, plain)
        wins = _is_above(gain, needed) or (gain.mean() > 0 and _is_above(fewer, needed))
        return wins and self._is_no_worse(outputs, share, plain)

    def _fewer_errors(self, outputs: Tensor, share: Array, plain: Outcome) -> Array:
        """Of each row, its share if it is told right only now, less its share if only by the budget; 0 of numbers.

        Errors vary less from row to row than losses: a gain shows in fewer rows.
        """
        if not isinstance(self.walk.task, Classification):
            return np.zeros(self.walk.n_rows)
        right = [part.argmax(1).numpy() == self.walk.truth for part in (outputs, plain.outputs)]
        return share * right[0] - plain.share * right[1]

    def _is_no_worse(self, outputs: Tensor, share: Array, plain: Outcome) -> bool:
        """Whether the metric that people look at is no worse: accuracy of several classes, AUROC of two."""
        task = self.walk.task
        if not isinstance(task, Classification):
            return True
        metric = METRICS[task.kind]["auroc" if len(task.labels) == 2 else "accuracy"]
        both = ((outputs, share), (plain.outputs, plain.share))
        ours, theirs = (float(metric(task.decode(part), self.walk.truth, counts[None])[0]) for part, counts in both)
        return not ours < theirs
