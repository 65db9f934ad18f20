"""The one thing every method makes: from what is known so far, a prediction and a score of every group."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from askwise.features import FeatureSpace


class Belief(NamedTuple):
    """What a policy thinks: outputs (batch, n_outputs) and, where asked for, scores (batch, n_groups)."""

    outputs: Tensor
    scores: Tensor | None


class Policy(nn.Module):
    """`policy(x, mask, scores=True) -> Belief` for inputs (batch, entries) and a mask (batch, columns; 1 = known).

    A policy is a function of the set of answers, never of their order. `is_information` says whether a score is
    information, that may be divided by cost and met by a penalty, or only an order.
    """

    is_information: bool = True
    group_of_column: Tensor
    column_of_entry: Tensor

    def __init__(self, space: FeatureSpace) -> None:
        super().__init__()
        self.space = space
        groups = torch.tensor(space.group_of_column)
        # Free columns point at one extra group that is always known.
        groups = torch.where(groups < 0, space.n_groups, groups)
        self.register_buffer("group_of_column", groups, persistent=False)
        self.register_buffer("column_of_entry", torch.tensor(space.column_of_entry), persistent=False)

    def mask(self, known: Tensor, present: Tensor) -> Tensor:
        """The network's mask over columns, from known groups (batch, groups) and present columns (batch, columns)."""
        if not self.space.columns_are_groups:
            known = nn.functional.pad(known, (0, 1), value=True)[:, self.group_of_column]
        return known & present

    def hide(self, x: Tensor, mask: Tensor) -> Tensor:
        """The inputs with everything unknown at zero."""
        return x * (mask if self.space.entries_are_columns else mask[:, self.column_of_entry])

    def forward(self, x: Tensor, mask: Tensor, scores: bool = True) -> Belief:
        raise NotImplementedError
