"""Multilayer perceptrons on masked inputs."""

from __future__ import annotations

from itertools import pairwise

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

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        out: Tensor = self.layers(torch.cat([x, mask.to(x.dtype)], 1))
        return out


class Mlp(nn.Module):
    """A trunk and one linear head."""

    def __init__(self, n_inputs: int, hidden: int, n_outputs: int, layers: int = 2, dropout: float = 0.3) -> None:
        super().__init__()
        self.trunk = MlpTrunk(n_inputs, hidden, layers, dropout)
        self.head = nn.Linear(hidden, n_outputs)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        out: Tensor = self.head(self.trunk(x, mask))
        return out
