"""Findings about a table: computed from what options say about it, and shown as a table or as a few lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from askwise.cli import show, tables
from askwise.cli.cases import read_described_table, table_cases
from askwise.cli.common import Out
from askwise.cli.table_options import TableOptions
from askwise.core.errors import listed

if TYPE_CHECKING:
    import pandas as pd

    from askwise.cli.cases import Cases, TableDescription
    from askwise.data.tables.checks.finding import Finding

# How many findings `askwise train` prints.
MOST_LINES = 3
MOST_NAMES = 5
# What a comparison makes of gaps that tell the answer.
GAPS_COMPARED = (
    "Methods correct it here too (--missing): rows to learn from are weighed so that being recorded says nothing. Rows "
    "to test on are shown as recorded, and weighed."
)
STYLES = {"serious": "bold red", "warning": "yellow", "note": "dim"}


def table_findings(frame: pd.DataFrame, description: TableDescription, cases: Cases) -> list[Finding]:
    """Return what is wrong with a table, the worst first. cases: what training takes of it."""
    from askwise.data.tables.checks.choices import find_other_choices
    from askwise.data.tables.checks.finding import worst_first
    from askwise.data.tables.checks.refused import limited_columns
    from askwise.data.tables.checks.registry import check_table
    from askwise.data.tables.checks.unpriced import find_unpriced

    about_options = find_unpriced(cases.X, cases.questions) + find_other_choices(cases.X, cases.questions)
    not_asked = [*description.drop, *([] if description.weights is None else [description.weights])]
    in_table = check_table(
        tables.drop_columns(frame, not_asked, description.drop_label),
        description.target,
        has_classes=cases.task == "classification",
        split_by=description.split_by,
        wanted=description.named_columns(),
        codes=frozenset(description.categories or ()),
        limited=limited_columns(cases.X, cases.questions),
        groups=description.groups,
        free=description.free,
    )
    return worst_first(in_table + about_options)


def findings_table(findings: Sequence[Finding]) -> Table:
    """Return a table with a row for each finding."""
    texts = ("", "where", "what was found, and why it matters", "what to do")
    view = show.grid(*texts, texts=texts)
    for i, finding in enumerate(findings):
        if i:
            view.add_row()
        severity = Text(_severity(finding), style=STYLES[_severity(finding)])
        view.add_row(severity, Text(_where(finding)), Text(f"{finding.found} {finding.why}"), Text(finding.advice))
    return view


def read_checked_table(
    out: Out, path: Path, options: TableOptions, with_gaps: bool = True
) -> tuple[Cases, list[Finding]]:
    """Read a table, and print the worst of what is wrong with it before an hour of training.

    with_gaps: print what gaps tell, too; `fit` warns of it by itself, by the very rows that are learnt from. It warns
    of choices that the table does not have, too.
    """
    from askwise.data.tables.checks.choices import KIND as CHOICES
    from askwise.data.tables.checks.informative_gaps import KIND as INFORMATIVE_GAPS

    frame, description = read_described_table(out, path, options)
    cases = table_cases(out, path, frame, description)
    findings = table_findings(frame, description, cases)
    told_by_fit = {CHOICES} if with_gaps else {CHOICES, INFORMATIVE_GAPS}
    told = [finding for finding in findings if finding.kind not in told_by_fit]
    told = _of_questions([_as_compared(finding) for finding in told], frame, description, cases)
    note_unpriced(out, findings)
    note_worst(out, told, show.command_line("askwise", "check", path, *options.arguments()))
    return cases, findings


def _as_compared(finding: Finding) -> Finding:
    """Say what a comparison makes of gaps; `askwise check` says what `askwise train` does."""
    from askwise.data.tables.checks.informative_gaps import KIND as INFORMATIVE_GAPS

    return replace(finding, advice=GAPS_COMPARED) if finding.kind == INFORMATIVE_GAPS else finding


def _of_questions(
    findings: Sequence[Finding], frame: pd.DataFrame, description: TableDescription, cases: Cases
) -> list[Finding]:
    """Leave out findings about nothing but columns that are left out, as a note has said."""
    left_out = set(frame.columns) - set(cases.X.columns)
    left_out -= {description.target, description.split_by, description.weights}
    return [finding for finding in findings if not finding.columns or not left_out.issuperset(finding.columns)]


def note_unpriced(out: Out, findings: Sequence[Finding]) -> None:
    """Print which questions have no price and cost 1, while others have one."""
    from askwise.data.tables.checks.unpriced import KIND as NO_PRICE

    names = [name for finding in findings if finding.kind == NO_PRICE for name in finding.columns]
    if names:
        has = "question has" if len(names) == 1 else "questions have"
        costs = "costs" if len(names) == 1 else "cost"
        out.note(f"{len(names)} {has} no price and {costs} 1: {listed(names, MOST_NAMES)}")


def note_worst(out: Out, findings: Sequence[Finding], command: str) -> None:
    """Print the worst findings, without those that are taken care of, and the command that shows all."""
    told = [finding for finding in findings if _severity(finding) != "note"]
    for finding in told[:MOST_LINES]:
        out.note(f"{_severity(finding).capitalize()}, {_where(finding)}: {finding.found} {finding.advice}")
    n_more = len(told) - MOST_LINES
    if told:
        out.note(f"{show.count(n_more, 'more finding') if n_more > 0 else 'Why, and what else was found'}: {command}")


def count_findings(findings: Sequence[Finding]) -> str:
    """Write how many findings there are of each severity."""
    if not findings:
        return "nothing found"
    names = [_severity(finding) for finding in findings]
    units = {"serious": "serious finding", "warning": "warning", "note": "note"}
    return ", ".join(show.count(names.count(name), unit) for name, unit in units.items() if name in names)


def _severity(finding: Finding) -> str:
    return finding.severity.name.lower()


def _where(finding: Finding) -> str:
    return listed(finding.columns, MOST_NAMES) if finding.columns else "rows"
