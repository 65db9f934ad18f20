"""Values of a table that limits refuse, or that are outside what was seen in training: found, named, or left out."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from askwise.core.arrays import Array
from askwise.core.errors import AskwiseError, OutOfRangeWarning, shortened
from askwise.data.tables.column import NUMBER, Column
from askwise.data.tables.encoding import read_numbers
from askwise.data.tables.limits import measured_text, number_text

if TYPE_CHECKING:
    import pandas as pd

    from askwise.data.tables.schema import Schema

MOST_COLUMNS_NAMED, MOST_ROWS_NAMED = 5, 3
WHAT_TO_DO = "correct them, or leave the cells empty where the value is not known"


@dataclass(frozen=True)
class FoundValues:
    """Values of one column that are not plausible; rows: the positions of their rows."""

    column: Column
    rows: Array
    values: Array


class TableCheck:
    """Looks at the numbers of a table, column by column; index: the names of the rows, for messages."""

    def __init__(self, index: pd.Index[Any]) -> None:
        self._index = index
        self.refused: list[FoundValues] = []
        self.outside: list[FoundValues] = []

    def look_at(self, column: Column, numbers: Array) -> None:
        """Keep what is not plausible among the numbers of a column; NaN is missing."""
        if column.kind != NUMBER:
            return
        here = ~np.isnan(numbers)
        beyond = here & ((numbers < column.low) | (numbers > column.high))
        self._keep(self.refused, column, numbers, here & ~column.limits.allows(numbers))
        self._keep(self.outside, column, numbers, beyond)

    @staticmethod
    def _keep(found: list[FoundValues], column: Column, numbers: Array, which: Array) -> None:
        rows = np.flatnonzero(which)
        if len(rows):
            found.append(FoundValues(column, rows, numbers[rows]))

    def raise_or_warn(self) -> None:
        """Raise an error if limits refuse a value, else warn once of all that were not seen in training."""
        if self.refused:
            raise AskwiseError(f"{self.refused_text()}; {WHAT_TO_DO}")
        if self.outside:
            warnings.warn(self.outside_text(), OutOfRangeWarning, stacklevel=3)

    def refused_text(self) -> str:
        """How many values are refused, and for each column what it takes and which rows have something else."""
        n = sum(len(found.rows) for found in self.refused)
        columns = "; ".join(map(self._column_text, self.refused[:MOST_COLUMNS_NAMED]))
        return f"{n} {'value is' if n == 1 else 'values are'} not allowed: {columns}{_more(self.refused)}"

    def _column_text(self, found: FoundValues) -> str:
        named = zip(found.rows[:MOST_ROWS_NAMED], found.values[:MOST_ROWS_NAMED], strict=True)
        rows = [f"row {shortened(_plain(self._index[row]), 40)} has {number_text(value)}" for row, value in named]
        rest = len(found.rows) - len(rows)
        more = f" and {rest} more" if rest else ""
        return f"{found.column.name!r} takes {found.column.allowed}, and {', '.join(rows)}{more}"

    def _range_text(self, found: FoundValues) -> str:
        column, values = found.column, found.values
        farthest = int(np.maximum(column.low - values, values - column.high).argmax())
        row = shortened(_plain(self._index[found.rows[farthest]]), 40)
        return f"{len(values)} in {column.name!r} (seen {column.seen}; row {row} has {measured_text(values[farthest])})"

    def outside_text(self) -> str:
        """How many values of each column are outside what was seen in training, the range seen, and the farthest."""
        n = sum(len(found.rows) for found in self.outside)
        columns = "; ".join(map(self._range_text, self.outside[:MOST_COLUMNS_NAMED]))
        count = f"{n} {'value is' if n == 1 else 'values are'}"
        return f"{count} outside what was seen in training: {columns}{_more(self.outside)}"


def refused_values(schema: Schema, frame: pd.DataFrame) -> TableCheck:
    """Look at the columns of a table that have limits; the schema's columns are those of the table, in its order."""
    check = TableCheck(frame.index)
    for c, column in enumerate(schema.columns):
        if column.limits.minimum is not None or column.limits.maximum is not None or column.limits.values:
            check.look_at(column, read_numbers(column, frame.iloc[:, c]))
    return check


def without_refused(frame: pd.DataFrame, check: TableCheck) -> pd.DataFrame:
    """The table with the refused values missing."""
    frame = frame.copy()
    for found in check.refused:
        which = np.zeros(len(frame), dtype=bool)
        which[found.rows] = True
        frame[found.column.name] = frame[found.column.name].mask(which)
    return frame


def _more(found: list[FoundValues]) -> str:
    rest = found[MOST_COLUMNS_NAMED:]
    n = sum(len(one.rows) for one in rest)
    return f"; and {n} more in {len(rest)} other {'column' if len(rest) == 1 else 'columns'}" if rest else ""


def _plain(label: Any) -> Any:
    """The name of a row without numpy's type."""
    return label.item() if isinstance(label, np.generic) else label
