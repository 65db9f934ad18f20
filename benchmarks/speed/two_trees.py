"""Two versions of askwise beside each other: CPU seconds of training, rollouts and sessions, in turns.

    git archive REVISION | tar x -C before/
    python -m benchmarks.speed.two_trees before/

Each round runs one process for each tree, the older one first in every second round.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.shared.options import ROOT, Options
from benchmarks.shared.results import Table, write_results

# Runs in a process of its own, with public names alone: it must run on both trees.
WORK = """
import json, sys, time
import torch
torch.set_num_threads(1)
from sklearn.datasets import load_digits
from askwise import Budget, DimeClassifier, Session

n_rows, epochs, repeats, sessions = map(int, sys.argv[1:])
digits = load_digits()
x, y = digits.data[:n_rows] / 16, digits.target[:n_rows]

def seconds(work):
    start = time.process_time()
    work()
    return time.process_time() - start

model = DimeClassifier(random_state=0, device="cpu", epochs=epochs)
training = seconds(lambda: model.fit(x, y))

def rollouts():
    for _ in range(repeats):
        model.acquire(x, Budget(10))

def ask():
    for row in x[:sessions]:
        session = Session(model, Budget(10))
        while (question := session.ask()) is not None:
            session.tell(question.name, float(row[int(question.name[1:])]))

rollouts(), ask()
print(json.dumps([training, seconds(rollouts), seconds(ask)]))
"""
PARTS = ("training", "rollouts", "sessions")


def measure(tree: Path, sizes: Sequence[int]) -> list[float]:
    """CPU seconds of each part of the work, with the askwise of a source tree."""
    environment = os.environ | {"PYTHONPATH": str(tree / "src"), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", WORK, *map(str, sizes)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def main(argv: Sequence[str] | None = None) -> None:
    options = Options(__doc__)
    options.add_data("before", "the source tree of the version before", smoke=ROOT)
    options.add("--pairs", type=int, default=9, smoke=1)
    options.add("--rows", type=int, default=1797, smoke=150, help="how many digits, all by default")
    options.add("--epochs", type=int, default=20, smoke=1, help="of each stage of training")
    options.add("--repeats", type=int, default=10, smoke=1, help="rollouts of all digits")
    options.add("--sessions", type=int, default=200, smoke=2)
    args = options.read(argv)
    sizes = args.rows, args.epochs, args.repeats, args.sessions
    trees = (args.before, ROOT)
    found = []
    for pair in range(args.pairs):
        order = trees if pair % 2 == 0 else trees[::-1]
        seconds = {tree: measure(tree, sizes) for tree in dict.fromkeys(order)}
        found.append([seconds[tree] for tree in trees])
    before, now = np.array(found).transpose(1, 0, 2)
    table = Table(["part", "CPU s before", "CPU s now", "median ratio", "least", "most"])
    for i, part in enumerate(PARTS):
        ratio = now[:, i] / before[:, i]
        table.add([part, np.median(before[:, i]), np.median(now[:, i]), np.median(ratio), ratio.min(), ratio.max()])
    print(table)
    write_results(args.out, "two_trees", table)


if __name__ == "__main__":
    main()
