"""Columns of numbers that a few texts turn into a column of texts."""

from __future__ import annotations

import pandas as pd

from askwise.core.errors import listed
from askwise.data.tables.checks.checked_table import CheckedTable
from askwise.data.tables.checks.finding import Finding, Severity

# Of the values, at least so many are numbers, and so many of them are different.
SHARE_OF_NUMBERS, FEWEST_NUMBERS = 0.8, 5
MOST_NAMED = 3


def find_text_numbers(table: CheckedTable) -> list[Finding]:
    """Find columns of texts nearly all of which are numbers."""
    findings = []
    for name in table.X.columns:
        values = table.look[name].dropna()
        if not len(values) or name in table.codes or pd.api.types.is_numeric_dtype(values.dtype):
            continue
        texts = values.astype(str).str.strip()
        is_number = pd.to_numeric(texts, errors="coerce").notna()
        if is_number.all() or is_number.mean() < SHARE_OF_NUMBERS or texts[is_number].nunique() < FEWEST_NUMBERS:
            continue
        found = f"Numbers, with texts among them: {listed(texts[~is_number].unique(), MOST_NAMED)}."
        why = "So the whole column is taken for texts, and no number is near another."
        advice = "Leave these cells empty, or write a number into them."
        findings.append(Finding("text-number", (name,), Severity.WARNING, found, why, advice))
    return findings
