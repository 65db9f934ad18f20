"""Columns that give the answer away: alone they predict it almost perfectly, or they are named like it."""

from __future__ import annotations

from askwise.data.tables.checks.checked_table import CheckedTable
from askwise.data.tables.checks.finding import COLUMNS, Finding, Severity
from askwise.data.tables.checks.names import is_named_like
from askwise.data.tables.checks.one_column_scores import one_column_scores

# Above this AUROC, or share of the variance, a column alone is no honest question.
TOO_GOOD = 0.99

WHY = "A column that was made from the answer, or filled in after it, is not known when a new case is asked about."
ADVICE = f"Leave it out (--drop {COLUMNS}), unless it is known before the answer is."


def find_leaks(table: CheckedTable) -> list[Finding]:
    """Find columns that predict the answer almost perfectly, and others that are named like it."""
    metric = "AUROC" if table.has_classes else "R²"
    scores = one_column_scores(table)
    findings = []
    for name in table.X.columns:
        score, is_alike = scores.get(name), is_named_like(name, table.target)
        figure = "" if score is None else f"{metric} {score:.3f}"
        if score is not None and score > TOO_GOOD:
            found = f"Alone it predicts {table.target!r} almost perfectly: {figure}."
            findings.append(Finding("leak", (name,), Severity.SERIOUS, found, WHY, ADVICE))
        elif is_alike:
            found = f"Its name is like that of the target, {table.target!r}" + (
                f"; alone it reaches {figure}." if figure else "."
            )
            findings.append(Finding("target-name", (name,), Severity.WARNING, found, WHY, ADVICE))
    return findings
