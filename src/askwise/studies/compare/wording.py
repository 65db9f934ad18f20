"""A comparison in words: numbers as text, sentences about what they can and can't tell."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd

from askwise.evaluation.summaries import HIGHER_IS_BETTER
from askwise.report.plots.style import METRIC_WORDS
from askwise.studies.compare.plan import PER_BUDGET
from askwise.studies.compare.tables import AVERAGE, FEWEST_SEEDS, REFERENCES, ordered, standings

AS_GOOD = "°"
TOO_FEW_SEEDS = "{} seeds tell nothing apart; try --seeds 5"
# With fewer rows to test on, one of them is two percent.
FEWEST_TESTED = 50
RANDOM = "random-order"


def score_text(metric: str, mean: float, error: float = math.nan) -> str:
    """A metric as a table holds it, with its standard error where there is one; shares in percent, without the sign."""
    if not math.isfinite(mean):
        return "–"
    words = METRIC_WORDS[metric]
    if words.is_share:
        return f"{100 * mean:.1f}" + (f" ± {100 * error:.1f}" if math.isfinite(error) else "")
    spread = "{:.2g}" if words.has_any_size else words.form
    return words.form.format(mean) + (f" ± {spread.format(error)}" if math.isfinite(error) else "")


def behind_text(metric: str, line: Any) -> str:
    """How far a line of `standings` is behind the best one; empty for the best itself and what does not compete."""
    return (
        "" if line["best"] or line["method"] in REFERENCES else score_text(metric, line["behind"], line["behind_error"])
    )


def metric_heading(metric: str) -> str:
    """What the numbers of a table are, and which way they are better."""
    words = METRIC_WORDS[metric]
    unit = " in %" if words.is_share else ""
    return f"{words.label}{unit}, {'higher' if HIGHER_IS_BETTER[metric] else 'lower'} is better"


def by_penalties(dataset: pd.DataFrame) -> str:
    """A sentence with the areas of a dataset's methods whose scores are information, stopped at average costs."""
    places = standings(dataset, AVERAGE)
    if not len(places):
        return ""
    metric = str(dataset["metric"].iloc[0])
    area = places.set_index("method")["area"]
    found = [f"{m} {score_text(metric, area[m])}" for m in ordered(places, metric) if math.isfinite(area[m])]
    return f"Stopping at an average cost: {', '.join(found)} (area over the same costs)." if found else ""


def about_baselines(results: pd.DataFrame) -> str:
    """A sentence that tells what baselines are; empty if there are none."""
    mine = results[results["protocol"] == PER_BUDGET]
    if not len(mine):
        return ""
    return f"{', '.join(mine['method'].unique())}: scikit-learn's models; one order for everybody, one model a budget."


def cautions(results: pd.DataFrame) -> list[str]:
    """What the numbers of a comparison can't tell, in sentences."""
    places = standings(results)
    if not len(places):
        return []
    found = []
    most = int(places["seeds"].max())
    if most < FEWEST_SEEDS and places["method"].nunique() > 1:
        found.append("1 seed tells nothing apart; try --seeds 5" if most == 1 else TOO_FEW_SEEDS.format(most))
    for line in places[places["method"] == RANDOM].to_dict("records"):
        others = places[(places["dataset"] == line["dataset"]) & ~places["method"].isin([RANDOM, *REFERENCES])]
        if line["as_good"] and line["seeds"] >= FEWEST_SEEDS and len(others):
            found.append(
                f"On {line['dataset']}, {line['seeds']} seeds can't tell the best from a random order; "
                "more --seeds, or a method is no help there"
            )
    tested = results.groupby("dataset", sort=False)["n_test"].min()
    found += [
        f"On {name}, {n:.0f} rows are tested on; with so few, take the numbers with care"
        for name, n in tested[tested < FEWEST_TESTED].items()
    ]
    return found
