"""Clear errors for settings that can't be."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeGuard

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


def check_whole_or_named(name: str, given: object, names: Sequence[str], least: int) -> None:
    """Raise where a setting is neither one of these names nor a whole number that is large enough."""
    if isinstance(given, bool) or not isinstance(given, (int, np.integer)) or given < least:
        listed = ", ".join(map(repr, names))
        raise AskwiseError(f"{name} must be {listed} or a whole number of at least {least}, was given {given!r}")


def is_number(given: object) -> TypeGuard[float]:
    """Whether a setting is a number; True and False are none."""
    return isinstance(given, (int, float, np.number)) and not isinstance(given, bool)


def check_number(name: str, given: object, above: float | None = None) -> None:
    """Raise where a setting is no finite number, is not `above`, or is below 0."""
    if not is_number(given) or not math.isfinite(given) or not (given >= 0 if above is None else given > above):
        at_least = "at least 0" if above is None else f"above {above:g}"
        raise AskwiseError(f"{name} must be a number {at_least}, was given {given!r}")


def check_numbers(name: str, given: Any, above: float) -> None:
    """Raise where a setting is not one or more numbers above a bound."""
    if isinstance(given, str) or not hasattr(given, "__len__") or not len(given):
        raise AskwiseError(f"{name} must be one or more numbers above {above:g}, was given {given!r}")
    for number in given:
        check_number(f"each of {name}", number, above=above)
