"""How things look on a terminal: bars, tables and the commands to try next."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping, Sequence
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

# Which metrics a short table shows, and under which heading.
SHORT_METRICS = {"accuracy": "accuracy", "auroc": "AUROC", "log_loss": "log loss", "rmse": "RMSE", "r2": "R²"}
# A loss below this share of another is better; so is an accuracy by more than these standard errors.
BETTER_LOSS, BEYOND_CHANCE = 0.97, 1.64
FULL, EMPTY, LINE, MARK = "█", "░", "┃", "▶"


def short(number: float) -> str:
    """A number as a person would write it."""
    if not math.isfinite(number):
        return "–"
    if abs(number) < 1000:
        return f"{number:.4g}"
    # A year has no comma.
    return f"{number:,.0f}" if abs(number) >= 10_000 else f"{number:.0f}"


def count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def metric(name: str, value: float) -> str:
    if not math.isfinite(value):
        return "–"
    if name == "accuracy":
        return f"{value:.1%}"
    return short(value) if name == "rmse" else f"{value:.3f}"


def grid(*headings: str, texts: Sequence[str] = ()) -> Table:
    """A table of numbers under headings; columns named in `texts` hold text."""
    table = Table(box=SIMPLE, pad_edge=False, show_edge=False)
    for heading in headings:
        table.add_column(Text(heading), justify="left" if heading in texts else "right")
    return table


def titled(title: str, table: Table) -> Group:
    """A table under its title, which may be wider than the table."""
    return Group(Text(""), Text(title, style="bold"), table)


def few(table: pd.DataFrame, most: int) -> pd.DataFrame:
    """Some rows of a table, spread over its mean cost and closer where it is low, the first and the last among them."""
    import numpy as np

    ordered = table.sort_values("mean_cost")
    cost = ordered["mean_cost"].to_numpy()
    wanted = cost[0] + (cost[-1] - cost[0]) * np.linspace(0, 1, most) ** 2
    return ordered.iloc[np.unique(np.abs(cost[:, None] - wanted).argmin(0))]


def costs_table(title: str, table: pd.DataFrame, by: str = "") -> Group:
    """Mean cost, questions and metrics of each row; `by` names the columns that say which row it is."""
    shown = [m for m in SHORT_METRICS if m in table]
    lead = [by] if by else []
    view = grid(*lead, "average cost", "questions", *(SHORT_METRICS[m] for m in shown), texts=lead)
    for row in table.to_dict("records"):
        cells = [Text(str(row[by]))] if by else []
        cells += [Text(short(row["mean_cost"])), Text(short(round(row["mean_groups"], 2)))]
        view.add_row(*cells, *(Text(metric(m, row[m]) + (_interval(m, row) if m == shown[0] else "")) for m in shown))
    return titled(title, view)


def _interval(name: str, row: Mapping[Any, Any]) -> str:
    """The 95% interval of a metric, where it was drawn."""
    if f"{name}_low" not in row:
        return ""
    low, high = (metric(name, row[f"{name}_{side}"]).removesuffix("%") for side in ("low", "high"))
    return f" ({low} to {high})"


def bar(value: float, most: float, width: int, line: float | None = None) -> Text:
    """A bar of `value` out of `most`, with a line across it where one is given."""

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
    is_information: bool = True,
    most: int = 5,
) -> Group:
    """The top open questions by value per cost, the chosen one marked, with the penalty as a line across them.

    left: what the budget has left; dearer questions are said to be. Scores that are only an order have no bars.
    """
    shown = list(ranking[:most])
    shown += [c for c in ranking[most:] if c.name == chosen]
    line = penalty if penalty is not None and math.isfinite(penalty) else None
    top = max([c.value_per_cost for c in shown] + ([line] if line else []), default=0.0)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("")
    if is_information:
        table.add_column("value per cost")
        table.add_column("", justify="right")
    table.add_column("cost", justify="right")
    table.add_column("")
    for c in shown:
        mine = c.name == chosen
        name = Text(f"{MARK if mine else ' '} {c.name}", style="bold" if mine else "")
        dear = Text("" if mine or c.cost <= left else "over the budget", style="dim")
        value: list[Text | str] = (
            [bar(c.value_per_cost, top, width, line), short(c.value_per_cost)] if is_information else []
        )
        table.add_row(name, *value, short(c.cost), dear)
    hidden = len(ranking) - len(shown)
    if hidden:
        table.add_row(Text(f"  and {hidden} more", style="dim"))
    if line is None:
        return Group(table)
    return Group(table, Text(f"  {LINE} a question below {short(line)} is not worth its cost", style="red"))


def prediction_bars(prediction: Prediction, target: str, spread: tuple[float, float], width: int) -> Table:
    """The prediction so far: a bar for each of the likeliest labels, or a number on the scale of its kind."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
    table.add_column()
    table.add_column()
    if prediction.proba is None:
        low, high = spread
        at = round((width - 1) * min(1.0, max(0.0, (prediction.value - low) / (high - low))))
        scale = Text("─" * at, style="dim") + Text("●", style="bold cyan") + Text("─" * (width - 1 - at), style="dim")
        table.add_row(Text(target, style="bold"), scale, Text(short(prediction.value), style="bold"))
        return table
    for label, share in _likeliest(prediction.proba):
        style = "bold" if label == str(prediction.value) else ""
        table.add_row(Text(label, style=style), bar(share, 1.0, width), Text(f"{share:.1%}", style=style))
    return table


def _likeliest(proba: Mapping[Any, float], most: int = 6) -> list[tuple[str, float]]:
    """Labels in their own order where they are few; else the likeliest, and the rest in one."""
    if len(proba) <= most:
        return [(str(label), share) for label, share in proba.items()]
    ordered = sorted(proba.items(), key=lambda item: -item[1])
    top = [(str(label), share) for label, share in ordered[: most - 1]]
    return [*top, (f"{len(proba) - most + 1} others", sum(share for _, share in ordered[most - 1 :]))]


def answers_of(column: Column, unit: str = "") -> str:
    """What a column takes, in which unit, and the range seen in training."""
    takes = f"{column.allowed} ({unit})" if unit else column.allowed
    return f"{takes}, {short(column.low)} to {short(column.high)} in training" if column.kind == "number" else takes


def words(wording: Wording, text_style: str = "") -> Text:
    """The text of a question and, dim, the help under it; empty where neither was given."""
    lines = [Text(wording.text, style=text_style)] if wording.text else []
    lines += [Text(wording.help, style="dim")] if wording.help else []
    return Text("\n").join(lines)


def what_is_asked(schema: Schema) -> str:
    """How many questions there are, and what is free: the patches of images are not told one by one."""
    from askwise.data.images.schema import ImageSchema

    free = len(schema.free)
    if isinstance(schema, ImageSchema):
        layout = schema.layout
        cut = f"{layout.n_patches} patches of {layout.patch} x {layout.patch}"
        return f"{cut} in images of {layout.width} x {layout.height}" + (" and a sketch that is free" if free else "")
    return count(schema.space.n_groups, "question") + (f" and {count(free, 'free column')}" if free else "")


def command_line(*words: object) -> str:
    return shlex.join(str(w) for w in words)


def next_steps(commands: Sequence[tuple[str, str]]) -> Text:
    """Commands to try next, each with what it does."""
    lines = [Text("Try next:", style="bold")]
    for line, what in commands:
        lines += [Text(f"  # {what}", style="dim"), Text(f"  {line}", style="cyan")]
    return Text("\n").join(lines)


def is_better(found: Mapping[Any, Any], base: Mapping[Any, Any], n_cases: int) -> bool:
    """Whether metrics on so many cases are better than others: the loss by a little, or the accuracy beyond chance."""
    loss = "log_loss" if "log_loss" in base else "rmse"
    if found[loss] < BETTER_LOSS * base[loss]:
        return True
    right, before = found.get("accuracy", 0.0), base.get("accuracy", 0.0)
    chance = math.sqrt((right * (1 - right) + before * (1 - before)) / n_cases)
    return bool(right - before > BEYOND_CHANCE * chance)


def good_rule(frontier: pd.DataFrame) -> str:
    """A rule to start with: the least cost that has nearly all of what asking gains on the validation rows.

    On average; or, where a method's scores are only an order, for each case.
    """
    return f"{'average-cost' if 'penalty' in frontier else 'budget'}={_good_cost(frontier)}"


def _good_cost(frontier: pd.DataFrame) -> str:
    asks = frontier[frontier["mean_cost"] > 0].sort_values("mean_cost")
    if not len(asks):
        return "1"
    name = "log_loss" if "log_loss" in asks else "rmse"
    # The same point as the page suggests: 95 % of the way from the worst, asking nothing as a rule, to the best.
    loss, worst = asks[name].to_numpy(), frontier[name].max()
    enough = loss <= loss.min() + 0.05 * (worst - loss.min())
    costs = asks["mean_cost"].to_numpy()
    cost = float(costs[enough.argmax()])
    step = 10.0 ** (math.floor(math.log10(cost)) - 1)
    rounded = math.ceil(cost / step) * step
    return f"{rounded if rounded <= costs.max() else cost - cost % step:.4g}"
