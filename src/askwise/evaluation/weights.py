"""Weights of rows in an evaluation, in every state of a walk, and means under them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from torch import Tensor

from askwise.core.arrays import Array
from askwise.core.rows import Rows
from askwise.core.trace import Trace


@dataclass(frozen=True)
class RowWeights:
    """Each row counts as much as its weight (rows,), whatever is known of it."""

    of_rows: Array

    @staticmethod
    def of(rows: Rows) -> RowWeights:
        return RowWeights(rows.row_weight.double().cpu().numpy())

    def of_states(self, trace: Trace) -> Array:
        """The weights of all states of a trace, (steps + 1, rows)."""
        return np.broadcast_to(self.of_rows, tuple(trace.spent.shape))

    def at(self, trace: Trace, at: Tensor) -> Array:
        """The weights (rows,) of rows that stop at these steps of a trace."""
        return self.of_states(trace)[at.numpy(), np.arange(len(at))]

    def take(self, index: Tensor) -> RowWeights:
        """The weights of some of the rows, by their numbers."""
        return RowWeights(self.of_rows[index.numpy()])


def mean_and_error(values: Array, weights: Array) -> tuple[float, float]:
    """The mean of values under weights, both (rows,), and its standard error."""
    mean = float(np.average(values, weights=weights))
    return mean, float(np.sqrt(((weights * (values - mean)) ** 2).sum()) / weights.sum())
