"""Columns that tell nothing: those without any value, and those with one value only."""

from __future__ import annotations

from typing import Any

import pandas as pd

from askwise.core.errors import shortened
from askwise.data.tables.checks.checked_table import LOOK_ROWS, CheckedTable
from askwise.data.tables.checks.finding import Finding, Severity


def empty_columns(frame: pd.DataFrame) -> list[str]:
    """Return the columns without a value in any row."""
    return [str(name) for name in frame.columns if _is_empty(frame[name])]


def constant_columns(frame: pd.DataFrame) -> list[str]:
    """Return the columns with one value only, wherever they have one."""
    return [str(name) for name in frame.columns if _is_constant(frame[name])]


def _is_empty(values: pd.Series[Any]) -> bool:
    # A look at the first rows is enough for nearly all columns.
    return bool(values.iloc[:LOOK_ROWS].isna().all() and values.isna().all())


def _is_constant(values: pd.Series[Any]) -> bool:
    return values.iloc[:LOOK_ROWS].nunique() <= 1 and values.nunique() == 1


def find_empty(table: CheckedTable) -> list[Finding]:
    """Find columns without any value."""
    why = "Nothing can be learnt from it, so `askwise train` leaves it out."
    advice = "Nothing to do, or fill it in."
    found = "No value in any row."
    return [Finding("empty", (name,), Severity.NOTE, found, why, advice) for name in empty_columns(table.X)]


def find_constant(table: CheckedTable) -> list[Finding]:
    """Find columns with one value only; those that options name are asked all the same."""
    return [_constant(name, table.X[name]) for name in constant_columns(table.X) if name not in table.wanted]


def _constant(name: str, values: pd.Series[Any]) -> Finding:
    known = values[values.notna()]
    value = shortened(known.iloc[0] if isinstance(known.iloc[0], str) else str(known.iloc[0]), 40).strip("'")
    why = "Its answer is always the same, so `askwise train` leaves it out."
    if len(known) == len(values):
        found, advice = (
            f"The same value in every row: {value}.",
            "Nothing to do. To ask it all the same, give it a price in --costs.",
        )
    else:
        n_missing = len(values) - len(known)
        found = f"One value only, {value}; it is missing in {n_missing} of {len(values)} rows."
        advice = "If an empty cell means no, write no into it: then it can be learnt from."
    return Finding("constant", (name,), Severity.NOTE, found, why, advice)
