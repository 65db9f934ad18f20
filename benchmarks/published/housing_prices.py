"""California housing prices as numbers: R² after a few questions and with everything, beside gradient boosting.

python -m benchmarks.published.housing_prices DATA

10,000 random rows to fit, 4,000 to test; each seed draws them anew. Prices are in units of 100,000 dollars.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from askwise import DimeRegressor
from benchmarks.shared.boosting import Boosting
from benchmarks.shared.data import Split
from benchmarks.shared.paths import along_path, fit_seconds, path_of
from benchmarks.shared.results import Table
from benchmarks.shared.runs import RunOptions, Runs, estimator, shown
from benchmarks.shared.sefa_data import housing_features, housing_rows

BUDGETS = (1, 2, 3)
UNIT = 100_000
# To fit, to test; settings are tried on as many others as are tested on.
SIZES, FEW = (10_000, 4_000), (120, 60)


def rows_of(args: argparse.Namespace, seed: int) -> Split:
    rows = housing_rows(args.data)
    x = housing_features(rows) if args.ratios else rows.drop(columns="value")
    y = (rows["value"] / UNIT).to_numpy()
    fit, test = FEW if args.data is None else SIZES
    order = np.random.default_rng(seed).permutation(len(y))
    cuts = np.split(order, [fit, fit + test, fit + 2 * test])
    train, tested, validated = (part for cut in cuts[:3] for part in [(x.iloc[cut], y[cut])])
    return Split(*train, *validated, *tested)


def train_and_measure(args: argparse.Namespace, seed: int) -> dict[str, Any]:
    data = rows_of(args, seed)
    model = estimator(args, DimeRegressor, seed)
    seconds = fit_seconds(model, data.x, data.y)
    x, y = data.evaluated(args.on)
    curve = along_path(model, path_of(model, x), y, "r2")
    return {"everything": curve[-1], "curve": curve, **seconds}


def boost(args: argparse.Namespace, seed: int) -> dict[str, Any]:
    data = rows_of(args, seed)
    boosting = Boosting(data.x, data.y, is_number=True, seed=seed)
    x, y = data.evaluated(args.on)
    everything, curve = boosting.everything(x, y, "r2"), boosting.on_best_columns(x, y, "r2", max(BUDGETS))
    # With nothing known it predicts the mean.
    return {"everything": everything, "curve": [0.0, *curve]}


def main(argv: Sequence[str] | None = None) -> None:
    options = RunOptions(__doc__, "published", seeds=3)
    options.add_data("data", "folder with cal_housing.data.gz")
    options.add_argument("--ratios", action="store_true", help="rooms, bedrooms and people by household")
    args = options.read(argv)
    runs, name = Runs(args), "housing_prices_ratios" if args.ratios else "housing_prices"
    table = Table(["R²", *(f"at {k}" for k in BUDGETS), "everything", "s", "CPU s"])
    ours = [runs.get(f"{name}-{seed}", partial(train_and_measure, args, seed)) for seed in range(args.seeds)]
    boosted = [runs.get(f"{name}-boosting-{seed}", partial(boost, args, seed), False) for seed in range(args.seeds)]
    for who, found in (("ours", ours), ("boosting on its best k", boosted)):
        cells = [shown([run["curve"][k] for run in found]) for k in BUDGETS]
        seconds = [
            float(np.mean([run[key] for run in found])) if key in found[0] else ""
            for key in ("wall_seconds", "cpu_seconds")
        ]
        table.rows.append([who, *cells, shown([run["everything"] for run in found]), *seconds])
    print(f"\n{table}")
    runs.print_notes()


if __name__ == "__main__":
    main()
