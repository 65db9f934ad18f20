"""What `askwise compare` prints: a table for each dataset, what failed, and the same facts as JSON."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Group
from rich.table import Table
from rich.text import Text

from askwise.cli import show
from askwise.cli.common import Out

if TYPE_CHECKING:
    import pandas as pd

    from askwise.studies.compare import Comparison

MAX_FAILURES_SHOWN = 10
# More do not fit beside each other on a terminal. The files have all.
MAX_BUDGETS_SHOWN = 6


def print_comparison(out: Out, comparison: Comparison, files: dict[str, Path], folder: Path) -> None:
    """Print tables, how to read them, and where the files are. folder: that of the results."""
    results = comparison.results
    for dataset in results["dataset"].unique():
        out.print(_dataset_table(results[results["dataset"] == dataset], str(dataset)))
    if files:
        out.print(*_legend(results))
    kept = f", {comparison.n_kept} kept from before" if comparison.n_kept else ""
    out.print("", f"{show.count(comparison.n_run, 'training')} run{kept}")
    if comparison.n_others:
        earlier = f"{show.count(comparison.n_others, 'earlier training')} in {folder}"
        out.print(f"{earlier} {'is' if comparison.n_others == 1 else 'are'} not part of this command and not shown")
    for name, path in files.items():
        out.print(f"{name.replace('_', ' ').capitalize()}: {path}")


def _legend(results: pd.DataFrame) -> list[str]:
    from askwise.studies.compare.wording import AS_GOOD, about_baselines, cautions

    baselines = about_baselines(results)
    return [
        "",
        "Area: the mean from no cost to the largest budget.",
        "Behind: the mean difference from the best over the seeds that both have, ± its standard error.",
        f"* the best of a dataset, among those with all seeds; {AS_GOOD} not significantly worse "
        "(told from three seeds on).",
        *([baselines] if baselines else []),
        *(f"{sentence}." for sentence in cautions(results)),
    ]


def print_failures(comparison: Comparison) -> None:
    """Print what failed and why on standard error, also with --quiet: these are errors."""
    for cell, error in comparison.failed[:MAX_FAILURES_SHOWN]:
        typer.echo(f"Failed: {cell}: {error}", err=True)
    if comparison.failed:
        more = len(comparison.failed) - MAX_FAILURES_SHOWN
        typer.echo(
            (f"... and {more} more. " if more > 0 else "")
            + f"Failed: {len(comparison.failed)} of {show.count(comparison.n_run + comparison.n_kept, 'training')}; "
            "run the same command to try again",
            err=True,
        )


def _dataset_table(results: pd.DataFrame, dataset: str) -> Group:
    """Return the means at each budget, and the areas, of one dataset."""
    from askwise.report.plots.style import number_text
    from askwise.studies.compare.tables import summary
    from askwise.studies.compare.wording import by_penalties, metric_heading

    metric = str(results["metric"].iloc[0])
    means = summary(results)
    all_budgets = sorted(means["budget"].unique())
    budgets = _spread(all_budgets, MAX_BUDGETS_SHOWN)
    view = show.grid(
        "method", *(number_text(k) for k in budgets), "area", "behind", "seeds", "train s", "µs/row", texts=["method"]
    )
    _add_methods(view, results, means, budgets, metric)
    _add_ceiling(view, results, len(budgets), metric)
    tested = f"{int(results['n_test'].max()):,} rows tested on"
    titled = show.titled(f"{dataset}: {metric_heading(metric)}; {tested}", view)
    left_out = [number_text(k) for k in all_budgets if k not in budgets]
    fewer = f"Budgets not shown here, but in the files: {', '.join(left_out)}." if left_out else ""
    below = [Text(line) for line in (fewer, by_penalties(results)) if line]
    return Group(titled, *below) if below else titled


def _add_methods(view: Table, results: pd.DataFrame, means: pd.DataFrame, budgets: list[float], metric: str) -> None:
    """Add a line for each method, the best first."""
    from askwise.studies.compare.tables import ordered, standings
    from askwise.studies.compare.wording import AS_GOOD, behind_text, score_text

    places = standings(results)
    by_method = {line["method"]: line for line in places.to_dict("records")}
    for method in ordered(places, metric) if len(places) else []:
        line = by_method[method]
        mean_at = means[means["method"] == method].set_index("budget")["mean"]
        cells = [score_text(metric, float(mean_at.get(k, math.nan))) for k in budgets]
        mark = " *" if line["best"] else f" {AS_GOOD}" if line["as_good"] else "  "
        area = score_text(metric, line["area"]) + mark
        view.add_row(*map(Text, [method, *cells, area, behind_text(metric, line), str(line["seeds"]), *_times(line)]))


def _add_ceiling(view: Table, results: pd.DataFrame, n_budgets: int, metric: str) -> None:
    """Add a line for predictions with everything known, if there are any."""
    from askwise.studies.compare.plan import CEILING
    from askwise.studies.compare.tables import ceilings, seconds
    from askwise.studies.compare.wording import score_text

    levels = ceilings(results)
    if len(levels):
        times = _times(seconds(results).loc[(results["dataset"].iloc[0], CEILING)])
        level = score_text(metric, float(levels["mean"].iloc[0])) + "  "
        seeds = str(int(levels["seeds"].iloc[0]))
        view.add_row(*map(Text, ["everything known", *[""] * n_budgets, level, "", seeds, *times]))


def _spread(values: list[float], most: int) -> list[float]:
    """Return at most so many of the values, evenly spread, the first and the last among them."""
    count = min(most, len(values))
    return [values[round(i * (len(values) - 1) / max(count - 1, 1))] for i in range(count)]


def _times(line: Any) -> tuple[str, str]:
    return f"{line['train_seconds']:.1f}", f"{line['microseconds_per_row']:.0f}"


def comparison_facts(comparison: Comparison, files: dict[str, Path]) -> dict[str, Any]:
    """Return the same facts for JSON."""
    from askwise.studies.compare.tables import RULES, standings, summary

    results = comparison.results
    rules = [rule for rule in RULES if (results["rule"] == rule).any()]
    return {
        "results": results.to_dict("records"),
        "summary": {rule: summary(results, rule).to_dict("records") for rule in rules},
        "standings": {rule: standings(results, rule).to_dict("records") for rule in rules},
        "failed": [
            {"dataset": c.dataset, "method": c.method, "seed": c.seed, "budgets": c.budgets, "error": error}
            for c, error in comparison.failed
        ],
        "trainings": {"run": comparison.n_run, "kept": comparison.n_kept, "not_shown": comparison.n_others},
        "files": {name: str(path) for name, path in files.items()},
    }
