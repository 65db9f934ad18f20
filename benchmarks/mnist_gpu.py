"""MNIST, each pixel a question: accuracy against seconds of training on a GPU, beside a plain loop of algorithm 1."""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from askwise import AverageCost, Budget, DimeClassifier
from askwise.core.rows import Rows
from common import Table, write_results
from plain_loop import PLAIN_BATCH, plain_epoch

RUNS: dict[str, dict[str, Any]] = {
    "usual": {"max_steps": 30, "dropout": 0.3, "epochs": 80},
    "quick": {"max_steps": 24, "dropout": 0.25, "epochs": 45},
    "a minute": {"max_steps": 30, "dropout": 0.3, "epochs": 120},
}
COMMON = {"hidden": 1024, "share_trunk": True, "epsilon": 0.1, "batch_size": 256, "pretrain_epochs": 10}
# The networks and episodes of the paper's own run, to time an epoch with.
PAPER = {"hidden": 512, "share_trunk": False, "max_steps": 50, "batch_size": 512, "pretrain_epochs": 1, "epochs": 6}
PAPER_CODE_SECONDS = 83.0
BUDGETS = (5, 10, 15, 20)
# Looked up on the validation rows, a little below 10 and 15 so that the test rows stay below them too.
AVERAGES = (9.8, 14.8)


def load(path: Path) -> list[np.ndarray]:
    """50,000 rows to train, 10,000 to validate, 10,000 to test; pixels in [0, 1]."""
    data = np.load(path / "mnist.npz")
    x, x_test = (data[f"x_{part}"].reshape(-1, 784).astype(np.float32) / 255 for part in ("train", "test"))
    y = data["y_train"]
    return [x[:50_000], y[:50_000], x[50_000:], y[50_000:], x_test, data["y_test"]]


class Clock:
    """Notes when each epoch ends."""

    def __init__(self) -> None:
        self.ends: dict[str, dict[int, float]] = {}

    def __call__(self, progress: Any) -> None:
        self.ends.setdefault(progress.stage, {})[progress.epoch] = time.perf_counter()

    def epoch(self, stage: str) -> float:
        """The median seconds of an epoch, its validation included; the first, which is recorded, left out."""
        return float(np.median(np.diff([self.ends[stage][e] for e in sorted(self.ends[stage])])))


def fit(data: list[np.ndarray], seed: int, settings: dict[str, Any], device: str) -> tuple[Any, float, Clock]:
    """A trained model, the seconds from arrays in memory to it, and the clock of its epochs."""
    x, y, x_val, y_val = data[:4]
    clock = Clock()
    start = time.perf_counter()
    model = DimeClassifier(random_state=seed, device=device, **settings)
    model.fit(x, y, eval_set=(x_val, y_val), progress=clock)
    return model, time.perf_counter() - start, clock


def tested(model: Any, x: np.ndarray, y: np.ndarray, device: str) -> list[float]:
    """Accuracy in % at each budget; then, for each average, features and accuracy. All rules cut one rollout."""
    whole = replace(model.model_, device=device)
    prices = whole.costs()
    rules = [whole.rule(rule, prices) for rule in (*map(Budget, BUDGETS), *map(AverageCost, AVERAGES))]
    trace = whole.trace(model.encode(x), rules, prices)
    found: list[float] = []
    for rule, stop in zip(rules, trace.stops, strict=True):
        outputs, spent, _ = trace.at(stop.at)
        right = 100 * float((outputs.argmax(1).numpy() == y).mean())
        found += [right] if isinstance(rule, Budget) else [float(spent.mean()), right]
    return found


def paper_epoch(data: list[np.ndarray], device: str) -> Table:
    """Seconds of a joint epoch with the paper's networks and episodes: its code, a plain loop, ours."""
    model, _, clock = fit(data, 0, PAPER, device)
    ours = clock.epoch("joint")
    task = model.model_.task
    policy = model.build(model.model_.schema.space, task).to(device)
    rows = model.encode(data[0])
    rows = Rows(rows.x, rows.present, rows.available, task.encode(data[1])).to(device)
    plain = plain_epoch(policy, task, rows, PAPER["max_steps"])
    table = Table(["networks and steps of the paper", "s a joint epoch", "times as long"])
    table.add(["the paper's code, as published", PAPER_CODE_SECONDS, PAPER_CODE_SECONDS / ours])
    table.add([f"a plain loop of algorithm 1, batch {PLAIN_BATCH}", plain, plain / ours])
    table.add(["askwise, its validation included", ours, 1.0])
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, help="folder that holds mnist.npz")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--runs", nargs="+", choices=RUNS, default=list(RUNS))
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--out", default="benchmarks/out")
    args = parser.parse_args()
    start = time.perf_counter()
    data = load(args.data)
    print(f"read in {time.perf_counter() - start:.2f} s")
    columns = ["run", "seed", "s in all", "joint epochs", "s a joint epoch", *(f"% at {k}" for k in BUDGETS)]
    table = Table([*columns, *(c for k in AVERAGES for c in (f"average, aim {k}", "%"))])
    means = Table(table.columns)
    for run in args.runs:
        rows = []
        for seed in range(args.seeds):
            model, seconds, clock = fit(data, seed, COMMON | RUNS[run], args.device)
            epochs = len(clock.ends["joint"])
            rows.append([seconds, epochs, clock.epoch("joint"), *tested(model, *data[4:], args.device)])
            table.add([run, seed, *rows[-1]])
        means.add([run, "mean", *np.mean(rows, axis=0).tolist()])
    print(means)
    speed = paper_epoch(data, args.device)
    print(speed)
    facts = {"gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else None, "settings": COMMON | RUNS}
    write_results(args.out, "mnist_gpu", table, means=means.rows, speed=speed.rows, **facts)


if __name__ == "__main__":
    main()
