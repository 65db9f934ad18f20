"""What a stopping rule is: the base of the rules that come along, and of a user's own."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import reduce
from operator import and_, or_
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from askwise.core.arrays import Array
from askwise.core.capabilities import overrides_since
from askwise.core.errors import AskwiseError, shortened
from askwise.core.step import Signals, StoppingRule, parts_of
from askwise.core.tasks import Task

Frontier = Mapping[str, Any]
# Two numbers nearer than this, relative to a threshold, are the same: a value that was read off may be used as one.
ROUNDING = 1e-9


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

    def check_prior(self, shares: Array) -> None:
        """Warn where the rule asks nothing at this prevalence of the labels, (classes,), which is not training's."""

    def resolve(self, frontier: Callable[[], Frontier]) -> StoppingRule:
        """The rule to run, once the model's frontier is at hand."""
        del frontier
        return self


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
            if isinstance(part, Rule):
                part.check(task, policy)

    def check_prior(self, shares: Array) -> None:
        for part in self.parts:
            if isinstance(part, Rule):
                part.check_prior(shares)

    def resolve(self, frontier: Callable[[], Frontier]) -> AnyOf:
        return AnyOf(tuple(resolve_rule(part, frontier) for part in self.parts))

    def allows(self, spent: Any, costs: Any) -> Any:
        anything = spent[:, None] + costs <= math.inf
        return reduce(and_, [part.allows(spent, costs) for part in self.parts if hasattr(part, "allows")], anything)

    def stops(self, step: Signals) -> Any:
        return reduce(or_, [part.stops(step) for part in self.parts])


def resolve_rule(rule: StoppingRule, frontier: Callable[[], Frontier]) -> StoppingRule:
    """The rule to run: an average cost is looked up in the frontier."""
    return rule.resolve(frontier) if isinstance(rule, Rule) else rule


class NumberRule(Rule):
    """A rule with one setting, a number of at least 0: a frozen dataclass whose first field it is.

    A line in `RULES` lets the command line and the service read it as `name=number`. Further fields have defaults, and
    follow as `name=number,field=number`.
    """

    # What the number is, with its article, for errors; and how it stands in a help text.
    what: ClassVar[str]
    unit: ClassVar[str] = "N"

    if TYPE_CHECKING:
        # Made by dataclass, in each subclass with the name of its own field.
        def __init__(self, number: float, /) -> None: ...

    @property
    def number(self) -> float:
        """The first setting, whatever the rule calls it."""
        value: float = next(iter(vars(self).values()))
        return value

    @classmethod
    def further_settings(cls) -> dict[str, Any]:
        """The fields after the first one, with their defaults."""
        return {field.name: field.default for field in fields(cls)[1:]}  # type: ignore[arg-type]

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
        further = self.further_settings().items()
        told = [(name, value) for name, default in further if (value := getattr(self, name)) != default]
        return ",".join(f"{name}={_exact(value)}" for name, value in [(self.name, self.number), *told])


def _exact(number: float) -> str:
    """A number as short as can be read back exactly."""
    short = f"{number:g}"
    return short if float(short) == number else repr(float(number))
