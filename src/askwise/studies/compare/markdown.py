"""A comparison as a Markdown document: a part for each dataset, with a table for each rule."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pandas as pd

from askwise.evaluation.summaries import HIGHER_IS_BETTER
from askwise.report.plots.style import number_text
from askwise.studies.compare.plan import CEILING, PAPER, PER_BUDGET
from askwise.studies.compare.tables import (
    AVERAGE,
    BUDGET,
    FEWEST_SEEDS,
    RULES,
    ceilings,
    methods_with_all_seeds,
    ordered,
    seconds,
    standings,
    summary,
)
from askwise.studies.compare.wording import (
    AS_GOOD,
    about_baselines,
    behind_text,
    by_penalties,
    cautions,
    metric_heading,
    score_text,
)


def markdown(results: pd.DataFrame, title: str = "Comparison") -> str:
    """All of it for a document: a part for each dataset, with a table for each rule."""
    parts = [f"# {title}", f"{HOW_TO_READ} {_times_of(results)}"]
    limits = ceilings(results)
    for dataset in results["dataset"].unique():
        mine = results[results["dataset"] == dataset]
        metric = str(mine["metric"].iloc[0])
        parts.append(f"## {_escaped(dataset)}\n\n{metric_heading(metric)}. {_sizes(mine)}")
        for rule, words in RULES.items():
            if (mine["rule"] == rule).any():
                parts.append(f"**{words}**\n\n{_table(mine, rule, metric)}")
            if rule == BUDGET and (mine["rule"] == AVERAGE).any():
                parts.append(_escaped(by_penalties(mine)))
        alone = mine.loc[mine["protocol"] == PAPER, "method"].unique()
        if len(alone):
            parts.append(f"A model for each budget: {', '.join(alone)}. The other methods: one for all.")
        parts.append(_escaped(about_baselines(mine)))
        if dataset in limits.index:
            level = score_text(metric, limits.loc[dataset, "mean"], limits.loc[dataset, "error"])
            train, row = seconds(mine).loc[(dataset, CEILING), ["train_seconds", "microseconds_per_row"]]
            parts.append(f"With everything known ({CEILING}): {level}; {train:.1f} s to train, {row:.0f} µs a row.")
    parts += [f"{_escaped(sentence)}." for sentence in cautions(results)]
    return "\n\n".join(part for part in parts if part) + "\n"


HOW_TO_READ = f"""\
Mean ± standard error over seeds on test rows, at each budget; each seed has its own split, the same for all methods.
Area: the mean of the metric from no cost to the largest budget; under every rule the value at the first budget is
held back to no cost. In bold: the best of a column, among the methods that have all seeds; one with fewer keeps its
numbers, and `seeds` says how many it has, but means over other splits may differ by luck. {AS_GOOD}: its area is not
significantly worse than the best one (paired t-test over the seeds that both have, 5 %); where they share fewer than
{FEWEST_SEEDS} seeds nothing is said. Behind best: the mean difference of areas from the best one over those seeds,
above 0 where it is worse, ± its standard error; the ± of an area itself is mostly the spread between splits. Train:
seconds to fit one seed, all its models together; ask: microseconds a row, up to the largest budget, in a batch.
Spent: the mean cost as a share of the budget, where that is an average over cases."""
PLACES = {"cpu": "one core of a CPU", "cuda": "a GPU"}


def _sizes(results: pd.DataFrame) -> str:
    """How many rows and questions a dataset has; baselines, which hold nothing back to validate on, count apart."""
    methods = results[results["protocol"] != PER_BUDGET]
    rows = int((methods if len(methods) else results)["rows_trained"].max())
    tested, groups = int(results["n_test"].max()), int(results["n_groups"].max())
    return f"{rows:,} rows trained on, {tested:,} tested on, {groups} questions."


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
    rivals = methods_with_all_seeds(by_seed)
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
