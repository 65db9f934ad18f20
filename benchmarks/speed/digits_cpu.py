"""Digits: CPU seconds of training by stage and what they buy, beside a plain loop of algorithm 1."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np

from askwise import DimeClassifier
from askwise.core.rows import Rows
from askwise.training.loop import Training
from askwise.training.modes import threads
from benchmarks.shared.data import Split, digits_split
from benchmarks.shared.digits import BUDGETS, SETTINGS, accuracies, options_of
from benchmarks.shared.measuring import cpu_seconds
from benchmarks.shared.options import tiny
from benchmarks.shared.plain_loop import PLAIN_BATCH, plain_epoch
from benchmarks.shared.results import Table, write_results

STAGES = ("predictor", "value", "joint")
# The batches of the plain loop, and no dropout either. What ours does more stays: it learns from three states a row
# more, the last and two random ones, and validates.
LIKE_PLAIN = {"batch_size": PLAIN_BATCH, "dropout": 0.0, "pretrain_epochs": 1, "epochs": 6}


@contextmanager
def timed_stages() -> Iterator[dict[str, float]]:
    """CPU seconds of each stage of training, by name."""
    seconds: dict[str, float] = {}
    whole = Training.stage

    def stage(self: Training, name: str, *given: Any) -> None:
        _, seconds[name] = cpu_seconds(lambda: whole(self, name, *given))

    with patch.object(Training, "stage", stage):
        yield seconds


def fit(
    args: argparse.Namespace, data: Split, seed: int, settings: dict[str, Any]
) -> tuple[Any, float, dict[str, float]]:
    """A model, the CPU seconds of its training, and those of each stage."""
    model = DimeClassifier(random_state=seed, device="cpu", **SETTINGS | settings | tiny(args, DimeClassifier))
    with timed_stages() as seconds:
        _, total = cpu_seconds(lambda: model.fit(data.x, data.y, eval_set=data.validation))
    return model, total, seconds


def joint_epoch(model: DimeClassifier, seconds: dict[str, float]) -> float:
    """CPU seconds of a joint epoch, its validation included."""
    return seconds["joint"] / model.model_.card["epochs"]["joint"]


def plain_seconds(model: DimeClassifier, x: np.ndarray, y: np.ndarray) -> float:
    """CPU seconds of a joint epoch of the plain loop, with fresh networks of the same shape and no dropout."""
    task, rows = model.model_.task, model.encode(x)
    rows = Rows(rows.x, rows.present, rows.available, task.encode(y))
    policy = model.build(model.model_.schema.space, task)
    with threads(1):
        return plain_epoch(policy, task, rows, model.max_steps, now=time.process_time)


def main(argv: Sequence[str] | None = None) -> None:
    args = options_of(__doc__).read(argv)
    data = digits_split(args.data)
    parts = ["CPU s", *STAGES, "the rest"]
    table = Table(["seed", *parts, *(f"at {k}" for k in BUDGETS), "penalised", "at features", "joint epochs"])
    speed = Table(["CPU s of a joint epoch, by seed", "as by default", "as the plain loop", "the plain loop"])
    for seed in range(args.seeds):
        model, total, seconds = fit(args, data, seed, {})
        spent = [seconds[stage] for stage in STAGES]
        with threads(1):
            accuracy = accuracies(model, data.x_test, data.y_test, args.average)
        table.add([seed, total, *spent, total - sum(spent), *accuracy, model.model_.card["epochs"]["joint"]])
        like, _, of_like = fit(args, data, seed, LIKE_PLAIN)
        plain = plain_seconds(model, data.x, data.y)
        speed.add([seed, joint_epoch(model, seconds), joint_epoch(like, of_like), plain])
    for each in (table, speed):
        each.add_mean()
    ours, like, plain = speed.rows[-1][1:]
    speed.add(["times as fast as the plain loop", plain / ours, plain / like, 1.0])
    print(table, speed, sep="\n\n")
    write_results(args.out, "digits_cpu", table, speed=speed.contents)


if __name__ == "__main__":
    main()
