"""The values of a column as the network's entries."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from askwise.core.arrays import Array
from askwise.core.errors import AskwiseError
from askwise.data.tables.cells import unreadable
from askwise.data.tables.column import CATEGORY, MOST_CATEGORIES, NUMBER, Column, category_key
from askwise.data.tables.odd_values import NEVER_SEEN, UNREADABLE, OddValues


def encode_column(column: Column, series: pd.Series[Any], out: Array, odd: OddValues) -> Array:
    """Write one column's entries into `out`; returns which rows are present. Odd values are noted in `odd`."""
    if column.kind == CATEGORY:
        codes = _codes(column, series, odd)
        seen = codes >= 0
        out[np.flatnonzero(seen), codes[seen]] = 1.0
        return seen
    numbers = odd.plausible_numbers(column, read_numbers(column, series, odd))
    here = ~np.isnan(numbers)
    out[:, 0] = np.where(here, column.scaled(numbers), 0.0)
    return here


def read_numbers(column: Column, series: pd.Series[Any], odd: OddValues) -> Array:
    """The finite numbers of a column that is no category, NaN where one is missing; limits are not looked at.

    What can't be read is an error that names its row, or noted as odd and missing, if that is allowed.
    """
    numeric = pd.api.types.is_numeric_dtype(series.dtype) and not pd.api.types.is_complex_dtype(series.dtype)
    if numeric and (column.kind == NUMBER or series.dropna().isin([0, 1]).all()):
        numbers = series.to_numpy(dtype=np.float64, na_value=np.nan)
        if not np.isinf(numbers).any():
            return numbers
    # In a column of numbers, a table's True is 1 as it was in training.
    values = [int(v) if isinstance(v, (bool, np.bool_)) else v for v in series]
    numbers, wrong = np.full(len(values), np.nan), []
    for row, value in enumerate(values):
        try:
            found = column.read(value)
        except AskwiseError as error:
            if not odd.allow_refused:
                raise unreadable(series.index, row, str(error)) from None
            wrong.append(row)
            continue
        if found is not None:
            numbers[row] = float(found)
    odd.add(column, UNREADABLE, np.array(wrong, dtype=np.int64), series.iloc[wrong].to_numpy(dtype=object))
    return numbers


def _codes(column: Column, series: pd.Series[Any], odd: OddValues) -> Array:
    """Position of each row's category; -1 where it is missing or was never seen in training."""
    position = {key: i for i, key in enumerate(column.categories)}
    missing = series.isna().to_numpy()
    uniques, inverse = np.unique(series[~missing].map(category_key).to_numpy(dtype=object), return_inverse=True)
    known = np.array([position.get(u, -1) for u in uniques], dtype=np.int64)
    codes = np.full(len(series), -1, dtype=np.int64)
    codes[~missing] = known[inverse] if len(uniques) else -1
    # One of very many may have been seen, but too rarely to be kept.
    if (known < 0).any() and len(column.categories) < MOST_CATEGORIES:
        never = known[inverse] < 0
        odd.add(column, NEVER_SEEN, np.flatnonzero(~missing)[never], uniques[inverse[never]])
    return codes
