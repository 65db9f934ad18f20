"""The trials of the penalised curve on one picture: DIME stopping by penalties, a line for each seed compared."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from askwise.report.plots.style import METRIC_WORDS, new_figure, panel_words
from askwise.studies.compare.plots import STYLES
from benchmarks.shared.options import COMPARED, Options

COLUMNS = 4
# The best of the others under a budget, as a measure of how far trials lie apart.
BESIDE = "argmax-direct"


def main(argv: Sequence[str] | None = None) -> None:
    options = Options(__doc__)
    options.add_data("results", "results.csv of askwise compare", smoke=COMPARED)
    options.add_written("--figure", Path("docs/images/trials.png"))
    args = options.read(argv)
    results = pd.read_csv(args.results)
    names = results["dataset"].unique()
    lines = -(-len(names) // COLUMNS)
    figure = new_figure(3.4 * COLUMNS, 2.7 * lines + 0.4)
    for i, name in enumerate(names):
        ax = figure.add_subplot(lines, COLUMNS, i + 1)
        part = results[results["dataset"] == name]
        metric = part["metric"].iloc[0]
        dime = part[(part["method"] == "dime") & (part["rule"] == "average-cost") & (part["mean_cost"] > 0)]
        for _, trial in dime.groupby("seed"):
            drawn = trial.sort_values("mean_cost")
            ax.plot(drawn["mean_cost"], drawn[metric], color=STYLES["dime"].colour, lw=1.2, marker="o", ms=3, alpha=0.8)
        for method in ("dime", BESIDE):
            asked = part[(part["method"] == method) & (part["rule"] == "budget")]
            mean = asked.groupby("budget")[metric].mean()
            ax.plot(mean.index, mean, color=STYLES[method].colour, lw=1.4, ls=":", zorder=1)
        ax.set_xscale("log")
        panel_words(ax, name, "mean cost per case", METRIC_WORDS[metric].label.split(" (")[0], size=10)
    trial, budget, other = "DIME with penalties, each seed", "DIME with budgets, mean", f"{BESIDE} with budgets, mean"
    handles = [figure.axes[0].lines[0], *figure.axes[0].lines[-2:]]
    figure.legend(handles, [trial, budget, other], loc="outside lower left", ncols=3, frameon=False, fontsize=9)
    figure.savefig(args.figure)


if __name__ == "__main__":
    main()
