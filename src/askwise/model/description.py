"""What a model is, as JSON holds it: one form for `askwise info` and the service."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Protocol

import pandas as pd

from askwise.core.costs import own_costs, shared_facts
from askwise.data.images.schema import ImageSchema, PixelColumn
from askwise.data.tables.column import CATEGORY, NUMBER, Column
from askwise.data.tables.schema import Schema
from askwise.model.file import Contents, plain

if TYPE_CHECKING:
    from askwise.model.model import Model


class Described(Protocol):
    """A fitted estimator."""

    registry_name: str
    model_: Model

    @property
    def settings_of_model(self) -> dict[str, Any]: ...


def input_facts(schema: Schema, column: Column) -> dict[str, Any]:
    """One value to fill in: how it is put, and what it takes. Only numbers have low, high, whole, min, max, others.

    Only pictures have a shape. offered: the answers to choose from; of categories only if they have words.
    """
    words, is_number = schema.wording_of(column.name), column.kind == NUMBER
    offered = column.offered if is_number or column.limits.words else ()
    return {
        "name": column.name,
        "text": words.text,
        "help": words.help,
        "unit": words.unit,
        "kind": column.kind,
        "choices": list(column.categories) if column.kind == CATEGORY else None,
        "low": column.low if is_number else None,
        "high": column.high if is_number else None,
        "whole": column.whole if is_number else None,
        "min": column.limits.minimum,
        "max": column.limits.maximum,
        "offered": [{"value": value, "text": text} for value, text in offered] or None,
        "others": column.takes_others if is_number else None,
        "shape": list(column.shape) if isinstance(column, PixelColumn) else None,
    }


def image_facts(schema: Schema) -> dict[str, Any] | None:
    """How images are cut into patches, which are the questions line by line; None where a table is asked."""
    if not isinstance(schema, ImageSchema):
        return None
    rows, columns = schema.layout.grid
    return {**asdict(schema.layout), "rows": rows, "columns": columns}


def question_facts(schema: Schema, group: str, cost: float, own_cost: float | None = None) -> dict[str, Any]:
    """One question: how it is put, what it costs (and what of that is its own), and the values that answer it."""
    words = schema.question_wording(group)
    inputs = [input_facts(schema, column) for column in schema.columns_of(group)]
    price = {"cost": cost, "own_cost": cost if own_cost is None else own_cost}
    return {"name": group, "text": words.text, "help": words.help, **price, "inputs": inputs}


def model_facts(estimator: Described) -> dict[str, Any]:
    """Everything about a fitted estimator."""
    model = estimator.model_
    parts = {"schema": model.schema, "frontiers": model.frontiers, "curves": model.curves}
    return _facts(parts, estimator.registry_name, model.task.to_dict(), estimator.settings_of_model, model.card)


def contents_facts(contents: Contents) -> dict[str, Any]:
    """The same of a file, also where it takes networks of the user's own to load it."""
    header = contents.header
    name, settings = header["estimator"]["name"], header["estimator"]["settings"]
    parts = contents.model_parts()
    return _facts(parts, name, header["task"], settings, parts["card"])


def _facts(
    parts: dict[str, Any], method: str, task: dict[str, Any], settings: dict[str, Any], card: dict[str, Any]
) -> dict[str, Any]:
    schema: Schema = parts["schema"]
    space, own = schema.space, own_costs(schema.space.costs)
    facts = {
        "method": method,
        "task": task,
        "target": card.get("target"),
        "image": image_facts(schema),
        "questions": [question_facts(schema, *priced) for priced in zip(space.names, space.costs, own, strict=True)],
        "shared_prices": shared_facts(space.names, space.costs),
        "free": [input_facts(schema, schema.column(name)) for name in schema.free],
        "frontier": _records(parts["frontiers"].get(space.costs)),
        "curve": _records(parts.get("curves", {}).get(space.costs)),
        "settings": settings,
        "card": card,
    }
    return plain(facts)


def _records(table: pd.DataFrame | None) -> list[dict[str, Any]]:
    return [] if table is None else [{str(k): v for k, v in row.items()} for row in table.to_dict("records")]
