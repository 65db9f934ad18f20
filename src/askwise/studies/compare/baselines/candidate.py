"""A baseline in a comparison: one order from the rows to fit on, and a model for each budget."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from sklearn.dummy import DummyClassifier, DummyRegressor
from threadpoolctl import threadpool_limits

from askwise.core.arrays import Array
from askwise.core.row_weights import scaled_to_mean_1
from askwise.core.stopping import Budget
from askwise.core.tasks import Classification, Regression, Task
from askwise.data.tables.schema import Schema
from askwise.evaluation import metrics
from askwise.studies.compare.asking import Record
from askwise.studies.compare.baselines.baseline import CLASSES, Baseline, Predictor, answer_of
from askwise.studies.compare.baselines.columns import Cases, with_values
from askwise.studies.compare.baselines.fixed_order import buy, order_of
from askwise.studies.compare.data import Split


@dataclass(frozen=True, eq=False)
class BaselineCandidate:
    """A baseline of one seed; questions: the costs, groups and free columns that methods are given."""

    kind: type[Baseline]
    task: str
    seed: int
    questions: Mapping[str, Any]
    budgets: tuple[float, ...]
    device: ClassVar[str] = "cpu"

    @property
    def revision(self) -> int:
        return self.kind.revision

    def fit(self, split: Split, progress: Callable[[float], None]) -> FittedBaseline:
        """Find the order, then fit a model for each budget to rows that know what it buys."""
        schema = Schema.of(split.X, **self.questions)
        task = _task(self.task, split.y, split.weights)
        cases, y = Cases.of(schema, split.X), metrics.coded(task, split.y)
        baseline = self.kind(self.task, self.seed, split.by, scaled_to_mean_1(split.weights))
        with one_thread():
            order = order_of(baseline.importance(cases, y), cases.prices)
            models: dict[float, Predictor] = {}
            for k in self.budgets:
                progress((1 + len(models)) / (2 + len(self.budgets)))
                frame = cases.knowing(buy(order, cases.available, cases.prices, k).known)
                models[k] = baseline.fit(frame, y) if with_values(frame) else FittedMean(baseline, y)
        return FittedBaseline(schema, task, order, models, len(y))


@dataclass(frozen=True, eq=False)
class FittedBaseline:
    """A fixed order of groups, and the model for each budget."""

    schema: Schema
    task: Task
    order: Array
    models: Mapping[float, Predictor]
    rows_trained: int

    @property
    def n_groups(self) -> int:
        return self.schema.space.n_groups

    def ask(
        self, X: Any, y: Array, budgets: Sequence[float], weights: Array | None = None
    ) -> tuple[list[Record], float]:
        """The record at each budget, and the seconds of asking at the largest."""
        cases = Cases.of(self.schema, X)
        records, seconds = [], 0.0
        for k in sorted(budgets):
            with one_thread():
                started = time.perf_counter()
                known, spent = buy(self.order, cases.available, cases.prices, k)
                answer = self.models[k].answer(cases.knowing(known))
                seconds = time.perf_counter() - started
            means = [float(np.average(part, weights=weights)) for part in (spent, known.sum(1))]
            facts = {"mean_cost": means[0], "mean_groups": means[1]}
            found = metrics.metrics(self.task, answer, y, weights=weights)
            records.append({"rule": Budget.name, "budget": float(k), **facts, **found})
        return records, seconds


class FittedMean:
    """The frequency of each class, or the mean: for a budget that buys nothing."""

    def __init__(self, baseline: Baseline, y: Array) -> None:
        nothing = np.zeros((len(y), 1))
        model = DummyClassifier(strategy="prior") if baseline.is_classes else DummyRegressor()
        self.model = model.fit(nothing, y, baseline.weights)

    def answer(self, frame: pd.DataFrame) -> Array:
        return answer_of(self.model, np.zeros((len(frame), 1)))


def _task(kind: str, y: Array, weights: Array | None) -> Task:
    if kind == CLASSES:
        return Classification(tuple(np.unique(y).tolist()))
    center = np.average(y, weights=weights)
    return Regression(float(center), float(np.average((y - center) ** 2, weights=weights) ** 0.5))


@contextmanager
def one_thread() -> Iterator[None]:
    """Run scikit-learn on one core, as methods run: times are then of the same kind."""
    with threadpool_limits(1):
        yield
