"""A Parquet file read a chunk of rows at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from askwise.core.errors import AskwiseError
from askwise.data.tables.chunks import Chunk, rows_of_chunk
from askwise.data.tables.column import Column


@dataclass(frozen=True)
class ParquetTable:
    """An open Parquet file, and the names of its columns."""

    file: Path
    parquet: Any
    columns: tuple[str, ...]

    @classmethod
    def open(cls, path: Path) -> ParquetTable:
        """The Parquet file at a path; errors say what is wrong with it."""
        arrow = pyarrow_parquet(path, "reading")
        with _reading(path):
            parquet = arrow.ParquetFile(path)
        if not parquet.metadata.num_rows:
            raise AskwiseError(f"{path} has column names but no rows")
        return cls(path, parquet, tuple(parquet.schema_arrow.names))

    def chunks(self, n_rows: int, read: Sequence[Column], kept: Sequence[str]) -> Iterator[Chunk]:
        """Chunks of at most so many rows. What is kept has the types of the file."""
        here = [column.name for column in read if column.name in self.columns]
        n_all, start = self.parquet.metadata.num_rows, 0
        wanted = list(dict.fromkeys([*here, *kept]))
        with _reading(self.file):
            for batch in self.parquet.iter_batches(rows_of_chunk(n_rows, len(wanted)), columns=wanted):
                index = pd.RangeIndex(start, start + batch.num_rows)
                start += batch.num_rows
                frame = batch.select(here).to_pandas(ignore_metadata=True).set_axis(index, axis=0)
                kept_part = batch.select(list(kept)).to_pandas(types_mapper=pd.ArrowDtype, ignore_metadata=True)
                yield Chunk(frame, kept_part.set_axis(index, axis=0), start / n_all)


def pyarrow_parquet(path: Path, doing: str) -> Any:
    """The package that reads and writes Parquet, or an error that says how to install it."""
    try:
        import pyarrow.parquet
    except ImportError:
        raise AskwiseError(
            f"{path}: {doing} Parquet needs pyarrow; install it with: pip install 'askwise[parquet]'"
        ) from None
    return pyarrow.parquet


@contextmanager
def _reading(file: Path) -> Iterator[None]:
    """Errors of reading name the file."""
    try:
        yield
    except (OSError, ValueError) as error:
        # Pyarrow's own errors are of these kinds; ours pass.
        if isinstance(error, AskwiseError):
            raise
        raise AskwiseError(f"{file} can't be read as Parquet: {error}") from None
