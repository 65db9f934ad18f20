"""What a policy says of rows: outputs and scores."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

from askwise.core.arrays import Array


class Belief(NamedTuple):
    """What a policy computes: outputs (batch, n_outputs) and, if asked for, scores (batch, n_groups).

    ahead (batch, n_groups): what the questions after each group are expected to bring, if the policy looks ahead.

    Tensors in a batch; numpy arrays for the one row of a session.
    """

    outputs: Any
    scores: Any
    ahead: Any = None


class OneRow(Protocol):
    """Computes beliefs about the one row of a session, in numpy arrays of float64."""

    def belief(self, x: Array, mask: Array) -> Belief:
        """The belief from x (1, entries; 0 where unknown) and the mask (1, columns; True where known)."""
        ...
