"""The sections of a report's page that are about the whole model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from askwise.core.rows import evenly
from askwise.core.tasks import Classification
from askwise.data.tables.gaps import GroupGaps, flagged_gaps
from askwise.data.tables.gaps_wording import MADE_OF_IT, SEE, answer_texts, reweighted_title
from askwise.evaluation import summaries
from askwise.evaluation.bend import MOST_SPENT, brings_anything
from askwise.evaluation.reweighted import Reweighted
from askwise.methods.base import Method
from askwise.methods.settings import CIRCUMSTANCES
from askwise.report.findings import Findings
from askwise.report.page import Picture, escaped, fold, html_picture, html_table, picture_of
from askwise.report.plots import curves, questions
from askwise.report.plots.style import METRIC_WORDS, metric_name, metric_text, number_text


def drawings(f: Findings) -> dict[str, Callable[[], Picture]]:
    """Every picture by name, still to be drawn."""
    metric = summaries.main_metric(f.table)
    label = metric_name(metric, f.target)
    level = metric_text(metric, float(summaries.everything(f.table)[metric]))
    rules = ", ".join(f.points["rule"])
    names = summaries.metrics_of(f.table)
    # The main metric has a picture of its own; two panels are drawn in any case.
    others = [name for name in names if name != metric] if len(names) > 2 else names
    drawings = {
        "cost_curve": lambda: picture_of(
            curves.cost_curve(f.table, metric, f.target),
            f"{label} against mean cost, one line for each rule ({rules}); asking everything reaches {level}.",
        ),
        "metrics": lambda: picture_of(
            curves.metric_curves(f.table, others, columns=2, target=f.target),
            f"{', '.join(metric_name(name, f.target) for name in others)} against mean cost, one panel each.",
        ),
        "stop_reasons": lambda: picture_of(
            questions.stop_reasons(f.reasons), "Bars of why cases stopped under each rule."
        ),
    }
    drawings |= f.cases.drawings()
    table = f.frontier
    if table is not None:
        drawings["frontier"] = lambda: picture_of(
            curves.frontier(table, target=f.target),
            f"The penalty that spends each mean cost, and {label} against mean cost.",
        )
    return drawings


def _interval(record: Mapping[str, Any], metric: str) -> str:
    """A metric with its interval, where the curve has one."""
    text = metric_text(metric, record[metric])
    if f"{metric}_low" not in record:
        return text
    low, high = (metric_text(metric, record[f"{metric}_{end}"]) for end in ("low", "high"))
    return f"{text} ({low} to {high})"


def cards(f: Findings) -> str:
    metric = summaries.main_metric(f.table)
    nothing, full = f.table.loc[f.table["mean_cost"].idxmin()], summaries.everything(f.table)
    best = f.points.loc[f.points["mean_cost"].idxmin()]
    spent = f"cost {number_text(best['mean_cost'])}, {best['cost_share']:.0%} of everything"
    shown = [
        (nothing, "asking nothing", f"cost {number_text(nothing['mean_cost'])}"),
        (best, f"stopping by {best['rule']}", spent),
        (full, "asking everything", f"cost {number_text(full['mean_cost'])}"),
    ]
    second = f.metrics[1] if summaries.is_led_by_auroc(f.table) else None

    def also(record: Mapping[str, Any]) -> str:
        return "" if second is None else f"{metric_name(second)} {_interval(record, second)}; "

    return "\n".join(
        f'<div class="card"><b>{escaped(metric_text(metric, record[metric]))}</b>'
        f"<span>{escaped(metric_name(metric, f.target))}, {escaped(how)}</span><small>{escaped(also(record))}"
        f"{escaped(cost)}</small></div>"
        for record, how, cost in shown
    )


def metrics_caption(f: Findings) -> str:
    words = [METRIC_WORDS[name] for name in summaries.metrics_of(f.table)]
    banded = any(f"{name}_low" in f.table for name in summaries.metrics_of(f.table))
    bare = [metric.label for metric in words if banded and not metric.has_interval]
    why = (
        ""
        if not bare
        else f" {', '.join(bare)} {'has' if len(bare) == 1 else 'have'} no band: drawing cases again can only raise it."
    )
    return f"The other metrics against cost.{why}"


def points_table(f: Findings) -> str:
    names = [metric_name(m, f.target) for m in f.metrics]
    heads = ["Rule", "Setting", "Mean cost", "Of everything", "Questions", *names, *(f"Area, {n}" for n in names)]
    full = summaries.everything(f.table)

    def line(record: Mapping[str, Any], rule: str, setting: str, share: float, areas: Sequence[str]) -> list[str]:
        spent = [number_text(record["mean_cost"]), f"{share:.0%}", number_text(record["mean_groups"])]
        return [rule, setting, *spent, *(_interval(record, m) for m in f.metrics), *areas]

    lines = [
        line(p, p["rule"], number_text(p["parameter"]), p["cost_share"],
             [metric_text(m, p[f"{m}_area"]) for m in f.metrics])
        for p in f.points.to_dict("records")
    ]  # fmt: skip
    lines.append(line(full.to_dict(), "everything", "", 1.0, [""] * len(f.metrics)))
    return html_table(heads, lines)


def curve_tables(f: Findings) -> str:
    metrics = summaries.metrics_of(f.table)
    heads = ["Setting", "Mean cost", "Questions", *(metric_name(m, f.target) for m in metrics)]
    folds = []
    for rule, part in f.table.groupby("rule", sort=False):
        lines = [
            [number_text(r["parameter"]), number_text(r["mean_cost"]), number_text(r["mean_groups"])]
            + [metric_text(m, r[m]) for m in metrics]
            for r in part.to_dict("records")
        ]
        folds.append(fold(f"{rule}: {len(part)} settings", html_table(heads, lines, words=0)))
    return "\n".join(folds)


def gaps_section(gaps: Sequence[GroupGaps], missing: str = "ignore", reweighted: Reweighted | None = None) -> str:
    """The questions that tell the answer by being recorded or not, and figures without that; empty without any."""
    flagged = flagged_gaps(gaps)
    if not flagged:
        return ""
    heads = ["Question", "Recorded most, where the answer is", "Recorded least", "In all rows", "Tells (nats)"]
    lines = [[g.group, *answer_texts(g), f"{g.present:.0%}", f"{g.information:.3f}"] for g in flagged]
    found = "That these questions were recorded tells the answer, in the rows it learnt from"
    why = escaped(f"{found}. {MADE_OF_IT[missing]}; {SEE}.")
    found = html_table(heads, lines, words=3)
    return f"<h2>Gaps that tell the answer</h2>\n<p>{why}</p>\n{found}{_reweighted_part(reweighted)}"


def _reweighted_part(reweighted: Reweighted | None) -> str:
    """The same figures of rows weighed against gaps, each rule at a few costs."""
    if reweighted is None:
        return ""
    metrics, records = summaries.metrics_of(reweighted.curve), []
    for rule, part in reweighted.curve.groupby("rule", sort=False):
        for r in part.iloc[evenly(len(part), 4).numpy()].to_dict("records"):
            cells = [str(rule), number_text(r["parameter"]), number_text(r["mean_cost"])]
            records.append(cells + [metric_text(m, r[m]) for m in metrics])
    title = f"{reweighted_title(reweighted.groups)}: what to expect where askwise decides what is asked."
    heads = ["Rule", "Setting", "Mean cost", *(METRIC_WORDS[m].label for m in metrics)]
    return f"\n<p>{escaped(title)} All points: reweighted.csv.</p>\n{html_table(heads, records, words=1)}"


def facts_table(estimator: Method, f: Findings) -> str:
    task = f.model.task
    answer = f"one of {', '.join(map(str, task.labels))}" if isinstance(task, Classification) else "a number"
    facts: dict[str, object] = {"method": estimator.registry_name or type(estimator).__name__, "predicts": answer}
    # What gaps tell has a section of its own.
    facts |= _flat({name: value for name, value in f.model.card.items() if name not in ("gaps", "corrected")})
    settings = {k: v for k, v in estimator.get_params(deep=False).items() if k not in CIRCUMSTANCES}
    facts |= {f"setting: {k}": v for k, v in settings.items() if isinstance(v, (str, int, float, bool))}
    return html_table(["Fact", "Value"], facts.items(), words=2)


def _flat(card: Mapping[str, Any], before: str = "") -> dict[str, object]:
    """A card's facts in one level: {"epochs": {"joint": 5}} is {"epochs, joint": 5}."""
    facts: dict[str, object] = {}
    for key, value in card.items():
        name = f"{before}{key}".replace("_", " ")
        if isinstance(value, Mapping):
            facts |= _flat(value, f"{name}, ")
        else:
            facts[name] = f"{value:.4g}" if isinstance(value, float) else value
    return facts


def points_note(f: Findings) -> str:
    """What the table of operating points shows."""
    metric = summaries.main_metric(f.table)
    intervals = "; in brackets 95% bootstrap intervals" if f"{metric}_low" in f.table else ""
    label = metric_name(metric, f.target)
    where = (
        f"the setting where its curve of {label} bends: the point furthest above the straight line from asking nothing "
        f"to asking everything, of those that spend at most {MOST_SPENT:.0%} of everything{intervals}"
        if brings_anything(f.table.sort_values("mean_cost"), metric)
        else f"its setting that spends most within {MOST_SPENT:.0%} of everything{intervals}; asking brings nothing in "
        f"{label} on these cases"
    )
    return (
        f"For each rule {where}. The settings are read off the curve of these very cases, which flatters them a "
        "little. Area: the mean of the metric over all costs from nothing to everything."
    )


def frontier_section(f: Findings, pictures: Mapping[str, Picture]) -> str:
    """The part about penalties and what they cost; empty where there are none."""
    if "frontier" not in pictures:
        return ""
    caption = (
        f"Measured on {f.frontier_rows}: the penalty that spends as much (left), and what the rule brings that "
        "AverageCost(k) stands for (right)."
    )
    return f"<h2>Penalty and cost</h2>\n{html_picture(pictures['frontier'], caption)}"
