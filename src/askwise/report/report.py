"""The report of an evaluation: a folder with the curve as CSV, its pictures, and one page that holds everything."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Any

import numpy as np
import pandas as pd

from askwise._version import __version__
from askwise.core.arrays import Array
from askwise.core.errors import AskwiseError
from askwise.core.rows import Rows, evenly
from askwise.core.step import StoppingRule
from askwise.core.stopping import RULES
from askwise.core.tasks import Classification
from askwise.data.whole_file import whole_file
from askwise.evaluation import frontier, metrics, summaries
from askwise.methods.base import CIRCUMSTANCES, Method
from askwise.model.model import Acquisition, Costs, Model
from askwise.report import calibration as report_calibration
from askwise.report.calibration import Trust
from askwise.report.cases import Asked, Cases, cases_of
from askwise.report.page import PAGE, Picture, counted, escaped, fold, html_picture, html_table, picture_of
from askwise.report.plots import curves as plots
from askwise.report.plots.style import METRIC_WORDS, metric_text, number_text, require_matplotlib

# Selection and stop reasons are shares: more cases than this would not change them.
MOST_ROWS = 10_000
# How much of the work the curve is; the rest is drawing.
CURVE_SHARE = 0.6


def write_report(
    estimator: Method,
    X: Any,
    y: Any,
    folder: str | Path,
    costs: Costs = None,
    bootstrap: int = 200,
    progress: Callable[[float], None] | None = None,
    beside: Method | None = None,
    subject: str = "",
    names: Sequence[str] | None = None,
) -> dict[str, Path]:
    """Evaluate a fitted estimator and write curve.csv, PNG pictures and index.html, which holds all of them.

    The arguments are those of `make_report`. Returns the written files by name; nothing is written before everything
    is ready.
    """
    target = Path(folder)
    if target.exists() and not target.is_dir():
        raise AskwiseError(f"{target} is a file; give a folder for the report")
    return make_report(estimator, X, y, costs, bootstrap, progress, beside, subject, names).write(target)


@dataclass(frozen=True)
class Report:
    """The numbers of a report, and the contents of its files by name."""

    curve: pd.DataFrame
    trust: Trust
    contents: dict[str, bytes]

    def write(self, folder: str | Path) -> dict[str, Path]:
        """All files or none; returns where they are, by their names without endings."""
        return _write_all(Path(folder), self.contents)


def make_report(
    estimator: Method,
    X: Any,
    y: Any,
    costs: Costs = None,
    bootstrap: int = 200,
    progress: Callable[[float], None] | None = None,
    beside: Method | None = None,
    subject: str = "",
    names: Sequence[str] | None = None,
) -> Report:
    """Evaluate a fitted estimator and draw and write everything, but not yet into files.

    progress: called with the share of the work that is done. beside: a second estimator of the same questions, whose
    estimates are drawn beside those of the first. subject: what is reported on, such as the names of files. names: of
    images, what each is called, as in `Images.sources`; without them it is its row, counted from 0.
    """
    require_matplotlib()
    if names is not None and len(names) != len(X):
        raise AskwiseError(f"{len(names)} names were given for {len(X)} cases; give one for each, or none")
    if beside is not None:
        report_calibration.check_beside(estimator.model_, beside.model_)
    tell = progress or _nobody
    table = estimator.curve(X, y, costs, bootstrap, progress=lambda fraction: tell(CURVE_SHARE * fraction))
    findings = _find(estimator, X, y, costs, table, names)
    trust = report_calibration.measure(estimator, beside, X, findings.truth, findings.prices)
    pictures: dict[str, Picture] = {}
    drawings = _drawings(findings) | report_calibration.drawings(trust)
    for i, (name, drawing) in enumerate(drawings.items()):
        pictures[name] = drawing()
        tell(CURVE_SHARE + (1 - CURVE_SHARE) * (i + 1) / len(drawings))
    numbers = {"curve": table} | findings.cases.tables() | report_calibration.tables(trust)
    contents = {f"{name}.csv": part.to_csv(index=False).encode() for name, part in numbers.items()}
    contents |= {f"{name}.png": picture.png for name, picture in pictures.items()}
    contents["index.html"] = _page(estimator, findings, trust, pictures, subject).encode()
    return Report(table, trust, contents)


def _nobody(fraction: float) -> None:
    del fraction


def _write_all(folder: Path, contents: Mapping[str, bytes]) -> dict[str, Path]:
    """Write every file beside its place first, then put all in place: a full disk changes nothing."""
    new = not folder.exists()
    try:
        with contextlib.ExitStack() as stack:
            for name, content in contents.items():
                stack.enter_context(whole_file(folder / name)).write_bytes(content)
    except BaseException:
        if new:
            with contextlib.suppress(OSError):
                folder.rmdir()
        raise
    return {Path(name).stem: folder / name for name in contents}


@dataclass(frozen=True)
class Findings:
    """All numbers of a report."""

    model: Model
    prices: tuple[float, ...]
    n_cases: int
    table: pd.DataFrame
    points: pd.DataFrame
    reasons: pd.DataFrame
    cases: Cases
    truth: Array
    frontier: pd.DataFrame | None
    frontier_rows: str

    @property
    def metrics(self) -> list[str]:
        """The two metrics of the headlines."""
        return summaries.metrics_of(self.table)[:2]


def _find(
    estimator: Method, X: Any, y: Any, costs: Costs, table: pd.DataFrame, names: Sequence[str] | None
) -> Findings:
    model = estimator.model_
    rows = estimator.encode(X)
    truth = metrics.as_labelled(model.task, estimator.check_target(y))
    prices = model.costs(costs)
    points = summaries.operating_points(table, summaries.main_metric(table))
    some = evenly(len(rows), MOST_ROWS)
    sample = rows.take(some)
    rules = _rules(points)
    acquired = {name: model.acquire(sample, rule, costs) for name, rule in rules.items()}
    # The rule that the budget is not: penalty, or where there is none confidence.
    shown = list(rules)[len(points) - 1]
    telling = _telling_rows(model, acquired[shown], truth[some.numpy()])
    return Findings(
        model, prices, len(rows), table, points,
        reasons=summaries.reason_counts(acquired),
        cases=cases_of(Asked(model, rows, truth, costs, some, shown, rules[shown], acquired[shown], telling, names)),
        truth=truth,
        frontier=_frontier(model, rows, truth, costs, prices),
        frontier_rows="the validation rows of training" if prices in model.frontiers else "these cases",
    )  # fmt: skip


def _frontier(model: Model, rows: Rows, y: Array, costs: Costs, prices: tuple[float, ...]) -> pd.DataFrame | None:
    """What AverageCost looks up; under costs that have no frontier yet, that of these rows; None without penalties."""
    if not model.policy.is_information:
        return None
    return model.frontiers[prices] if prices in model.frontiers else frontier.frontier(model, rows, y, costs)


def _rules(points: pd.DataFrame) -> dict[str, StoppingRule]:
    """Each rule at its point, and each but the budget under the budget's cap, by name."""
    pairs = zip(points["rule"], points["parameter"], strict=True)
    alone = {f"{name}={number_text(setting)}": RULES[name](setting) for name, setting in pairs}
    (cap_name, cap), *others = alone.items()
    return {**alone, **{f"{cap_name} | {name}": cap | rule for name, rule in others}}


def _telling_rows(model: Model, acquired: Acquisition, truth: Array, spread: int = 4, wrong: int = 2) -> Array:
    """Positions of a few rows: from the fewest questions to the most, and the surest mistakes; by number asked."""
    order = np.argsort(acquired.n_asked, kind="stable")
    chosen = order[evenly(len(order), spread).numpy()].tolist()
    if isinstance(model.task, Classification):
        assert acquired.proba is not None
        missed = acquired.proba.argmax(1) != metrics.coded(model.task, truth)
        badness = np.where(missed, acquired.proba.max(1), 0.0)
    else:
        assert acquired.prediction is not None
        badness = np.abs(acquired.prediction - truth)
    worst = [i for i in np.argsort(-badness, kind="stable").tolist() if badness[i] > 0 and i not in chosen]
    rows = np.array([*chosen, *worst[:wrong]])
    return rows[np.argsort(acquired.n_asked[rows], kind="stable")]


def _drawings(f: Findings) -> dict[str, Callable[[], Picture]]:
    """Every picture by name, still to be drawn."""
    metric = summaries.main_metric(f.table)
    label = METRIC_WORDS[metric].label
    level = metric_text(metric, float(summaries.everything(f.table)[metric]))
    rules = ", ".join(f.points["rule"])
    names = summaries.metrics_of(f.table)
    # The main metric has a picture of its own; two panels are drawn in any case.
    others = [name for name in names if name != metric] if len(names) > 2 else names
    drawings = {
        "cost_curve": lambda: picture_of(
            plots.cost_curve(f.table, metric),
            f"{label} against mean cost, one line for each rule ({rules}); asking everything reaches {level}.",
        ),
        "metrics": lambda: picture_of(
            plots.metric_curves(f.table, others, columns=2),
            f"{', '.join(METRIC_WORDS[name].label for name in others)} against mean cost, one panel each.",
        ),
        "stop_reasons": lambda: picture_of(plots.stop_reasons(f.reasons), "Bars of why cases stopped under each rule."),
    }
    drawings |= f.cases.drawings()
    table = f.frontier
    if table is not None:
        drawings["frontier"] = lambda: picture_of(
            plots.frontier(table), f"Mean cost against penalty, and {label} against mean cost."
        )
    return drawings


def _interval(record: Mapping[str, Any], metric: str) -> str:
    """A metric with its interval, where the curve has one."""
    text = metric_text(metric, record[metric])
    if f"{metric}_low" not in record:
        return text
    low, high = (metric_text(metric, record[f"{metric}_{end}"]) for end in ("low", "high"))
    return f"{text} ({low} to {high})"


def _cards(f: Findings) -> str:
    metric = summaries.main_metric(f.table)
    nothing, full = f.table.loc[f.table["mean_cost"].idxmin()], summaries.everything(f.table)
    best = f.points.loc[f.points["mean_cost"].idxmin()]
    spent = f"cost {number_text(best['mean_cost'])}, {best['cost_share']:.0%} of everything"
    shown = [
        (nothing, "asking nothing", f"cost {number_text(nothing['mean_cost'])}"),
        (best, f"stopping by {best['rule']}", spent),
        (full, "asking everything", f"cost {number_text(full['mean_cost'])}"),
    ]
    return "\n".join(
        f'<div class="card"><b>{escaped(metric_text(metric, record[metric]))}</b>'
        f"<span>{escaped(METRIC_WORDS[metric].label)}, {escaped(how)}</span><small>{escaped(cost)}</small></div>"
        for record, how, cost in shown
    )


def _metrics_caption(f: Findings) -> str:
    banded = any(f"{name}_low" in f.table for name in summaries.metrics_of(f.table))
    bare = [METRIC_WORDS[m].label for m in metrics.WITHOUT_INTERVAL if banded and m in f.table]
    why = "" if not bare else f" {', '.join(bare)} has no band: drawing cases again can only raise it."
    return f"The other metrics against cost.{why}"


def _points_table(f: Findings) -> str:
    names = [METRIC_WORDS[m].label for m in f.metrics]
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


def _curve_tables(f: Findings) -> str:
    metrics = summaries.metrics_of(f.table)
    heads = ["Setting", "Mean cost", "Questions", *(METRIC_WORDS[m].label for m in metrics)]
    folds = []
    for rule, part in f.table.groupby("rule", sort=False):
        lines = [
            [number_text(r["parameter"]), number_text(r["mean_cost"]), number_text(r["mean_groups"])]
            + [metric_text(m, r[m]) for m in metrics]
            for r in part.to_dict("records")
        ]
        folds.append(fold(f"{rule}: {len(part)} settings", html_table(heads, lines, words=0)))
    return "\n".join(folds)


def _facts(estimator: Method, f: Findings) -> str:
    task = f.model.task
    answer = f"one of {', '.join(map(str, task.labels))}" if isinstance(task, Classification) else "a number"
    facts: dict[str, object] = {"method": estimator.registry_name, "predicts": answer}
    facts |= _flat(f.model.card)
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


def _page(estimator: Method, f: Findings, trust: Trust, pictures: Mapping[str, Picture], subject: str) -> str:
    metric = summaries.main_metric(f.table)
    main = METRIC_WORDS[metric].label
    intervals = "; in brackets 95% bootstrap intervals" if f"{metric}_low" in f.table else ""
    frontier = ""
    if "frontier" in pictures:
        caption = f"Measured on {f.frontier_rows}. AverageCost(k) takes the penalty with the largest mean cost up to k."
        frontier = f"<h2>Penalty and cost</h2>\n{html_picture(pictures['frontier'], caption)}"
    return Template(PAGE).substitute(
        title=escaped(f"askwise report: {subject}" if subject else "askwise report"),
        subject=f"<p>{escaped(subject)}</p>" if subject else "",
        cases=counted(f.n_cases, "case"),
        questions=counted(len(f.prices), "question"),
        version=escaped(__version__),
        cards=_cards(f),
        points=_points_table(f),
        points_note=escaped(
            f"For each rule the cheapest setting that wins {summaries.ENOUGH:.0%} of what asking everything wins over "
            f"asking nothing in {main}{intervals}. The settings are read off the curve of these very cases, which "
            "flatters them a little. Area: the mean of the metric over all costs from nothing to everything."
        ),
        cost_curve=html_picture(pictures["cost_curve"], f"{main} against cost, each rule over its whole range."),
        metrics=html_picture(pictures["metrics"], _metrics_caption(f)),
        curves=_curve_tables(f),
        selection=f.cases.selection(pictures),
        reasons=html_picture(
            pictures["stop_reasons"], "The settings of the first table, alone and with the budget as a cap."
        ),
        single=f.cases.single(pictures),
        frontier=frontier,
        trust=report_calibration.section(trust, pictures),
        asked=f.cases.questions(),
        about_tables=escaped(f.cases.about_tables),
        facts=fold("How it was trained", _facts(estimator, f)),
    )
