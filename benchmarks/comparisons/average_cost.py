"""AverageCost(k) against Budget(k): how much better it is on test rows, and how much of k it spends.

Tables as in benchmarks/tables.json, and CUBE-NM at k = 7. k is in mean prices where prices differ.
"""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from askwise import AverageCost, Budget, DimeClassifier
from askwise.core.errors import AskwiseWarning
from askwise.evaluation import metrics
from askwise.studies.compare.data import Dataset, Split, TableData
from askwise.studies.compare.named_data import named
from benchmarks.shared.data import few_digits
from benchmarks.shared.options import ROOT, Options, tiny
from benchmarks.shared.results import Table, write_results

AVERAGES = (1, 2, 3, 5, 8, 12)
CUBE, CUBE_AVERAGES = "cube-nm", (7,)
COLUMNS = ["table", "k", "seeds", "by a blend", "budget", "average cost", "difference", "standard error", "spent of k"]


class Cut(NamedTuple):
    """One table, seed and k: the metric of both rules, what AverageCost spent of k, and the rule it stood for."""

    budget: float
    average: float
    spent: float
    rule: str


def read_table(name: str, folder: Path) -> Dataset:
    """A table of tables.json from a folder, or one that comes with askwise."""
    facts = json.loads((ROOT / "benchmarks" / "tables.json").read_text()).get(name, {"name": name})
    if "name" in facts:
        return named(facts["name"])
    frame = pd.read_csv(folder / facts["path"]).drop(columns=facts.get("drop", []))
    frame = frame[frame[facts["target"]].notna()].reset_index(drop=True)
    costs = facts.get("costs")
    prices = None if costs is None else json.loads((folder / costs["file"]).read_text())[costs["key"]]
    y = frame.pop(facts["target"]).to_numpy()
    return TableData(name, frame, y, facts["task"], prices)


def cuts(data: Dataset, split: Split, seed: int, averages: Sequence[float], settings: dict[str, Any]) -> Iterator[Any]:
    """Train once, then ask the test rows under both rules at each k."""
    model = DimeClassifier(random_state=seed, **data.questions, **settings).fit(split.X, split.y, split_by=split.by)
    costs = np.array(model.model_.costs())
    truth = metrics.coded(model.model_.task, split.y_test)
    for average in averages:
        k = average * float(costs.mean())
        if k >= costs.sum():
            continue
        both = [model.acquire(split.X_test, stop=rule) for rule in (Budget(k), AverageCost(k))]
        found = [metrics.metrics(model.model_.task, a.proba, truth)[data.metric] for a in both]
        rule = str(model.model_.rule(AverageCost(k), tuple(costs)))
        yield average, Cut(*found, float(both[1].spent.mean() / k), rule)


def summary(name: str, average: float, found: Sequence[Cut]) -> list[Any]:
    """One line of the table: means over seeds, and the paired standard error of the difference."""
    budget, mean, spent = (np.array([getattr(cut, part) for cut in found]) for part in ("budget", "average", "spent"))
    gain = mean - budget
    error = float(gain.std(ddof=1) / np.sqrt(len(gain))) if len(gain) > 1 else 0.0
    blends = float(np.mean([cut.rule.startswith("blend") for cut in found]))
    means = [float(values.mean()) for values in (budget, mean, gain)]
    return [name, average, len(found), blends, *means, error, float(spent.mean())]


def main(argv: Sequence[str] | None = None) -> None:
    options = Options(__doc__, out=Path("benchmarks/results"))
    options.add_data("folder", "folder of the tables")
    options.add("--tables", nargs="+", smoke=["few digits"], default=None, help="only these (default: all)")
    options.add("--seeds", type=int, smoke=1, default=5)
    options.add("--max-rows", type=int, smoke=300, default=1_000_000, help="rows to train on, at most")
    options.add("--epochs", type=int, smoke=2, default=None, help="shorter trainings (default: those of the method)")
    args = options.read(argv)
    names = args.tables or [*json.loads((ROOT / "benchmarks" / "tables.json").read_text()), CUBE]
    settings = tiny(args, DimeClassifier) | ({} if args.epochs is None else {"epochs": args.epochs})
    table, each, started = Table(COLUMNS), {}, time.perf_counter()
    for name in names:
        digits = few_digits()
        data = TableData(name, digits.x, digits.y) if args.smoke else read_table(name, args.folder)
        found: dict[float, list[Cut]] = {}
        for seed in range(args.seeds):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", AskwiseWarning)
                split = data.split(seed, args.max_rows, len(getattr(data, "y", range(10_000))))
                for average, cut in cuts(data, split, seed, CUBE_AVERAGES if name == CUBE else AVERAGES, settings):
                    found.setdefault(average, []).append(cut)
        for average, same in found.items():
            table.add(summary(name, average, same))
        each[name] = {str(average): [cut._asdict() for cut in same] for average, same in found.items()}
    print(table)
    print(f"mean difference: {np.mean([row[6] for row in table.rows]):+.4f}; {time.perf_counter() - started:.0f} s")
    write_results(args.out, "average_cost", table, each=each)


if __name__ == "__main__":
    main()
