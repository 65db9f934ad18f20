"""A comparison at a glance: the area under each method's curve on every dataset, and the time it takes."""

from __future__ import annotations

import argparse
from pathlib import Path

import pandas as pd

from askwise.studies.compare.tables import AVERAGE, BUDGET, ceilings, standings
from common import Table

FIGURES = {"train_cpu_seconds": "CPU seconds to train", "microseconds_per_row": "microseconds to ask a row"}


def _short(number: float) -> str:
    return f"{number:,.0f}" if number >= 10 else f"{number:.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", type=Path, help="results.csv of askwise compare")
    args = parser.parse_args()
    results = pd.read_csv(args.results)
    datasets = list(results["dataset"].unique())
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
    print(table, "\n")
    found = standings(results).set_index(["method", "dataset"])
    each = results.drop_duplicates(["dataset", "method", "seed"])
    print(f"{each['train_cpu_seconds'].sum() / 3600:.1f} CPU hours of training\n")
    for figure, title in FIGURES.items():
        times = Table([title, *datasets])
        for method in found.groupby("method")[figure].mean().sort_values().index:
            times.add([method, *(_short(found.loc[(method, d)][figure]) for d in datasets)])
        print(times, "\n")


if __name__ == "__main__":
    main()
