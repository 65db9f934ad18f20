"""Digits: accuracy at budgets and with penalties, on the split that the paper's code was measured on, and CPU time."""

from __future__ import annotations

from collections.abc import Sequence

from askwise import METHODS
from benchmarks.shared.data import digits_split
from benchmarks.shared.digits import BUDGETS, SETTINGS, accuracies, options_of
from benchmarks.shared.measuring import cpu_seconds
from benchmarks.shared.options import tiny
from benchmarks.shared.results import Table, write_results


def main(argv: Sequence[str] | None = None) -> None:
    options = options_of(__doc__)
    options.add_argument("--method", default="dime")
    options.add_argument("--budget", type=float, help="train for this budget alone, where a method can")
    args = options.read(argv)
    own = {} if args.budget is None else {"budget": args.budget}
    data = digits_split(args.data)
    method = METHODS[f"{args.method}-classifier"]
    table = Table(["seed", *(f"{k}" for k in BUDGETS), "penalised", "at features", "everything", "CPU s"])
    for seed in range(args.seeds):
        model = method(random_state=seed, **SETTINGS | own | tiny(args, method))
        _, seconds = cpu_seconds(lambda: model.fit(data.x, data.y, eval_set=data.validation))  # noqa: B023
        accuracy = accuracies(model, data.x_test, data.y_test, args.average)
        table.add([seed, *accuracy, 100 * model.score(data.x_test, data.y_test), seconds])
    table.add_mean()
    print(table)
    write_results(args.out, f"digits_{args.method}", table)


if __name__ == "__main__":
    main()
