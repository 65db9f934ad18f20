"""Running the cells of a comparison that are not there yet, and gathering what all of them found."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd

from askwise.evaluation import metrics
from askwise.studies.compare.asking import Record
from askwise.studies.compare.cells import Candidate, Cell, failure, is_complete, run_cell
from askwise.studies.compare.data import Dataset, Split
from askwise.studies.compare.named_data import named
from askwise.studies.compare.plan import ALL, Plan, plan
from askwise.studies.processes import SharedProgress, ignore_interrupts_in_workers, report_regularly

FACTS = ["dataset", "method", "seed", "protocol", "rule", "budget", "mean_cost", "mean_groups"]
FIGURES = [
    "train_seconds",
    "train_cpu_seconds",
    "microseconds_per_row",
    "rows_trained",
    "n_test",
    "n_groups",
    "task",
    "device",
]
TEXTS = ("dataset", "method", "protocol", "rule", "task", "device", "metric")
KILLED = "its process ended before it did, most likely for want of memory; try fewer --jobs or --max-rows"


@dataclass(frozen=True, eq=False)
class Comparison:
    """results: one line for each cell, rule and budget; failed: cells with their errors; and how many cells were run
    now, how many were there, and how many are there that were not asked for.
    """

    results: pd.DataFrame
    failed: list[tuple[Cell, str]]
    n_run: int
    n_kept: int
    n_others: int = 0

    def write(self, folder: str | Path) -> dict[str, Path]:
        """Write results.csv, table.md and the pictures into a folder, each whole; gives their paths."""
        from askwise.studies.compare.files import write

        return write(self.results, Path(folder))


def compare(
    datasets: Sequence[Dataset | str],
    out: str | Path,
    methods: Sequence[str] | str = (ALL,),
    seeds: int = 5,
    jobs: int | None = None,
    progress: Callable[[float], None] | None = None,
    **choices: Any,
) -> Comparison:
    """Run every method on every dataset with every seed, but for what `out` holds already.

    datasets: tables, or names such as "wine" and "cube:750"; methods: their short names, or one of them. jobs: how many
    at a time, by default as `joblib.parallel_config` says, whose backend may be a cluster. progress: told the fraction
    done. choices: those of `plan`.
    """
    found = [named(dataset) if isinstance(dataset, str) else dataset for dataset in datasets]
    names = [methods] if isinstance(methods, str) else methods
    return run(plan(found, names, seeds, **choices), out, jobs, progress)


def run(
    planned: Plan, out: str | Path, jobs: int | None = None, progress: Callable[[float], None] | None = None
) -> Comparison:
    """Run the cells that are not in `out` yet, keeping each as it ends, and gather the results of all.

    A cell that failed, or was measured before one of the metrics existed, is run again.
    """
    folder = Path(out) / "cells"
    kept = {cell: cell.read(folder) for cell in planned.cells}
    found = {cell: outcome for cell, outcome in kept.items() if outcome is not None and is_complete(outcome)}
    # The longest begin first, so that at the end no core waits for one.
    order = sorted(range(len(planned.cells)), key=lambda i: -planned.cells[i].effort)
    todo = [i for i in order if planned.cells[i] not in found]
    if todo:
        with closing(_outcomes(planned, todo, jobs, progress)) as outcomes:
            for i, outcome in outcomes:
                cell = planned.cells[i]
                cell.write(folder, outcome)
                found[cell] = outcome
    failed = [(cell, str(found[cell]["error"])) for cell in planned.cells if found[cell]["error"]]
    own = {cell.file for cell in planned.cells}
    others = sum(path.name not in own for path in folder.glob("*.json"))
    return Comparison(table_of(planned.cells, found), failed, len(todo), len(planned.cells) - len(todo), others)


def columns() -> list[str]:
    """The columns of the results."""
    return [*FACTS, *metrics.all_metrics(), *FIGURES, "metric"]


def table_of(cells: Sequence[Cell], found: Mapping[Cell, Record]) -> pd.DataFrame:
    """One line for each cell, rule and budget."""
    lines = []
    for cell in cells:
        outcome = found[cell]
        figures = {name: outcome.get(name) for name in FIGURES} | {"metric": cell.metric}
        lines += [{**cell.facts, **record, **figures} for record in outcome["records"]]
    names = columns()
    return pd.DataFrame(lines, columns=names).astype({c: float for c in names if c not in TEXTS} | {"seed": int})


def _outcomes(
    planned: Plan, todo: Sequence[int], jobs: int | None, progress: Callable[[float], None] | None
) -> Generator[tuple[int, Record], None, None]:
    """Each cell's number and outcome as it ends. Where a process is killed, the cells it may have run go on alone."""
    effort = np.array([planned.cells[i].effort for i in todo])
    with tempfile.TemporaryDirectory(prefix="askwise-", ignore_cleanup_errors=True) as folder:
        done = SharedProgress.create(Path(folder) / "done", len(todo))
        left, begun = dict(enumerate(todo)), set[int]()

        def work(places: Sequence[int]) -> Iterator[Any]:
            for place in places:
                begun.add(place)
                cell, candidate = planned.cells[todo[place]], planned.candidates[todo[place]]
                arguments = (cell, candidate, planned.split(cell), done.path, os.getpid())
                yield joblib.delayed(_numbered)(place, *arguments)

        with report_regularly(progress, lambda: done.weighted(effort)):
            while left:
                begun.clear()
                # No more at hand than are run: those begun when a process is killed are the ones to suspect.
                parallel = joblib.Parallel(
                    n_jobs=jobs, batch_size=1, pre_dispatch="n_jobs", return_as="generator_unordered"
                )
                try:
                    with closing(parallel(work(list(left)))) as ended:
                        for place, outcome in ended:
                            begun.discard(place)
                            done.set(place, 1.0)
                            yield left.pop(place), outcome
                except BrokenProcessPool:
                    for place in sorted(begun):
                        outcome = _alone(next(work([place])))
                        done.set(place, 1.0)
                        yield left.pop(place), outcome


def _alone(task: Any) -> Record:
    """The outcome of a cell in a process where nothing else runs, whatever becomes of that process."""
    try:
        # Two, so that it is a process of its own.
        ((_, outcome),) = joblib.Parallel(n_jobs=2, batch_size=1)([task])
    except BrokenProcessPool:
        return failure(KILLED)
    return dict(outcome)


def _numbered(place: int, cell: Cell, candidate: Candidate, split: Split, done: Path, first: int) -> tuple[int, Record]:
    """A cell with its place, in the first process or in another; it reports how far it is in the shared file."""
    ignore_interrupts_in_workers(first)
    # On another machine of a cluster there is no such file, and the bar moves with cells that end.
    shared = SharedProgress(done) if done.exists() else None

    def report(fraction: float) -> None:
        if shared is not None:
            shared.set(place, fraction)

    return place, run_cell(cell, candidate, split, report)
