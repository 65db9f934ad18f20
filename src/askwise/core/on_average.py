"""What an average cost stands for: the rule that is run, and what it is expected to spend."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from askwise.core.rule import HasScores, Rule
from askwise.core.step import Signals
from askwise.core.tasks import Task


class Interval(NamedTuple):
    """Between which numbers the mean cost of fresh cases is expected, in 19 of 20 sets of them."""

    low: float
    high: float

    def __str__(self) -> str:
        low, high = f"{self.low:.3g}", f"{self.high:.3g}"
        return low if low == high else f"{low} to {high}"


@dataclass(frozen=True)
class OnAverage(Rule):
    """A rule that was chosen for an average cost. It stops as that rule does, and says what the average cost is for.

    Its text is that of the rule that is run.
    """

    rule: Rule
    average_cost: float
    expected: Interval
    name: ClassVar[str] = "average-cost"
    # If the rule that is run does, and those that are chosen do.
    runs_on_numpy: ClassVar[bool] = True

    def __str__(self) -> str:
        return str(self.rule)

    def check(self, task: Task, policy: HasScores) -> None:
        self.rule.check(task, policy)

    def stops(self, step: Signals) -> Any:
        return self.rule.stops(step)

    def allows(self, spent: Any, costs: Any) -> Any:
        limit = getattr(self.rule, "allows", None)
        return spent[:, None] + costs <= math.inf if limit is None else limit(spent, costs)

    def near(self, step: Signals, tolerance: float) -> Any:
        """Where rounding could decide."""
        compares = getattr(self.rule, "near", None)
        return step.spent < 0 if compares is None else compares(step, tolerance)
