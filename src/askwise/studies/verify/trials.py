"""Trainings on distributions that are known, in parallel processes, and how wrong they were on average."""

from __future__ import annotations

import math
import os
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd

from askwise.core.errors import unknown_name
from askwise.data.synthetic import DISTRIBUTIONS
from askwise.evaluation import metrics
from askwise.evaluation.known_truth import Comparison, compare
from askwise.methods.base import Method
from askwise.methods.dime.tables import DimeClassifier, DimeRegressor
from askwise.studies.processes import (
    SharedProgress,
    fraction_of_stages,
    ignore_interrupts_in_workers,
    report_regularly,
)
from askwise.training.modes import threads

METHODS: dict[str, type[Method]] = {"classification": DimeClassifier, "regression": DimeRegressor}
# The metric that `compare` scores by: the first of each kind.
METRICS = {kind: next(iter(metrics)) for kind, metrics in metrics.METRICS.items()}
UNITS = {"classification": "nats", "regression": "parts of the variance of y"}
# Fresh rows to compare on; exact values of CUBE-NM are dear.
FRESH_ROWS = 2000
FEWER_ROWS = {"cube-nm": 500}
FRESH_SEEDS = 1_000_000
# Figures of a comparison that are in units of the loss.
IN_UNITS = ("error_chosen", "error_open", "regret", "divergence")
# Points of a picture, of questions asked and of others that were open: more would hide each other.
MOST_PAIRS = 400


@dataclass(frozen=True)
class Trial:
    """One training: on which distribution, with how many rows, drawn with which seed."""

    task: str
    rows: int
    seed: int

    @property
    def effort(self) -> float:
        """How long it takes beside others, roughly, as seen on a few: what a bar and the order of work need."""
        return (20 + len(DISTRIBUTIONS[self.task]().columns)) * math.sqrt(1000 + self.rows)


@dataclass(frozen=True)
class Outcome:
    """What came of a trial.

    figures: those of `Comparison.figures`, in nats or in parts of the variance of y, and the mean score, accuracy or
    RMSE, over 1, 2, ... questions of the trained and of the exact greedy policy. scores: for each number of questions.
    pairs: a sample of (estimated, exact) information, and whether the group was the one asked.
    """

    trial: Trial
    kind: str
    figures: dict[str, float]
    scores: pd.DataFrame
    pairs: pd.DataFrame
    seconds: float

    def record(self) -> dict[str, Any]:
        """The trial and all its numbers, without the sample."""
        return {
            "task": self.trial.task,
            "rows": self.trial.rows,
            "seed": self.trial.seed,
            "metric": METRICS[self.kind],
            "unit": UNITS[self.kind],
            "seconds": self.seconds,
            **self.figures,
            "scores": self.scores.to_dict("records"),
        }


def trials_of(tasks: Sequence[str], rows: Sequence[int], seeds: int) -> list[Trial]:
    """Every task with every number of rows and every seed."""
    for task in tasks:
        if task not in DISTRIBUTIONS:
            raise unknown_name("task", task, DISTRIBUTIONS)
    each = product(dict.fromkeys(tasks), sorted(set(rows)), range(seeds))
    return [Trial(task, n, seed) for task, n, seed in each]


def run_trials(
    trials: Sequence[Trial],
    settings: Mapping[str, Any] | None = None,
    jobs: int | None = None,
    progress: Callable[[float], None] | None = None,
) -> list[Outcome]:
    """The outcome of each trial, the same whatever the number of processes (default: one a core).

    settings: of the estimator, beside what each distribution says of its table; progress: told the fraction done.
    """
    effort = np.array([trial.effort for trial in trials])
    # The longest first: at the end no core waits for it.
    order = np.argsort(-effort, kind="stable")
    processes = min(joblib.effective_n_jobs(jobs or -1), len(trials))
    with tempfile.TemporaryDirectory(prefix="askwise-", ignore_cleanup_errors=True) as folder:
        done = SharedProgress.create(Path(folder) / "done", len(trials))
        work = (joblib.delayed(_numbered)(i, trials[i], settings, done.path, os.getpid()) for i in order.tolist())
        found = joblib.Parallel(n_jobs=processes, batch_size=1, return_as="generator_unordered")(work)
        with closing(found), report_regularly(progress, lambda: done.weighted(effort)):
            outcomes = dict(found)
    return [outcomes[i] for i in range(len(trials))]


def run_trial(
    trial: Trial, settings: Mapping[str, Any] | None = None, progress: Callable[[float], None] | None = None
) -> Outcome:
    """Train on rows of the distribution, with the default settings, and compare on fresh ones; one thread."""
    started = time.perf_counter()
    truth = DISTRIBUTIONS[trial.task]()
    chosen = {**truth.settings, "device": "cpu", **(settings or {})}
    on_progress = None if progress is None else fraction_of_stages(progress)
    with threads(1):
        model = METHODS[truth.task.kind](**chosen, random_state=trial.seed)
        model.fit(*truth.sample(trial.rows, trial.seed), progress=on_progress)
        n_fresh = FEWER_ROWS.get(trial.task, FRESH_ROWS)
        comparison = compare(model.model_, truth, n_fresh, FRESH_SEEDS + trial.seed)
    unit, scores = truth.task.unit, comparison.scores
    figures = {name: value / unit if name in IN_UNITS else value for name, value in comparison.figures().items()}
    asked = scores[scores["questions"] > 0]
    figures |= {"score": float(asked["trained"].mean()), "exact_score": float(asked["exact_greedy"].mean())}
    pairs = _pairs(comparison, unit, trial.seed)
    return Outcome(trial, truth.task.kind, figures, scores, pairs, time.perf_counter() - started)


def records(outcomes: Sequence[Outcome]) -> pd.DataFrame:
    """One line for each trial, with all figures."""
    return pd.DataFrame([{k: v for k, v in outcome.record().items() if k != "scores"} for outcome in outcomes])


def summary(outcomes: Sequence[Outcome]) -> pd.DataFrame:
    """One line for each task and number of rows: the mean of every figure over seeds, and its deviation as `*_sd`."""
    table = records(outcomes)
    facts, figures = ["task", "rows", "metric", "unit"], ["seconds", *outcomes[0].figures]
    groups = table.groupby(facts, sort=False)
    means = groups[figures].mean()
    means.insert(0, "seeds", groups.size())
    return means.join(groups[figures].std().add_suffix("_sd")).reset_index()


def mean_scores(outcomes: Sequence[Outcome]) -> pd.DataFrame:
    """Scores after each number of questions, meaned over seeds, by task and number of rows."""
    parts = [o.scores.assign(task=o.trial.task, rows=o.trial.rows, metric=METRICS[o.kind]) for o in outcomes]
    return pd.concat(parts).groupby(["task", "rows", "metric", "questions"], sort=False).mean().reset_index()


def shrinkage(table: pd.DataFrame, figures: Sequence[str] = ("error_chosen", "divergence")) -> pd.DataFrame:
    """Figures of the summary, a line for each task and figure and a column for each number of rows."""
    long = table.melt(["task", "rows"], list(figures), "figure")
    lines = product(table["task"].unique(), figures)
    return long.pivot(index=["task", "figure"], columns="rows", values="value").reindex(list(lines))


def _pairs(comparison: Comparison, unit: float, seed: int) -> pd.DataFrame:
    """Some (estimated, exact), as many at most of groups asked as of others that were open."""
    step, row = np.nonzero(comparison.choice >= 0)
    asked = np.zeros(comparison.exact.shape, dtype=bool)
    asked[step, row, comparison.choice[step, row]] = True
    open_ = ~np.isnan(comparison.exact)
    draw = np.random.default_rng(seed)
    parts = []
    for chosen, of_kind in ((False, open_ & ~asked), (True, asked)):
        places = np.flatnonzero(of_kind)
        some = draw.choice(places, min(MOST_PAIRS, len(places)), replace=False)
        estimated, exact = (values.flat[some] / unit for values in (comparison.estimated, comparison.exact))
        parts.append(pd.DataFrame({"estimated": estimated, "exact": exact, "chosen": chosen}))
    return pd.concat(parts, ignore_index=True)


def _numbered(
    index: int, trial: Trial, settings: Mapping[str, Any] | None, done: Path, first: int
) -> tuple[int, Outcome]:
    """A trial with its number, in the first process or in another; it reports how far it is in the shared file."""
    ignore_interrupts_in_workers(first)
    shared = SharedProgress(done)
    outcome = run_trial(trial, settings, lambda fraction: shared.set(index, fraction))
    shared.set(index, 1.0)
    return index, outcome
