"""Multilayer perceptrons on masked inputs."""

from __future__ import annotations

from itertools import islice, pairwise

import torch
from torch import Tensor, nn

from askwise.networks.dropout import Dropout


class MlpTrunk(nn.Module):
    """Hidden layers over (inputs, mask): Linear, ReLU and dropout, `layers` times."""

    def __init__(self, n_inputs: int, hidden: int, layers: int = 2, dropout: float = 0.3) -> None:
        super().__init__()
        widths = [n_inputs] + [hidden] * layers
        parts: list[nn.Module] = []
        for before, after in pairwise(widths):
            parts += [nn.Linear(before, after), nn.ReLU(), Dropout(dropout)]
        self.layers = nn.Sequential(*parts)

    @property
    def first(self) -> nn.Linear:
        """The layer that sees the inputs; what it gives changes by a few rows of weights when a group is revealed."""
        layer = self.layers[0]
        assert isinstance(layer, nn.Linear)
        return layer

    def onward(self, first: Tensor) -> Tensor:
        """The representation from what the first layer gives."""
        for part in islice(self.layers, 1, None):
            first = part(first)
        return first

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        return self.onward(self.first(torch.cat([x, mask.to(x.dtype)], 1)))


class Mlp(nn.Module):
    """A trunk and one linear head."""

    def __init__(self, n_inputs: int, hidden: int, n_outputs: int, layers: int = 2, dropout: float = 0.3) -> None:
        super().__init__()
        self.trunk = MlpTrunk(n_inputs, hidden, layers, dropout)
        self.head = nn.Linear(hidden, n_outputs)

    @property
    def first(self) -> nn.Linear:
        return self.trunk.first

    def onward(self, first: Tensor) -> Tensor:
        out: Tensor = self.head(self.trunk.onward(first))
        return out

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        out: Tensor = self.head(self.trunk(x, mask))
        return out
