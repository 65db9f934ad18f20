"""What a session says and hears: questions, candidates, predictions, events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from askwise.core.errors import AskwiseError
from askwise.data.tables.column import Column


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
