"""Into how many parts a number is cut: into finer ones where these explain more of the answer."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import stats
from scipy.linalg import solveh_banded

from askwise.core.arrays import Array
from askwise.data.tables.column import edges_at_quantiles

FINEST = 128
# Each part has so many rows at least.
ROWS_PER_PART = 20
# How likely chance may explain as much more, at most: columns are many, and each is tried a few times.
BEYOND_CHANCE = 1e-3
# Twice as many parts explain so much more of the answers' variance, at least: with many rows nothing is chance.
WORTH_IT = 0.001


def parts_that_explain(values: Array, answers: Array) -> int:
    """The number of parts for a column: 1, or as many as explain more of the answers (rows, outputs).

    Where a column tells much within narrow ranges, as a date or a coordinate does, coarse parts hide it; where it tells
    the same everywhere, parts only add to what has to be learnt. The answers are fitted by a line that bends at the
    edges of the parts, which are halved if an F test finds a better fit.
    """
    finest = min(FINEST, len(values) // ROWS_PER_PART)
    if finest < 2 or (answers == answers[0]).all():
        return 1
    n_parts, kept = 1, Bends.of(values, answers, 1)
    finer = 2
    while finer <= finest:
        found = Bends.of(values, answers, finer)
        if found.is_better_than(kept):
            n_parts, kept = finer, found
        finer *= 2
    return n_parts


@dataclass(frozen=True)
class Bends:
    """A least squares fit of answers (rows, outputs) by a line with bends.

    squares: what it leaves unexplained of `total`. size: how many numbers were fitted for each output.
    """

    squares: float
    total: float
    size: int
    shape: tuple[int, ...]

    @property
    def explained(self) -> float:
        """The share of the answers' variance that is explained, less what chance explains."""
        n_rows = self.shape[0]
        return 1 - (self.squares / max(n_rows - self.size, 1)) / (self.total / max(n_rows - 1, 1))

    @staticmethod
    def of(values: Array, answers: Array, n_parts: int) -> Bends:
        """Fit answers (rows, outputs) with bends at the edges of so many parts of the values (rows,)."""
        edges = edges_at_quantiles(values, n_parts)
        if not len(edges):
            edges = np.array([values.min(), values.max()])
        left = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, len(edges) - 2)
        share = np.clip((values - edges[left]) / np.maximum(edges[left + 1] - edges[left], 1e-300), 0, 1)
        # A value is a mean of the two edges beside it, so that the normal equations have two diagonals.
        size = len(edges)

        def summed(of_left: Array, of_right: Array) -> Array:
            found: Array = np.bincount(left, of_left, size) + np.bincount(left + 1, of_right, size)
            return found

        diagonal = summed((1 - share) ** 2, share**2)
        beside = np.bincount(left, share * (1 - share), size)
        sums = np.stack([summed((1 - share) * y, share * y) for y in answers.T], 1)
        diagonal += 1e-9 * (diagonal.max() + 1e-9)
        height = solveh_banded(np.stack([diagonal, beside]), sums, lower=True)
        squares = float((answers**2).sum() - (sums * height).sum())
        return Bends(squares, float(((answers - answers.mean(0)) ** 2).sum()), size, answers.shape)

    def is_better_than(self, other: Bends) -> bool:
        """Whether it explains more than the other, with fewer bends, and more than chance would."""
        n_rows, n_outputs = self.shape
        more, left = self.size - other.size, n_rows - self.size
        if more < 1 or left < 1 or self.squares <= 0:
            return False
        if self.explained < other.explained + WORTH_IT * math.log2(self.size / other.size):
            return False
        n_outputs = max(n_outputs - 1, 1)
        ratio = ((other.squares - self.squares) / more) / (self.squares / left)
        return bool(stats.f.sf(ratio, more * n_outputs, left * n_outputs) < BEYOND_CHANCE)
