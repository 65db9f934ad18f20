"""`askwise check`: what is wrong with a table, before it is trained on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from askwise.cli import images, show, tables
from askwise.cli.cases import prepare, read_described_table
from askwise.cli.common import Out, command
from askwise.cli.findings import count_findings, findings_table, table_findings
from askwise.cli.options import PrintOptions
from askwise.cli.progress import busy
from askwise.cli.table_options import TrainTableOptions
from askwise.core.errors import AskwiseError

EXAMPLES = """\b
Examples:
  askwise check cases.csv --target diagnosis
  askwise check visits.parquet --target outcome --split-by patient
  askwise check cases.csv --target diagnosis --json | jq '.findings[] | select(.severity == "serious")'
"""


def check(
    cases: Annotated[Path, typer.Argument(metavar="CASES", help="Past cases: CSV (also .gz) or Parquet, a row each.")],
    *,
    table: TrainTableOptions,
    printing: PrintOptions,
) -> None:
    """Look at a table before training.

    Finds columns that give the answer away, or do so by being recorded or not, identifiers, dates, numbers that stand
    for a missing value, copies of rows, rows of one person, columns that tell nothing, and too few rows. The worst
    comes first, with what to do. The options are those of `askwise train`; nothing is trained or written.
    """
    with command(printing) as out:
        tables.check_exists(cases)
        if images.holds_images(cases, None):
            raise AskwiseError(f"{cases} holds images; `askwise check` looks at a table, CSV or Parquet")
        frame, description = read_described_table(out, cases, table)
        with busy(out, f"Looking at {cases.name}"):
            # As in training, so that its errors come now; what it notes is among the findings.
            prepared = prepare(Out(PrintOptions(quiet=True)), frame, description)
            task, findings = prepared.task, table_findings(frame, description, prepared)
        size = f"{show.count(len(frame), 'row')}, {show.count(len(frame.columns), 'column')}"
        out.print(f"{cases}, {description.target!r} by {task}: {size}; {count_findings(findings)}")
        if findings:
            out.print("", findings_table(findings))
        else:
            line = show.command_line("askwise", "train", cases, *table.arguments())
            out.print(show.next_steps([(line, "learn from it")]))
        out.result(
            {
                "table": str(cases),
                "target": description.target,
                "task": task,
                "rows": len(frame),
                "columns": len(frame.columns),
                "findings": [finding.to_dict() for finding in findings],
            }
        )
