"""The setting `budget` of methods that can be trained for one budget alone, and what such a budget pays."""

from __future__ import annotations

import torch
from torch import Tensor

from askwise.core.prices import Prices
from askwise.core.step import StoppingRule
from askwise.core.stopping import Budget
from askwise.methods.base import Method, with_settings
from askwise.methods.checks import check_number


@with_settings
class BudgetedMethod(Method):
    """A method that may be trained for one budget, as it was published; None trains one model for all.

    Trained for one budget, it stops there wherever no rule is given.
    """

    budget: float | None = None

    def check_settings(self) -> None:
        super().check_settings()
        if self.budget is not None:
            check_number("budget", self.budget, above=0)

    def _rule(self, stop: StoppingRule | None) -> StoppingRule | None:
        return super()._rule(stop) or self.rule

    @property
    def rule(self) -> Budget | None:
        """What limits an episode, if anything does."""
        return None if self.budget is None else Budget(self.budget)


def affordable(budget: float, costs: tuple[float, ...]) -> Tensor:
    """Which groups (groups,) a budget pays for alone, as the rule would."""
    prices = torch.tensor(costs, dtype=torch.float64)
    return Budget(budget).allows(prices.new_zeros(1), prices)[0].expand(len(costs))


def paid_in_turn(budget: float, costs: tuple[float, ...], order: list[int]) -> list[int]:
    """The groups that a budget pays for, asked in this order: each time the next that is still affordable."""
    prices = Prices.tensor(costs)
    known, spent = torch.zeros(1, len(costs), dtype=torch.bool), prices.nothing_spent(1)
    paid = []
    for group in order:
        price = prices.of_choice(known, torch.tensor([group])).view(1)
        if Budget(budget).allows(spent, price).item():
            paid.append(group)
            known[0, group] = True
            spent = spent + price
    return paid
