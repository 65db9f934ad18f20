"""A comparison at a glance: the area under each method's curve on every dataset, and the time it takes."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from askwise.studies.compare.tables import AVERAGE, BUDGET, ceilings, standings
from benchmarks.shared.options import COMPARED, Options
from benchmarks.shared.results import Table

TIMES = {"train_cpu_seconds": "CPU seconds to train", "microseconds_per_row": "microseconds to ask a row"}


def areas(results: pd.DataFrame, datasets: list[str]) -> Table:
    """Methods under budgets, then those that stop by penalties, then everything known."""
    table = Table(["area under the curve", *datasets])
    for rule, note in ((BUDGET, ""), (AVERAGE, ", stopped by penalties")):
        found = standings(results, rule).set_index(["method", "dataset"])
        marks = {True: "°", False: ""}
        for method in found.groupby("method")["area"].mean().sort_values(ascending=False).index:
            of = [found.loc[(method, d)] for d in datasets]
            # Only two can stop by penalties: they are not marked among themselves.
            shown = [f"**{c.area:.3f}**" if c.best else f"{c.area:.3f}{marks[c.as_good]}" for c in of]
            shown = [f"{c.area:.3f}" for c in of] if note else shown
            table.add([f"{method}{note}", *shown])
    table.add(["everything known", *ceilings(results)["mean"].loc[datasets].tolist()])
    return table


def times(results: pd.DataFrame, datasets: list[str], column: str, title: str) -> Table:
    """A row for each method, the fastest first."""
    found = standings(results).set_index(["method", "dataset"])
    table = Table([title, *datasets])
    for method in found.groupby("method")[column].mean().sort_values().index:
        table.add([method, *(_short(found.loc[(method, d)][column]) for d in datasets)])
    return table


def _short(number: float) -> str:
    return f"{number:,.0f}" if number >= 10 else f"{number:.1f}"


def main(argv: Sequence[str] | None = None) -> None:
    options = Options(__doc__)
    options.add_data("results", "results.csv of askwise compare", smoke=COMPARED)
    args = options.read(argv)
    results = pd.read_csv(args.results)
    datasets = list(results["dataset"].unique())
    print(areas(results, datasets), "\n")
    each = results.drop_duplicates(["dataset", "method", "seed"])
    print(f"{each['train_cpu_seconds'].sum() / 3600:.1f} CPU hours of training\n")
    for column, title in TIMES.items():
        print(times(results, datasets, column, title), "\n")


if __name__ == "__main__":
    main()
