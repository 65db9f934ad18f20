"""Columns that say which rows belong to one person, who has several."""

from __future__ import annotations

import shlex
from typing import Any

import pandas as pd

from askwise.data.tables.checks.checked_table import CheckedTable
from askwise.data.tables.checks.finding import Finding, Severity
from askwise.data.tables.checks.names import names_a_person, names_an_identifier
from askwise.data.tables.checks.numbers import holds_numbers, holds_whole_numbers

FEWEST_PERSONS, FEWEST_VALUES = 5, 20
# Values that repeat more often than this are kinds of cases rather than persons or devices.
MOST_ROWS_OF_ONE, FEWEST_ROWS_OF_ONE = 50, 1.2


def find_repeated_persons(table: CheckedTable) -> list[Finding]:
    """Find columns that say which rows belong to one person, if rows are not kept together by a column."""
    if table.split_by:
        return []
    return [_repeated(name, table.X[name]) for name in table.X.columns if _repeats_persons(name, table.X[name])]


def _repeats_persons(name: str, values: pd.Series[Any]) -> bool:
    is_person, is_identifier = names_a_person(name), names_an_identifier(name)
    if pd.api.types.is_bool_dtype(values.dtype):
        return False
    if holds_numbers(values):
        if not (is_person or is_identifier) or not holds_whole_numbers(values):
            return False
        is_numbered = is_identifier
    else:
        is_numbered = is_identifier or _holds_numbered(values)
        if not (is_person or is_numbered):
            return False
    counts = values.value_counts().to_numpy()
    # A few different values under a name such as family or subject may well be kinds.
    fewest = FEWEST_PERSONS if is_person and is_numbered else FEWEST_VALUES
    if len(counts) < fewest or (counts > 1).sum() < 2:
        return False
    return is_person or FEWEST_ROWS_OF_ONE <= counts.mean() <= MOST_ROWS_OF_ONE


def _repeated(name: str, values: pd.Series[Any]) -> Finding:
    counts = values.value_counts().to_numpy()
    found = (
        f"Its values repeat: {len(counts)} different ones in {int(counts.sum())} rows, {int(counts.max())} rows at "
        "most with the same one."
    )
    why = (
        "Rows of one person are alike. If some are learnt from and others are held out, results look better than they "
        "are for a new person."
    )
    advice = (
        f"Keep them together: --split-by {shlex.quote(name)}. If its values are kinds and no persons, keep it as it is."
    )
    return Finding("repeated-person", (name,), Severity.SERIOUS, found, why, advice)


def _holds_numbered(values: pd.Series[Any]) -> bool:
    """Whether texts are numbers behind the same letters, as p12 and p7."""
    texts = values.dropna().iloc[:200].astype(str)
    if not len(texts) or not texts.str.fullmatch(r"\D{0,12}\d+").all():
        return False
    return texts.str.replace(r"\d+$", "", regex=True).nunique() == 1
