"""When to stop asking: small rules that combine with a bar."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Any, ClassVar

import numpy as np

from askwise.core.arrays import Array
from askwise.core.blend import Blend
from askwise.core.errors import AskwiseError, AskwiseWarning, shortened, unknown_name
from askwise.core.on_average import Interval, OnAverage
from askwise.core.rule import ROUNDING, AnyOf, Frontier, HasScores, NumberRule, Rule, resolve_rule
from askwise.core.step import Signals, StoppingRule, parts_of, rule_name
from askwise.core.tasks import Classification, Task

# What is defined beside the rules, and found here too.
__all__ = [
    "MOST_PARTS",
    "ROUNDING",
    "RULES",
    "AnyOf",
    "AverageCost",
    "Blend",
    "Budget",
    "Confidence",
    "Frontier",
    "HasScores",
    "Interval",
    "NumberRule",
    "OnAverage",
    "Penalty",
    "Rule",
    "check_rule",
    "expected_cost",
    "least_value",
    "parse_rule",
    "resolve_rule",
    "rule_text",
    "rules_help",
    "takes_arrays",
]

# Every step looks at every rule: a text of thousands of them is no rule that anybody means.
MOST_PARTS = 100


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
        most = math.log(len(task.labels))
        if self.m * (1 + ROUNDING) >= most:
            warnings.warn(
                f"a confidence of {self.m:g} asks nothing: the entropy of {len(task.labels)} labels is at most "
                f"{most:.3f} nats, so every prediction is sure enough before the first question; give a number from 0 "
                f"(certain) to below {most:.3f}",
                AskwiseWarning,
                stacklevel=3,
            )

    def check_prior(self, shares: Array) -> None:
        most = -float(shares @ np.log(shares))
        if self.m * (1 + ROUNDING) >= most:
            warnings.warn(
                f"a confidence of {self.m:g} asks nothing at this prior where nothing is known: the prediction is then "
                f"the prior, whose entropy is {most:.3f} nats, sure enough before the first question; give a number "
                f"from 0 (certain) to below {most:.3f}, or a budget",
                AskwiseWarning,
                stacklevel=3,
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
    """Spend at most k on average: the rule that was chosen for k on the validation rows.

    It is a budget, or a blend that is better there. It has no `stops`: the rule that was chosen stops.
    """

    k: float
    name: ClassVar[str] = "average-cost"
    what: ClassVar[str] = "an average cost"
    why: ClassVar[str] = "the average cost allows no more questions about this case"
    runs_on_numpy: ClassVar[bool] = True

    def resolve(self, frontier: Callable[[], Frontier]) -> Rule:
        table = frontier()
        cost = np.asarray(table["mean_cost"])
        least, most = cost[cost > 0].min(initial=np.inf), cost.max(initial=0.0)
        if self.k < least:
            self._warn(f"below the least this model spends when it asks at all ({least:.4g}): nothing will be asked")
        elif self.k > most * (1 + 1e-6):
            self._warn(f"above the most this model spends on average ({most:.4g}): everything will be asked")
        if "rule" in table:
            return self._chosen(table, least, most)
        return self._penalty(table, least, most) if "penalty" in table else Budget(self.k)

    def _chosen(self, table: Frontier, least: float, most: float) -> OnAverage:
        """The rule of the largest average cost in the table that is not above k."""
        if self.k > most * (1 + 1e-6):
            return OnAverage(Budget(math.inf), self.k, Interval(most, most))
        if self.k < least:
            return OnAverage(Budget(0), self.k, Interval(0.0, 0.0))
        costs = np.asarray(table["average_cost"])
        at = int(np.where(costs <= self.k * (1 + ROUNDING), costs, -1.0).argmax())
        rule, low, high = (np.asarray(table[name])[at] for name in ("rule", "cost_low", "cost_high"))
        if parse_rule(rule) == Budget(float(costs[at])):
            # Between two lines of the table, a budget of k may buy more than that of the first.
            return OnAverage(Budget(self.k), self.k, Interval(float(low), max(float(high), min(self.k, most))))
        return OnAverage(parse_rule(rule), self.k, Interval(float(low), float(high)))

    def _penalty(self, table: Frontier, least: float, most: float) -> Penalty:
        """The penalty whose mean cost is the largest not above k; files of earlier versions have no other rules."""
        penalty, cost = np.asarray(table["penalty"]), np.asarray(table["mean_cost"])
        if self.k < least:
            return Penalty(math.inf)
        if self.k > most * (1 + 1e-6):
            return Penalty(0.0)
        return Penalty(float(penalty[int(np.where(cost <= self.k * (1 + ROUNDING), cost, -1.0).argmax())]))

    def _warn(self, what: str) -> None:
        warnings.warn(f"an average cost of {self.k:g} is {what}", AskwiseWarning, stacklevel=3)


def check_rule(rule: StoppingRule, task: Task, policy: HasScores) -> None:
    """Raise where the rule can't be run at all, or has no meaning here."""
    for part in parts_of(rule):
        if isinstance(part, type) or not callable(getattr(part, "stops", None)):
            ours = ", ".join(f"{known.__name__}({next(iter(signature(known).parameters))})" for known in RULES.values())
            raise AskwiseError(
                f"stop={part!r} is not a stopping rule; give {ours}, or an object with a method stops(step)"
            )
    if isinstance(rule, Rule):
        rule.check(task, policy)


RULES: dict[str, type[NumberRule]] = {
    "budget": Budget,
    "confidence": Confidence,
    "penalty": Penalty,
    "blend": Blend,
    "average-cost": AverageCost,
}


def least_value(rule: StoppingRule | None, error: float | None = None, spent: float = 0.0) -> float | None:
    """The least value per cost that a rule still asks, None where it sets none.

    That of a blend depends on what was spent and on the prediction: error is 1 - max p, None where it is a number.
    """
    run = [part.rule if isinstance(part, OnAverage) else part for part in parts_of(rule)]
    found: list[float | None] = [part.lam for part in run if isinstance(part, Penalty)]
    found += [part.least_value(error, spent) for part in run if isinstance(part, Blend)]
    return max((value for value in found if value is not None), default=None)


def expected_cost(rule: StoppingRule | None) -> Interval | None:
    """What a rule is expected to spend on average, None where nobody has said so.

    Joined with another rule, an average cost spends less.
    """
    parts = parts_of(rule)
    return parts[0].expected if len(parts) == 1 and isinstance(parts[0], OnAverage) else None


def rule_text(rule: StoppingRule) -> str:
    """A rule as it is written; one of a user's own that has no text is called by its name."""
    return rule_name(rule) if type(rule).__str__ is object.__str__ else str(rule)


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
    rules = [_parse_part(part.strip()) for part in parts]
    return rules[0] if len(rules) == 1 else AnyOf(tuple(rules))


def _parse_part(part: str) -> Rule:
    """One rule: `name=number`, and where it has further settings `name=number,setting=number`."""
    first, *further = part.split(",")
    name, number = _parse_setting(first)
    if name not in RULES:
        raise unknown_name("stopping rule", name, RULES)
    if number is None:
        equals = "" if "=" in first else "; no '=' was given"
        raise AskwiseError(f"stopping rule {shortened(part)} needs a number, as in '{name}=5'{equals}")
    settings = dict(_parse_setting(text) for text in further)
    known = RULES[name].further_settings()
    for setting, value in settings.items():
        if setting not in known or value is None:
            allowed = f"it has {', '.join(f'{one}=N' for one in known)}" if known else "it takes one number"
            raise AskwiseError(f"stopping rule {shortened(part)} can't be read at {setting!r}; {allowed}")
    return RULES[name](number, **settings)


def _parse_setting(text: str) -> tuple[str, float | None]:
    """A name and its number, None where there is none."""
    name, _, value = text.partition("=")
    try:
        return name.strip(), float(value)
    except ValueError:
        return name.strip(), None
