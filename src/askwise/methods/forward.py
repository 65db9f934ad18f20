"""Forward selection: one group after the other, by scores that depend on the groups before."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from askwise.core.features import FeatureSpace
from askwise.core.prices import Prices


def forward_selection(
    space: FeatureSpace, steps: int, scores: Callable[[], Tensor], ask: Callable[[int], None]
) -> Tensor:
    """The groups in the order of their scores (groups,) for each unit of cost, each group told to `ask` when chosen.

    After so many steps the rest comes by its scores then: wide tables need no more.
    """
    prices = Prices.tensor(space.costs)
    left = torch.ones(space.n_groups, dtype=torch.bool)
    order: list[int] = []
    while True:
        value = per_cost(scores(), prices.of(~left[None]).view(-1)).where(left, -math.inf)
        if len(order) == steps:
            rest = value.argsort(descending=True, stable=True)[: space.n_groups - steps]
            return torch.cat([torch.tensor(order), rest])
        order.append(int(value.argmax()))
        left[order[-1]] = False
        ask(order[-1])


def per_cost(scores: Tensor, costs: Tensor) -> Tensor:
    """Scores for each unit of cost, in the order of the scores where all costs are equal.

    A loss does not shrink by being dear: below 0, a score is multiplied.
    """
    return torch.where(scores > 0, scores / costs, scores * costs)
