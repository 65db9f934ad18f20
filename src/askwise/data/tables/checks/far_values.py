"""A few numbers far outside all others of their column, such as an age of 600."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from askwise.core.arrays import Array
from askwise.data.tables.cells import rows_named
from askwise.data.tables.checks.checked_table import CheckedTable
from askwise.data.tables.checks.finding import Finding, Severity
from askwise.data.tables.checks.numbers import holds_numbers, numbers_of
from askwise.data.tables.checks.sentinels import sentinels_of
from askwise.data.tables.limits import measured_text

# Mistakes are few: so many rows, or this share of them.
MOST_ROWS, MOST_SHARE = 8, 0.001
FEWEST_OTHERS = 150
# Distances are counted from the median, in quartile distances. The others reach so far at least.
LEAST_REACH = 3.0
FACTOR = 2.0
MOST_NAMED = 3


def find_far_values(table: CheckedTable) -> list[Finding]:
    """Find numbers far outside all others, in columns and in an answer that is a number."""
    columns = {str(name): table.X[name] for name in table.X.columns if name not in table.codes}
    if not table.has_classes:
        columns |= {table.target: table.y}
    found = {name: far_rows(values) for name, values in columns.items() if holds_numbers(values)}
    return [_finding(columns[name], name, rows) for name, rows in found.items() if rows.any()]


def far_rows(values: pd.Series[Any]) -> Array:
    """Return in which rows (n,) a number lies far outside all others; numbers that stand for a missing value do not."""
    numbers = numbers_of(values)
    known = np.isfinite(numbers) & ~np.isin(numbers, sentinels_of(values))
    others = np.sort(numbers[known])
    if len(others) < FEWEST_OTHERS:
        return np.zeros(len(numbers), dtype=bool)
    least, most = -_last_near(-others[::-1]), _last_near(others)
    return np.asarray(known & ((numbers < least) | (numbers > most)))


def _last_near(ordered: Array) -> float:
    """Return the largest of sorted numbers that is not far above those before it.

    A number is far if its logarithm of the distance from the median is twice that of all numbers below it. So a long
    tail, in which each number is some times the one before it, has none.
    """
    median, quartile = np.quantile(ordered, [0.5, 0.75])
    n_last = max(MOST_ROWS, int(MOST_SHARE * len(ordered))) + 1
    if quartile == median:
        return float(ordered[-1])
    reach = (ordered[-n_last:] - median) / (quartile - median)
    is_far = np.log1p(np.maximum(reach[1:], 0)) > FACTOR * np.log1p(np.maximum(reach[:-1], LEAST_REACH))
    last = int(is_far.argmax()) if is_far.any() else n_last - 1
    return float(ordered[len(ordered) - n_last + last])


def _finding(values: pd.Series[Any], name: str, far: Array) -> Finding:
    numbers = numbers_of(values)
    rows = np.flatnonzero(far)
    told = [measured_text(value) for value in dict.fromkeys(numbers[rows].tolist())]
    others = numbers[np.isfinite(numbers) & ~far]
    found = (
        f"{' and '.join(told[:MOST_NAMED])}{' and more' if len(told) > MOST_NAMED else ''} in "
        f"{rows_named(values.index, rows, MOST_NAMED)}, far from the others "
        f"({measured_text(others.min())} to {measured_text(others.max())})."
    )
    why = "Such a number is often a slip of the pen, or in another unit. It is learnt from, and accepted later."
    advice = "Correct these cells, or leave them empty; min and max in --questions refuse such numbers from then on."
    return Finding("far-value", (name,), Severity.WARNING, found, why, advice)
