"""`askwise demo`: train, measure and draw on data that comes with scikit-learn."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Group
from rich.text import Text

from askwise.cli import show
from askwise.cli.cases import Cases
from askwise.cli.common import Out, check_folder_can_be_written, command, save_png
from askwise.cli.fitting import fit
from askwise.cli.measure import LabelledCases, curve_table, measure
from askwise.cli.options import HiddenLengthOptions, LengthOptions, PrintOptions, Seed, TrainingOptions
from askwise.cli.progress import busy
from askwise.cli.serve import ServiceOptions, require_service, run_service
from askwise.cli.suggestion import suggest
from askwise.core.errors import AskwiseError, OutOfRangeWarning

if TYPE_CHECKING:
    import pandas as pd

    from askwise.data.tables.public import PublicData

EXAMPLES = """\b
Examples:
  askwise demo
  askwise demo --data digits
  askwise demo --data diabetes --out /tmp/askwise-demo
  askwise demo --serve
"""
TEST_FRACTION = 0.2
DRAWN_DIGITS = 10
# At the default length this takes a minute or more; chosen by the clock alone, never by the test rows.
SHORTER_EPOCHS = {"digits": 30}


def demo(
    data: Annotated[
        str, typer.Option(metavar="breast-cancer|digits|wine|diabetes", help="Which data to learn from.")
    ] = "breast-cancer",
    folder: Annotated[Path, typer.Option("--out", metavar="FOLDER", help="Where the model and pictures go.")] = (
        Path("askwise-demo")
    ),
    *,
    length: HiddenLengthOptions,
    seed: Seed = 0,
    serve: Annotated[
        bool, typer.Option("--serve", help="Open the page that asks; trains only where there is no model yet.")
    ] = False,
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, metavar="N", help="The port of the page; 0 takes any.")
    ] = 8000,
    printing: PrintOptions,
) -> None:
    """Try everything on public data in a minute.

    Nothing is downloaded. Trains a model, measures it on rows held out, and leaves the model, those rows, and a report
    with pictures.
    """
    with command(printing) as out:
        # The rows held out are of the same data: one that goes a little further than the others is no mistake.
        warnings.simplefilter("ignore", OutOfRangeWarning)
        if serve:
            require_service()
        check_folder_can_be_written(folder / "report")
        model = folder / f"{data}.askwise"
        if not serve:
            out.result(_run_demo(out, data, folder, _training(out, data, length, seed)))
            return
        if not model.exists():
            _run_demo(out, data, folder, _training(out, data, length, seed))
        run_service(out, [model], ServiceOptions(port=port), open_page=True)


def _training(out: Out, data: str, length: LengthOptions, seed: int) -> TrainingOptions:
    """Return the options of training, shorter for data that takes long; a note says so."""
    shorter = SHORTER_EPOCHS.get(data)
    if shorter is not None and length.epochs is None:
        out.print(f"Trains for {shorter} epochs a stage to stay within a minute; `askwise train` goes on for longer")
    epochs, pretrain_epochs = length.epochs or shorter, length.pretrain_epochs or shorter
    return TrainingOptions(length=LengthOptions(length.hidden, epochs, pretrain_epochs), seed=seed)


def _run_demo(out: Out, data: str, folder: Path, training: TrainingOptions) -> dict[str, Any]:
    """Train, measure, draw and print; returns the facts for JSON."""
    with busy(out, "Starting"):
        from askwise.data.tables.public import load_public
        from askwise.report.findings import ReportOptions

        public = load_public(data)
        train, test = _hold_out(public, training.seed)
    out.print(Text(public.title, style="bold"), f"{len(train)} rows to learn from, {len(test)} to test on")
    estimator = _fit(out, public, train, training)
    files = _save(estimator, public, test, folder)
    cases = LabelledCases(test.drop(columns=public.target), test[public.target].to_numpy())
    report = folder / f"{public.name}-report" if _can_draw(out) else None
    options = ReportOptions(subject=f"{files['model'].name} on {files['test'].name}")
    measured = measure(out, estimator, cases, options, report)
    curve = measured.curve
    files |= measured.files
    example = _example_path(estimator, cases.X)
    if data == "digits" and report is not None:
        files["digits.png"] = _draw_digits(estimator, cases, report / "digits.png")
    _print_results(out, estimator, curve, example, cases.y, files)
    return {
        "data": public.name,
        "rows": {"train": len(train), "test": len(test)},
        "curve": curve.to_dict("records"),
        "example": example.to_dict("records"),
        "files": {name: str(path) for name, path in files.items()},
    }


def _hold_out(public: PublicData, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    from askwise.data.tables.split import hold_out

    table = public.X.assign(**{public.target: public.y})
    stratify = public.task == "classification"
    train, test = hold_out(public.y.to_numpy(), TEST_FRACTION, seed, stratify)
    return table.iloc[train], table.iloc[test]


def _fit(out: Out, public: PublicData, train: pd.DataFrame, training: TrainingOptions) -> Any:
    questions = {"costs": dict(public.costs), "groups": dict(public.groups), "free": list(public.free)}
    X, y = train.drop(columns=public.target), train[public.target].to_numpy()
    card = {"target": public.target, "data": public.name}
    return fit(out, Cases(X, y, public.task, questions, card), training).estimator


def _save(estimator: Any, public: PublicData, test: pd.DataFrame, folder: Path) -> dict[str, Path]:
    from askwise.data.whole_file import whole_file

    files = {"model": folder / f"{public.name}.askwise", "test": folder / f"{public.name}-test.csv"}
    estimator.save(files["model"])
    with whole_file(files["test"]) as part:
        test.to_csv(part, index=False)
    return files


def _can_draw(out: Out) -> bool:
    """Whether pictures can be drawn; a note says what is missing."""
    from askwise.report.plots.style import require_matplotlib

    try:
        require_matplotlib()
    except AskwiseError as error:
        out.note(f"No report: {error}")
        return False
    return True


def _rule(estimator: Any) -> Any:
    from askwise.core.stopping import Budget, parse_rule

    suggested = suggest(estimator.frontier_).rule
    return Budget(estimator.frontier_["mean_cost"].max()) if suggested is None else parse_rule(suggested)


def _example_path(estimator: Any, X: pd.DataFrame) -> pd.DataFrame:
    """Return what is asked of one test row that needs the median number of questions."""
    import numpy as np

    from askwise.evaluation.summaries import path_table

    rule = _rule(estimator)
    asked = estimator.acquire(X, stop=rule).n_asked
    row = int(np.abs(asked - max(2, np.median(asked))).argmin())
    return path_table(estimator.model_, estimator.encode(X), rule, which=[row])


def _draw_digits(estimator: Any, cases: LabelledCases, path: Path) -> Path:
    from askwise.report.plots.cases import digit_selections

    some = cases.X.iloc[:DRAWN_DIGITS]
    traces = estimator.acquire(some, stop=_rule(estimator))
    guesses = estimator.classes_[traces.proba.argmax(1)]
    images = some.to_numpy().reshape(-1, 8, 8)
    save_png(digit_selections(images, traces.order, list(some.columns), cases.y[:DRAWN_DIGITS], guesses), path)
    return path


def _example_table(estimator: Any, example: pd.DataFrame, truth: Any) -> Group:
    """Return what was asked of one case, and the prediction after each answer."""
    labels = getattr(estimator.model_.task, "labels", None)
    table = show.grid("asked", "spent", "prediction", texts=["asked", "prediction"])
    for step in example.to_dict("records"):
        outputs = list(step.values())[-(len(labels) if labels else 1) :]
        best = max(range(len(outputs)), key=outputs.__getitem__)
        prediction = f"{labels[best]} ({outputs[best]:.1%})" if labels else show.format_number(outputs[0])
        table.add_row(*map(Text, [step["asked"] or "(nothing yet)", show.format_number(step["spent"]), prediction]))
    return show.titled(f"One case, question by question (truth: {truth})", table)


def _print_results(
    out: Out, estimator: Any, curve: pd.DataFrame, example: pd.DataFrame, y: Any, files: dict[str, Path]
) -> None:
    model, rule = files["model"], _rule(estimator)
    out.print(
        curve_table(f"On the {len(y)} test rows", curve, most=4),
        _example_table(estimator, example, y[int(example["row"].iloc[0])]),
    )
    out.print("")
    if "index.html" in files:
        out.print(f"Report with pictures: {files['index.html']}")
    if "digits.png" in files:
        out.print(f"Pixels chosen on example digits: {files['digits.png']}")
    out.print(
        "",
        show.next_steps(
            [
                (
                    show.command_line("askwise", "ask", model, "--stop", rule),
                    f"answer its questions: {suggest(estimator.frontier_).why}",
                ),
                (show.command_line("askwise", "serve", model), "the same on a page, in a browser"),
                (show.command_line("askwise", "info", model), "what is inside"),
                (show.command_line("askwise", "evaluate", model, files["test"]), "measure it again"),
            ]
        ),
    )
