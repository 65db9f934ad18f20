"""Columns laid out in groups: what is asked together, and what is free."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from askwise.core.errors import AskwiseError, unknown_name

GroupSpec = Mapping[str, Sequence[Hashable]]


def as_list(what: str, value: object) -> list[Any]:
    if value is None:
        return []
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise AskwiseError(f"{what} takes a list of column names, was given {value!r}")
    return list(value)


def find_column(what: str, name: Any, names: Sequence[str]) -> str:
    """A column by its name or its position."""
    if isinstance(name, (int, np.integer)) and not isinstance(name, bool):
        if -len(names) <= name < len(names):
            return names[int(name)]
        raise AskwiseError(f"unknown {what}: position {name}; there are {len(names)} columns, 0 to {len(names) - 1}")
    if str(name) not in names:
        raise unknown_name(what, name, names)
    return str(name)


def group_members(names: Sequence[str], groups: GroupSpec | None, free: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Group name -> column names, in the order of the groups' first columns."""
    if groups is not None and not isinstance(groups, Mapping):
        raise AskwiseError(f"groups takes a mapping of a group's name to its columns, was given {groups!r}")
    group_of: dict[str, str] = {}
    named: dict[str, list[str]] = {}
    for group, columns in (groups or {}).items():
        named[str(group)] = []
        for c in as_list(f"group {group!r}", columns):
            column = find_column(f"column in group {group!r}:", c, names)
            if column in group_of:
                raise AskwiseError(f"column {column!r} is in two groups, {group_of[column]!r} and {group!r}; keep one")
            if column in free:
                raise AskwiseError(f"column {column!r} is free and in group {group!r}; it can't be both")
            group_of[column] = str(group)
            named[str(group)].append(column)
        if not named[str(group)]:
            raise AskwiseError(f"group {group!r} has no columns; name at least one")
        if str(group) in names and str(group) not in named[str(group)]:
            raise AskwiseError(f"group {group!r} has the name of a column that is not in it; choose another name")
    members: dict[str, tuple[str, ...]] = {}
    for name in names:
        if name not in free:
            group = group_of.get(name, name)
            members[group] = tuple(named.get(group, [name]))
    return members
