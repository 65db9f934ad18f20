"""Multilayer perceptrons on one row, in numpy: for so little arithmetic, a call of torch takes longer than computing.

This module does not import torch: a session can run without it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from askwise.core.arrays import Array
from askwise.core.belief import Belief
from askwise.core.features import FeatureSpace
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

    score_outputs: the factor of the outputs that scores are scaled by; 1 for logits before the temperature. base_rate
    (n_outputs,): what is predicted if nothing is known; None leaves it to the networks. looks_ahead: scores come
    with as many of what lies ahead.
    """

    outputs: float
    scores: float
    scaling: str
    score_outputs: float = 1.0
    base_rate: Array | None = None
    looks_ahead: bool = False

    def belief(self, outputs: Array, raw: Array, nothing: Array) -> Belief:
        """The belief from what the networks give; nothing (1, n_outputs): their outputs if nothing is known."""
        base: Array | float = 0.0
        if self.base_rate is not None:
            outputs, base = outputs - nothing, self.base_rate
        scores = SCALINGS[self.scaling](raw, outputs * self.score_outputs + base, self.scores)
        return Belief(outputs * self.outputs + base, *(np.split(scores, 2, axis=1) if self.looks_ahead else [scores]))


@dataclass(frozen=True, eq=False)
class EntryParts:
    """Where an entry, its mask and its parts lie among the inputs of the first layers, and the edges of the parts."""

    entry: int
    known: int
    start: int
    edges: Array

    def position(self, value: float) -> tuple[int, float]:
        """How many parts of a value are full, and how full the next one is."""
        full = min(int(self.edges.searchsorted(value, side="right")) - 1, len(self.edges) - 2)
        if full < 0:
            return 0, 0.0
        low, high = self.edges[full], self.edges[full + 1]
        return full, min((value - low) / (high - low), 1.0)


def entry_parts(space: FeatureSpace) -> list[EntryParts]:
    """The parts of every entry that has some."""
    return [
        EntryParts(entry, space.n_entries + space.column_of_entry[entry], places.start, np.array(space.edges[entry]))
        for entry, places in space.part_positions.items()
    ]


class RowNetworks:
    """A predictor and a value network as arrays: everything that the rows of an `MlpRow` have in common.

    chains: layers in the order a row meets them, with ReLU between; they end in outputs and raw scores, side by side.
    Two chains for separate networks, one for a shared trunk. `weight` (inputs, outputs of all first layers) is in
    multiples of `grid`.
    """

    def __init__(self, space: FeatureSpace, chains: list[list[Layer]], units: Units) -> None:
        self.units = units
        n_scores = space.n_groups * (2 if units.looks_ahead else 1)
        self.n_outputs = sum(len(chain[-1].bias) for chain in chains) - n_scores
        self.n_plain = space.n_entries + space.n_columns
        self.parts_at = {i: parts for parts in entry_parts(space) for i in (parts.entry, parts.known)}
        self.least, self.most = _outermost(space)
        self.onward = [chain[1:] for chain in chains]
        self.ends = np.cumsum([len(chain[0].bias) for chain in chains]).tolist()
        # A power of two, so that weights in multiples of it are exact, and such that any sum of inputs times weights
        # fits a whole number of 64 bits.
        self.grid = 2.0 ** (math.frexp(max(largest_sum(chains), 1.0))[1] - 62)
        self.weight = np.ascontiguousarray(np.concatenate([chain[0].weight for chain in chains]).T / self.grid)
        self.bias = np.concatenate([chain[0].bias for chain in chains])
        # Sums of the first full parts, whole numbers: a value takes one difference of them however many are full.
        whole = np.rint(self.weight[self.n_plain :]).astype(np.int64)
        self.prefix = np.concatenate([np.zeros_like(whole[:1]), whole.cumsum(0)]) if len(whole) else whole
        self.nothing, _ = self._run(np.zeros(len(self.bias), dtype=np.int64))

    def contribution(self, index: Array, inputs: Array) -> Array | int:
        """What the inputs at these positions add to the first layers, in whole multiples of the grid."""
        index = index[inputs[index] != 0]
        if not len(index):
            return 0
        return np.rint(inputs[index, None] * self.weight[index]).astype(np.int64).sum(0)

    def contribution_of_parts(self, parts: EntryParts, value: float) -> Array:
        """What the parts of a value add to the first layers, in whole multiples of the grid."""
        full, rest = parts.position(value)
        first = parts.start - self.n_plain
        partial = np.rint(rest * self.weight[parts.start + full]).astype(np.int64)
        found: Array = self.prefix[first + full] - self.prefix[first] + partial
        return found

    def belief(self, total: Array) -> Belief:
        """The belief if the first layers' inputs add up to `total`, in multiples of the grid."""
        return self.units.belief(*self._run(total), self.nothing)

    def _run(self, total: Array) -> tuple[Array, Array]:
        """Outputs and raw scores as the networks give them."""
        first = total * self.grid + self.bias
        start, found = 0, []
        for end, layers in zip(self.ends, self.onward, strict=True):
            now = first[start:end]
            for layer in layers:
                now = layer.weight @ np.maximum(now, 0) + layer.bias
            found.append(now)
            start = end
        given = np.concatenate(found)[None]
        return given[:, : self.n_outputs], given[:, self.n_outputs :]


def _outermost(space: FeatureSpace) -> tuple[Array, Array]:
    """The least and the largest value of each entry that is told apart."""
    edges = space.edges or ((),) * space.n_entries
    return np.array([e[0] if e else -np.inf for e in edges]), np.array([e[-1] if e else np.inf for e in edges])


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
        self.inputs = np.zeros(networks.n_plain)
        self.total = np.zeros(len(networks.bias), dtype=np.int64)

    def belief(self, x: Array, mask: Array) -> Belief:
        networks = self.networks
        cut = np.minimum(np.maximum(x, networks.least), networks.most) if networks.parts_at else x
        inputs = np.concatenate([cut, mask], axis=1, dtype=np.float64)[0]
        changed = np.flatnonzero(inputs != self.inputs)
        self.total += networks.contribution(changed, inputs)
        self.total -= networks.contribution(changed, self.inputs)
        for parts in {networks.parts_at[i] for i in changed.tolist() if i in networks.parts_at}:
            self._change_parts(parts, inputs)
        self.inputs = inputs
        return networks.belief(self.total)

    def _change_parts(self, parts: EntryParts, inputs: Array) -> None:
        """Add the parts of an entry that became known or has another value."""
        if inputs[parts.known]:
            self.total += self.networks.contribution_of_parts(parts, inputs[parts.entry])
        if self.inputs[parts.known]:
            self.total -= self.networks.contribution_of_parts(parts, self.inputs[parts.entry])
