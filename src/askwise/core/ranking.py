"""Rankings: by which numbers a group is chosen, and by which asking goes on."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from askwise.core.arrays import at_least_zero, like, namespace
from askwise.core.belief import Belief
from askwise.core.costs import total_cost
from askwise.core.features import FeatureSpace

INFORMATION, LOOKAHEAD, SCORE = "information", "lookahead", "score"
# By what groups may be ranked, in words.
RANKED_BY = {
    INFORMATION: "information per price",
    LOOKAHEAD: "what this and the questions after it bring, per price",
    SCORE: "a score that is only an order",
}


@dataclass(frozen=True)
class Ranking:
    """Groups are ranked by score per cost if scores are information; else by the scores themselves."""

    is_information: bool = True

    @property
    def by(self) -> str:
        """What the numbers to choose by are, one of RANKED_BY."""
        return INFORMATION if self.is_information else SCORE

    def values(self, belief: Belief, costs: Any) -> Any:
        """Score per cost, never below 0, if scores are information; else the scores themselves."""
        return value_per_cost(belief.scores, costs, self.is_information)

    def ranks(self, belief: Belief, costs: Any) -> Any:
        """The numbers to choose by, (batch, groups)."""
        return self.values(belief, costs)


@dataclass(frozen=True)
class LookAhead(Ranking):
    """Groups are ranked by what they and the questions after them bring, each the less the more was paid before.

    What is brought after spending m is multiplied by discount ** (m / mean_price). A question that is being paid brings
    what it tells evenly over its price c, so that a group is worth a * information + d * ahead, with
    d = discount ** (c / mean_price) and a the mean of the factor over the price. As the discount goes to 0, the order
    becomes that of information per cost. `rate` turns the sum into what is brought per price.
    """

    discount: float = 0.5
    mean_price: float = 1.0

    @property
    def by(self) -> str:
        return LOOKAHEAD

    @property
    def rate(self) -> float:
        return -math.log(self.discount) / self.mean_price

    def factors(self, costs: Any) -> tuple[Any, Any]:
        """The factors of a group's information, and of what follows, by its cost."""
        xp = namespace(costs)
        spent = costs * self.rate
        later = xp.exp(-spent)
        return -xp.expm1(-spent) / spent, later

    def returns(self, scores: Any, ahead: Any, costs: Any) -> Any:
        """What groups and the questions after them bring, discounted."""
        now, later = self.factors(like(costs, scores))
        return now * at_least_zero(scores) + later * at_least_zero(ahead)

    def ranks(self, belief: Belief, costs: Any) -> Any:
        return self.returns(belief.scores, belief.ahead, costs) * self.rate


def value_per_cost(scores: Any, costs: Any, is_information: bool) -> Any:
    """Score per cost, never below 0, if scores are information; else the scores themselves."""
    return at_least_zero(scores) / like(costs, scores) if is_information else scores


def ranking_of(space: FeatureSpace, is_information: bool, discount: float) -> Ranking:
    """How the groups of a space are ranked; a discount of 0 looks at one question only."""
    if discount == 0:
        return Ranking(is_information)
    return LookAhead(is_information, discount, total_cost(space.costs) / space.n_groups)


BY_INFORMATION = Ranking()
