"""Columns of numbers, of whatever type pandas keeps them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from askwise.core.arrays import Array


def holds_numbers(values: pd.Series[Any]) -> bool:
    """Whether a column is taken for numbers; booleans are none."""
    types = pd.api.types
    return (
        types.is_numeric_dtype(values.dtype)
        and not types.is_bool_dtype(values.dtype)
        and not types.is_complex_dtype(values.dtype)
    )


def numbers_of(values: pd.Series[Any]) -> Array:
    """Return a column of numbers as floats, NaN where it is missing."""
    return np.asarray(values.to_numpy(dtype=np.float64, na_value=np.nan))


def holds_whole_numbers(values: pd.Series[Any]) -> bool:
    """Whether a column holds whole numbers, possibly with missing values."""
    if not holds_numbers(values):
        return False
    numbers = numbers_of(values)
    known = numbers[~np.isnan(numbers)]
    return bool((np.isfinite(known) & (known == np.round(known))).all())
