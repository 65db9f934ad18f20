"""`askwise train`: from past cases, a table or images, to a model file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from askwise.cli import images as image_files
from askwise.cli import show, tables
from askwise.cli.cases import Cases
from askwise.cli.common import Out, check_file_can_be_written, check_folder_can_be_written, command
from askwise.cli.findings import read_checked_table
from askwise.cli.fitting import fit
from askwise.cli.image_options import TrainImageOptions
from askwise.cli.options import PrintOptions, TrainingOptions, output_option
from askwise.cli.progress import busy
from askwise.cli.suggestion import Suggestion, suggest
from askwise.cli.table_options import TrainTableOptions
from askwise.core.errors import AskwiseError

if TYPE_CHECKING:
    from askwise.data.tables.checks.finding import Finding

# Fewer held-out rows than this, in rows of equal weight, tell little.
FEW_HELD_OUT = 50
EXAMPLES = """\b
Examples:
  askwise train cases.csv --target diagnosis
  askwise train cases.csv --target diagnosis --costs costs.csv --free age,sex -o heart.askwise
  askwise train cases.csv --target diagnosis --questions questions.csv
  askwise train visits.parquet --target outcome --split-by patient --checkpoint runs/
  askwise train cases.csv --target diagnosis --method mrmr
  askwise train cases.csv --target diagnosis --encoding raw --lookahead 0
  askwise train photos/ --size 64 --patch 8 --backbone small-cnn
  askwise train scans.csv --images file --target finding --backbone resnet18 --pretrained --prior sketch
"""


def train(
    cases: Annotated[
        Path,
        typer.Argument(
            metavar="CASES",
            help="Past cases: CSV (also .gz) or Parquet, a row each. Or images: a folder with a sub-folder for each "
            "class, an .npz, or a table with --images.",
        ),
    ],
    *,
    table: TrainTableOptions,
    training: TrainingOptions,
    images: TrainImageOptions,
    output: Annotated[Path | None, output_option("The model file; by default the data's name + .askwise.")] = None,
    printing: PrintOptions,
) -> None:
    """Learn from a table of past cases, or from images.

    The model knows which question to ask next, and when to stop. Numbers, yes/no and text columns are taken as they
    are. A missing value is a question that can't be asked in that row. Of images, patches are asked.

    Other settings are for Python only, as DimeClassifier(screening=False): help(askwise.DimeClassifier) has them all.
    """
    with command(printing) as out:
        tables.check_exists(cases)
        has_images = image_files.holds_images(cases, images.images)
        path = output or Path(f"{(image_files if has_images else tables).stem(cases)}.askwise")
        _check_paths(path, cases, training.checkpoint)
        if training.checkpoint is not None:
            out.interrupt_message = "Stopped. Run the same command again to go on from the last epoch."
        findings: list[Finding] = []
        if has_images:
            labelled = _read_images(out, cases, table, images, training)
        else:
            images.refuse(cases)
            labelled, findings = read_checked_table(out, cases, table, with_gaps=False)
        estimator, stopped_early = fit(out, labelled, training)
        estimator.save(path)
        _report(out, estimator, path, labelled, findings)
        _warn_if_few_held_out(out, estimator.model_.card)
        _warn_if_nothing_learnt(out, estimator, stopped_early)


def _check_paths(path: Path, cases: Path, checkpoint: Path | None) -> None:
    check_file_can_be_written(path)
    if path.exists() and cases.exists() and path.samefile(cases):
        raise AskwiseError(f"{path} is the table itself; give another file with -o")
    if checkpoint is not None:
        check_folder_can_be_written(checkpoint)


def _read_images(
    out: Out, path: Path, table: TrainTableOptions, images: TrainImageOptions, training: TrainingOptions
) -> Cases:
    """Read labelled images; options that can't be used are told first."""
    table.refuse(path, images.images)
    with busy(out, "Starting"):
        from askwise.methods.registry import IMAGE, method_for

        images.check(training.length.hidden)
        # Every method for images predicts classes; some predict numbers too.
        method_for(training.method.name, "classification", IMAGE)
    return image_files.read_image_cases(out, path, table, images)


def _warn_if_few_held_out(out: Out, card: Mapping[str, Any]) -> None:
    """Warn if the held-out rows are worth few equal ones under their weights."""
    worth = card.get("effective_rows", {}).get("validated", FEW_HELD_OUT)
    if worth < FEW_HELD_OUT:
        out.note(
            f"Warning: under their weights the {show.count(card['rows_validated'], 'row')} held out are worth "
            f"{worth:.0f} equal ones, so what is measured on them, and the rules chosen by it, is uncertain; give more "
            "rows, or weights that differ less"
        )


def _warn_if_nothing_learnt(out: Out, estimator: Any, stopped_early: bool) -> None:
    """Warn if all answers together predict no better on the held-out cases than none.

    A training that ended by itself would not get better by being longer.
    """
    card, frontier = estimator.model_.card, estimator.frontier_
    nothing, everything = frontier.loc[frontier["mean_cost"].idxmin()], card["validation"]
    if nothing["mean_cost"] > 0 or show.is_better(everything, nothing, card["rows_validated"]):
        return
    longer = "" if stopped_early else "longer (--epochs), "
    out.note(
        f"Warning: with everything known it is no better than with nothing; train {longer}on more cases, or with "
        "another size of the networks (--hidden)"
    )


def _report(out: Out, estimator: Any, path: Path, cases: Cases, findings: list[Finding]) -> None:
    model, frontier = estimator.model_, estimator.frontier_
    card, schema = model.card, model.schema
    n_rows, unit = card["rows_trained"] + card["rows_validated"], "row" if cases.inputs == "table" else "image"
    effective = show.effective_text(card)
    suggested = suggest(frontier, "question" if unit == "row" else "patch")
    out.print(
        f"{path}: {show.questions_summary(schema)}, learnt from {n_rows} {unit}s in {card['seconds']:.0f} s",
        *([] if effective is None else [f"Rows under their weights are {effective}"]),
        show.costs_table(f"On {show.count(card['rows_validated'], unit)} held out", show.sample_by_cost(frontier, 6)),
        "",
        show.next_steps(_next_commands(path, cases, suggested, unit)),
    )
    out.result(
        {
            "model": str(path),
            "task": model.task.kind,
            "target": card["target"],
            "rows": n_rows,
            "rows_left_out": cases.n_unlabelled,
            "questions": list(schema.space.names),
            "free": list(schema.free),
            "frontier": frontier.to_dict("records"),
            "suggested": {"rule": suggested.rule, "why": suggested.why},
            "card": card,
            "findings": [finding.to_dict() for finding in findings],
        }
    )


def _next_commands(path: Path, cases: Cases, suggested: Suggestion, unit: str) -> list[tuple[str, str]]:
    """Return commands to try with the model, each with what it does."""
    stop = [] if suggested.rule is None else ["--stop", suggested.rule]
    ask = show.command_line("askwise", "ask", path, *stop, *cases.ask_arguments)
    evaluate = show.command_line("askwise", "evaluate", path, *cases.evaluate_arguments, "--report", "report/")
    return [
        (show.command_line("askwise", "info", path), "what is inside"),
        (ask, f"{'ask for patches of one image' if unit == 'image' else 'answer its questions'}: {suggested.why}"),
        (show.command_line("askwise", "serve", path), "the same on a page, in a browser"),
        (evaluate, f"on other {unit}s"),
    ]
