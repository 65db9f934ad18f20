"""Inference on one thread: CPU time a row against its matrix products and a naive rollout, and steps of a session."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch.nn import functional as F

from askwise import AverageCost, Budget, DimeClassifier, Session
from askwise.core.policy import Policy
from askwise.core.rows import Rows
from askwise.core.stopping import Rule
from askwise.model.model import Model
from askwise.training.modes import threads
from benchmarks.shared.data import Split, digits_split, mnist_split
from benchmarks.shared.measuring import least_cpu_seconds
from benchmarks.shared.options import Options, tiny
from benchmarks.shared.results import Table, write_results

BUDGET = 10
# Products that are timed together.
CALLS = 5
RULES = (Budget(20), AverageCost(8))
# Sessions to warm up with.
WARM_UP = 3
# Trained for a short while: what they ask varies from row to row, and speed does not depend on how good it is.
DIGITS = {"hidden": 128, "max_steps": 20, "pretrain_epochs": 6, "epochs": 6}
MNIST = {"hidden": 512, "max_steps": 12, "pretrain_epochs": 3, "epochs": 2}


def fit(args: argparse.Namespace, data: Split, n_rows: int, trunk: str, settings: dict[str, Any]) -> DimeClassifier:
    """A model of so many rows, and a tenth as many to validate on."""
    n_val = n_rows // 10
    small = tiny(args, DimeClassifier) | {"hidden": settings["hidden"]} if args.smoke else {}
    model = DimeClassifier(share_trunk=trunk == "shared", random_state=0, device="cpu", **settings | small)
    return model.fit(data.x[:n_rows], data.y[:n_rows], eval_set=(data.x_val[:n_val], data.y_val[:n_val]))


def products(hidden: int, n_outputs: int, n_groups: int, n_steps: int) -> dict[tuple[int, int], int]:
    """How often a rollout on a shared trunk must multiply rows by a weight (outputs, inputs).

    The first layer is carried on by adding weights. The last step predicts and scores nothing more.
    """
    return {(hidden, hidden): n_steps + 1, (n_outputs, hidden): n_steps + 1, (n_groups, hidden): n_steps}


def product(n_rows: int, shape: tuple[int, int]) -> Callable[[], None]:
    """Multiplies rows by a weight of a shape, a few times."""
    rows, weight, bias = torch.randn(n_rows, shape[1]), torch.randn(shape), torch.randn(shape[0])

    def work() -> None:
        for _ in range(CALLS):
            F.linear(rows, weight, bias)

    return work


def naive(policy: Policy, rows: Rows, n_steps: int) -> torch.Tensor:
    """The groups known after a rollout that computes everything anew at every step, and keeps no records."""
    known = torch.zeros_like(rows.available)
    for _ in range(n_steps):
        belief = policy(rows.x, policy.mask(known, rows.present))
        choice = belief.scores.masked_fill(known | ~rows.available, -torch.inf).argmax(1)
        known = known.scatter(1, choice[:, None], True)
    policy(rows.x, policy.mask(known, rows.present), scores=False)
    return known


def rollouts(name: str, model: Model, rows: Rows, repeats: int) -> list[Any]:
    """µs a row, those of a naive rollout in float64, and in what share of the rows both ask the same."""
    placed, found = model.place(rows), {}

    def ours() -> None:
        found["ours"] = model.acquire(rows, Budget(BUDGET)).known.to_numpy()

    def plain() -> None:
        found["naive"] = naive(model.running_policy, placed, BUDGET).numpy()

    with torch.no_grad():
        seconds = least_cpu_seconds(ours, plain, repeats=repeats)
    same = float((found["ours"] == found["naive"]).all(1).mean())
    ours_us, naive_us = (1e6 * s / len(rows) for s in seconds)
    return [name, len(rows), ours_us, naive_us, naive_us / ours_us, same]


def products_alone(model: Model, rows: Rows, hidden: int, repeats: int) -> list[Any]:
    """µs a row of a rollout and of its matrix products alone, their ratio, and the rates of both in GFLOP/s."""
    shapes = products(hidden, model.task.n_outputs, model.schema.space.n_groups, BUDGET)
    works = [product(len(rows), shape) for shape in shapes]
    with torch.no_grad():
        whole, *parts = least_cpu_seconds(lambda: model.acquire(rows, Budget(BUDGET)), *works, repeats=repeats)
    least = sum(count * seconds / CALLS for count, seconds in zip(shapes.values(), parts, strict=True))
    work = sum(2 * n * m * count for (n, m), count in shapes.items()) * len(rows) / 1e9
    us = 1e6 / len(rows)
    return [len(rows), whole * us, least * us, whole / least, work / whole, work / least]


def session_steps(model: DimeClassifier, x: np.ndarray, rule: Rule, n_sessions: int) -> np.ndarray:
    """Seconds of each step of sessions: ask, and tell the answer."""
    position = model.model_.schema.space.position
    seconds = []
    for i, row in enumerate(x[: WARM_UP + n_sessions].tolist()):
        session = Session(model, rule)
        while True:
            start = time.perf_counter()
            question = session.ask()
            if question is None:
                break
            session.tell(question.name, row[position[question.name]])
            if i >= WARM_UP:
                seconds.append(time.perf_counter() - start)
    return np.array(seconds)


def trained(args: argparse.Namespace) -> tuple[dict[tuple[str, str], DimeClassifier], dict[str, np.ndarray]]:
    """Models by the names of their data and trunk, and rows to ask by the name of their data."""
    digits, mnist = digits_split(args.data), mnist_split(args.data)
    models = {}
    for trunk in ("separate", "shared"):
        models["digits", trunk] = fit(args, digits, len(digits.x), trunk, DIGITS)
        models["MNIST", trunk] = fit(args, mnist, args.rows, trunk, MNIST)
    return models, {"digits": np.concatenate(digits[::2]), "MNIST": mnist.x_test[: args.test_rows]}


def main(argv: Sequence[str] | None = None) -> None:
    options = Options(__doc__)
    options.add_data("data", "folder that holds mnist.npz and digits_split.npz")
    options.add("--rows", type=int, default=2000, smoke=100, help="of MNIST, to train with")
    options.add("--test-rows", type=int, default=1024, smoke=20, help="of MNIST, to ask")
    options.add("--repeats", type=int, default=15, smoke=1)
    options.add("--sessions", type=int, default=40, smoke=1, help="sessions to time")
    args = options.read(argv)
    models, tests = trained(args)
    with threads(1):
        rows = models["MNIST", "shared"].encode(tests["MNIST"])
        arithmetic = Table(["rows", "µs a row", "products alone", "ratio", "GFLOP/s", "of products alone"])
        arithmetic.add(products_alone(models["MNIST", "shared"].model_, rows, MNIST["hidden"], args.repeats))

        table = Table(["budget 10", "rows", "µs a row", "naive", "times faster", "same questions"])
        of = {key: model.encode(tests[key[0]]) for key, model in models.items()}
        for name, trunk, n_rows in (
            ("MNIST", "shared", len(tests["MNIST"])),
            ("MNIST", "separate", len(tests["MNIST"])),
            ("digits", "separate", 128),
            ("digits", "separate", len(tests["digits"])),
            ("digits", "shared", len(tests["digits"])),
        ):
            some = of[name, trunk].take(slice(n_rows))
            table.add(rollouts(f"{name}, {trunk}", models[name, trunk].model_, some, args.repeats))

        steps = Table(["µs of a session's step", "groups", "rule", "steps", "median", "95 %"])
        for (name, trunk), model in models.items():
            for rule in RULES:
                us = 1e6 * session_steps(model, tests[name], rule, args.sessions)
                n_groups = model.model_.schema.space.n_groups
                steps.add([f"{name}, {trunk}", n_groups, str(rule), len(us), *np.percentile(us, [50, 95]).tolist()])
    print(arithmetic, table, steps, sep="\n\n")
    write_results(args.out, "inference", table, floor=arithmetic.contents, sessions=steps.contents)


if __name__ == "__main__":
    main()
