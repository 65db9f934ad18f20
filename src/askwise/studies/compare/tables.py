"""A comparison in a few numbers: means over seeds, areas under curves, tests against the best."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from askwise.evaluation.areas import area_under_curve
from askwise.evaluation.summaries import HIGHER_IS_BETTER
from askwise.studies.compare.asking import REWEIGHTED
from askwise.studies.compare.plan import CEILING, EXACT, PAPER

# The rules of a comparison, and what a budget is under each.
BUDGET, AVERAGE = "budget", "average-cost"
RULES = {
    BUDGET: "At most this cost in every case",
    AVERAGE: "This cost on average over cases",
    REWEIGHTED: "At most this cost in every case, weighed so that it says nothing who was recorded",
}
# The column with the cost that a rule's curve is drawn over: what is allowed, or what was spent on average.
COSTS = {BUDGET: "budget", AVERAGE: "mean_cost", REWEIGHTED: "budget"}
# What knows everything is shown beside the others, and does not compete with them.
REFERENCES = (CEILING, EXACT)
# Differences with a smaller chance than this are taken for real.
SIGNIFICANT = 0.05
# With fewer shared seeds a test can hardly tell anything apart, and everything would be called as good as the best.
FEWEST_SEEDS = 3


def with_scores(results: pd.DataFrame) -> pd.DataFrame:
    """The table with the metric that each dataset is shown by as `score`."""
    score = pd.Series(math.nan, results.index)
    for metric in results["metric"].unique():
        score = score.where(results["metric"] != metric, results[metric])
    return results.assign(score=score)


def summary(results: pd.DataFrame, rule: str = BUDGET) -> pd.DataFrame:
    """For each dataset, method and budget the mean of its metric over seeds, the standard error, and the mean cost."""
    part = with_scores(results[results["rule"] == rule])
    each = part.groupby(["dataset", "method", "metric", "budget"], sort=False)
    table = each["score"].agg(mean="mean", error=standard_error, seeds="count")
    return table.join(each["mean_cost"].mean()).reset_index()


def ceilings(results: pd.DataFrame) -> pd.DataFrame:
    """The mean of each dataset's metric with everything known, and its standard error, by dataset."""
    part = with_scores(results[results["rule"] == "everything"])
    return part.groupby("dataset", sort=False)["score"].agg(mean="mean", error=standard_error, seeds="count")


def areas(results: pd.DataFrame, rule: str = BUDGET) -> pd.DataFrame:
    """The area under each seed's curve: the mean of the metric from cost 0 to the largest budget.

    Under every rule the value at the first budget is held back to cost 0, as `area_under_curve` defines it. A seed
    that lacks one of the dataset's budgets has no area.
    """
    part = with_scores(results[results["rule"] == rule])
    points = part.assign(mean_cost=part[COSTS[rule]])
    lines = []
    for dataset, of_dataset in points.groupby("dataset", sort=False):
        budgets = of_dataset["budget"]
        first, most = float(budgets.min()), float(budgets.max())
        for (method, seed), curve in of_dataset.groupby(["method", "seed"], sort=False):
            is_whole = curve["budget"].nunique() == budgets.nunique()
            area = area_under_curve(curve, "score", most, first) if is_whole else math.nan
            lines.append({"dataset": dataset, "method": method, "seed": seed, "area": area})
    return pd.DataFrame(lines, columns=["dataset", "method", "seed", "area"])


def standings(results: pd.DataFrame, rule: str = BUDGET) -> pd.DataFrame:
    """For each dataset and method the mean area, and how it stands beside the best one.

    best: of the methods that have all seeds. p_value: of a paired t-test over the seeds that both have; as_good: not
    significantly worse than the best, where they share three seeds at least. behind: the mean of its difference from
    the best over those seeds, above 0 where it is worse, and behind_error its standard error.
    train_seconds: of one seed, all its models together. spent: the mean cost as a share of what was allowed.
    """
    found, times = areas(results, rule), seconds(results)
    lines = []
    for dataset, part in found.groupby("dataset", sort=False):
        by_seed = part.pivot(index="seed", columns="method", values="area")[list(part["method"].unique())]
        sign = 1 if HIGHER_IS_BETTER[str(results.loc[results["dataset"] == dataset, "metric"].iloc[0])] else -1
        means = by_seed.mean()
        rivals = sign * means[methods_with_all_seeds(by_seed)]
        best = rivals.idxmax() if len(rivals) else None
        for method in by_seed:
            place = {"dataset": dataset, "method": method, "area": means[method]}
            place |= {"area_error": standard_error(by_seed[method]), "seeds": int(by_seed[method].count())}
            spent = _spent(results, rule, str(dataset), str(method))
            lines.append(
                place
                | _beside_best(by_seed, str(method), best, sign)
                | {"spent": spent, **times.loc[(dataset, method)].to_dict()}
            )
    return pd.DataFrame(lines)


def _beside_best(by_seed: pd.DataFrame, method: str, best: str | None, sign: int) -> dict[str, Any]:
    """How a method's areas, columns of by_seed, differ from those of the best one; sign: -1 if lower is better."""
    if method == best:
        nothing = dict.fromkeys(("behind", "behind_error", "p_value"), math.nan)
        return {"best": True, **nothing, "as_good": True}
    ahead = by_seed[method] - by_seed[best] if best is not None else by_seed[method] * math.nan
    chance = math.nan if method in REFERENCES else _paired(ahead)
    # With fewer seeds than the best one it may be ahead of it where they meet.
    not_worse = chance >= SIGNIFICANT or (method not in REFERENCES and sign * ahead.mean() > 0)
    return {
        "best": False,
        "behind": -sign * ahead.mean(),
        "behind_error": standard_error(ahead),
        "p_value": chance,
        "as_good": bool(not_worse and ahead.count() >= FEWEST_SEEDS),
    }


def methods_with_all_seeds(by_seed: pd.DataFrame) -> list[str]:
    """The methods, columns here, that compete: those with all seeds, since means over other splits differ by luck.

    Where none has all, those that have the same seeds as the one with most.
    """
    seeds = {m: frozenset(by_seed.index[by_seed[m].notna()]) for m in by_seed if m not in REFERENCES}
    held = [some for some in seeds.values() if some]
    most = max(held, key=lambda some: (len(some), held.count(some)), default=None)
    return [str(method) for method, some in seeds.items() if some == most]


def seconds(results: pd.DataFrame) -> pd.DataFrame:
    """Seconds to train, of all models of a seed, and microseconds to ask a row, by dataset and method."""
    # Every model has as many lines as rules and budgets; those that are for one budget are one model each.
    own = results["budget"].where(results["protocol"] == PAPER, -1.0)
    models = results.assign(own=own).drop_duplicates(["dataset", "method", "seed", "own"])
    of_seed = models.groupby(["dataset", "method", "seed"], sort=False).agg(
        {"train_seconds": "sum", "train_cpu_seconds": "sum", "microseconds_per_row": "max"}
    )
    return of_seed.groupby(["dataset", "method"], sort=False).mean()


def _spent(results: pd.DataFrame, rule: str, dataset: str, method: str) -> float:
    mine = (results["rule"] == rule) & (results["dataset"] == dataset) & (results["method"] == method)
    return float((results.loc[mine, "mean_cost"] / results.loc[mine, "budget"]).mean())


def standard_error(values: Any) -> float:
    numbers = np.asarray(values, dtype=float)
    numbers = numbers[np.isfinite(numbers)]
    return float(numbers.std(ddof=1) / math.sqrt(len(numbers))) if len(numbers) > 1 else math.nan


def _paired(differences: pd.Series[Any]) -> float:
    """The chance of a mean difference as large as this if there were none; NaN where one seed is all they share."""
    difference = differences.dropna().to_numpy()
    if len(difference) < 2:
        return math.nan
    if np.ptp(difference) == 0:
        return 1.0 if difference[0] == 0 else 0.0
    return float(stats.ttest_1samp(difference, 0.0).pvalue)


def ordered(dataset: pd.DataFrame, metric: str) -> list[str]:
    """Methods from the best area to the worst, those that do not compete last."""
    sign = -1 if HIGHER_IS_BETTER[metric] else 1
    place = {line["method"]: (line["method"] in REFERENCES, sign * line["area"]) for line in dataset.to_dict("records")}
    return sorted(place, key=lambda method: (place[method][0], math.isnan(place[method][1]), place[method][1]))
