"""Weights of rows in an evaluation, in every state of a walk, and means under them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from askwise.core.arrays import Array
from askwise.core.rows import Rows
from askwise.core.trace import Trace
from askwise.training.gap_weights import GapWeights
from askwise.training.weights import StateWeights


@dataclass(frozen=True)
class RowWeights:
    """Each row counts as much as its weight, whatever is known of it. of_rows (rows,): with everything known."""

    of_rows: Array

    @staticmethod
    def of(rows: Rows, states: StateWeights | None = None) -> RowWeights:
        """The weights of rows; where gaps are weighed, of their states. These rows have tries and answers."""
        if not isinstance(states, GapWeights):
            return RowWeights(_array(rows.row_weight))
        return GapRowWeights(_array(states(rows, rows.available, rows.row_weight)), rows, states)

    def of_states(self, trace: Trace) -> Array:
        """The weights of all states of a trace, (steps + 1, rows)."""
        return np.broadcast_to(self.of_rows, tuple(trace.spent.shape))

    def at(self, trace: Trace, at: Tensor) -> Array:
        """The weights (rows,) of rows that stop at these steps of a trace."""
        return self.of_states(trace)[at.numpy(), np.arange(len(at))]

    def take(self, index: Tensor) -> RowWeights:
        """The weights of some of the rows, by their numbers."""
        return RowWeights(self.of_rows[index.numpy()])


@dataclass(frozen=True)
class GapRowWeights(RowWeights):
    """Each row counts in a state as its gaps say that were met so far."""

    rows: Rows
    states: GapWeights
    # The weights of the trace that was asked about last: rules that cut one trace in many places ask again and again.
    _last: list[tuple[Trace, Array]] = field(default_factory=list, compare=False, repr=False)

    def of_states(self, trace: Trace) -> Array:
        if not self._last or self._last[0][0] is not trace:
            self._last[:] = [(trace, self._of_states(trace))]
        return self._last[0][1]

    def _of_states(self, trace: Trace) -> Array:
        known = torch.zeros_like(self.rows.available)
        found = [self._of_state(known)]
        for choice in trace.choice.to(known.device):
            place = choice.clamp_min(0)[:, None]
            known = known.scatter(1, place, known.gather(1, place) | (choice >= 0)[:, None])
            found.append(self._of_state(known))
        return np.stack(found)

    def _of_state(self, known: Tensor) -> Array:
        return _array(self.states(self.rows, known, self.rows.row_weight))

    def take(self, index: Tensor) -> RowWeights:
        return GapRowWeights(self.of_rows[index.numpy()], self.rows.take(index), self.states)


def mean_and_error(values: Array, weights: Array) -> tuple[float, float]:
    """The mean of values under weights, both (rows,), and its standard error."""
    mean = float(np.average(values, weights=weights))
    return mean, float(np.sqrt(((weights * (values - mean)) ** 2).sum()) / weights.sum())


def _array(weight: Tensor) -> Array:
    return np.asarray(weight.double().cpu().numpy())
