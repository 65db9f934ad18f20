"""A check of JSON bodies. Python's parser takes more than the standard, which could not be sent back."""

from __future__ import annotations

import json
from typing import Any

from askwise.core.errors import AskwiseError
from askwise.data.tables.files import each_once


class InvalidJson(ValueError):
    """A body that is not standard JSON; the message says why."""


def check_json(body: bytes) -> None:
    """Raise InvalidJson unless a body is standard JSON: UTF-8, finite numbers, no lone surrogates, no repeated keys."""
    try:
        # As text: json.loads would also take bytes for UTF-16.
        value = json.loads(
            body.decode(), object_pairs_hook=each_once, parse_constant=_reject_constant, parse_float=_finite_float
        )
        if b"\\ud" in body.lower():
            json.dumps(value, ensure_ascii=False).encode()
    except InvalidJson:
        raise
    except AskwiseError as error:
        raise InvalidJson(f"the body {error}") from None
    except UnicodeEncodeError:
        raise InvalidJson("the body holds half of a character (a lone surrogate)") from None
    except UnicodeDecodeError:
        raise InvalidJson("the body is not UTF-8") from None
    except RecursionError:
        raise InvalidJson("the body is nested too deeply") from None
    except json.JSONDecodeError as error:
        raise InvalidJson(f"the body is not JSON: {error.msg}, at character {error.pos}") from None
    except ValueError:
        raise InvalidJson("the body holds a number with too many digits") from None


def _reject_constant(name: str) -> Any:
    raise InvalidJson(f"the body holds {name}, which is no JSON; give a finite number, or null where there is none")


def _finite_float(text: str) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise InvalidJson(f"the body holds {text[:40]}, which is too large a number")
    return number
