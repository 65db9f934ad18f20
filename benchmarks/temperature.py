"""Temperature: what one fitted on the validation rows gains or loses in log loss on fresh rows, against none."""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any
from unittest import mock

import joblib
import numpy as np
import pandas as pd
import torch
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.model_selection import train_test_split

from askwise import Budget, DimeClassifier
from askwise.data.synthetic import DISTRIBUTIONS
from askwise.methods.dime import dime
from askwise.training import temperature
from askwise.training.loop import threads
from common import Table, write_results

# How a temperature is found: (least allowed, spread of the prior).
WAYS = {"either way": (1 / math.e, 0.5), "either way, tight": (1 / math.e, 0.1), "1 or more": (1.0, 0.5)}
KNOWN = ("tests:250", "tests:1000", "network:250", "network:1000", "prior:500", "costs:500", "cube:250", "cube:750")
TABLES = ("heart", "breast", "digits")


def data(name: str, seed: int, folder: Path | None) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
    """Rows to fit, fresh rows, and settings."""
    task, _, n_rows = name.partition(":")
    if n_rows:
        truth = DISTRIBUTIONS[task]()
        return *truth.sample(int(n_rows), 1000 + seed), *truth.sample(4000, 5), truth.settings
    if name == "heart":
        assert folder is not None, "heart needs the data folder"
        frame = pd.read_csv(folder / "heart_cleveland.csv.gz")
        x, y = frame.iloc[:, :-1], frame.iloc[:, -1].to_numpy()
    else:
        x, y = (load_digits if name == "digits" else load_breast_cancer)(return_X_y=True)
    x, fresh, y, answers = train_test_split(x, y, test_size=0.3, random_state=seed, stratify=y)
    return x, y, fresh, answers, {}


def trial(name: str, seed: int, folder: Path | None) -> dict[str, tuple[float, float]]:
    """For each way its temperature and what it changes in the mean log loss along the path."""
    x, y, fresh, answers, settings = data(name, seed, folder)
    found: dict[str, float] = {}

    def fit_all(*given: Any) -> float:
        for way, (least, spread) in WAYS.items():
            candidates = [least * math.exp(t / 40) for t in range(round(40 * (1.5 - math.log(least))) + 1)]
            with mock.patch.multiple(temperature, CANDIDATES=candidates, SPREAD=spread):
                found[way] = temperature.fit_temperature(*given)
        return 1.0

    with threads(1), mock.patch.object(dime, "fit_temperature", fit_all):
        estimator = DimeClassifier(**settings, random_state=seed, device="cpu").fit(x, y)
    model = estimator.model_
    trace = model.trace(estimator.encode(fresh), [Budget(sum(model.costs(None)))], model.costs(None))
    outputs = trace.outputs[:21]
    truth = model.task.encode(np.asarray(answers)).repeat(len(outputs))

    def loss(degree: float) -> float:
        return float(torch.nn.functional.cross_entropy((outputs / degree).flatten(0, 1), truth))

    return {way: (degree, loss(degree) - loss(1.0)) for way, degree in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, nargs="?", help="folder that holds heart_cleveland.csv.gz")
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--only", nargs="*", default=[*KNOWN, *TABLES])
    parser.add_argument("--jobs", type=int, default=-1)
    parser.add_argument("--out", default="benchmarks/out")
    args = parser.parse_args()
    table = Table(["rows of", *(f"{way}: {what}" for way in WAYS for what in ("T", "log loss"))])
    for name in args.only:
        work = (joblib.delayed(trial)(name, seed, args.data) for seed in range(args.seeds))
        trials = joblib.Parallel(n_jobs=args.jobs)(work)
        means = [np.mean([found[way] for found in trials], axis=0) for way in WAYS]
        table.add([name, *(text for t, gain in means for text in (f"{t:.2f}", f"{gain:+.4f}"))])
    print(table)
    write_results(args.out, "temperature", table)


if __name__ == "__main__":
    main()
