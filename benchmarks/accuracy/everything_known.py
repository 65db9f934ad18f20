"""Log loss with everything known, beside gradient boosting: the tables of benchmarks/tables.json, Bank and housing.

python -m benchmarks.accuracy.everything_known DATA --tables spam bank

A stratified fifth of a table is held out to test on and a fifth of the others to validate on, anew for each seed; Bank
and housing are split once, as SEFA splits them. Boosting has scikit-learn's defaults, with or without early stopping,
whichever is better on the validation rows.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_digits

from askwise import DimeClassifier
from askwise.data.tables.files import read_table
from askwise.data.tables.split import hold_out
from benchmarks.shared import sefa_data
from benchmarks.shared.boosting import Boosting
from benchmarks.shared.data import Array, Split
from benchmarks.shared.options import ROOT
from benchmarks.shared.paths import fit_seconds, metric_on
from benchmarks.shared.results import Table
from benchmarks.shared.runs import RunOptions, Runs, estimator, shown

SUITE = json.loads((ROOT / "benchmarks" / "tables.json").read_text())
PUBLISHED = {"bank": sefa_data.bank, "housing": sefa_data.housing}
TABLES = [*SUITE, *PUBLISHED]
HELD_OUT = 0.2
METRICS = ("log_loss", "auroc")


def table_of(args: argparse.Namespace, name: str) -> tuple[pd.DataFrame, Array]:
    """The columns and answers of a table of the suite; without a folder, a few of scikit-learn's rows."""
    if name == "digits":
        return load_digits(return_X_y=True, as_frame=True)[0], load_digits().target
    if args.data is None:
        x, y = load_breast_cancer(return_X_y=True, as_frame=True)
        return x.iloc[:200], y.to_numpy()[:200]
    facts = SUITE[name]
    frame = read_table(args.data / facts["path"]).drop(columns=facts.get("drop", []))
    return frame, frame.pop(facts["target"]).to_numpy()


def rows_of(args: argparse.Namespace, name: str, seed: int) -> Split:
    if name in PUBLISHED:
        return PUBLISHED[name](args.data)
    x, y = table_of(args, name)
    others, test = hold_out(y, HELD_OUT, seed, stratify=True)
    fit, validation = (others[part] for part in hold_out(y[others], HELD_OUT, seed, stratify=True))
    return Split(*(held for part in (fit, validation, test) for held in (x.iloc[part], y[part])))


def train_and_measure(args: argparse.Namespace, name: str, seed: int) -> dict[str, Any]:
    data = rows_of(args, name, seed)
    # Boosting learns from gaps too, and rows are tested with those of training.
    model = estimator(args, DimeClassifier, seed, missing="ignore")
    seconds = fit_seconds(model, data.x, data.y, eval_set=data.validation)
    x, y = data.evaluated(args.on)
    proba = model.predict_proba(x)
    return {metric: metric_on(model, proba, y, metric) for metric in METRICS} | seconds


def boost(args: argparse.Namespace, name: str, seed: int) -> dict[str, Any]:
    data = rows_of(args, name, seed)
    both = [Boosting(data.x, data.y, seed=seed, early_stopping=stops) for stops in (False, True)]
    better = int(np.argmin([boosting.everything(*data.validation, "log_loss") for boosting in both]))
    x, y = data.evaluated(args.on)
    return {metric: both[better].everything(x, y, metric) for metric in METRICS} | {"early_stopping": bool(better)}


def main(argv: Sequence[str] | None = None) -> None:
    options = RunOptions(__doc__, "everything_known", seeds=3)
    options.add_data("data", "folder with the tables of benchmarks/tables.json, bank-full.csv.gz, cal_housing.data.gz")
    options.add("--tables", nargs="+", choices=TABLES, default=TABLES, smoke=["spam", "bank"])
    args = options.read(argv)
    runs = Runs(args)
    table = Table(["table", "log loss", "boosting", "less boosting's", "AUROC", "boosting", "s", "CPU s"])
    for name in args.tables:
        each = range(args.seeds)
        ours = [runs.get(f"{name}-{seed}", partial(train_and_measure, args, name, seed)) for seed in each]
        boosted = [runs.get(f"{name}-boosting-{seed}", partial(boost, args, name, seed), False) for seed in each]
        cells = {metric: [[run[metric] for run in found] for found in (ours, boosted)] for metric in METRICS}
        losses, ranks = cells["log_loss"], cells["auroc"]
        # On the same rows, so that the difference is more certain than each.
        less = shown([own - other for own, other in zip(*losses, strict=True)])
        seconds = [float(np.mean([run[f"{clock}_seconds"] for run in ours])) for clock in ("wall", "cpu")]
        table.add([name, *map(shown, losses), less, *map(shown, ranks), *seconds])
    print(f"\n{table}")
    runs.print_notes()


if __name__ == "__main__":
    main()
