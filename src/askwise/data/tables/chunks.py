"""A table's file read a chunk of rows at a time, so that it need not fit into memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import pandas as pd

from askwise.core.errors import AskwiseError
from askwise.data.tables.column import Column
from askwise.data.tables.files import TABLE_TYPES, check_file, table_type

PARQUET_TYPES = (".parquet", ".pq")


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
        """Chunks of so many rows: the columns `read` that the file has, and the columns `kept`, as they are there."""
        ...


def open_table(path: str | Path) -> ChunkedTable:
    """The table in a CSV (also .gz) or Parquet file; nothing but its column names is read yet."""
    file = check_file(path)
    kind = table_type(file)
    if kind not in (*TABLE_TYPES, ""):
        raise AskwiseError(
            f"{file} is a {kind} file; give a table as CSV (.csv, .tsv, .txt, also with .gz) or Parquet (.parquet)"
        )
    if kind in PARQUET_TYPES:
        from askwise.data.tables.parquet_chunks import ParquetTable

        return ParquetTable.open(file)
    from askwise.data.tables.csv_chunks import CsvTable

    return CsvTable.open(file)
