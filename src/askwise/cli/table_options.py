"""Options about the columns of a table: what is predicted, asked, free, dropped, and what it costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated

import typer

from askwise.cli.target import TaskChoice
from askwise.core.errors import AskwiseError


@dataclass(frozen=True)
class TableOptions:
    """What the options say about one table; a table of images has some of them too."""

    target: Annotated[
        str | None,
        typer.Option(
            "--target", "-t", metavar="COLUMN", help="The column to predict; tables need it. Else a name for what is."
        ),
    ] = None
    costs: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Prices: CSV with columns name,cost, or a JSON mapping. Others cost 1. Patches: r1c1, r1c2, ...",
        ),
    ] = None
    groups: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Columns asked together: a JSON mapping of a group's name to its columns."),
    ] = None
    free: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMNS", help="Columns known from the start, with commas between them."),
    ] = None
    drop: Annotated[
        list[str] | None, typer.Option(metavar="COLUMNS", help="Columns to leave out, with commas between them.")
    ] = None
    # Options of `train` only: a comparison asks nobody, and takes codes as they are.
    questions: Path | None = None
    categories: list[str] | None = None
    split_by: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Keep rows with the same value here together when holding rows out."),
    ] = None
    weights: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="How much each row counts: a column of numbers of at least 0, which is no question. Of images, a "
            "FILE: begin with these weights of the timm backbone.",
        ),
    ] = None
    task: Annotated[TaskChoice, typer.Option(help="What is predicted: one of several classes, or a number.")] = (
        TaskChoice.auto
    )

    def given(self) -> list[str]:
        """Return the options that were given, as --name."""
        names = [field.name for field in fields(self) if getattr(self, field.name) not in (None, [], field.default)]
        return [f"--{name.replace('_', '-')}" for name in names]

    def arguments(self) -> list[object]:
        """Return the options that were given, with their values, as they are typed."""
        words: list[object] = []
        for name in self.given():
            value = getattr(self, name.removeprefix("--").replace("-", "_"))
            for one in value if isinstance(value, list) else [value]:
                words += [name, one]
        return words

    def refuse(self, path: Path, image_column: str | None) -> None:
        """Raise an error for options that images at the path do not have.

        image_column: the column with the paths of images, if the path is a table of them.
        """
        given = self.given()
        for option in ("--groups", "--free", "--questions", "--categories"):
            if option in given:
                raise AskwiseError(f"{option} is about the columns of a table, and {path} holds images; leave it out")
        for option in ("--drop", "--split-by"):
            if option in given and image_column is None:
                raise AskwiseError(
                    f"{option} is about the columns of a table, and {path} has none; leave it out, or give a table "
                    "with --images COLUMN, the column with the paths of the images"
                )


@dataclass(frozen=True)
class TrainTableOptions(TableOptions):
    """The same with the wording of questions, and with columns of codes."""

    questions: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="How questions are put, and what may be answered: CSV with columns name,text,unit,help,choices "
            "(a|b|c, or 0=no|1=yes),min,max, or a JSON mapping.",
        ),
    ] = None
    categories: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMNS", help="Columns whose numbers are codes of categories, with commas between them."
        ),
    ] = None


def column_names(given: Sequence[str] | None, columns: Sequence[str]) -> list[str]:
    """Split the values of an option at commas; a value that is a column's whole name stays whole."""
    names: list[str] = []
    for text in given or ():
        names += [text] if text in columns else [name.strip() for name in text.split(",") if name.strip()]
    return names
