"""CUBE-NM: who asks the context first, which tells nothing by itself, and what the answer is worth in the end."""

from __future__ import annotations

import argparse
import time
from typing import Any

from askwise import METHODS, Budget
from askwise.data.synthetic import DISTRIBUTIONS
from common import Table, write_results

# Those that look further ahead than one question, trained for the budget, and one that does not.
COMPARED = {"cwcf": True, "opportunistic": True, "dime": False}
CONTEXT = "context"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=4000)
    parser.add_argument("--test-rows", type=int, default=10_000)
    parser.add_argument("--budget", type=int, default=5)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--out", default="benchmarks/out")
    args = parser.parse_args()
    truth = DISTRIBUTIONS["cube-nm"]()
    x_test, y_test = truth.sample(args.test_rows, seed=1_000_000)
    table = Table(["method", "seed", "asks the context first", f"accuracy at {args.budget}", "s to train"])
    for name, takes_budget in COMPARED.items():
        for seed in range(args.seeds):
            own: dict[str, Any] = {"budget": args.budget} if takes_budget else {}
            model = METHODS[f"{name}-classifier"](**truth.settings, **own, random_state=seed)
            start = time.perf_counter()
            model.fit(*truth.sample(args.rows, seed))
            seconds = time.perf_counter() - start
            asked = model.acquire(x_test, stop=Budget(args.budget))
            first = sum(order[0] == CONTEXT for order in asked.order) / len(asked.order)
            right = float((model.classes_[asked.proba.argmax(1)] == y_test).mean())
            table.add([name, seed, f"{first:.0%}", right, seconds])
    print(table)
    write_results(args.out, "context_first", table)


if __name__ == "__main__":
    main()
