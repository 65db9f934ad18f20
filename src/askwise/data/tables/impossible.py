"""Finds the first value of a table that a model can't take."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from askwise.core.errors import AskwiseError
from askwise.data.tables.column import CATEGORY, Column
from askwise.data.tables.schema import Schema


def first_impossible(schema: Schema, frame: pd.DataFrame) -> AskwiseError | None:
    """The error for the first impossible value, with the label of its row; None if every value is possible.

    frame: the columns of the schema, in its order.
    """
    found = [_first_in_column(column, frame.iloc[:, c]) for c, column in enumerate(schema.columns)]
    errors = [error for error in found if error is not None]
    if not errors:
        return None
    row, message = min(errors)
    return AskwiseError(f"row {frame.index[row]}: {message}")


def _first_in_column(column: Column, series: pd.Series[Any]) -> tuple[int, str] | None:
    """The position and the error of the first impossible value of a column; a new category is possible."""
    if column.kind == CATEGORY:
        return None
    for row, value in enumerate(series):
        try:
            column.parse(int(value) if isinstance(value, (bool, np.bool_)) else value)
        except AskwiseError as error:
            return row, str(error)
    return None
