"""What is said about the odd values of a whole table: an error for refused ones, one warning for each other kind."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from askwise.core.errors import AskwiseError, AskwiseWarning, OutOfRangeWarning, listed, shortened
from askwise.data.tables.cells import row_name
from askwise.data.tables.limits import measured_text, number_text
from askwise.data.tables.odd_values import NEVER_SEEN, OUTSIDE, REFUSED, UNREADABLE, OddColumn, OddValues

# A batch warns of values outside the range seen by more than this part of it.
FAR = 0.1
MOST_COLUMNS_NAMED, MOST_ROWS_NAMED, MOST_CATEGORIES_NAMED = 5, 3, 5
WHAT_TO_DO = "correct them, or leave the cells empty where the value is not known"


def raise_refused(odd: OddValues, index: pd.Index[Any]) -> None:
    """Raise an error if limits refuse a value. index: the labels of the table's rows."""
    if odd.of_kind(REFUSED):
        raise AskwiseError(f"{refused_message(odd, index, REFUSED)}; {WHAT_TO_DO}")


def warn_of_unseen(odd: OddValues, index: pd.Index[Any]) -> None:
    """Warn once of all numbers far outside what was seen in training, and once of all categories never seen there."""
    outside, never = [found for found in odd.of_kind(OUTSIDE) if _is_far(found)], odd.of_kind(NEVER_SEEN)
    if outside:
        where = "outside what was seen in training"
        text = _message(outside, f"is {where}", f"are {where}", lambda found: _range_text(found, index))
        warnings.warn(text, OutOfRangeWarning, stacklevel=3)
    if never:
        one, many = "was never seen in training and counts", "were never seen in training and count"
        text = _message(never, f"{one} as not available", f"{many} as not available", _categories_text)
        warnings.warn(text, AskwiseWarning, stacklevel=3)


def refused_message(odd: OddValues, index: pd.Index[Any], *kinds: str) -> str:
    """How many values of these kinds are not taken, and for each column what it takes and which rows have others."""
    found = odd.of_kind(*kinds)
    return _message(found, "is not allowed", "are not allowed", lambda column: _refused_text(column, index))


def _message(found: Sequence[OddColumn], one: str, many: str, text: Callable[[OddColumn], str]) -> str:
    """How many values are odd, and a text for each column. one, many: what is said of one value, and of several."""
    columns = "; ".join(map(text, found[:MOST_COLUMNS_NAMED]))
    rest = found[MOST_COLUMNS_NAMED:]
    more = f"; and {_n_values(rest)} more in {len(rest)} other {'column' if len(rest) == 1 else 'columns'}"
    n = _n_values(found)
    return f"{f'1 value {one}' if n == 1 else f'{n} values {many}'}: {columns}{more if rest else ''}"


def _is_far(found: OddColumn) -> bool:
    """Whether a value lies outside the range seen by more than a part of it; fresh rows often lie a little outside."""
    column = found.column
    return bool(_distance(found).max() > FAR * (column.high - column.low))


def _distance(found: OddColumn) -> Any:
    """How far each value lies outside the range seen."""
    return np.maximum(found.column.low - found.values, found.values - found.column.high)


def _n_values(found: Sequence[OddColumn]) -> int:
    return sum(len(one.rows) for one in found)


def _refused_text(found: OddColumn, index: pd.Index[Any]) -> str:
    named = zip(found.rows[:MOST_ROWS_NAMED], found.values[:MOST_ROWS_NAMED], strict=True)
    rows = [f"{row_name(index, row)} has {_value_text(found.kind, value)}" for row, value in named]
    rest = len(found.rows) - len(rows)
    more = f" and {rest} more" if rest else ""
    return f"{found.column.name!r} takes {found.column.allowed}, and {', '.join(rows)}{more}"


def _value_text(kind: str, value: Any) -> str:
    return shortened(value) if kind == UNREADABLE else number_text(value)


def _range_text(found: OddColumn, index: pd.Index[Any]) -> str:
    """The range seen, and the farthest value."""
    column, values = found.column, found.values
    farthest = int(_distance(found).argmax())
    row, value = row_name(index, found.rows[farthest]), measured_text(values[farthest])
    return f"{len(values)} in {column.name!r} (seen {column.seen}; {row} has {value})"


def _categories_text(found: OddColumn) -> str:
    column = found.column
    values = listed(dict.fromkeys(found.values.tolist()), MOST_CATEGORIES_NAMED)
    return f"{len(found.values)} in {column.name!r} ({values}; seen {listed(column.categories)})"
