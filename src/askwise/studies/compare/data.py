"""Datasets that a comparison trains and tests on."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from askwise.core.arrays import Array
from askwise.core.errors import AskwiseError, unknown_name
from askwise.core.row_weights import check_row_weights
from askwise.data.tables.schema import Schema
from askwise.data.tables.split import hold_out
from askwise.evaluation.metrics import is_lopsided
from askwise.methods.registry import TABLE

TEST_FRACTION = 0.2
# Fresh rows of a known distribution to test on, at most.
MOST_FRESH_ROWS = 2000
# One at least to test on, to validate on and to train on.
FEWEST_SUBJECTS = 3


@dataclass(frozen=True, eq=False)
class Split:
    """The rows of one seed, the same for every method."""

    X: Any
    y: Array
    X_test: Any
    y_test: Array
    # The subject that each row to fit on belongs to, where a subject has several.
    by: Array | None = None
    # How much each row counts, to fit on and to test on, where not all count the same.
    weights: Array | None = None
    weights_test: Array | None = None


class Dataset(ABC):
    """A named table, images, or a distribution that gives rows.

    task: "classification" or "regression"; inputs: "table" or "image", what a method learns from; questions: the costs,
    groups and free columns that a method is given, or the patches; metric: the one to show.
    """

    name: str
    task: str
    metric: str
    questions: Mapping[str, Any]
    truth: str | None = None
    inputs: ClassVar[str] = TABLE

    @abstractmethod
    def split(self, seed: int, max_rows: int, test_rows: int) -> Split:
        """The rows to fit on, at most `max_rows`, and to test on, at most `test_rows`."""

    @property
    @abstractmethod
    def schema(self) -> Schema:
        """Groups and costs."""

    @property
    @abstractmethod
    def fingerprint(self) -> str:
        """Changes with everything that a result depends on."""

    @property
    @abstractmethod
    def n_rows(self) -> int:
        """Rows to fit on, at most."""

    def sample_target(self) -> Array:
        """Answers to tell whether a method can learn them."""
        return self.split(0, self.n_rows, MOST_FRESH_ROWS).y


class LabelledData(Dataset):
    """Rows with their answers, of which a part is held out to test on.

    split_by: one value a row; rows with the same value are never apart, neither to test on nor to validate on.
    weights: how much each row counts; None if all count the same.
    """

    y: Array
    split_by: Any
    weights: Array | None = None

    @abstractmethod
    def take(self, which: Array) -> Any:
        """The inputs of some rows, by position."""

    @property
    def n_rows(self) -> int:
        return len(self.y) - round(TEST_FRACTION * len(self.y))

    def sample_target(self) -> Array:
        return self.y

    def split(self, seed: int, max_rows: int, test_rows: int) -> Split:
        """A stratified fifth to test on, and a stratified part of the others to fit on."""
        fit, test = fit_and_test(self, seed, max_rows, test_rows)
        by = None if self.split_by is None else self.split_by[fit]
        weights = (None, None) if self.weights is None else (self.weights[fit], self.weights[test])
        return Split(self.take(fit), self.y[fit], self.take(test), self.y[test], by, *weights)

    def _complete(self) -> None:
        """Set the metric where none is given, and number the values of split_by."""
        if not self.metric:
            counts = pd.Series(self.y).value_counts(normalize=True)
            object.__setattr__(self, "metric", main_metric(self.task, len(counts), float(counts.iloc[0])))
        if self.split_by is not None:
            object.__setattr__(self, "split_by", subject_numbers(self.split_by, len(self.y)))


@dataclass(frozen=True, eq=False)
class TableData(LabelledData):
    """A table of past cases; the metric is accuracy for several classes, AUROC for two and RMSE for a number.

    AUROC too where one of several classes has 90 % of the rows or more.

    X: a DataFrame, or an array, whose columns are then called x0, x1, ...
    split_by: one value a row, or the name of a column of X that is then no question; rows with the same value are
    never apart, neither to test on nor to validate on. weights: one number of at least 0 a row.
    """

    name: str
    X: pd.DataFrame
    y: Array
    task: str = "classification"
    costs: Mapping[str, Any] | None = None
    groups: Mapping[str, Sequence[str]] | None = None
    free: Sequence[str] | None = None
    metric: str = ""
    split_by: Any = None
    weights: Any = None

    def __post_init__(self) -> None:
        if not isinstance(self.X, pd.DataFrame):
            values = np.asarray(self.X)
            object.__setattr__(self, "X", pd.DataFrame(values, columns=[f"x{i}" for i in range(values.shape[1])]))
        object.__setattr__(self, "y", np.asarray(self.y))
        weights = check_row_weights(self.weights, len(self.y), f"{self.name}: weights")
        object.__setattr__(self, "weights", weights)
        if self.task == "classification" and self.y.dtype.kind == "f" and (self.y != np.round(self.y)).any():
            raise AskwiseError(
                f"{self.name}: the target holds {float(self.y[self.y != np.round(self.y)][0])!r}, which is no class; "
                "for a number to be predicted: task='regression'"
            )
        if isinstance(self.split_by, str):
            if self.split_by not in self.X.columns:
                raise unknown_name("column in split_by:", self.split_by, self.X.columns)
            values = self.X[self.split_by].to_numpy()
            object.__setattr__(self, "X", self.X.drop(columns=self.split_by))
            object.__setattr__(self, "split_by", values)
        self._complete()

    @property
    def questions(self) -> Mapping[str, Any]:  # type: ignore[override]
        return {"costs": self.costs or None, "groups": self.groups or None, "free": list(self.free or ()) or None}

    @cached_property
    def schema(self) -> Schema:
        return Schema.of(self.X, **self.questions)

    def take(self, which: Array) -> Any:
        return self.X.iloc[which]

    @cached_property
    def fingerprint(self) -> str:
        columns = [*(self.X.iloc[:, i] for i in range(self.X.shape[1])), pd.Series(self.y)]
        columns += [pd.Series(part) for part in (self.split_by, self.weights) if part is not None]
        # The schema tells columns of one kind from those of another that hold the same, such as 1 and True.
        facts = [[str(name) for name in self.X.columns], self.task, self.questions, self.schema.to_dict()]
        facts += [] if self.weights is None else ["weights"]
        return digest(facts, *(_bytes(column) for column in columns))


def fit_and_test(dataset: LabelledData, seed: int, max_rows: int, test_rows: int) -> tuple[Array, Array]:
    """The positions of the rows to fit on and to test on."""
    y, stratify = dataset.y, dataset.task == "classification"
    fit, test = hold_out(y, min(TEST_FRACTION, test_rows / len(y)), seed, stratify, dataset.split_by)
    # Where nothing could be held out that can be learnt from the others, the same rows come back.
    test = np.setdiff1d(test, fit, assume_unique=True)
    if len(test) > test_rows:
        # Subjects are held out whole, so there may be more rows than were asked for.
        _, some = hold_out(y[test], test_rows / len(test), seed, stratify)
        test = test[some]
    if len(fit) > max_rows:
        _, some = hold_out(y[fit], max_rows / len(fit), seed, stratify)
        fit = fit[some]
    if stratify:
        # A class too rare to be in both can't be learnt, so it is not tested either.
        test = test[np.isin(y[test], y[fit])]
    if not len(test):
        raise AskwiseError(f"{dataset.name}: no rows can be held out to test on; it needs more rows, or more people")
    return fit, test


def main_metric(task: str, n_classes: int, largest_share: float = 0.0) -> str:
    """The metric to show where none is asked for; largest_share: that of the most frequent class."""
    if task == "regression":
        return "rmse"
    return "auroc" if n_classes == 2 or is_lopsided(largest_share) else "accuracy"


def _bytes(column: pd.Series[Any]) -> bytes:
    """Every value, the same on every machine: numbers, and texts and what else there is as they are written."""
    if pd.api.types.is_numeric_dtype(column.dtype):
        return column.to_numpy(dtype=np.float64, na_value=np.nan).tobytes()
    texts = [None if missing else str(v) for v, missing in zip(column, column.isna(), strict=True)]
    return json.dumps(texts).encode()


def subject_numbers(by: Any, n_rows: int) -> Array:
    """The subject that each row belongs to, as a number."""
    values = pd.Series(np.asarray(by))
    if len(values) != n_rows:
        raise AskwiseError(f"split_by has {len(values)} values for {n_rows} rows; give one for each row")
    if values.isna().any():
        raise AskwiseError(f"split_by is missing in {int(values.isna().sum())} rows; give a value for each row")
    if values.nunique() < FEWEST_SUBJECTS:
        raise AskwiseError(
            f"split_by has {values.nunique()} different values; at least {FEWEST_SUBJECTS} are needed, "
            "to train, validate and test on"
        )
    return values.factorize()[0]


def digest(facts: Any, *parts: bytes) -> str:
    """A hash of facts that JSON can hold, and of bytes."""
    found = hashlib.sha256(json.dumps(facts, sort_keys=True, default=str).encode())
    for part in parts:
        found.update(part)
    return found.hexdigest()
