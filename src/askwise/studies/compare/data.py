"""Datasets to compare methods on: what is asked, what it costs, and which rows are for fitting and for testing."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from askwise.core.arrays import Array
from askwise.core.errors import AskwiseError, unknown_name
from askwise.data.synthetic import DISTRIBUTIONS, Distribution
from askwise.data.tables.public import PUBLIC, load_public
from askwise.data.tables.schema import Schema
from askwise.data.tables.split import hold_out
from askwise.methods.registry import TABLE

TEST_FRACTION = 0.2
# Rows of a known distribution to fit on, where its name does not say.
DEFAULT_ROWS = 1000
FEWEST_ROWS = 50
# Fresh rows of a known distribution to test on, where --test-rows does not ask for fewer; those of CUBE-NM are dear.
FRESH_ROWS = {"cube-nm": 500}
MOST_FRESH_ROWS = 2000
FRESH_SEEDS = 1_000_000
# Rows of a known distribution that tell it from what another version draws.
TOLD_BY_ROWS = 20
# One at least to test on, to validate on and to train on.
FEWEST_PEOPLE = 3
# From these numbers of groups the budgets of equal costs are taken, and so many where costs differ.
COUNTS = (1, 2, 3, 5, 8, 12, 20)
N_BUDGETS = 8


@dataclass(frozen=True, eq=False)
class Split:
    """The rows of one seed, the same for every method."""

    X: Any
    y: Array
    X_test: Any
    y_test: Array
    # Whom each row to fit on belongs to, where a person has several.
    by: Array | None = None


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


@dataclass(frozen=True, eq=False)
class TableData(Dataset):
    """A table of past cases; the metric is accuracy for several classes, AUROC for two and RMSE for a number.

    X: a DataFrame, or an array, whose columns are then called x0, x1, ...
    split_by: one value a row, or the name of a column of X that is then no question; rows with the same value are
    never apart, neither to test on nor to validate on.
    """

    name: str
    X: pd.DataFrame
    y: Array
    task: str = "classification"
    costs: Mapping[str, float] | None = None
    groups: Mapping[str, Sequence[str]] | None = None
    free: Sequence[str] | None = None
    metric: str = ""
    split_by: Any = None

    def __post_init__(self) -> None:
        if not isinstance(self.X, pd.DataFrame):
            values = np.asarray(self.X)
            object.__setattr__(self, "X", pd.DataFrame(values, columns=[f"x{i}" for i in range(values.shape[1])]))
        object.__setattr__(self, "y", np.asarray(self.y))
        if self.task == "classification" and self.y.dtype.kind == "f" and (self.y != np.round(self.y)).any():
            raise AskwiseError(
                f"{self.name}: the target holds {float(self.y[self.y != np.round(self.y)][0])!r}, which is no class; "
                "for a number to be predicted: task='regression'"
            )
        if not self.metric:
            object.__setattr__(self, "metric", main_metric(self.task, len(pd.unique(self.y))))
        if isinstance(self.split_by, str):
            if self.split_by not in self.X.columns:
                raise unknown_name("column in split_by:", self.split_by, self.X.columns)
            values = self.X[self.split_by].to_numpy()
            object.__setattr__(self, "X", self.X.drop(columns=self.split_by))
            object.__setattr__(self, "split_by", values)
        if self.split_by is not None:
            object.__setattr__(self, "split_by", people(self.split_by, len(self.X)))

    @property
    def questions(self) -> Mapping[str, Any]:  # type: ignore[override]
        return {"costs": self.costs or None, "groups": self.groups or None, "free": list(self.free or ()) or None}

    @cached_property
    def schema(self) -> Schema:
        return Schema.of(self.X, **self.questions)

    @property
    def n_rows(self) -> int:
        return len(self.X) - round(TEST_FRACTION * len(self.X))

    def sample_target(self) -> Array:
        return self.y

    def split(self, seed: int, max_rows: int, test_rows: int) -> Split:
        """A stratified fifth to test on, and a stratified part of the others to fit on."""
        fit, test = fit_and_test(self, self.y, seed, max_rows, test_rows, self.split_by)
        by = None if self.split_by is None else self.split_by[fit]
        return Split(self.X.iloc[fit], self.y[fit], self.X.iloc[test], self.y[test], by)

    @cached_property
    def fingerprint(self) -> str:
        columns = [*(self.X.iloc[:, i] for i in range(self.X.shape[1])), pd.Series(self.y)]
        columns += [] if self.split_by is None else [pd.Series(self.split_by)]
        # The schema tells columns of one kind from those of another that hold the same, such as 1 and True.
        facts = [[str(name) for name in self.X.columns], self.task, self.questions, self.schema.to_dict()]
        return digest(facts, *(_bytes(column) for column in columns))


@dataclass(frozen=True, eq=False)
class KnownData(Dataset):
    """Rows drawn from a distribution of `askwise verify`; the exact greedy policy can be compared too."""

    name: str
    truth: str
    n_rows: int = DEFAULT_ROWS
    distribution: Distribution = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "distribution", DISTRIBUTIONS[self.truth]())

    @property
    def task(self) -> str:  # type: ignore[override]
        return self.distribution.task.kind

    @property
    def metric(self) -> str:  # type: ignore[override]
        return main_metric(self.task, len(getattr(self.distribution.task, "labels", ())))

    @property
    def questions(self) -> Mapping[str, Any]:  # type: ignore[override]
        return self.distribution.settings

    @property
    def schema(self) -> Schema:
        return self.distribution.schema

    @cached_property
    def fingerprint(self) -> str:
        X, y = self.distribution.sample(TOLD_BY_ROWS, 0)
        # Rounded, since sums end in other digits on other machines.
        drawn = [np.round(X.to_numpy(dtype=np.float64), 6).tolist(), [str(label) for label in np.round(y, 6)]]
        return digest([self.truth, self.n_rows, self.schema.to_dict(), drawn])

    def split(self, seed: int, max_rows: int, test_rows: int) -> Split:
        fresh = min(test_rows, FRESH_ROWS.get(self.truth, MOST_FRESH_ROWS))
        drawn = self.distribution.sample(min(self.n_rows, max_rows), seed)
        return Split(*drawn, *self.distribution.sample(fresh, FRESH_SEEDS + seed))


def fit_and_test(
    dataset: Dataset, y: Array, seed: int, max_rows: int, test_rows: int, by: Array | None = None
) -> tuple[Array, Array]:
    """The numbers of the rows to fit on and to test on."""
    stratify = dataset.task == "classification"
    fit, test = hold_out(y, min(TEST_FRACTION, test_rows / len(y)), seed, stratify, by)
    # Where nothing could be held out that can be learnt from the others, the same rows come back.
    test = np.setdiff1d(test, fit, assume_unique=True)
    if len(test) > test_rows:
        # People are held out whole, so there may be more rows than were asked for.
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


def main_metric(task: str, n_classes: int) -> str:
    """The metric to show where none is asked for."""
    if task == "regression":
        return "rmse"
    return "auroc" if n_classes == 2 else "accuracy"


def is_named(name: str) -> bool:
    """Whether a text names a dataset that comes with askwise."""
    return name in PUBLIC or name.partition(":")[0] in DISTRIBUTIONS


def named(name: str) -> Dataset:
    """A dataset of `askwise demo` or a distribution of `askwise verify`, `cube:750` with so many rows."""
    if name in PUBLIC:
        data = load_public(name)
        return TableData(
            name, data.X, data.y.to_numpy(), data.task, dict(data.costs), dict(data.groups), list(data.free)
        )
    truth, colon, rows = name.partition(":")
    if truth not in DISTRIBUTIONS:
        raise unknown_name("dataset", name, [*PUBLIC, *DISTRIBUTIONS])
    if not colon:
        return KnownData(name, truth)
    if not rows.isdecimal() or int(rows) < FEWEST_ROWS:
        raise AskwiseError(
            f"{name!r} asks for {rows!r} rows; give a whole number of at least {FEWEST_ROWS}, as in {truth}:750"
        )
    return KnownData(name, truth, int(rows))


def budgets_for(dataset: Dataset, given: Sequence[float] | None = None) -> tuple[float, ...]:
    """The budgets to compare at: those given that do not exceed the price of everything, or some that suit the costs.

    Of equal costs 1, 2, 3, 5, ... of them; else a few in about equal ratios, from the cheapest group to everything,
    each the price of one group or of the cheapest ones together, so that none is just missed.
    """
    costs = dataset.schema.space.costs
    total, least = sum(costs), min(costs)
    if given is not None:
        within = tuple(sorted({float(k) for k in given if k <= total * (1 + 1e-9)}))
        if not within:
            raise AskwiseError(
                f"{dataset.name}: every budget is above {total:g}, the price of everything; give lower ones"
            )
        return within
    if len(set(costs)) == 1:
        return tuple(float(c * least) for c in COUNTS if c <= len(costs))
    # Sums such as 0.1 + 0.2 are written as they are meant.
    sums = {float(f"{k:.9g}") for k in (*costs, *np.cumsum(sorted(costs)))}
    worth = np.array(sorted(k for k in sums if k < total * (1 - 1e-8)))
    if len(worth) < N_BUDGETS:
        return (*(float(k) for k in worth), float(total))
    targets = np.geomspace(least, total, N_BUDGETS)[:-1]
    above = np.searchsorted(worth, targets * (1 - 1e-8))
    return (*sorted({float(worth[i]) for i in above if i < len(worth)}), float(total))


def _bytes(column: pd.Series[Any]) -> bytes:
    """Every value, the same on every machine: numbers, and texts and what else there is as they are written."""
    if pd.api.types.is_numeric_dtype(column.dtype):
        return column.to_numpy(dtype=np.float64, na_value=np.nan).tobytes()
    texts = [None if missing else str(v) for v, missing in zip(column, column.isna(), strict=True)]
    return json.dumps(texts).encode()


def people(by: Any, n_rows: int) -> Array:
    """Whom each row belongs to, as numbers."""
    values = pd.Series(np.asarray(by))
    if len(values) != n_rows:
        raise AskwiseError(f"split_by has {len(values)} values for {n_rows} rows; give one for each row")
    if values.isna().any():
        raise AskwiseError(f"split_by is missing in {int(values.isna().sum())} rows; give a value for each row")
    if values.nunique() < FEWEST_PEOPLE:
        raise AskwiseError(
            f"split_by has {values.nunique()} different values; at least {FEWEST_PEOPLE} are needed, "
            "to train, validate and test on"
        )
    return values.factorize()[0]


def digest(facts: Any, *parts: bytes) -> str:
    """A hash of facts that JSON can hold, and of bytes."""
    found = hashlib.sha256(json.dumps(facts, sort_keys=True, default=str).encode())
    for part in parts:
        found.update(part)
    return found.hexdigest()
