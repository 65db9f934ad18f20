"""What it brings to know that several questions share a price: areas under curves of what was really spent.

python -m benchmarks.comparisons.shared_prices

Rows as of a thyroid clinic, drawn: five cheap questions that tell little, and four values of one blood sample, which is
paid once. Beside the model that knows it: one that was trained with the sample in the price of each value, and the
first model asked under such prices. Penalties stop all of them; areas go from no cost to that of everything.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import torch

from askwise import DimeClassifier, Penalty
from askwise.core.arrays import Array
from askwise.core.costs import total_cost
from askwise.core.prices import Prices
from askwise.evaluation.areas import area_under_curve
from askwise.evaluation.metrics import metrics
from benchmarks.shared.results import Table
from benchmarks.shared.runs import RunOptions, Runs, estimator, shown

SAMPLE = 2.1
BLOOD = {"TSH": 1.5, "T3": 1.0, "TT4": 1.2, "T4U": 1.0}
CHEAP = dict.fromkeys(("age", "tired", "weight loss", "goitre", "on medication"), 1.0)
SHARED = {**CHEAP, **BLOOD, "sample": {"price": SAMPLE, "for": list(BLOOD)}}
EACH = {**CHEAP, **{name: price + SAMPLE for name, price in BLOOD.items()}}
PENALTIES = np.geomspace(1e-4, 0.5, 40)
TEST_SEED = 1_000_000
METRICS = ("log_loss", "accuracy")


def thyroid(n_rows: int, seed: int) -> tuple[pd.DataFrame, Array]:
    """Draw rows: most people are well, some have too little of the hormones, some too much."""
    draws = np.random.default_rng(seed)
    y = draws.choice(3, n_rows, p=[0.8, 0.1, 0.1])
    low, high = y == 1, y == 2
    columns = {
        "age": draws.normal(50 + 4 * low, 15),
        "tired": draws.random(n_rows) < np.where(low, 0.6, 0.25),
        "weight loss": draws.random(n_rows) < np.where(high, 0.5, 0.15),
        "goitre": draws.random(n_rows) < np.where(y > 0, 0.25, 0.08),
        "on medication": draws.random(n_rows) < 0.2,
        "TSH": draws.normal(1.6 * low - 1.2 * high, 1),
        "T3": draws.normal(1.6 * high - 0.8 * low, 1),
        "TT4": draws.normal(1.4 * high - 1.5 * low, 1),
        "T4U": draws.normal(0.3 * (y > 0), 1),
    }
    return pd.DataFrame(columns), np.array(["well", "low", "high"])[y]


def true_areas(model: DimeClassifier, X: pd.DataFrame, y: Array, costs: dict[str, Any] | None) -> dict[str, float]:
    """Areas under curves of what was really spent, where the model asks and stops by these costs."""
    truth = np.array([list(model.classes_).index(label) for label in y])
    true_costs = DimeClassifier(costs=SHARED).schema_of(X).space.costs
    found = []
    for penalty in PENALTIES:
        acquired = model.acquire(X, stop=Penalty(float(penalty)), costs=costs)
        spent = Prices.tensor(true_costs).total(torch.tensor(acquired.known.to_numpy()))
        found.append({"mean_cost": float(spent.mean()), **metrics(model.model_.task, acquired.proba, truth)})
    curve = pd.DataFrame(found)
    return {metric: area_under_curve(curve, metric, most=total_cost(true_costs)) for metric in METRICS}


def train_and_measure(args: argparse.Namespace, seed: int) -> dict[str, Any]:
    rows, test = thyroid(args.rows, seed), thyroid(args.test_rows, TEST_SEED + seed)
    ours = estimator(args, DimeClassifier, seed, costs=SHARED).fit(*rows)
    ignoring = estimator(args, DimeClassifier, seed, costs=EACH).fit(*rows)
    return {
        "sharing known": true_areas(ours, *test, None),
        "ignored in training and asking": true_areas(ignoring, *test, None),
        "ignored in asking": true_areas(ours, *test, {**EACH, "sample": 0}),
    }


def main(argv: Sequence[str] | None = None) -> None:
    options = RunOptions(__doc__, "shared_prices", seeds=3)
    options.add("--rows", type=int, default=1500, smoke=100)
    options.add("--test-rows", type=int, default=5000, smoke=50)
    args = options.read(argv)
    runs = Runs(args)
    found = [runs.get(f"{args.rows}-rows-{seed}", partial(train_and_measure, args, seed)) for seed in range(args.seeds)]
    table = Table(["prices", *(f"area, {metric}" for metric in METRICS)])
    for way in ("sharing known", "ignored in training and asking", "ignored in asking"):
        table.add([way, *(shown([run[way][metric] for run in found], 4) for metric in METRICS)])
    print(f"\n{table}")
    runs.print_notes()


if __name__ == "__main__":
    main()
