"""What each column tells about the answer by itself: where networks start from, and how fast they may learn from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import stats

from askwise.core.arrays import Array
from askwise.core.features import FeatureSpace
from askwise.core.row_weights import effective_rows

# Numbers are cut into so many bins at quantiles.
BINS = 8
# With so many rows for each column, columns are learnt from at full speed: those that may tell nothing, and those that
# tell little. With fewer, the first are soon all but left out: each adds to what is learnt from chance.
ROWS_PER_CHANCE, ROWS_PER_COLUMN = 10, 20
CHANCE_EXPONENT, COLUMN_EXPONENT = 5.0, 0.5
# With so many rows, a category is learnt from at full speed.
ROWS_PER_CATEGORY = 50


class Columns(NamedTuple):
    """Columns of a table as one number a row: values (rows, columns), NaN if missing; is_category (columns,)."""

    values: Array
    is_category: Array


def columns_of(space: FeatureSpace, x: Array, present: Array) -> Columns:
    """The columns behind the entries x (rows, entries): a category as its position, a number as it is."""
    n_columns = space.n_columns
    column = np.array(space.column_of_entry)
    first = np.searchsorted(column, np.arange(n_columns))
    width = np.bincount(column, minlength=n_columns)
    values = x[:, first].astype(np.float64)
    for c in np.flatnonzero(width > 1):
        values[:, c] = x[:, first[c] : first[c] + width[c]].argmax(1)
    return Columns(np.where(present, values, np.nan), width > 1)


@dataclass(frozen=True)
class Screening:
    """share (columns,): how much of the answer's variance each column explains by itself, 0 if that may be chance."""

    share: Array
    n_rows: float

    @staticmethod
    def of(
        columns: Columns, answers: Array, weights: Array | None = None, gaps_count: Array | None = None
    ) -> Screening:
        """Test each column against answers (rows, outputs) by bins, and numbers by a line too. weights: (rows,).

        Of columns that tell nothing, chance lets one pass on average, however many there are. gaps_count (columns,):
        whether a gap is a bin of its own, as by default; if not, a column is tested on the rows that have it.
        """
        weights = np.ones(len(answers)) if weights is None else weights
        everywhere = _Tests.of_answers(answers, weights)
        found = []
        for c, (values, is_category) in enumerate(zip(columns.values.T, columns.is_category, strict=True)):
            if gaps_count is None or gaps_count[c]:
                found.append(everywhere.of(values, is_category))
            else:
                here = ~np.isnan(values)
                found.append(_Tests.of_answers(answers[here], weights[here]).of(values[here], is_category))
        share, p_value = np.array(found).reshape(-1, 2).T
        return Screening(np.where(p_value * len(found) < 1, share, 0.0), everywhere.n_rows)

    def gain_of_columns(self) -> Array:
        """Factors (columns,) at which networks learn: all 1 with many rows; else the less a column explains, the less.

        A network learns from many columns that tell nothing what is not there. What a column adds to the variance of
        predictions goes with the square of its factor.
        """
        per_column = self.n_rows / len(self.share)
        relative = (self.share / max(self.share.max(), np.finfo(float).tiny)) ** 0.5
        telling = np.maximum(relative, min(1.0, per_column / ROWS_PER_COLUMN) ** COLUMN_EXPONENT)
        return np.where(self.share > 0, telling, min(1.0, per_column / ROWS_PER_CHANCE) ** CHANCE_EXPONENT)

    def share_of_groups(self, space: FeatureSpace) -> Array:
        """The largest share of a column of each group, (groups,)."""
        return np.array([max(self.share[c] for c in columns) for columns in space.members])


def gain_of_inputs(space: FeatureSpace, screening: Screening, rows_of_entry: Array) -> Array:
    """Factors (n_inputs,) of entries, mask and parts; rows_of_entry (entries,): in how many rows each is not 0."""
    gain = screening.gain_of_columns()
    column = np.array(space.column_of_entry)
    is_category = np.bincount(column, minlength=space.n_columns)[column] > 1
    rare = np.where(is_category, np.minimum(1.0, rows_of_entry / ROWS_PER_CATEGORY) ** 0.5, 1.0)
    return np.concatenate([gain[column] * rare, gain, gain[np.array(space.column_of_part, dtype=np.int64)]])


@dataclass(frozen=True)
class _Tests:
    """F tests of columns against the same answers (rows, outputs), centred, with a sum of squares `total`.

    weights: of the rows, (rows,); they add up to n_rows, as many equal rows as these are worth.
    """

    answers: Array
    weights: Array
    n_rows: float
    total: float

    @staticmethod
    def of_answers(answers: Array, weights: Array) -> _Tests:
        n_rows = effective_rows(weights, len(answers))
        weights = weights * (n_rows / weights.sum())
        centred = answers - np.average(answers, axis=0, weights=weights)
        return _Tests(centred, weights, n_rows, float((weights[:, None] * centred**2).sum()))

    def of(self, values: Array, is_category: bool) -> tuple[float, float]:
        """The adjusted share of the variance explained, and how likely chance explains as much."""
        here = ~np.isnan(values)
        found = [self._by_code(_codes(values, here, is_category))]
        if not is_category:
            found.append(self._by_line(np.where(here, values, self._mean(values, here))))
        share, p_value = (pick(part) for pick, part in zip((max, min), zip(*found, strict=True), strict=True))
        return max(share, 0.0), p_value * len(found)

    def _by_code(self, code: Array) -> tuple[float, float]:
        count = np.bincount(code, weights=self.weights)
        sums = np.stack([np.bincount(code, weights=self.weights * column) for column in self.answers.T], 1)
        explained = (sums**2 / np.where(count > 0, count, 1)[:, None]).sum()
        return self._test(explained, int((count > 0).sum()) - 1)

    def _by_line(self, values: Array) -> tuple[float, float]:
        centred = values - np.average(values, weights=self.weights)
        weighted = self.weights * centred
        spread = (weighted * centred).sum()
        return (0.0, 1.0) if spread <= 0 else self._test((((weighted @ self.answers) ** 2).sum()) / spread, 1)

    def _mean(self, values: Array, here: Array) -> float:
        """The mean of the values that are there, 0 without any."""
        return float(np.average(values[here], weights=self.weights[here])) if here.any() else 0.0

    def _test(self, explained: float, freedom: int) -> tuple[float, float]:
        left = self.n_rows - 1 - freedom
        if freedom < 1 or left < 1 or self.total <= 0:
            return 0.0, 1.0
        share = min(explained / self.total, 1 - 1e-9)
        n_outputs = max(self.answers.shape[1] - 1, 1)
        ratio = (share / freedom) / ((1 - share) / left)
        adjusted = 1 - (1 - share) * (left + freedom) / left
        return adjusted, float(stats.f.sf(ratio, freedom * n_outputs, left * n_outputs))


def _codes(values: Array, here: Array, is_category: bool) -> Array:
    """A bin or category of each row, 0 if it is missing."""
    if not here.any():
        return np.zeros(len(values), dtype=np.int64)
    if is_category:
        return np.where(here, np.nan_to_num(values) + 1, 0).astype(np.int64)
    cuts = np.unique(np.quantile(values[here], np.linspace(0, 1, BINS + 1)[1:-1]))
    return np.where(here, np.searchsorted(cuts, np.nan_to_num(values), side="right") + 1, 0)
