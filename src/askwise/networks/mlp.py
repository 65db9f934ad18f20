"""Multilayer perceptrons on masked inputs."""

from __future__ import annotations

from itertools import islice, pairwise
from typing import ClassVar

import torch
from torch import Tensor, nn

from askwise.core.capabilities import Capabilities, Declaring
from askwise.networks.dropout import Dropout
from askwise.networks.encoding import InputEncoding

# Layers that run side by side on the same inputs.
SideBySide = tuple[nn.Linear, ...]
# A perceptron as numpy runs it: layers in order, with ReLU between them.
Perceptron = list[SideBySide]


class MlpTrunk(Declaring, nn.Module):
    """Hidden layers over (inputs, mask): Linear, ReLU and dropout, `layers` times.

    reads: how inputs and mask are encoded, or how many there are together.
    """

    declared: ClassVar[Capabilities] = Capabilities(incremental=True, numpy_form=True)
    computed_by: ClassVar[tuple[str, ...]] = ("forward", "first", "onward")

    def __init__(self, reads: InputEncoding | int, hidden: int, layers: int = 2, dropout: float = 0.3) -> None:
        super().__init__()
        self.encoding = reads if isinstance(reads, InputEncoding) else None
        widths = [reads.n_inputs if isinstance(reads, InputEncoding) else reads] + [hidden] * layers
        parts: list[nn.Module] = []
        for before, after in pairwise(widths):
            parts += [nn.Linear(before, after), nn.ReLU(), Dropout(dropout)]
        self.layers = nn.Sequential(*parts)

    @property
    def capabilities(self) -> Capabilities:
        # Somebody may have put another layer in the place of one of ours.
        first = Capabilities(incremental=_is_plain(self.layers[0]), numpy_form=self.linear_layers is not None)
        return self.declared.limited_by(first)

    @property
    def first(self) -> nn.Linear:
        """The layer that reads the inputs; revealing a group changes its outputs by a few rows of weights."""
        layer = self.layers[0]
        assert isinstance(layer, nn.Linear)
        return layer

    @property
    def linear_layers(self) -> list[nn.Linear] | None:
        """The linear layers in order, if the trunk is Linear, ReLU and dropout, again and again; else None."""
        parts = list(self.layers)
        repeated = [nn.Linear, nn.ReLU, Dropout] * (len(parts) // 3)
        if [type(part) for part in parts] != repeated or not all(map(_is_plain, parts[::3])):
            return None
        return [part for part in parts[::3] if isinstance(part, nn.Linear)]

    def onward(self, first: Tensor, dropout: bool = True) -> Tensor:
        """The representation from the outputs of the first layer; dropout=False leaves dropout out in training too."""
        for part in islice(self.layers, 1, None):
            if dropout or not isinstance(part, Dropout):
                first = part(first)
        return first

    def inputs(self, x: Tensor, mask: Tensor) -> Tensor:
        """What the first layer reads."""
        if self.encoding is None:
            return torch.cat([x, mask.to(x.dtype)], 1)
        inputs: Tensor = self.encoding(x, mask)
        return inputs

    def fold_gain(self) -> None:
        """Multiply the first layer by the gain of its inputs, which is 1 from then on: the outputs stay the same."""
        if self.encoding is not None and self.encoding.gain is not None:
            with torch.no_grad():
                self.first.weight.mul_(self.encoding.gain)
            self.encoding.gain = None

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        return self.onward(self.first(self.inputs(x, mask)))


class Mlp(Declaring, nn.Module):
    """A trunk and one linear head."""

    declared: ClassVar[Capabilities] = Capabilities(incremental=True, numpy_form=True)
    computed_by: ClassVar[tuple[str, ...]] = ("forward", "first", "onward")

    def __init__(
        self, reads: InputEncoding | int, hidden: int, n_outputs: int, layers: int = 2, dropout: float = 0.3
    ) -> None:
        super().__init__()
        self.trunk = MlpTrunk(reads, hidden, layers, dropout)
        self.head = nn.Linear(hidden, n_outputs)

    @property
    def capabilities(self) -> Capabilities:
        return self.declared.limited_by(self.trunk.capabilities, plain_heads(self.head))

    @property
    def first(self) -> nn.Linear:
        return self.trunk.first

    def perceptron(self) -> Perceptron:
        """The layers as numpy runs them."""
        return perceptron(self.trunk, self.head)

    def onward(self, first: Tensor, dropout: bool = True) -> Tensor:
        """The outputs from the outputs of the first layer."""
        out: Tensor = self.head(self.trunk.onward(first, dropout))
        return out

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        out: Tensor = self.head(self.trunk(x, mask))
        return out


def perceptron(trunk: MlpTrunk, *heads: nn.Linear) -> Perceptron:
    """A trunk with heads side by side, as numpy runs them."""
    hidden = trunk.linear_layers
    assert hidden is not None
    return [*((layer,) for layer in hidden), heads]


def plain_heads(*heads: nn.Module) -> Capabilities:
    """What linear heads allow: numpy runs them only if they are plain."""
    return Capabilities(incremental=True, numpy_form=all(map(_is_plain, heads)))


def _is_plain(layer: nn.Module) -> bool:
    """Whether a layer is a linear one with a bias; one made from it may compute something else."""
    return type(layer) is nn.Linear and layer.bias is not None
