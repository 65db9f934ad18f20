"""The report of an evaluation: a folder with the curve as CSV, its pictures, and one page that holds everything."""

from __future__ import annotations

import base64
import contextlib
import html
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import torch

from askwise import evaluation, plots
from askwise._version import __version__
from askwise.acquisition import StoppingRule
from askwise.errors import AskwiseError
from askwise.features import Rows
from askwise.files import whole_file
from askwise.methods.base import CIRCUMSTANCES, Method
from askwise.model import Acquisition, Costs, Model
from askwise.plots import METRIC_WORDS, metric_text, number_text
from askwise.stopping import RULES
from askwise.tasks import Classification

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = np.ndarray[Any, Any]

# A rule's setting to show is the cheapest that wins this share of what asking everything wins over asking nothing.
ENOUGH = 0.95
# Selection and stop reasons are shares: more cases than this would not change them.
MOST_ROWS = 10_000
MOST_QUESTIONS = 15
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
) -> dict[str, Path]:
    """Evaluate a fitted estimator and write curve.csv, PNG pictures and index.html, which holds all of them.

    progress: called with the share of the work that is done. Returns the written files by name; nothing is written
    before everything is ready.
    """
    plots.require_matplotlib()
    target = Path(folder)
    if target.exists() and not target.is_dir():
        raise AskwiseError(f"{target} is a file; give a folder for the report")
    tell = progress or _nobody
    table = estimator.curve(X, y, costs, bootstrap, progress=lambda fraction: tell(CURVE_SHARE * fraction))
    findings = _find(estimator, X, y, costs, table)
    pictures: dict[str, Picture] = {}
    drawings = _drawings(findings)
    for i, (name, drawing) in enumerate(drawings.items()):
        pictures[name] = drawing()
        tell(CURVE_SHARE + (1 - CURVE_SHARE) * (i + 1) / len(drawings))
    contents = {"curve.csv": table.to_csv(index=False).encode()}
    contents |= {f"{name}.png": picture.png for name, picture in pictures.items()}
    contents["index.html"] = _page(estimator, findings, pictures).encode()
    return _write_all(target, contents)


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


# Numbers -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Findings:
    """All numbers of a report."""

    model: Model
    prices: tuple[float, ...]
    n_cases: int
    table: pd.DataFrame
    points: pd.DataFrame
    selection: pd.DataFrame
    reasons: pd.DataFrame
    paths: pd.DataFrame
    path_rule: str
    truth: Array
    frontier: pd.DataFrame | None
    frontier_rows: str

    @property
    def metrics(self) -> list[str]:
        """The two metrics of the headlines."""
        return plots.metrics_of(self.table)[:2]


def operating_points(table: pd.DataFrame, metric: str) -> pd.DataFrame:
    """For each rule of a curve the cheapest record that wins 95 % of what everything wins, and the areas of its curve.

    Where asking wins nothing, or a rule never wins that much, it is the record that spends most.
    """
    sign = 1 if METRIC_WORDS[metric].higher_is_better else -1
    nothing, everything = table.loc[table["mean_cost"].idxmin()], plots.everything(table)
    wanted = sign * nothing[metric] + ENOUGH * sign * (everything[metric] - nothing[metric])
    wins = sign * everything[metric] > sign * nothing[metric]
    most = float(everything["mean_cost"])
    found = []
    for _, part in table.groupby("rule", sort=False):
        part = part.sort_values("mean_cost")
        enough = part[(sign * part[metric] >= wanted) & (part["mean_cost"] > 0) & wins]
        point = part.iloc[-1] if enough.empty else enough.iloc[0]
        areas = {f"{m}_area": evaluation.area_under_curve(part, m, most) for m in plots.metrics_of(table)}
        found.append({**point.to_dict(), "cost_share": point["mean_cost"] / most if most else 0.0, **areas})
    return pd.DataFrame(found)


def _find(estimator: Method, X: Any, y: Any, costs: Costs, table: pd.DataFrame) -> Findings:
    model = estimator.model_
    rows = estimator.encode(X)
    truth = _as_labelled(model, estimator.check_target(y))
    prices = model.costs(costs)
    points = operating_points(table, plots.main_metric(table))
    some = np.linspace(0, len(rows) - 1, min(len(rows), MOST_ROWS)).astype(int)
    sample = rows.take(torch.from_numpy(some))
    whole = model.acquire(sample, None, costs)
    rules = _rules(points)
    acquired = {name: model.acquire(sample, rule, costs) for name, rule in rules.items()}
    # The rule that the budget is not: penalty, or where there is none confidence.
    path_rule = list(rules)[len(points) - 1]
    chosen = some[_telling_rows(model, acquired[path_rule], truth[some])]
    return Findings(
        model, prices, len(rows), table, points,
        selection=plots.selection_frequency(whole.order, model.schema.space.names, MOST_QUESTIONS),
        reasons=plots.reason_counts(acquired),
        paths=plots.path_table(model, rows, rules[path_rule], costs, chosen.tolist()),
        path_rule=path_rule,
        truth=truth,
        frontier=_frontier(model, rows, truth, costs, prices),
        frontier_rows="the validation rows of training" if prices in model.frontiers else "these cases",
    )  # fmt: skip


def _as_labelled(model: Model, y: Array) -> Array:
    """Answers in the model's own labels, so that 1.0 in a file is the label 1."""
    if not isinstance(model.task, Classification):
        return y
    return np.array(model.task.labels)[evaluation.coded(model.task, y)]


def _frontier(model: Model, rows: Rows, y: Array, costs: Costs, prices: tuple[float, ...]) -> pd.DataFrame | None:
    """What AverageCost looks up; under costs that have no frontier yet, that of these rows; None without penalties."""
    if not model.policy.is_information:
        return None
    return model.frontiers[prices] if prices in model.frontiers else evaluation.frontier(model, rows, y, costs)


def _rules(points: pd.DataFrame) -> dict[str, StoppingRule]:
    """Each rule at its point, and each but the budget under the budget's cap, by name."""
    pairs = zip(points["rule"], points["parameter"], strict=True)
    alone = {f"{name}={number_text(setting)}": RULES[name](setting) for name, setting in pairs}
    (cap_name, cap), *others = alone.items()
    return {**alone, **{f"{cap_name} | {name}": cap | rule for name, rule in others}}


def _telling_rows(model: Model, acquired: Acquisition, truth: Array, spread: int = 4, wrong: int = 2) -> Array:
    """Positions of a few rows: from the fewest questions to the most, and the surest mistakes; by number asked."""
    order = np.argsort(acquired.n_asked, kind="stable")
    chosen = order[np.linspace(0, len(order) - 1, min(spread, len(order))).astype(int)].tolist()
    if isinstance(model.task, Classification):
        assert acquired.proba is not None
        missed = acquired.proba.argmax(1) != evaluation.coded(model.task, truth)
        badness = np.where(missed, acquired.proba.max(1), 0.0)
    else:
        assert acquired.prediction is not None
        badness = np.abs(acquired.prediction - truth)
    worst = [i for i in np.argsort(-badness, kind="stable").tolist() if badness[i] > 0 and i not in chosen]
    rows = np.array([*chosen, *worst[:wrong]])
    return rows[np.argsort(acquired.n_asked[rows], kind="stable")]


# Pictures ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Picture:
    """A drawn picture, and what it shows in words for those who can't see it."""

    png: bytes
    alt: str


def _picture(figure: Figure, alt: str) -> Picture:
    from PIL import Image

    drawn, small = io.BytesIO(), io.BytesIO()
    figure.savefig(drawn, format="png")
    # A drawing needs no more than 256 colours, and is a third of the size with them.
    Image.open(drawn).convert("RGB").quantize(256, dither=Image.Dither.NONE).save(small, "png", optimize=True)
    return Picture(small.getvalue(), alt)


def _drawings(f: Findings) -> dict[str, Callable[[], Picture]]:
    """Every picture by name, still to be drawn."""
    metric = plots.main_metric(f.table)
    label = METRIC_WORDS[metric].label
    level = metric_text(metric, float(plots.everything(f.table)[metric]))
    rules = ", ".join(f.points["rule"])
    names = plots.metrics_of(f.table)
    # The main metric has a picture of its own; two panels are drawn in any case.
    others = [name for name in names if name != metric] if len(names) > 2 else names
    earliest = ", ".join(f.selection.index[:3])
    drawings = {
        "cost_curve": lambda: _picture(
            plots.cost_curve(f.table, metric),
            f"{label} against mean cost, one line for each rule ({rules}); asking everything reaches {level}.",
        ),
        "metrics": lambda: _picture(
            plots.metric_curves(f.table, others, columns=2),
            f"{', '.join(METRIC_WORDS[name].label for name in others)} against mean cost, one panel each.",
        ),
        "selection": lambda: _picture(
            plots.selection_heatmap(f.selection),
            f"Heat map of the share of cases in which each group is known; asked first: {earliest}.",
        ),
        "stop_reasons": lambda: _picture(plots.stop_reasons(f.reasons), "Bars of why cases stopped under each rule."),
        "paths": lambda: _picture(
            plots.paths(f.paths, f.truth, columns=2),
            f"The prediction after each question, for {f.paths['row'].nunique()} single cases.",
        ),
    }
    table = f.frontier
    if table is not None:
        drawings["frontier"] = lambda: _picture(
            plots.frontier(table), f"Mean cost against penalty, and {label} against mean cost."
        )
    return drawings


# The page ------------------------------------------------------------------------------------------------------------


def _e(value: object) -> str:
    """Text for HTML: names of columns, groups and labels come from users."""
    return html.escape(str(value), quote=True)


def _html_table(heads: Sequence[str], lines: Iterable[Sequence[object]], words: int = 1) -> str:
    """A table that scrolls by itself on a small screen; the first `words` columns are words, the rest numbers."""
    kinds = ["" if i < words else ' class="n"' for i in range(len(heads))]
    head = "".join(f'<th scope="col"{k}>{_e(h)}</th>' for h, k in zip(heads, kinds, strict=True))
    body = "\n".join(
        "<tr>" + "".join(f"<td{k}>{_e(v)}</td>" for v, k in zip(line, kinds, strict=True)) + "</tr>" for line in lines
    )
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table></div>'


def _html_picture(picture: Picture, caption: str) -> str:
    data = base64.b64encode(picture.png).decode()
    return (
        f'<figure><img src="data:image/png;base64,{data}" alt="{_e(picture.alt)}">'
        f"<figcaption>{_e(caption)}</figcaption></figure>"
    )


def _fold(summary: str, content: str) -> str:
    return f"<details><summary>{_e(summary)}</summary>{content}</details>"


def _interval(record: Mapping[str, Any], metric: str) -> str:
    """A metric with its interval, where the curve has one."""
    text = metric_text(metric, record[metric])
    if f"{metric}_low" not in record:
        return text
    low, high = (metric_text(metric, record[f"{metric}_{end}"]) for end in ("low", "high"))
    return f"{text} ({low} to {high})"


def _cards(f: Findings) -> str:
    metric = plots.main_metric(f.table)
    nothing, full = f.table.loc[f.table["mean_cost"].idxmin()], plots.everything(f.table)
    best = f.points.loc[f.points["mean_cost"].idxmin()]
    spent = f"cost {number_text(best['mean_cost'])}, {best['cost_share']:.0%} of everything"
    shown = [
        (nothing, "asking nothing", f"cost {number_text(nothing['mean_cost'])}"),
        (best, f"stopping by {best['rule']}", spent),
        (full, "asking everything", f"cost {number_text(full['mean_cost'])}"),
    ]
    return "\n".join(
        f'<div class="card"><b>{_e(metric_text(metric, record[metric]))}</b><span>{_e(METRIC_WORDS[metric].label)}, '
        f"{_e(how)}</span><small>{_e(cost)}</small></div>"
        for record, how, cost in shown
    )


def _points_table(f: Findings) -> str:
    names = [METRIC_WORDS[m].label for m in f.metrics]
    heads = ["Rule", "Setting", "Mean cost", "Of everything", "Questions", *names, *(f"Area, {n}" for n in names)]
    full = plots.everything(f.table)

    def line(record: Mapping[str, Any], rule: str, setting: str, share: float, areas: Sequence[str]) -> list[str]:
        spent = [number_text(record["mean_cost"]), f"{share:.0%}", number_text(record["mean_groups"])]
        return [rule, setting, *spent, *(_interval(record, m) for m in f.metrics), *areas]

    lines = [
        line(p, p["rule"], number_text(p["parameter"]), p["cost_share"],
             [metric_text(m, p[f"{m}_area"]) for m in f.metrics])
        for p in f.points.to_dict("records")
    ]  # fmt: skip
    lines.append(line(full.to_dict(), "everything", "", 1.0, [""] * len(f.metrics)))
    return _html_table(heads, lines)


def _curve_tables(f: Findings) -> str:
    metrics = plots.metrics_of(f.table)
    heads = ["Setting", "Mean cost", "Questions", *(METRIC_WORDS[m].label for m in metrics)]
    folds = []
    for rule, part in f.table.groupby("rule", sort=False):
        lines = [
            [number_text(r["parameter"]), number_text(r["mean_cost"]), number_text(r["mean_groups"])]
            + [metric_text(m, r[m]) for m in metrics]
            for r in part.to_dict("records")
        ]
        folds.append(_fold(f"{rule}: {len(part)} settings", _html_table(heads, lines, words=0)))
    return "\n".join(folds)


def _selection_table(f: Findings) -> str:
    heads = ["Group", *(str(k) for k in f.selection.columns)]
    lines = [[name, *(f"{share:.0%}" for share in line)] for name, line in f.selection.iterrows()]
    return _html_table(heads, lines)


def _questions_table(f: Findings) -> str:
    schema = f.model.schema
    groups = zip(schema.space.names, f.prices, strict=True)
    lines = [[name, ", ".join(c.name for c in schema.columns_of(name)), number_text(cost)] for name, cost in groups]
    lines += [[name, "known from the start", "free"] for name in schema.free]
    return _html_table(["Question", "Columns", "Cost"], lines, words=2)


def _facts(estimator: Method, f: Findings) -> str:
    task = f.model.task
    answer = f"one of {', '.join(map(str, task.labels))}" if isinstance(task, Classification) else "a number"
    facts: dict[str, object] = {"method": estimator.registry_name, "predicts": answer}
    facts |= _flat(f.model.card)
    settings = {k: v for k, v in estimator.get_params(deep=False).items() if k not in CIRCUMSTANCES}
    facts |= {f"setting: {k}": v for k, v in settings.items() if isinstance(v, (str, int, float, bool))}
    return _html_table(["Fact", "Value"], facts.items(), words=2)


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


def _page(estimator: Method, f: Findings, pictures: Mapping[str, Picture]) -> str:
    metric = plots.main_metric(f.table)
    main = METRIC_WORDS[metric].label
    intervals = "; in brackets 95% bootstrap intervals" if f"{metric}_low" in f.table else ""
    frontier = ""
    if "frontier" in pictures:
        caption = f"Measured on {f.frontier_rows}. AverageCost(k) takes the penalty with the largest mean cost up to k."
        frontier = f"<h2>Penalty and cost</h2>\n{_html_picture(pictures['frontier'], caption)}"
    return Template(PAGE).substitute(
        cases=f"{f.n_cases:,}",
        questions=len(f.prices),
        version=_e(__version__),
        cards=_cards(f),
        points=_points_table(f),
        points_note=_e(
            f"For each rule the cheapest setting that wins {ENOUGH:.0%} of what asking everything wins over asking "
            f"nothing in {main}{intervals}. The settings are read off the curve of these very cases, which flatters "
            "them a little. Area: the mean of the metric over all costs from nothing to everything."
        ),
        cost_curve=_html_picture(pictures["cost_curve"], f"{main} against cost, each rule over its whole range."),
        metrics=_html_picture(pictures["metrics"], "The other metrics against cost."),
        curves=_curve_tables(f),
        selection=_html_picture(
            pictures["selection"],
            "Share of cases in which each group is known after so many questions, when asking goes on to the end.",
        ),
        selection_table=_fold("Numbers for every group", _selection_table(f)),
        reasons=_html_picture(
            pictures["stop_reasons"], "The settings of the first table, alone and with the budget as a cap."
        ),
        paths=_html_picture(
            pictures["paths"],
            f"Stopping by {f.path_rule}: cases with few and many questions, and the worst mistakes. "
            "Cases are numbered from 0, in the order of the data.",
        ),
        frontier=frontier,
        prices=_questions_table(f),
        facts=_fold("How it was trained", _facts(estimator, f)),
    )


PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<meta name="color-scheme" content="light dark">
<title>askwise report</title>
<style>
:root { --back: #ffffff; --ink: #222222; --soft: #5f5f5f; --line: #e2e2e2; --box: #f6f7f8; --mark: #0072b2; }
@media (prefers-color-scheme: dark) {
  :root { --back: #121212; --ink: #ededed; --soft: #a8a8a8; --line: #333333; --box: #1d1f21; --mark: #6cbcf0; }
  /* White paper becomes the page's black, and hues stay what they were. */
  img { filter: invert(0.93) hue-rotate(180deg); }
}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 62rem; padding: 1.5rem 1rem 4rem; background: var(--back); color: var(--ink);
  font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
h1 { margin: 0; font-size: 1.7rem; line-height: 1.2; }
h2 { margin: 2.8rem 0 0.6rem; padding-top: 1rem; border-top: 1px solid var(--line); font-size: 1.25rem; }
p, figcaption, footer, summary { max-width: 46rem; }
.soft, figcaption, footer, small { color: var(--soft); font-size: 0.9rem; }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(13rem, 1fr)); gap: 0.8rem; margin: 1.4rem 0; }
.card { display: flex; flex-direction: column; padding: 0.9rem 1.1rem; background: var(--box); border-radius: 0.6rem; }
.card b { color: var(--mark); font-size: 1.9rem; line-height: 1.25; }
figure { margin: 1.2rem 0; }
img { display: block; width: 100%; height: auto; }
figcaption { margin-top: 0.4rem; }
.scroll { overflow-x: auto; margin: 0.8rem 0; }
table { border-collapse: collapse; font-size: 0.88rem; font-variant-numeric: tabular-nums; }
th, td { padding: 0.3rem 0.8rem 0.3rem 0; border-bottom: 1px solid var(--line); text-align: left;
  vertical-align: top; white-space: nowrap; }
th { color: var(--soft); font-weight: 600; }
.n { padding-left: 0.8rem; text-align: right; }
summary { padding: 0.3rem 0; color: var(--mark); cursor: pointer; }
footer { margin-top: 3rem; }
</style>
</head>
<body>
<header>
<h1>askwise report</h1>
<p class="soft">$cases cases, $questions questions that can be asked</p>
</header>
<main>
<div class="cards">
$cards
</div>
$points
<p class="soft">$points_note</p>
<h2>What the cost buys</h2>
$cost_curve
$metrics
$curves
<h2>Which questions are asked</h2>
$selection
$selection_table
<h2>Why it stops</h2>
$reasons
<h2>Single cases</h2>
$paths
$frontier
<h2>The model</h2>
$prices
$facts
</main>
<footer>Made by askwise $version. The numbers of every picture of a curve are in curve.csv beside this page.</footer>
</body>
</html>
"""
