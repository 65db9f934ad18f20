"""The columns of a file of rows beside those of a model: missing, carried over, ignored."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from askwise.cli.common import Out
from askwise.cli.table_options import column_names
from askwise.core.errors import AskwiseError, listed, unknown_name

if TYPE_CHECKING:
    from askwise.data.tables.schema import Schema

# A value of --keep that stands for every column, unless a column has this name.
EVERY_COLUMN = "all"
# How pandas calls row numbers that were written without a name, in a CSV and in Parquet.
ROW_NUMBERS = ("Unnamed: 0", "__index_level_")


def missing_columns(given: Sequence[str], schema: Schema, rows: Path, out: Out) -> list[str]:
    """Return the columns of the model that the file does not have, and tell them once."""
    missing = [name for name in schema.column_names if name not in given]
    if len(missing) == len(schema.column_names):
        raise AskwiseError(
            f"{rows} has no column that the model knows; it has {listed(given)}, and the model knows {listed(missing)}"
        )
    if missing:
        near = difflib.get_close_matches(missing[0], [n for n in given if n not in schema.column_names], 1, 0.6)
        hint = f"; is {near[0]!r} there the same as {missing[0]!r}? Then rename it" if near else ""
        counts = "it counts" if len(missing) == 1 else "they count"
        out.note(f"Warning: {rows} has no column {listed(missing)}; {counts} as not available in every row{hint}")
    return missing


def kept_columns(
    keep: Sequence[str] | None, given: Sequence[str], output_columns: Sequence[str], rows: Path
) -> list[str]:
    """Return the names of the columns that --keep carries over, each once."""
    names = list(dict.fromkeys(column_names(keep, given)))
    if EVERY_COLUMN in names and EVERY_COLUMN not in given:
        names = list(given)
    for name in names:
        if name not in given:
            raise unknown_name(f"column in {rows}:", name, given)
        if name in output_columns:
            raise AskwiseError(
                f"--keep can't carry {name!r} over, since the output has a column {name!r} of its own; rename it in "
                f"{rows}, or name other columns"
            )
    return names


def note_ignored(used: Sequence[str], given: Sequence[str], out: Out) -> None:
    """Tell which columns of the file have no use."""
    extra = [name for name in given if name not in used and not name.startswith(ROW_NUMBERS)]
    if extra:
        it = "it" if len(extra) == 1 else "them"
        out.note(f"left out, since the model does not use {it}: {listed(extra)}; --keep carries columns over")
