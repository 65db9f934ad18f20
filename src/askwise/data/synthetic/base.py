"""What every distribution with known answers is: a sampler, and a policy that knows the truth."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import pandas as pd
import torch
from torch import Tensor

from askwise.core.arrays import Array
from askwise.core.belief import Belief
from askwise.core.policy import Policy
from askwise.core.tasks import Task
from askwise.data.tables.schema import Schema


class Distribution(ABC):
    """A joint distribution of a table's columns and its answer, whose posteriors and information are known.

    `costs`, `groups` and `free` are what an estimator is given to learn it. n_steps: how many questions are worth
    looking at.
    """

    columns: tuple[str, ...]
    task: Task
    costs: Mapping[str, Any] | None = None
    groups: Mapping[str, Sequence[str]] | None = None
    free: tuple[str, ...] = ()

    @abstractmethod
    def sample(self, n_rows: int, seed: int) -> tuple[pd.DataFrame, Array]:
        """Rows drawn from it, and their answers."""

    @abstractmethod
    def outputs(self, x: Tensor, known: Tensor) -> Tensor:
        """The exact prediction of each state (rows, n_outputs), from float64 values and a mask, (rows, columns)."""

    @abstractmethod
    def information(self, x: Tensor, known: Tensor) -> Tensor:
        """The exact information of every group in each state, (rows, groups); 0 for groups that are known."""

    @property
    def n_steps(self) -> int:
        return self.schema.space.n_groups

    @property
    def settings(self) -> dict[str, Any]:
        """What an estimator is told of the table: prices, panels, free columns."""
        return {"costs": self.costs, "groups": self.groups, "free": self.free or None}

    @cached_property
    def schema(self) -> Schema:
        """The table's schema, with values left as they are."""
        frame, _ = self.sample(2, seed=0)
        read = Schema.of(frame, costs=self.costs, groups=self.groups, free=self.free)
        return replace(read, columns=tuple(replace(c, center=0.0, scale=1.0, stays_within=False) for c in read.columns))

    @cached_property
    def policy(self) -> Exact:
        return Exact(self)


class Exact(Policy):
    """The policy that knows the distribution: the exact posterior, and the exact information of every group."""

    def __init__(self, distribution: Distribution) -> None:
        super().__init__(distribution.schema.space)
        self.distribution = distribution

    def forward(self, x: Tensor, mask: Tensor, scores: bool = True) -> Belief:
        values, known = x.double(), mask.bool()
        outputs = self.distribution.outputs(values, known)
        if not scores:
            return Belief(outputs, None)
        # Groups that tell equally much differ in their last bits only: rounded, they are ties on every machine.
        return Belief(outputs, torch.round(self.distribution.information(values, known), decimals=9))


def entropy_of(probabilities: Tensor) -> Tensor:
    """Entropy in nats over the last axis, with 0 log 0 = 0."""
    return -torch.special.xlogy(probabilities, probabilities).sum(-1)


def logarithm(probabilities: Tensor) -> Tensor:
    """Log probabilities that stay finite where something is impossible."""
    return probabilities.clamp_min(1e-300).log()
