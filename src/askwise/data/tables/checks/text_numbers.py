"""Columns of numbers that a few texts turn into a column of texts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from askwise.core.errors import listed
from askwise.data.tables.cells import rows_named
from askwise.data.tables.checks.checked_table import CheckedTable
from askwise.data.tables.checks.finding import COLUMNS, Finding, Severity

# Of the values, at least so many are numbers, and so many of them are different.
SHARE_OF_NUMBERS, FEWEST_NUMBERS = 0.8, 5
MOST_NAMED = 3


def find_text_numbers(table: CheckedTable) -> list[Finding]:
    """Find columns of texts nearly all of which are numbers."""
    findings = []
    for name in table.X.columns:
        # A sample is enough for nearly all columns.
        if name in table.codes or not len(texts_among_numbers(table.look[name])):
            continue
        found = f"Numbers, with texts among them: {texts_told(texts_among_numbers(table.X[name]))}."
        why = "So the whole column is taken for texts, and no number is near another."
        advice = f"Leave these cells empty, or write a number into them; or leave the column out: --drop {COLUMNS}."
        findings.append(Finding("text-number", (name,), Severity.WARNING, found, why, advice))
    return findings


def texts_among_numbers(values: pd.Series[Any]) -> pd.Series[Any]:
    """Return the texts of a column, under the labels of their rows, if nearly all others are numbers; else none."""
    values = values.dropna()
    if pd.api.types.is_numeric_dtype(values.dtype):
        return values[:0]
    texts = values.astype(str).str.strip()
    is_number = pd.to_numeric(texts, errors="coerce").notna()
    are_numbers = is_number.mean() >= SHARE_OF_NUMBERS and texts[is_number].nunique() >= FEWEST_NUMBERS
    return texts[~is_number] if are_numbers else texts[:0]


def texts_told(texts: pd.Series[Any]) -> str:
    """Return a few different texts and the rows they are in, in words."""
    rows = rows_named(texts.index, np.arange(len(texts)), MOST_NAMED)
    return f"{listed(texts.unique(), MOST_NAMED)} in {rows}"
