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
    from askwise.data.table import Schema

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
    """Everything about a model and its file, as JSON holds it."""
    from askwise.description import contents_facts

    return {
        "model": str(model),
        "bytes": model.stat().st_size,
        "weights": sum(w.numel() for w in contents.weights.values()),
        "fingerprint": contents.fingerprint,
        **contents_facts(contents),
    }


def _show(out: Out, facts: dict[str, Any], parts: dict[str, Any]) -> None:
    schema: Schema = parts["schema"]
    out.say(_summary(facts), _questions(schema))
    if schema.free:
        out.say(_free(schema))
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
    """A line for each column of each question; how it is put has a column of its own, where any has words."""
    names = [*schema.space.names, *(c.name for group in schema.space.names for c in schema.columns_of(group))]
    has_words = any(_words(schema, name) for name in names)
    heads = ["name", "cost", "column", "question", "takes"] if has_words else ["question", "cost", "column", "takes"]
    table = show.grid(*heads, texts=[head for head in heads if head != "cost"])
    for group, cost in zip(schema.space.names, schema.space.costs, strict=True):
        lead, columns = [Text(group), Text(show.short(cost))], schema.columns_of(group)
        if len(columns) > 1 and _words(schema, group):
            table.add_row(*lead, Text(""), _words(schema, group), Text(""))
            lead = [Text(""), Text("")]
        for column in columns:
            alone = len(columns) == 1
            named = Text("" if column.name == group else column.name)
            put = [show.words(schema.question_wording(group)) if alone else _words(schema, column.name)]
            takes = Text(show.answers_of(column, schema.wording_of(column.name).unit))
            table.add_row(*lead, named, *(put if has_words else []), takes)
            lead = [Text(""), Text("")]
    return show.titled(f"Questions ({schema.space.n_groups})", table)


def _free(schema: Schema) -> Any:
    has_words = any(_words(schema, name) for name in schema.free)
    heads = ["column", "question", "takes"] if has_words else ["column", "takes"]
    table = show.grid(*heads, texts=heads)
    for name in schema.free:
        put = [_words(schema, name)] if has_words else []
        table.add_row(Text(name), *put, Text(show.answers_of(schema.column(name), schema.wording_of(name).unit)))
    return show.titled("Free columns (known from the start)", table)


def _words(schema: Schema, name: str) -> Text:
    return show.words(schema.wording_of(name))


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
