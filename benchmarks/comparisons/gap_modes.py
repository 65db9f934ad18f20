"""Areas under the curve of the modes of `missing`: on tables with gaps of their own, and with gaps made by chance.

python -m benchmarks.comparisons.gap_modes DATA

own: rows as they were recorded, and the same rows weighed so that being recorded says nothing, as in use. chance: a
share of all values is taken out at random, in the rows to learn from; test rows keep theirs. Areas go over budgets from
none to all columns: AUROC, accuracy on digits.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from askwise import DimeClassifier
from askwise.core.arrays import Array
from askwise.evaluation.areas import area_under_curve
from benchmarks.accuracy.everything_known import TABLES, rows_of
from benchmarks.shared.results import Table
from benchmarks.shared.runs import RunOptions, Runs, estimator, mean_and_error, shown

MODES = ("ignore", "auto", "correct", "evidence")
OWN_GAPS = ("physionet2012", "support2", "bank")
BY_CHANCE = ("keel_pima", "heart_cleveland", "actg175", "digits")
SHARE = 0.3


def area(table: pd.DataFrame, metric: str) -> float:
    """The mean of a metric over budgets."""
    part = table[table["rule"] == "budget"]
    return float(area_under_curve(part, metric, most=float(part["mean_cost"].max())))


def metric_of(name: str) -> str:
    return "accuracy" if name == "digits" else "auroc"


def measure_own(args: argparse.Namespace, name: str, mode: str, seed: int) -> dict[str, Any]:
    data = rows_of(args, name, seed)
    some = slice(args.rows)
    model = estimator(args, DimeClassifier, seed, missing=mode)
    model.fit(data.x.iloc[some], data.y[some], eval_set=data.validation)
    x, y = data.evaluated(args.on)
    kinds = {"recorded": False, "reweighted": True}
    found = {kind: area(model.curve(x, y, reweighted=so), metric_of(name)) for kind, so in kinds.items()}
    card = model.model_.card
    return found | {"flagged": int(model.gaps_["flagged"].sum()), **card.get("corrected", {})}


def without_some(x: pd.DataFrame, share: float, seed: int) -> pd.DataFrame:
    """The rows with a share of all values taken out at random."""
    taken: Array = np.random.default_rng(seed).random(x.shape) < share
    return x.mask(taken)


def measure_chance(args: argparse.Namespace, name: str, mode: str, seed: int) -> dict[str, Any]:
    data = rows_of(args, name, seed)
    validation = without_some(data.validation[0], SHARE, 2 * seed + 1), data.validation[1]
    model = estimator(args, DimeClassifier, seed, missing=mode)
    model.fit(without_some(data.x, SHARE, 2 * seed), data.y, eval_set=validation)
    return {"area": area(model.curve(*data.evaluated(args.on)), metric_of(name))}


def main(argv: Sequence[str] | None = None) -> None:
    options = RunOptions(__doc__, "gap_modes", seeds=3)
    options.add_data("data", "folder with the tables")
    options.add("--own", nargs="*", choices=TABLES, default=list(OWN_GAPS), smoke=["spam"])
    options.add("--chance", nargs="*", choices=TABLES, default=list(BY_CHANCE), smoke=["keel_pima"])
    options.add_argument("--rows", type=int, help="of a table with gaps of its own, learn from the first N rows")
    args = options.read(argv)
    runs, seeds = Runs(args), range(args.seeds)
    own = Table(["table", "missing=", "area as recorded", "reweighted", "flagged", "effective rows"])
    for name in args.own:
        for mode in MODES:
            some = "" if args.rows is None else f"{args.rows}-rows-"
            found = [runs.get(f"{name}-{mode}-{some}{s}", partial(measure_own, args, name, mode, s)) for s in seeds]
            rows = [run["effective_rows"] for run in found if "effective_rows" in run]
            areas = [shown([run[kind] for run in found], 4) for kind in ("recorded", "reweighted")]
            own.add([name, mode, *areas, found[0]["flagged"], f"{np.mean(rows):,.0f}" if rows else ""])
    chance = Table(["table", "area, ignore", "correct", "correct less ignore"])
    for name in args.chance:
        areas = {
            mode: [runs.get(f"chance-{name}-{mode}-{s}", partial(measure_chance, args, name, mode, s)) for s in seeds]
            for mode in ("ignore", "correct")
        }
        areas = {mode: [run["area"] for run in found] for mode, found in areas.items()}
        less = [corrected - plain for corrected, plain in zip(areas["correct"], areas["ignore"], strict=True)]
        mean, error = mean_and_error(less)
        chance.add([name, *(shown(areas[m], 4) for m in areas), f"{mean:+.4f} ± {error:.4f}"])
    print(f"\n{own}\n\n{chance}")
    runs.print_notes()


if __name__ == "__main__":
    main()
