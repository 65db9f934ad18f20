"""Numbers that stand for a missing value, such as 999 or -1 far from all others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from askwise.core.arrays import Array
from askwise.data.tables.checks.checked_table import CheckedTable
from askwise.data.tables.checks.finding import Finding, Severity
from askwise.data.tables.checks.numbers import holds_numbers, numbers_of

NINES = tuple(10**digits - 1 for digits in range(1, 9))
EIGHTS = tuple(8 * (10**digits - 1) // 9 for digits in range(2, 6))
FRACTIONS = (99.9, 999.9, 9999.9)
NEGATIVE = (-1, -1000, -10000, *(-n for n in (*NINES, *EIGHTS, *FRACTIONS)))
SENTINELS = np.array([*NEGATIVE, *NINES, *(n - 1 for n in NINES[1:]), *EIGHTS, *FRACTIONS])
# A small one must be there more often; 999 once is enough.
FEWEST_ROWS, SURELY = 2, 900
FEWEST_OTHERS = 5
# Farther from the others than so many times the largest gap among those nearest to it.
FAR = 3.0
# The share of the other values that are near, and the fewest of them.
SHARE_NEAR, FEWEST_NEAR = 0.2, 5


def find_sentinels(table: CheckedTable) -> list[Finding]:
    """Find numbers that mean "not known", in columns and in an answer that is a number."""
    columns = {str(name): table.X[name] for name in table.X.columns if name not in table.codes}
    if not table.has_classes:
        columns |= {table.target: table.y}
    found = {name: sentinels_of(values) for name, values in columns.items() if holds_numbers(values)}
    return [_finding(name, columns[name], values, table.target) for name, values in found.items() if len(values)]


def sentinels_of(values: pd.Series[Any]) -> list[float]:
    """Return the numbers of a column that stand for a missing value."""
    numbers = numbers_of(values)
    numbers = numbers[np.isfinite(numbers)]
    # Nearly all columns end here, without being sorted: a sentinel is outside the others.
    if not len(numbers) or not np.isin([numbers.min(), numbers.max()], SENTINELS).any():
        return []
    different, counts = np.unique(numbers, return_counts=True)
    may_be = np.isin(different, SENTINELS) & ((counts >= FEWEST_ROWS) | (np.abs(different) >= SURELY))
    others = different[~may_be]
    if len(others) < FEWEST_OTHERS:
        return []
    usual = counts[~may_be].max()
    return [
        float(value)
        for value, count in zip(different[may_be], counts[may_be], strict=True)
        if _is_far(value, others) or (value < 0 <= others[0] and count > usual and len(others) >= 2 * FEWEST_OTHERS)
    ]


def _is_far(value: float, others: Array) -> bool:
    """Whether a value is below or above all others, by much more than those are apart."""
    if others[0] <= value <= others[-1]:
        return False
    n_near = max(FEWEST_NEAR, round(SHARE_NEAR * len(others)))
    near = others[:n_near] if value < others[0] else others[-n_near:]
    return float(np.abs(others - value).min()) > FAR * float(np.diff(near).max())


def _finding(name: str, values: pd.Series[Any], sentinels: list[float], target: str) -> Finding:
    numbers = numbers_of(values)
    texts = [_times(value, int((numbers == value).sum())) for value in sentinels]
    others = numbers[~np.isin(numbers, sentinels) & np.isfinite(numbers)]
    found = f"{' and '.join(texts)}, far from the others ({others.min():.4g} to {others.max():.4g})."
    what = "an answer" if name == target else "a measurement"
    why = f"Such a number often means not known. It is learnt as if it were {what}."
    return Finding(
        "sentinel", (name,), Severity.WARNING, found, why, "Leave these cells empty, if that is what it means."
    )


def _times(value: float, n_rows: int) -> str:
    return f"{value:.15g} in {n_rows} {'row' if n_rows == 1 else 'rows'}"
