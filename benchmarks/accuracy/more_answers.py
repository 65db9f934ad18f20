"""Tables on which more answers must not hurt: many columns that do not matter, and a category of many values.

python -m benchmarks.accuracy.more_answers --tables wide very-wide categories

Log loss and AUROC after a few questions and with everything known, the lowest log loss anywhere on the path, and
gradient boosting with everything. If more answers do not hurt, everything is not worse than the lowest.
Each seed draws tables of its own.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from askwise import DimeClassifier
from benchmarks.shared.boosting import Boosting
from benchmarks.shared.data import Array, Split
from benchmarks.shared.paths import along_path, fit_seconds, metric_on, path_of
from benchmarks.shared.results import Table
from benchmarks.shared.runs import RunOptions, Runs, estimator

BUDGETS = (1, 2, 3, 5, 10)
METRICS = ("log_loss", "auroc")
# Draws of one seed: each part of a table has a stream of its own.
FIT, TEST, VALIDATION, TRUTH = range(4)
WIDE_WEIGHTS = (1.5, -1.2, 1.0, -1.0, 0.8, 0.8, -0.6, 0.6, -0.4, 0.4)
N_CATEGORIES = 400


def wide(n_rows: int, seed: int, part: int) -> tuple[pd.DataFrame, Array]:
    """300 normal columns, of which ten matter, linearly."""
    rng = np.random.default_rng([seed, part])
    x = rng.standard_normal((n_rows, 300))
    logit = x[:, : len(WIDE_WEIGHTS)] @ np.array(WIDE_WEIGHTS)
    return _named(x), _drawn(rng, logit)


def very_wide(n_rows: int, seed: int, part: int) -> tuple[pd.DataFrame, Array]:
    """2,000 normal columns, of which five matter, two of them only together."""
    rng = np.random.default_rng([seed, part])
    x = rng.standard_normal((n_rows, 2000))
    noise = 0.7 * rng.standard_normal(n_rows)
    return _named(x), (1.5 * x[:, 0] + x[:, 1] - x[:, 2] * x[:, 3] + 0.8 * x[:, 4] + noise > 0).astype(int)


def categories(n_rows: int, seed: int, part: int) -> tuple[pd.DataFrame, Array]:
    """A category of 400 values, an amount with a long tail, and four columns that do not matter."""
    effects = np.random.default_rng([seed, TRUTH]).standard_normal(N_CATEGORIES)
    rng = np.random.default_rng([seed, part])
    category = rng.integers(0, N_CATEGORIES, n_rows)
    amounts = rng.exponential(size=(n_rows, 3)) ** 3
    frame = pd.DataFrame(amounts, columns=["amount 1", "amount 2", "amount 3"])
    frame = frame.assign(flag=rng.integers(0, 2, n_rows), normal=rng.standard_normal(n_rows))
    frame.insert(0, "category", [f"c{c}" for c in category])
    hidden = 0.5 * (rng.random(n_rows) < 0.3)
    return frame, _drawn(rng, effects[category] + 0.8 * np.log(amounts[:, 0] + 0.001) + hidden)


def _named(x: Array) -> pd.DataFrame:
    return pd.DataFrame(x, columns=[f"x{c}" for c in range(x.shape[1])])


def _drawn(rng: np.random.Generator, logit: Array) -> Array:
    return (rng.random(len(logit)) < 1 / (1 + np.exp(-logit))).astype(int)


class Kind(NamedTuple):
    """How a table is drawn, and how many rows to fit and to test on."""

    draw: Callable[[int, int, int], tuple[pd.DataFrame, Array]]
    fit: int
    test: int


TABLES = {
    "wide": Kind(wide, 1200, 2000),
    "very-wide": Kind(very_wide, 600, 200),
    "categories": Kind(categories, 6000, 2000),
}


def rows_of(args: argparse.Namespace, name: str, seed: int) -> Split:
    kind = TABLES[name]
    sizes = (kind.fit, kind.test, kind.test)
    parts = zip(sizes, (FIT, VALIDATION, TEST), strict=True)
    return Split(*(held for n, part in parts for held in kind.draw(min(n, args.rows or n), seed, part)))


def train_and_measure(args: argparse.Namespace, name: str, seed: int) -> dict[str, Any]:
    data = rows_of(args, name, seed)
    model = estimator(args, DimeClassifier, seed)
    seconds = fit_seconds(model, data.x, data.y)
    x, y = data.evaluated(args.on)
    path, proba = path_of(model, x, args.path), model.predict_proba(x)
    curves = {metric: along_path(model, path, y, metric) for metric in METRICS}
    lowest = int(np.argmin(curves["log_loss"]))
    return {
        **{f"everything_{metric}": metric_on(model, proba, y, metric) for metric in METRICS},
        "lowest": curves["log_loss"][lowest],
        "lowest_at": lowest,
        **curves,
        **seconds,
    }


def boost(args: argparse.Namespace, name: str, seed: int) -> dict[str, Any]:
    data = rows_of(args, name, seed)
    boosting = Boosting(data.x, data.y, seed=seed)
    x, y = data.evaluated(args.on)
    return {f"everything_{metric}": boosting.everything(x, y, metric) for metric in METRICS}


def main(argv: Sequence[str] | None = None) -> None:
    options = RunOptions(__doc__, "more_answers", seeds=3)
    options.add("--tables", nargs="+", choices=TABLES, default=list(TABLES), smoke=["wide", "categories"])
    options.add("--rows", type=int, default=None, smoke=100, help="fewer rows, for a try")
    options.add("--path", type=int, default=None, smoke=10, help="questions of the path (default: all)")
    options.add_argument("--no-boosting", action="store_true", help="leave gradient boosting out")
    args = options.read(argv)
    if args.path is not None and args.path < max(BUDGETS):
        options.error(f"--path must be {max(BUDGETS)} at least")
    runs, sizes = Runs(args), ((args.rows, "rows"), (args.path, "steps"))
    columns = ["table", "metric", *(f"at {k}" for k in BUDGETS), "everything", "lowest (at)", "boosting", "CPU s"]
    table = Table(columns)
    for name in args.tables:
        ours, boosted = [], []
        for seed in range(args.seeds):
            run = "-".join([name, *(f"{n}-{what}" for n, what in sizes if n), str(seed)])
            ours.append(runs.get(run, partial(train_and_measure, args, name, seed)))
            if not args.no_boosting:
                boosted.append(runs.get(f"{run}-boosting", partial(boost, args, name, seed), False))
        for metric in METRICS:
            along = [float(np.mean([_at(run[metric], k) for run in ours])) for k in BUDGETS]
            lowest = f"{_mean(ours, 'lowest'):.3f} ({_mean(ours, 'lowest_at'):.0f})" if metric == "log_loss" else ""
            key = f"everything_{metric}"
            other = _mean(boosted, key) if boosted else ""
            table.add([name, metric, *along, _mean(ours, key), lowest, other, _mean(ours, "cpu_seconds")])
    print(f"\n{table}")
    runs.print_notes()


def _at(curve: list[float], k: int) -> float:
    """After k questions, or after all where there are fewer."""
    return curve[min(k, len(curve) - 1)]


def _mean(found: list[dict[str, Any]], key: str) -> float:
    return float(np.mean([run[key] for run in found]))


if __name__ == "__main__":
    main()
