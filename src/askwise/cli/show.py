"""What is drawn on a terminal: bars, tables, numbers as text, and the commands to try next."""

from __future__ import annotations

import math
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE
from rich.console import Group
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    import pandas as pd

    from askwise.data.tables.column import Column
    from askwise.data.tables.questions import Wording
    from askwise.data.tables.schema import Schema
    from askwise.session.messages import Candidate, Prediction

# A loss below this share of another is better; so is an accuracy by more than these standard errors.
BETTER_LOSS, BEYOND_CHANCE = 0.97, 1.64
# So many metrics of a table lead.
N_LEADING = 2
FULL, EMPTY, LINE, MARK = "█", "░", "┃", "▶"
# Over the bars and numbers of a ranking, by what it is ranked by.
RANK_HEADINGS = {
    "information": ("information per price", ""),
    "lookahead": ("it and what follows, per price", "", "information per price"),
    "score": (),
}


def format_number(number: float) -> str:
    """Write a number with four significant digits, or as a whole number from 1000 on."""
    if not math.isfinite(number):
        return "–"
    if abs(number) < 1000:
        return f"{number:.4g}"
    # A year has no comma.
    return f"{number:,.0f}" if abs(number) >= 10_000 else f"{number:.0f}"


def count(number: int, unit: str) -> str:
    """Write a number of things: 1 row, 2 rows."""
    return f"{number} {unit}" if number == 1 else f"{number} {unit}s"


def effective_text(card: Mapping[str, Any]) -> str | None:
    """Say how many rows of equal weight the weighted ones are worth; None if all count the same."""
    found = card.get("effective_rows")
    if found is None:
        return None
    return f"worth {found['trained']:.0f} equal ones to learn from, {found['validated']:.0f} held out (Kish)"


def short_metrics(table: pd.DataFrame) -> dict[str, str]:
    """Return the metrics of a table that the terminal shows, each with its heading: the first two lead in any case."""
    from askwise.evaluation.metrics import all_metrics
    from askwise.evaluation.summaries import metrics_of

    known, names = all_metrics(), metrics_of(table)
    shown = [name for i, name in enumerate(names) if i < N_LEADING or known[name].on_terminal]
    return {name: known[name].short or known[name].label for name in shown}


def format_metric(name: str, value: float) -> str:
    """Write a metric's value; one that has any size as a number, which may be whole."""
    from askwise.evaluation.metrics import all_metrics

    if not math.isfinite(value):
        return "–"
    metric = all_metrics()[name]
    return format_number(value) if metric.has_any_size else metric.form.format(value)


def grid(*headings: str, texts: Sequence[str] = ()) -> Table:
    """Return an empty table for numbers; columns named in `texts` hold text."""
    table = Table(box=SIMPLE, pad_edge=False, show_edge=False)
    for heading in headings:
        table.add_column(Text(heading), justify="left" if heading in texts else "right")
    return table


def titled(title: str, table: Table | Group) -> Group:
    """Return a table under its title, which may be wider than the table."""
    return Group(Text(""), Text(title, style="bold"), table)


def sample_by_cost(table: pd.DataFrame, most: int) -> pd.DataFrame:
    """Return at most so many rows, from the least to the largest mean cost, more of them where it is low."""
    import numpy as np

    ordered = table.sort_values("mean_cost")
    cost = ordered["mean_cost"].to_numpy()
    wanted = cost[0] + (cost[-1] - cost[0]) * np.linspace(0, 1, most) ** 2
    return ordered.iloc[np.unique(np.abs(cost[:, None] - wanted).argmin(0))]


def costs_table(title: str, table: pd.DataFrame, by: str = "") -> Group:
    """Return mean cost, questions and metrics of each row; the column named by `by` comes first.

    Intervals of metrics stand below them.
    """
    headings = short_metrics(table)
    metrics = list(headings)
    first = [by] if by else []
    view = grid(*first, "average cost", "questions", *headings.values(), texts=first)
    if by:
        view.columns[0].no_wrap = True
    between = "\n" if f"{metrics[0]}_low" in table else " "
    for row in table.to_dict("records"):
        cells = [Text(str(row[by]))] if by else []
        asked = format_number(round(row["mean_groups"], 2)), _ends("mean_groups", row)
        texts = [_cost_text(row), asked, *((format_metric(m, row[m]), _interval(m, row)) for m in metrics)]
        view.add_row(*cells, *(Text(between.join(filter(None, parts)), justify="right") for parts in texts))
    return titled(title, view)


def _cost_text(row: Mapping[Any, Any]) -> tuple[str, str]:
    """Write a mean cost, and between which numbers it is expected to be on fresh cases, if that is known."""
    return format_number(row["mean_cost"]), _ends("cost", row) or _ends("mean_cost", row)


def _ends(name: str, row: Mapping[Any, Any]) -> str:
    """Write between which numbers another is, if that is known and they differ."""
    ends = [format_number(float(f"{row[side]:.3g}")) for side in (f"{name}_low", f"{name}_high") if side in row]
    return f"({'–'.join(ends)})" if len(set(ends)) == 2 else ""


def _interval(name: str, row: Mapping[Any, Any]) -> str:
    """Write the 95% interval of a metric, if there is one."""
    if f"{name}_low" not in row:
        return ""
    low, high = (format_metric(name, row[f"{name}_{side}"]).removesuffix("%") for side in ("low", "high"))
    return f"({low}–{high})"


def bar(value: float, most: float, width: int, line: float | None = None) -> Text:
    """Return a bar of `value` out of `most`, with a line across it at `line`, if given."""

    def place(number: float) -> int:
        return round(width * min(1.0, max(0.0, number / most))) if most > 0 else 0

    filled = place(value)
    drawn = Text(FULL * filled, style="cyan") + Text(EMPTY * (width - filled), style="dim")
    if line is None:
        return drawn
    at = min(place(line), width - 1)
    return drawn[:at] + Text(LINE, style="bold red") + drawn[at + 1 :]


def value_bars(
    ranking: Sequence[Candidate],
    chosen: str,
    penalty: float | None,
    left: float,
    width: int,
    ranked_by: str = "information",
    most: int = 5,
) -> Group:
    """Return the best open questions with bars of what they are ranked by, and the penalty as a line across them.

    The chosen one is marked. left: what the budget has left; dearer questions are marked. ranked_by: as in a session.
    Scores that are only an order have no bars; if the model looks ahead, the information alone stands beside them.
    """
    shown = list(ranking[:most])
    shown += [c for c in ranking[most:] if c.name == chosen]
    line = penalty if penalty is not None and math.isfinite(penalty) else None
    top = max([c.rank for c in shown] + ([line] if line else []), default=0.0)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("")
    headings = RANK_HEADINGS[ranked_by]
    for i, heading in enumerate(headings):
        table.add_column(heading, justify="right" if i else "left")
    table.add_column("cost", justify="right")
    table.add_column("")
    for c in shown:
        mine = c.name == chosen
        name = Text(f"{MARK if mine else ' '} {c.name}", style="bold" if mine else "")
        dear = Text("" if mine or c.cost <= left else "over the budget", style="dim")
        numbers: list[Text | str] = [
            bar(c.rank, top, width, line),
            format_number(c.rank),
            format_number(c.value_per_cost),
        ]
        table.add_row(name, *numbers[: len(headings)], format_number(c.cost), dear)
    hidden = len(ranking) - len(shown)
    if hidden:
        table.add_row(Text(f"  and {hidden} more", style="dim"))
    if line is None:
        return Group(table)
    below = "with both numbers below" if ranked_by == "lookahead" else "below"
    return Group(table, Text(f"  {LINE} a question {below} {format_number(line)} is not worth its cost", style="red"))


def prediction_bars(prediction: Prediction, target: str, spread: tuple[float, float], width: int) -> Table:
    """Return the prediction: a bar for each of the likeliest labels, or a number on a scale from low to high."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
    table.add_column()
    table.add_column()
    if prediction.proba is None:
        low, high = spread
        at = round((width - 1) * min(1.0, max(0.0, (prediction.value - low) / (high - low))))
        scale = Text("─" * at, style="dim") + Text("●", style="bold cyan") + Text("─" * (width - 1 - at), style="dim")
        table.add_row(Text(target, style="bold"), scale, Text(format_number(prediction.value), style="bold"))
        return table
    for label, share in _likeliest(prediction.proba):
        style = "bold" if label == str(prediction.value) else ""
        table.add_row(Text(label, style=style), bar(share, 1.0, width), Text(f"{share:.1%}", style=style))
    return table


def _likeliest(proba: Mapping[Any, float], most: int = 6) -> list[tuple[str, float]]:
    """Return all labels in their own order if they are few; else the likeliest, and the rest as one."""
    if len(proba) <= most:
        return [(str(label), share) for label, share in proba.items()]
    ordered = sorted(proba.items(), key=lambda item: -item[1])
    top = [(str(label), share) for label, share in ordered[: most - 1]]
    return [*top, (f"{len(proba) - most + 1} others", sum(share for _, share in ordered[most - 1 :]))]


def allowed_answers(column: Column, unit: str = "") -> str:
    """Describe the values of a column, their unit, and the range seen in training or its few whole numbers."""
    allowed = f"{column.allowed} ({unit})" if unit else column.allowed
    if column.kind != "number" or column.limits.values:
        return allowed
    if column.offered:
        seen = [text for _, text in column.offered]
        return f"{allowed}; {', '.join(seen[:-1])} or {seen[-1]} in training"
    return f"{allowed}, {format_number(column.low)} to {format_number(column.high)} in training"


def wording_text(wording: Wording, text_style: str = "") -> Text:
    """Return the text of a question with its help below, dim; empty if it has neither."""
    lines = [Text(wording.text, style=text_style)] if wording.text else []
    lines += [Text(wording.help, style="dim")] if wording.help else []
    return Text("\n").join(lines)


def questions_summary(schema: Schema) -> str:
    """Write how many questions or patches there are, and what is free."""
    from askwise.data.images.schema import ImageSchema

    free = len(schema.free)
    if isinstance(schema, ImageSchema):
        layout = schema.layout
        cut = f"{layout.n_patches} patches of {layout.patch} x {layout.patch}"
        return f"{cut} in images of {layout.width} x {layout.height}" + (" and a sketch that is free" if free else "")
    return count(schema.space.n_groups, "question") + (f" and {count(free, 'free column')}" if free else "")


def command_line(*words: object) -> str:
    """Write a command as it can be typed into a shell."""
    return shlex.join(str(w) for w in words)


def next_steps(commands: Sequence[tuple[str, str]]) -> Text:
    """Return commands to try next, each with what it does."""
    lines = [Text("Try next:", style="bold")]
    for command, what in commands:
        line = _with_path(command)
        lines += [Text(f"  # {what}", style="dim"), Text(f"  {line}", style="cyan")]
    return Text("\n").join(lines)


def _with_path(command: str) -> str:
    """Write a command with the path of the program, if a shell would not find it by its name."""
    program = Path(sys.argv[0])
    if program.name != "askwise" or shutil.which("askwise") is not None:
        return command
    return command.replace("askwise ", f"{shlex.quote(str(program))} ", 1)


def is_better(metrics: Mapping[Any, Any], base: Mapping[Any, Any], n_cases: int) -> bool:
    """Whether metrics on so many cases are better than others: the loss by a little, or the accuracy beyond chance."""
    loss = "log_loss" if "log_loss" in base else "rmse"
    if metrics[loss] < BETTER_LOSS * base[loss]:
        return True
    accuracy, before = metrics.get("accuracy", 0.0), base.get("accuracy", 0.0)
    standard_error = math.sqrt((accuracy * (1 - accuracy) + before * (1 - before)) / n_cases)
    return bool(accuracy - before > BEYOND_CHANCE * standard_error)
