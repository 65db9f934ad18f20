"""`askwise compare`: methods x datasets x seeds, in one table and one picture."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from askwise.cli import show
from askwise.cli.common import check_device, check_folder_can_be_written, command
from askwise.cli.compare_data import check_exists, has_images, read_datasets
from askwise.cli.compare_options import StudyDataOptions, StudyOptions
from askwise.cli.compare_tables import comparison_facts, print_comparison, print_failures
from askwise.cli.image_options import ImageOptions
from askwise.cli.options import Device, LengthOptions, PrintOptions
from askwise.cli.progress import busy, fraction_progress
from askwise.cli.table_options import TableOptions

if TYPE_CHECKING:
    from askwise.studies.compare.data import Dataset

EXAMPLES = """\b
Examples:
  askwise compare digits --methods dime,random-order --seeds 3
  askwise compare cases.csv --target diagnosis --costs costs.csv --budgets 5,20,80
  askwise compare cube:750 tests:1000 --methods all --out known/
  askwise compare photos/ --size 32 --patch 8 --backbone small-cnn --methods dime,argmax-direct,random-order
  askwise compare suite.json --seeds 5 --seeds eddi=2 --seeds cwcf=2 --jobs 2 --out results/
"""
SOME_FAILED = 1


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
    *,
    study: StudyOptions,
    table: TableOptions,
    rows: StudyDataOptions,
    length: LengthOptions,
    images: ImageOptions,
    device: Device = "auto",
    jobs: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Trainings at a time; by default one a core, 1 on a GPU.")
    ] = None,
    out_folder: Annotated[
        Path,
        typer.Option("--out", "-o", metavar="FOLDER", help="Where results go, and what is done is kept."),
    ] = Path("results"),
    printing: PrintOptions,
) -> None:
    """Compare methods on equal terms.

    Every method on every dataset with every seed: the same rows to fit and to test on, the same budgets. Each training
    is kept in FOLDER/cells as it ends: run the same command again to go on after a stop, or with more methods or
    seeds to run what is new. A training that fails is told at the end, and run again next time.
    """
    with command(printing) as out:
        check_folder_can_be_written(out_folder)
        study.budget_numbers()
        with busy(out, "Reading"):
            from askwise.report.plots.style import require_matplotlib
            from askwise.studies.compare.run import run

            require_matplotlib()
            # Trainings on one GPU would only wait for each other.
            n_jobs = jobs or (1 if check_device(device).type == "cuda" else -1)
            check_exists(data, images.images)
            # Of tables, --weights names a column.
            (images if has_images(data, images.images) else replace(images, weights=None)).check(length.hidden)
        datasets = read_datasets(out, data, table, images, rows.folder)
        with busy(out, "Planning"):
            settings = {"device": device, "missing": study.missing, **length.given()}
            plan = _plan(datasets, study, rows, settings)
        for sentence in plan.left_out:
            out.note(sentence)
        out.interrupt_message = "Stopped. What is done is kept: run the same command again to go on."
        with fraction_progress(out, show.count(len(plan.cells), "training")) as progress:
            comparison = run(plan, out_folder, n_jobs, progress)
        files = comparison.write(out_folder) if len(comparison.results) else {}
        print_comparison(out, comparison, files, out_folder)
        print_failures(comparison)
        out.result(comparison_facts(comparison, files))
    if comparison.failed:
        raise typer.Exit(SOME_FAILED)


def _plan(datasets: list[Dataset], study: StudyOptions, rows: StudyDataOptions, settings: dict[str, Any]) -> Any:
    """Return the trainings to run. settings: arguments of every estimator."""
    from askwise.studies.compare.plan import plan

    n_seeds, seeds_of = study.seed_counts()
    return plan(
        datasets, study.method_names(), n_seeds, seeds_of=seeds_of, budgets=study.budget_numbers(),
        protocol=study.protocol, metric=rows.metric, max_rows=rows.max_rows, test_rows=rows.test_rows,
        settings=settings,
    )  # fmt: skip
