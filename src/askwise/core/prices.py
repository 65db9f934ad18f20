"""Prices: what each group costs, given what is known."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from askwise.core.arrays import any_in_row, like, namespace, one_in_row
from askwise.core.costs import SharedCosts, are_equal

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Prices:
    """Fixed prices: a group costs the same whatever is known. From costs that are shared, `SharedPrices` are made.

    costs (groups,): a tensor for a batch, a numpy array for a session. are_equal: all groups cost the same; told, not
    read from the numbers, which may lie on a GPU. Prices that depend on what is known override `of` and nothing else;
    `costs` are then those at the start.
    """

    costs: Any
    are_equal: bool = False

    def __post_init__(self) -> None:
        if type(self).of is not Prices.of:
            # Equal at the start may be unequal later.
            object.__setattr__(self, "are_equal", False)

    @classmethod
    def array(cls, costs: Sequence[float]) -> Prices:
        """Prices for numpy, in float64."""
        if isinstance(costs, SharedCosts):
            return SharedPrices.of_costs(costs, lambda numbers: np.array(numbers, dtype=np.float64), np.array)
        return cls(np.array(costs, dtype=np.float64), are_equal(costs))

    @classmethod
    def tensor(
        cls, costs: Sequence[float], dtype: torch.dtype | None = None, device: torch.device | str = "cpu"
    ) -> Prices:
        """Prices for torch on a device; in float64 by default, so that a sum of prices meets a budget exactly."""
        import torch

        numbers = partial(torch.tensor, dtype=dtype or torch.float64, device=device)
        if isinstance(costs, SharedCosts):
            return SharedPrices.of_costs(costs, numbers, partial(torch.tensor, device=device))
        return cls(numbers(costs), are_equal(costs))

    def of(self, known: Any) -> Any:
        """The cost of each group at `known` (batch, groups): (batch, groups), or (groups,) where rows do not differ."""
        del known
        return self.costs

    def of_choice(self, known: Any, choice: Any) -> Any:
        """The cost of one group of each row, choice (batch,), at `known`."""
        if self.are_equal:
            return self.costs[0]
        costs = self.of(known)
        return costs[choice] if costs.ndim == 1 else one_in_row(costs, choice)

    def own(self, known: Any) -> Any:
        """What of `of` is each group's alone: all of it, unless prices are shared."""
        return self.of(known)

    def payments(self, known: Any, group: int) -> list[float]:
        """The amounts that one row at `known` (1, groups) pays for a group; their sum is its cost."""
        costs = self.of(known)
        return [float(costs[group] if costs.ndim == 1 else costs[0, group])]

    def total(self, known: Any) -> Any:
        """What groups cost that are known together, (batch,), where that does not depend on their order."""
        return like(known, self.costs) @ self.costs

    def cheapest(self, known: Any, open_: Any) -> Any:
        """The lowest cost of an open group, (batch,); infinite where none is open."""
        xp = namespace(open_)
        if self.are_equal:
            return xp.where(any_in_row(open_), self.costs[0], math.inf)
        return xp.amin(xp.where(open_, self.of(known), math.inf), 1)

    def mean(self) -> Any:
        """The mean cost of a group: at the start or, of prices that are shared, where everything is asked."""
        return self.costs.mean()

    def nothing_spent(self, n_rows: int) -> Any:
        """Zeros (rows,) in the precision of the costs: money is added up as exactly as it is given."""
        return namespace(self.costs).zeros_like(self.costs[:1]).repeat(n_rows)


@dataclass(frozen=True)
class SharedPrices(Prices):
    """Prices of which several groups share some, paid with the first of these groups that is asked.

    alone (groups,): what each group costs alone. members (groups, amounts): 1 where a group needs a shared amount.
    amounts (amounts,). places (depth, groups): the numbers of the amounts that each group needs. The last amount is 0
    and belongs to no group: it fills up `places`.
    """

    alone: Any = None
    members: Any = None
    amounts: Any = None
    places: Any = None

    @staticmethod
    def of_costs(costs: SharedCosts, numbers: Callable[[Any], Any], positions: Callable[[Any], Any]) -> SharedPrices:
        """Prices in arrays that `numbers` and `positions` make of lists."""
        groups, nothing = range(len(costs)), len(costs.shared)
        members = [[1.0 if g in s.groups else 0.0 for s in costs.shared] + [0.0] for g in groups]
        needed = [[i for i, s in enumerate(costs.shared) if g in s.groups] for g in groups]
        depth = max(map(len, needed))
        places = [[ids[level] if level < len(ids) else nothing for ids in needed] for level in range(depth)]
        amounts = [*(s.price for s in costs.shared), 0.0]
        return SharedPrices(
            numbers(list(costs)), False, numbers(list(costs.own)), numbers(members), numbers(amounts), positions(places)
        )

    def of(self, known: Any) -> Any:
        due, costs = self._due(known), self.alone
        # One after the other, so that numpy and torch, in batches of any size, round alike.
        for level in range(len(self.places)):
            costs = costs + due[:, self.places[level]]
        return costs

    def own(self, known: Any) -> Any:
        del known
        return self.alone

    def _due(self, known: Any) -> Any:
        """Of each amount what is not paid yet, (batch, amounts)."""
        return namespace(known).where(self._is_paid(known), 0.0, self.amounts)

    def _is_paid(self, known: Any) -> Any:
        return like(known, self.members) @ self.members > 0

    def payments(self, known: Any, group: int) -> list[float]:
        due, places = self._due(known)[0].tolist(), self.places[:, group].tolist()
        return [float(self.alone[group]), *(due[place] for place in places)]

    def total(self, known: Any) -> Any:
        return like(known, self.alone) @ self.alone + like(self._is_paid(known), self.amounts) @ self.amounts

    def mean(self) -> Any:
        return (self.alone.sum() + self.amounts.sum()) / len(self.alone)
