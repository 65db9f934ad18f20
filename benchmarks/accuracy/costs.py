"""Costs matter: DIME with true costs, with true costs at inference only, and with none; EDDI and CwCF beside it."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from sklearn.datasets import load_iris
from sklearn.model_selection import StratifiedKFold

from askwise import Budget, CwcfClassifier, DimeClassifier, EddiClassifier
from askwise.data.tables.files import read_table
from askwise.evaluation.areas import area_under_curve
from askwise.evaluation.metrics import auroc
from benchmarks.shared.options import Options, tiny
from benchmarks.shared.results import Table, write_results

TARGETS = {"keel_pima": "label", "heart_cleveland": "diameter narrowing"}
VARIANTS = {
    "DIME, true costs": "#0072B2",
    "DIME, true at inference only": "#E69F00",
    "DIME, uniform costs": "#999999",
    "EDDI, true costs": "#009E73",
    "CwCF, true costs": "#CC79A7",
}
# Of one table: for each variant its curves, one for each split and seed.
Curves = dict[str, list[pd.DataFrame]]


def tables(args: argparse.Namespace) -> Iterator[tuple[str, pd.DataFrame, Any, pd.Series]]:
    """The name of each table, its columns, its answers, and what each column costs."""
    if args.data is None:
        x, y = load_iris(return_X_y=True, as_frame=True)
        yield "iris", x[y > 0], y[y > 0].to_numpy(), pd.Series(dict(zip(x.columns, (1.0, 2.0, 5.0, 9.0), strict=True)))
        return
    prices = json.loads((args.data / "costs.json").read_text())
    for name, target in TARGETS.items():
        x = read_table(args.data / f"{name}.csv.gz")
        y = x.pop(target).to_numpy()
        yield name, x, y, pd.Series(prices[name], dtype=float)


def curve(model: Any, x: pd.DataFrame, y: np.ndarray, costs: pd.Series, uniform: bool, points: int) -> pd.DataFrame:
    """AUROC against the true cost paid, by the budget rule; with uniform costs the budget counts questions."""
    names = model.model_.schema.space.names
    price = costs[list(names)].to_numpy()
    budgets = range(len(names) + 1) if uniform else [0.0, *np.geomspace(price.min(), price.sum(), points)]
    chosen_by = dict.fromkeys(names, 1.0) if uniform else dict(zip(names, price.tolist(), strict=True))
    code = np.searchsorted(model.classes_, y)
    records = []
    for k in budgets:
        a = model.acquire(x, stop=Budget(k), costs=chosen_by)
        paid = float((a.known.to_numpy() @ price).mean())
        records.append({"mean_cost": paid, "auroc": float(auroc(a.proba, code, np.ones((1, len(y))))[0])})
    return pd.DataFrame(records)


def fitted(args: argparse.Namespace, x: pd.DataFrame, y: np.ndarray, costs: pd.Series, seed: int) -> list[Any]:
    """The model of each variant, and whether it counts questions instead of costs."""
    prices = costs.to_dict()
    priced, eddi, cwcf = (
        method(costs=prices, random_state=seed, **tiny(args, method)).fit(x, y)
        for method in (DimeClassifier, EddiClassifier, CwcfClassifier)
    )
    plain = DimeClassifier(random_state=seed, **tiny(args, DimeClassifier)).fit(x, y)
    return [(priced, False), (plain, False), (plain, True), (eddi, False), (cwcf, False)]


def measured(args: argparse.Namespace, name: str, x: pd.DataFrame, y: Any, costs: pd.Series, table: Table) -> Curves:
    """All curves of one table; the areas under them are added to the table of results, split by split."""
    curves: Curves = {variant: [] for variant in VARIANTS}
    areas = []
    folds = StratifiedKFold(args.splits, shuffle=True, random_state=0)
    for split, (train, test) in enumerate(folds.split(x, y)):
        of_seeds = []
        for seed in range(args.repeats):
            models = fitted(args, x.iloc[train], y[train], costs, seed)
            found = [curve(model, x.iloc[test], y[test], costs, uniform, args.points) for model, uniform in models]
            for variant, one in zip(VARIANTS, found, strict=True):
                curves[variant].append(one)
            of_seeds.append([area_under_curve(one, "auroc", float(costs.sum())) for one in found])
        areas.append(np.mean(of_seeds, 0).tolist())
        table.add([f"{name} {split}", *areas[-1]])
    table.add([f"{name} mean", *np.mean(areas, 0).tolist()])
    return curves


def draw(curves: dict[str, Curves], totals: dict[str, float], path: Path) -> None:
    figure = Figure(figsize=(10, 4.6), layout="constrained")
    panels = figure.subplots(1, len(curves), squeeze=False)[0]
    for axes, (name, variants) in zip(panels, curves.items(), strict=True):
        grid = np.r_[0, np.geomspace(1, totals[name], 200)]
        for variant, found in variants.items():
            lines = np.array([np.interp(grid, t["mean_cost"], t["auroc"]) for t in found])
            mean, error = lines.mean(0), lines.std(0, ddof=1) / np.sqrt(len(lines))
            axes.plot(grid, mean, label=variant, color=VARIANTS[variant], lw=2)
            axes.fill_between(grid, mean - error, mean + error, color=VARIANTS[variant], alpha=0.15, lw=0)
        axes.set(title=name, xlabel="mean cost, 1995 Canadian dollars", ylabel="AUROC", xlim=(1, totals[name]))
        axes.set_xscale("log")
        axes.grid(alpha=0.3)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    figure.savefig(path, dpi=150)


def main(argv: Sequence[str] | None = None) -> None:
    options = Options(__doc__)
    options.add_data("data", "folder with keel_pima.csv.gz, heart_cleveland.csv.gz and costs.json")
    options.add("--splits", type=int, default=5, smoke=2)
    options.add("--repeats", type=int, default=2, smoke=1, help="seeds for each split")
    options.add("--points", type=int, default=25, smoke=2, help="budgets of a curve")
    options.add_written("--figure", Path("docs/images/costs.png"))
    args = options.read(argv)
    table = Table(["dataset, split", *VARIANTS])
    curves, totals = {}, {}
    for name, x, y, costs in tables(args):
        totals[name] = float(costs.sum())
        curves[name] = measured(args, name, x, y, costs, table)
    print(table)
    write_results(args.out, "costs", table)
    draw(curves, totals, args.figure)


if __name__ == "__main__":
    main()
