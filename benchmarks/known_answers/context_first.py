"""CUBE-NM: who asks the context first, which tells nothing by itself, and what the answer is worth in the end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from askwise import METHODS, Budget
from askwise.data.synthetic import DISTRIBUTIONS
from benchmarks.shared.measuring import wall_seconds
from benchmarks.shared.options import Options, tiny
from benchmarks.shared.results import Table, write_results

# The method, its settings, and whether it is trained for the budget: all but dime look further than one question.
COMPARED: dict[str, tuple[str, dict[str, Any], bool]] = {
    "cwcf": ("cwcf", {}, True),
    "opportunistic": ("opportunistic", {}, True),
    "dime": ("dime", {}, False),
    "dime-lookahead": ("dime", {"lookahead": 0.7}, False),
}
CONTEXT = "context"


def main(argv: Sequence[str] | None = None) -> None:
    options = Options(__doc__)
    options.add("--rows", type=int, default=4000, smoke=100)
    options.add("--test-rows", type=int, default=10_000, smoke=50)
    options.add("--budget", type=int, default=5, smoke=2)
    options.add("--seeds", type=int, default=2, smoke=1)
    options.add_argument("--methods", nargs="+", choices=COMPARED, default=list(COMPARED))
    args = options.read(argv)
    truth = DISTRIBUTIONS["cube-nm"]()
    x_test, y_test = truth.sample(args.test_rows, seed=1_000_000)
    table = Table(["method", "seed", "asks the context first", f"accuracy at {args.budget}", "s to train"])
    for name in args.methods:
        short, settings, takes_budget = COMPARED[name]
        method = METHODS[f"{short}-classifier"]
        own = settings | ({"budget": args.budget} if takes_budget else {})
        for seed in range(args.seeds):
            model = method(**truth.settings, **own, **tiny(args, method), random_state=seed)
            x, y = truth.sample(args.rows, seed)
            _, seconds = wall_seconds(lambda: model.fit(x, y))  # noqa: B023
            asked = model.acquire(x_test, stop=Budget(args.budget))
            first = sum(order[0] == CONTEXT for order in asked.order) / len(asked.order)
            right = float((model.classes_[asked.proba.argmax(1)] == y_test).mean())
            table.add([name, seed, f"{first:.0%}", right, seconds])
    print(table)
    write_results(args.out, "context_first", table)


if __name__ == "__main__":
    main()
