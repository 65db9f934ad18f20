"""Multilayer perceptrons on one row, in numpy: for so little arithmetic, calling torch takes longer than computing."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from askwise.core.arrays import Array
from askwise.core.belief import Belief
from askwise.networks.dropout import Dropout
from askwise.networks.mlp import Mlp, MlpTrunk
from askwise.networks.pair import Networks, SeparateNetworks, SharedNetworks
from askwise.networks.scaling import SCALINGS

# The size of an input that the sums of a first layer have room for. A schema cuts entries at ten standard deviations.
LARGEST = 100.0


@dataclass(frozen=True)
class Layer:
    """A linear layer: weight (outputs, inputs) and bias (outputs,), float64."""

    weight: Array
    bias: Array

    @staticmethod
    def of(*layers: nn.Linear) -> Layer:
        """One layer that gives what several layers give for the same inputs, side by side."""
        weight = torch.cat([layer.weight for layer in layers])
        bias = torch.cat([layer.bias for layer in layers])
        return Layer(_array(weight), _array(bias))


def _array(tensor: torch.Tensor) -> Array:
    return np.ascontiguousarray(tensor.detach().cpu().double().numpy())


def _chain(trunk: nn.Module, *heads: nn.Module) -> list[Layer] | None:
    """The layers of a trunk and, as one, of its heads; None where a part is not as our own networks are built."""
    if type(trunk) is not MlpTrunk:
        return None
    parts, n = [*trunk.layers, *heads], len(trunk.layers) // 3
    linear = [part for part in parts if isinstance(part, nn.Linear) and part.bias is not None]
    expected = [nn.Linear, nn.ReLU, Dropout] * n + [nn.Linear] * len(heads)
    if [type(part) for part in parts] != expected or len(linear) != n + len(heads):
        return None
    return [*map(Layer.of, linear[:n]), Layer.of(*linear[n:])]


def _chains(networks: Networks) -> list[list[Layer]] | None:
    """Layers in the order a row meets them, with ReLU between; the chains end in outputs and raw scores, side by side.

    Two chains for separate networks, one for a shared trunk. None for modules of another kind.
    """
    chains: list[list[Layer] | None] = [None]
    if type(networks) is SharedNetworks:
        chains = [_chain(networks.trunk, networks.predictor_head, networks.value_head)]
    elif type(networks) is SeparateNetworks:
        both = (networks.predictor, networks.value)
        chains = [_chain(network.trunk, network.head) if type(network) is Mlp else None for network in both]
    found = [chain for chain in chains if chain is not None]
    return found if len(found) == len(chains) else None


@dataclass(frozen=True)
class Units:
    """What the networks' numbers mean: factors of outputs and scores, and the scaling of the scores."""

    outputs: float
    scores: float
    scaling: str

    def belief(self, outputs: Array, raw: Array) -> Belief:
        outputs = outputs * self.outputs
        return Belief(outputs, SCALINGS[self.scaling](raw, outputs, self.scores))


class RowNetworks:
    """A predictor and a value network as arrays: all of an `MlpRow` that rows have in common, read out once.

    `weight` (inputs, outputs of all first layers) is in multiples of `grid`.
    """

    def __init__(self, n_groups: int, chains: list[list[Layer]], units: Units, bound: float) -> None:
        self.units = units
        self.n_outputs = sum(len(chain[-1].bias) for chain in chains) - n_groups
        self.onward = [chain[1:] for chain in chains]
        self.ends = np.cumsum([len(chain[0].bias) for chain in chains]).tolist()
        # A power of two, so that weights in multiples of it are exact, and such that any sum of inputs times weights
        # fits a whole number of 64 bits.
        self.grid = 2.0 ** (math.frexp(bound)[1] - 62)
        self.weight = np.ascontiguousarray(np.concatenate([chain[0].weight for chain in chains]).T / self.grid)
        self.bias = np.concatenate([chain[0].bias for chain in chains])

    @staticmethod
    def of(n_groups: int, networks: Networks, units: Units) -> RowNetworks | None:
        """The networks as arrays, or None where they are not plain multilayer perceptrons."""
        chains = _chains(networks)
        if chains is None:
            return None
        bound = LARGEST * max(float(np.abs(chain[0].weight).sum(1).max()) for chain in chains)
        # Weights that are no numbers have no whole multiples.
        return RowNetworks(n_groups, chains, units, max(bound, 1.0)) if math.isfinite(bound) else None

    def share(self, index: Array, inputs: Array) -> Array | int:
        """What the inputs at these positions add to the first layers, in whole multiples of the grid."""
        index = index[inputs[index] != 0]
        if not len(index):
            return 0
        return np.rint(inputs[index, None] * self.weight[index]).astype(np.int64).sum(0)

    def belief(self, total: Array) -> Belief:
        """What is believed when the first layers' inputs add up to `total`, in multiples of the grid."""
        first = total * self.grid + self.bias
        start, found = 0, []
        for end, layers in zip(self.ends, self.onward, strict=True):
            now = first[start:end]
            for layer in layers:
                now = layer.weight @ np.maximum(now, 0) + layer.bias
            found.append(now)
            start = end
        given = np.concatenate(found)[None]
        return self.units.belief(given[:, : self.n_outputs], given[:, self.n_outputs :])


class MlpRow:
    """Beliefs about one row, carried on: where inputs change, only their rows of the first layers' weights are added.

    They are added as whole multiples of a tiny number, which is exact in any order: however answers come, go and come
    again, the same answers give the same belief to the last bit, and no rounding piles up.
    """

    def __init__(self, networks: RowNetworks) -> None:
        self.networks = networks
        self.inputs = np.zeros(len(networks.weight))
        self.total = np.zeros(len(networks.bias), dtype=np.int64)

    def belief(self, x: Array, mask: Array) -> Belief:
        inputs = np.concatenate([x, mask], axis=1, dtype=np.float64)[0]
        changed = np.flatnonzero(inputs != self.inputs)
        self.total += self.networks.share(changed, inputs)
        self.total -= self.networks.share(changed, self.inputs)
        self.inputs = inputs
        return self.networks.belief(self.total)
