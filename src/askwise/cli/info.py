"""`askwise info`: what is inside a model file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.text import Text

from askwise.cli import show
from askwise.cli.common import JsonFlag, ModelFile, Out, QuietFlag, command
from askwise.cli.progress import busy
from askwise.errors import BundleError

if TYPE_CHECKING:
    from askwise.bundle import Contents
    from askwise.data.table import Column, Schema

EXAMPLES = """\b
Examples:
  askwise info heart.askwise
  askwise info heart.askwise --json | jq .questions
"""


def info(model: ModelFile, as_json: JsonFlag = False, quiet: QuietFlag = False) -> None:
    """Show what is inside a model.

    Its questions and prices, what it costs to be right, and how it was trained.
    """
    with command(as_json, quiet) as out:
        with busy(out, f"Reading {model.name}"):
            from askwise import bundle

            contents = bundle.read(model)
            try:
                facts, parts = _facts(model, contents), contents.model_parts()
            except (KeyError, TypeError, IndexError, ValueError) as error:
                raise BundleError(f"{model} is not a whole askwise model: {error!r}") from None
        _show(out, facts, parts)
        out.result(facts)


def _facts(model: Path, contents: Contents) -> dict[str, Any]:
    """Everything about a model, as JSON holds it."""
    parts, header = contents.model_parts(), contents.header
    schema: Schema = parts["schema"]
    frontier = parts["frontiers"].get(schema.space.costs)
    questions = [
        {"name": group, "cost": cost, "columns": [_column(c) for c in schema.columns_of(group)]}
        for group, cost in zip(schema.space.names, schema.space.costs, strict=True)
    ]
    return {
        "model": str(model),
        "bytes": model.stat().st_size,
        "weights": sum(w.numel() for w in contents.weights.values()),
        "method": header["estimator"]["name"],
        "task": header["task"],
        "target": header["card"].get("target"),
        "questions": questions,
        "free": [_column(c) for c in schema.columns if c.name in schema.free],
        "frontier": [] if frontier is None else frontier.to_dict("records"),
        "settings": header["estimator"]["settings"],
        "card": header["card"],
    }


def _column(column: Column) -> dict[str, Any]:
    facts: dict[str, Any] = {"name": column.name, "kind": column.kind}
    if column.kind == "category":
        return facts | {"choices": list(column.categories)}
    return facts if column.kind == "boolean" else facts | {"low": column.low, "high": column.high}


def _show(out: Out, facts: dict[str, Any], parts: dict[str, Any]) -> None:
    schema: Schema = parts["schema"]
    out.say(_summary(facts), _questions(schema))
    if schema.free:
        free = show.grid("column", "takes", texts=["column", "takes"])
        for column in schema.columns:
            if column.name in schema.free:
                free.add_row(Text(column.name), Text(show.answers_of(column)))
        out.say(show.titled("Free columns (known from the start)", free))
    if schema.space.costs in parts["frontiers"]:
        frontier = parts["frontiers"][schema.space.costs]
        rows = facts["card"].get("rows_validated", "?")
        out.say(show.costs_table(f"What it costs to be right (on {rows} rows held out)", show.few(frontier, 8)))
    out.say(_training(facts))


def _summary(facts: dict[str, Any]) -> Text:
    task = facts["task"]
    labels = f": {', '.join(map(str, task['labels']))}" if "labels" in task else ""
    what = Text(f"{facts['model']}\n", style="bold")
    target = facts["target"] or "a target without a name"
    return what.append(f"Predicts {target} by {task['kind']}{labels}", style="not bold")


def _questions(schema: Schema) -> Any:
    table = show.grid("question", "cost", "column", "takes", texts=["question", "column", "takes"])
    for group, cost in zip(schema.space.names, schema.space.costs, strict=True):
        for i, column in enumerate(schema.columns_of(group)):
            lead = (Text(group), Text(show.short(cost))) if i == 0 else (Text(""), Text(""))
            named = "" if column.name == group else column.name
            table.add_row(*lead, Text(named), Text(show.answers_of(column)))
    return show.titled(f"Questions ({schema.space.n_groups})", table)


def _training(facts: dict[str, Any]) -> Any:
    """How it was trained: only settings that say something."""
    card, settings = facts["card"], facts["settings"]
    table = show.grid("fact", "is", texts=["fact", "is"])
    table.show_header = False
    lines = {
        "data": card.get("data"),
        "rows": f"{card.get('rows_trained')} to learn from, {card.get('rows_validated')} held out",
        "method": facts["method"],
        "settings": ", ".join(f"{k}={v}" for k, v in settings.items() if isinstance(v, (int, float, str))),
        "epochs": ", ".join(f"{stage} {n}" for stage, n in card.get("epochs", {}).items()),
        "seconds": card.get("seconds"),
        "versions": f"askwise {card.get('askwise')}, torch {card.get('torch')}, Python {card.get('python')}",
        "size": f"{facts['bytes'] / 1024:,.0f} KiB on disk, {facts['weights']:,} weights",
    }
    for name, value in lines.items():
        if value:
            table.add_row(Text(name), Text(str(value)))
    return show.titled("How it was trained", table)
