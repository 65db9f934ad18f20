"""`askwise demo`: train, measure and draw on data that comes with scikit-learn."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Group
from rich.text import Text

from askwise.cli import show
from askwise.cli.common import JsonFlag, Out, QuietFlag, check_folder_can_be_written, command
from askwise.cli.evaluate import Measured, curve_table, measured
from askwise.cli.progress import busy
from askwise.cli.serve import require_service, run_service
from askwise.cli.train import Settings, fitted
from askwise.core.errors import AskwiseError

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
    hidden: Annotated[int | None, typer.Option(min=1, hidden=True)] = None,
    epochs: Annotated[int | None, typer.Option(min=1, hidden=True)] = None,
    pretrain_epochs: Annotated[int | None, typer.Option(min=1, hidden=True)] = None,
    seed: Annotated[
        int, typer.Option(min=0, metavar="N", help="The same seed gives the same model on the same machine.")
    ] = 0,
    serve: Annotated[
        bool, typer.Option("--serve", help="Open the page that asks; trains only where there is no model yet.")
    ] = False,
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, metavar="N", help="The port of the page; 0 takes any.")
    ] = 8000,
    as_json: JsonFlag = False,
    quiet: QuietFlag = False,
) -> None:
    """Try everything on public data in a minute.

    Nothing is downloaded. Trains a model, measures it on rows held out, and leaves the model, those rows, and a report
    with pictures.
    """
    with command(as_json, quiet) as out:
        if serve:
            require_service()
        check_folder_can_be_written(folder / "report")
        shorter = SHORTER_EPOCHS.get(data)
        settings = Settings(
            seed=seed, hidden=hidden, epochs=epochs or shorter, pretrain_epochs=pretrain_epochs or shorter
        )
        model = folder / f"{data}.askwise"
        if not serve or not model.exists():
            if shorter is not None and epochs is None:
                out.say(
                    f"Trains for {shorter} epochs a stage to stay within a minute; `askwise train` goes on for longer"
                )
            facts = _demonstrated(out, data, folder, settings)
        if serve:
            run_service(out, [model], port=port, open_page=True)
        else:
            out.result(facts)


def _demonstrated(out: Out, data: str, folder: Path, settings: Settings) -> dict[str, Any]:
    """Train, measure, draw and say it all; returns it as JSON holds it."""
    with busy(out, "Starting"):
        from askwise.data.tables.public import load_public

        public = load_public(data)
        train, test = _held_out(public, settings.seed)
    out.say(Text(public.title, style="bold"), f"{len(train)} rows to learn from, {len(test)} to test on")
    estimator = _trained(out, public, train, settings)
    files = _saved(estimator, public, test, folder)
    X, y = test.drop(columns=public.target), test[public.target].to_numpy()
    subject = f"{files['model'].name} on {files['test'].name}"
    curve, report, _ = _measured(out, estimator, X, y, folder / f"{public.name}-report", subject)
    files |= report
    example = _example(estimator, X)
    if data == "digits" and report:
        files["digits.png"] = _draw_digits(estimator, X, y, folder / f"{public.name}-report" / "digits.png")
    _say(out, estimator, curve, example, y, files)
    return {
        "data": public.name,
        "rows": {"train": len(train), "test": len(test)},
        "curve": curve.to_dict("records"),
        "example": example.to_dict("records"),
        "files": {name: str(path) for name, path in files.items()},
    }


def _held_out(public: PublicData, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    from askwise.data.tables.split import hold_out

    table = public.X.assign(**{public.target: public.y})
    stratify = public.task == "classification"
    train, test = hold_out(public.y.to_numpy(), TEST_FRACTION, seed, stratify)
    return table.iloc[train], table.iloc[test]


def _trained(out: Out, public: PublicData, train: pd.DataFrame, settings: Settings) -> Any:
    questions = {"costs": dict(public.costs), "groups": dict(public.groups), "free": list(public.free)}
    X, y = train.drop(columns=public.target), train[public.target].to_numpy()
    estimator = fitted(out, public.task, X, y, questions, settings)
    estimator.model_.card |= {"target": public.target, "data": public.name}
    return estimator


def _saved(estimator: Any, public: PublicData, test: pd.DataFrame, folder: Path) -> dict[str, Path]:
    from askwise.data.whole_file import whole_file

    files = {"model": folder / f"{public.name}.askwise", "test": folder / f"{public.name}-test.csv"}
    estimator.save(files["model"])
    with whole_file(files["test"]) as part:
        test.to_csv(part, index=False)
    return files


def _measured(out: Out, estimator: Any, X: Any, y: Any, report: Path, subject: str) -> Measured:
    """The curve, with the report where pictures can be drawn."""
    from askwise.report.plots.style import require_matplotlib

    try:
        require_matplotlib()
    except AskwiseError as error:
        out.note(f"No report: {error}")
        return measured(out, estimator, X, y, None, 200, None)
    return measured(out, estimator, X, y, None, 200, report, subject=subject)


def _rule(estimator: Any) -> Any:
    from askwise.core.stopping import parse_rule

    return parse_rule(show.good_rule(estimator.frontier_))


def _example(estimator: Any, X: pd.DataFrame) -> pd.DataFrame:
    """The path of one test row, of common length."""
    import numpy as np

    from askwise.evaluation.summaries import path_table

    rule = _rule(estimator)
    asked = estimator.acquire(X, stop=rule).n_asked
    row = int(np.abs(asked - max(2, np.median(asked))).argmin())
    return path_table(estimator.model_, estimator.encode(X), rule, which=[row])


def _draw_digits(estimator: Any, X: pd.DataFrame, y: Any, path: Path) -> Path:
    from askwise.data.whole_file import whole_file
    from askwise.report.plots.cases import digit_selections

    some = X.iloc[:DRAWN_DIGITS]
    found = estimator.acquire(some, stop=_rule(estimator))
    guesses = estimator.classes_[found.proba.argmax(1)]
    images = some.to_numpy().reshape(-1, 8, 8)
    figure = digit_selections(images, found.order, list(X.columns), y[:DRAWN_DIGITS], guesses)
    with whole_file(path) as part:
        figure.savefig(part, format="png")
    return path


def _example_table(estimator: Any, example: pd.DataFrame, truth: Any) -> Group:
    """What was asked of one case, and what was believed after each answer."""
    labels = getattr(estimator.model_.task, "labels", None)
    table = show.grid("asked", "spent", "prediction", texts=["asked", "prediction"])
    for step in example.to_dict("records"):
        believed = list(step.values())[-(len(labels) if labels else 1) :]
        best = max(range(len(believed)), key=believed.__getitem__)
        said = f"{labels[best]} ({believed[best]:.1%})" if labels else show.short(believed[0])
        table.add_row(Text(step["asked"] or "(nothing yet)"), Text(show.short(step["spent"])), Text(said))
    return show.titled(f"One case, question by question (truth: {truth})", table)


def _say(out: Out, estimator: Any, curve: pd.DataFrame, example: pd.DataFrame, y: Any, files: dict[str, Path]) -> None:
    model, rule = files["model"], _rule(estimator)
    out.say(
        curve_table(f"On the {len(y)} test rows", curve, most=4),
        _example_table(estimator, example, y[int(example["row"].iloc[0])]),
    )
    out.say("")
    if "index.html" in files:
        out.say(f"Report with pictures: {files['index.html']}")
    if "digits.png" in files:
        out.say(f"Pixels chosen on example digits: {files['digits.png']}")
    out.say(
        "",
        show.next_steps(
            [
                (show.command_line("askwise", "ask", model, "--stop", rule), "answer its questions"),
                (show.command_line("askwise", "serve", model), "the same on a page, in a browser"),
                (show.command_line("askwise", "info", model), "what is inside"),
                (show.command_line("askwise", "evaluate", model, files["test"]), "measure it again"),
            ]
        ),
    )
