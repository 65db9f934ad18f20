"""What questions say about the answers of a column: choices in their order, their words, the least and the largest."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from askwise.core.errors import AskwiseError, AskwiseWarning, listed, shortened
from askwise.data.tables.column import CATEGORY, NUMBER, Column, category_key
from askwise.data.tables.limits import Limits, number_text


@dataclass(frozen=True)
class Choice:
    """An answer to choose, and the word that stands for it; a text "1=mild" may still hold both."""

    value: Any
    word: str = ""


@dataclass(frozen=True)
class AnswerWords:
    """What was given about the answers of one column; what was not given is empty."""

    choices: tuple[Choice, ...] = ()
    minimum: float | None = None
    maximum: float | None = None


def with_answers(column: Column, given: AnswerWords) -> Column:
    """The column with these choices and limits."""
    if column.kind != NUMBER and (given.minimum is not None or given.maximum is not None):
        end = "min" if given.minimum is not None else "max"
        raise AskwiseError(f"{column.name!r} takes {column.allowed}, so it has no {end}; leave it out")
    return _with_limits(column, given) if column.kind == NUMBER else ordered(column, given.choices)


def _with_limits(column: Column, given: AnswerWords) -> Column:
    name, minimum, maximum = column.name, given.minimum, given.maximum
    if not given.choices:
        if minimum is not None and maximum is not None and minimum > maximum:
            given_ends = f"min {number_text(minimum)} above max {number_text(maximum)}"
            raise AskwiseError(f"question {name!r} has {given_ends}; exchange them")
        return replace(column, limits=Limits(minimum, maximum))
    if minimum is not None or maximum is not None:
        raise AskwiseError(f"question {name!r} has choices, so nothing else is taken; leave min and max out")
    choices = [_split(choice) if _number(choice.value) is None else choice for choice in given.choices]
    values = []
    for choice in choices:
        number = _number(choice.value)
        if number is None:
            raise AskwiseError(
                f"{name!r} takes numbers, and its choice {shortened(choice.value)} is none; write 0|1 or, with words, "
                '0=no|1=yes; in Python and JSON {"0": "no", "1": "yes"}'
            )
        values.append(number)
    _check_once(name, [number_text(value) for value in values])
    return replace(column, limits=Limits(values=tuple(values), words=_words(name, choices, map(number_text, values))))


def ordered(column: Column, choices: Sequence[Any]) -> Column:
    """A column whose categories come in the order of these choices; others that were seen come after them."""
    if not choices:
        return column
    if column.kind != CATEGORY:
        raise AskwiseError(
            f"{column.name!r} takes {column.allowed}, so it has no choices; leave them out, or turn its values into "
            "texts before training"
        )
    seen = column.categories
    given = [choice if isinstance(choice, Choice) else Choice(choice) for choice in choices]
    given = [choice if category_key(choice.value) in seen else _split(choice) for choice in given]
    keys = [category_key(choice.value) for choice in given]
    _check_once(column.name, keys)
    never = [key for key in keys if key not in seen]
    rest = [key for key in seen if key not in keys]
    if never:
        _warn(
            f"choices of {column.name!r} never seen in training are left out: {listed(never, 5)}; seen: {listed(seen)}"
        )
    if rest:
        _warn(f"choices of {column.name!r} that questions does not name come last: {listed(rest, 5)}")
    kept = [choice for key, choice in zip(keys, given, strict=True) if key in seen] + [Choice(key) for key in rest]
    categories = tuple(category_key(choice.value) for choice in kept)
    return replace(column, categories=categories, limits=Limits(words=_words(column.name, kept, categories)))


def _words(name: str, choices: list[Choice], values: Any) -> tuple[str, ...]:
    """A word for each choice, its own text where none was given; none at all if no choice has one."""
    if not any(choice.word for choice in choices):
        return ()
    words = tuple(choice.word or text for choice, text in zip(choices, values, strict=True))
    _check_once(name, [word.casefold() for word in words])
    return words


def _split(choice: Choice) -> Choice:
    """A text "1=mild" as its value and its word."""
    if choice.word or not isinstance(choice.value, str) or "=" not in choice.value:
        return choice
    value, _, word = choice.value.partition("=")
    return Choice(value.strip(), word.strip())


def _number(value: Any) -> float | None:
    if isinstance(value, (bool, np.bool_)):
        return None
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _check_once(name: str, texts: list[str]) -> None:
    twice = [text for text in texts if texts.count(text) > 1]
    if twice:
        raise AskwiseError(f"the choices of question {name!r} name {twice[0]!r} twice; keep one")


def _warn(text: str) -> None:
    warnings.warn(text, AskwiseWarning, stacklevel=5)
