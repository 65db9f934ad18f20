"""A dueling network for Q-learning: one network scores every action of a state."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor, nn

from askwise.core.capabilities import Capabilities
from askwise.networks.mlp import MlpTrunk
from askwise.networks.pair import SharedNetworks


class DuelingNetworks(SharedNetworks):
    """Values of the classes and of the groups on one trunk: Q = V + A - mean A, the mean over all actions."""

    # Its heads need the mean over all of them: no plain perceptron.
    declared: ClassVar[Capabilities] = Capabilities(incremental=True)

    def __init__(self, trunk: MlpTrunk, hidden: int, n_classes: int, n_groups: int) -> None:
        super().__init__(trunk, nn.Linear(hidden, n_classes), nn.Linear(hidden, n_groups))
        self.state_head = nn.Linear(hidden, 1)

    @property
    def predictor_parts(self) -> list[nn.Module]:
        return [self.trunk, self.predictor_head, self.value_head, self.state_head]

    def _heads(self, representation: Tensor, scores: bool) -> tuple[Tensor, Tensor | None]:
        classes, groups = self.predictor_head(representation), self.value_head(representation)
        base = self.state_head(representation) - torch.cat([classes, groups], 1).mean(1, keepdim=True)
        return base + classes, base + groups if scores else None
