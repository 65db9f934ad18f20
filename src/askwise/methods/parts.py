"""Into how many parts a number is cut: into finer ones where these explain more of the answer."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import stats
from scipy.linalg import solveh_banded

from askwise.core.arrays import Array
from askwise.core.row_weights import effective_rows
from askwise.data.tables.column import edges_at_quantiles

FINEST = 128
# Each part has so many rows at least.
ROWS_PER_PART = 20
# How likely chance may explain as much more, at most: columns are many, and each is tried a few times.
MAX_P_VALUE = 1e-3
# Twice as many parts explain so much more of the answers' variance, at least: with many rows nothing is chance.
WORTH_IT = 0.001
# With so many rows every number is cut into so many parts: it may tell only together with others.
ROWS_FOR_PARTS, FEWEST_PARTS = 16_000, 8


def parts_that_explain(values: Array, answers: Array, weights: Array | None = None) -> int:
    """The number of parts for a column: 1, or as many as explain more of the answers (rows, outputs).

    Where a column tells much within narrow ranges, as a date or a coordinate does, coarse parts hide it; where it tells
    the same everywhere, parts only add to what has to be learnt. The answers are fitted by a line that bends at the
    edges of the parts, which are halved if an F test finds a better fit.
    """
    n_rows = effective_rows(weights, len(values))
    weights = np.ones(len(values)) if weights is None else weights * (n_rows / weights.sum())
    finest = min(FINEST, int(n_rows / ROWS_PER_PART))
    if finest < 2 or (answers == answers[0]).all():
        return 1
    order = np.argsort(values, kind="stable")
    values, answers, weights = values[order], answers[order], weights[order]
    n_parts, kept = 1, PiecewiseLinearFit.of(values, answers, 1, weights)
    finer = 2
    while finer <= finest:
        found = PiecewiseLinearFit.of(values, answers, finer, weights)
        if found.is_better_than(kept):
            n_parts, kept = finer, found
        finer *= 2
    return n_parts


def fewest_parts(n_rows: int) -> int:
    """The number of parts that a column with so many values has at least.

    A column may tell little by itself and much beside others, by its size or its square; no fit of that column alone
    shows it. With many rows parts cost little, with few they only add to what has to be learnt.
    """
    return FEWEST_PARTS if n_rows >= ROWS_FOR_PARTS else 1


@dataclass(frozen=True)
class PiecewiseLinearFit:
    """A least squares fit of answers (rows, outputs) by a line with bends.

    residual_ss, total_ss: sums of squares of the answers around the fit and around their means. n_knots: where it
    bends, ends included; n_rows: how many equal rows the weighted ones are worth.
    """

    residual_ss: float
    total_ss: float
    n_knots: int
    n_rows: float
    n_outputs: int

    @property
    def explained(self) -> float:
        """The share of the answers' variance that is explained, less what chance explains."""
        left = max(self.n_rows - self.n_knots, 1)
        return 1 - (self.residual_ss / left) / (self.total_ss / max(self.n_rows - 1, 1))

    @staticmethod
    def of(values: Array, answers: Array, n_parts: int, weights: Array | None = None) -> PiecewiseLinearFit:
        """Fit answers (rows, outputs) with bends at the edges of so many parts of the values (rows,), which rise.

        weights (rows,) add up to as many equal rows as these are worth.
        """
        weights = np.ones(len(values)) if weights is None else weights
        edges = edges_at_quantiles(values, n_parts)
        if not len(edges):
            edges = values[[0, -1]]
        left = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, len(edges) - 2)
        share = np.clip((values - edges[left]) / np.maximum(edges[left + 1] - edges[left], 1e-300), 0, 1)
        starts = np.searchsorted(left, np.arange(len(edges) - 1))

        def summed(of_left: Array, of_right: Array) -> Array:
            """Sums (edges, ...) of what the rows give the edge on their left and the one on their right."""
            found = np.zeros((len(edges), *of_left.shape[1:]))
            found[:-1] = np.add.reduceat(of_left, starts, axis=0)
            found[1:] += np.add.reduceat(of_right, starts, axis=0)
            return found

        # A value is a mean of the two edges beside it, so that the normal equations have two diagonals.
        diagonal = summed(weights * (1 - share) ** 2, weights * share**2)
        beside = np.append(np.add.reduceat(weights * share * (1 - share), starts), 0.0)
        weighted = weights[:, None] * answers
        of_right = share[:, None] * weighted
        sums = summed(weighted - of_right, of_right)
        diagonal += 1e-9 * (diagonal.max() + 1e-9)
        height = solveh_banded(np.stack([diagonal, beside]), sums, lower=True)
        residual_ss = float((weighted * answers).sum() - (sums * height).sum())
        away = answers - np.average(answers, axis=0, weights=weights)
        total_ss = float((weights[:, None] * away**2).sum())
        return PiecewiseLinearFit(residual_ss, total_ss, len(edges), float(weights.sum()), answers.shape[1])

    def is_better_than(self, other: PiecewiseLinearFit) -> bool:
        """Whether it explains more than the other, with fewer bends, and more than chance would."""
        more, left = self.n_knots - other.n_knots, self.n_rows - self.n_knots
        if more < 1 or left < 1 or self.residual_ss <= 0:
            return False
        if self.explained < other.explained + WORTH_IT * math.log2(self.n_knots / other.n_knots):
            return False
        n_outputs = max(self.n_outputs - 1, 1)
        ratio = ((other.residual_ss - self.residual_ss) / more) / (self.residual_ss / left)
        return bool(stats.f.sf(ratio, more * n_outputs, left * n_outputs) < MAX_P_VALUE)
