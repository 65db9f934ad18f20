"""Rows as hashes, so that copies are found without comparing each with each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from askwise.core.arrays import Array
from askwise.data.tables.checks.numbers import holds_numbers, numbers_of


def value_hashes(values: pd.Series[Any]) -> Array:
    """Return a hash of each value of a column; equal values have equal hashes."""
    if holds_numbers(values):
        # Adding zero makes -0.0 the same as 0.0.
        return np.asarray(pd.util.hash_array(numbers_of(values) + 0.0))
    return np.asarray(pd.util.hash_array(pd.factorize(values)[0]))


def row_hashes(columns: Sequence[Array]) -> Array:
    """Return one hash for each row from those of its values; the place of a column counts."""
    total = np.zeros(len(columns[0]), dtype=np.uint64)
    for place, hashes in enumerate(columns):
        total += weighted(hashes, place)
    return total


def weighted(hashes: Array, place: int) -> Array:
    """Return what the column at a place adds to the hash of its row."""
    return np.asarray(hashes * np.uint64(2 * place + 1))
