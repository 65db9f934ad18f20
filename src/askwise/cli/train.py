"""`askwise train`: from a table of past cases to a model file."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from askwise.cli import show, tables
from askwise.cli.common import (
    JsonFlag,
    Out,
    QuietFlag,
    check_file_can_be_written,
    check_folder_can_be_written,
    command,
)
from askwise.cli.progress import busy, training_progress
from askwise.cli.target import TaskChoice, task_of
from askwise.errors import AskwiseError

if TYPE_CHECKING:
    import pandas as pd

EXAMPLES = """\b
Examples:
  askwise train cases.csv --target diagnosis
  askwise train cases.csv --target diagnosis --costs costs.csv --free age,sex -o heart.askwise
  askwise train cases.csv --target diagnosis --questions questions.csv
  askwise train visits.parquet --target outcome --split-by patient --checkpoint runs/
  askwise train cases.csv --target diagnosis --method mrmr
"""


@dataclass(frozen=True)
class Settings:
    """What is asked of an estimator; None leaves its own default."""

    method: str = "dime"
    seed: int = 0
    device: str = "auto"
    hidden: int | None = None
    epochs: int | None = None
    pretrain_epochs: int | None = None
    checkpoint: Path | None = None
    class_weights: str | None = None
    scaling: str | None = None
    budget: float | None = None

    def arguments(self, known: Collection[str]) -> dict[str, Any]:
        """The settings of an estimator that knows these ones."""
        given = {
            "hidden": self.hidden,
            "epochs": self.epochs,
            "pretrain_epochs": self.pretrain_epochs,
            "checkpoint_dir": self.checkpoint,
            "class_weights": self.class_weights,
            "scaling": self.scaling,
            "budget": self.budget,
        }
        given = {name: value for name, value in given.items() if value is not None}
        unknown = [name for name in given if name not in known]
        if unknown:
            option = unknown[0].removesuffix("_dir").replace("_", "-")
            why = ": one model serves every budget, as in askwise ask --stop budget=5" if option == "budget" else ""
            raise AskwiseError(f"the method {self.method!r} has no --{option}; leave it out{why}")
        return {"random_state": self.seed, "device": self.device} | given


def train(
    cases: Annotated[Path, typer.Argument(metavar="CASES", help="Past cases: CSV (also .gz) or Parquet, a row each.")],
    target: Annotated[str, typer.Option("--target", "-t", metavar="COLUMN", help="The column to predict.")],
    costs: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Prices: CSV with columns name,cost, or a JSON mapping. Others cost 1."),
    ] = None,
    groups: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Columns asked together: a JSON mapping of a group's name to its columns."),
    ] = None,
    free: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMNS", help="Columns known from the start, with commas between them."),
    ] = None,
    drop: Annotated[
        list[str] | None, typer.Option(metavar="COLUMNS", help="Columns to leave out, with commas between them.")
    ] = None,
    questions: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="How questions are put: CSV with columns name,text,unit,help,choices (a|b|c), or a JSON mapping.",
        ),
    ] = None,
    split_by: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Keep rows with the same value here together when holding rows out."),
    ] = None,
    task: Annotated[TaskChoice, typer.Option(help="What is predicted: one of several classes, or a number.")] = (
        TaskChoice.auto
    ),
    method: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="How to choose questions: dime, or one of the methods it is compared with, as argmax-direct, eddi or "
            "mrmr; docs/methods.md has them all.",
        ),
    ] = "dime",
    budget: Annotated[
        float | None,
        typer.Option(
            metavar="K",
            help="Train for this budget alone: for methods that are published so (the fixed orders, cwcf, "
            "opportunistic).",
        ),
    ] = None,
    class_weights: Annotated[
        str | None, typer.Option(metavar="balanced", help="Weigh rare classes up while learning.")
    ] = None,
    scaling: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="How estimates of information are kept in range: bounded by 0 and the prediction's entropy (classes "
            "only, the default there), positive (the default for a number) or none. To compare.",
        ),
    ] = None,
    hidden: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Width of the networks' hidden layers.")
    ] = None,
    epochs: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Passes over the rows; by default as many as help.")
    ] = None,
    pretrain_epochs: Annotated[int | None, typer.Option(min=1, hidden=True)] = None,
    seed: Annotated[
        int, typer.Option(min=0, metavar="N", help="The same seed gives the same model on the same machine.")
    ] = 0,
    checkpoint: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Save each epoch here; run the same command again to go on after a stop."),
    ] = None,
    device: Annotated[str, typer.Option(metavar="NAME", help="auto, cpu or cuda.")] = "auto",
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="The model file; by default the table's name + .askwise."),
    ] = None,
    as_json: JsonFlag = False,
    quiet: QuietFlag = False,
) -> None:
    """Learn from a table of past cases.

    The model knows which question to ask next, and when to stop. Numbers, yes/no and text columns are taken as they
    are. A missing value is a question that can't be asked in that row.
    """
    with command(as_json, quiet) as out:
        path = output or Path(f"{tables.stem(cases)}.askwise")
        _check_places(path, cases, checkpoint)
        if checkpoint is not None:
            out.when_interrupted = "Stopped. Run the same command again to go on from the last epoch."
        settings = Settings(
            method, seed, device, hidden, epochs, pretrain_epochs, checkpoint, class_weights, scaling, budget
        )
        with busy(out, f"Reading {cases.name}"):
            from askwise.data.files import read_costs, read_mapping, read_questions, read_table

            frame = read_table(cases)
            prices = None if costs is None else read_costs(costs)
            members = None if groups is None else read_mapping(groups, "groups of columns")
            words = None if questions is None else read_questions(questions)
        X, y = tables.apart(frame, target, out)
        person, X = tables.people(X, split_by, "--split-by")
        X = tables.without(X, tables.names(drop, X.columns), "--drop")
        known = tables.names(free, X.columns)
        named = {*(prices or {}), *(c for g in (members or {}).values() for c in g), *known, *(words or {})}
        X = tables.without_identifiers(X, named, out)
        chosen, y = task_of(y, task, out)
        asked = {"costs": prices, "groups": members, "free": known, "questions": words}
        estimator = fitted(out, chosen, X, y, asked, settings, split_by=person)
        estimator.model_.card |= {"target": target, "data": cases.name}
        estimator.save(path)
        _report(out, estimator, path, len(frame) - len(X))


def _check_places(path: Path, cases: Path, checkpoint: Path | None) -> None:
    check_file_can_be_written(path)
    if path.exists() and cases.exists() and path.samefile(cases):
        raise AskwiseError(f"{path} is the table itself; give another file with -o")
    if checkpoint is not None:
        check_folder_can_be_written(checkpoint)


def fitted(
    out: Out, task: str, X: pd.DataFrame, y: Any, questions: dict[str, Any], settings: Settings, **how: Any
) -> Any:
    """A trained estimator for the task, with a progress bar on the way."""
    with training_progress(out) as progress:
        from askwise.methods.registry import method_for

        if task == "regression" and settings.class_weights is not None:
            raise AskwiseError("--class-weights is for classes, and a number is predicted here; leave it out")
        method = method_for(settings.method, task)
        estimator = method(**questions, **settings.arguments(method().get_params()))
        estimator.fit(X, y, progress=progress, **how)
    for sentence in progress.stopped_early:
        out.note(sentence)
    return estimator


def _report(out: Out, estimator: Any, path: Path, left_out: int) -> None:
    model, frontier = estimator.model_, estimator.frontier_
    card, space, free = model.card, model.schema.space, model.schema.free
    rows = card["rows_trained"] + card["rows_validated"]
    asked = show.count(space.n_groups, "question") + (f" and {show.count(len(free), 'free column')}" if free else "")
    out.say(
        f"{path}: {asked}, learnt from {rows} rows in {card['seconds']:.0f} s",
        show.costs_table(f"On {show.count(card['rows_validated'], 'row')} held out", show.few(frontier, 6)),
        "",
        show.next_steps(
            [
                (show.command_line("askwise", "info", path), "what is inside"),
                (
                    show.command_line("askwise", "ask", path, "--stop", show.good_rule(frontier)),
                    "answer its questions",
                ),
                (show.command_line("askwise", "serve", path), "the same on a page, in a browser"),
                (show.command_line("askwise", "evaluate", path, "test.csv", "--report", "report/"), "on other rows"),
            ]
        ),
    )
    out.result(
        {
            "model": str(path),
            "task": model.task.kind,
            "target": card["target"],
            "rows": rows,
            "rows_left_out": left_out,
            "questions": list(space.names),
            "free": list(free),
            "frontier": frontier.to_dict("records"),
            "card": card,
        }
    )
