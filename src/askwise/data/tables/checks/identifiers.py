"""Identifiers: columns whose values are nearly all different, and tell nothing about a new case."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from askwise.core.arrays import Array
from askwise.data.tables.checks.checked_table import CheckedTable
from askwise.data.tables.checks.finding import COLUMNS, Finding, Severity
from askwise.data.tables.checks.names import names_an_identifier
from askwise.data.tables.checks.numbers import holds_numbers, holds_whole_numbers, numbers_of

# More different texts than this, in more than half of the rows: `askwise train` leaves the column out.
MOST_TEXTS = 50
NEARLY_ALL = 0.95
FEWEST_ROWS = 20
# Without a telling name, whole numbers need more rows: a few are often all different by chance.
FEWEST_ROWS_OF_NUMBERS = 50


def find_identifiers(table: CheckedTable) -> list[Finding]:
    """Find columns whose values are nearly all different, and are no measurements."""
    findings = []
    for name in table.X.columns:
        values = table.X[name]
        if name in table.wanted or _is_surely_none(name, table):
            continue
        if not holds_numbers(values):
            if is_text_identifier(values):
                findings.append(_text_identifier(name, values))
            elif _is_short_text_identifier(name, values):
                findings.append(_identifier(name, values, "texts"))
        elif holds_whole_numbers(values) and _is_number_identifier(name, values[~table.is_copy]):
            findings.append(_identifier(name, values, "whole numbers"))
    return findings


def _is_surely_none(name: str, table: CheckedTable) -> bool:
    """Whether a sample shows that values are not nearly all different, so that not all rows must be counted."""
    known = table.look[name].dropna()
    return not len(known) or known.nunique() <= len(known) / 2


def is_text_identifier(values: pd.Series[Any]) -> bool:
    """Whether a column of texts differs in most rows, as a patient's number does. Such a column is no question."""
    if pd.api.types.is_numeric_dtype(values.dtype):
        return False
    return values.nunique() > max(MOST_TEXTS, len(values) / 2)


def _is_short_text_identifier(name: str, values: pd.Series[Any]) -> bool:
    n_known = int(values.notna().sum())
    return (
        n_known >= FEWEST_ROWS
        and values.nunique() >= NEARLY_ALL * n_known
        and (names_an_identifier(name) or n_known > MOST_TEXTS or values.nunique() == n_known)
    )


def _is_number_identifier(name: str, values: pd.Series[Any]) -> bool:
    numbers = numbers_of(values)
    known = numbers[~np.isnan(numbers)]
    share = len(np.unique(known)) / max(len(known), 1)
    if names_an_identifier(name):
        return len(known) >= FEWEST_ROWS and share >= NEARLY_ALL
    return len(known) >= FEWEST_ROWS_OF_NUMBERS and share >= NEARLY_ALL and _is_numbering(known)


def _is_numbering(numbers: Array) -> bool:
    """Whether whole numbers look given out rather than measured: in order, without gaps, evenly spread or all long."""
    steps = np.diff(numbers)
    if (steps >= 0).all() or (steps <= 0).all():
        return True
    low, high = numbers.min(), numbers.max()
    places = (np.sort(numbers) - low) / (high - low)
    # The Kolmogorov-Smirnov distance from an even spread, with its limit at 1 %.
    is_even = np.abs(places - np.linspace(0, 1, len(places))).max() < 1.63 / np.sqrt(len(places))
    is_long = low >= 1e5 and len(str(int(low))) == len(str(int(high)))
    return bool(is_even or is_long)


def _text_identifier(name: str, values: pd.Series[Any]) -> Finding:
    found = f"{values.nunique()} different texts in {len(values)} rows, as an identifier has."
    why = "It tells one case from another, and nothing about a new one. `askwise train` leaves it out."
    return Finding(
        "identifier",
        (name,),
        Severity.NOTE,
        found,
        why,
        "Nothing to do. To ask it all the same, give it a price in --costs.",
    )


def _identifier(name: str, values: pd.Series[Any], what: str) -> Finding:
    found = f"{values.nunique()} different {what} in {int(values.notna().sum())} rows, as an identifier has."
    why = "It tells one case from another, and nothing about a new one; a model may still learn it by heart."
    return Finding(
        "identifier",
        (name,),
        Severity.WARNING,
        found,
        why,
        f"Leave it out: --drop {COLUMNS}. If it is measured, keep it.",
    )
