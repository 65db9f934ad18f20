"""Discrete distributions: everything is known by enumeration of the joint table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from askwise.core.arrays import Array
from askwise.core.tasks import Classification
from askwise.data.synthetic.base import Distribution, entropy_of, logarithm


class Discrete(Distribution):
    """Columns with values 0, 1, ... and a label, given by their joint probabilities (labels, levels of each column)."""

    def __init__(
        self,
        columns: Sequence[str],
        joint: Array,
        costs: Mapping[str, Any] | None = None,
        groups: Mapping[str, Sequence[str]] | None = None,
        free: Sequence[str] = (),
    ) -> None:
        self.columns = tuple(columns)
        self.task = Classification(tuple(range(joint.shape[0])))
        self.costs = costs
        self.groups = groups
        self.free = tuple(free)
        self._levels = joint.shape[1:]
        # Every way the columns can come out, (ways, columns), and its probability with each label, (ways, labels).
        self.ways = torch.tensor(np.indices(self._levels).reshape(len(columns), -1).T)
        self.joint = torch.tensor(joint.reshape(joint.shape[0], -1).T / joint.sum(), dtype=torch.float64)

    def sample(self, n_rows: int, seed: int) -> tuple[pd.DataFrame, Array]:
        rng = np.random.default_rng(seed)
        drawn = rng.choice(self.joint.numel(), n_rows, p=self.joint.flatten().numpy())
        way, label = np.divmod(drawn, self.joint.shape[1])
        return pd.DataFrame(self.ways.numpy()[way].astype(float), columns=list(self.columns)), label

    def outputs(self, x: Tensor, known: Tensor) -> Tensor:
        states, place = self._states(x, known)
        weight = self._agree(states) @ self.joint
        return logarithm(weight / weight.sum(1, keepdim=True))[place]

    def information(self, x: Tensor, known: Tensor) -> Tensor:
        """I(y; x_g | x_S) = H(y | x_S) - sum over the outcomes of g of their probability times the entropy then."""
        states, place = self._states(x, known)
        agree = self._agree(states)
        before = agree @ self.joint
        total = before.sum(1)
        found = []
        for members in self.schema.space.members:
            outcomes, outcome = torch.unique(self.ways[:, list(members)], dim=0, return_inverse=True)
            left = torch.zeros(len(states), dtype=torch.float64)
            for o in range(len(outcomes)):
                after = agree @ (self.joint * (outcome == o)[:, None])
                mass = after.sum(1)
                left += mass / total * entropy_of(after / mass.clamp_min(1e-300)[:, None])
            found.append(entropy_of(before / total[:, None]) - left)
        return torch.stack(found, 1)[place].clamp_min(0)

    def _states(self, x: Tensor, known: Tensor) -> tuple[Tensor, Tensor]:
        """The different states among the rows, as values with -1 for unknown, and each row's place among them."""
        states: Tensor
        place: Tensor
        states, place = torch.unique(torch.where(known, x.round().long(), -1), dim=0, return_inverse=True)
        return states, place

    def _agree(self, states: Tensor) -> Tensor:
        """Which ways agree with each state, (states, ways)."""
        agree = torch.ones(len(states), len(self.ways), dtype=torch.bool)
        for c in range(self.ways.shape[1]):
            value = states[:, c, None]
            agree &= (value < 0) | (value == self.ways[:, c])
        return agree.double()


def noisy_tests() -> Discrete:
    """The textbook case: a disease of 30 %, and tests that err independently of each other given the disease."""
    sensitivity = [0.95, 0.90, 0.85, 0.80, 0.75, 0.70, 0.60, 0.55]
    specificity = [0.70, 0.85, 0.80, 0.90, 0.75, 0.65, 0.95, 0.60]
    joint = np.array([0.7, 0.3])
    for sens, spec in zip(sensitivity, specificity, strict=True):
        outcome = np.array([[spec, 1 - spec], [1 - sens, sens]])
        joint = joint[..., None] * _beside(outcome, joint.ndim)
    return Discrete([f"test {i + 1}" for i in range(len(sensitivity))], joint)


def network() -> Discrete:
    """Interactions: the label hangs on a XOR b, which neither tells alone, and `reading` tells only where `mode` is 1.

    Three labels. `echo` is a noisy copy of a, and `noise` tells nothing.
    """
    # By a XOR b, and by mode.
    of_label = [[[0.85, 0.10, 0.05], [0.55, 0.15, 0.30]], [[0.15, 0.75, 0.10], [0.05, 0.45, 0.50]]]
    scale = np.array([[0.7, 0.2, 0.1], [0.2, 0.6, 0.2], [0.1, 0.3, 0.6]])
    joint = np.zeros((3, 2, 2, 2, 3, 2, 2, 2))
    for a, b, mode, label, level, reading, echo, noise in np.ndindex(2, 2, 2, 3, 3, 2, 2, 2):
        reads_one = [0.1, 0.5, 0.9][label] if mode else 0.5
        joint[label, a, b, mode, level, reading, echo, noise] = (
            0.5 * 0.5 * (0.4 if mode else 0.6)
            * of_label[a ^ b][mode][label]
            * scale[label, level]
            * (reads_one if reading else 1 - reads_one)
            * (0.8 if echo == a else 0.2)
            * 0.5
        )  # fmt: skip
    return Discrete(["a", "b", "mode", "scale", "reading", "echo", "noise"], joint)


def prior() -> Discrete:
    """Prior information: an age band, known from the start, that moves the prevalence and decides which test works."""
    prevalence = [0.05, 0.20, 0.40, 0.60]
    young_test, old_test = [0.95, 0.85, 0.65, 0.55], [0.55, 0.60, 0.80, 0.90]
    accuracy = np.array([young_test, old_test, [0.8] * 4, [0.7] * 4, [0.65] * 4])
    joint = np.array([[0.25 * (1 - p) for p in prevalence], [0.25 * p for p in prevalence]])
    for right in accuracy:
        given_band = np.array([[right, 1 - right], [1 - right, right]]).transpose(0, 2, 1)
        joint = joint[..., None] * given_band.reshape(2, 4, *(1,) * (joint.ndim - 2), 2)
    names = ["test for the young", "test for the old", "swab", "question", "hunch"]
    return Discrete(["age band", *names], joint, free=["age band"])


def unequal_costs() -> Discrete:
    """Two cheap questions tell more together, for less, than one dear scan: each tells one half of a label of four."""

    def sure(share: float, outcomes: int) -> Array:
        return np.eye(outcomes) * (share - (1 - share) / (outcomes - 1)) + (1 - share) / (outcomes - 1)

    high, low = np.divmod(np.arange(4), 2)
    tests, questions = (sure(0.93, 2)[high], sure(0.93, 2)[low]), (sure(0.75, 2)[high], sure(0.75, 2)[low])
    outcome = [sure(0.8, 4), *tests, *questions, sure(0.6, 2)[high ^ low]]
    joint = np.full(4, 0.25)
    for given_label in outcome:
        joint = joint[..., None] * _beside(given_label, joint.ndim)
    names = ["scan", "upper test", "lower test", "upper question", "lower question", "parity question"]
    return Discrete(names, joint, costs=dict(zip(names, [10.0, 2.0, 2.0, 1.0, 1.0, 0.5], strict=True)))


def _beside(given_label: Array, n_axes: int) -> Array:
    """Probabilities (labels, outcomes) of a new column, shaped to stand beside a joint table of n_axes."""
    return given_label.reshape(len(given_label), *(1,) * (n_axes - 1), -1)
