"""CUBE: mean accuracy over budgets 1..10, against the exact greedy policy on the same test rows."""

from __future__ import annotations

import argparse

import numpy as np
import pandas as pd

from askwise import Budget, DimeClassifier
from askwise.data.synthetic import DISTRIBUTIONS
from askwise.model.model import Model
from common import Table, cpu_seconds, write_results

BUDGETS = range(1, 11)
CUBE = DISTRIBUTIONS["cube"]()


def accuracies(model: Model, x: pd.DataFrame, y: np.ndarray) -> list[float]:
    """Accuracy at every budget; with equal prices one path serves all."""
    trace = model.trace(model.schema.encode(x), [Budget(BUDGETS[-1])], model.costs(None))
    return [float((trace.outputs[k].argmax(1).numpy() == y).mean()) for k in BUDGETS]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rows", type=int, default=600, help="rows to fit")
    parser.add_argument("--val-rows", type=int, default=200)
    parser.add_argument("--test-rows", type=int, default=20_000)
    parser.add_argument("--out", default="benchmarks/out")
    args = parser.parse_args()
    table = Table(["seed", *(f"k={k}" for k in BUDGETS), "mean", "CPU s"])
    x_test, y_test = CUBE.sample(args.test_rows, seed=1_000_000)
    exact = accuracies(Model(CUBE.schema, CUBE.task, CUBE.policy), x_test, y_test)
    for seed in range(args.seeds):
        x, y = CUBE.sample(args.rows, seed=2 * seed)
        validation = CUBE.sample(args.val_rows, seed=2 * seed + 1)
        model, seconds = cpu_seconds(lambda: DimeClassifier(random_state=seed).fit(x, y, eval_set=validation))  # noqa: B023
        accuracy = accuracies(model.model_, x_test, y_test)
        table.add([seed, *accuracy, float(np.mean(accuracy)), seconds])
    table.add_mean()
    table.add(["exact greedy", *exact, float(np.mean(exact)), 0.0])
    print(table)
    write_results(args.out, f"cube_{args.rows}", table)


if __name__ == "__main__":
    main()
