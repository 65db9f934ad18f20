"""The wording of questions, as a user gives it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from askwise.core.errors import AskwiseError, listed, shortened, unknown_name
from askwise.data.tables.answers import AnswerWords, Choice
from askwise.data.tables.prices import Members, named

WORDS = ("text", "unit", "help")
# What is said about the answers of a column, and what AnswerWords calls it.
ANSWERS = {"choices": "choices", "min": "minimum", "max": "maximum"}
KEYS = (*WORDS, *ANSWERS)

# What estimators take: a text, or a mapping of some of the keys, for the name of a column or a group.
QuestionSpec = Mapping[Any, str | Mapping[str, Any]]


@dataclass(frozen=True)
class Wording:
    """How a question or a column is put to a person; what was not given is empty."""

    text: str = ""
    unit: str = ""
    help: str = ""


@dataclass(frozen=True)
class Words:
    """What was given: wordings by the name of a column or group, and what answers may be by the name of a column."""

    wording: dict[str, Wording]
    answers: dict[str, AnswerWords]


def read_words(questions: object, columns: Sequence[str], members: Members) -> Words:
    """Check what was given against the columns and groups that there are."""
    if questions is None:
        return Words({}, {})
    if not isinstance(questions, Mapping):
        raise AskwiseError(
            "questions takes a mapping of a column's or group's name to a text, or to a mapping of "
            f"{', '.join(KEYS)}; was given {shortened(questions)}"
        )
    given: dict[str, dict[str, Any]] = {}
    for key, value in questions.items():
        name = named(key, columns)
        if name not in members and name not in columns:
            allowed = [*members, *(c for c in columns if c not in members)]
            raise unknown_name("column or group in questions:", name, allowed)
        if name in given:
            raise AskwiseError(f"questions has {name!r} twice, by its name and its position; keep one")
        given[name] = _given(name, value)
        if name not in columns:
            _check_group(name, given[name], members[name])
    words = {name: Wording(**{k: v for k, v in held.items() if k in WORDS}) for name, held in given.items()}
    answers = {
        name: AnswerWords(**{ANSWERS[k]: v for k, v in held.items() if k in ANSWERS}) for name, held in given.items()
    }
    return Words(
        {name: wording for name, wording in words.items() if wording != Wording()},
        {name: about for name, about in answers.items() if about != AnswerWords()},
    )


def _given(name: str, value: object) -> dict[str, Any]:
    """What is given for one name, by key; what is empty is not given."""
    if isinstance(value, str):
        value = {"text": value}
    if not isinstance(value, Mapping):
        raise AskwiseError(
            f"question {name!r} takes a text, or a mapping of {', '.join(KEYS)}; was given {shortened(value)}"
        )
    held: dict[str, Any] = {}
    for key, part in value.items():
        if key not in KEYS:
            raise unknown_name(f"key of question {name!r}:", key, KEYS)
        read = READ.get(key, _text)(name, key, part)
        if read not in (None, "", ()):
            held[key] = read
    return held


def _text(name: str, key: str, value: object) -> str:
    """A text without the space around it; what is no help is kept in one line."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise AskwiseError(f"the {key} of question {name!r} must be a text, was given {shortened(value)}")
    return value.strip() if key == "help" else " ".join(value.split())


def _number(name: str, key: str, value: object) -> float | None:
    """A limit; in a file it is a text."""
    if value is None or value == "":
        return None
    try:
        number = math.nan if isinstance(value, (bool, np.bool_)) else float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise AskwiseError(f"the {key} of question {name!r} must be a number, was given {shortened(value)}")
    return number


def _choices(name: str, key: str, value: object) -> tuple[Choice, ...]:
    """Choices in their order; a mapping gives a word for each."""
    if value is None:
        return ()
    if isinstance(value, Mapping):
        choices = tuple(Choice(choice, _text(name, "words of the choices", word)) for choice, word in value.items())
    elif isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        raise AskwiseError(
            f"the {key} of question {name!r} must be a list, or a mapping of values to words; was given "
            f"{shortened(value)}"
        )
    else:
        choices = tuple(Choice(choice) for choice in value)
    for choice in choices:
        if not isinstance(choice.value, (str, bool, int, float, np.generic)):
            raise AskwiseError(
                f"a choice of question {name!r} must be a text or a number, was given {shortened(choice.value)}"
            )
    return choices


# Other keys are texts.
READ: Mapping[str, Callable[[str, str, object], Any]] = {"choices": _choices, "min": _number, "max": _number}


def _check_group(name: str, held: Mapping[str, Any], columns: Sequence[str]) -> None:
    for key in ("unit", *ANSWERS):
        if key in held:
            raise AskwiseError(
                f"questions gives the group {name!r} {key if key == 'choices' else f'a {key}'}; "
                f"only a column has that: give it to {listed(columns)}"
            )


def plain_questions(questions: Mapping[Any, Any]) -> Any:
    """What was given as JSON holds it: pairs, since a key may be a position."""
    return {"pairs": [[_plain(key), _plain(value)] for key, value in questions.items()]}


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    if isinstance(value, Mapping):
        return {str(key): _plain(part) for key, part in value.items()}
    return [_plain(part) for part in value] if isinstance(value, Iterable) else str(value)
