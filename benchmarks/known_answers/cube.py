"""CUBE: mean accuracy over budgets 1..10, against the exact greedy policy on the same test rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from askwise import Budget, DimeClassifier
from askwise.data.synthetic import DISTRIBUTIONS
from askwise.model.model import Model
from benchmarks.shared.measuring import cpu_seconds
from benchmarks.shared.options import Options, tiny
from benchmarks.shared.results import Table, write_results

BUDGETS = range(1, 11)


def accuracies(model: Model, x: pd.DataFrame, y: np.ndarray) -> list[float]:
    """Accuracy at every budget; with equal prices one path serves all."""
    trace = model.trace(model.schema.encode(x), [Budget(BUDGETS[-1])], model.costs(None))
    return [float((trace.outputs[k].argmax(1).numpy() == y).mean()) for k in BUDGETS]


def main(argv: Sequence[str] | None = None) -> None:
    options = Options(__doc__)
    options.add("--seeds", type=int, default=3, smoke=1)
    options.add("--rows", type=int, default=600, smoke=100, help="rows to fit")
    options.add("--val-rows", type=int, default=200, smoke=50)
    options.add("--test-rows", type=int, default=20_000, smoke=50)
    args = options.read(argv)
    cube = DISTRIBUTIONS["cube"]()
    table = Table(["seed", *(f"k={k}" for k in BUDGETS), "mean", "CPU s"])
    x_test, y_test = cube.sample(args.test_rows, seed=1_000_000)
    exact = accuracies(Model(cube.schema, cube.task, cube.policy), x_test, y_test)
    for seed in range(args.seeds):
        x, y = cube.sample(args.rows, seed=2 * seed)
        validation = cube.sample(args.val_rows, seed=2 * seed + 1)
        model = DimeClassifier(random_state=seed, **tiny(args, DimeClassifier))
        _, seconds = cpu_seconds(lambda: model.fit(x, y, eval_set=validation))  # noqa: B023
        accuracy = accuracies(model.model_, x_test, y_test)
        table.add([seed, *accuracy, float(np.mean(accuracy)), seconds])
    table.add_mean()
    table.add(["exact greedy", *exact, float(np.mean(exact)), 0.0])
    print(table)
    write_results(args.out, f"cube_{args.rows}", table)


if __name__ == "__main__":
    main()
