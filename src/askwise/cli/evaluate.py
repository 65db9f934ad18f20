"""`askwise evaluate`: what a model costs and how right it is, on rows or images it has not seen."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from askwise.cli import show, tables
from askwise.cli.common import Out, check_folder_can_be_written, command
from askwise.cli.decisions import DecisionChoice, decision_facts, decision_parts
from askwise.cli.evaluate_data import CaseReader, check_order
from askwise.cli.gaps import note_gaps
from askwise.cli.image_options import ImageSourceOptions
from askwise.cli.measure import Measured, areas, calibrate, curve_table, measure
from askwise.cli.options import AllowImplausible, ModelFile, OtherCosts, PrintOptions
from askwise.cli.progress import busy
from askwise.core.errors import AskwiseError

if TYPE_CHECKING:
    from askwise.evaluation.calibration import Calibration

EXAMPLES = """\b
Examples:
  askwise evaluate heart.askwise test.csv
  askwise evaluate heart.askwise test.csv --report report/
  askwise evaluate heart.askwise visits.csv --split-by patient --threshold 0.2 --report report/
  askwise evaluate heart.askwise test.csv --report report/ --beside unbounded.askwise
  askwise evaluate heart.askwise test.csv --costs other-prices.csv --json > numbers.json
  askwise evaluate digits.askwise test/ --report report/
  askwise evaluate scans.askwise scans.npz --split test
"""


def evaluate(
    model: ModelFile,
    cases: Annotated[
        Path,
        typer.Argument(
            metavar="CASES", help="Cases with known answers: CSV or Parquet; for a model of images, as in training."
        ),
    ],
    *,
    target: Annotated[
        str | None,
        typer.Option(
            "--target", "-t", metavar="COLUMN", help="The column with the answers; by default as in training."
        ),
    ] = None,
    weights: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help="How much each row counts, in metrics and mean costs: numbers of at least 0."
        ),
    ] = None,
    costs: OtherCosts = None,
    report: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Write the curves as CSV and pictures, and one HTML page, here."),
    ] = None,
    beside: Annotated[
        Path | None,
        typer.Option(
            metavar="MODEL",
            help="A second model of the same questions and prices, for example trained with --scaling none; the report "
            "draws its estimates beside these.",
        ),
    ] = None,
    split_by: Annotated[
        str | None,
        typer.Option(
            "--split-by",
            metavar="COLUMN",
            help="Rows with the same value belong together, such as those of a patient: "
            "intervals are then those of as many patients, not rows.",
        ),
    ] = None,
    decision: DecisionChoice,
    source: ImageSourceOptions,
    allow_implausible: AllowImplausible = False,
    bootstrap: Annotated[int, typer.Option(min=0, metavar="N", help="Draws for the 95% intervals; 0 for none.")] = 200,
    printing: PrintOptions,
) -> None:
    """Measure a model on other rows.

    Every metric against cost, for every stopping rule, with 95% intervals; for two labels, what a threshold of the
    probability decides. Columns may stand in any order, and columns that the model does not use are ignored. Images
    are scaled and cut to the model's size.
    """
    with command(printing) as out:
        _check_report(report, beside)
        with busy(out, f"Reading {model.name} and {cases.name}"):
            from askwise.core.row_weights import worth_text
            from askwise.data.tables.files import read_costs
            from askwise.methods.loading import load
            from askwise.report.findings import ReportOptions

            check_order(model, cases, "evaluate")
            tables.check_exists(cases)
            prices = None if costs is None else read_costs(costs)
            estimator = load(model)
            second = None if beside is None else load(beside)
            chosen = decision.chosen(estimator.model_)
        note_gaps(out, estimator.model_)
        reader = CaseReader(estimator, model, cases, target, source, allow_implausible, split_by, weights)
        labelled = reader.read(out)
        _warn_if_too_few(labelled.y, out)
        subject = f"{model.name} on {cases.name}" + (f", beside {beside.name}" if beside is not None else "")
        options = ReportOptions(prices, bootstrap, second, subject, target=target or "", **chosen)
        measured = measure(out, estimator, labelled, options, report)
        calibrations = measured.calibrations or calibrate(out, estimator, labelled, prices)
        n_cases = show.count(len(labelled.X), "image" if reader.has_images else "row")
        counted = "" if labelled.weights is None else f", {worth_text(labelled.weights)}"
        _print_results(out, f"{model} on {n_cases} of {cases}{counted}", measured, calibrations)
        files: dict[str, Any] = {"model": str(model), "data": str(cases), "rows": len(labelled.X)}
        out.result(files | _facts(measured, calibrations))


def _check_report(report: Path | None, beside: Path | None) -> None:
    if beside is not None and report is None:
        raise AskwiseError(f"--beside {beside} is drawn in a report, and none was asked for; add --report FOLDER")
    if report is not None:
        check_folder_can_be_written(report)


def _warn_if_too_few(labels: Any, out: Out) -> None:
    """Warn if the answers are too few, or too much alike, to measure anything by them."""
    if len(labels) == 1:
        out.note("Warning: 1 row only, so every number is that of chance; give more rows")
    elif len(set(labels)) == 1:
        out.note(
            f"Warning: the answer is {labels[0]} in every row, so nothing tells how well the model keeps answers "
            "apart; give rows with others too"
        )


def _print_results(out: Out, title: str, measured: Measured, calibrations: dict[str, Calibration]) -> None:
    from askwise.report.calibration import sentences

    out.print(curve_table(title, measured.curve))
    if measured.reweighted is not None:
        from askwise.data.tables.gaps_wording import reweighted_title

        out.print("", curve_table(reweighted_title(measured.reweighted.groups), measured.reweighted.curve, most=4))
    if measured.decisions is not None:
        out.print(*decision_parts(measured.decisions))
    out.print("", *sentences(calibrations["this"]))
    if measured.files:
        out.print(f"Report: {measured.files['index.html']}")


def _reweighted_facts(measured: Measured) -> dict[str, Any]:
    found = measured.reweighted
    return {} if found is None else {"reweighted": {"groups": found.groups, "curve": found.curve.to_dict("records")}}


def _facts(measured: Measured, calibrations: dict[str, Calibration]) -> dict[str, Any]:
    """Return the results for JSON; with a second model its calibration too."""
    beside = {"calibration_beside": calibrations["beside"].summary} if "beside" in calibrations else {}
    return {
        "curve": measured.curve.to_dict("records"),
        **_reweighted_facts(measured),
        **({} if measured.decisions is None else {"decisions": decision_facts(measured.decisions)}),
        "area_under_curve": areas(measured.curve),
        "calibration": calibrations["this"].summary,
        **beside,
        "files": {name: str(path) for name, path in measured.files.items()},
    }
