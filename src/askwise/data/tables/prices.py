"""Prices: what a user gives per group or column, turned into one cost a group."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from askwise.core.errors import AskwiseError, AskwiseWarning, unknown_name

Members = Mapping[str, tuple[str, ...]]


def group_costs(
    costs: Mapping[Any, float] | Sequence[float] | None,
    columns: Sequence[str],
    members: Members,
    free: Sequence[str] = (),
    default: Mapping[str, float] | None = None,
) -> tuple[float, ...]:
    """One cost a group: the group's price, else the sum of the prices of its columns, else the default (1)."""
    prices = _as_mapping(costs, columns, members)
    group_of = {column: group for group, inside in members.items() for column in inside}
    given: dict[str, float] = {}
    summed: dict[str, float] = {}
    for name, price in prices.items():
        if name in members and (len(members[name]) > 1 or name not in columns):
            given[name] = price
        elif name in free:
            warnings.warn(f"the price of {name!r} is ignored: it is a free column", AskwiseWarning, stacklevel=3)
        elif name in group_of:
            summed[group_of[name]] = summed.get(group_of[name], 0.0) + price
        else:
            raise unknown_name("column or group in costs:", name, [*members, *(c for c in columns if c not in members)])
    for group in given:
        if group in summed:
            column = next(n for n in members[group] if n in prices)
            raise AskwiseError(f"group {group!r} has a price and so has its column {column!r}; keep one of them")
    fallback = default or {}
    return tuple(given.get(g, summed.get(g, fallback.get(g, 1.0))) for g in members)


def _as_mapping(
    costs: Mapping[Any, float] | Sequence[float] | None, columns: Sequence[str], members: Members
) -> dict[str, float]:
    if costs is None:
        return {}
    if isinstance(costs, Mapping) or hasattr(costs, "items"):
        prices = {named(key, columns): value for key, value in costs.items()}
    else:
        if isinstance(costs, str) or not isinstance(costs, Iterable):
            raise AskwiseError(f"costs takes a mapping of names to prices or a sequence of prices, was given {costs!r}")
        values = list(costs)
        if len(values) == len(members):
            prices = dict(zip(members, values, strict=True))
        elif len(values) == len(columns):
            # A price for every column, in order: those of free columns are known to be unused.
            asked = {c for inside in members.values() for c in inside}
            prices = {c: v for c, v in zip(columns, values, strict=True) if c in asked}
        else:
            raise AskwiseError(
                f"costs has {len(values)} prices; give one for each of the {len(members)} groups, "
                f"one for each of the {len(columns)} columns, or a mapping of names to prices"
            )
    return {name: _price(name, value) for name, value in prices.items()}


def named(key: Any, columns: Sequence[str]) -> str:
    """A name as it is given, or that of the column at a position."""
    if isinstance(key, (int, np.integer)) and not isinstance(key, bool) and 0 <= key < len(columns):
        return columns[int(key)]
    return str(key)


def _price(name: str, value: object) -> float:
    try:
        price = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        price = math.nan
    if not math.isfinite(price) or price <= 0:
        raise AskwiseError(
            f"the cost of {name!r} is {value!r}; a cost must be a number above 0, and columns of a table that cost "
            "nothing go into free"
        )
    return price
