"""All checks of a table, in one list."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace

import pandas as pd

from askwise.data.tables.checks.answers import find_infinities, find_missing_answers, find_one_answer
from askwise.data.tables.checks.checked_table import CheckedTable, checked_table
from askwise.data.tables.checks.dates import find_dates
from askwise.data.tables.checks.far_values import find_far_values
from askwise.data.tables.checks.finding import Finding, worst_first
from askwise.data.tables.checks.identifiers import find_identifiers
from askwise.data.tables.checks.informative_gaps import KIND as INFORMATIVE_GAPS
from askwise.data.tables.checks.informative_gaps import find_informative_gaps
from askwise.data.tables.checks.leaks import find_leaks
from askwise.data.tables.checks.persons import find_repeated_persons
from askwise.data.tables.checks.refused import find_refused
from askwise.data.tables.checks.rows import find_duplicates, find_few_rows
from askwise.data.tables.checks.sentinels import find_sentinels
from askwise.data.tables.checks.text_numbers import find_text_numbers
from askwise.data.tables.checks.useless import find_constant, find_empty, find_one_value
from askwise.data.tables.column import Column

Check = Callable[[CheckedTable], list[Finding]]

# A column that one of these finds is no question; the checks after it do not look at it.
COLUMN_CHECKS: Mapping[str, Check] = {
    "empty": find_empty,
    "constant": find_constant,
    "date": find_dates,
    "repeated-person": find_repeated_persons,
    "text-number": find_text_numbers,
    "identifier": find_identifiers,
}
# These look at all other columns.
CHECKS: Mapping[str, Check] = {
    "one-answer": find_one_answer,
    "infinity": find_infinities,
    "refused": find_refused,
    "leak": find_leaks,
    INFORMATIVE_GAPS: find_informative_gaps,
    "one-value": find_one_value,
    "sentinel": find_sentinels,
    "far-value": find_far_values,
    "missing-answers": find_missing_answers,
}
# These look at all columns but identifiers, which differ in copies of a row.
ROW_CHECKS: Mapping[str, Check] = {"duplicates": find_duplicates, "few-rows": find_few_rows}


def check_table(
    frame: pd.DataFrame,
    target: str,
    *,
    has_classes: bool,
    split_by: str | None = None,
    wanted: AbstractSet[str] = frozenset(),
    codes: AbstractSet[str] = frozenset(),
    limited: Sequence[Column] = (),
    groups: Mapping[str, Sequence[str]] | None = None,
    free: Sequence[str] = (),
) -> list[Finding]:
    """Return what is wrong with a table of past cases, the worst first.

    has_classes: whether the target holds labels rather than numbers. split_by: the column that keeps rows of one
    person together, if any. wanted: columns that are asked whatever they hold. codes: columns whose numbers are codes
    of categories. limited: columns for which questions set limits, as `limited_columns` gives them. groups: columns
    that are asked together; free: columns that are never asked.
    """
    table = replace(
        checked_table(frame, target, has_classes=has_classes, split_by=split_by),
        wanted=wanted,
        codes=codes,
        limited=limited,
        groups=groups or {},
        free=frozenset(free),
    )
    findings: list[Finding] = []
    for check in COLUMN_CHECKS.values():
        findings += check(table.without(_columns(findings)))
    identifiers = _columns([finding for finding in findings if finding.kind == "identifier"])
    questions, rows = table.without(_columns(findings)), table.without(identifiers)
    for check in CHECKS.values():
        findings += check(questions)
    for check in ROW_CHECKS.values():
        findings += check(rows)
    return worst_first(findings)


def _columns(findings: list[Finding]) -> set[str]:
    return {column for finding in findings for column in finding.columns}
