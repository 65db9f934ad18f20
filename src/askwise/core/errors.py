"""Errors that a user can act on: each says what was given, what is allowed and what to do."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class AskwiseError(ValueError):
    """A mistake in what was given: the message says what is allowed, `about` which name it is about, if any."""

    def __init__(self, message: str = "", about: str | None = None) -> None:
        super().__init__(message)
        self.about = about


class BundleError(AskwiseError):
    """A model file that can't be read."""


class AskwiseWarning(UserWarning):
    """Something that was done differently from what may have been meant."""


class OutOfRangeWarning(AskwiseWarning):
    """A table has numbers that were not seen in training; a test set may have a few."""


def shortened(value: object, most: int = 80) -> str:
    """A value as Python writes it, cut where it is long, so that an error never echoes a megabyte."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):
        # A whole number of thousands of digits, or lists in lists without end.
        return f"a {type(value).__name__} too large to show"
    return text if len(text) <= most else f"{text[: most - 3]}..."


def listed(names: Iterable[object], most: int = 12) -> str:
    """Names as a person would read them: 'a', 'b' and 3 more."""
    texts = [repr(n) for n in names]
    if len(texts) <= most:
        return ", ".join(texts)
    return ", ".join(texts[:most]) + f" and {len(texts) - most} more"


def unknown_name(what: str, name: object, allowed: Iterable[object]) -> AskwiseError:
    """The error for a name that is not there, with the nearest one that is."""
    known = list(dict.fromkeys(str(a) for a in allowed))
    folded = {k.casefold(): k for k in known}
    given = name if isinstance(name, str) else shortened(name)
    near = difflib.get_close_matches(given.casefold(), folded, n=1, cutoff=0.6)
    hint = f"did you mean {folded[near[0]]!r}? " if near else ""
    return AskwiseError(f"unknown {what} {shortened(name)}; {hint}allowed: {listed(known)}")
