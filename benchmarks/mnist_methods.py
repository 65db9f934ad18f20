"""MNIST, each pixel a question: every method that scales to it, with the same networks, on a GPU."""

from __future__ import annotations

import argparse
import csv
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from askwise import METHODS, AverageCost, Budget
from askwise.report.plots.cases import digit_selections
from common import Table, write_results
from mnist_gpu import load

# EDDI would sample every pixel at each of the 784 steps of its validation rows: it does not scale to this.
NAMES = ("dime", "argmax-direct", "opportunistic", "cwcf", "concrete-autoencoder", "mrmr", "cmicot", "random-order")
CEILING = "all-features"
BUDGETS = (1, 2, 3, 5, 8, 10, 12, 20, 30)
AVERAGES = (5, 10, 15, 20)
COMMON: dict[str, Any] = {"hidden": 512, "batch_size": 256, "max_steps": 30, "dropout": 0.3, "epochs": 40}
# Methods whose stages are many (temperatures) or few: about the same time for each.
EPOCHS = {"dime": 80, "argmax-direct": 20, "concrete-autoencoder": 10}
SHOWN = 10


def tested(model: Any, x: np.ndarray, y: np.ndarray, device: str) -> tuple[dict[str, list[float]], float]:
    """For each rule its parameter, features asked and accuracy in %; and the seconds of the rollout that they cut."""
    whole = replace(model.model_, device=device)
    prices = whole.costs()
    averages = [AverageCost(k) for k in AVERAGES] if whole.policy.is_information else []
    given = [*(Budget(k) for k in BUDGETS), *averages]
    rows = model.encode(x)
    rules = [whole.rule(rule, prices) for rule in given]
    whole.trace(rows.take(slice(0, 100)), rules, prices)
    start = time.perf_counter()
    trace = whole.trace(rows, rules, prices)
    seconds = time.perf_counter() - start
    found = {}
    for rule, stop in zip(given, trace.stops, strict=True):
        outputs, spent, _ = trace.at(stop.at)
        found[str(rule)] = [rule.k, float(spent.mean()), 100 * float((outputs.argmax(1).numpy() == y).mean())]
    return found, seconds


def everything(model: Any, x: np.ndarray, y: np.ndarray) -> float:
    return 100 * float((model.predict(x) == y).mean())


def draw(model: Any, x: np.ndarray, y: np.ndarray, path: Path) -> None:
    """The first image of each digit with the pixels that were asked of it, 10 on average."""
    shown = np.array([np.flatnonzero(y == digit)[0] for digit in range(SHOWN)])
    asked = model.acquire(x[shown], stop=AverageCost(10))
    names = list(model.model_.schema.space.names)
    guesses = model.classes_[asked.proba.argmax(1)]
    path.parent.mkdir(parents=True, exist_ok=True)
    digit_selections(x[shown].reshape(-1, 28, 28), asked.order, names, y[shown], guesses).savefig(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, help="folder that holds mnist.npz")
    parser.add_argument("--methods", nargs="+", default=[*NAMES, CEILING], choices=[*NAMES, CEILING])
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--rows", type=int, default=50_000, help="rows to train on")
    parser.add_argument("--epochs", type=int, help="for a try")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--out", default="benchmarks/out")
    parser.add_argument("--figure", type=Path, default=Path("docs/images/mnist_questions.png"))
    args = parser.parse_args()
    x, y, x_val, y_val, x_test, y_test = load(args.data)
    x, y = x[: args.rows], y[: args.rows]
    table = Table(["method", "seed", *(f"% at {k}" for k in BUDGETS), "% of everything", "s to train", "µs a row"])
    tidy = []
    for name in args.methods:
        for seed in range(args.seeds):
            epochs = args.epochs or EPOCHS.get(name, COMMON["epochs"])
            model = METHODS[f"{name}-classifier"](random_state=seed, device=args.device, **COMMON | {"epochs": epochs})
            start = time.perf_counter()
            model.fit(x, y, eval_set=(x_val, y_val))
            training = time.perf_counter() - start
            found, seconds = tested(model, x_test, y_test, args.device)
            accuracies = [found[str(Budget(k))][2] for k in BUDGETS]
            table.add(
                [name, seed, *accuracies, everything(model, x_test, y_test), training, 1e6 * seconds / len(y_test)]
            )
            tidy += [[name, seed, rule, *values, training, seconds] for rule, values in found.items()]
            if name == "dime" and seed == 0:
                for k in AVERAGES:
                    _, mean, accuracy = found[str(AverageCost(k))]
                    print(f"dime, average of {k}: {accuracy:.1f} % with {mean:.2f} pixels", flush=True)
                draw(model, x_test, y_test, args.figure)
            # After each model: a run that is cut short leaves what it has.
            gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else None
            write_results(args.out, "mnist_methods", table, gpu=gpu, settings=COMMON, epochs=EPOCHS)
            with (Path(args.out) / "mnist_methods.csv").open("w", newline="") as file:
                columns = ["method", "seed", "rule", "budget", "mean_groups", "accuracy", "train_seconds", "seconds"]
                csv.writer(file).writerows([columns, *tidy])
    print(table)


if __name__ == "__main__":
    main()
