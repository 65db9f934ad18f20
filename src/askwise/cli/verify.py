"""`askwise verify`: how wrong the estimates are, on distributions whose exact answers are known."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Group
from rich.text import Text

from askwise.cli import show
from askwise.cli.common import Out, check_png, command, save_png
from askwise.cli.options import HiddenLengthOptions, PrintOptions
from askwise.cli.progress import busy, fraction_progress

if TYPE_CHECKING:
    import pandas as pd

    from askwise.studies.verify.trials import Outcome

EXAMPLES = """\b
Examples:
  askwise verify
  askwise verify --task cube --rows 600 --seeds 3
  askwise verify --task tests --task network --rows 1000 --rows 10000 --rows 100000
  askwise verify --figure errors.png --json > errors.json
"""
FEWEST_ROWS = 100
# Together with all tasks these end within three minutes on two cores.
DEFAULT_ROWS = (250, 1000)
# The heading and the format of each figure of the summary.
COLUMNS = {
    "error_chosen": ("error,\nasked", "{:.3f}"),
    "error_open": ("error,\nopen", "{:.3f}"),
    "relative_error_chosen": ("relative,\nasked", "{:.0%}"),
    "rank_correlation": ("rank\ncorr.", "{:.2f}"),
    "order": ("right\norder", "{:.0%}"),
    "regret": ("\nregret", "{:.4f}"),
    "divergence": ("\nKL", "{:.4f}"),
}
HOW_TO_READ = """\
Each line: a training on rows of a known distribution, measured on fresh rows against exact values.
  error     how far a question's estimated information is from the exact one, on average: of the
            questions that were asked, and of all that were open
  relative  the same as a share of the exact value, where that is above 0.005
  rank      correlation of the ranks of estimates and exact values, over all moments
  order     of two questions open at the same moment that differ by more than 0.005, how often the
            better one is put first; a coin would have 50%
  regret    what the best question of the moment tells more than its price buys at the rate paid
  KL        Kullback-Leibler divergence KL(exact || predicted) of the probabilities
  score     mean accuracy after 1, 2, ... questions, whatever they cost; exact: of the greedy policy
            that knows the truth, but looks one question ahead only, so a trained one may do better
"""
NATS = "Error, regret and KL are in nats: 0.693 nats are one bit, the answer to a fair yes-or-no question."
VARIANCE = """\
Of gaussian, which predicts a number, they are parts of the variance of y (KL: the squared distance
from the exact prediction), and its score is the root mean squared error: lower is better."""


def verify(
    task: Annotated[
        list[str] | None,
        typer.Option(
            "--task",
            metavar="tests|network|prior|costs|cube|cube-nm|gaussian",
            help="A distribution to learn; may be given several times. Default: all.",
        ),
    ] = None,
    rows: Annotated[
        list[int] | None,
        typer.Option(
            "--rows",
            min=FEWEST_ROWS,
            metavar="N",
            help="How many rows to train on; several times to see errors shrink, as in --rows 1000 --rows 10000 "
            f"--rows 100000. Default: {' and '.join(map(str, DEFAULT_ROWS))}.",
        ),
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, metavar="K", help="Trainings of each kind, each on other rows.")] = 1,
    jobs: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Processes at a time; by default one a core.")
    ] = None,
    figure: Annotated[
        Path | None, typer.Option(metavar="FILE.png", help="Draw estimated against exact information here.")
    ] = None,
    *,
    length: HiddenLengthOptions,
    printing: PrintOptions,
) -> None:
    """Measure the estimates against the exact truth.

    Trains on rows of distributions whose exact posteriors and information are known, and tells how far estimates,
    choices and predictions are from them. The same seeds give the same numbers, with any number of processes.
    """
    with command(printing) as out:
        if figure is not None:
            check_png(figure, "--figure")
        with busy(out, "Starting"):
            from askwise.data.synthetic import DISTRIBUTIONS
            from askwise.studies.verify.plots import estimated_against_exact
            from askwise.studies.verify.trials import run_trials, summary, trials_of

            trials = trials_of(task or list(DISTRIBUTIONS), rows or DEFAULT_ROWS, seeds)
        with fraction_progress(out, f"{show.count(len(trials), 'training')}") as progress:
            outcomes = run_trials(trials, length.given(), jobs, progress)
        table = summary(outcomes)
        _print_results(out, outcomes, table)
        if figure is not None:
            save_png(estimated_against_exact(outcomes), figure)
            out.print("", f"Picture: {figure}")
        out.result(
            {
                "trials": [outcome.record() for outcome in outcomes],
                "summary": table.to_dict("records"),
                "files": {} if figure is None else {"figure": str(figure)},
            }
        )


def _print_results(out: Out, outcomes: list[Outcome], table: pd.DataFrame) -> None:
    from askwise.studies.verify.trials import mean_scores, shrinkage

    seeds = int(table["seeds"].max())
    spread = f", mean of {seeds} seeds ± standard deviation" if seeds > 1 else ""
    out.print(Text(f"Estimates against the exact truth{spread}", style="bold"), HOW_TO_READ + _units(table))
    out.print("", _errors_table(table), _scores_table(mean_scores(outcomes)))
    if table["rows"].nunique() > 1:
        out.print(_shrinkage_table(shrinkage(table)))


def _units(table: pd.DataFrame) -> str:
    kinds = set(table["metric"])
    return "\n".join([NATS] * ("accuracy" in kinds) + [VARIANCE] * ("rmse" in kinds))


def _errors_table(table: pd.DataFrame) -> Any:
    """Return a line for each task and number of rows; deviations over several seeds stand below the means."""
    view = show.grid("task", "rows", *(heading for heading, _ in COLUMNS.values()), "score", "exact", texts=["task"])
    for line in table.to_dict("records"):
        cells = [_spread(line, name, form) for name, (_, form) in COLUMNS.items()]
        score = "{:.1%}" if line["metric"] == "accuracy" else "{:.3f}"
        scores = [_spread(line, name, score) for name in ("score", "exact_score")]
        view.add_row(Text(str(line["task"])), Text(f"{line['rows']:,}"), *cells, *scores)
    return view


def _spread(line: dict[Any, Any], name: str, form: str) -> Text:
    deviation = line[f"{name}_sd"]
    return Text(_number(line[name], form) + (f"\n±{form.format(deviation)}" if math.isfinite(deviation) else ""))


def _number(value: float, form: str) -> str:
    return form.format(value) if math.isfinite(value) else "–"


def _scores_table(scores: pd.DataFrame) -> Group:
    """Return two lines for each task, of the trained and the exact greedy policy, by number of questions."""
    largest = scores[scores["rows"] == scores["rows"].max()]
    questions = range(int(largest["questions"].max()) + 1)
    view = show.grid("task", "policy", *map(str, questions), texts=["task", "policy"])
    for (task, metric), part in largest.groupby(["task", "metric"], sort=False):
        trained, exact = (part[name] for name in ("trained", "exact_greedy"))
        view.add_row(Text(str(task)), Text("trained"), *(Text(_score(metric, value)) for value in trained))
        view.add_row(Text(""), Text("exact"), *(Text(_score(metric, value)) for value in exact))
    what = {"accuracy": "accuracy in %", "rmse": "root mean squared error"}
    metrics = " or ".join(what[metric] for metric in largest["metric"].unique())
    rows = largest["rows"].iloc[0]
    return show.titled(f"After 0, 1, 2, ... questions: {metrics}, trained on {rows:,} rows", view)


def _score(metric: str, value: float) -> str:
    """Format a score in four characters, so that ten of them fit on a line."""
    return f"{100 * value:.1f}" if metric == "accuracy" else f"{value:.2f}"


def _shrinkage_table(wide: pd.DataFrame) -> Group:
    """Return each error against the number of rows, and the ratio of the last to the first."""
    few, many = wide.columns[0], wide.columns[-1]
    view = show.grid("task", "", *(f"{rows:,} rows" for rows in wide.columns), "", texts=["task", ""])
    for (task, figure), values in zip(wide.index, wide.to_numpy(), strict=True):
        name = str(task) if figure == wide.index[0][1] else ""
        heading = COLUMNS[figure][0].replace("\n", " ").strip()
        ratio = values[-1] / values[0] if values[0] else math.nan
        cells = [_number(value, "{:.4f}") for value in values]
        view.add_row(*map(Text, [name, heading, *cells, _number(ratio, "× {:.2f}")]))
    explanation = (
        f"An error that falls as 1/√rows is × {math.sqrt(few / many):.2f} with {many:,} rows in place of {few:,}, "
        f"and KL, a square, × {few / many:.2f}."
    )
    return Group(Text(""), Text("How errors shrink as rows grow", style="bold"), Text(explanation), view)
