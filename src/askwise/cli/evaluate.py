"""`askwise evaluate`: what a model costs and how right it is, on rows it has not seen."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from askwise.cli import show, tables
from askwise.cli.common import JsonFlag, ModelFile, OtherCosts, Out, QuietFlag, check_folder_can_be_written, command
from askwise.cli.progress import busy, fraction_progress
from askwise.errors import AskwiseError

if TYPE_CHECKING:
    import pandas as pd

EXAMPLES = """\b
Examples:
  askwise evaluate heart.askwise test.csv
  askwise evaluate heart.askwise test.csv --report report/
  askwise evaluate heart.askwise test.csv --report report/ --beside unbounded.askwise
  askwise evaluate heart.askwise test.csv --costs other-prices.csv --json > numbers.json
"""


def evaluate(
    model: ModelFile,
    cases: Annotated[Path, typer.Argument(metavar="CASES", help="Cases with known answers: CSV or Parquet.")],
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
            help="A second model of the same questions, for example trained with --scaling none; the report draws its "
            "estimates beside these.",
        ),
    ] = None,
    bootstrap: Annotated[int, typer.Option(min=0, metavar="N", help="Draws for the 95 % intervals; 0 for none.")] = 200,
    as_json: JsonFlag = False,
    quiet: QuietFlag = False,
) -> None:
    """Measure a model on other rows.

    Every metric against cost, for every stopping rule. Columns may stand in any order, and columns that the model does
    not use are ignored.
    """
    with command(as_json, quiet) as out:
        if beside is not None and report is None:
            raise AskwiseError(f"--beside {beside} is drawn in a report, and none was asked for; add --report FOLDER")
        if report is not None:
            check_folder_can_be_written(report)
        with busy(out, f"Reading {model.name} and {cases.name}"):
            from askwise.data.files import read_costs, read_table
            from askwise.methods.registry import load

            prices = None if costs is None else read_costs(costs)
            estimator = load(model)
            second = None if beside is None else load(beside)
            frame = read_table(cases)
        X, y = tables.apart(frame, target or _target(estimator, model), out)
        X = tables.aligned(X, estimator.model_.schema, cases, out)
        labels = tables.as_labels(y, estimator.model_.task)
        curve, files = measured(out, estimator, X, labels, prices, bootstrap, report, second)
        trust = calibrated(out, estimator, X, labels, prices, files)
        out.say(curve_table(f"{model} on the {len(X)} rows of {cases}", curve))
        out.say("", *_trust_lines(trust["this"]))
        if report is not None:
            out.say(f"Report: {files.get('index.html', report)}")
        out.result(
            {
                "model": str(model),
                "data": str(cases),
                "rows": len(X),
                "curve": curve.to_dict("records"),
                "area_under_curve": areas(curve),
                "calibration": trust["this"],
                **({"calibration_beside": trust["beside"]} if second is not None else {}),
                "files": {name: str(path) for name, path in files.items()},
            }
        )


def _target(estimator: Any, model: Path) -> str:
    target = estimator.model_.card.get("target")
    if target is None:
        raise AskwiseError(f"{model} does not say what its target was called; name the column: --target COLUMN")
    return str(target)


def measured(
    out: Out,
    estimator: Any,
    X: Any,
    y: Any,
    costs: dict[str, float] | None,
    bootstrap: int,
    report: Path | None,
    beside: Any = None,
) -> tuple[pd.DataFrame, dict[str, Path]]:
    """The curve and, where a folder is given, the files of the report."""
    with fraction_progress(out, "Asking every row") as progress:
        if report is None:
            return estimator.curve(X, y, costs=costs, bootstrap=bootstrap, progress=progress), {}
        import pandas as pd

        from askwise.report import write_report

        written = write_report(estimator, X, y, report, costs, bootstrap, progress, beside)
        files = {path.name: path for path in written.values()}
        return pd.read_csv(files["curve.csv"]), files


def calibrated(
    out: Out, estimator: Any, X: Any, y: Any, costs: dict[str, float] | None, files: dict[str, Path]
) -> dict[str, dict[str, float]]:
    """How far the model's numbers can be trusted: from the report where there is one, with the second model's."""
    import pandas as pd

    if "trust.csv" in files:
        records = pd.read_csv(files["trust.csv"]).to_dict("records")
        return {str(record.pop("model")): record for record in records}
    from askwise.calibration import calibration

    with busy(out, "Comparing what it says with what is true"):
        found = calibration(estimator.model_, estimator.encode(X), estimator.check_target(y), costs)
    return {"this": found.summary}


def _trust_lines(trust: dict[str, float]) -> list[str]:
    lines = []
    if "ece" in trust:
        lines.append(
            f"Calibration at budget {show.short(trust['budget'])}: ECE {trust['ece']:.3f}; a perfect model would show "
            f"{trust['ece_if_perfect']:.3f} on these rows."
        )
    kept = trust.get("realised_over_predicted", math.nan)
    if math.isfinite(kept):
        lines.append(
            f"Questions up to budget {show.short(trust['budget'])} reduced the loss by {100 * kept:.0f} % of what was "
            "predicted."
        )
    return lines


def areas(curve: pd.DataFrame) -> dict[str, dict[str, float]]:
    """The area under the cost curve of every metric, for every rule."""
    from askwise.evaluation import METRICS, area_under_curve

    names = [m for task in METRICS.values() for m in task if m in curve]
    return {str(rule): {m: area_under_curve(part, m) for m in names} for rule, part in curve.groupby("rule")}


def curve_table(title: str, curve: pd.DataFrame, most: int = 6) -> Any:
    """A few points of every rule."""
    import pandas as pd

    parts = [show.few(part, most) for _, part in curve.groupby("rule")]
    table = pd.concat(parts)
    written = [f"{r}={show.short(p)}" for r, p in zip(table["rule"], table["parameter"], strict=True)]
    return show.costs_table(title, table.assign(stop=written), by="stop")
