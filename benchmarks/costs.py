"""Costs matter: DIME with true costs, with true costs at inference only, and with none; EDDI and CwCF beside it."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from sklearn.model_selection import StratifiedKFold

from askwise import Budget, CwcfClassifier, DimeClassifier, EddiClassifier
from askwise.data.tables.files import read_table
from askwise.evaluation.curves import area_under_curve
from askwise.evaluation.metrics import auroc
from common import Table, write_results

TARGETS = {"keel_pima": "label", "heart_cleveland": "diameter narrowing"}
VARIANTS = {
    "DIME, true costs": "#0072B2",
    "DIME, true at inference only": "#E69F00",
    "DIME, uniform costs": "#999999",
    "EDDI, true costs": "#009E73",
    "CwCF, true costs": "#CC79A7",
}
POINTS = 25


def curve(model: Any, x: pd.DataFrame, y: np.ndarray, costs: pd.Series, uniform: bool) -> pd.DataFrame:
    """AUROC against the true cost paid, by the budget rule; with uniform costs the budget counts questions."""
    names = model.model_.schema.space.names
    price = costs[list(names)].to_numpy()
    budgets = range(len(names) + 1) if uniform else [0.0, *np.geomspace(price.min(), price.sum(), POINTS)]
    chosen_by = dict.fromkeys(names, 1.0) if uniform else dict(zip(names, price.tolist(), strict=True))
    code = np.searchsorted(model.classes_, y)
    records = []
    for k in budgets:
        a = model.acquire(x, stop=Budget(k), costs=chosen_by)
        paid = float((a.known.to_numpy() @ price).mean())
        records.append({"mean_cost": paid, "auroc": float(auroc(a.proba, code, np.ones((1, len(y))))[0])})
    return pd.DataFrame(records)


def split_curves(
    data: pd.DataFrame, target: str, costs: pd.Series, seed: int, train: np.ndarray, test: np.ndarray
) -> dict[str, pd.DataFrame]:
    """The curve of each variant for one split and one seed."""
    x, y = data.drop(columns=target), data[target].to_numpy()
    prices = costs.to_dict()
    priced, eddi, cwcf = (
        method(costs=prices, random_state=seed).fit(x.iloc[train], y[train])
        for method in (DimeClassifier, EddiClassifier, CwcfClassifier)
    )
    plain = DimeClassifier(random_state=seed).fit(x.iloc[train], y[train])
    compared = [(priced, False), (plain, False), (plain, True), (eddi, False), (cwcf, False)]
    return {
        variant: curve(model, x.iloc[test], y[test], costs, uniform)
        for variant, (model, uniform) in zip(VARIANTS, compared, strict=True)
    }


def draw(curves: dict[str, dict[str, list[pd.DataFrame]]], totals: dict[str, float], path: Path) -> None:
    figure = Figure(figsize=(10, 4.6), layout="constrained")
    for axes, (name, variants) in zip(figure.subplots(1, len(curves)), curves.items(), strict=True):
        grid = np.r_[0, np.geomspace(1, totals[name], 200)]
        for variant, tables in variants.items():
            lines = np.array([np.interp(grid, t["mean_cost"], t["auroc"]) for t in tables])
            mean, error = lines.mean(0), lines.std(0, ddof=1) / np.sqrt(len(lines))
            axes.plot(grid, mean, label=variant, color=VARIANTS[variant], lw=2)
            axes.fill_between(grid, mean - error, mean + error, color=VARIANTS[variant], alpha=0.15, lw=0)
        axes.set(title=name, xlabel="mean cost, 1995 Canadian dollars", ylabel="AUROC", xlim=(1, totals[name]))
        axes.set_xscale("log")
        axes.grid(alpha=0.3)
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    figure.savefig(path, dpi=150)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, help="folder with keel_pima.csv.gz, heart_cleveland.csv.gz and costs.json")
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--repeats", type=int, default=2, help="seeds for each split")
    parser.add_argument("--out", default="benchmarks/out")
    parser.add_argument("--figure", type=Path, default=Path("docs/images/costs.png"))
    args = parser.parse_args()
    prices = json.loads((args.data / "costs.json").read_text())
    table = Table(["dataset, split", *VARIANTS])
    curves: dict[str, dict[str, list[pd.DataFrame]]] = {}
    totals = {}
    for name, target in TARGETS.items():
        data, costs = read_table(args.data / f"{name}.csv.gz"), pd.Series(prices[name], dtype=float)
        totals[name] = float(costs.sum())
        curves[name] = {variant: [] for variant in VARIANTS}
        areas = []
        folds = StratifiedKFold(args.splits, shuffle=True, random_state=0)
        for split, (train, test) in enumerate(folds.split(data, data[target])):
            of_seeds = []
            for seed in range(args.repeats):
                found = split_curves(data, target, costs, seed, train, test)
                for variant in VARIANTS:
                    curves[name][variant].append(found[variant])
                of_seeds.append([area_under_curve(found[v], "auroc", totals[name]) for v in VARIANTS])
            areas.append(np.mean(of_seeds, 0).tolist())
            table.add([f"{name} {split}", *areas[-1]])
        table.add([f"{name} mean", *np.mean(areas, 0).tolist()])
    print(table)
    write_results(args.out, "costs", table)
    args.figure.parent.mkdir(parents=True, exist_ok=True)
    draw(curves, totals, args.figure)


if __name__ == "__main__":
    main()
