"""`askwise info`: what is inside a model file."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Group
from rich.text import Text

from askwise.cli import show
from askwise.cli.common import Out, command
from askwise.cli.options import ModelFile, PrintOptions
from askwise.cli.progress import busy
from askwise.core.costs import are_equal, shared_facts, total_cost
from askwise.core.errors import BundleError, listed

if TYPE_CHECKING:
    from askwise.data.images.schema import ImageSchema
    from askwise.data.tables.gaps import GroupGaps
    from askwise.data.tables.schema import Schema
    from askwise.model.file import Contents

# More labels would hide the rest.
MAX_LABELS = 30
EXAMPLES = """\b
Examples:
  askwise info heart.askwise
  askwise info heart.askwise --json | jq .questions
"""


def info(model: ModelFile, *, printing: PrintOptions) -> None:
    """Show what is inside a model.

    Its questions and prices, what it costs to be right, and how it was trained.
    """
    with command(printing) as out:
        with busy(out, f"Reading {model.name}"):
            from askwise.model import file as bundle

            contents = bundle.read(model)
            try:
                facts, parts = _facts(model, contents), contents.model_parts()
            except (KeyError, TypeError, IndexError, ValueError) as error:
                raise BundleError(f"{model} is not a whole askwise model: {error!r}") from None
        _print_facts(out, facts, parts)
        out.result(facts)


def _facts(model: Path, contents: Contents) -> dict[str, Any]:
    """Return everything about a model and its file for JSON."""
    from askwise.model.description import contents_facts

    return {
        "model": str(model),
        "bytes": model.stat().st_size,
        "weights": sum(math.prod(w.shape) for w in contents.weights.values()),
        "fingerprint": contents.fingerprint,
        **contents_facts(contents),
    }


def _print_facts(out: Out, facts: dict[str, Any], parts: dict[str, Any]) -> None:
    from askwise.data.images.schema import ImageSchema

    schema: Schema = parts["schema"]
    if isinstance(schema, ImageSchema):
        out.print(_summary(facts), _patches_text(schema))
    else:
        out.print(_summary(facts), _questions_table(schema))
        if schema.free:
            out.print(_free_table(schema))
    if schema.space.costs in parts["frontiers"]:
        frontier = parts["frontiers"][schema.space.costs]
        held = f"{facts['card'].get('rows_validated', '?')} {_unit(schema)} held out"
        out.print(show.costs_table(f"What it costs to be right (on {held})", show.sample_by_cost(frontier, 8)))
    _print_gaps(out, facts["card"])
    out.print(_training(facts, _unit(schema)))


def _unit(schema: Schema) -> str:
    from askwise.data.images.schema import ImageSchema

    return "images" if isinstance(schema, ImageSchema) else "rows"


def _summary(facts: dict[str, Any]) -> Text:
    task = facts["task"]
    labels = f": {_list_labels(task['labels'])}" if "labels" in task else ""
    what = Text(f"{facts['model']}\n", style="bold")
    target = facts["target"] or "a target without a name"
    return what.append(f"Predicts {target} by {task['kind']}{labels}", style="not bold")


def _list_labels(labels: list[Any]) -> str:
    """Return the labels; of very many, the first ones and how many more there are."""
    more = f" and {len(labels) - MAX_LABELS} more" if len(labels) > MAX_LABELS else ""
    return ", ".join(map(str, labels[:MAX_LABELS])) + more


def _patches_text(schema: ImageSchema) -> Text:
    """Describe what is asked of images in a few lines; patches differ by their prices only."""
    layout, costs = schema.layout, schema.space.costs
    rows, columns = layout.grid
    each = f"each costs {show.format_number(costs[0])}"
    if not are_equal(costs):
        low, high, total = (show.format_number(f(costs)) for f in (min, max, total_cost))
        each = f"costing {low} to {high}, {total} together"
    lines = [
        f"Asks for {show.questions_summary(schema)}",
        f"  named r1c1 to r{rows}c{columns}, by row and column; {each}",
        f"  pixels: {'grey' if layout.channels == 1 else 'colours'}",
    ]
    lines += _shared_lines(schema)
    if layout.sketch:
        lines.append("  the sketch, the edges of the image, is known from the start")
    return Text("\n".join(lines))


def _questions_table(schema: Schema) -> Any:
    """Return a line for each column of each question; the wording has a column if any question has one."""
    names = [*schema.space.names, *(c.name for group in schema.space.names for c in schema.columns_of(group))]
    has_wording = any(_wording_text(schema, name) for name in names)
    heads = ["name", "cost", "column", "question", "takes"] if has_wording else ["question", "cost", "column", "takes"]
    table = show.grid(*heads, texts=[head for head in heads if head != "cost"])
    for group, cost in zip(schema.space.names, schema.space.costs, strict=True):
        cells, columns = [Text(group), Text(show.format_number(cost))], schema.columns_of(group)
        if len(columns) > 1 and _wording_text(schema, group):
            table.add_row(*cells, Text(""), _wording_text(schema, group), Text(""))
            cells = [Text(""), Text("")]
        for column in columns:
            single = len(columns) == 1
            name = Text("" if column.name == group else column.name)
            put = [show.wording_text(schema.question_wording(group)) if single else _wording_text(schema, column.name)]
            takes = Text(show.allowed_answers(column, schema.wording_of(column.name).unit))
            table.add_row(*cells, name, *(put if has_wording else []), takes)
            cells = [Text(""), Text("")]
    title = f"Questions ({schema.space.n_groups})"
    shared = _shared_lines(schema)
    return show.titled(title, Group(table, Text("\n".join(shared))) if shared else table)


def _shared_lines(schema: Schema) -> list[str]:
    """Say what is paid once for several questions."""
    return [
        f"  {show.format_number(s['price'])} of these costs is {s['name']!r}, paid once for {listed(s['for'])}"
        for s in shared_facts(schema.space.names, schema.space.costs)
    ]


def _free_table(schema: Schema) -> Any:
    has_wording = any(_wording_text(schema, name) for name in schema.free)
    heads = ["column", "question", "takes"] if has_wording else ["column", "takes"]
    table = show.grid(*heads, texts=heads)
    for name in schema.free:
        put = [_wording_text(schema, name)] if has_wording else []
        table.add_row(Text(name), *put, Text(show.allowed_answers(schema.column(name), schema.wording_of(name).unit)))
    return show.titled("Free columns (known from the start)", table)


def _wording_text(schema: Schema, name: str) -> Text:
    return show.wording_text(schema.wording_of(name))


def _print_gaps(out: Out, card: dict[str, Any]) -> None:
    from askwise.data.tables.gaps import flagged_gaps, gaps_of_card, missing_of_card
    from askwise.data.tables.gaps_wording import effective_rows_text

    flagged = flagged_gaps(gaps_of_card(card))
    if flagged:
        out.print(_gaps_table(flagged, missing_of_card(card)))
    effective = card.get("corrected", {}).get("effective_rows")
    if effective is not None:
        out.print(effective_rows_text(effective, card["rows_trained"]))


def _gaps_table(gaps: list[GroupGaps], missing: str) -> Any:
    """Return a line for each question that tells the answer by being recorded or not."""
    from askwise.data.tables.gaps_wording import MADE_OF_IT, SEE, answer_texts

    heads = ["question", "recorded most, where the answer is", "recorded least", "in all rows", "tells (nats)"]
    table = show.grid(*heads, texts=heads[:3])
    for group in gaps:
        cells = [group.group, *answer_texts(group), f"{group.present:.0%}", f"{group.information:.3f}"]
        table.add_row(*map(Text, cells))
    return show.titled(f"That these were recorded tells the answer. {MADE_OF_IT[missing]}; {SEE}", table)


def _training(facts: dict[str, Any], unit: str) -> Any:
    """Return how it was trained: only settings that are numbers or texts."""
    card, settings = facts["card"], facts["settings"]
    table = show.grid("fact", "is", texts=["fact", "is"])
    table.show_header = False
    lines = {
        "data": card.get("data"),
        unit: f"{card.get('rows_trained')} to learn from, {card.get('rows_validated')} held out",
        "weights": show.effective_text(card),
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
    """Return the name of a timm backbone; one of our own is among the settings."""
    return backbone.get("timm") if isinstance(backbone, dict) else None
