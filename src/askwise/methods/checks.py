"""Clear errors for settings that can't be."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from askwise.core.errors import AskwiseError


def check_whole(name: str, number: object, least: int = 1) -> None:
    """Raise where a setting is no whole number, or too small."""
    if isinstance(number, bool) or not isinstance(number, (int, np.integer)) or number < least:
        raise AskwiseError(f"{name} must be a whole number of at least {least}, was given {number!r}")


def check_whole_or_none(name: str, number: object) -> None:
    """The same for a setting that may be left out."""
    if number is not None:
        check_whole(name, number)


def check_number(name: str, given: object, above: float | None = None) -> None:
    """Raise where a setting is no finite number, is not `above`, or is below 0."""
    number = isinstance(given, (int, float, np.number)) and not isinstance(given, bool)
    if not number or not math.isfinite(given) or not (given >= 0 if above is None else given > above):  # type: ignore
        at_least = "at least 0" if above is None else f"above {above:g}"
        raise AskwiseError(f"{name} must be a number {at_least}, was given {given!r}")


def check_numbers(name: str, given: Any, above: float) -> None:
    """Raise where a setting is not one or more numbers above a bound."""
    if isinstance(given, str) or not hasattr(given, "__len__") or not len(given):
        raise AskwiseError(f"{name} must be one or more numbers above {above:g}, was given {given!r}")
    for number in given:
        check_number(f"each of {name}", number, above=above)
