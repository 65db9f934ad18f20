"""From what `fit` was given to rows to learn from and rows to validate on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pandas as pd
import torch
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_consistent_length

from askwise.core.arrays import Array
from askwise.core.errors import AskwiseError
from askwise.core.rows import Rows
from askwise.core.tasks import Classification, Task
from askwise.data.tables.gaps import GroupGaps, find_gaps
from askwise.data.tables.schema import Schema
from askwise.data.tables.split import hold_out
from askwise.evaluation import metrics
from askwise.methods.fingerprint import hash_of_rows

# Enough for early stopping and a frontier; more rows held out would only cost time.
MOST_VALIDATION_ROWS = 20_000


class Preparing(Protocol):
    """What an estimator says of its inputs, its target and its split."""

    validation_fraction: float
    random_state: Any
    checkpoint_dir: Any

    def inputs(self, X: Any, reset: bool = False) -> Any: ...
    def check_target(self, y: Any) -> Array: ...
    def schema_of(self, inputs: Any) -> Schema: ...
    def make_task(self, y: Array) -> Task: ...
    def with_evidence(self, schema: Schema, gaps: Array) -> Schema: ...
    def fit_encoding(self, schema: Schema, task: Task, train: Rows) -> Schema: ...


@dataclass(frozen=True)
class Prepared:
    """A table as training takes it: encoded rows to learn from and to validate on, and what they mean.

    val_answers: the answers of the validation rows as the user gave them. gaps: what the gaps of the rows to learn from
    tell about their answers.
    """

    schema: Schema
    task: Task
    train: Rows
    val: Rows
    val_answers: Array
    seed: int
    gaps: tuple[GroupGaps, ...] = ()


def prepare(estimator: Preparing, X: Any, y: Any, eval_set: tuple[Any, Any] | None, split_by: Any) -> Prepared:
    """Check the table, read its schema and task, and split its rows."""
    X, split_by = _without_split_column(X, split_by)
    inputs = estimator.inputs(X, reset=True)
    answers = estimator.check_target(y)
    check_consistent_length(inputs, answers)
    schema = estimator.schema_of(inputs)
    task = estimator.make_task(answers)
    rows = _with_answers(schema.encode(inputs), task, answers)
    seed = _seed(estimator, rows)
    if eval_set is not None:
        train, train_answers = rows, answers
        val, val_answers = _given_validation(estimator, schema, task, eval_set)
    else:
        kept, held_out = _split(answers, task, estimator.validation_fraction, split_by, seed)
        train, train_answers = rows.take(kept), answers[kept.numpy()]
        val, val_answers = rows.take(held_out), answers[held_out.numpy()]
    gaps = find_gaps(
        schema.space.names, train.available.numpy(), train_answers, has_classes=isinstance(task, Classification)
    )
    if (evident := estimator.with_evidence(schema, ~train.present.all(0).numpy())) is not schema:
        schema, train, val = evident, evident.rows_with_presence(train), evident.rows_with_presence(val)
    return Prepared(estimator.fit_encoding(schema, task, train), task, train, val, val_answers, seed, gaps)


def _seed(estimator: Preparing, rows: Rows) -> int:
    if estimator.random_state is None and estimator.checkpoint_dir is not None:
        # A run that is to go on must draw the same again: its seed comes from the data.
        return int.from_bytes(hash_of_rows(rows).digest()[:4]) % (2**31 - 1)
    return int(check_random_state(estimator.random_state).randint(2**31 - 1))


def _given_validation(
    estimator: Preparing, schema: Schema, task: Task, eval_set: tuple[Any, Any]
) -> tuple[Rows, Array]:
    inputs, answers = estimator.inputs(eval_set[0]), estimator.check_target(eval_set[1])
    check_consistent_length(inputs, answers)
    metrics.coded(task, answers)
    return _with_answers(schema.encode(inputs), task, answers), answers


def _split(answers: Array, task: Task, fraction: float, split_by: Any, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The numbers of the rows to learn from, and of those to validate on."""
    by = None if split_by is None else np.asarray(split_by)
    train, val = hold_out(answers, fraction, seed, isinstance(task, Classification), by)
    if len(val) > MOST_VALIDATION_ROWS and by is None:
        train, val = np.concatenate([train, val[MOST_VALIDATION_ROWS:]]), val[:MOST_VALIDATION_ROWS]
    return torch.from_numpy(train), torch.from_numpy(val)


def _with_answers(rows: Rows, task: Task, answers: Array) -> Rows:
    return Rows(rows.x, rows.present, rows.available, task.encode(answers))


def _without_split_column(X: Any, split_by: Any) -> tuple[Any, Any]:
    if not isinstance(split_by, str):
        return X, split_by
    if not isinstance(X, pd.DataFrame) or split_by not in X.columns:
        raise AskwiseError(f"split_by={split_by!r} is no column of X; give a column's name or one value for each row")
    return X.drop(columns=split_by), X[split_by].to_numpy()
