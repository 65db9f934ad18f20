"""A rule that weighs what a question tells against how unsure the prediction still is."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from askwise.core.arrays import at_least_zero
from askwise.core.errors import AskwiseError
from askwise.core.rule import ROUNDING, HasScores, NumberRule
from askwise.core.step import Signals
from askwise.core.tasks import Classification, Task


class Blended(Protocol):
    """What a blend weighs: the best value per cost, and the probability that the most likely label is wrong."""

    @property
    def best(self) -> Any: ...

    @property
    def error(self) -> Any: ...


@dataclass(frozen=True)
class Blend(NumberRule):
    """Stop when information ** weight * error ** (1 - weight) is below a threshold.

    Information is the largest value per cost of a question that can be asked; error is 1 - max p, the probability that
    the most likely label is wrong. A weight of 1 is a penalty, and 0 looks at the prediction alone. It does not stop
    before `least` was spent, and stops for certain once `most` was.
    """

    threshold: float
    weight: float = 0.5
    least: float = 0.0
    most: float = math.inf
    name: ClassVar[str] = "blend"
    what: ClassVar[str] = "a blend"
    why: ClassVar[str] = "another question would tell too little, or the prediction is sure enough"
    runs_on_numpy: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.weight <= 1:
            raise AskwiseError(f"the weight of a blend is a number from 0 to 1, was given {self.weight!r}")
        if not 0 <= self.least <= self.most:
            raise AskwiseError(f"a blend spends from least to most, was given {self.least!r} and {self.most!r}")

    def check(self, task: Task, policy: HasScores) -> None:
        if self.weight < 1 and not isinstance(task, Classification):
            raise AskwiseError(
                "a blend with a weight below 1 needs class probabilities, and this model predicts a number; "
                "use a weight of 1, a budget or a penalty"
            )
        if self.weight > 0 and not policy.is_information:
            raise AskwiseError(
                "a blend with a weight above 0 needs scores that are information, and this method's scores are only "
                "an order; use a weight of 0, a budget or a confidence"
            )

    def stops(self, step: Signals) -> Any:
        is_low = (self.signal(step) < self.threshold * (1 - ROUNDING)) & reached(step.spent, self.least)
        return (is_low | reached(step.spent, self.most)) & step.can_ask

    def near(self, step: Signals, tolerance: float) -> Any:
        """Where rounding could decide."""
        return abs(self.signal(step) - self.threshold) <= tolerance * self.threshold

    def signal(self, step: Blended) -> Any:
        """What is compared with the threshold."""
        # With a weight of 0, scores that are an order say nothing; with 1, a number has no probability of error.
        if self.weight == 0:
            return step.error
        information = at_least_zero(step.best)
        return information if self.weight == 1 else information**self.weight * step.error ** (1 - self.weight)

    def least_value(self, error: float | None, spent: float) -> float | None:
        """The least value per cost that it still asks where the prediction has this error and so much was spent.

        None where it does not look at values: before `least` was spent, or with a weight of 0.
        """
        if self.weight == 0 or not reached(spent, self.least) or (error is None and self.weight < 1):
            return None
        rest = 1.0 if error is None else error ** (1 - self.weight)
        return math.inf if rest == 0 else float((self.threshold / rest) ** (1 / self.weight))


def reached(spent: Any, amount: float) -> Any:
    """Whether an amount was spent, but for rounding."""
    return spent >= amount * (1 - ROUNDING)
