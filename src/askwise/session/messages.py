"""What a session says and hears: questions, candidates, predictions, events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from askwise.core.errors import AskwiseError, listed, shortened, unknown_name
from askwise.data.tables.column import Column, is_missing
from askwise.data.tables.schema import Schema


class Candidate(NamedTuple):
    """An open group: its estimated information, its cost, and the one per the other.

    Where a method's scores are only an order, both values are that score. lookahead_per_cost: what this group and the
    questions after it bring, per cost; None if the model looks at one question only. own_cost: what of the cost is its
    own; the rest is shared with others, and paid once.
    """

    name: str
    value: float
    cost: float
    value_per_cost: float
    lookahead_per_cost: float | None = None
    own_cost: float | None = None

    @property
    def rank(self) -> float:
        """The number that it is ranked by."""
        return self.value_per_cost if self.lookahead_per_cost is None else self.lookahead_per_cost


class Question(NamedTuple):
    """What to ask next, and the columns that an answer fills; its numbers are those of a `Candidate`."""

    name: str
    columns: tuple[Column, ...]
    cost: float
    value: float
    value_per_cost: float
    lookahead_per_cost: float | None = None
    own_cost: float | None = None


class Prediction(NamedTuple):
    """The answer so far: the likeliest label with every label's probability, or a number."""

    value: Any
    proba: dict[Any, float] | None


@dataclass(frozen=True)
class Event:
    """One thing that was said, about `name`: answers by column, None where one can't be had, or a refusal."""

    name: str
    group: str | None
    answers: Mapping[str, Any]
    declined: bool = False
    why: str | None = None


def event_of(schema: Schema, name: str, value: Any) -> Event:
    """What an answer means: which group, and which columns have which values; impossible ones are an error."""
    group = schema.group_of(name)
    value = None if is_missing(value) else value
    columns = (schema.column(name),) if group is None or name != group else schema.columns_of(group)
    if len(columns) > 1 and not isinstance(value, Mapping) and value is not None:
        if name not in schema.column_names:
            raise AskwiseError(
                f"{name!r} has {len(columns)} columns; tell it a mapping of column to value, None where one "
                f"can't be had, for {listed([c.name for c in columns])}; was given {shortened(value)}"
            )
        # A panel named after one of its columns, and that column's value.
        columns = (schema.column(name),)
    given = value if isinstance(value, Mapping) else dict.fromkeys([c.name for c in columns], value)
    for key in given:
        if key not in [c.name for c in columns]:
            raise unknown_name(f"column of {name!r}:", key, [c.name for c in columns])
    return Event(name, group, {c.name: c.parse(given.get(c.name)) for c in columns})


def check_given_once(heard: Mapping[str, Event]) -> None:
    """Raise where a column is given by its own name and with its panel: which one is meant can't be known."""
    given_as: dict[str, str] = {}
    for name, event in heard.items():
        for column in event.answers:
            if column in given_as:
                raise AskwiseError(
                    f"{column!r} is given twice, as {given_as[column]!r} and as {name!r}; give the columns of a panel "
                    "one by one, or all of them together under the panel's name",
                    about=column,
                )
            given_as[column] = name
