"""From what `fit` was given to rows to learn from and rows to validate on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import numpy as np
import pandas as pd
import torch
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_consistent_length, column_or_1d

from askwise.core.arrays import Array
from askwise.core.errors import AskwiseError
from askwise.core.row_weights import check_row_weights, scaled_to_mean_1
from askwise.core.rows import Rows
from askwise.core.tasks import Classification, Task
from askwise.data.tables.gaps import GroupGaps, find_gaps
from askwise.data.tables.schema import Schema
from askwise.data.tables.split import hold_out, of_kept_rows
from askwise.evaluation import metrics
from askwise.methods.fingerprint import hash_of_rows
from askwise.methods.plain_target import plain_target

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
    def make_task(self, y: Array, weights: Array | None = None) -> Task: ...
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


class Given(NamedTuple):
    """Rows as they were given, without those of weight 0.

    inputs, answers: checked. weights (rows,), with a mean of 1; None if all are equal. kept: which of the rows that
    were given these are; None if all.
    """

    inputs: Any
    answers: Array
    weights: Array | None
    kept: Array | None

    @staticmethod
    def of(
        estimator: Preparing, X: Any, y: Any, weights: Any, reset: bool = False, name: str = "sample_weight"
    ) -> Given:
        """Check the rows; those of weight 0 are left out here, so that they can change nothing."""
        inputs = estimator.inputs(X, reset)
        found = check_row_weights(weights, len(inputs), name)
        if found is None or (found > 0).all():
            answers = estimator.check_target(y)
            check_consistent_length(inputs, answers)
            return Given(inputs, answers, scaled_to_mean_1(found), None)
        answers = column_or_1d(plain_target(y), warn=True)
        check_consistent_length(inputs, answers)
        kept = found > 0
        return Given(inputs[kept], estimator.check_target(answers[kept]), scaled_to_mean_1(found[kept]), kept)

    def encoded(self, schema: Schema, task: Task) -> Rows:
        """The rows with answers and weights, as networks take them."""
        weight = None if self.weights is None else torch.from_numpy(self.weights)
        return replace(schema.encode(self.inputs), y=task.encode(self.answers), weight=weight)


def prepare(
    estimator: Preparing, X: Any, y: Any, eval_set: tuple[Any, ...] | None, split_by: Any, sample_weight: Any = None
) -> Prepared:
    """Check the table, read its schema and task, and split its rows."""
    X, split_by = _without_split_column(X, split_by)
    given = Given.of(estimator, X, y, sample_weight, reset=True)
    schema = estimator.schema_of(given.inputs)
    # A method of somebody's own may know no weights.
    task = estimator.make_task(given.answers, *([] if given.weights is None else [given.weights]))
    rows = given.encoded(schema, task)
    seed = _seed(estimator, rows)
    if eval_set is not None:
        train, train_answers = rows, given.answers
        val, val_answers = _given_validation(estimator, schema, task, eval_set)
    else:
        kept, held_out = _split(given, task, estimator.validation_fraction, split_by, seed)
        train, train_answers = rows.take(kept), given.answers[kept.numpy()]
        val, val_answers = rows.take(held_out), given.answers[held_out.numpy()]
    train, val = _with_mean_weight_1(train), _with_mean_weight_1(val)
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
    estimator: Preparing, schema: Schema, task: Task, eval_set: tuple[Any, ...]
) -> tuple[Rows, Array]:
    if not 2 <= len(eval_set) <= 3:
        raise AskwiseError(f"eval_set takes (X, y) or (X, y, sample_weight), was given {len(eval_set)} parts")
    weights = eval_set[2] if len(eval_set) == 3 else None
    given = Given.of(estimator, eval_set[0], eval_set[1], weights, name="the sample_weight of eval_set")
    metrics.coded(task, given.answers)
    return given.encoded(schema, task), given.answers


def _split(given: Given, task: Task, fraction: float, split_by: Any, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The numbers of the rows to learn from, and of those to validate on."""
    by = None if split_by is None else of_kept_rows(split_by, len(given.answers), given.kept)
    train, val = hold_out(given.answers, fraction, seed, isinstance(task, Classification), by)
    if len(val) > MOST_VALIDATION_ROWS and by is None:
        train, val = np.concatenate([train, val[MOST_VALIDATION_ROWS:]]), val[:MOST_VALIDATION_ROWS]
    return torch.from_numpy(train), torch.from_numpy(val)


def _with_mean_weight_1(rows: Rows) -> Rows:
    """The same rows with weights whose mean is 1, so that learning rates stay what they are; none if all are equal."""
    weights = scaled_to_mean_1(None if rows.weight is None else rows.weight.numpy())
    return replace(rows, weight=None if weights is None else torch.from_numpy(weights).float())


def _without_split_column(X: Any, split_by: Any) -> tuple[Any, Any]:
    if not isinstance(split_by, str):
        return X, split_by
    if not isinstance(X, pd.DataFrame) or split_by not in X.columns:
        raise AskwiseError(f"split_by={split_by!r} is no column of X; give a column's name or one value for each row")
    return X.drop(columns=split_by), X[split_by].to_numpy()
