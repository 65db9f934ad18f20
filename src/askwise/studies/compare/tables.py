"""A comparison in a few numbers: means over seeds, areas under curves, tests against the best, and Markdown of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from askwise.evaluation.curves import area_under_curve
from askwise.evaluation.summaries import HIGHER_IS_BETTER
from askwise.report.plots.style import METRIC_WORDS, number_text
from askwise.studies.compare.plan import CEILING, EXACT, PAPER

# The rules of a comparison, and what a budget is under each.
BUDGET, AVERAGE = "budget", "average-cost"
RULES = {BUDGET: "At most this cost in every case", AVERAGE: "This cost on average over cases"}
# What knows everything is shown beside the others, and does not compete with them.
REFERENCES = (CEILING, EXACT)
# Differences with a smaller chance than this are taken for real.
SIGNIFICANT = 0.05
AS_GOOD = "°"
# With fewer shared seeds a test can hardly tell anything apart, and everything would be called as good as the best.
FEWEST_SEEDS = 3
UNTOLD = "{} seeds tell nothing apart; try --seeds 5"
# With fewer rows to test on, one of them is two percent.
FEWEST_TESTED = 50
RANDOM = "random-order"


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
    table = each["score"].agg(mean="mean", error=_standard_error, seeds="count")
    return table.join(each["mean_cost"].mean()).reset_index()


def ceilings(results: pd.DataFrame) -> pd.DataFrame:
    """The mean of each dataset's metric with everything known, and its standard error, by dataset."""
    part = with_scores(results[results["rule"] == "everything"])
    return part.groupby("dataset", sort=False)["score"].agg(mean="mean", error=_standard_error, seeds="count")


def areas(results: pd.DataFrame, rule: str = BUDGET) -> pd.DataFrame:
    """The area under each seed's curve, as a mean of the metric from no cost to the largest budget.

    Budgets are what a curve is drawn over, or what was really spent where they are averages. A seed that lacks one of
    the dataset's budgets has none.
    """
    part = with_scores(results[results["rule"] == rule])
    lines = []
    for (dataset, method, seed), curve in part.groupby(["dataset", "method", "seed"], sort=False):
        budgets = part.loc[part["dataset"] == dataset, "budget"]
        whole = curve["budget"].nunique() == budgets.nunique()
        over = curve["mean_cost"] if rule == AVERAGE else curve["budget"]
        points = pd.DataFrame({"mean_cost": over, "score": curve["score"]})
        area = area_under_curve(points, "score", float(budgets.max())) if whole else math.nan
        lines.append({"dataset": dataset, "method": method, "seed": seed, "area": area})
    return pd.DataFrame(lines, columns=["dataset", "method", "seed", "area"])


def standings(results: pd.DataFrame, rule: str = BUDGET) -> pd.DataFrame:
    """For each dataset and method the mean area, and how it stands beside the best one.

    best: of the methods that have all seeds. p_value: of a paired t-test over the seeds that both have; as_good: not
    significantly worse than the best, where they share three seeds at least. behind: the mean of its difference from
    the best over those seeds, above 0 where it is worse, and behind_error its standard error.
    train_seconds: of one seed, all its models together. spent: the mean cost as a share of what was allowed.
    """
    found = areas(results, rule)
    times = seconds(results)
    lines = []
    for dataset, part in found.groupby("dataset", sort=False):
        by_seed = part.pivot(index="seed", columns="method", values="area")[list(part["method"].unique())]
        sign = 1 if HIGHER_IS_BETTER[str(results.loc[results["dataset"] == dataset, "metric"].iloc[0])] else -1
        means = by_seed.mean()
        rivals = sign * means[on_equal_terms(by_seed)]
        best = rivals.idxmax() if len(rivals) else None
        for method in by_seed:
            ahead = by_seed[method] - by_seed[best] if best is not None else by_seed[method] * math.nan
            chance = math.nan if method in REFERENCES else _paired(ahead)
            # With fewer seeds than the best one it may be ahead of it where they meet.
            not_worse = chance >= SIGNIFICANT or (method not in REFERENCES and sign * ahead.mean() > 0)
            lines.append(
                {
                    "dataset": dataset,
                    "method": method,
                    "area": means[method],
                    "area_error": _standard_error(by_seed[method]),
                    "seeds": int(by_seed[method].count()),
                    "best": method == best,
                    "behind": math.nan if method == best else -sign * ahead.mean(),
                    "behind_error": math.nan if method == best else _standard_error(ahead),
                    "p_value": math.nan if method == best else chance,
                    "as_good": method == best or bool(not_worse and ahead.count() >= FEWEST_SEEDS),
                    "spent": _spent(results, rule, str(dataset), str(method)),
                    **times.loc[(dataset, method)].to_dict(),
                }
            )
    return pd.DataFrame(lines)


def on_equal_terms(by_seed: pd.DataFrame) -> list[str]:
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


def _standard_error(values: Any) -> float:
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


def score_text(metric: str, mean: float, error: float = math.nan) -> str:
    """A metric as a table holds it, with its standard error where there is one; shares in percent, without the sign."""
    if not math.isfinite(mean):
        return "–"
    words = METRIC_WORDS[metric]
    if words.is_share:
        return f"{100 * mean:.1f}" + (f" ± {100 * error:.1f}" if math.isfinite(error) else "")
    spread = "{:.2g}" if metric == "rmse" else words.form
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
    """A sentence with the areas of a dataset's methods that can stop by a penalty; empty where none can."""
    places = standings(dataset, AVERAGE)
    if not len(places):
        return ""
    metric = str(dataset["metric"].iloc[0])
    area = places.set_index("method")["area"]
    found = [f"{m} {score_text(metric, area[m])}" for m in ordered(places, metric) if math.isfinite(area[m])]
    return f"Stopping by penalties (average cost): {', '.join(found)} (area over the same costs)." if found else ""


def cautions(results: pd.DataFrame) -> list[str]:
    """What the numbers of a comparison can't tell, in sentences."""
    places = standings(results)
    if not len(places):
        return []
    found = []
    most = int(places["seeds"].max())
    if most < FEWEST_SEEDS and places["method"].nunique() > 1:
        found.append("1 seed tells nothing apart; try --seeds 5" if most == 1 else UNTOLD.format(most))
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


def ordered(dataset: pd.DataFrame, metric: str) -> list[str]:
    """Methods from the best area to the worst, those that do not compete last."""
    sign = -1 if HIGHER_IS_BETTER[metric] else 1
    place = {line["method"]: (line["method"] in REFERENCES, sign * line["area"]) for line in dataset.to_dict("records")}
    return sorted(place, key=lambda method: (place[method][0], math.isnan(place[method][1]), place[method][1]))


def markdown(results: pd.DataFrame, title: str = "Comparison") -> str:
    """All of it for a document: a part for each dataset, with a table for each rule."""
    parts = [f"# {title}", f"{HOW_TO_READ} {_times_of(results)}"]
    limits = ceilings(results)
    for dataset in results["dataset"].unique():
        mine = results[results["dataset"] == dataset]
        metric = str(mine["metric"].iloc[0])
        rows, tested, groups = (int(mine[name].max()) for name in ("rows_trained", "n_test", "n_groups"))
        parts.append(
            f"## {_escaped(dataset)}\n\n{metric_heading(metric)}. {rows:,} rows trained on, {tested:,} tested on, "
            f"{groups} questions."
        )
        for rule, words in RULES.items():
            if (mine["rule"] == rule).any():
                parts.append(f"**{words}**\n\n{_table(mine, rule, metric)}")
            if rule == BUDGET and (mine["rule"] == AVERAGE).any():
                parts.append(_escaped(by_penalties(mine)))
        alone = mine.loc[mine["protocol"] == PAPER, "method"].unique()
        if len(alone):
            parts.append(f"A model for each budget: {', '.join(alone)}. The others: one for all.")
        if dataset in limits.index:
            level = score_text(metric, limits.loc[dataset, "mean"], limits.loc[dataset, "error"])
            train, row = seconds(mine).loc[(dataset, CEILING), ["train_seconds", "microseconds_per_row"]]
            parts.append(f"With everything known ({CEILING}): {level}; {train:.1f} s to train, {row:.0f} µs a row.")
    parts += [f"{_escaped(sentence)}." for sentence in cautions(results)]
    return "\n\n".join(part for part in parts if part) + "\n"


HOW_TO_READ = f"""\
Mean ± standard error over seeds on test rows, at each budget; each seed has its own split, the same for all methods.
Area: the mean of the metric from no cost to the largest budget; below the first budget its value there is held back to
no cost. In bold: the best of a column, among the methods that have all seeds; one with fewer keeps its numbers, and
`seeds` says how many it has, but means over other splits may differ by luck. {AS_GOOD}: its area is not significantly
worse than the best one (paired t-test over the seeds that both have, 5 %); where they share fewer than {FEWEST_SEEDS}
seeds nothing is said. Behind best: the mean difference of areas from the best one over those seeds, above 0 where it is
worse, ± its standard error; the ± of an area itself is mostly the spread between splits. Train: seconds to fit one
seed, all its models together; ask: microseconds a row, up to the largest budget, in a batch. Spent: the mean cost as a
share of the budget, where that is an average over cases."""
PLACES = {"cpu": "one core of a CPU", "cuda": "a GPU"}


def _times_of(results: pd.DataFrame) -> str:
    """Where times were taken, and for which methods where not all ran on the same."""
    methods = {str(d): part["method"].unique() for d, part in results.groupby("device", sort=False)}
    places = [
        PLACES.get(device, device) + (f" ({', '.join(map(_escaped, those))})" if len(methods) > 1 else "")
        for device, those in methods.items()
    ]
    return f"Times are of {' and '.join(places)}." if places else ""


def _table(results: pd.DataFrame, rule: str, metric: str) -> str:
    means, areas_of = summary(results, rule), standings(results, rule)
    budgets = sorted(means["budget"].unique())
    methods = ordered(areas_of, metric)
    columns = [_column(results[results["rule"] == rule], means, methods, metric, budget) for budget in budgets]
    by_method = areas_of.set_index("method", drop=False)
    area = [score_text(metric, by_method.loc[m, "area"], by_method.loc[m, "area_error"]) for m in methods]
    columns.append([f"**{text}**" if by_method.loc[m, "best"] else text for m, text in zip(methods, area, strict=True)])
    heading = ["method", *(number_text(k) for k in budgets), "area", "behind best", "seeds", "train, s", "ask, µs"]
    heading += ["spent"] if rule == AVERAGE else []
    lines = [_line(heading), "|" + "---|" * len(heading)]
    for i, method in enumerate(methods):
        facts = by_method.loc[method]
        cells = [column[i] for column in columns]
        cells[-1] += AS_GOOD if facts["as_good"] and not facts["best"] else ""
        seeds = int(means.loc[means["method"] == method, "seeds"].max())
        end = [
            behind_text(metric, facts),
            str(seeds),
            f"{facts['train_seconds']:.1f}",
            f"{facts['microseconds_per_row']:.0f}",
        ]
        end += [f"{facts['spent']:.0%}"] if rule == AVERAGE else []
        lines.append(_line([_escaped(method), *cells, *end]))
    return "\n".join(lines)


def _column(
    results: pd.DataFrame, means: pd.DataFrame, methods: Sequence[str], metric: str, budget: float
) -> list[str]:
    """The means of one budget, the best of those that compete in bold."""
    at = means[means["budget"] == budget].set_index("method").reindex(methods)
    by_seed = results[results["budget"] == budget].pivot(index="seed", columns="method", values=metric)
    sign = 1 if HIGHER_IS_BETTER[metric] else -1
    rivals = on_equal_terms(by_seed)
    best = max((sign * at.loc[m, "mean"] for m in rivals), default=math.inf)
    texts = [score_text(metric, mean, error) for mean, error in zip(at["mean"], at["error"], strict=True)]
    return [
        f"**{text}**" if method in rivals and sign * at.loc[method, "mean"] == best else text
        for text, method in zip(texts, methods, strict=True)
    ]


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _escaped(text: object) -> str:
    return str(text).replace("|", "\\|").replace("*", "\\*")
