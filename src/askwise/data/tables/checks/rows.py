"""Rows: too few of them, or the same ones several times."""

from __future__ import annotations

import math

import numpy as np

from askwise.core.arrays import Array
from askwise.data.tables.checks.checked_table import CheckedTable
from askwise.data.tables.checks.finding import Finding, Severity
from askwise.data.tables.checks.row_hashes import row_hashes, value_hashes, weighted

FEW_ROWS = 100
# The share of rows that training holds out, and an accuracy as an example of an interval.
HELD_OUT, EXAMPLE_ACCURACY = 0.2, 0.8
# Of larger tables, so many rows are compared.
MOST_COMPARED = 200_000
# Copies stay copies if one column less is compared; rows that are alike by chance become many more.
MOST_GROWTH = 1.5
TRIED_COLUMNS = 3
# More pairs than this times what is expected if columns had nothing to do with each other.
BEYOND_CHANCE = 10.0
SHARE_THAT_MATTERS = 0.005


def find_few_rows(table: CheckedTable) -> list[Finding]:
    """Tell how wide intervals are if there are few rows."""
    n = len(table.y)
    if n >= FEW_ROWS:
        return []
    held_out = max(1, round(HELD_OUT * n))
    if table.has_classes:
        width = 100 * 1.96 * math.sqrt(EXAMPLE_ACCURACY * (1 - EXAMPLE_ACCURACY) / held_out)
        interval = f"an accuracy of {EXAMPLE_ACCURACY:.0%} has a 95% interval of about ± {min(width, 50):.0f} points"
    else:
        width = 100 * 1.96 / math.sqrt(2 * held_out)
        interval = f"the mean error has a 95% interval of about ± {min(width, 100):.0f}%"
    why = f"Of {held_out} rows held out, {interval}: too wide to tell whether asking pays."
    advice = "Add rows; or expect little, and measure with cross_val_score instead of one split."
    found = f"{n} {'row' if n == 1 else 'rows'} with an answer."
    return [Finding("few-rows", (), Severity.WARNING, found, why, advice)]


def find_duplicates(table: CheckedTable) -> list[Finding]:
    """Find rows that are the same as an earlier row in every column, more often than chance explains."""
    rows = _compared(len(table.y))
    columns = [*(table.X[name] for name in table.X.columns), table.y]
    hashes = [value_hashes(values.iloc[rows] if len(rows) < len(values) else values) for values in columns]
    total = row_hashes(hashes)
    n_copies = len(total) - len(np.unique(total))
    if not n_copies or _is_chance(hashes, total):
        return []
    share = n_copies / len(total)
    compared = "" if len(rows) == len(table.y) else f" of {len(rows)} compared"
    found = f"{n_copies} rows{compared} ({share:.1%}) are copies of an earlier row."
    if n_copies == 1:
        found = "One row is a copy of an earlier row."
    why = "If one copy is learnt from and another is held out, results look better than they are."
    advice = "Keep one of each, unless they are different cases: frame.drop_duplicates()."
    severity = Severity.SERIOUS if share >= SHARE_THAT_MATTERS else Severity.NOTE
    return [Finding("duplicates", (), severity, found, why, advice)]


def _compared(n_rows: int) -> Array:
    if n_rows <= MOST_COMPARED:
        return np.arange(n_rows)
    return np.sort(np.random.default_rng(0).choice(n_rows, MOST_COMPARED, replace=False))


def _is_chance(hashes: list[Array], total: Array) -> bool:
    """Whether rows are alike because their columns have few values, and not because they are copies."""
    n_pairs = _pairs(total)
    agreement = [_pairs(column) / (len(total) * (len(total) - 1) / 2) for column in hashes]
    expected = math.prod(agreement) * len(total) * (len(total) - 1) / 2
    if n_pairs <= BEYOND_CHANCE * expected:
        return True
    most_different = np.argsort(agreement)[:TRIED_COLUMNS]
    fewer = [_pairs(total - weighted(hashes[place], place)) for place in most_different]
    return max(fewer) > MOST_GROWTH * n_pairs


def _pairs(hashes: Array) -> float:
    """Return the number of pairs of rows with the same hash."""
    counts = np.unique(hashes, return_counts=True)[1].astype(np.float64)
    return float((counts * (counts - 1) / 2).sum())
