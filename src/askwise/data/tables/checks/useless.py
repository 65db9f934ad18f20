"""Columns that tell nothing, or little: without any value, or with one value only."""

from __future__ import annotations

from typing import Any

import pandas as pd

from askwise.core.errors import shortened
from askwise.data.tables.checks.checked_table import LOOK_ROWS, CheckedTable
from askwise.data.tables.checks.finding import Finding, Severity
from askwise.data.tables.column import category_key


def empty_columns(frame: pd.DataFrame) -> list[str]:
    """Return the columns without a value in any row."""
    return [str(name) for name in frame.columns if _is_empty(frame[name])]


def constant_columns(frame: pd.DataFrame) -> list[str]:
    """Return the columns with the same value in every row."""
    return [str(name) for name in frame.columns if has_one_value(frame[name]) and not frame[name].isna().any()]


def _is_empty(values: pd.Series[Any]) -> bool:
    # A look at the first rows is enough for nearly all columns.
    return bool(values.iloc[:LOOK_ROWS].isna().all() and values.isna().all())


def has_one_value(values: pd.Series[Any]) -> bool:
    """Whether a column has the same value wherever it has one."""
    return values.iloc[:LOOK_ROWS].nunique() <= 1 and values.nunique() == 1


def find_empty(table: CheckedTable) -> list[Finding]:
    """Find columns without any value."""
    why = "Nothing can be learnt from it, so `askwise train` leaves it out."
    advice = "Nothing to do, or fill it in."
    found = "No value in any row."
    return [Finding("empty", (name,), Severity.NOTE, found, why, advice) for name in empty_columns(table.X)]


def find_constant(table: CheckedTable) -> list[Finding]:
    """Find columns with the same value in every row; those that options name are asked all the same."""
    why = "Its answer is always the same, so `askwise train` leaves it out."
    advice = "Nothing to do. To ask it all the same, give it a price in --costs."
    return [
        Finding(
            "constant", (name,), Severity.NOTE, f"The same value in every row: {_value(table.X[name])}.", why, advice
        )
        for name in constant_columns(table.X)
        if name not in table.wanted
    ]


def find_one_value(table: CheckedTable) -> list[Finding]:
    """Find columns that have one value or none, as a mark for yes has."""
    why = "A missing value is a question that can't be asked, so it is never learnt what no means."
    advice = "If an empty cell means no, write no into it."
    findings = []
    for name in table.X.columns:
        values = table.X[name]
        n_missing = int(values.isna().sum())
        if has_one_value(values) and n_missing:
            found = f"Only {_value(values)} in {len(values) - n_missing} rows, and missing in the other {n_missing}."
            findings.append(Finding("one-value", (str(name),), Severity.WARNING, found, why, advice))
    return findings


def _value(values: pd.Series[Any]) -> str:
    """Return the only value of a column as it is shown."""
    value = values.dropna().iloc[0]
    return shortened(value, 40) if isinstance(value, str) else category_key(value)
