"""What Q-learning keeps: a memory of episodes to learn from again, and a slow copy of the policy."""

from __future__ import annotations

import copy

import torch
from torch import Tensor, nn

from askwise.core.belief import Belief
from askwise.core.features import FeatureSpace
from askwise.core.rows import Rows
from askwise.networks.pair_policy import PairPolicy

# How far the slow copy follows with each update.
TARGET_RATE = 0.01


class ReplayMemory(nn.Module):
    """The last `capacity` episodes, in buffers. An episode is a row, its weight, and when each group was asked.

    asked_at (capacity, groups): the step that asked a group, the number of steps where none did; so before step t,
    that is known which was asked at a step below t.
    """

    x: Tensor
    present: Tensor
    available: Tensor
    y: Tensor
    asked_at: Tensor
    weight: Tensor
    place: Tensor
    filled: Tensor

    def __init__(self, space: FeatureSpace, capacity: int, device: torch.device | str = "cpu") -> None:
        super().__init__()
        self.capacity = capacity
        shapes = {
            "x": (torch.float32, space.n_entries),
            "present": (torch.bool, space.n_columns),
            "available": (torch.bool, space.n_groups),
            "asked_at": (torch.int16, space.n_groups),
        }
        for name, (dtype, width) in shapes.items():
            self.register_buffer(name, torch.zeros(capacity, width, dtype=dtype, device=device))
        self.register_buffer("y", torch.zeros(capacity, dtype=torch.int64, device=device))
        self.register_buffer("weight", torch.zeros(capacity, device=device))
        # Tensors, so that a recorded update finds where it stands.
        self.register_buffer("place", torch.zeros((), dtype=torch.int64, device=device))
        self.register_buffer("filled", torch.zeros((), dtype=torch.int64, device=device))

    @torch.no_grad()
    def push(self, rows: Rows, weight: Tensor, asked_at: Tensor) -> None:
        """Remember an episode of each row, in the place of the oldest. At most `capacity` at once."""
        assert rows.y is not None
        index = (self.place + torch.arange(len(rows), device=self.x.device)) % self.capacity
        new = {"x": rows.x, "present": rows.present, "available": rows.available, "y": rows.y}
        for name, values in {**new, "weight": weight, "asked_at": asked_at}.items():
            mine = self.get_buffer(name)
            mine.index_copy_(0, index, values.to(mine.dtype))
        self.place.copy_((self.place + len(rows)) % self.capacity)
        self.filled.copy_((self.filled + len(rows)).clamp_max(self.capacity))

    def sample(self, count: int) -> tuple[Rows, Tensor, Tensor]:
        """So many episodes at random: rows, weights and when each group was asked."""
        index = (torch.rand(count, device=self.x.device) * self.filled).long().clamp_max(self.capacity - 1)
        rows = Rows(self.x[index], self.present[index], self.available[index], self.y[index])
        return rows, self.weight[index], self.asked_at[index]


class TargetPolicy(nn.Module):
    """A copy of a policy that follows it slowly: what it says of the next state changes little while one learns."""

    copy: PairPolicy

    def __init__(self, policy: PairPolicy, rate: float = TARGET_RATE) -> None:
        super().__init__()
        self.copy = copy.deepcopy(policy).eval().requires_grad_(False)
        self.rate = rate

    @torch.no_grad()
    def follow(self, policy: PairPolicy) -> None:
        """Go a small part of the way to where the policy is."""
        mine, theirs = ([p.detach() for p in each.parameters()] for each in (self.copy, policy))
        torch._foreach_lerp_(mine, theirs, self.rate)

    def forward(self, x: Tensor, mask: Tensor) -> Belief:
        """Outputs and raw scores of its networks."""
        return Belief(*self.copy.networks(self.copy.hide(x, mask), mask))
