"""`askwise info`: what is inside a model file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.text import Text

from askwise.cli import show
from askwise.cli.common import JsonFlag, ModelFile, Out, QuietFlag, command
from askwise.cli.progress import busy
from askwise.core.errors import BundleError

if TYPE_CHECKING:
    from askwise.data.images.schema import ImageSchema
    from askwise.data.tables.schema import Schema
    from askwise.model.file import Contents

# More labels would hide the rest.
MOST_LABELS = 30
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
            from askwise.model import file as bundle

            contents = bundle.read(model)
            try:
                facts, parts = _facts(model, contents), contents.model_parts()
            except (KeyError, TypeError, IndexError, ValueError) as error:
                raise BundleError(f"{model} is not a whole askwise model: {error!r}") from None
        _show(out, facts, parts)
        out.result(facts)


def _facts(model: Path, contents: Contents) -> dict[str, Any]:
    """Everything about a model and its file, as JSON holds it."""
    from askwise.model.description import contents_facts

    return {
        "model": str(model),
        "bytes": model.stat().st_size,
        "weights": sum(w.numel() for w in contents.weights.values()),
        "fingerprint": contents.fingerprint,
        **contents_facts(contents),
    }


def _show(out: Out, facts: dict[str, Any], parts: dict[str, Any]) -> None:
    from askwise.data.images.schema import ImageSchema

    schema: Schema = parts["schema"]
    if isinstance(schema, ImageSchema):
        out.say(_summary(facts), _patches(schema))
    else:
        out.say(_summary(facts), _questions(schema))
        if schema.free:
            out.say(_free(schema))
    if schema.space.costs in parts["frontiers"]:
        frontier = parts["frontiers"][schema.space.costs]
        held = f"{facts['card'].get('rows_validated', '?')} {_cases(schema)} held out"
        out.say(show.costs_table(f"What it costs to be right (on {held})", show.few(frontier, 8)))
    out.say(_training(facts, _cases(schema)))


def _cases(schema: Schema) -> str:
    from askwise.data.images.schema import ImageSchema

    return "images" if isinstance(schema, ImageSchema) else "rows"


def _summary(facts: dict[str, Any]) -> Text:
    task = facts["task"]
    labels = f": {_named(task['labels'])}" if "labels" in task else ""
    what = Text(f"{facts['model']}\n", style="bold")
    target = facts["target"] or "a target without a name"
    return what.append(f"Predicts {target} by {task['kind']}{labels}", style="not bold")


def _named(labels: list[Any]) -> str:
    """The labels, or of very many the first ones and how many they are."""
    more = f" and {len(labels) - MOST_LABELS} more" if len(labels) > MOST_LABELS else ""
    return ", ".join(map(str, labels[:MOST_LABELS])) + more


def _patches(schema: ImageSchema) -> Text:
    """What is asked of images, in a few lines: their patches are all alike but for their prices."""
    layout, costs = schema.layout, schema.space.costs
    rows, columns = layout.grid
    each = f"each costs {show.short(costs[0])}"
    if len(set(costs)) > 1:
        each = f"costing {show.short(min(costs))} to {show.short(max(costs))}, {show.short(sum(costs))} together"
    lines = [
        f"Asks for {show.what_is_asked(schema)}",
        f"  named r1c1 to r{rows}c{columns}, by row and column; {each}",
        f"  pixels: {'grey' if layout.channels == 1 else 'colours'}",
    ]
    if layout.sketch:
        lines.append("  the sketch, the edges of the image, is known from the start")
    return Text("\n".join(lines))


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


def _training(facts: dict[str, Any], cases: str) -> Any:
    """How it was trained: only settings that say something."""
    card, settings = facts["card"], facts["settings"]
    table = show.grid("fact", "is", texts=["fact", "is"])
    table.show_header = False
    lines = {
        "data": card.get("data"),
        cases: f"{card.get('rows_trained')} to learn from, {card.get('rows_validated')} held out",
        "method": facts["method"],
        "settings": ", ".join(f"{k}={v}" for k, v in settings.items() if isinstance(v, (int, float, str))),
        "backbone": _timm_name(settings.get("backbone")),
        "epochs": ", ".join(f"{stage} {n}" for stage, n in card.get("epochs", {}).items()),
        "seconds": card.get("seconds"),
        "versions": f"askwise {card.get('askwise')}, torch {card.get('torch')}, Python {card.get('python')}",
        "size": f"{facts['bytes'] / 1024:,.0f} KiB on disk, {facts['weights']:,} weights",
    }
    for name, value in lines.items():
        if value:
            table.add_row(Text(name), Text(str(value)))
    return show.titled("How it was trained", table)


def _timm_name(backbone: Any) -> str | None:
    """The model of timm that a backbone began as; one of our own is among the settings."""
    return backbone.get("timm") if isinstance(backbone, dict) else None
