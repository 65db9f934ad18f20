"""A CSV read a chunk of rows at a time; what a value means does not depend on the chunk it is in."""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from askwise.core.errors import AskwiseError
from askwise.data.tables.chunks import Chunk, rows_of_chunk
from askwise.data.tables.column import CATEGORY, NUMBER, Column, category_key
from askwise.data.tables.files import MISSING_TEXTS, csv_separator, has_decimal_commas

# Rows at the start that tell whether a decimal comma is used.
FIRST_ROWS = 10_000


@dataclass(frozen=True)
class CsvTable:
    """A CSV whose first rows have been looked at. headers: its column names as pandas names them."""

    file: Path
    separator: str
    decimal: str
    headers: tuple[str, ...]

    @classmethod
    def open(cls, file: Path) -> CsvTable:
        """The CSV at a path; errors say what is wrong with it."""
        separator = csv_separator(file)
        with _reading(file):
            first = pd.read_csv(file, nrows=FIRST_ROWS, **_format(separator), na_values=MISSING_TEXTS)
        if not len(first):
            raise AskwiseError(f"{file} has column names but no rows")
        decimal = "," if has_decimal_commas(first, separator) else "."
        table = cls(file, separator, decimal, tuple(first.columns))
        twice = [name for name in table.columns if table.columns.count(name) > 1]
        if twice:
            raise AskwiseError(f"{file} has the column {twice[0]!r} twice; keep one")
        return table

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(header.strip() for header in self.headers)

    def chunks(self, n_rows: int, read: Sequence[Column], kept: Sequence[str]) -> Iterator[Chunk]:
        """Chunks of at most so many rows. What is kept is text, as it stands in the file."""
        header_of = dict(zip(self.columns, self.headers, strict=True))
        here = [column for column in read if column.name in header_of]
        texts = {header_of[name] for name in kept} | {header_of[c.name] for c in here if c.kind == CATEGORY}
        numbers = [header for header in self.headers if header not in texts]
        how = {
            **_format(self.separator),
            "decimal": self.decimal,
            "dtype": dict.fromkeys(texts, "string"),
            # Texts are kept as they are: whether one stands for a missing value is looked at later.
            "na_values": dict.fromkeys(numbers, MISSING_TEXTS),
            "chunksize": rows_of_chunk(n_rows, len(self.headers)),
        }
        size, start = max(1, self.file.stat().st_size), 0
        # Given the raw file, pandas unpacks it, and how far it has come can be told.
        how["compression"] = "gzip" if self.file.suffix == ".gz" else None
        with _reading(self.file), open(self.file, "rb") as raw:
            for found in pd.read_csv(raw, **how):
                found = found.set_axis(pd.RangeIndex(start, start + len(found)), axis=0)
                start += len(found)
                frame = pd.DataFrame({c.name: self._values(c, found[header_of[c.name]]) for c in here})
                kept_part = found[[header_of[name] for name in kept]].set_axis(list(kept), axis=1)
                yield Chunk(frame.set_axis(found.index, axis=0), kept_part, min(1.0, raw.tell() / size))

    def _values(self, column: Column, series: pd.Series[Any]) -> pd.Series[Any]:
        """The values of a column of the model; a column of texts becomes what they mean."""
        if series.dtype != "string":
            return series
        series = series.str.strip().mask(lambda text: text.isin(MISSING_TEXTS))
        if column.kind == CATEGORY:
            return series.map({text: _category(column, text) for text in series.dropna().unique()})
        if column.kind != NUMBER:
            return series
        written = series.str.replace(",", ".") if self.decimal == "," else series
        try:
            return pd.to_numeric(written).astype(np.float64)
        except (ValueError, TypeError):
            return series.astype(object)


def _category(column: Column, text: str) -> str:
    """The category that a text means: 2.0 means 2, if training had 2 and not 2.0."""
    if text in column.categories:
        return text
    try:
        as_number = category_key(float(text))
    except ValueError:
        return text
    return as_number if as_number in column.categories else text


def _format(separator: str) -> dict[str, Any]:
    """How pandas is told to read every CSV. Types are settled for a whole chunk, not for pieces of it."""
    return {"sep": separator, "skipinitialspace": True, "keep_default_na": False, "low_memory": False}


@contextmanager
def _reading(file: Path) -> Iterator[None]:
    """Errors of reading name the file."""
    try:
        yield
    except pd.errors.EmptyDataError:
        raise AskwiseError(f"{file} is empty; it needs a line of column names and a line for each case") from None
    except (pd.errors.ParserError, UnicodeDecodeError, gzip.BadGzipFile, EOFError) as error:
        raise AskwiseError(f"{file} can't be read as CSV: {str(error).strip()}") from None
