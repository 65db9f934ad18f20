"""One cell of a comparison: one method, trained and measured on one dataset with one seed."""

from __future__ import annotations

import json
import re
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import torch

from askwise.core.arrays import Array
from askwise.core.errors import AskwiseError, AskwiseWarning
from askwise.core.rows import evenly
from askwise.core.tasks import Task
from askwise.data.synthetic import DISTRIBUTIONS
from askwise.data.tables.split import hold_out
from askwise.data.whole_file import whole_file
from askwise.evaluation import frontier, metrics
from askwise.methods.base import Method
from askwise.model.file import plain
from askwise.model.model import Model
from askwise.studies.compare.asking import FittedModel, Record
from askwise.studies.compare.data import Split
from askwise.studies.processes import fraction_of_stages
from askwise.training.devices import pick_device

# Rows to look the penalties of the exact policy up on: its scores are dear.
EXACT_ROWS = 500
VALIDATION_FRACTION = 0.2
# Torch's random numbers and number of threads belong to the whole process: in one process only one cell runs at a time.
ONE_CELL = threading.Lock()


class Fitted(Protocol):
    """What was fitted to the rows of a split, ready to be asked about its test rows."""

    @property
    def task(self) -> Task: ...

    @property
    def n_groups(self) -> int: ...

    @property
    def rows_trained(self) -> int: ...

    def ask(
        self, X: Any, y: Array, budgets: Sequence[float], weights: Array | None = None
    ) -> tuple[list[Record], float]:
        """A record for each rule and budget, and the seconds of asking.

        y: answers as the metrics take them. weights: how much each row counts, (rows,).
        """
        ...


class Candidate(Protocol):
    """What is compared: something that is fitted to rows."""

    @property
    def device(self) -> str: ...

    def fit(self, split: Split, progress: Callable[[float], None]) -> Fitted: ...


@dataclass(frozen=True, eq=False)
class EstimatorCandidate:
    """An estimator, with its settings; asked_as: how the model that it fits is asked."""

    estimator: Method
    asked_as: type[FittedModel] = FittedModel

    @property
    def device(self) -> str:
        return str(pick_device(self.estimator.device))

    def fit(self, split: Split, progress: Callable[[float], None]) -> FittedModel:
        # What is left of the bar is for asking the test rows.
        on_progress = fraction_of_stages(lambda fraction: progress(min(0.95, fraction)))
        self.estimator.fit(split.X, split.y, split_by=split.by, progress=on_progress, sample_weight=split.weights)
        return self.asked_as(replace(self.estimator.model_, device=self.device))


@dataclass(frozen=True, eq=False)
class ExactCandidate:
    """The greedy policy that knows the distribution; it needs no rows but to look penalties up on."""

    truth: str
    seed: int
    device: str = "cpu"

    def fit(self, split: Split, progress: Callable[[float], None]) -> FittedModel:
        del progress
        known = DISTRIBUTIONS[self.truth]()
        model = Model(known.schema, known.task, known.policy)
        _, held = hold_out(split.y, VALIDATION_FRACTION, self.seed, known.task.kind == "classification")
        some = held[evenly(len(held), EXACT_ROWS).numpy()]
        frontier.keep_frontier(model, model.schema.encode(split.X.iloc[some]), split.y[some])
        model.card["rows_trained"] = 0
        return FittedModel(model)


@dataclass(frozen=True)
class Cell:
    """Which dataset, method and seed, and at which budgets; `protocol` is "paper" where one budget has its own cell.

    effort: how long it takes beside others, roughly.
    """

    dataset: str
    method: str
    seed: int
    protocol: str
    budgets: tuple[float, ...]
    metric: str
    fingerprint: str
    effort: float = 1.0

    def __str__(self) -> str:
        at = f", budget {self.budgets[0]:g}" if self.protocol == "paper" else ""
        return f"{self.dataset}, {self.method}, seed {self.seed}{at}"

    @property
    def facts(self) -> Record:
        """What tells the lines of this cell from those of others."""
        return {"dataset": self.dataset, "method": self.method, "seed": self.seed, "protocol": self.protocol}

    @property
    def file(self) -> str:
        at = [f"budget{self.budgets[0]:g}"] if self.protocol == "paper" else []
        name = "__".join([self.dataset, self.method, f"seed{self.seed}", *at, self.fingerprint[:12]])
        return re.sub(r"[^\w.+-]", "-", name) + ".json"

    def read(self, folder: Path) -> Record | None:
        """The outcome in this cell's file; None if there is no whole file."""
        try:
            found = json.loads((folder / self.file).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return found if isinstance(found, dict) and found.get("fingerprint") == self.fingerprint else None

    def write(self, folder: Path, outcome: Record) -> None:
        """Write the outcome into this cell's file, whole or not at all."""
        content = {**self.facts, "fingerprint": self.fingerprint, **outcome}
        with whole_file(folder / self.file) as part:
            part.write_text(json.dumps(plain(content), indent=1, allow_nan=False), encoding="utf-8")


def run_cell(cell: Cell, candidate: Candidate, split: Split, progress: Callable[[float], None]) -> Record:
    """What is measured in a cell; an `error` in place of figures where it failed."""
    try:
        with ONE_CELL, warnings.catch_warnings():
            # What a method warns of in one of a hundred trainings would only be noise here.
            warnings.simplefilter("ignore", AskwiseWarning)
            return {"error": None, **measure(cell, candidate, split, progress)}
    except Exception as error:
        message = str(error) if isinstance(error, AskwiseError) else f"{type(error).__name__}: {error}"
        return failure(message, traceback.format_exc())


def failure(message: str, details: str = "") -> Record:
    """The outcome of a cell that failed."""
    return {"error": message, "traceback": details, "records": []}


def is_complete(outcome: Record) -> bool:
    """Whether a cell was measured, by every metric that its task has now."""
    if outcome["error"]:
        return False
    wanted = [name for name, metric in metrics.METRICS[outcome["task"]].items() if not metric.two_classes]
    return all(name in record for record in outcome["records"] for name in wanted)


def measure(cell: Cell, candidate: Candidate, split: Split, progress: Callable[[float], None]) -> Record:
    """Fit, then ask the test rows up to every budget."""
    started, cpu_started = time.perf_counter(), time.process_time()
    fitted = candidate.fit(split, progress)
    seconds, cpu_seconds = time.perf_counter() - started, time.process_time() - cpu_started
    truth = metrics.coded(fitted.task, split.y_test)
    records, asking = fitted.ask(split.X_test, truth, cell.budgets, split.weights_test)
    return {
        "records": records,
        "train_seconds": seconds,
        "train_cpu_seconds": cpu_seconds,
        "microseconds_per_row": 1e6 * asking / len(split.y_test),
        "rows_trained": fitted.rows_trained,
        "n_test": len(split.y_test),
        "n_groups": fitted.n_groups,
        "task": fitted.task.kind,
        "device": torch.device(candidate.device).type,
    }
