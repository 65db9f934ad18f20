"""What came of predicting a file: counted chunk by chunk, told once at the end."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from askwise.cli.common import Out
from askwise.cli.show import format_number
from askwise.core.errors import listed, shortened

if TYPE_CHECKING:
    from askwise.core.on_average import Interval
    from askwise.data.tables.column import Column
    from askwise.data.tables.odd_values import OddColumn
    from askwise.model.table_predictions import TablePredictions

# Values of a column that are told, and how much of each.
MOST_TOLD, MOST_LETTERS = 5, 40


class Summary:
    """Counts of predicted rows. has_asked: whether questions were asked; expected: what they should cost on average."""

    def __init__(self, has_asked: bool, expected: Interval | None) -> None:
        self.has_asked = has_asked
        self.expected = expected
        self.seconds = 0.0
        self.n_rows = 0
        self._n_with_remarks = 0
        self._spent = self._n_asked = 0.0
        self._reasons: Counter[str] = Counter()
        self._odd: dict[tuple[str, str], _OddCount] = {}

    def add(self, found: TablePredictions) -> None:
        """Count the rows of a chunk."""
        table = found.table
        self.n_rows += len(table)
        self._n_with_remarks += int(table["remarks"].notna().sum())
        if self.has_asked:
            self._spent += float(table["spent"].sum())
            self._n_asked += float(table["n_asked"].sum())
            self._reasons.update(table["reason"].value_counts().to_dict())
        for odd in found.odd.columns:
            self._odd.setdefault((odd.kind, odd.column.name), _OddCount(odd.column)).add(odd)

    def facts(self) -> dict[str, Any]:
        """The counts for JSON."""
        from askwise.data.tables.odd_values import NEVER_SEEN, OUTSIDE, REFUSED, UNREADABLE

        asked: dict[str, Any] = {}
        if self.has_asked:
            asked = {
                "mean_spent": self._spent / self.n_rows,
                "mean_asked": self._n_asked / self.n_rows,
                "reasons": dict(self._reasons.most_common()),
            }
        remarks: dict[str, Any] = {"rows": self._n_with_remarks}
        for wanted in (REFUSED, UNREADABLE, OUTSIDE, NEVER_SEEN):
            remarks[wanted] = {name: odd.n for (kind, name), odd in self._odd.items() if kind == wanted}
        return {"rows": self.n_rows, "seconds": round(self.seconds, 3)} | asked | {"remarks": remarks}

    def show(self, out: Out, output: Path) -> None:
        """Print the counts for people; remarks are notes."""
        for (kind, _), odd in self._odd.items():
            out.note(odd.warning(kind, self.n_rows))
        rows = "1 row" if self.n_rows == 1 else f"{self.n_rows:,} rows"
        # Of a moment's work, a speed tells nothing.
        speed = f" in {self.seconds:.0f} s, {self.n_rows / self.seconds:,.0f} a second" if self.seconds > 1 else ""
        out.print(f"{output}: {rows}{speed}")
        if self.has_asked:
            out.print(self._asked_line())

    def _asked_line(self) -> str:
        told = "" if self.expected is None else f" (expected: {self.expected})"
        reasons = ", ".join(f"{n:,} {reason}" for reason, n in self._reasons.most_common())
        spent, asked = (format_number(total / self.n_rows) for total in (self._spent, self._n_asked))
        return f"On average {asked} questions and {spent} spent{told}; stopped: {reasons}"


class _OddCount:
    """How many odd values of one kind a column has, and a few of those that can't be used."""

    def __init__(self, column: Column) -> None:
        self.column = column
        self.n = 0
        self._values: dict[Any, None] = {}

    def add(self, odd: OddColumn) -> None:
        from askwise.data.tables.odd_values import OUTSIDE

        self.n += len(odd.rows)
        if odd.kind != OUTSIDE and len(self._values) <= MOST_TOLD:
            self._values.update(dict.fromkeys(odd.values.tolist()))

    def warning(self, kind: str, n_rows: int) -> str:
        """One line for all rows."""
        from askwise.data.tables.limits import number_text
        from askwise.data.tables.odd_values import NEVER_SEEN, REFUSED, UNREADABLE

        column, where = self.column, f"in {self.n:,} of {n_rows:,} rows"
        if kind in (REFUSED, UNREADABLE):
            write = number_text if kind == REFUSED else lambda value: shortened(value, MOST_LETTERS)
            told = self._told([write(value) for value in self._values])
            return (
                f"Warning: {column.name!r} takes {column.allowed}, and is {told} {where}, so it counts as not "
                "available there"
            )
        if kind == NEVER_SEEN:
            told = self._told([shortened(value, MOST_LETTERS) for value in self._values])
            return (
                f"Warning: {column.name!r} is {told} {where}, never seen in training, so it counts "
                f"as not available there; seen: {listed(column.categories)}"
            )
        return f"Warning: {column.name!r} is outside what was seen in training, {column.seen}, {where}"

    @staticmethod
    def _told(values: list[str]) -> str:
        """A few of the values."""
        return ", ".join(values[:MOST_TOLD]) + (" or another" if len(values) > MOST_TOLD else "")
