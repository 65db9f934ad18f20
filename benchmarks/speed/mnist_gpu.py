"""MNIST, each pixel a question: accuracy against seconds of training on a GPU, beside a plain loop of algorithm 1."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

import numpy as np

from askwise import AverageCost, Budget, DimeClassifier
from askwise.core.rows import Rows
from benchmarks.shared.data import Split, mnist_split
from benchmarks.shared.measuring import Clock, wall_seconds
from benchmarks.shared.options import Options, tiny
from benchmarks.shared.plain_loop import PLAIN_BATCH, plain_epoch
from benchmarks.shared.results import Table, gpu_name, write_results
from benchmarks.shared.rules import cut_rollout

COMMON = {"hidden": 1024, "share_trunk": True, "epsilon": 0.1, "batch_size": 256, "pretrain_epochs": 10}
RUNS: dict[str, dict[str, Any]] = {
    "defaults": {},
    "usual": COMMON | {"max_steps": 30, "dropout": 0.3, "epochs": 80},
    "quick": COMMON | {"max_steps": 24, "dropout": 0.25, "epochs": 45},
    "a minute": COMMON | {"max_steps": 30, "dropout": 0.3, "epochs": 120},
}
# The networks and episodes of the paper's own run, to time an epoch with.
PAPER = {"hidden": 512, "share_trunk": False, "max_steps": 50, "batch_size": 512, "pretrain_epochs": 1, "epochs": 6}
PAPER_CODE_SECONDS = 83.0
BUDGETS = (5, 10, 15, 20)
# Looked up on the validation rows, a little below 10 and 15 so that the test rows stay below them too.
AVERAGES = (9.8, 14.8)


def fit(args: argparse.Namespace, data: Split, seed: int, settings: dict[str, Any]) -> tuple[Any, float, Clock]:
    """A trained model, the seconds from arrays in memory to it, and the clock of its epochs."""
    clock = Clock()
    # Two epochs at least: the first is recorded, and not timed.
    small = tiny(args, DimeClassifier) | {"epochs": 2} if args.smoke else {}

    def work() -> Any:
        model = DimeClassifier(random_state=seed, device=args.device, **settings | small)
        return model.fit(data.x, data.y, eval_set=data.validation, progress=clock)

    return *wall_seconds(work), clock


def joint_epoch(clock: Clock) -> float:
    return float(np.median(clock.epochs("joint")))


def tested(model: Any, data: Split, device: str) -> list[float]:
    """Accuracy in % at each budget; then, for each average, features and accuracy."""
    rules = (*map(Budget, BUDGETS), *map(AverageCost, AVERAGES))
    found, _ = cut_rollout(model, data.x_test, data.y_test, rules, device)
    budgets, averages = found[: len(BUDGETS)], found[len(BUDGETS) :]
    return [*(cut.accuracy for cut in budgets), *(number for cut in averages for number in cut)]


def paper_epoch(args: argparse.Namespace, data: Split) -> Table:
    """Seconds of a joint epoch with the paper's networks and episodes: its code, a plain loop, ours."""
    model, _, clock = fit(args, data, 0, PAPER)
    ours = joint_epoch(clock)
    task = model.model_.task
    policy = model.build(model.model_.schema.space, task).to(args.device)
    rows = model.encode(data.x)
    rows = Rows(rows.x, rows.present, rows.available, task.encode(data.y)).to(args.device)
    plain = plain_epoch(policy, task, rows, model.max_steps)
    table = Table(["networks and steps of the paper", "s a joint epoch", "times as long"])
    table.add(["the paper's code, as published", PAPER_CODE_SECONDS, PAPER_CODE_SECONDS / ours])
    table.add([f"a plain loop of algorithm 1, batch {PLAIN_BATCH}", plain, plain / ours])
    table.add(["askwise, its validation included", ours, 1.0])
    return table


def main(argv: Sequence[str] | None = None) -> None:
    options = Options(__doc__)
    options.add_data("data", "folder that holds mnist.npz")
    options.add("--seeds", type=int, default=3, smoke=1)
    options.add("--runs", nargs="+", choices=RUNS, default=list(RUNS), smoke=["quick"])
    options.add("--device", default="cuda", smoke="cpu")
    options.add_argument("--no-paper", action="store_true", help="leave out the epochs with the paper's networks")
    args = options.read(argv)
    data, seconds = wall_seconds(lambda: mnist_split(args.data))
    print(f"read in {seconds:.2f} s")
    columns = ["run", "seed", "s in all", "joint epochs", "s a joint epoch", *(f"% at {k}" for k in BUDGETS)]
    table = Table([*columns, *(c for k in AVERAGES for c in (f"average, aim {k}", "%"))])
    means = Table(table.columns)
    for run in args.runs:
        rows = []
        for seed in range(args.seeds):
            model, seconds, clock = fit(args, data, seed, RUNS[run])
            rows.append([seconds, len(clock.ends["joint"]), joint_epoch(clock), *tested(model, data, args.device)])
            table.add([run, seed, *rows[-1]])
        means.add([run, "mean", *np.mean(rows, axis=0).tolist()])
    print(means)
    speed = Table([]) if args.no_paper else paper_epoch(args, data)
    print(speed)
    facts = {"gpu": gpu_name(), "settings": RUNS}
    write_results(args.out, "mnist_gpu", table, means=means.rows, speed=speed.rows, **facts)


if __name__ == "__main__":
    main()
