"""JSON as the standard has it, no more: what Python reads beyond that can't be sent back."""

from __future__ import annotations

import json
from typing import Any

from askwise.core.errors import AskwiseError
from askwise.data.tables.files import each_once


class NotStrict(ValueError):
    """A body that is not strict JSON; the message says why."""


def check_json(body: bytes) -> None:
    """Raise where a body is no JSON as the standard has it: UTF-8, finite numbers, whole characters."""
    try:
        # As text: bytes might also be taken for UTF-16.
        value = json.loads(
            body.decode(), object_pairs_hook=each_once, parse_constant=_not_a_number, parse_float=_finite
        )
        if b"\\ud" in body.lower():
            json.dumps(value, ensure_ascii=False).encode()
    except NotStrict:
        raise
    except AskwiseError as error:
        raise NotStrict(f"the body {error}") from None
    except UnicodeEncodeError:
        raise NotStrict("the body holds half of a character (a lone surrogate)") from None
    except UnicodeDecodeError:
        raise NotStrict("the body is not UTF-8") from None
    except RecursionError:
        raise NotStrict("the body is nested too deeply") from None
    except json.JSONDecodeError as error:
        raise NotStrict(f"the body is not JSON: {error.msg}, at character {error.pos}") from None
    except ValueError:
        raise NotStrict("the body holds a number with too many digits") from None


def _not_a_number(name: str) -> Any:
    raise NotStrict(f"the body holds {name}, which is no JSON; give a finite number, or null where there is none")


def _finite(text: str) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise NotStrict(f"the body holds {text[:40]}, which is too large a number")
    return number
