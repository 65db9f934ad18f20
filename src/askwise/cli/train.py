"""`askwise train`: from past cases, a table or images, to a model file."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from askwise.cli import images as pictures
from askwise.cli import show, tables
from askwise.cli.cases import Cases
from askwise.cli.common import (
    JsonFlag,
    Out,
    QuietFlag,
    check_device,
    check_file_can_be_written,
    check_folder_can_be_written,
    command,
)
from askwise.cli.progress import busy, training_progress
from askwise.cli.target import TaskChoice, task_of
from askwise.core.errors import AskwiseError

EXAMPLES = """\b
Examples:
  askwise train cases.csv --target diagnosis
  askwise train cases.csv --target diagnosis --costs costs.csv --free age,sex -o heart.askwise
  askwise train cases.csv --target diagnosis --questions questions.csv
  askwise train visits.parquet --target outcome --split-by patient --checkpoint runs/
  askwise train cases.csv --target diagnosis --method mrmr
  askwise train photos/ --size 64 --patch 8 --backbone small-cnn
  askwise train scans.csv --images file --target finding --backbone resnet18 --pretrained --prior sketch
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

    def arguments(self, known: Collection[str], asked: Mapping[str, Any]) -> dict[str, Any]:
        """The settings of an estimator that knows these ones; `asked` are those about what can be asked."""
        given = {
            **asked,
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
    cases: Annotated[
        Path,
        typer.Argument(
            metavar="CASES",
            help="Past cases: CSV (also .gz) or Parquet, a row each. Or images: a folder with a sub-folder for each "
            "class, an .npz, or a table with --images.",
        ),
    ],
    target: Annotated[
        str | None,
        typer.Option(
            "--target", "-t", metavar="COLUMN", help="The column to predict; tables need it. Else a name for what is."
        ),
    ] = None,
    costs: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Prices: CSV with columns name,cost, or a JSON mapping. Others cost 1. Patches: r1c1, r1c2, ...",
        ),
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
            "mrmr; docs/methods.md has them all, and those for images.",
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
    images: pictures.ImageColumn = None,
    split: pictures.Part = None,
    size: pictures.Size = None,
    patch: pictures.Patch = None,
    backbone: pictures.Backbone = None,
    pretrained: pictures.Pretrained = False,
    weights: pictures.Weights = None,
    prior: pictures.Prior = None,
    drop_unknown: pictures.DropUnknown = False,
    layers: pictures.Layers = None,
    augment: pictures.Augment = None,
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
        typer.Option("--output", "-o", metavar="FILE", help="The model file; by default the data's name + .askwise."),
    ] = None,
    as_json: JsonFlag = False,
    quiet: QuietFlag = False,
) -> None:
    """Learn from a table of past cases, or from images.

    The model knows which question to ask next, and when to stop. Numbers, yes/no and text columns are taken as they
    are. A missing value is a question that can't be asked in that row. Of images, patches are asked.
    """
    with command(as_json, quiet) as out:
        tables.check_there(cases)
        are_images = pictures.hold_images(cases, images)
        path = output or Path(f"{(pictures if are_images else tables).stem(cases)}.askwise")
        _check_places(path, cases, checkpoint)
        if checkpoint is not None:
            out.when_interrupted = "Stopped. Run the same command again to go on from the last epoch."
        settings = Settings(
            method, seed, device, hidden, epochs, pretrain_epochs, checkpoint, class_weights, scaling, budget
        )
        shown = pictures.ImageOptions(
            images, split, size, patch, backbone, pretrained, weights, prior, drop_unknown, layers, augment
        )
        if are_images:
            of_questions = {"--groups": groups, "--free": free, "--questions": questions}
            pictures.refuse_table_options(cases, images, of_questions, {"--drop": drop, "--split-by": split_by})
            with busy(out, "Starting"):
                from askwise.methods.registry import IMAGE, method_for

                shown.check(hidden)
                # Every one of them is for classes, some for numbers too.
                method_for(method, "classification", IMAGE)
            found = pictures.read_cases(out, cases, target, task, costs, shown, split_by, drop)
        else:
            shown.refuse(cases)
            if target is None:
                raise AskwiseError(f"nothing tells what to predict from {cases}; name its column: --target COLUMN")
            found = _read_table(out, cases, target, costs, groups, free, drop, questions, split_by, task)
        estimator = fitted(
            out, found.task, found.X, found.y, found.asked, settings, found.inputs, split_by=found.split_by
        )
        estimator.model_.card |= found.card
        estimator.save(path)
        _report(out, estimator, path, found)
        _warn_of_nothing_learnt(out, estimator)


def _read_table(
    out: Out,
    cases: Path,
    target: str,
    costs: Path | None,
    groups: Path | None,
    free: list[str] | None,
    drop: list[str] | None,
    questions: Path | None,
    split_by: str | None,
    task: TaskChoice,
) -> Cases:
    """A table to learn from, with its target apart, without what is dropped and without identifiers."""
    with busy(out, f"Reading {cases.name}"):
        from askwise.data.tables.files import read_costs, read_mapping, read_questions, read_table

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
    card = {"target": target, "data": cases.name}
    return Cases(X, y, chosen, asked, card, split_by=person, left_out=len(frame) - len(X))


def _check_places(path: Path, cases: Path, checkpoint: Path | None) -> None:
    check_file_can_be_written(path)
    if path.exists() and cases.exists() and path.samefile(cases):
        raise AskwiseError(f"{path} is the table itself; give another file with -o")
    if checkpoint is not None:
        check_folder_can_be_written(checkpoint)


def fitted(
    out: Out,
    task: str,
    X: Any,
    y: Any,
    asked: Mapping[str, Any],
    settings: Settings,
    inputs: str = "table",
    **how: Any,
) -> Any:
    """A trained estimator for the task, with a progress bar on the way; `asked`: its settings of what can be asked."""
    with training_progress(out) as progress:
        from askwise.methods.registry import method_for

        check_device(settings.device)
        if task == "regression" and settings.class_weights is not None:
            raise AskwiseError("--class-weights is for classes, and a number is predicted here; leave it out")
        method = method_for(settings.method, task, inputs)
        estimator = method(**settings.arguments(method().get_params(), asked))
        narrow = narrowed(estimator)
        if narrow is not None:
            out.note(narrow)
        estimator.fit(X, y, progress=progress, **how)
    for sentence in progress.stopped_early:
        out.note(sentence)
    return estimator


def narrowed(estimator: Any) -> str | None:
    """A sentence where a network of images is narrower than it would be on a GPU, since none was asked for."""
    from askwise.methods.images.method import ImageMethod
    from askwise.networks.own_backbones import CNN_WIDTHS as WIDTHS

    if not isinstance(estimator, ImageMethod) or estimator.hidden or estimator.backbone_width != WIDTHS["cpu"]:
        return None
    return (
        f"On a CPU the network is {WIDTHS['cpu']} channels wide instead of {WIDTHS['cuda']}, to be done sooner; "
        "--hidden N sets another width. A GPU is faster by far"
    )


def _warn_of_nothing_learnt(out: Out, estimator: Any) -> None:
    """Say where all answers together predict no better, on what was held out, than none."""
    card, frontier = estimator.model_.card, estimator.frontier_
    nothing, everything = frontier.loc[frontier["mean_cost"].idxmin()], card["validation"]
    if nothing["mean_cost"] > 0 or show.is_better(everything, nothing, card["rows_validated"]):
        return
    out.note(
        "Warning: with everything known it is no better than with nothing; train longer (--epochs), on more cases, or "
        "with another size of the networks (--hidden)"
    )


def _report(out: Out, estimator: Any, path: Path, found: Cases) -> None:
    model, frontier = estimator.model_, estimator.frontier_
    card, space, free = model.card, model.schema.space, model.schema.free
    rows, what = card["rows_trained"] + card["rows_validated"], "row" if found.inputs == "table" else "image"
    ask = show.command_line("askwise", "ask", path, "--stop", show.good_rule(frontier), *found.to_ask)
    out.say(
        f"{path}: {show.what_is_asked(model.schema)}, learnt from {rows} {what}s in {card['seconds']:.0f} s",
        show.costs_table(f"On {show.count(card['rows_validated'], what)} held out", show.few(frontier, 6)),
        "",
        show.next_steps(
            [
                (show.command_line("askwise", "info", path), "what is inside"),
                (ask, "ask for patches of one image" if what == "image" else "answer its questions"),
                (show.command_line("askwise", "serve", path), "the same on a page, in a browser"),
                (
                    show.command_line("askwise", "evaluate", path, *found.to_evaluate, "--report", "report/"),
                    f"on other {what}s",
                ),
            ]
        ),
    )
    out.result(
        {
            "model": str(path),
            "task": model.task.kind,
            "target": card["target"],
            "rows": rows,
            "rows_left_out": found.left_out,
            "questions": list(space.names),
            "free": list(free),
            "frontier": frontier.to_dict("records"),
            "card": card,
        }
    )
