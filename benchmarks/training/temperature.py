"""Temperature: what one fitted on the validation rows gains or loses in log loss on fresh rows, against none."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import joblib
import numpy as np
import torch
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.model_selection import train_test_split

from askwise import Budget, DimeClassifier
from askwise.core.policy import Policy
from askwise.core.tasks import Task
from askwise.data.synthetic import DISTRIBUTIONS
from askwise.training import temperature
from askwise.training.loop import Training
from askwise.training.modes import threads
from benchmarks.shared.data import heart_rows
from benchmarks.shared.options import Options, tiny
from benchmarks.shared.results import Table, write_results

# How a temperature is found: (least allowed, spread of the prior).
WAYS = {"either way": (1 / math.e, 0.5), "either way, tight": (1 / math.e, 0.1), "1 or more": (1.0, 0.5)}
KNOWN = ("tests:250", "tests:1000", "network:250", "network:1000", "prior:500", "costs:500", "cube:250", "cube:750")
TABLES = ("heart", "breast", "digits")


class Untempered(DimeClassifier):
    """A classifier whose temperature stays 1, and which keeps those that each way would have found."""

    temperatures_: dict[str, float]

    def calibrate(self, policy: Policy, training: Training, task: Task) -> None:
        del task
        prices, steps = self.prices(policy, training), self.steps(policy.space)
        self.temperatures_ = {}
        for way, (least, spread) in WAYS.items():
            candidates = [least * math.exp(t / 40) for t in range(round(40 * (1.5 - math.log(least))) + 1)]
            with mock.patch.multiple(temperature, CANDIDATES=candidates, SPREAD=spread):
                self.temperatures_[way] = temperature.fit_temperature(policy, training.val, prices, steps)


def data(args: argparse.Namespace, name: str, seed: int) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
    """Rows to fit, fresh rows, and settings."""
    task, _, n_rows = name.partition(":")
    if n_rows:
        truth = DISTRIBUTIONS[task]()
        return *truth.sample(int(n_rows), 1000 + seed), *truth.sample(args.fresh_rows, 5), truth.settings
    if name == "heart":
        assert args.data is not None, "heart needs the data folder"
        x, y = heart_rows(args.data)
    else:
        x, y = (load_digits if name == "digits" else load_breast_cancer)(return_X_y=True)
    x, fresh, y, answers = train_test_split(x, y, test_size=0.3, random_state=seed, stratify=y)
    return x, y, fresh, answers, {}


def trial(args: argparse.Namespace, name: str, seed: int) -> dict[str, tuple[float, float]]:
    """For each way its temperature and what it changes in the mean log loss along the path."""
    x, y, fresh, answers, settings = data(args, name, seed)
    with threads(1):
        estimator = Untempered(**settings | tiny(args, Untempered), random_state=seed, device="cpu").fit(x, y)
    model = estimator.model_
    trace = model.trace(estimator.encode(fresh), [Budget(sum(model.costs(None)))], model.costs(None))
    outputs = trace.outputs[:21]
    truth = model.task.encode(np.asarray(answers)).repeat(len(outputs))

    def loss(degree: float) -> float:
        return float(torch.nn.functional.cross_entropy((outputs / degree).flatten(0, 1), truth))

    return {way: (degree, loss(degree) - loss(1.0)) for way, degree in estimator.temperatures_.items()}


def main(argv: Sequence[str] | None = None) -> None:
    options = Options(__doc__)
    options.add_argument("data", type=Path, nargs="?", help="folder that holds heart_cleveland.csv.gz")
    options.add("--seeds", type=int, default=8, smoke=1)
    options.add("--only", nargs="*", default=[*KNOWN, *TABLES], smoke=["costs:100", "breast"])
    options.add("--fresh-rows", type=int, default=4000, smoke=50, help="of a distribution whose answers are known")
    options.add("--jobs", type=int, default=-1, smoke=1)
    args = options.read(argv)
    table = Table(["rows of", *(f"{way}: {what}" for way in WAYS for what in ("T", "log loss"))])
    for name in args.only:
        work = (joblib.delayed(trial)(args, name, seed) for seed in range(args.seeds))
        trials = joblib.Parallel(n_jobs=args.jobs)(work)
        means = [np.mean([found[way] for found in trials], axis=0) for way in WAYS]
        table.add([name, *(text for t, gain in means for text in (f"{t:.2f}", f"{gain:+.4f}"))])
    print(table)
    write_results(args.out, "temperature", table)


if __name__ == "__main__":
    main()
