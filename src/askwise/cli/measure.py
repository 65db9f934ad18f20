"""Measures a model on labelled cases, for `askwise evaluate` and `askwise demo`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from askwise.cli import show
from askwise.cli.common import Out
from askwise.cli.gaps import reweighted
from askwise.cli.progress import busy, fraction_progress

if TYPE_CHECKING:
    import pandas as pd

    from askwise.evaluation.calibration import Calibration
    from askwise.evaluation.decisions import Decisions
    from askwise.evaluation.reweighted import Reweighted
    from askwise.report.findings import ReportOptions


class LabelledCases(NamedTuple):
    """Cases as a model takes them, with their answers.

    names: what each image is called. split_by: the person of each, or what else their rows have in common. weights: how
    much each case counts, None if all count the same.
    """

    X: Any
    y: Any
    names: tuple[str, ...] | None = None
    split_by: Any = None
    weights: Any = None


class Measured(NamedTuple):
    """A curve, what a threshold decides and, if a report was written, its files by name and the calibrations in it.

    reweighted: the curve of the same cases weighed against gaps, if they have gaps that told the answer in training.
    """

    curve: pd.DataFrame
    reweighted: Reweighted | None
    decisions: Decisions | None
    files: dict[str, Path]
    calibrations: dict[str, Calibration]


def measure(out: Out, estimator: Any, cases: LabelledCases, options: ReportOptions, report: Path | None) -> Measured:
    """Measure every metric against cost, and write a report if its folder is given."""
    options = replace(options, names=cases.names, split_by=cases.split_by)
    with fraction_progress(out, "Asking every row") as progress:
        if report is None:
            curve = estimator.curve(
                cases.X, cases.y, options.costs, options.bootstrap, progress=progress, split_by=cases.split_by,
                sample_weight=cases.weights,
            )  # fmt: skip
            against_gaps = reweighted(estimator, cases.X, cases.y, options.costs, cases.weights)
            return Measured(curve, against_gaps, _decide(estimator, cases, options), {}, {})
        from askwise.report.report import make_report

        told = replace(options, names=cases.names, weights=cases.weights)
        made = make_report(estimator, cases.X, cases.y, told, progress)
        files = {path.name: path for path in made.write(report).values()}
        return Measured(made.curve, made.reweighted, made.decisions, files, made.calibrations.by_role)


def _decide(estimator: Any, cases: LabelledCases, options: ReportOptions) -> Decisions | None:
    from askwise.evaluation.decisions import decide

    truth = estimator.check_target(cases.y)
    found = options.decisions(len(truth))
    rows = estimator.encode(cases.X).with_weight(cases.weights)
    return decide(estimator.model_, rows, truth, options.costs, found)


def calibrate(out: Out, estimator: Any, cases: LabelledCases, costs: dict[str, Any] | None) -> dict[str, Calibration]:
    """Compare the model's numbers with the answers, as a report does."""
    from askwise.evaluation.calibration import calibration
    from askwise.evaluation.intervals import person_numbers

    with busy(out, "Comparing what it says with what is true"):
        truth, rows = estimator.check_target(cases.y), estimator.encode(cases.X).with_weight(cases.weights)
        persons = None if cases.split_by is None else person_numbers(cases.split_by, len(truth))
        return {"this": calibration(estimator.model_, rows, truth, costs, persons)}


def areas(curve: pd.DataFrame) -> dict[str, dict[str, float]]:
    """Return the area under the cost curve of every metric, for every rule."""
    from askwise.evaluation.areas import area_under_curve
    from askwise.evaluation.metrics import all_metrics

    names = [name for name in all_metrics() if name in curve]
    return {str(rule): {m: area_under_curve(part, m) for m in names} for rule, part in curve.groupby("rule")}


def curve_table(title: str, curve: pd.DataFrame, most: int = 6) -> Any:
    """Return a table with a few points of every rule."""
    import pandas as pd

    table = pd.concat([show.sample_by_cost(part, most) for _, part in curve.groupby("rule")])
    rules = zip(table["rule"], table["parameter"], strict=True)
    written = [f"{rule}={show.format_number(parameter)}" for rule, parameter in rules]
    return show.costs_table(title, table.assign(stop=written), by="stop")
