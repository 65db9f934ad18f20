"""What a perceptron reads of a row: entries, the mask, and the parts of numbers."""

from __future__ import annotations

import math
from itertools import pairwise

import torch
from torch import Tensor, nn

from askwise.core.features import FeatureSpace


class InputEncoding(nn.Module):
    """(x, mask) -> inputs: entries, then the mask, then parts.

    A part rises from 0 to 1 between two edges of its entry, and is 0 if the entry is unknown. So a network can bend at
    every edge. A value beyond the outermost edges counts as the edge.

    gain (n_inputs,): factors of the inputs while a network learns; None if all are 1. What has a small factor is learnt
    slowly. `fold_gain` of a trunk multiplies its weights by them in the end.
    """

    entry: Tensor
    column: Tensor
    low: Tensor
    width: Tensor
    least: Tensor
    most: Tensor
    gain: Tensor | None

    def __init__(self, space: FeatureSpace) -> None:
        super().__init__()
        self.n_inputs = space.n_inputs
        self.has_parts = space.n_parts > 0
        parts = [
            (entry, space.column_of_entry[entry], low, high - low)
            for entry, edges in enumerate(space.edges)
            for low, high in pairwise(edges)
        ]
        entry, column, low, width = zip(*parts, strict=True) if parts else ((), (), (), ())
        self._constant("entry", entry, torch.int64)
        self._constant("column", column, torch.int64)
        self._constant("low", low)
        self._constant("width", width)
        self._constant("least", [edges[0] if edges else -math.inf for edges in space.edges])
        self._constant("most", [edges[-1] if edges else math.inf for edges in space.edges])
        self.register_buffer("gain", None, persistent=False)

    def _constant(self, name: str, values: object, dtype: torch.dtype = torch.float64) -> None:
        self.register_buffer(name, torch.tensor(values, dtype=dtype), persistent=False)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        inputs = self._inputs(x, mask.to(x.dtype))
        return inputs if self.gain is None else inputs * self.gain.to(inputs.dtype)

    def _inputs(self, x: Tensor, mask: Tensor) -> Tensor:
        if not self.has_parts:
            return torch.cat([x, mask], 1)
        low, width, least, most = (part.to(x.dtype) for part in (self.low, self.width, self.least, self.most))
        parts = ((x[:, self.entry] - low) / width).clamp(0, 1) * mask[:, self.column]
        return torch.cat([x.clamp(least, most), mask, parts], 1)
