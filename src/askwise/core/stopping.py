"""When to stop asking: small rules that combine with a bar."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from inspect import signature
from operator import and_, or_
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from askwise.core.arrays import Array
from askwise.core.capabilities import overrides_since
from askwise.core.errors import AskwiseError, AskwiseWarning, shortened, unknown_name
from askwise.core.step import Signals, StoppingRule, parts_of
from askwise.core.tasks import Classification, Task

Frontier = Mapping[str, Any]
# Two numbers nearer than this, relative to a threshold, are the same: a value that was read off may be used as one.
ROUNDING = 1e-9
# Every step looks at every rule: a text of thousands of them is no rule that anybody means.
MOST_PARTS = 100


class HasScores(Protocol):
    """A policy or a model: its scores are information, or only an order."""

    @property
    def is_information(self) -> bool: ...


class Rule:
    """Base of the rules: a bar joins two of them, `Budget(40) | Confidence(0.1)` stops when either says so.

    A rule of your own needs one method, `stops(step) -> (batch,) bool`; inherit from this class to get the bar. It
    judges each case by itself: cases that have stopped leave the batch.
    """

    # The reason it gives for stopping, and that reason in words, where it is in RULES; else it is called by its name.
    name: ClassVar[str]
    why: ClassVar[str] = ""
    # `stops` and `allows` take numpy arrays as well as tensors: a session that runs such rules needs no torch. Held for
    # the class that declares it: a subclass that overrides one of the two declares it anew, or loses it.
    runs_on_numpy: ClassVar[bool] = False

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if overrides_since(cls, "runs_on_numpy", ("stops", "allows")):
            cls.runs_on_numpy = False

    def __or__(self, other: StoppingRule) -> AnyOf:
        return AnyOf(parts_of(self) + parts_of(other))

    def __ror__(self, other: StoppingRule) -> AnyOf:
        return AnyOf(parts_of(other) + parts_of(self))

    def stops(self, step: Signals) -> Any:
        raise NotImplementedError

    def check(self, task: Task, policy: HasScores) -> None:
        """Raise a clear error where the rule has no meaning for this task or policy."""

    def resolve(self, frontier: Callable[[], Frontier]) -> StoppingRule:
        """The rule to run, once the model's frontier is at hand."""
        del frontier
        return self


class NumberRule(Rule):
    """A rule with one setting, a number of at least 0: a frozen dataclass with one field.

    A line in `RULES` lets the command line and the service read it as `name=number`.
    """

    # What the number is, with its article, for errors; and how it stands in a help text.
    what: ClassVar[str]
    unit: ClassVar[str] = "N"

    if TYPE_CHECKING:
        # Made by dataclass, in each subclass with the name of its own field.
        def __init__(self, number: float, /) -> None: ...

    @property
    def number(self) -> float:
        """The setting, whatever the rule calls it."""
        value: float = next(iter(vars(self).values()))
        return value

    def __post_init__(self) -> None:
        value: object = self.number
        try:
            fits = isinstance(value, (int, float, np.integer, np.floating)) and float(value) >= 0
        except OverflowError:
            # A whole number that no float can hold.
            fits = False
        if not fits or isinstance(value, bool):
            raise AskwiseError(f"{self.what} takes a number of at least 0, was given {shortened(value)}")

    def __str__(self) -> str:
        # As short as can be read back exactly.
        short = f"{self.number:g}"
        return f"{self.name}={short if float(short) == self.number else repr(float(self.number))}"


@dataclass(frozen=True)
class Budget(NumberRule):
    """Spend at most k, in cost units: go on with the best group that is still affordable, stop when none is."""

    k: float
    name: ClassVar[str] = "budget"
    what: ClassVar[str] = "a budget"
    why: ClassVar[str] = "no open question fits into the budget"
    runs_on_numpy: ClassVar[bool] = True

    def allows(self, spent: Any, costs: Any) -> Any:
        return costs <= self._left(spent)[:, None]

    def stops(self, step: Signals) -> Any:
        return step.cheapest > self._left(step.spent)

    def _left(self, spent: Any) -> Any:
        # Prices such as 0.1 + 0.2 must fit a budget of 0.3.
        return self.k * (1 + ROUNDING) - spent


@dataclass(frozen=True)
class Confidence(NumberRule):
    """Stop when the entropy of the prediction, H(y | x_S), is at most m nats."""

    m: float
    name: ClassVar[str] = "confidence"
    what: ClassVar[str] = "a confidence"
    unit: ClassVar[str] = "NATS"
    why: ClassVar[str] = "the prediction is sure enough"
    runs_on_numpy: ClassVar[bool] = True

    def check(self, task: Task, policy: HasScores) -> None:
        del policy
        if not isinstance(task, Classification):
            raise AskwiseError(
                "a confidence needs class probabilities, and this model predicts a number; "
                "use a budget, a penalty or an average cost"
            )

    def stops(self, step: Signals) -> Any:
        return step.entropy <= self.m * (1 + ROUNDING)

    def near(self, step: Signals, tolerance: float) -> Any:
        """Where rounding could decide."""
        return abs(step.entropy - self.m) <= tolerance * self.m


@dataclass(frozen=True)
class Penalty(NumberRule):
    """Stop when no open group that can be paid is worth its cost: max value / cost < lam."""

    lam: float
    name: ClassVar[str] = "penalty"
    what: ClassVar[str] = "a penalty"
    why: ClassVar[str] = "no open question is worth its cost"
    runs_on_numpy: ClassVar[bool] = True

    def check(self, task: Task, policy: HasScores) -> None:
        del task
        if not policy.is_information:
            raise AskwiseError(
                "a penalty needs scores that are information, and this method's scores are only an order; "
                "use a budget or a confidence, as Budget(5) or budget=5"
            )

    def stops(self, step: Signals) -> Any:
        return (step.best < self._level) & step.can_ask

    def near(self, step: Signals, tolerance: float) -> Any:
        """Where rounding could decide."""
        return abs(step.best - self.lam) <= tolerance * self.lam

    @property
    def _level(self) -> float:
        """The best value below which it stops."""
        return self.lam * (1 - ROUNDING)

    @staticmethod
    def steps_of_many(best: Array, penalties: Sequence[float]) -> Iterator[Array]:
        """For each row, the steps at which each of many penalties stops it, from best (steps + 1, rows).

        The same as `stops` at every step. One pass over the steps serves all penalties: a row goes on while its best
        value has stayed at the penalty or above.
        """
        levels = -np.array([Penalty(lam)._level for lam in penalties])
        for values in best.T:
            yield np.searchsorted(-np.minimum.accumulate(values, dtype=np.float64), levels, side="right")


@dataclass(frozen=True)
class AverageCost(NumberRule):
    """Spend at most k on average: the penalty whose mean cost on the validation rows is the largest not above k.

    It has no `stops` and no `why`: the penalty stops.
    """

    k: float
    name: ClassVar[str] = "average-cost"
    what: ClassVar[str] = "an average cost"
    runs_on_numpy: ClassVar[bool] = True

    def check(self, task: Task, policy: HasScores) -> None:
        Penalty(0).check(task, policy)

    def resolve(self, frontier: Callable[[], Frontier]) -> Penalty:
        table = frontier()
        penalty, cost = np.asarray(table["penalty"]), np.asarray(table["mean_cost"])
        least, most = cost[cost > 0].min(initial=np.inf), cost.max(initial=0.0)
        if self.k < least:
            warnings.warn(
                f"an average cost of {self.k:g} is below the least this model spends when it asks at all ({least:.4g})"
                ": nothing will be asked",
                AskwiseWarning,
                stacklevel=2,
            )
            return Penalty(math.inf)
        if self.k > most * (1 + 1e-6):
            warnings.warn(
                f"an average cost of {self.k:g} is above the most this model spends on average ({most:.4g}): "
                "everything will be asked",
                AskwiseWarning,
                stacklevel=2,
            )
            return Penalty(0.0)
        return Penalty(float(penalty[int(np.where(cost <= self.k * (1 + ROUNDING), cost, -1.0).argmax())]))


@dataclass(frozen=True)
class AnyOf(Rule):
    """Several rules: stop when any of them says stop, ask only what all of them allow."""

    parts: tuple[StoppingRule, ...]
    name: ClassVar[str] = "any"
    # If its parts do.
    runs_on_numpy: ClassVar[bool] = True

    def __str__(self) -> str:
        return "|".join(str(p) for p in self.parts)

    def check(self, task: Task, policy: HasScores) -> None:
        for part in self.parts:
            check_rule(part, task, policy)

    def resolve(self, frontier: Callable[[], Frontier]) -> AnyOf:
        return AnyOf(tuple(resolve_rule(part, frontier) for part in self.parts))

    def allows(self, spent: Any, costs: Any) -> Any:
        anything = spent[:, None] + costs <= math.inf
        return reduce(and_, [part.allows(spent, costs) for part in self.parts if hasattr(part, "allows")], anything)

    def stops(self, step: Signals) -> Any:
        return reduce(or_, [part.stops(step) for part in self.parts])


def check_rule(rule: StoppingRule, task: Task, policy: HasScores) -> None:
    """Raise where the rule can't be run at all, or has no meaning here."""
    if isinstance(rule, type) or not callable(getattr(rule, "stops", None)):
        ours = ", ".join(f"{known.__name__}({next(iter(signature(known).parameters))})" for known in RULES.values())
        raise AskwiseError(f"stop={rule!r} is not a stopping rule; give {ours}, or an object with a method stops(step)")
    if isinstance(rule, Rule):
        rule.check(task, policy)


def resolve_rule(rule: StoppingRule, frontier: Callable[[], Frontier]) -> StoppingRule:
    return rule.resolve(frontier) if isinstance(rule, Rule) else rule


RULES: dict[str, type[NumberRule]] = {
    "budget": Budget,
    "confidence": Confidence,
    "penalty": Penalty,
    "average-cost": AverageCost,
}


def least_value(rule: StoppingRule | None) -> float | None:
    """The least value per cost that a rule still asks, None where it sets none."""
    return max((part.lam for part in parts_of(rule) if isinstance(part, Penalty)), default=None)


def takes_arrays(rule: StoppingRule | None) -> bool:
    """Whether a rule and its parts declare that they run on numpy arrays; a user's own may call torch's functions."""
    own = rule is None or bool(getattr(rule, "runs_on_numpy", False))
    return own and all(takes_arrays(part) for part in getattr(rule, "parts", ()))


def rules_help() -> str:
    """How each rule is written: `budget=N, confidence=NATS, ... or average-cost=N`."""
    *others, last = (f"{name}={rule.unit}" for name, rule in RULES.items())
    return f"{', '.join(others)} or {last}"


def parse_rule(text: str) -> Rule:
    """A rule from its text: `budget=5`, `confidence=0.1`, `penalty=0.02`, `average-cost=40`, joined by `|`."""
    parts = text.split("|")
    if len(parts) > MOST_PARTS:
        raise AskwiseError(
            f"stopping rule {shortened(text)} has {len(parts)} parts joined by bars; at most {MOST_PARTS} are allowed"
        )
    rules: list[Rule] = []
    for part in parts:
        name, equals, value = part.strip().partition("=")
        if name.strip() not in RULES:
            raise unknown_name("stopping rule", name.strip(), RULES)
        try:
            number = float(value)
        except ValueError:
            raise AskwiseError(
                f"stopping rule {shortened(part.strip())} needs a number, as in '{name.strip()}=5'"
                + ("" if equals else "; no '=' was given")
            ) from None
        rules.append(RULES[name.strip()](number))
    return rules[0] if len(rules) == 1 else AnyOf(tuple(rules))
