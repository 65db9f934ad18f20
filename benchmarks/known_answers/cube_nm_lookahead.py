"""CUBE-NM with default settings: accuracy at budgets, beside the exact greedy policy and asking the context first.

python -m benchmarks.known_answers.cube_nm_lookahead

The context tells nothing by itself, and everything after it tells more. Exact greedy asks it late, so that only a
policy that looks ahead can come near to asking it first. Also Budget(7) beside an average of 7 questions.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from askwise import AverageCost, DimeClassifier
from askwise.data.synthetic import DISTRIBUTIONS, Distribution
from askwise.data.synthetic.cube import CONTEXT
from benchmarks.known_answers.exact_greedy import accuracies
from benchmarks.shared.paths import along_path, fit_seconds, path_of
from benchmarks.shared.results import Table
from benchmarks.shared.runs import RunOptions, Runs, estimator, shown

BUDGETS = (3, 5, 7)
# What defaults must reach.
REQUIRED = {5: 0.62, 7: 0.75}
TEST_SEED, VALIDATION_SEED = 1_000_000, 2_000_000
# Policies that know the truth: the group that they ask first.
EXACT = {"exact greedy": None, "exact, context first": CONTEXT}


def train_and_measure(args: argparse.Namespace, truth: Distribution, seed: int) -> dict[str, Any]:
    model = estimator(args, DimeClassifier, seed, **truth.settings)
    x, y = truth.sample(args.test_rows, VALIDATION_SEED if args.on == "validation" else TEST_SEED)
    seconds = fit_seconds(model, *truth.sample(args.rows, seed))
    path = path_of(model, x, max(BUDGETS))
    average = model.acquire(x, stop=AverageCost(max(BUDGETS)))
    return {
        "curve": along_path(model, path, y, "accuracy"),
        "average_accuracy": float((model.classes_[average.proba.argmax(1)] == y).mean()),
        "average_questions": float(average.n_asked.mean()),
        "context_first": float((path.choice[0] == truth.schema.space.position[CONTEXT]).double().mean()),
        **seconds,
    }


def main(argv: Sequence[str] | None = None) -> None:
    options = RunOptions(__doc__, "cube_nm", seeds=3)
    options.add("--rows", type=int, default=4000, smoke=100)
    options.add("--test-rows", type=int, default=10_000, smoke=50)
    args = options.read(argv)
    runs, truth, most = Runs(args), DISTRIBUTIONS["cube-nm"](), max(BUDGETS)
    table = Table(
        ["policy", *(f"at {k}" for k in BUDGETS), f"{most} on average", "asked", "context first", "s", "CPU s"]
    )
    ours = [
        runs.get(f"{args.rows}-rows-{seed}", partial(train_and_measure, args, truth, seed))
        for seed in range(args.seeds)
    ]
    for seed, run in enumerate(ours):
        at = [run["curve"][k] for k in BUDGETS]
        average = [run["average_accuracy"], run["average_questions"]]
        first = f"{run['context_first']:.0%}"
        table.add([f"ours, seed {seed}", *at, *average, first, run["wall_seconds"], run["cpu_seconds"]])
    mean = [shown([run["curve"][k] for run in ours]) for k in BUDGETS]
    averages = [float(np.mean([run[f"average_{what}"] for run in ours])) for what in ("accuracy", "questions")]
    seconds = [float(np.mean([run[f"{clock}_seconds"] for run in ours])) for clock in ("wall", "cpu")]
    table.add(["ours, mean", *mean, *averages, "", *seconds])
    table.add(["required", *(REQUIRED.get(k, "") for k in BUDGETS), "", "", "", "", ""])
    for policy, first in EXACT.items():
        name = f"{policy.replace(', ', '-').replace(' ', '-')}-{args.test_rows}-rows"
        exact = runs.get(name, lambda: {"curve": accuracies(truth, first, True, args.test_rows, most)}, False)  # noqa: B023
        table.add([policy, *(exact["curve"][k - 1] for k in BUDGETS), "", "", "", "", ""])
    print(f"\n{table}")
    runs.print_notes()


if __name__ == "__main__":
    main()
