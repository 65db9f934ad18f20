"""Prices: what each group costs, given what is known."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from askwise.core.arrays import any_in_row, namespace, one_in_row

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Prices:
    """Fixed prices: a group costs the same whatever is known.

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
    def array(cls, costs: Sequence[float]) -> Self:
        """Prices for numpy, in float64."""
        return cls(np.array(costs, dtype=np.float64), len(set(costs)) == 1)

    @classmethod
    def tensor(
        cls, costs: Sequence[float], dtype: torch.dtype | None = None, device: torch.device | str = "cpu"
    ) -> Self:
        """Prices for torch on a device; in float64 by default, so that a sum of prices meets a budget exactly."""
        import torch

        return cls(torch.tensor(costs, dtype=dtype or torch.float64, device=device), len(set(costs)) == 1)

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

    def cheapest(self, known: Any, open_: Any) -> Any:
        """The lowest cost of an open group, (batch,); infinite where none is open."""
        xp = namespace(open_)
        if self.are_equal:
            return xp.where(any_in_row(open_), self.costs[0], math.inf)
        return xp.amin(xp.where(open_, self.of(known), math.inf), 1)

    def mean(self) -> Any:
        """The mean cost of a group at the start."""
        return self.costs.mean()

    def nothing_spent(self, n_rows: int) -> Any:
        """Zeros (rows,) in the precision of the costs: money is added up as exactly as it is given."""
        return namespace(self.costs).zeros_like(self.costs[:1]).repeat(n_rows)
