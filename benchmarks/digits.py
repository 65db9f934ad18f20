"""Digits: accuracy at budgets and with penalties, on the split that the paper's code was measured on, and CPU time."""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any

import numpy as np

from askwise import METHODS, AverageCost, Budget
from common import Table, cpu_seconds, write_results

BUDGETS = (1, 2, 3, 5, 10, 15, 20)
SETTINGS = {"max_steps": 20, "hidden": 128}


def load(folder: Path) -> list[np.ndarray]:
    """Rows and answers to train, to validate and to test."""
    data = np.load(folder / "digits_split.npz")
    return [data[f"{part}_{split}"] for split in ("train", "val", "test") for part in ("X", "y")]


def accuracies(model: Any, x: np.ndarray, y: np.ndarray, average: float) -> list[float]:
    """In %, at each budget and with penalties, and the features that these took; some methods know no penalties."""
    found = [100 * float((model.predict(x, stop=Budget(k)) == y).mean()) for k in BUDGETS]
    if not model.model_.policy.is_information:
        return [*found, math.nan, math.nan]
    # The penalty is looked up on the validation rows; the features are counted on these.
    penalised = model.acquire(x, stop=AverageCost(average))
    return [*found, 100 * float((penalised.proba.argmax(1) == y).mean()), float(penalised.spent.mean())]


def arguments(description: str | None) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("data", type=Path, help="folder that holds digits_split.npz")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--average", type=float, default=8.0, help="average number of features with penalties")
    parser.add_argument("--out", default="benchmarks/out")
    return parser


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--method", default="dime")
    parser.add_argument("--budget", type=float, help="train for this budget alone, where a method can")
    args = parser.parse_args()
    own = {} if args.budget is None else {"budget": args.budget}
    x, y, x_val, y_val, x_test, y_test = load(args.data)
    table = Table(["seed", *(f"{k}" for k in BUDGETS), "penalised", "at features", "everything", "CPU s"])
    for seed in range(args.seeds):
        settings = METHODS[f"{args.method}-classifier"](random_state=seed, **SETTINGS, **own)
        model, seconds = cpu_seconds(lambda: settings.fit(x, y, eval_set=(x_val, y_val)))  # noqa: B023
        accuracy = accuracies(model, x_test, y_test, args.average)
        table.add([seed, *accuracy, 100 * model.score(x_test, y_test), seconds])
    table.add_mean()
    print(table)
    write_results(args.out, f"digits_{args.method}", table)


if __name__ == "__main__":
    main()
