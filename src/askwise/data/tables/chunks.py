"""A table's file read a chunk of rows at a time, so that it need not fit into memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import pandas as pd

from askwise.data.tables.column import Column
from askwise.data.tables.files import check_table, is_parquet

# Values that are read together; a wide table is read in chunks of fewer rows.
MOST_VALUES = 2**24


@dataclass(frozen=True)
class Chunk:
    """Some rows of a file: the columns that a model reads, those that are carried over, and the share read so far.

    Both tables are indexed by the numbers of their rows in the file; the first is 0.
    """

    frame: pd.DataFrame
    kept: pd.DataFrame
    fraction: float


class ChunkedTable(Protocol):
    """A table's file that is read in chunks."""

    @property
    def columns(self) -> tuple[str, ...]: ...

    def chunks(self, n_rows: int, read: Sequence[Column], kept: Sequence[str]) -> Iterator[Chunk]:
        """Chunks of at most so many rows, with the columns `read` that the file has, and those `kept` as they are."""
        ...


def rows_of_chunk(n_rows: int, n_columns: int) -> int:
    """How many rows to read together where so many are wanted of so many columns."""
    return max(1, min(n_rows, MOST_VALUES // max(1, n_columns)))


def open_table(path: str | Path) -> ChunkedTable:
    """The table in a CSV (also .gz) or Parquet file; nothing but its column names is read yet."""
    file = check_table(path)
    if is_parquet(file):
        from askwise.data.tables.parquet_chunks import ParquetTable

        return ParquetTable.open(file)
    from askwise.data.tables.csv_chunks import CsvTable

    return CsvTable.open(file)
