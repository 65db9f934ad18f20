"""`askwise predict`: a table of predictions for a file of rows, with what was asked of each."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from askwise.cli import tables
from askwise.cli.ask import RULES_HELP
from askwise.cli.common import Out, check_folder_can_be_written, command, stopped_by_sigterm
from askwise.cli.evaluate_data import check_order
from askwise.cli.gaps import note_gaps
from askwise.cli.images import patch_layout
from askwise.cli.options import (
    AllowImplausible,
    ModelFile,
    OtherCosts,
    OtherPrior,
    PrintOptions,
    output_option,
    parse_prior,
)
from askwise.cli.predict_columns import kept_columns, missing_columns, note_ignored
from askwise.cli.predict_summary import Summary
from askwise.cli.progress import busy, rows_progress
from askwise.core.errors import AskwiseError

if TYPE_CHECKING:
    import pandas as pd

    from askwise.core.on_average import Interval
    from askwise.core.step import StoppingRule
    from askwise.data.tables.chunks import Chunk, ChunkedTable
    from askwise.model.model import Model
    from askwise.model.table_predictions import TablePredictions

EXAMPLES = """\b
Examples:
  askwise predict heart.askwise patients.csv -o predictions.csv
  askwise predict heart.askwise patients.csv --stop average-cost=40 --keep patient -o predictions.csv
  askwise predict heart.askwise patients.parquet --stop "budget=100|confidence=0.1" -o predictions.parquet
  askwise predict heart.askwise patients.csv --all -o predictions.csv
  askwise predict heart.askwise screening.csv --prior sick=.02 -o predictions.csv
  askwise predict heart.askwise patients.csv --stop budget=50 -o predictions.csv --json | jq .mean_spent
"""


def predict(
    model: ModelFile,
    rows: Annotated[Path, typer.Argument(metavar="ROWS", help="Rows without answers: CSV (also .gz) or Parquet.")],
    *,
    output: Annotated[Path, output_option("The table to write: .csv, .csv.gz, .tsv or .parquet.", "OUT")],
    stop: Annotated[
        str | None,
        typer.Option(
            metavar="RULE",
            help=f"When to stop asking a row: {RULES_HELP}, joined by | ; without it, everything is asked.",
        ),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Predict from everything that is known of a row; nothing is asked.")
    ] = False,
    costs: OtherCosts = None,
    prior: OtherPrior = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMNS", help="Columns of ROWS to carry over, with commas between them; all for every one."
        ),
    ] = None,
    allow_implausible: AllowImplausible = False,
    printing: PrintOptions,
) -> None:
    """Predict every row of a table.

    Asks each row's best questions until the rule stops it; the row answers. A missing value can't be had, and neither
    can a text among numbers, or a column that is not there. OUT has the number of the row, the prediction, the
    probability of each label, what was asked in which order, what was spent, why it stopped, and remarks on values
    that training did not have. It appears when it is whole. Files may be larger than memory.
    """
    with command(printing) as out, stopped_by_sigterm(out):
        out.interrupt_message = f"Stopped. {output} was not written."
        _check_options(model, rows, output, everything, stop, costs)
        shares = parse_prior(prior)
        with busy(out, f"Reading {model.name}"):
            job = _prepare(model, rows, everything, stop, costs, shares)
            job = replace(job, allow_implausible=allow_implausible, prior=shares)
            # A mistake in it is told before the first row is read.
            job.model.prior_shift(shares)
        note_gaps(out, job.model)
        missing = missing_columns(job.table.columns, job.model.schema, rows, out)
        kept = kept_columns(keep, job.table.columns, job.output_columns, rows)
        note_ignored([*job.model.schema.column_names, *kept], job.table.columns, out)
        summary = job.run(output, kept, out)
        summary.show(out, output)
        files = {"model": str(model), "data": str(rows), "output": str(output)}
        out.result(files | summary.facts() | {"missing_columns": missing} | job.rule_facts())


def _check_options(
    model: Path, rows: Path, output: Path, everything: bool, stop: str | None, costs: Path | None
) -> None:
    """Raise an error, before the model is read, for what can't be done."""
    from askwise.data.tables.writing import check_can_write

    check_order(model, rows, "predict")
    tables.check_exists(rows)
    if everything and (stop is not None or costs is not None):
        option = "--stop" if stop is not None else "--costs"
        raise AskwiseError(f"--all asks nothing, so {option} has no meaning beside it; leave one of the two out")
    if output.is_dir():
        raise AskwiseError(f"{output} is a folder; give a file to write, such as {output / 'predictions.csv'}")
    check_can_write(output)
    check_folder_can_be_written(output.parent)
    for path, what in ((rows, "the table of rows itself"), (model, "the model itself")):
        if output.exists() and path.exists() and output.samefile(path):
            raise AskwiseError(f"{output} is {what}; give another file with -o")


def _prepare(
    path: Path, rows: Path, everything: bool, stop: str | None, costs: Path | None, prior: dict[str, float] | None
) -> _Job:
    """Read the model, its rule and prices, and the names of the columns of the rows."""
    from askwise.core.stopping import parse_rule
    from askwise.data.tables.chunks import open_table
    from askwise.data.tables.files import read_costs
    from askwise.methods.loading import load

    given = None if stop is None else parse_rule(stop)
    estimator = load(path)
    if patch_layout(estimator) is not None:
        raise AskwiseError(
            f"{path} is a model of images, and predict takes rows of a table; use askwise ask MODEL --image FILE for "
            "one image, askwise evaluate for many with known answers, or in Python load(MODEL).acquire(images, stop)"
        )
    model = estimator.model_
    prices = None if costs is None else read_costs(costs)
    # Looked up once: what an average cost stands for, and a warning about it, are the same for all rows.
    rule = None if everything else model.rule(estimator.stop if given is None else given, model.costs(prices), prior)
    return _Job(model, rows, open_table(rows), rule, prices, not everything)


@dataclass(frozen=True)
class _Job:
    """What is predicted: the rows of an open table, by a model with a rule and prices.

    allow_implausible: values that limits refuse count as missing. prior: another prevalence than that of training.
    """

    model: Model
    rows: Path
    table: ChunkedTable
    rule: StoppingRule | None
    prices: dict[str, Any] | None
    ask: bool
    allow_implausible: bool = False
    prior: dict[str, float] | None = None

    @property
    def output_columns(self) -> tuple[str, ...]:
        """The columns that are written beside those that are kept."""
        from askwise.model.table_predictions import prediction_columns

        return ("row", *prediction_columns(self.model, self.ask))

    def run(self, output: Path, kept: Sequence[str], out: Out) -> Summary:
        """Predict every row, a chunk at a time, and write the output."""
        from askwise.data.tables.writing import table_writer
        from askwise.model.table_predictions import rows_at_once

        summary, start = Summary(self.ask, self._expected()), time.perf_counter()
        chunks = self.table.chunks(rows_at_once(self.model), self.model.schema.columns, kept)
        with rows_progress(out, f"Predicting {self.rows.name}") as progress, table_writer(output) as write:
            for chunk in chunks:
                found = self._predict(chunk)
                write(_with_row_numbers(chunk.kept, found.table))
                summary.add(found)
                progress(chunk.fraction, summary.n_rows)
        summary.seconds = time.perf_counter() - start
        return summary

    def _predict(self, chunk: Chunk) -> TablePredictions:
        from askwise.data.tables.odd_values import REFUSED
        from askwise.model.table_predictions import table_predictions

        with tables.naming_file(self.rows):
            # They are allowed first, and looked at then: the error names the option.
            found = table_predictions(self.model, chunk.frame, self.rule, self.prices, self.ask, True, self.prior)
            index = tables.with_line_numbers(chunk.frame, self.rows).index
            tables.check_allowed(found.odd, index, self.allow_implausible, REFUSED)
        return found

    def _expected(self) -> Interval | None:
        """What the rule is expected to spend on average; at another prior than training's nobody knows."""
        from askwise.core.stopping import expected_cost

        return None if self.prior else expected_cost(self.rule)

    def rule_facts(self) -> dict[str, Any]:
        """The rule that was run, as text, and what it was expected to spend."""
        from askwise.core.stopping import rule_text

        expected = self._expected()
        return {
            "rule": None if self.rule is None else rule_text(self.rule),
            "expected_cost": None if expected is None else expected._asdict(),
        }


def _with_row_numbers(kept: pd.DataFrame, table: pd.DataFrame) -> pd.DataFrame:
    """The table to write: row numbers, columns carried over, predictions."""
    import pandas as pd

    row = pd.DataFrame({"row": table.index.to_numpy()}, index=table.index)
    return pd.concat([row, kept, table], axis=1)
