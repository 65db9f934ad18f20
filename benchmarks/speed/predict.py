"""`askwise predict` on many rows: time beside `acquire` on the same rows in memory, and the peak of memory."""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from typer.testing import CliRunner

from askwise import Budget, DimeClassifier
from askwise.cli import app
from askwise.training.modes import threads
from benchmarks.shared.measuring import cpu_seconds
from benchmarks.shared.options import ROOT, Options, tiny
from benchmarks.shared.results import Table, write_results

BUDGET = 10
TELLING = 5
# Trained for a short while: what is asked varies from row to row, and speed does not depend on how good it is.
SHORT = {"pretrain_epochs": 3, "epochs": 3}


def make(n_rows: int, n_columns: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Normal columns of four decimals, of which a few tell the class."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n_rows, n_columns)).round(4)
    noisy = x[:, :TELLING].sum(1) + rng.standard_normal(n_rows)
    return pd.DataFrame(x, columns=[f"c{i}" for i in range(n_columns)]), np.where(noisy > 0, "ill", "well")


def write_inputs(frame: pd.DataFrame, folder: Path) -> list[Path]:
    """The rows as Parquet, if it can be written here, and as CSV."""
    paths = [folder / "rows.csv"]
    frame.to_csv(paths[0], index=False)
    try:
        frame.to_parquet(folder / "rows.parquet")
    except ImportError:
        return paths
    return [folder / "rows.parquet", *paths]


def predict(model: Path, rows: Path) -> None:
    """The command, in this process."""
    output = rows.with_name(f"predictions{rows.suffix}")
    done = CliRunner().invoke(app, ["predict", *map(str, (model, rows, "-o", output)), "--stop", f"budget={BUDGET}"])
    if done.exit_code:
        raise SystemExit(done.output)


def peak_of_this_process() -> float:
    """The most memory in MiB since this program began, whatever started it had in use."""
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+)", status)[1]) / 1024


def run_apart(model: Path, rows: Path) -> dict[str, float]:
    """Seconds and peak of memory of the command in a process of its own, its start included."""
    command = [sys.executable, "-m", "benchmarks.speed.predict", "--only", str(model), str(rows)]
    start = time.perf_counter()
    said = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True, cwd=ROOT).stdout
    return {"seconds": time.perf_counter() - start, **json.loads(said)}


def in_turns(works: Sequence[Callable[[], object]], repeats: int) -> list[list[float]]:
    """CPU seconds of each work, run in turns: whatever else the machine does, it does to all of them."""
    return np.transpose([[cpu_seconds(work)[1] for work in works] for _ in range(repeats)]).tolist()


def figures(args: argparse.Namespace) -> Table:
    """Train a model, write the rows, and time the command on each file beside `acquire`."""
    args.out.mkdir(parents=True, exist_ok=True)
    model = DimeClassifier(random_state=0, device="cpu", **(tiny(args, DimeClassifier) or SHORT))
    model.fit(*make(args.train_rows, args.columns, seed=0))
    path = args.out / "model.askwise"
    model.save(path)
    frame, _ = make(args.rows, args.columns, seed=1)
    inputs = write_inputs(frame, args.out)
    works = [lambda: model.acquire(frame, Budget(BUDGET)), *(lambda rows=rows: predict(path, rows) for rows in inputs)]
    with threads(1):
        acquire, *others = in_turns(works, args.repeats)
    table = Table(["from", "rows", "acquire, CPU s", "predict, CPU s", "ratio", "with its start, s", "peak, MiB"])
    for rows, seconds in zip(inputs, others, strict=True):
        ratio = float(np.median(np.divide(seconds, acquire)))
        alone = {"seconds": float("nan"), "peak": float("nan")} if args.smoke else run_apart(path, rows)
        table.add(
            [rows.suffix, args.rows, min(acquire), min(seconds), ratio, alone["seconds"], alone["peak"]],
        )
    for file in (path, *inputs, *args.out.glob("predictions.*")):
        file.unlink(missing_ok=True)
    return table


def main(argv: Sequence[str] | None = None) -> None:
    options = Options(__doc__)
    options.add("--rows", type=int, default=1_000_000, smoke=200)
    options.add("--columns", type=int, default=20, smoke=12)
    options.add("--train-rows", type=int, default=4000, smoke=100)
    options.add("--repeats", type=int, default=2, smoke=1)
    options.add_argument(
        "--only", nargs=2, type=Path, metavar=("MODEL", "ROWS"), help="one run, to print its memory of"
    )
    args = options.read(argv)
    if args.only is not None:
        with threads(1):
            predict(*args.only)
        print(json.dumps({"peak": peak_of_this_process()}))
        return
    table = figures(args)
    print(table)
    write_results(args.out, "predict", table)


if __name__ == "__main__":
    main()
