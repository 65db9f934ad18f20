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
from askwise.core.rows import Rows, evenly
from askwise.core.stopping import AverageCost, Budget
from askwise.core.trace import Trace
from askwise.data.synthetic import DISTRIBUTIONS
from askwise.data.tables.split import hold_out
from askwise.data.whole_file import whole_file
from askwise.evaluation import curves, frontier, metrics
from askwise.methods.base import Method
from askwise.model.file import plain
from askwise.model.model import Model
from askwise.studies.compare.data import Split
from askwise.studies.processes import fraction_of_stages
from askwise.training.devices import pick_device
from askwise.training.modes import threads

Record = dict[str, Any]

# Rows to look the penalties of the exact policy up on: its scores are dear.
EXACT_ROWS = 500
VALIDATION_FRACTION = 0.2
# Torch's random numbers and number of threads belong to the whole process: in one process only one cell runs at a time.
ONE_CELL = threading.Lock()


class Candidate(Protocol):
    """What is compared: something that fits a model to rows."""

    @property
    def device(self) -> str: ...

    def fit(self, split: Split, progress: Callable[[float], None]) -> Model: ...


@dataclass(frozen=True, eq=False)
class EstimatorCandidate:
    """An estimator, with its settings."""

    estimator: Method

    @property
    def device(self) -> str:
        return str(pick_device(self.estimator.device))

    def fit(self, split: Split, progress: Callable[[float], None]) -> Model:
        # What is left of the bar is for asking the test rows.
        on_progress = fraction_of_stages(lambda fraction: progress(min(0.95, fraction)))
        self.estimator.fit(split.X, split.y, split_by=split.by, progress=on_progress)
        return self.estimator.model_


@dataclass(frozen=True, eq=False)
class ExactCandidate:
    """The greedy policy that knows the distribution; it needs no rows but to look penalties up on."""

    truth: str
    seed: int
    device: str = "cpu"

    def fit(self, split: Split, progress: Callable[[float], None]) -> Model:
        del progress
        known = DISTRIBUTIONS[self.truth]()
        model = Model(known.schema, known.task, known.policy)
        _, held = hold_out(split.y, VALIDATION_FRACTION, self.seed, known.task.kind == "classification")
        some = held[evenly(len(held), EXACT_ROWS).numpy()]
        frontier.keep_frontier(model, model.schema.encode(split.X.iloc[some]), split.y[some])
        model.card["rows_trained"] = 0
        return model


@dataclass(frozen=True)
class Cell:
    """Which dataset, method and seed, and at which budgets; `protocol` is "paper" where one budget has its own model.

    is_ceiling: measured with everything known, and nothing else. effort: how long it takes beside others, roughly.
    """

    dataset: str
    method: str
    seed: int
    protocol: str
    budgets: tuple[float, ...]
    metric: str
    fingerprint: str
    is_ceiling: bool = False
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
    wanted = metrics.METRICS[outcome["task"]]
    return all(name in record for record in outcome["records"] for name in wanted)


def measure(cell: Cell, candidate: Candidate, split: Split, progress: Callable[[float], None]) -> Record:
    """Fit, then ask the test rows up to every budget."""
    device = candidate.device
    started, cpu_started = time.perf_counter(), time.process_time()
    model = candidate.fit(split, progress)
    seconds, cpu_seconds = time.perf_counter() - started, time.process_time() - cpu_started
    with threads(1 if torch.device(device).type == "cpu" else None):
        model = replace(model, device=device)
        rows = model.schema.encode(split.X_test)
        truth = metrics.coded(model.task, split.y_test)
        # The first steps copy the policy and fill caches: they are not asking's own time.
        model.trace(rows.take(slice(0, 1)), [None], model.costs())
        if cell.is_ceiling:
            records, asking = _everything(model, rows, truth)
        else:
            records, asking = _at_budgets(model, rows, truth, cell.budgets)
            records += _at_average_costs(model, rows, truth, cell.budgets)
    return {
        "records": records,
        "train_seconds": seconds,
        "train_cpu_seconds": cpu_seconds,
        "microseconds_per_row": 1e6 * asking / len(rows),
        "rows_trained": model.card["rows_trained"],
        "n_test": len(rows),
        "n_groups": model.schema.space.n_groups,
        "task": model.task.kind,
        "device": torch.device(device).type,
    }


def _everything(model: Model, rows: Rows, truth: Array) -> tuple[list[Record], float]:
    """The metrics with everything known, and the seconds that took."""
    started = time.perf_counter()
    answer = model.task.decode(model.outputs(rows))
    seconds = time.perf_counter() - started
    paid = rows.available.double() @ torch.tensor(model.costs(), dtype=torch.float64)
    counts = rows.available.double().sum(1)
    facts = {"mean_cost": float(paid.mean()), "mean_groups": float(counts.mean())}
    total = float(sum(model.costs()))
    return [{"rule": "everything", "budget": total, **facts, **metrics.metrics(model.task, answer, truth)}], seconds


def _at_budgets(model: Model, rows: Rows, truth: Array, budgets: Sequence[float]) -> tuple[list[Record], float]:
    """The metrics at each budget, and the seconds of asking up to the largest."""
    prices, rules = model.costs(), [Budget(k) for k in sorted(budgets)]
    # With equal costs a budget cuts the walk of the largest one; else each goes on with what it can still pay.
    walks = [rules] if len(set(prices)) == 1 else [[rule] for rule in rules]
    records: list[Record] = []
    seconds = 0.0
    for together in walks:
        started = time.perf_counter()
        trace = model.trace(rows, together, prices, walked_by=together[-1])
        seconds = time.perf_counter() - started
        records += _records(model, trace, Budget.name, [rule.k for rule in together], truth)
    return records, seconds


def _at_average_costs(model: Model, rows: Rows, truth: Array, budgets: Sequence[float]) -> list[Record]:
    """The metrics where each budget is an average over cases; none where scores are only an order."""
    if not model.policy.is_information:
        return []
    prices = model.costs()
    rules = [model.rule(AverageCost(k), prices) for k in budgets]
    if len(set(prices)) == 1:
        return _records(model, model.trace(rows, rules, prices), AverageCost.name, budgets, truth)
    # Each may stand for a budget, which goes on with what it can still pay.
    traces = [model.trace(rows, [rule], prices, walked_by=rule) for rule in rules]
    each = zip(budgets, traces, strict=True)
    return [record for k, trace in each for record in _records(model, trace, AverageCost.name, [k], truth)]


def _records(model: Model, trace: Trace, rule: str, budgets: Sequence[float], truth: Array) -> list[Record]:
    """The costs and metrics at the step where each rule stops the trace."""
    return [
        {"rule": rule, "budget": float(k), **curves.cost_and_metrics(model, trace, stop.at, truth)}
        for k, stop in zip(budgets, trace.stops, strict=True)
    ]
