"""Methods x datasets x seeds: which cells a comparison has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import torch

from askwise._version import __version__
from askwise.core.costs import total_cost
from askwise.core.errors import AskwiseError, unknown_name
from askwise.evaluation import metrics
from askwise.methods.base import Method
from askwise.methods.fingerprint import TRAINING
from askwise.methods.registry import TABLE, method_for, names_for, short_name, short_names, why_not
from askwise.methods.settings import CIRCUMSTANCES
from askwise.studies.compare.asking import FittedCeiling, FittedModel
from askwise.studies.compare.baselines.candidate import BaselineCandidate
from askwise.studies.compare.baselines.registry import BASELINES
from askwise.studies.compare.budgets import budgets_for
from askwise.studies.compare.cells import Candidate, Cell, EstimatorCandidate, ExactCandidate
from askwise.studies.compare.data import Dataset, Split, digest

ALL, EXACT, CEILING = "all", "exact", "all-features"
SHARED, PAPER = "shared", "paper"
PROTOCOLS = (SHARED, PAPER)
# The protocol of baselines: one training fits a model for each budget.
PER_BUDGET = "per-budget"
# How long methods take beside others, roughly.
EFFORT = {
    "eddi": 16.0,
    "cwcf": 12.0,
    "opportunistic": 8.0,
    "dime": 5.0,
    "argmax-direct": 4.0,
    "boosting-best-k": 3.0,
    EXACT: 0.2,
}
# Goes up when what is measured in a cell changes, so that nothing old is taken for it.
MEASURING = 2


@dataclass(frozen=True, eq=False)
class Plan:
    """The cells of a comparison, and how each is run."""

    cells: tuple[Cell, ...]
    candidates: tuple[Candidate, ...]
    datasets: Mapping[str, Dataset]
    max_rows: int
    test_rows: int
    left_out: tuple[str, ...] = ()

    def split(self, cell: Cell) -> Split:
        return self.datasets[cell.dataset].split(cell.seed, self.max_rows, self.test_rows)


def plan(
    datasets: Sequence[Dataset],
    methods: Sequence[str] = (ALL,),
    seeds: int = 5,
    *,
    seeds_of: Mapping[str, int] | None = None,
    budgets: Sequence[float] | None = None,
    protocol: str = SHARED,
    metric: str | None = None,
    max_rows: int = 8000,
    test_rows: int = 5000,
    settings: Mapping[str, Any] | None = None,
) -> Plan:
    """The cells of a comparison, after every check that can be made before anything is trained.

    methods: their short names, or "all"; seeds_of: another number of seeds for some of them. protocol: "paper" fits
    one model for each budget where a method takes a budget, "shared" one for all. settings: of the methods that have
    them, such as epochs and device.
    """
    if protocol not in PROTOCOLS:
        raise unknown_name("protocol", protocol, PROTOCOLS)
    chosen = _chosen(datasets, methods)
    _check_seeds_of(seeds_of or {}, {name for names in chosen.values() for name in names})
    shown = _metrics(datasets, metric)
    cells: list[tuple[Cell, Candidate]] = []
    for dataset in datasets:
        spent = budgets_for(dataset, budgets)
        for name in chosen[dataset.name]:
            for seed in range((seeds_of or {}).get(name, seeds)):
                for protocol_of, some in _fits(name, dataset, protocol, spent):
                    candidate = _candidate(name, dataset, seed, protocol_of, some, settings)
                    facts = [__version__, MEASURING, TRAINING, dataset.fingerprint, name, *_facts(candidate), seed]
                    # With everything known there is nothing to pay, whatever the budgets.
                    mark = digest([*facts, () if name == CEILING else some, max_rows, test_rows])
                    size = (20 + dataset.schema.space.n_groups) * np.sqrt(1000 + min(dataset.n_rows, max_rows))
                    effort = EFFORT.get(name, 1.0) * float(size)
                    where = (dataset.name, name, seed, protocol_of, some, shown[dataset.name])
                    cells.append((Cell(*where, mark, effort), candidate))
    left_out = (*_left_out(datasets, methods, chosen), *_too_large(datasets, budgets or ()))
    by_name = {dataset.name: dataset for dataset in datasets}
    return Plan(tuple(c for c, _ in cells), tuple(c for _, c in cells), by_name, max_rows, test_rows, left_out)


def methods_for(dataset: Dataset) -> list[str]:
    """The short names of the methods and baselines that can learn a dataset."""
    baselines = BASELINES if dataset.inputs == TABLE else ()
    return [*names_for(dataset.task, dataset.inputs), *baselines, *([] if dataset.truth is None else [EXACT])]


def method_names() -> list[str]:
    """The short names of all methods, and the names of the baselines."""
    return [*short_names(), *BASELINES, EXACT]


def _chosen(datasets: Sequence[Dataset], methods: Sequence[str]) -> dict[str, list[str]]:
    """The methods to run on each dataset."""
    if not datasets:
        raise AskwiseError("there is no dataset to compare on; give one at least")
    names = [dataset.name for dataset in datasets]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise AskwiseError(f"the dataset {twice[0]!r} is given twice; keep one, or give it another name")
    wanted = dict.fromkeys(map(short_name, methods))
    for name in wanted:
        if name not in (ALL, *method_names()):
            raise unknown_name("method", name, [ALL, *method_names()])
    if not wanted:
        raise AskwiseError(f"there is no method to compare; give some of {', '.join([ALL, *method_names()])}")
    chosen = {d.name: [m for m in methods_for(d) if m in wanted or ALL in wanted] for d in datasets}
    if not any(chosen.values()):
        name = next(iter(wanted))
        raise AskwiseError(
            f"the method {name!r} has no dataset here: it {_why_not(name, datasets[0])}; give another method or dataset"
        )
    for dataset in datasets:
        _check_target(dataset, chosen[dataset.name])
    return chosen


def _why_not(name: str, dataset: Dataset) -> str:
    """Why a method can't be run on a dataset."""
    if name == EXACT:
        return "needs a distribution of `askwise verify`"
    if name in BASELINES:
        return "learns from tables, and images are given there"
    return f"{why_not(name, dataset.task, dataset.inputs)} there"


def _check_target(dataset: Dataset, names: Sequence[str]) -> None:
    try:
        if any(name != EXACT for name in names):
            # What can be learnt is the same for all of them.
            method = method_for("dime", dataset.task, dataset.inputs)()
            method.make_task(method.check_target(dataset.sample_target()))
        if not dataset.schema.space.n_groups:
            raise AskwiseError("there is nothing to ask")
    except ValueError as error:
        raise AskwiseError(f"{dataset.name}: {error}") from None


def _check_seeds_of(seeds_of: Mapping[str, int], names: set[str]) -> None:
    for name in seeds_of:
        if name not in names:
            if name in method_names():
                raise AskwiseError(f"{name} has seeds of its own and is not among the methods (--methods) that are run")
            raise unknown_name("method with seeds of its own", name, sorted(names))


def _left_out(datasets: Sequence[Dataset], methods: Sequence[str], chosen: Mapping[str, list[str]]) -> tuple[str, ...]:
    """A sentence for each method that was named and can't be run on a dataset."""
    names = [name for name in methods if name != ALL]
    short = dict.fromkeys(map(short_name, names))
    return tuple(
        f"{name} is not run on {d.name}: it {_why_not(name, d)}"
        for d, name in product(datasets, short)
        if name not in chosen[d.name]
    )


def _too_large(datasets: Sequence[Dataset], budgets: Sequence[float]) -> list[str]:
    """A sentence for each dataset that some of the budgets given are too large for."""
    found = []
    for dataset in datasets:
        large = sorted(set(budgets) - set(budgets_for(dataset, budgets or None)))
        if large:
            total = total_cost(dataset.schema.space.costs)
            which = ", ".join(f"{k:g}" for k in large)
            found.append(f"{dataset.name}: everything costs {total:g}, so these budgets are left out: {which}")
    return found


def _metrics(datasets: Sequence[Dataset], metric: str | None) -> dict[str, str]:
    """The metric to show of each dataset: the one asked for where its task has it, else its own."""
    if metric is not None and not any(metric in metrics.METRICS[d.task] for d in datasets):
        raise unknown_name("metric", metric, dict.fromkeys(m for d in datasets for m in metrics.METRICS[d.task]))
    for d in datasets:
        if d.metric not in metrics.METRICS[d.task]:
            raise unknown_name(f"metric of {d.name}:", d.metric, metrics.METRICS[d.task])
    return {d.name: metric if metric in metrics.METRICS[d.task] else d.metric for d in datasets}


def _fits(
    name: str, dataset: Dataset, protocol: str, budgets: tuple[float, ...]
) -> list[tuple[str, tuple[float, ...]]]:
    """Which cells there are: one for all budgets, or one for each where the method takes one."""
    if name in BASELINES:
        return [(PER_BUDGET, budgets)]
    trained = None if name in (EXACT, CEILING) else method_for(name, dataset.task, dataset.inputs)
    takes_one = trained is not None and "budget" in trained().get_params()
    return [(PAPER, (k,)) for k in budgets] if protocol == PAPER and takes_one else [(SHARED, budgets)]


def _candidate(
    name: str,
    dataset: Dataset,
    seed: int,
    protocol: str,
    budgets: tuple[float, ...],
    settings: Mapping[str, Any] | None,
) -> Candidate:
    if name == EXACT:
        assert dataset.truth is not None
        return ExactCandidate(dataset.truth, seed)
    if name in BASELINES:
        return BaselineCandidate(BASELINES[name], dataset.task, seed, dataset.questions, budgets)
    method = method_for(name, dataset.task, dataset.inputs)
    known = method().get_params()
    given = {key: value for key, value in (settings or {}).items() if key in known and value is not None}
    if protocol == PAPER:
        given["budget"] = budgets[0]
    # Of images, a method without a backbone leaves what is said about it.
    asked = {key: value for key, value in dataset.questions.items() if key in known}
    asked_as = FittedCeiling if name == CEILING else FittedModel
    return EstimatorCandidate(method(**asked, **given, random_state=seed), asked_as)


def _facts(candidate: Candidate) -> list[Any]:
    """What a result depends on: the kind of device, whose precision differs, and the method with all its settings."""
    device = torch.device(candidate.device).type
    if isinstance(candidate, BaselineCandidate):
        return [device, candidate.revision]
    estimator = getattr(candidate, "estimator", None)
    if not isinstance(estimator, Method):
        return [device]
    settings = estimator.get_params(deep=False)
    # Without texts of questions a result is what it was before there were any.
    left_out = (*CIRCUMSTANCES, "random_state", *(() if settings.get("questions") else ("questions",)))
    return [device, estimator.revision, {k: v for k, v in settings.items() if k not in left_out}]
