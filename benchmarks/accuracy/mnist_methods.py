"""MNIST, each pixel a question: every method that scales to it, with the same networks, on a GPU."""

from __future__ import annotations

import argparse
import csv
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from askwise import METHODS, AverageCost, Budget
from askwise.report.plots.cases import digit_selections
from benchmarks.shared.data import Split, mnist_split
from benchmarks.shared.measuring import wall_seconds
from benchmarks.shared.options import Options, tiny
from benchmarks.shared.results import Table, gpu_name, write_results
from benchmarks.shared.rules import cut_rollout

# EDDI would sample every pixel at each of the 784 steps of its validation rows: it does not scale to this.
NAMES = ("dime", "argmax-direct", "opportunistic", "cwcf", "concrete-autoencoder", "mrmr", "cmicot", "random-order")
CEILING = "all-features"
BUDGETS = (1, 2, 3, 5, 8, 10, 12, 20, 30)
AVERAGES = (5, 10, 15, 20)
COMMON: dict[str, Any] = {"hidden": 512, "batch_size": 256, "max_steps": 30, "dropout": 0.3, "epochs": 40}
# Methods whose stages are many (temperatures) or few: about the same time for each.
EPOCHS = {"dime": 80, "argmax-direct": 20, "concrete-autoencoder": 10}
COLUMNS = ["method", "seed", "rule", "budget", "mean_groups", "accuracy", "train_seconds", "seconds"]
SHOWN = 10


def fitted(args: argparse.Namespace, data: Split, name: str, seed: int) -> tuple[Any, float]:
    """A trained model, and the seconds that took."""
    method = METHODS[f"{name}-classifier"]
    epochs = args.epochs or EPOCHS.get(name, COMMON["epochs"])
    model = method(random_state=seed, device=args.device, **COMMON | {"epochs": epochs} | tiny(args, method))
    x, y = data.x[: args.rows], data.y[: args.rows]
    return wall_seconds(lambda: model.fit(x, y, eval_set=data.validation))


def draw(model: Any, x: np.ndarray, y: np.ndarray, path: Path) -> None:
    """The first image of each digit with the pixels that were asked of it, 10 on average."""
    shown = np.array([np.flatnonzero(y == digit)[0] for digit in range(SHOWN)])
    asked = model.acquire(x[shown], stop=AverageCost(10))
    names = list(model.model_.schema.space.names)
    guesses = model.classes_[asked.proba.argmax(1)]
    side = math.isqrt(x.shape[1])
    digit_selections(x[shown].reshape(-1, side, side), asked.order, names, y[shown], guesses).savefig(path)


def main(argv: Sequence[str] | None = None) -> None:
    options = Options(__doc__)
    options.add_data("data", "folder that holds mnist.npz")
    options.add_argument("--methods", nargs="+", default=[*NAMES, CEILING], choices=[*NAMES, CEILING])
    options.add("--seeds", type=int, default=1, smoke=1)
    options.add_argument("--rows", type=int, default=50_000, help="rows to train on")
    options.add_argument("--epochs", type=int, help="for a try")
    options.add("--device", default="cuda", smoke="cpu")
    options.add_written("--figure", Path("docs/images/mnist_questions.png"))
    args = options.read(argv)
    data = mnist_split(args.data)
    table = Table(["method", "seed", *(f"% at {k}" for k in BUDGETS), "% of everything", "s to train", "µs a row"])
    tidy = []
    for name in args.methods:
        for seed in range(args.seeds):
            model, training = fitted(args, data, name, seed)
            averages = [AverageCost(k) for k in AVERAGES] if model.model_.policy.is_information else []
            rules = [*map(Budget, BUDGETS), *averages]
            found, seconds = cut_rollout(model, data.x_test, data.y_test, rules, args.device)
            accuracies = [cut.accuracy for cut in found[: len(BUDGETS)]]
            everything = 100 * float((model.predict(data.x_test) == data.y_test).mean())
            table.add([name, seed, *accuracies, everything, training, 1e6 * seconds / len(data.y_test)])
            cuts = list(zip(rules, found, strict=True))
            tidy += [[name, seed, str(rule), rule.k, *cut, training, seconds] for rule, cut in cuts]
            if name == "dime" and seed == 0:
                for rule, cut in cuts[len(BUDGETS) :]:
                    print(f"dime, average of {rule.k}: {cut.accuracy:.1f} % with {cut.asked:.2f} pixels", flush=True)
                draw(model, data.x_test, data.y_test, args.figure)
            # After each model: a run that is cut short leaves what it has.
            write_results(args.out, "mnist_methods", table, gpu=gpu_name(), settings=COMMON, epochs=EPOCHS)
            with (args.out / "mnist_methods.csv").open("w", newline="") as file:
                csv.writer(file).writerows([COLUMNS, *tidy])
    print(table)


if __name__ == "__main__":
    main()
