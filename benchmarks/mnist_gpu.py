"""MNIST, each pixel a question: accuracy against seconds of training on a GPU, beside a plain loop of algorithm 1."""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from askwise import AverageCost, Budget, DimeClassifier
from askwise.acquisition import random_open
from askwise.features import Rows
from askwise.policy import Policy
from askwise.tasks import Task
from common import Table, write_results

# What reaches the most in a minute.
SETTINGS = {
    "hidden": 1024,
    "share_trunk": True,
    "max_steps": 30,
    "dropout": 0.2,
    "epsilon": 0.1,
    "batch_size": 256,
    "pretrain_epochs": 10,
    "epochs": 80,
}
# The networks and episodes of the paper's own run, to time an epoch with.
PAPER = {"hidden": 512, "share_trunk": False, "max_steps": 50, "batch_size": 512, "pretrain_epochs": 1, "epochs": 6}
PAPER_CODE_SECONDS = 83.0
BUDGETS = (5, 10, 15, 20)
# Looked up on the validation rows, a little below 10 and 15 so that the test rows stay below them too.
AVERAGES = (9.9, 14.9)
PLAIN_BATCH, PLAIN_BATCHES = 128, 6


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
    x, y, x_val, y_val = data[:4]
    clock = Clock()
    start = time.perf_counter()
    model = DimeClassifier(random_state=seed, device=device, **settings)
    model.fit(x, y, eval_set=(x_val, y_val), progress=clock)
    return model, time.perf_counter() - start, clock


def plain_epoch(policy: Policy, task: Task, rows: Rows, n_steps: int, epsilon: float = 0.05) -> float:
    """Seconds of an epoch of algorithm 1 as printed: a step at a time, with gradients, and read back by the host.

    Some batches are run, and the others reckoned from them.
    """
    optimiser = torch.optim.Adam(policy.parameters(), lr=1e-3)
    policy.train()
    start = 0.0
    for b in range(PLAIN_BATCHES + 1):
        if b == 1:
            # The first batch warms up.
            torch.cuda.synchronize()
            start = time.perf_counter()
        _plain_batch(
            policy, task, rows.take(slice(b * PLAIN_BATCH, (b + 1) * PLAIN_BATCH)), n_steps, epsilon, optimiser
        )
    torch.cuda.synchronize()
    return (time.perf_counter() - start) / PLAIN_BATCHES * len(rows) / PLAIN_BATCH


def _plain_batch(
    policy: Policy, task: Task, batch: Rows, n_steps: int, epsilon: float, optimiser: torch.optim.Optimizer
) -> None:
    known = torch.zeros_like(batch.available)
    optimiser.zero_grad()
    total = 0.0
    belief = policy(batch.x, policy.mask(known, batch.present))
    loss = task.loss(belief.outputs, batch.y)
    for _ in range(n_steps):
        open_ = batch.available & ~known
        best = belief.scores.detach().masked_fill(~open_, -torch.inf).argmax(1)
        random = torch.rand(len(best), device=best.device) < epsilon
        choice = torch.where(random, random_open(open_), best)[:, None]
        score = belief.scores.gather(1, choice)[:, 0]
        known = known.scatter(1, choice, True)
        belief = policy(batch.x, policy.mask(known, batch.present))
        after: Tensor = task.loss(belief.outputs, batch.y)
        step = loss.mean() + ((score - (loss - after).detach()) ** 2).mean()
        (step / n_steps).backward(retain_graph=True)
        total += step.item()
        loss = after
    optimiser.step()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, help="folder that holds mnist.npz")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--settings", type=json.loads, default={}, help="JSON, changes to the settings")
    parser.add_argument("--out", default="benchmarks/out")
    args = parser.parse_args()
    data = load(args.data)
    settings = SETTINGS | args.settings
    columns = ["seed", "seconds", "joint epochs", "s an epoch", *(f"at {k}" for k in BUDGETS)]
    table = Table([*columns, *(c for k in AVERAGES for c in (f"average {k}", "accuracy"))])
    x_test, y_test = data[4:]
    for seed in range(args.seeds):
        model, seconds, clock = fit(data, seed, settings, args.device)
        accuracy = [100 * float((model.predict(x_test, stop=Budget(k)) == y_test).mean()) for k in BUDGETS]
        row = [seed, seconds, len(clock.ends["joint"]), clock.epoch("joint"), *accuracy]
        for k in AVERAGES:
            found = model.acquire(x_test, stop=AverageCost(k))
            row += [float(found.spent.mean()), 100 * float((found.proba.argmax(1) == y_test).mean())]
        table.add(row)
    table.add_mean()
    print(table)

    paper, _, clock = fit(data, 0, PAPER, args.device)
    ours = clock.epoch("joint")
    task = paper.model_.task
    policy = paper.build(paper.model_.schema.space, task).to(args.device)
    rows = paper.encode(data[0])
    rows = Rows(rows.x, rows.present, rows.available, task.encode(data[1])).to(args.device)
    plain = plain_epoch(policy, task, rows, PAPER["max_steps"])
    speed = Table(["networks and steps of the paper", "s a joint epoch", "times faster"])
    speed.add(["the paper's code, as published", PAPER_CODE_SECONDS, PAPER_CODE_SECONDS / ours])
    speed.add([f"a plain loop of algorithm 1, batch {PLAIN_BATCH}", plain, plain / ours])
    speed.add(["askwise", ours, 1.0])
    print(speed)
    facts = {"gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else None, "settings": settings}
    write_results(args.out, "mnist_gpu", table, speed=speed.rows, **facts)


if __name__ == "__main__":
    warnings.simplefilter("default")
    main()
