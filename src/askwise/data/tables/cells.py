"""How errors and warnings name a row of a table, and a value in it that can't be read."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from askwise.core.arrays import Array
from askwise.core.errors import AskwiseError, shortened

MOST_LETTERS = 40
# The name of an index that holds the lines of a CSV, and the line below its header.
LINE, FIRST_LINE = "line", 2


def line_numbers(index: pd.Index[Any]) -> pd.Index[Any]:
    """The lines of a CSV for the positions of its rows, as a spreadsheet shows them; messages then name lines."""
    return (index + FIRST_LINE).rename(LINE)


def row_name(index: pd.Index[Any], row: int) -> str:
    """The row at a position, by its label in the index."""
    return f"{_unit(index)} {_label(index, row)}"


def rows_named(index: pd.Index[Any], rows: Array, most: int) -> str:
    """The rows at these positions: line 3, or lines 3, 7 and 2 more."""
    labels = [_label(index, row) for row in rows[:most]]
    if len(rows) == 1:
        return f"{_unit(index)} {labels[0]}"
    more = len(rows) - len(labels)
    last = f"{more} more" if more else labels.pop()
    return f"{_unit(index)}s {', '.join(labels)} and {last}"


def unreadable(index: pd.Index[Any], row: int, message: str) -> AskwiseError:
    """The error for a value that can't be read, in the row at this position. message: what the column takes."""
    return AskwiseError(f"{row_name(index, row)}: {message}; correct it, or leave it empty")


def _unit(index: pd.Index[Any]) -> str:
    return LINE if index.name == LINE else "row"


def _label(index: pd.Index[Any], row: int) -> str:
    label = index[row]
    return shortened(label.item() if isinstance(label, np.generic) else label, MOST_LETTERS)
