"""What a policy says of rows: outputs and scores."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

from askwise.core.arrays import Array


class Belief(NamedTuple):
    """What a policy thinks: outputs (batch, n_outputs) and, where asked for, scores (batch, n_groups).

    Tensors in a batch; arrays where a session thinks about one row.
    """

    outputs: Any
    scores: Any


class OneRow(Protocol):
    """Beliefs about the one row of a session, in arrays of float64."""

    def belief(self, x: Array, mask: Array) -> Belief:
        """What is believed from x (1, entries; 0 where unknown) and the mask (1, columns; True where known)."""
        ...
