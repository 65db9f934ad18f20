"""`askwise evaluate`: what a model costs and how right it is, on rows or images it has not seen."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from askwise.cli import images as pictures
from askwise.cli import show, tables
from askwise.cli.common import JsonFlag, ModelFile, OtherCosts, Out, QuietFlag, check_folder_can_be_written, command
from askwise.cli.progress import busy, fraction_progress
from askwise.core.errors import AskwiseError, listed

if TYPE_CHECKING:
    import pandas as pd

    from askwise.evaluation.calibration import Calibration

MODEL_TYPE = ".askwise"
EXAMPLES = """\b
Examples:
  askwise evaluate heart.askwise test.csv
  askwise evaluate heart.askwise test.csv --report report/
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
    target: Annotated[
        str | None,
        typer.Option(
            "--target", "-t", metavar="COLUMN", help="The column with the answers; by default as in training."
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
    images: pictures.ImageColumn = None,
    split: pictures.Part = None,
    bootstrap: Annotated[int, typer.Option(min=0, metavar="N", help="Draws for the 95% intervals; 0 for none.")] = 200,
    as_json: JsonFlag = False,
    quiet: QuietFlag = False,
) -> None:
    """Measure a model on other rows.

    Every metric against cost, for every stopping rule. Columns may stand in any order, and columns that the model does
    not use are ignored. Images are scaled and cut to the model's size.
    """
    with command(as_json, quiet) as out:
        if beside is not None and report is None:
            raise AskwiseError(f"--beside {beside} is drawn in a report, and none was asked for; add --report FOLDER")
        if report is not None:
            check_folder_can_be_written(report)
        with busy(out, f"Reading {model.name} and {cases.name}"):
            from askwise.data.tables.files import read_costs
            from askwise.methods.registry import load
            from askwise.report.calibration import sentences

            _check_order(model, cases)
            tables.check_there(cases)
            prices = None if costs is None else read_costs(costs)
            estimator = load(model)
            second = None if beside is None else load(beside)
        sources: tuple[str, ...] | None = None
        if pictures.layout_of(estimator) is None:
            if images is not None or split is not None or cases.is_dir() or cases.suffix.lower() == ".npz":
                raise AskwiseError(f"{model} is a model of tables; give it a table, CSV or Parquet, and no images")
            X, labels = _rows(out, estimator, model, cases, target)
        else:
            X, labels, sources = _images(out, estimator, model, cases, target, images, split)
        _warn_of_little(labels, out)
        subject = f"{model.name} on {cases.name}" + (f", beside {beside.name}" if beside is not None else "")
        found = measured(out, estimator, X, labels, prices, bootstrap, report, second, subject, sources)
        trust = found.trust or _calibrated(out, estimator, X, labels, prices)
        what = "row" if pictures.layout_of(estimator) is None else "image"
        out.say(curve_table(f"{model} on {show.count(len(X), what)} of {cases}", found.curve))
        out.say("", *sentences(trust["this"]))
        if report is not None:
            out.say(f"Report: {found.files['index.html']}")
        out.result(
            {
                "model": str(model),
                "data": str(cases),
                "rows": len(X),
                "curve": found.curve.to_dict("records"),
                "area_under_curve": areas(found.curve),
                "calibration": trust["this"].summary,
                **({"calibration_beside": trust["beside"].summary} if second is not None else {}),
                "files": {name: str(path) for name, path in found.files.items()},
            }
        )


def _check_order(model: Path, cases: Path) -> None:
    """Tell those who gave the table first."""
    from askwise.data.tables.files import TABLE_TYPES, table_type

    if table_type(model) in TABLE_TYPES and table_type(cases) == MODEL_TYPE:
        line = show.command_line("askwise", "evaluate", cases, model)
        raise AskwiseError(f"{model} is a table and {cases} a model; the model comes first: {line}")


def _rows(out: Out, estimator: Any, model: Path, cases: Path, target: str | None) -> tuple[Any, Any]:
    """The rows of a table as the model takes them, and their answers in its labels."""
    from askwise.data.tables.files import read_table

    with busy(out, f"Reading {cases.name}"):
        frame = read_table(cases)
    X, y = tables.apart(frame, _answers(estimator, model, cases, target, frame.columns), out)
    return tables.aligned(X, estimator.model_.schema, cases, out), tables.as_labels(y, estimator.model_.task)


def _images(
    out: Out, estimator: Any, model: Path, cases: Path, target: str | None, column: str | None, split: str | None
) -> tuple[Any, Any, tuple[str, ...]]:
    """Images as the model takes them, their answers in its labels, and where they come from."""
    if pictures.is_table(cases):
        column, target = _image_columns(estimator, model, cases, column, target)
    elif target is not None:
        where = "sub-folders" if cases.is_dir() else "array `y`"
        raise AskwiseError(f"{cases} has its answers in its {where}, not in a column; leave --target out")
    if not pictures.hold_images(cases, column):
        raise AskwiseError(
            f"{model} is a model of images, and {cases} is none of a folder with a sub-folder for each class, an .npz, "
            "or a table with --images COLUMN, the column with their paths"
        )
    layout = pictures.layout_of(estimator)
    assert layout is not None
    return pictures.read_for(out, cases, layout, estimator.model_.task, column, target, split)


def _image_columns(estimator: Any, model: Path, cases: Path, column: str | None, target: str | None) -> tuple[str, str]:
    """The columns of a table with the paths of images and with the answers; by default as in training."""
    from askwise.data.tables.files import read_table

    given = [str(name) for name in read_table(cases).columns]
    told = estimator.model_.card.get(pictures.IMAGE_COLUMN)
    if column is None and told not in given:
        why = "" if told is None else f" without {told!r}, which had their paths in training"
        raise AskwiseError(
            f"{model} is a model of images, and {cases} a table{why}; name its column with the paths of the images: "
            f"--images COLUMN; it has {listed(given)}"
        )
    return column or str(told), _answers(estimator, model, cases, target, given)


def _answers(estimator: Any, model: Path, cases: Path, target: str | None, columns: Collection[str]) -> str:
    """The column with the answers, by default that of training, which must be there."""
    answers = _target(estimator, model) if target is None else target
    if target is None and answers not in columns:
        raise AskwiseError(
            f"{cases} has no column {answers!r}, which the model predicts; name it with --target; it has "
            f"{listed(columns)}"
        )
    return answers


def _target(estimator: Any, model: Path) -> str:
    target = estimator.model_.card.get("target")
    if target is None:
        raise AskwiseError(f"{model} does not say what its target was called; name the column: --target COLUMN")
    return str(target)


def _warn_of_little(labels: Any, out: Out) -> None:
    """Say where the answers are too few, or too much alike, to measure anything by them."""
    if len(labels) == 1:
        out.note("Warning: 1 row only, so every number is that of chance; give more rows")
    elif len(set(labels)) == 1:
        out.note(
            f"Warning: the answer is {labels[0]} in every row, so nothing tells how well the model keeps answers "
            "apart; give rows with others too"
        )


class Measured(NamedTuple):
    """A curve and, where a report was written, its files by name and the calibrations in it."""

    curve: pd.DataFrame
    files: dict[str, Path]
    trust: dict[str, Calibration]


def measured(
    out: Out,
    estimator: Any,
    X: Any,
    y: Any,
    costs: dict[str, float] | None,
    bootstrap: int,
    report: Path | None,
    beside: Any = None,
    subject: str = "",
    names: tuple[str, ...] | None = None,
) -> Measured:
    """The curve and, where a folder is given, the report there."""
    with fraction_progress(out, "Asking every row") as progress:
        if report is None:
            return Measured(estimator.curve(X, y, costs=costs, bootstrap=bootstrap, progress=progress), {}, {})
        from askwise.report.report import make_report

        made = make_report(estimator, X, y, costs, bootstrap, progress, beside, subject, names)
        files = {path.name: path for path in made.write(report).values()}
        return Measured(made.curve, files, made.trust.by_role)


def _calibrated(out: Out, estimator: Any, X: Any, y: Any, costs: dict[str, float] | None) -> dict[str, Calibration]:
    """How far the model's numbers can be trusted, where no report was asked for."""
    from askwise.evaluation.calibration import calibration

    with busy(out, "Comparing what it says with what is true"):
        return {"this": calibration(estimator.model_, estimator.encode(X), estimator.check_target(y), costs)}


def areas(curve: pd.DataFrame) -> dict[str, dict[str, float]]:
    """The area under the cost curve of every metric, for every rule."""
    from askwise.evaluation.curves import area_under_curve
    from askwise.evaluation.metrics import METRICS

    names = [m for task in METRICS.values() for m in task if m in curve]
    return {str(rule): {m: area_under_curve(part, m) for m in names} for rule, part in curve.groupby("rule")}


def curve_table(title: str, curve: pd.DataFrame, most: int = 6) -> Any:
    """A few points of every rule."""
    import pandas as pd

    parts = [show.few(part, most) for _, part in curve.groupby("rule")]
    table = pd.concat(parts)
    written = [f"{r}={show.short(p)}" for r, p in zip(table["rule"], table["parameter"], strict=True)]
    return show.costs_table(title, table.assign(stop=written), by="stop")
