"""Past cases, as `askwise train` and `askwise compare` read them from a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from askwise.cli import tables
from askwise.cli.common import Out
from askwise.cli.progress import busy
from askwise.cli.table_options import TableOptions, column_names
from askwise.cli.target import TaskChoice, choose_task
from askwise.core.errors import AskwiseError

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Cases:
    """Past cases with their answers.

    task: "classification" or "regression"; inputs: "table" or "image"; questions: the arguments of an estimator that
    say what can be asked; card: what the model keeps about the cases; n_unlabelled: rows left out without an answer, or
    with a weight of 0; weights: how much each row counts, (rows,), None if all count the same.
    """

    X: Any
    y: Any
    task: str
    questions: Mapping[str, Any]
    card: Mapping[str, Any] = field(default_factory=dict)
    inputs: str = "table"
    split_by: Any = None
    n_unlabelled: int = 0
    weights: Any = None
    # Arguments of the commands to try next: of `askwise ask` beside a rule, and of `askwise evaluate`.
    ask_arguments: Sequence[object] = ()
    evaluate_arguments: Sequence[object] = ("test.csv",)


@dataclass(frozen=True)
class TableDescription:
    """What the columns of a table are for, from options or from a suite."""

    target: str
    drop: Sequence[str] = ()
    costs: Mapping[str, Any] | None = None
    groups: Mapping[str, Sequence[str]] | None = None
    free: Sequence[str] = ()
    questions: Mapping[str, Any] | None = None
    categories: Sequence[str] | None = None
    split_by: str | None = None
    weights: str | None = None
    task: TaskChoice = TaskChoice.auto
    # What errors call the places that name columns.
    drop_label: str = "drop"
    split_by_label: str = "split_by"
    weights_label: str = "weights"

    def named_columns(self) -> set[str]:
        """Return the columns that are mentioned, and so are no identifiers."""
        from askwise.data.tables.shared_prices import names_in

        in_groups = [column for columns in (self.groups or {}).values() for column in columns]
        return {*names_in(self.costs or {}), *in_groups, *self.free, *(self.questions or {}), *(self.categories or ())}

    def without(self, dropped: AbstractSet[str], columns: Sequence[str]) -> TableDescription:
        """Return the description of the table without some of its columns; a group that is left empty goes too."""
        from askwise.data.tables.shared_prices import without_names

        if not dropped:
            return self
        groups, gone = {}, set(dropped)
        for group, members in (self.groups or {}).items():
            # A position means another column once some are dropped; a name does not.
            names = [columns[m] if isinstance(m, int) and 0 <= m < len(columns) else m for m in members]
            groups[group] = [name for name in names if name not in dropped]
            if names and not groups[group]:
                gone.add(group)

        def rest(given: Mapping[str, Any] | None) -> dict[str, Any] | None:
            return None if given is None else {name: value for name, value in given.items() if name not in gone}

        return replace(
            self, costs=None if self.costs is None else without_names(self.costs, gone, columns),
            groups=None if self.groups is None else rest(groups),
            free=[name for name in self.free if name not in dropped], questions=rest(self.questions),
            categories=[name for name in self.categories or () if name not in dropped] or None,
        )  # fmt: skip


def read_described_table(out: Out, path: Path, options: TableOptions) -> tuple[pd.DataFrame, TableDescription]:
    """Read a table as it is, and what options and their files say about its columns."""
    if options.target is None:
        raise AskwiseError(f"{path} is a table, and nothing tells what to predict; name its column: --target COLUMN")
    with busy(out, f"Reading {path.name}"):
        from askwise.data.tables.files import read_costs, read_mapping, read_questions, read_table

        frame = tables.with_line_numbers(read_table(path), path)
        costs = None if options.costs is None else read_costs(options.costs)
        groups = None if options.groups is None else read_mapping(options.groups, "groups of columns")
        questions = None if options.questions is None else read_questions(options.questions)
    if groups is not None:
        check_groups(groups, str(options.groups))
    columns = [str(name) for name in frame.columns]
    return frame, TableDescription(
        target=options.target, drop=column_names(options.drop, columns), drop_label="--drop",
        costs=costs, groups=groups, free=column_names(options.free, columns), questions=questions,
        categories=column_names(options.categories, columns) or None,
        split_by=options.split_by, split_by_label="--split-by", weights=options.weights, weights_label="--weights",
        task=options.task,
    )  # fmt: skip


def table_cases(out: Out, path: Path, frame: pd.DataFrame, description: TableDescription) -> Cases:
    """Return the cases of a table that was read from a file."""
    card = {"target": description.target, "data": path.name}
    card |= {} if description.weights is None else {"weights": description.weights}
    found = replace(prepare(out, frame, description), card=card)
    if description.weights is None:
        return found
    return replace(found, evaluate_arguments=(*found.evaluate_arguments, "--weights", description.weights))


def prepare(out: Out, frame: pd.DataFrame, description: TableDescription) -> Cases:
    """Split the target off a table, and drop columns that are not asked: identifiers, and those that tell nothing."""
    check_weights_apart(description)
    X, y = tables.split_target(frame, description.target, out)
    weights, X, y = tables.split_weights(X, y, description.weights, description.weights_label, out)
    split_by, X = tables.split_groups(X, description.split_by, description.split_by_label)
    columns = X.columns
    X = tables.drop_columns(X, description.drop, description.drop_label)
    # One file of prices serves while columns are tried and dropped.
    description = description.without(set(description.drop), columns)
    X = tables.drop_identifiers(X, description.named_columns(), out)
    useful = tables.drop_useless(X, description.named_columns(), out)
    description = description.without(set(X.columns) - set(useful.columns), X.columns)
    task, answers = choose_task(y, description.task, out)
    asked = ("costs", "groups", "free", "questions", "categories")
    questions = {name: getattr(description, name) for name in asked}
    n_unlabelled = len(frame) - len(X)
    return Cases(useful, answers, task, questions, split_by=split_by, n_unlabelled=n_unlabelled, weights=weights)


def check_weights_apart(description: TableDescription) -> None:
    """Raise an error if the column of weights is to be something else too."""
    from askwise.data.tables.shared_prices import names_in

    weights, label = description.weights, description.weights_label
    uses = {
        "free": description.free,
        "costs": names_in(description.costs or {}),
        "groups": [column for columns in (description.groups or {}).values() for column in columns],
        "questions": description.questions or {},
        "categories": description.categories or (),
    }
    named = {label.replace("weights", option): names for option, names in uses.items()}
    named |= {description.drop_label: description.drop, description.split_by_label: [description.split_by or ""]}
    for place, names in named.items():
        if weights is not None and weights in names:
            raise AskwiseError(
                f"the column {weights!r} is taken as the weights of the rows ({label}), so nothing is asked of it; "
                f"leave it out of {place}"
            )


def check_groups(groups: Any, label: str) -> None:
    """Raise an error unless groups map names to lists of columns. label: what the error calls them."""
    if not isinstance(groups, dict):
        raise AskwiseError(f"{label} must map a group's name to a list of columns' names, it is {groups!r}")
    for group, columns in groups.items():
        if not isinstance(columns, list) or not all(isinstance(column, (str, int)) for column in columns):
            raise AskwiseError(f"{label} must give a list of columns' names for {group!r}, it gives {columns!r}")
