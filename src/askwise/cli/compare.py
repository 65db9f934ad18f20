"""`askwise compare`: methods x datasets x seeds, in one table and one picture."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Group
from rich.text import Text

from askwise.cli import images as pictures
from askwise.cli import show
from askwise.cli.common import JsonFlag, Out, QuietFlag, check_device, check_folder_can_be_written, command
from askwise.cli.compare_data import TableOptions, check_there, read_datasets
from askwise.cli.progress import busy, fraction_progress
from askwise.cli.target import TaskChoice
from askwise.core.errors import AskwiseError

if TYPE_CHECKING:
    import pandas as pd

    from askwise.studies.compare import Comparison

EXAMPLES = """\b
Examples:
  askwise compare digits --methods dime,random-order --seeds 3
  askwise compare cases.csv --target diagnosis --costs costs.csv --budgets 5,20,80
  askwise compare cube:750 tests:1000 --methods all --out known/
  askwise compare photos/ --size 32 --patch 8 --backbone small-cnn --methods dime,argmax-direct,random-order
  askwise compare suite.json --seeds 5 --seeds eddi=2 --seeds cwcf=2 --jobs 2 --out results/
"""
SOME_FAILED = 1
MOST_FAILURES_SHOWN = 10
# More would not fit beside each other on a terminal; the files have all.
MOST_BUDGETS_SHOWN = 6


def compare(
    data: Annotated[
        list[str],
        typer.Argument(
            metavar="DATA...",
            help="A table (with --target), images (a folder with a sub-folder for each class, an .npz, or a table with "
            "--images), a dataset of `askwise demo`, a distribution of `askwise verify` with its rows (cube:750), or a "
            "suite: JSON that maps a name to path, target, drop, costs, groups, free, split_by, "
            "task, metric.",
        ),
    ],
    methods: Annotated[
        list[str] | None,
        typer.Option(metavar="NAMES", help="Methods, with commas between them; all: every one that can. Default: all."),
    ] = None,
    seeds: Annotated[
        list[str] | None,
        typer.Option(
            metavar="N|METHOD=N", help="Splits and trainings of each method, 5 by default; eddi=2 for one method alone."
        ),
    ] = None,
    budgets: Annotated[
        str, typer.Option(metavar="auto|NUMBERS", help="Costs to compare at, with commas between them.")
    ] = "auto",
    protocol: Annotated[
        str,
        typer.Option(
            metavar="shared|paper",
            help="paper: where a method is trained for one budget, train one for each. shared: one for all.",
        ),
    ] = "shared",
    target: Annotated[str | None, typer.Option("--target", "-t", metavar="COLUMN", help="The column to predict.")] = (
        None
    ),
    costs: Annotated[Path | None, typer.Option(metavar="FILE", help="Prices of columns, groups or patches.")] = None,
    groups: Annotated[Path | None, typer.Option(metavar="FILE", help="Columns of the table asked together.")] = None,
    free: Annotated[list[str] | None, typer.Option(metavar="COLUMNS", help="Columns known from the start.")] = None,
    drop: Annotated[list[str] | None, typer.Option(metavar="COLUMNS", help="Columns to leave out.")] = None,
    split_by: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Keep rows with the same value here together; it is not asked."),
    ] = None,
    task: Annotated[TaskChoice, typer.Option(help="What is predicted: one of several classes, or a number.")] = (
        TaskChoice.auto
    ),
    folder: Annotated[
        Path | None,
        typer.Option("--folder", metavar="FOLDER", help="Where a suite's tables lie; by default beside the suite."),
    ] = None,
    metric: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="What to show; by default accuracy, AUROC for two classes, RMSE for a number."
        ),
    ] = None,
    max_rows: Annotated[int, typer.Option(min=20, metavar="N", help="Rows to fit on, at most.")] = 8000,
    test_rows: Annotated[int, typer.Option(min=10, metavar="N", help="Rows to test on, at most; else a fifth.")] = 5000,
    epochs: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Passes over the rows, for a quick try; else as many as help")
    ] = None,
    pretrain_epochs: Annotated[int | None, typer.Option(min=1, hidden=True)] = None,
    hidden: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Width of the networks' hidden layers.")
    ] = None,
    images: pictures.ImageColumn = None,
    split: pictures.Part = None,
    size: pictures.Size = None,
    patch: pictures.Patch = None,
    backbone: pictures.Backbone = None,
    pretrained: pictures.Pretrained = False,
    weights: pictures.Weights = None,
    prior: pictures.Prior = None,
    layers: pictures.Layers = None,
    augment: pictures.Augment = None,
    device: Annotated[str, typer.Option(metavar="NAME", help="auto, cpu or cuda.")] = "auto",
    jobs: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Trainings at a time; by default one a core, 1 on a GPU.")
    ] = None,
    out_folder: Annotated[
        Path,
        typer.Option("--out", "-o", metavar="FOLDER", help="Where results go, and what is done is kept."),
    ] = Path("results"),
    as_json: JsonFlag = False,
    quiet: QuietFlag = False,
) -> None:
    """Compare methods on equal terms.

    Every method on every dataset with every seed: the same rows to fit and to test on, the same budgets. Each training
    is kept in FOLDER/cells as it ends: run the same command again to go on after a stop, or with more methods or
    seeds to run what is new. A training that fails is told at the end, and run again next time.
    """
    with command(as_json, quiet) as out:
        check_folder_can_be_written(out_folder)
        at = _budgets(budgets)
        with busy(out, "Reading"):
            from askwise.report.plots.style import require_matplotlib
            from askwise.studies.compare.plan import plan
            from askwise.studies.compare.run import run

            require_matplotlib()
            # On a GPU trainings would only wait for each other.
            at_a_time = jobs or (1 if check_device(device).type == "cuda" else -1)
            options = TableOptions(target, costs, groups, free or (), drop or (), task, split_by)
            shown = pictures.ImageOptions(
                images, split, size, patch, backbone, pretrained, weights, prior, layers=layers, augment=augment
            )
            check_there(data, images)
            shown.check(hidden)
        datasets = read_datasets(data, options, shown, folder, out)
        with busy(out, "Planning"):
            count, of_methods = _seeds(seeds or [])
            names = [n.strip() for text in methods or ["all"] for n in text.split(",") if n.strip()]
            settings = {"epochs": epochs, "pretrain_epochs": pretrain_epochs, "hidden": hidden, "device": device}
            planned = plan(
                datasets, names, count, seeds_of=of_methods, budgets=at, protocol=protocol, metric=metric,
                max_rows=max_rows, test_rows=test_rows, settings=settings,
            )  # fmt: skip
        for sentence in planned.left_out:
            out.note(sentence)
        out.when_interrupted = "Stopped. What is done is kept: run the same command again to go on."
        with fraction_progress(out, show.count(len(planned.cells), "training")) as progress:
            made = run(planned, out_folder, at_a_time, progress)
        files = made.write(out_folder) if len(made.results) else {}
        _say(out, made, files, out_folder)
        _tell(out, made, files)
    if made.failed:
        raise typer.Exit(SOME_FAILED)


def _budgets(text: str) -> list[float] | None:
    """Numbers above 0, or None for those that suit the costs."""
    if text.strip() == "auto":
        return None
    found = []
    for part in text.split(","):
        try:
            number = float(part)
        except ValueError:
            number = math.nan
        if not math.isfinite(number) or number <= 0:
            raise AskwiseError(f"--budgets takes auto or numbers above 0, as in 1,2,5; was given {part.strip()!r}")
        found.append(number)
    return found


def _seeds(given: Sequence[str]) -> tuple[int, dict[str, int]]:
    """The number of seeds, and those of single methods."""
    count, of_methods = 5, {}
    for text in given:
        name, equals, number = text.rpartition("=")
        if not number.strip().isdecimal() or int(number) < 1 or (equals and not name.strip()):
            raise AskwiseError(f"--seeds takes a whole number of at least 1, as in 5 or eddi=2; was given {text!r}")
        if equals:
            of_methods[name.strip()] = int(number)
        else:
            count = int(number)
    return count, of_methods


def _say(out: Out, made: Comparison, files: dict[str, Path], out_folder: Path) -> None:
    for dataset in made.results["dataset"].unique():
        out.say(_table(made.results[made.results["dataset"] == dataset], str(dataset)))
    if files:
        from askwise.studies.compare.tables import AS_GOOD, cautions

        out.say(
            "",
            "Area: the mean from no cost to the largest budget.",
            "Behind: the mean difference from the best over the seeds that both have, ± its standard error.",
            f"* the best of a dataset, among those with all seeds; {AS_GOOD} not significantly worse "
            "(told from three seeds on).",
            *(f"{sentence}." for sentence in cautions(made.results)),
        )
    done = f"{show.count(made.n_run, 'training')} run"
    out.say("", done + (f", {made.n_kept} kept from before" if made.n_kept else ""))
    if made.n_others:
        earlier = f"{show.count(made.n_others, 'earlier training')} in {out_folder}"
        out.say(f"{earlier} {'is' if made.n_others == 1 else 'are'} not part of this command and not shown")
    for name, path in files.items():
        out.say(f"{name.replace('_', ' ').capitalize()}: {path}")
    _say_failures(made)


def _say_failures(made: Comparison) -> None:
    """What failed and why, also where silence was asked for: these are errors."""
    for cell, error in made.failed[:MOST_FAILURES_SHOWN]:
        typer.echo(f"Failed: {cell}: {error}", err=True)
    if made.failed:
        more = len(made.failed) - MOST_FAILURES_SHOWN
        typer.echo(
            (f"... and {more} more. " if more > 0 else "")
            + f"Failed: {len(made.failed)} of {show.count(made.n_run + made.n_kept, 'training')}; "
            "run the same command to try again",
            err=True,
        )


def _table(results: pd.DataFrame, dataset: str) -> Group:
    """Means at each budget, and areas, of one dataset."""
    from askwise.report.plots.style import number_text
    from askwise.studies.compare.tables import (
        AS_GOOD,
        behind_text,
        by_penalties,
        ceilings,
        metric_heading,
        ordered,
        score_text,
        standings,
        summary,
    )

    metric = str(results["metric"].iloc[0])
    means, places = summary(results), standings(results)
    budgets = _some(sorted(means["budget"].unique()), MOST_BUDGETS_SHOWN)
    view = show.grid(
        "method", *(number_text(k) for k in budgets), "area", "behind", "seeds", "train s", "µs/row", texts=["method"]
    )
    by_method = {line["method"]: line for line in places.to_dict("records")}
    for method in ordered(places, metric) if len(places) else []:
        line = by_method[method]
        mine = means[means["method"] == method].set_index("budget")["mean"]
        cells = [score_text(metric, float(mine.get(k, math.nan))) for k in budgets]
        area = score_text(metric, line["area"])
        mark = " *" if line["best"] else f" {AS_GOOD}" if line["as_good"] else "  "
        view.add_row(
            *map(Text, [method, *cells, area + mark, behind_text(metric, line), str(line["seeds"]), *_times(line)])
        )
    levels = ceilings(results)
    if len(levels):
        line = _ceiling_times(results)
        level = score_text(metric, float(levels["mean"].iloc[0]))
        seeds, blanks = int(levels["seeds"].iloc[0]), [""] * len(budgets)
        view.add_row(*map(Text, ["everything known", *blanks, level + "  ", "", str(seeds), *_times(line)]))
    tested = f"{int(results['n_test'].max()):,} rows tested on"
    titled = show.titled(f"{dataset}: {metric_heading(metric)}; {tested}", view)
    below = by_penalties(results)
    return Group(titled, Text(below)) if below else titled


def _some(values: list[float], most: int) -> list[float]:
    """At most so many of some values, spread among them, the first and the last among these."""
    count = min(most, len(values))
    return [values[round(i * (len(values) - 1) / max(count - 1, 1))] for i in range(count)]


def _times(line: Any) -> tuple[str, str]:
    return f"{line['train_seconds']:.1f}", f"{line['microseconds_per_row']:.0f}"


def _ceiling_times(results: pd.DataFrame) -> Any:
    from askwise.studies.compare.plan import CEILING
    from askwise.studies.compare.tables import seconds

    return seconds(results).loc[(results["dataset"].iloc[0], CEILING)]


def _tell(out: Out, made: Comparison, files: dict[str, Path]) -> None:
    """The same facts as JSON."""
    from askwise.studies.compare.tables import RULES, standings, summary

    rules = [rule for rule in RULES if (made.results["rule"] == rule).any()]
    out.result(
        {
            "results": made.results.to_dict("records"),
            "summary": {rule: summary(made.results, rule).to_dict("records") for rule in rules},
            "standings": {rule: standings(made.results, rule).to_dict("records") for rule in rules},
            "failed": [
                {"dataset": c.dataset, "method": c.method, "seed": c.seed, "budgets": c.budgets, "error": error}
                for c, error in made.failed
            ],
            "trainings": {"run": made.n_run, "kept": made.n_kept, "not_shown": made.n_others},
            "files": {name: str(path) for name, path in files.items()},
        }
    )
