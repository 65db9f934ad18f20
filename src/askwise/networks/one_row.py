"""Multilayer perceptrons on one row, in numpy: for so little arithmetic, a call of torch takes longer than computing.

This module does not import torch: a session can run without it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from askwise.core.arrays import Array
from askwise.core.belief import Belief
from askwise.networks.scaling import SCALINGS

# The size of an input that the sums of a first layer have room for. A schema cuts entries at ten standard deviations.
LARGEST = 100.0


@dataclass(frozen=True)
class Layer:
    """A linear layer: weight (outputs, inputs) and bias (outputs,), float64."""

    weight: Array
    bias: Array


@dataclass(frozen=True)
class Units:
    """What the networks' numbers mean: factors of outputs and scores, and the scaling of the scores.

    score_outputs: the factor of the outputs that scores are scaled by; 1 for logits before the temperature.
    """

    outputs: float
    scores: float
    scaling: str
    score_outputs: float = 1.0

    def belief(self, outputs: Array, raw: Array) -> Belief:
        scores = SCALINGS[self.scaling](raw, outputs * self.score_outputs, self.scores)
        return Belief(outputs * self.outputs, scores)


class RowNetworks:
    """A predictor and a value network as arrays: everything that the rows of an `MlpRow` have in common.

    chains: layers in the order a row meets them, with ReLU between; they end in outputs and raw scores, side by side.
    Two chains for separate networks, one for a shared trunk. `weight` (inputs, outputs of all first layers) is in
    multiples of `grid`.
    """

    def __init__(self, n_groups: int, chains: list[list[Layer]], units: Units) -> None:
        self.units = units
        self.n_outputs = sum(len(chain[-1].bias) for chain in chains) - n_groups
        self.onward = [chain[1:] for chain in chains]
        self.ends = np.cumsum([len(chain[0].bias) for chain in chains]).tolist()
        # A power of two, so that weights in multiples of it are exact, and such that any sum of inputs times weights
        # fits a whole number of 64 bits.
        self.grid = 2.0 ** (math.frexp(max(largest_sum(chains), 1.0))[1] - 62)
        self.weight = np.ascontiguousarray(np.concatenate([chain[0].weight for chain in chains]).T / self.grid)
        self.bias = np.concatenate([chain[0].bias for chain in chains])

    def contribution(self, index: Array, inputs: Array) -> Array | int:
        """What the inputs at these positions add to the first layers, in whole multiples of the grid."""
        index = index[inputs[index] != 0]
        if not len(index):
            return 0
        return np.rint(inputs[index, None] * self.weight[index]).astype(np.int64).sum(0)

    def belief(self, total: Array) -> Belief:
        """The belief if the first layers' inputs add up to `total`, in multiples of the grid."""
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


def largest_sum(chains: list[list[Layer]]) -> float:
    """The largest that a sum of a first layer can be; infinite or NaN if a weight is not finite."""
    return LARGEST * max(float(np.abs(chain[0].weight).sum(1).max()) for chain in chains)


class MlpRow:
    """Computes beliefs about one row step by step: if inputs change, only their rows of first weights are added.

    They are added as whole multiples of a tiny number, which is exact in any order. So the same answers give the same
    belief to the last bit, however they came and went, and rounding errors do not add up.
    """

    def __init__(self, networks: RowNetworks) -> None:
        self.networks = networks
        self.inputs = np.zeros(len(networks.weight))
        self.total = np.zeros(len(networks.bias), dtype=np.int64)

    def belief(self, x: Array, mask: Array) -> Belief:
        inputs = np.concatenate([x, mask], axis=1, dtype=np.float64)[0]
        changed = np.flatnonzero(inputs != self.inputs)
        self.total += self.networks.contribution(changed, inputs)
        self.total -= self.networks.contribution(changed, self.inputs)
        self.inputs = inputs
        return self.networks.belief(self.total)
