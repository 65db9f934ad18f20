"""Odd values of a table, gathered while it is encoded: refused, unreadable, outside what was seen, never seen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from askwise.core.arrays import Array
from askwise.data.tables.column import NUMBER, Column
from askwise.data.tables.remarks import never_seen_text, outside_text, refused_text, unreadable_text

# Kinds: numbers that limits refuse, texts in a column of numbers or of yes and no, numbers outside the range seen in
# training, categories never seen there.
REFUSED, UNREADABLE, OUTSIDE, NEVER_SEEN = "refused", "unreadable", "outside", "never_seen"
REMARKS = {REFUSED: refused_text, UNREADABLE: unreadable_text, OUTSIDE: outside_text, NEVER_SEEN: never_seen_text}


@dataclass(frozen=True)
class OddColumn:
    """The odd values of one kind in one column: `rows` are their positions (n,), `values` what was given."""

    column: Column
    kind: str
    rows: Array
    values: Array

    def texts(self) -> list[str]:
        """The remark on each value."""
        return [REMARKS[self.kind](self.column, value) for value in self.values.tolist()]

    def take(self, keep: Array) -> OddColumn:
        return replace(self, rows=self.rows[keep], values=self.values[keep])


@dataclass
class OddValues:
    """The odd values of a table.

    allow_refused: values that limits refuse, and those that can't be read, count as missing; else `Schema.encode`
    raises an error.
    """

    allow_refused: bool = False
    columns: list[OddColumn] = field(default_factory=list)

    def of_kind(self, *kinds: str) -> list[OddColumn]:
        """The columns that have values of one of these kinds."""
        return [odd for odd in self.columns if odd.kind in kinds]

    def plausible_numbers(self, column: Column, numbers: Array) -> Array:
        """The numbers (rows,) of a column, NaN for those that limits refuse. What is odd is noted; NaN is missing."""
        if column.kind != NUMBER:
            return numbers
        if column.limits.refuse_some:
            refused = ~(np.isnan(numbers) | column.limits.allows(numbers))
            self.add(column, REFUSED, np.flatnonzero(refused), numbers[refused])
            numbers = np.where(refused, np.nan, numbers)
        outside = (numbers < column.low) | (numbers > column.high)
        self.add(column, OUTSIDE, np.flatnonzero(outside), numbers[outside])
        return numbers

    def add(self, column: Column, kind: str, rows: Array, values: Array) -> None:
        """Note values in the rows at these positions, if there are any."""
        if len(rows):
            self.columns.append(OddColumn(column, kind, rows, values))

    def where_known(self, known: Mapping[str, Array]) -> OddValues:
        """Leave out numbers that nobody looked at; known: for a column's name, in which rows (rows,) it is known.

        A value that is refused, unreadable or was never seen stays: it is never known, since it can't be asked.
        """
        kept = [odd.take(known[odd.column.name][odd.rows]) if odd.kind == OUTSIDE else odd for odd in self.columns]
        return replace(self, columns=[odd for odd in kept if len(odd.rows)])

    def without_refused(self, frame: pd.DataFrame) -> pd.DataFrame:
        """The table that was encoded, with the values missing that are refused or can't be read."""
        frame = frame.copy()
        for odd in self.of_kind(REFUSED, UNREADABLE):
            which = np.zeros(len(frame), dtype=bool)
            which[odd.rows] = True
            frame[odd.column.name] = frame[odd.column.name].mask(which)
        return frame

    def texts(self, n_rows: int) -> list[str | None]:
        """The remarks on each row, with semicolons between them; None if there are none."""
        found: list[str | None] = [None] * n_rows
        for odd in self.columns:
            for row, text in zip(odd.rows.tolist(), odd.texts(), strict=True):
                earlier = found[row]
                found[row] = text if earlier is None else f"{earlier}; {text}"
        return found
