"""Tables, prices, groups and questions from files."""

from __future__ import annotations

import csv
import gzip
import json
import warnings
from collections import Counter
from pathlib import Path
from typing import Any, TextIO

import pandas as pd

from askwise.core.errors import AskwiseError, AskwiseWarning, shortened, unknown_name
from askwise.data.tables.questions import KEYS

# What stands for a missing value in a CSV. "None" does not: people answer it.
MISSING_TEXTS = ["", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "null", "NULL", "?"]
PARQUET_TYPES = (".parquet", ".pq")
TABLE_TYPES = (".csv", ".tsv", ".txt", *PARQUET_TYPES)


def table_type(path: Path) -> str:
    """The ending of a table's file, without .gz."""
    return Path(path.name.removesuffix(".gz")).suffix.lower()


def read_table(path: str | Path) -> pd.DataFrame:
    """A DataFrame from CSV (also .gz) or Parquet; the separator of a CSV is read off its first line."""
    file = check_table(path)
    if is_parquet(file):
        return _read_parquet(file)
    try:
        frame = _read_csv(file)
    except pd.errors.EmptyDataError:
        raise AskwiseError(f"{file} is empty; it needs a line of column names and a line for each case") from None
    except (pd.errors.ParserError, UnicodeDecodeError, gzip.BadGzipFile, EOFError) as error:
        raise AskwiseError(f"{file} can't be read as CSV: {error}") from None
    return _with_rows(file, frame)


def _read_csv(file: Path) -> pd.DataFrame:
    separator = csv_separator(file)

    def read(decimal: str) -> pd.DataFrame:
        return pd.read_csv(
            file, sep=separator, decimal=decimal, skipinitialspace=True, keep_default_na=False, na_values=MISSING_TEXTS
        )

    frame = read(".")
    return read(",") if has_decimal_commas(frame, separator) else frame


def has_decimal_commas(frame: pd.DataFrame, separator: str) -> bool:
    """Whether a table, read with decimal points, has a column of texts that are all numbers with a decimal comma."""
    if separator == ",":
        return False
    texts = [frame[c].dropna() for c in frame.columns if not pd.api.types.is_numeric_dtype(frame[c].dtype)]
    return any(len(t) and bool(t.astype(str).str.fullmatch(r"-?\d+,\d+").all()) for t in texts)


def _read_parquet(file: Path) -> pd.DataFrame:
    try:
        return _with_rows(file, pd.read_parquet(file))
    except ImportError:
        raise AskwiseError(
            f"{file}: reading Parquet needs pyarrow; install it with: pip install 'askwise[parquet]'"
        ) from None
    except (OSError, ValueError) as error:
        if isinstance(error, AskwiseError):
            raise
        raise AskwiseError(f"{file} can't be read as Parquet: {error}") from None


def is_parquet(path: Path) -> bool:
    """Whether a table's file is Parquet, by its ending; else it is CSV."""
    return table_type(path) in PARQUET_TYPES


def check_table(path: str | Path) -> Path:
    """The path of a file that is there, not empty and a table by its ending."""
    file = check_file(path)
    kind = table_type(file)
    if kind not in (*TABLE_TYPES, ""):
        raise AskwiseError(
            f"{file} is a {kind} file; give a table as CSV (.csv, .tsv, .txt, also with .gz) or Parquet (.parquet)"
        )
    return file


def check_file(path: str | Path) -> Path:
    """The path of a file that is there and not empty."""
    file = Path(path)
    if not file.exists():
        raise AskwiseError(f"there is no file {file}")
    if file.is_dir():
        raise AskwiseError(f"{file} is a folder; give a file")
    if file.stat().st_size == 0:
        raise AskwiseError(f"{file} is empty")
    return file


def _with_rows(file: Path, frame: pd.DataFrame) -> pd.DataFrame:
    if not len(frame):
        raise AskwiseError(f"{file} has column names but no rows")
    frame.columns = [str(c).strip() for c in frame.columns]
    first = frame.columns[0]
    if (first == "" or first.startswith("Unnamed: 0")) and frame[first].tolist() == list(range(len(frame))):
        warnings.warn(
            f"{file}: the first column has no name and holds row numbers; it is left out", AskwiseWarning, stacklevel=3
        )
        frame = frame.drop(columns=first)
    return frame


def _opened(file: Path, errors: str = "strict") -> TextIO:
    if file.suffix == ".gz":
        return gzip.open(file, "rt", encoding="utf-8-sig", errors=errors, newline="")
    return open(file, encoding="utf-8-sig", errors=errors, newline="")


def csv_separator(file: Path) -> str:
    """The separator of a CSV, read off its first line."""
    try:
        with _opened(file, errors="replace") as lines:
            first = lines.readline()
    except (OSError, EOFError) as error:
        raise AskwiseError(f"{file} can't be read: {error}") from None
    return max(",;\t|", key=first.count)


def read_costs(path: str | Path) -> dict[str, Any]:
    """Prices from a CSV with columns name,cost or a JSON mapping, which may hold prices that several names share."""
    file = check_file(path)
    if file.suffix == ".json":
        return _without_remarks(read_mapping(file, "prices"))
    table = read_table(file)
    if not {"name", "cost"} <= set(table.columns):
        raise AskwiseError(f"{file} needs the columns name and cost; it has {', '.join(table.columns)}")
    names = table["name"].astype(str).str.strip()
    twice = names[names.duplicated()]
    if len(twice):
        raise AskwiseError(f"{file} gives {twice.iloc[0]!r} two prices; keep one")
    return dict(zip(names, table["cost"].tolist(), strict=True))


def _without_remarks(data: dict[str, Any]) -> dict[str, Any]:
    """What is named with an underscore in front is for people: a source, a date."""
    return {name: value for name, value in data.items() if not name.startswith("_")}


def read_mapping(path: str | Path, what: str) -> dict[str, Any]:
    """A JSON object."""
    file = check_file(path)
    try:
        data = json.loads(file.read_text(encoding="utf-8-sig"), object_pairs_hook=each_once)
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise AskwiseError(f"{file} is not valid JSON: {error}") from None
    except AskwiseError as error:
        raise AskwiseError(f"{file} {error}") from None
    if not isinstance(data, dict):
        raise AskwiseError(f"{file} must hold a JSON object of {what}, it holds a {type(data).__name__}")
    return data


def each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object; Python alone would keep the last of two values under one name, and say nothing."""
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(name for name, n in Counter(name for name, _ in pairs).items() if n > 1)
        raise AskwiseError(f"has {shortened(twice)} twice; keep one")
    return found


def read_questions(path: str | Path) -> dict[str, Any]:
    """Texts of questions from a CSV with the column name and any of text, unit, help and choices, or a JSON mapping.

    In a CSV, bars stand between choices.
    """
    file = check_file(path)
    if file.suffix.lower() == ".json":
        return _without_remarks(read_mapping(file, "questions"))
    kind = table_type(file)
    if kind not in (".csv", ".tsv", ".txt", ""):
        raise AskwiseError(f"{file} is a {kind} file; give questions as CSV (.csv, .tsv, .txt) or JSON (.json)")
    try:
        # Every cell is a text here, which pandas would turn into numbers and missing values.
        with _opened(file) as lines:
            rows = csv.reader(lines, delimiter=csv_separator(file), skipinitialspace=True, strict=True)
            return _questions(file, rows)
    except (csv.Error, UnicodeDecodeError, EOFError, gzip.BadGzipFile) as error:
        raise AskwiseError(f"{file} can't be read as CSV: {error}") from None


def _questions(file: Path, rows: Any) -> dict[str, Any]:
    # Spreadsheets may write more separators than there are columns.
    heads = [cell.strip() for cell in next(rows, [])]
    while heads and not heads[-1]:
        heads.pop()
    for head in heads:
        if head not in ("name", *KEYS):
            raise unknown_name(f"column of {file}:", head, ("name", *KEYS))
        if heads.count(head) > 1:
            raise AskwiseError(f"{file} has the column {head!r} twice; keep one")
    if "name" not in heads:
        raise AskwiseError(f"{file} needs the column name; it has {', '.join(heads)}")
    found: dict[str, Any] = {}
    for row in rows:
        cells = [cell.strip() for cell in row]
        if not any(cells):
            continue
        if any(cells[len(heads) :]):
            raise AskwiseError(
                f"{file}, line {rows.line_num}: {len(cells)} values for {len(heads)} columns; put a text in which the "
                'separator occurs into quotes: "so, as here"'
            )
        given = {head: cell for head, cell in zip(heads, cells, strict=False) if cell}
        if "name" not in given:
            raise AskwiseError(f"{file}, line {rows.line_num}: there is no name; give that of a column or group")
        name = given.pop("name")
        if name in found:
            raise AskwiseError(f"{file} has {name!r} twice; keep one")
        choices = [choice.strip() for choice in given.pop("choices", "").split("|")]
        found[name] = given | ({"choices": [c for c in choices if c]} if any(choices) else {})
    if not found:
        raise AskwiseError(f"{file} has column names but no rows")
    return found
