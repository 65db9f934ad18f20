"""Values that are taken with a remark: beyond the range seen in training, or a category never seen there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from askwise.core.arrays import Array
from askwise.core.errors import shortened
from askwise.data.tables.column import NUMBER, Column

OUTSIDE, NEVER_SEEN = "outside the range seen in training", "never seen in training"


def remark_on(column: Column, value: Any) -> str:
    """What is odd about an answer that was taken all the same; empty if nothing is."""
    return outside_text(column, value) if column.is_outside(value) else ""


def outside_text(column: Column, value: Any) -> str:
    """The remark on a number beyond the range seen in training."""
    given, low, high = (f"{number:,.10g}" for number in (value, column.low, column.high))
    return f"{column.name!r} is {given}, outside what was seen in training, {low} to {high}"


def never_seen_text(column: Column, value: Any) -> str:
    """The remark on a category that training did not have."""
    return f"{column.name!r} is {shortened(value)}, never seen in training, so it counts as not available"


@dataclass(frozen=True)
class OddColumn:
    """The odd values of one kind in one column: `rows` are their positions (n,), `values` what was given."""

    column: Column
    kind: str
    rows: Array
    values: Array

    def texts(self) -> list[str]:
        """The remark on each value."""
        write = outside_text if self.kind == OUTSIDE else never_seen_text
        return [write(self.column, value) for value in self.values.tolist()]

    def take(self, keep: Array) -> OddColumn:
        return replace(self, rows=self.rows[keep], values=self.values[keep])


@dataclass
class OddValues:
    """The odd values of a table, gathered while it is encoded."""

    columns: list[OddColumn] = field(default_factory=list)

    def add_outside(self, column: Column, numbers: Array) -> None:
        """Note the numbers (rows,) that are beyond the range seen in training; NaN is missing."""
        if column.kind != NUMBER:
            return
        rows = np.flatnonzero((numbers < column.low) | (numbers > column.high))
        if len(rows):
            self.columns.append(OddColumn(column, OUTSIDE, rows, numbers[rows]))

    def add_never_seen(self, column: Column, rows: Array, values: Array) -> None:
        """Note categories, in the rows at these positions, that training did not have."""
        if len(rows):
            self.columns.append(OddColumn(column, NEVER_SEEN, rows, values))

    def where_known(self, known: Mapping[str, Array]) -> OddValues:
        """Leave out numbers that nobody looked at; known: for a column's name, in which rows (rows,) it is known.

        A category never seen stays: it is never known, since it can't be asked.
        """
        kept = [odd if odd.kind == NEVER_SEEN else odd.take(known[odd.column.name][odd.rows]) for odd in self.columns]
        return OddValues([odd for odd in kept if len(odd.rows)])

    def texts(self, n_rows: int) -> list[str | None]:
        """The remarks on each row, with semicolons between them; None if there are none."""
        found: list[str | None] = [None] * n_rows
        for odd in self.columns:
            for row, text in zip(odd.rows.tolist(), odd.texts(), strict=True):
                earlier = found[row]
                found[row] = text if earlier is None else f"{earlier}; {text}"
        return found
