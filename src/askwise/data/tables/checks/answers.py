"""The answers: rows without one, one label only, and infinite numbers in columns."""

from __future__ import annotations

import numpy as np

from askwise.core.errors import shortened
from askwise.data.tables.checks.checked_table import CheckedTable
from askwise.data.tables.checks.finding import Finding, Severity
from askwise.data.tables.checks.numbers import holds_numbers, numbers_of


def find_missing_answers(table: CheckedTable) -> list[Finding]:
    """Tell how many rows have no answer, and which labels the others have."""
    if not table.n_unlabelled:
        return []
    n = table.n_unlabelled + len(table.y)
    found = f"{table.n_unlabelled} of {n} rows have no answer."
    labels = table.y.value_counts()
    if table.has_classes and len(labels) <= 3:
        found += " The others: " + ", ".join(f"{label!s} in {count}" for label, count in labels.items()) + "."
    why = "They can't be learnt from, so `askwise train` leaves them out."
    advice = "Nothing to do, if the answer is not known. If an empty cell means no, write no into it."
    severity = Severity.NOTE if table.n_unlabelled <= n / 2 else Severity.WARNING
    return [Finding("missing-answers", (table.target,), severity, found, why, advice)]


def find_one_answer(table: CheckedTable) -> list[Finding]:
    """Find a target with one value only."""
    if table.y.nunique() > 1:
        return []
    found = f"The target is {shortened(table.y.iloc[0])} in all {len(table.y)} rows."
    why = "There is nothing to learn; training stops."
    advice = "Name another column with --target, or add rows with other answers."
    return [Finding("one-answer", (table.target,), Severity.SERIOUS, found, why, advice)]


def find_infinities(table: CheckedTable) -> list[Finding]:
    """Find columns with infinite numbers."""
    findings = []
    for name in table.X.columns:
        n = int(np.isinf(numbers_of(table.X[name])).sum()) if holds_numbers(table.X[name]) else 0
        if n:
            found = f"Infinity in {n} {'row' if n == 1 else 'rows'}."
            why = "It can't be scaled; training stops."
            advice = "Give a finite number, or leave the cell empty where it is not known."
            findings.append(Finding("infinity", (str(name),), Severity.SERIOUS, found, why, advice))
    return findings
