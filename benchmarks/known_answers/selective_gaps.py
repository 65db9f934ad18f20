"""Columns that were recorded by the answer: estimates of modes of `missing` beside the truth.

python -m benchmarks.known_answers.selective_gaps

lab: of six columns one tells weakly, and one, pure noise, was recorded in 80 % of the sick and in 20 % of the well. The
table has its information, that of the other noise columns, and how far telling either moves P(sick), in the mean over
values. Others: distributions whose posteriors and information are known, with each column but the first recorded more
often with some answers than with others; models are compared on rows without gaps.
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
from askwise.data.synthetic import DISTRIBUTIONS
from askwise.evaluation.known_truth import compare
from benchmarks.shared.results import Table
from benchmarks.shared.runs import RunOptions, Runs, estimator, shown

MODES = ("ignore", "auto", "correct")
NOISE = ("noise 1", "noise 2", "noise 3", "noise 4")
LAB = "lab"
# P(recorded) of the answer with which a column is recorded most, and least.
MOST, LEAST = 0.9, 0.3
OF_LAB = ("lab tells", "other noise tells, largest", "lab moves P(sick)", "other noise moves it, largest")
FIGURES = ("error_chosen", "error_open", "divergence", "regret")


def noise_lab(n_rows: int, seed: int) -> tuple[pd.DataFrame, Array]:
    """Rows in which who got the lab tells who was ill, and its values tell nothing."""
    draws = np.random.default_rng(seed)
    sick = draws.integers(0, 2, n_rows)
    x = pd.DataFrame(draws.normal(size=(n_rows, 6)), columns=["weak", *NOISE, LAB])
    x["weak"] += 0.4 * sick
    x.loc[draws.random(n_rows) > np.where(sick, 0.8, 0.2), LAB] = np.nan
    return x, np.array(["well", "sick"])[sick]


def recorded_by_answer(x: pd.DataFrame, y: Array, seed: int) -> pd.DataFrame:
    """The rows with gaps: each column but the first is recorded most with one answer, least with another."""
    # Not the numbers that the rows were drawn by: gaps would depend on the values.
    draws = np.random.default_rng([seed, 1])
    answers = np.unique(y)
    code = np.searchsorted(answers, y)
    found = x.astype(object)
    for c in range(1, x.shape[1]):
        share = np.roll(np.linspace(MOST, LEAST, len(answers)), c)[code]
        found.iloc[draws.random(len(x)) > share, c] = None
    return found.infer_objects()


def measure_lab(args: argparse.Namespace, mode: str, seed: int) -> dict[str, Any]:
    x, y = noise_lab(args.lab_rows, seed)
    model = estimator(args, DimeClassifier, seed, missing=mode).fit(x, y)
    unknown = pd.DataFrame(np.nan, index=range(41), columns=x.columns)
    tells = model.information(unknown.iloc[:1]).iloc[0]
    values = np.quantile(np.random.default_rng(0).normal(size=10_000), np.linspace(0.01, 0.99, 41))
    sick = list(model.classes_).index("sick")
    before = model.predict_proba(unknown)[:, sick]
    moved = np.abs(model.predict_proba(unknown.assign(**{LAB: values}))[:, sick] - before)
    others = [np.abs(model.predict_proba(unknown.assign(**{name: values}))[:, sick] - before).mean() for name in NOISE]
    return {
        OF_LAB[0]: float(tells[LAB]),
        OF_LAB[1]: float(tells[list(NOISE)].max()),
        OF_LAB[2]: float(moved.mean()),
        OF_LAB[3]: float(max(others)),
    }


def measure_known(args: argparse.Namespace, name: str, mode: str, seed: int) -> dict[str, Any]:
    truth = DISTRIBUTIONS[name]()
    x, y = truth.sample(args.rows, seed)
    settings = truth.settings | ({} if mode == "no gaps" else {"missing": mode})
    gaps = x if mode == "no gaps" else recorded_by_answer(x, y, seed)
    model = estimator(args, DimeClassifier, seed, **settings).fit(gaps, y)
    figures = compare(model.model_, truth, args.fresh_rows, 1_000_000 + seed).figures()
    return {figure: figures[figure] for figure in FIGURES}


def main(argv: Sequence[str] | None = None) -> None:
    options = RunOptions(__doc__, "selective_gaps", seeds=3)
    options.add("--rows", type=int, default=20_000, smoke=200, help="rows of a known distribution")
    options.add("--lab-rows", type=int, default=4_000, smoke=200)
    options.add("--fresh-rows", type=int, default=2_000, smoke=50)
    options.add("--known", nargs="*", choices=sorted(DISTRIBUTIONS), default=["tests", "network"], smoke=["tests"])
    options.add("--modes", nargs="+", choices=MODES, default=list(MODES), smoke=["ignore", "correct"])
    args = options.read(argv)
    runs, seeds = Runs(args), range(args.seeds)
    lab = Table(["missing=", *OF_LAB])
    for mode in args.modes:
        found = [runs.get(f"lab-{mode}-{seed}", partial(measure_lab, args, mode, seed)) for seed in seeds]
        lab.add([mode, *(shown([run[figure] for run in found], 4) for figure in OF_LAB)])
    known = Table(["distribution", "missing=", "error, asked", "error, open", "KL", "regret"])
    for name in args.known:
        for mode in ("no gaps", *args.modes):
            work = [partial(measure_known, args, name, mode, seed) for seed in seeds]
            found = [runs.get(f"{name}-{mode}-{seed}", do) for seed, do in enumerate(work)]
            known.add([name, mode, *(shown([run[figure] for run in found], 4) for figure in FIGURES)])
    print(f"\n{lab}\n\n{known}")
    runs.print_notes()


if __name__ == "__main__":
    main()
