"""Tables written a chunk of rows at a time, as CSV or Parquet; the file appears only when it is whole."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd

from askwise.core.errors import AskwiseError
from askwise.data.tables.files import TABLE_TYPES, is_parquet, table_type
from askwise.data.whole_file import whole_file

# Writes some rows after those before.
Write = Callable[[pd.DataFrame], None]


def check_can_write(path: Path) -> None:
    """Raise an error for a path whose ending says nothing that is written here, or if a package for it is missing."""
    if table_type(path) not in TABLE_TYPES or (is_parquet(path) and path.suffix == ".gz"):
        raise AskwiseError(
            f"a table is written as CSV or Parquet, was given {path}; give a name that ends in .csv, .csv.gz, .tsv or "
            ".parquet"
        )
    if is_parquet(path):
        from askwise.data.tables.parquet_chunks import pyarrow_parquet

        pyarrow_parquet(path, "writing")


@contextmanager
def table_writer(path: Path) -> Iterator[Write]:
    """A function that appends rows to a table; the columns and their types are those of the first rows.

    When the block ends well, the file stands under its name; when it does not, nothing is changed there.
    """
    check_can_write(path)
    write_to = _parquet_writer if is_parquet(path) else _csv_writer
    with whole_file(path) as part, write_to(part, path) as write:
        yield write


@contextmanager
def _csv_writer(part: Path, path: Path) -> Iterator[Write]:
    separator = "\t" if table_type(path) == ".tsv" else ","
    is_first = True
    with _text_file(part, path) as file:

        def write(frame: pd.DataFrame) -> None:
            nonlocal is_first
            frame.to_csv(file, sep=separator, header=is_first, index=False, lineterminator="\n")
            is_first = False

        yield write


def _text_file(part: Path, path: Path) -> Any:
    """The part file opened for text; compressed if its final name says so."""
    if path.suffix == ".gz":
        return gzip.open(part, "wt", encoding="utf-8", newline="", compresslevel=6)
    return open(part, "w", encoding="utf-8", newline="")


@contextmanager
def _parquet_writer(part: Path, path: Path) -> Iterator[Write]:
    import pyarrow as pa

    from askwise.data.tables.parquet_chunks import pyarrow_parquet

    writer: Any = None

    def write(frame: pd.DataFrame) -> None:
        nonlocal writer
        schema = None if writer is None else writer.schema
        table = pa.Table.from_pandas(frame, schema=schema, preserve_index=False)
        if writer is None:
            writer = pyarrow_parquet(path, "writing").ParquetWriter(part, table.schema)
        writer.write_table(table)

    try:
        yield write
    finally:
        if writer is not None:
            writer.close()
