"""The report of an evaluation: a folder with the curve as CSV, its pictures, and one page that holds everything."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from string import Template
from typing import Any

import pandas as pd

from askwise._version import __version__
from askwise.core.errors import AskwiseError
from askwise.core.row_weights import worth_text
from askwise.data.tables.gaps import missing_of_card
from askwise.data.whole_file import whole_file
from askwise.evaluation import summaries
from askwise.evaluation.decisions import Decisions
from askwise.evaluation.reweighted import Reweighted
from askwise.methods.base import Method
from askwise.model.session_model import Costs
from askwise.report import calibration, decisions, sections
from askwise.report.beside import check_beside
from askwise.report.findings import Findings, ReportOptions, find
from askwise.report.page import PAGE, Picture, counted, escaped, fold, html_picture
from askwise.report.plots.style import metric_name, require_matplotlib

# How much of the work the curve is; the rest is drawing.
CURVE_SHARE = 0.6


def write_report(
    estimator: Method, X: Any, y: Any, folder: str | Path, costs: Costs = None, bootstrap: int = 200,
    progress: Callable[[float], None] | None = None, **options: Any,
) -> dict[str, Path]:  # fmt: skip
    """Evaluate a fitted estimator and write curve.csv, PNG pictures and index.html, which holds all of them.

    progress: called with the share of the work that is done. options: those of `ReportOptions`. Returns the written
    files by name; nothing is written before everything is ready.
    """
    target = Path(folder)
    if target.exists() and not target.is_dir():
        raise AskwiseError(f"{target} is a file; give a folder for the report")
    return make_report(estimator, X, y, ReportOptions(costs, bootstrap, **options), progress).write(target)


@dataclass(frozen=True)
class Report:
    """The numbers of a report, and the contents of its files by name."""

    curve: pd.DataFrame
    calibrations: calibration.Calibrations
    contents: dict[str, bytes]
    decisions: Decisions | None = None
    reweighted: Reweighted | None = None

    def write(self, folder: str | Path) -> dict[str, Path]:
        """All files or none; returns where they are, by their names without endings."""
        return _write_all(Path(folder), self.contents)


def make_report(
    estimator: Method,
    X: Any,
    y: Any,
    options: ReportOptions | None = None,
    progress: Callable[[float], None] | None = None,
) -> Report:
    """Evaluate a fitted estimator and draw and write everything, but not yet into files."""
    options = options or ReportOptions()
    require_matplotlib()
    if options.names is not None and len(options.names) != len(X):
        raise AskwiseError(f"{len(options.names)} names were given for {len(X)} cases; give one for each, or none")
    if options.beside is not None:
        check_beside(estimator.model_, options.beside.model_)
    report = progress or _ignore
    options.decisions(len(X)).check(estimator.model_.task)
    table = estimator.curve(
        X, y, options.costs, options.bootstrap, progress=lambda fraction: report(CURVE_SHARE * fraction),
        sample_weight=options.weights, split_by=options.split_by,
    )  # fmt: skip
    findings = find(estimator, X, y, table, options)
    f, persons = findings, options.persons(len(X))
    measured = calibration.measure(estimator, options.beside, X, f.truth, f.prices, f.weights, persons, f.target)
    pictures: dict[str, Picture] = {}
    drawings = sections.drawings(findings) | decisions.drawings(findings.decisions) | calibration.drawings(measured)
    for i, (name, draw) in enumerate(drawings.items()):
        pictures[name] = draw()
        report(CURVE_SHARE + (1 - CURVE_SHARE) * (i + 1) / len(drawings))
    numbers = {"curve": table} | findings.cases.tables() | decisions.tables(findings.decisions)
    numbers |= calibration.tables(measured)
    contents = {f"{name}.csv": part.to_csv(index=False).encode() for name, part in numbers.items()}
    contents |= {f"{name}.png": picture.png for name, picture in pictures.items()}
    if f.reweighted is not None:
        contents["reweighted.csv"] = f.reweighted.curve.to_csv(index=False).encode()
    contents["index.html"] = _page(estimator, findings, measured, pictures, options.subject).encode()
    return Report(table, measured, contents, findings.decisions, findings.reweighted)


def _ignore(fraction: float) -> None:
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


def _page(
    estimator: Method,
    f: Findings,
    calibrations: calibration.Calibrations,
    pictures: Mapping[str, Picture],
    subject: str,
) -> str:
    main = metric_name(summaries.main_metric(f.table), f.target)
    return Template(PAGE).substitute(
        title=escaped(f"askwise report: {subject}" if subject else "askwise report"),
        subject=f"<p>{escaped(subject)}</p>" if subject else "",
        target=f"Predicts <strong>{escaped(f.target)}</strong>. " if f.target else "",
        made=date.today().isoformat(),
        cases=counted(f.n_cases, "case")
        + ("" if f.n_persons is None else f" of {counted(f.n_persons, 'person')}")
        + ("" if f.weights is None else f", {worth_text(f.weights)}"),
        questions=counted(len(f.prices), "question"),
        version=escaped(__version__),
        cards=sections.cards(f),
        points=sections.points_table(f),
        points_note=escaped(sections.points_note(f)),
        cost_curve=html_picture(pictures["cost_curve"], f"{main} against cost, each rule over its whole range."),
        metrics=html_picture(pictures["metrics"], sections.metrics_caption(f)),
        curves=sections.curve_tables(f),
        decisions=decisions.section(f.decisions, pictures),
        selection=f.cases.selection(pictures),
        reasons=html_picture(
            pictures["stop_reasons"], "The settings of the first table, alone and with the budget as a cap."
        ),
        single=f.cases.single(pictures),
        frontier=sections.frontier_section(f, pictures),
        calibration=calibration.section(calibrations, pictures),
        gaps=sections.gaps_section(f.model.gaps, missing_of_card(f.model.card), f.reweighted),
        asked=f.cases.questions(),
        about_tables=escaped(f.cases.about_tables),
        facts=fold("How it was trained", sections.facts_table(estimator, f)),
    )
