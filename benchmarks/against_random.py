"""By how much each method of a comparison beats a random order: paired over seeds, with 95 % intervals."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

from common import Table

FLOOR = "random-order"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", type=Path, help="results.csv of askwise compare")
    args = parser.parse_args()
    results = pd.read_csv(args.results)
    table = Table(["dataset", "method", "mean over budgets", "above random order", "95 % interval", "seeds"])
    for dataset, part in results[results["rule"] == "budget"].groupby("dataset", sort=False):
        means = part.groupby(["method", "seed"])[part["metric"].iloc[0]].mean().unstack()
        for method in means.mean(axis=1).sort_values(ascending=False).index:
            gain = (means.loc[method] - means.loc[FLOOR]).dropna()
            half = stats.t.ppf(0.975, len(gain) - 1) * gain.std(ddof=1) / np.sqrt(len(gain))
            interval = f"{gain.mean() - half:.3f} to {gain.mean() + half:.3f}" if method != FLOOR else ""
            table.add([dataset, method, float(means.loc[method].mean()), float(gain.mean()), interval, len(gain)])
    print(table)


if __name__ == "__main__":
    main()
