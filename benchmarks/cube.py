"""CUBE: mean accuracy over budgets 1..10 after training on 600 rows, against the perfect greedy policy's .687."""

from __future__ import annotations

import argparse

import numpy as np

from askwise import Budget, DimeClassifier
from common import Table, cpu_seconds, write_results

BUDGETS = range(1, 11)
SIGMA = 0.3


def cube(n_rows: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """y is uniform on 0..7; of 20 features, numbers y, y+1, y+2 (mod 10) are normal around the bits of y, least
    significant first, and all others around 0.5."""
    y = rng.integers(0, 8, n_rows)
    means = np.full((n_rows, 20), 0.5)
    for bit in range(3):
        means[np.arange(n_rows), (y + bit) % 10] = (y >> bit) & 1
    return rng.normal(means, SIGMA), y


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rows", type=int, default=600, help="rows to fit")
    parser.add_argument("--val-rows", type=int, default=200)
    parser.add_argument("--test-rows", type=int, default=20_000)
    parser.add_argument("--out", default="benchmarks/out")
    args = parser.parse_args()
    table = Table(["seed", *(f"k={k}" for k in BUDGETS), "mean", "CPU s"])
    for seed in range(args.seeds):
        rng = np.random.default_rng(seed)
        (x, y), (x_val, y_val), (x_test, y_test) = (cube(n, rng) for n in (args.rows, args.val_rows, args.test_rows))
        model, seconds = cpu_seconds(lambda: DimeClassifier(random_state=seed).fit(x, y, eval_set=(x_val, y_val)))  # noqa: B023
        accuracy = [float((model.predict(x_test, stop=Budget(k)) == y_test).mean()) for k in BUDGETS]
        table.add([seed, *accuracy, float(np.mean(accuracy)), seconds])
    table.add_mean()
    print(table)
    write_results(args.out, "cube", table)


if __name__ == "__main__":
    main()
