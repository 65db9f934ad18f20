"""What is said about one odd value: the same words in sessions, in the API and in tables of predictions."""

from __future__ import annotations

from typing import Any

from askwise.core.errors import shortened
from askwise.data.tables.column import Column
from askwise.data.tables.limits import number_text


def remark_on(column: Column, value: Any) -> str:
    """What is odd about an answer that was taken all the same; empty if nothing is."""
    return outside_text(column, value) if column.is_outside(value) else ""


def outside_text(column: Column, value: Any) -> str:
    """The remark on a number outside the range seen in training."""
    return f"{column.name!r} is {number_text(value)}, outside what was seen in training, {column.seen}"


def refused_text(column: Column, value: Any) -> str:
    """The remark on a number that limits refuse, where such numbers are allowed."""
    return f"{column.name!r} takes {column.allowed}, was given {number_text(value)}, so it counts as not available"


def unreadable_text(column: Column, value: Any) -> str:
    """The remark on what is no value of its column, such as a text among numbers, where such are allowed."""
    return f"{column.name!r} takes {column.allowed}, was given {shortened(value)}, so it counts as not available"


def never_seen_text(column: Column, value: Any) -> str:
    """The remark on a category that training did not have."""
    return f"{column.name!r} is {shortened(value)}, never seen in training, so it counts as not available"
