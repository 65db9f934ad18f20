"""95 % intervals: Wilson's of a share, and what drawing rows or persons again gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from askwise.core.arrays import Array
from askwise.core.errors import AskwiseError

# Standard errors from the mean to either end of a 95 % interval.
Z = 1.96


def wilson(share: Array, n: Array) -> tuple[Array, Array]:
    """Wilson's 95 % interval of a share of n independent rows, which is never empty, even at 0 and 1; NaN of none."""
    share, n = np.asarray(share, dtype=float), np.asarray(n, dtype=float)
    with np.errstate(invalid="ignore", divide="ignore"):
        middle = (share + Z**2 / (2 * n)) / (1 + Z**2 / n)
        half = Z * np.sqrt(share * (1 - share) / n + Z**2 / (4 * n**2)) / (1 + Z**2 / n)
        return np.maximum(middle - half, 0.0), np.minimum(middle + half, 1.0)


def percentiles(drawn: Array) -> tuple[float, float]:
    """The middle 95 % of what the draws gave; draws in which the number is not defined do not count."""
    drawn = drawn[np.isfinite(drawn)]
    if not len(drawn):
        return np.nan, np.nan
    low, high = np.quantile(drawn, [0.025, 0.975])
    return float(low), float(high)


def share_interval(
    share: float, among: Array, drawn: Array | None, persons: Array | None = None, plain: bool = True
) -> tuple[float, float]:
    """The interval of a share of some rows (a bool each).

    Rows that stand by themselves have Wilson's. Rows of persons have what drawing persons again gives (`drawn`); where
    all or none are right, no draw differs from another, and it is Wilson's of the number of persons. plain: whether
    the share is the mean of right and wrong rows; else the draws tell it for rows too.
    """
    if drawn is None or (plain and persons is None) or share in (0.0, 1.0):
        low, high = wilson(np.array(share), np.array(n_independent(among, persons)))
        return float(low), float(high)
    return percentiles(drawn)


def n_independent(among: Array, persons: Array | None) -> int:
    """How many rows there are among some (a bool each), or how many persons have them."""
    return int(among.sum()) if persons is None else len(np.unique(persons[among]))


def bootstrap_draws(n_rows: int, count: int, seed: int = 0, persons: Array | None = None) -> Array:
    """How often each row is drawn in each of `count` bootstrap samples, (count, rows).

    persons: the number of the person that each row belongs to; persons are then drawn, each with all its rows.
    """
    rng = np.random.default_rng(seed)
    n_drawn = n_rows if persons is None else int(persons.max()) + 1
    draws = np.empty((count, n_rows), dtype=np.uint8)
    for draw in draws:
        times = np.bincount(rng.integers(0, n_drawn, n_drawn), minlength=n_drawn)
        draw[:] = times if persons is None else times[persons]
    return draws


def person_numbers(split_by: Any, n_rows: int) -> Array:
    """The number of the person that each row belongs to, from one value a row, such as a patient's name."""
    values = pd.Series(np.asarray(split_by))
    if len(values) != n_rows:
        raise AskwiseError(f"split_by has {len(values)} values for {n_rows} rows; give one for each row")
    if values.isna().any():
        raise AskwiseError(f"split_by is missing in {int(values.isna().sum())} rows; give a value for each row")
    if values.nunique() < 2:
        raise AskwiseError(
            "split_by has one value in all rows; intervals tell how much persons differ, and take two at least"
        )
    return np.asarray(values.factorize()[0])
