"""By how much each method of a comparison beats a random order: paired over seeds, with 95 % intervals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy import stats

from benchmarks.shared.options import COMPARED, Options
from benchmarks.shared.results import Table

BASELINE = "random-order"


def main(argv: Sequence[str] | None = None) -> None:
    options = Options(__doc__)
    options.add_data("results", "results.csv of askwise compare", smoke=COMPARED)
    args = options.read(argv)
    results = pd.read_csv(args.results)
    table = Table(["dataset", "method", "mean over budgets", "above random order", "95 % interval", "seeds"])
    for dataset, part in results[results["rule"] == "budget"].groupby("dataset", sort=False):
        means = part.groupby(["method", "seed"])[part["metric"].iloc[0]].mean().unstack()
        for method in means.mean(axis=1).sort_values(ascending=False).index:
            gain = (means.loc[method] - means.loc[BASELINE]).dropna()
            half = stats.t.ppf(0.975, len(gain) - 1) * gain.std(ddof=1) / np.sqrt(len(gain))
            interval = f"{gain.mean() - half:.3f} to {gain.mean() + half:.3f}" if method != BASELINE else ""
            table.add([dataset, method, float(means.loc[method].mean()), float(gain.mean()), interval, len(gain)])
    print(table)


if __name__ == "__main__":
    main()
