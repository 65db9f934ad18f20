"""SEFA's table (ICML 2025): a metric after each question, averaged over questions, beside the published figures.

python -m benchmarks.published.sefa DATA --columns bank housing

The metric is computed after k = 1, ..., d questions of equal price (d: everything) and averaged over k: AUROC for bank,
accuracy elsewhere. A value that is missing in a row can be asked and tells nothing, as SEFA has it; the runs also keep
the mean if it can't be asked, as in `acquire` (mean_skipping_missing). Of syn1 to syn3 the figure is the mean number of
questions until all columns that a row needs are asked; less is better.

Every run is a file of its own; one that is there is not run again.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from askwise import DimeClassifier
from askwise.core.trace import Trace
from benchmarks.shared import sefa_data
from benchmarks.shared.boosting import Boosting
from benchmarks.shared.data import Array, Split
from benchmarks.shared.paths import along_path, fit_seconds, path_of
from benchmarks.shared.results import Table
from benchmarks.shared.runs import RunOptions, Runs, estimator, shown


class Published(NamedTuple):
    """A column of the table: its metric, and the figures that were published of DIME and of SEFA."""

    metric: str
    dime: float | None = None
    sefa: float | None = None


STEPS = "questions needed"
SECONDS = ("wall_seconds", "cpu_seconds")
COLUMNS = {
    "bank": Published("auroc", 0.907, 0.919),
    "housing": Published("accuracy", 0.661, 0.676),
    "mnist20": Published("accuracy", 0.731, 0.761),
    "fashion20": Published("accuracy", 0.703, 0.721),
    "cube": Published("accuracy"),
    "syn1": Published("auroc", 4.079, 4.017),
    "syn2": Published("auroc", 4.581, 4.099),
    "syn3": Published("auroc", 5.667, 5.084),
}
READ = {
    "bank": sefa_data.bank,
    "housing": sefa_data.housing,
    "mnist20": partial(sefa_data.pixels, name="mnist"),
    "fashion20": partial(sefa_data.pixels, name="fashion_mnist"),
}


def rows_of(name: str, folder: Path | None) -> Split:
    """The rows of a column; without a folder, few."""
    if name in READ:
        return READ[name](folder)
    sizes = sefa_data.FEW_DRAWN if folder is None else sefa_data.DRAWN
    return sefa_data.cube(sizes) if name == "cube" else sefa_data.syn(name, sizes)


def questions_needed(path: Trace, needed: Array) -> float:
    """The mean number of questions until all needed columns (rows, columns) are asked."""
    # A permutation of the columns for each row; its inverse says when each was asked.
    asked_at = 1 + np.argsort(path.choice.numpy().T, axis=1)
    return float(np.where(needed, asked_at, 0).max(1).mean())


def train_and_measure(args: argparse.Namespace, name: str, data: Split, seed: int) -> dict[str, Any]:
    """One run: train on the training rows, and measure along the path of the others."""
    # Rows are tested with the gaps of training, as SEFA has it.
    model = estimator(args, DimeClassifier, seed, missing="ignore")
    seconds = fit_seconds(model, data.x, data.y, eval_set=data.validation)
    x, y = data.evaluated(args.on)
    path = path_of(model, x, ask_missing=True)
    curve = along_path(model, path, y, COLUMNS[name].metric)
    found = {"mean": float(np.mean(curve[1:])), "everything": curve[-1], "curve": curve, **seconds}
    if not bool(model.encode(x).present.all()):
        # As `acquire` has it; SEFA's figure is the one above.
        skipping = along_path(model, path_of(model, x), y, COLUMNS[name].metric)
        found["mean_skipping_missing"] = float(np.mean(skipping[1:]))
    if name in sefa_data.SYN:
        found["needed"] = questions_needed(path, sefa_data.syn_needed(name, x))
    return found


def boost(args: argparse.Namespace, name: str, data: Split) -> dict[str, Any]:
    """Boosting with everything, and on its best 1, ..., d columns."""
    x, y = data.evaluated(args.on)
    boosting, metric = Boosting(data.x, data.y), COLUMNS[name].metric
    everything = boosting.everything(x, y, metric)
    curve = boosting.on_best_columns(x, y, metric)
    return {"everything": everything, "mean": float(np.mean(curve)), "curve": curve}


def main(argv: Sequence[str] | None = None) -> None:
    options = RunOptions(__doc__, "published", seeds=5)
    options.add_data("data", "folder with bank-full.csv.gz, cal_housing.data.gz, mnist.npz and fashion_mnist.npz")
    options.add("--columns", nargs="+", choices=COLUMNS, default=list(COLUMNS), smoke=["bank", "syn1"])
    options.add_argument("--no-boosting", action="store_true", help="leave gradient boosting out")
    args = options.read(argv)
    runs = Runs(args)
    table = Table(["column", "figure", "ours", "DIME there", "SEFA", "runs"])
    more = Table(["column", "metric", "everything", "boosting", "mean over k", "boosting on its best k", "s", "CPU s"])
    for name in args.columns:
        data, column = rows_of(name, args.data), COLUMNS[name]
        found = [
            runs.get(f"sefa-{name}-{seed}", partial(train_and_measure, args, name, data, seed))
            for seed in range(args.seeds)
        ]
        boosted = {} if args.no_boosting else runs.get(f"sefa-{name}-boosting", partial(boost, args, name, data), False)
        figure = "needed" if name in sefa_data.SYN else "mean"
        what = STEPS if figure == "needed" else f"{column.metric}, mean over k"
        published = ["" if value is None else value for value in (column.dime, column.sefa)]
        table.add([name, what, shown([run[figure] for run in found]), *published, len(found)])
        means = {key: float(np.mean([run[key] for run in found])) for key in ("mean", "everything", *SECONDS)}
        own = [(means[key], boosted.get(key, "")) for key in ("everything", "mean")]
        more.rows.append([name, column.metric, *own[0], *own[1], *(means[key] for key in SECONDS)])
    print(f"\n{table}\n\n{more}")
    runs.print_notes()


if __name__ == "__main__":
    main()
