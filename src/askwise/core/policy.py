"""The one thing every method makes: from what is known so far, a prediction and a score of every group."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from askwise.core.arrays import Array
from askwise.core.belief import Belief, OneRow
from askwise.core.capabilities import Declaring
from askwise.core.features import FeatureSpace
from askwise.core.ranking import Ranking
from askwise.core.rows import Rows


class Policy(Declaring, nn.Module):
    """`policy(x, mask, scores=True) -> Belief` for inputs (batch, entries) and a mask (batch, columns; 1 = known).

    A policy is a function of the set of answers, never of their order. `is_information` says whether a score is
    information, which may be divided by cost and compared with a penalty, or only an order.
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

    @property
    def ranking(self) -> Ranking:
        """How its groups are ranked."""
        return Ranking(self.is_information)

    def mask(self, known: Tensor, present: Tensor) -> Tensor:
        """The network's mask over columns, from known groups (..., groups) and present columns (..., columns).

        Groups may be known in part, as numbers in [0, 1]: then so are their columns, with a gradient.
        """
        if not self.space.columns_are_groups:
            known = nn.functional.pad(known, (0, 1), value=True)[..., self.group_of_column]
        return known & present if known.dtype == torch.bool else known * present

    def hide(self, x: Tensor, mask: Tensor) -> Tensor:
        """The inputs with everything unknown at zero."""
        return x * (mask if self.space.entries_are_columns else mask[:, self.column_of_entry])

    def forward(self, x: Tensor, mask: Tensor, scores: bool = True) -> Belief:
        raise NotImplementedError

    def track(self, rows: Rows) -> Tracker:
        """Track predictions and scores while groups are revealed one by one, from none on."""
        return Tracker(self, rows)

    def numpy_facts(self) -> dict[str, Any] | None:
        """What a file tells a program without torch, which then runs one row in numpy; None if it can't."""
        return None

    def one_row(self) -> Callable[[], OneRow]:
        """Returns a function that starts a session's row. A model keeps it: it may hold the weights in another form."""
        return partial(TorchRow, self)


class Tracker:
    """Tracks rows while groups are revealed. This one computes everything anew at every step.

    A policy that can update its computation from step to step returns a tracker of its own.
    """

    def __init__(self, policy: Policy, rows: Rows) -> None:
        self.policy = policy
        self.rows = rows

    def belief(self, known: Tensor, scores: bool = True) -> Belief:
        """The belief at `known` (batch, groups), which is all that was revealed."""
        return self.policy(self.rows.x, self.policy.mask(known, self.rows.present), scores)

    def reveal(self, group: Tensor, asked: Tensor) -> None:
        """Reveal one group of each row (batch,) where it was asked (batch,)."""

    def keep(self, index: Tensor) -> None:
        """Go on with these rows only."""
        self.rows = self.rows.take(index)


class TorchRow:
    """Computes beliefs about one row by running the policy, which is in float64."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy

    @torch.no_grad()
    def belief(self, x: Array, mask: Array) -> Belief:
        device = self.policy.group_of_column.device
        belief = self.policy(torch.from_numpy(x).to(device, torch.float64), torch.from_numpy(mask).to(device))
        return Belief(*(None if part is None else part.double().cpu().numpy() for part in belief))
