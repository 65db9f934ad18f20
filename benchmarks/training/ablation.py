"""What DIME's ways of training are worth: each tried on tables, and on distributions whose answers are known."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import joblib
import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.model_selection import train_test_split

from askwise import Budget
from askwise.core.tasks import Classification
from askwise.data.synthetic import DISTRIBUTIONS
from askwise.evaluation.known_truth import compare
from askwise.evaluation.metrics import expected_calibration_error
from askwise.methods.dime.base import Dime
from askwise.training.modes import threads
from benchmarks.shared.data import digits_split, heart_rows
from benchmarks.shared.measuring import cpu_seconds
from benchmarks.shared.options import Options, tiny
from benchmarks.shared.results import Table, write_results
from benchmarks.shared.varied_training import Variant, VariedClassifier, VariedRegressor

DATA = ("digits", "cube:750", "cube:800", "network:1000", "tests:1000", "gaussian:1000", "heart", "breast", "diabetes")
FIGURES = ("score", "loss", "ece", "realised", "error_open", "relative_error_chosen", "CPU s")
QUESTIONS, ECE_AFTER = 20, 10
FRESH_SEED, FIRST_SEED = 99, 1000

CLEAN = Variant(dropout=0.3, updates=1700, temperature=False)
BOTH = Variant(judge_values=True)
VARIANTS = {
    "today": Variant(),
    # How today's way came about.
    "before": replace(CLEAN, targets="noisy"),
    "targets without dropout": CLEAN,
    "and temperature": replace(CLEAN, temperature=True),
    "and dropout 0.2": replace(CLEAN, dropout=0.2),
    "and dropout 0.1": replace(CLEAN, dropout=0.1),
    "and no dropout": replace(CLEAN, dropout=0.0),
    "and 300 updates": replace(CLEAN, updates=300),
    # What was tried beside it.
    "divergence": replace(CLEAN, targets="divergence"),
    "mean of loss and divergence": replace(CLEAN, targets="mean"),
    "refit": replace(CLEAN, temperature=True, refit=600),
    "divergence and refit": replace(CLEAN, targets="divergence", temperature=True, refit=600),
    "factor": replace(CLEAN, temperature=True, factor=True),
    "factor, dropout 0.2": replace(CLEAN, temperature=True, factor=True, dropout=0.2),
    "factor, dropout 0.1": replace(CLEAN, temperature=True, factor=True, dropout=0.1),
    "factor, 300 updates": replace(CLEAN, temperature=True, factor=True, updates=300),
    "factor, 300 updates, dropout 0.1": replace(CLEAN, temperature=True, factor=True, updates=300, dropout=0.1),
    "factor, 100 updates": replace(CLEAN, temperature=True, factor=True, updates=100),
    "dropout 0.1 of values only": replace(CLEAN, value_dropout=0.1),
    "dropout 0.1 of predictions only": replace(CLEAN, dropout=0.1, value_dropout=0.3),
    "today, values judged": BOTH,
    "today, values judged, 1700 updates": replace(BOTH, updates=1700),
    "today, values judged, averaging 0.998": replace(BOTH, averaging=0.998),
    "today, values judged, no patience": replace(BOTH, patience=False),
    "today, values judged, divergence": replace(BOTH, targets="divergence"),
}
# Each part of a variant is in one of these.
FEW = (
    "today",
    "before",
    "mean of loss and divergence",
    "divergence and refit",
    "factor",
    "dropout 0.1 of values only",
    "today, values judged, averaging 0.998",
    "today, values judged, no patience",
)


def load(args: argparse.Namespace, name: str, seed: int) -> tuple[Any, Any, Any, Any, Any]:
    """Rows and answers to train, a set to validate on or None, and rows and answers to test."""
    if name == "digits":
        data = digits_split(args.folder)
        return data.x, data.y, data.validation, data.x_test, data.y_test
    if name == "heart":
        x, y = heart_rows(args.folder)
    else:
        x, y = {"breast": load_breast_cancer, "diabetes": load_diabetes}[name](return_X_y=True)
    stratify = y if name != "diabetes" else None
    x, x_test, y, y_test = train_test_split(x, y, test_size=0.3, random_state=seed, stratify=stratify)
    return x, y, None, x_test, y_test


def on_table(model: Dime, x: Any, y: Any) -> dict[str, float]:
    """score: mean accuracy after 1 to 10 questions; loss: after 0 to 20, in its natural unit; ece: after 10;
    realised: how far the loss fell, against what was estimated."""
    task, n_groups = model.model_.task, model.model_.schema.space.n_groups
    n_steps = min(n_groups, QUESTIONS)
    trace = model.model_.trace(model.encode(x), [Budget(n_steps)], model.model_.costs(None))
    truth = task.encode(np.asarray(y))
    losses = [float(task.loss(outputs, truth).mean()) / task.unit for outputs in trace.outputs[: n_steps + 1]]
    estimated = float(trace.best[:n_steps].clamp_min(0).mean(1).sum()) / task.unit
    figures = {"loss": float(np.mean(losses)), "realised": (losses[0] - losses[-1]) / estimated}
    if isinstance(task, Classification):
        hits = [float((outputs.argmax(1) == truth).double().mean()) for outputs in trace.outputs[1:11]]
        proba = task.decode(trace.outputs[min(ECE_AFTER, n_steps)])
        ece = expected_calibration_error(proba, truth.numpy(), np.ones((1, len(truth))))
        figures |= {"score": float(np.mean(hits)), "ece": float(ece[0])}
    return figures


def run(args: argparse.Namespace, variant: Variant, data: str, seed: int) -> dict[str, float]:
    """The figures of one training; "cube:750" is 750 rows of a distribution whose answers are known."""
    name, _, n_rows = data.partition(":")
    if n_rows:
        truth = DISTRIBUTIONS[name]()
        settings, is_regression = truth.settings, truth.task.kind == "regression"
        (x, y), val = truth.sample(int(n_rows), FIRST_SEED + seed), None
    else:
        x, y, val, x_test, y_test = load(args, name, seed)
        settings, is_regression = {"max_steps": QUESTIONS if name == "digits" else None}, name == "diabetes"
    method = VariedRegressor if is_regression else VariedClassifier
    settings = settings | {"dropout": variant.dropout, "random_state": seed, "device": "cpu"}
    model = method(**settings | tiny(args, method))
    model.variant = variant
    with threads(1):
        _, seconds = cpu_seconds(lambda: model.fit(x, y, eval_set=val))
        if n_rows:
            comparison = compare(model.model_, truth, args.fresh_rows, FRESH_SEED)
            figures = comparison.figures() | {"score": float(comparison.scores["trained"].iloc[1:11].mean())}
        else:
            figures = on_table(model, x_test, y_test)
    return {**figures, "CPU s": seconds}


def shortened(variant: Variant, updates: int) -> Variant:
    return replace(variant, updates=updates, refit=min(variant.refit, updates))


def main(argv: Sequence[str] | None = None) -> None:
    options = Options(__doc__)
    options.add_data("folder", "folder with digits_split.npz and heart_cleveland.csv.gz")
    options.add("--seeds", type=int, default=5, smoke=1)
    names = list(VARIANTS)
    options.add("--only", nargs="+", choices=names, default=names, smoke=FEW, help="variants, all by default")
    known = "digits, heart, breast, diabetes or distribution:rows"
    options.add("--data", nargs="+", default=DATA, smoke=("digits", "cube:100", "gaussian:100"), help=known)
    options.add("--updates", type=int, smoke=1, help="of every stage, to see whether all runs through")
    options.add("--fresh-rows", type=int, default=2000, smoke=50, help="to compare with known answers on")
    options.add("--jobs", type=int, default=-1, smoke=1, help="processes, as many as cores by default")
    args = options.read(argv)
    chosen = {n: shortened(VARIANTS[n], args.updates) if args.updates else VARIANTS[n] for n in args.only}
    work = (
        joblib.delayed(run)(args, variant, data, seed)
        for data, variant, seed in product(args.data, chosen.values(), range(args.seeds))
    )
    found = joblib.Parallel(n_jobs=args.jobs, batch_size=1, return_as="generator")(work)
    table = Table(["data", "variant", *FIGURES])
    runs = []
    for data, name in product(args.data, chosen):
        of_seeds = [next(found) for _ in range(args.seeds)]
        mean = pd.DataFrame(of_seeds).mean()
        table.add([data, name, *(float(mean[f]) if f in mean else "–" for f in FIGURES)])
        runs += [{"data": data, "variant": name, "seed": seed, **figures} for seed, figures in enumerate(of_seeds)]
    print(table)
    write_results(args.out, "ablation", table, runs=runs)


if __name__ == "__main__":
    main()
