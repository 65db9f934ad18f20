"""Prices: what a user gives per group or column, turned into one cost a group."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

import numpy as np

from askwise.core.costs import join_costs, own_costs, shared_costs
from askwise.core.errors import AskwiseError, AskwiseWarning, unknown_name
from askwise.data.tables.shared_prices import is_shared, shared_prices

Members = Mapping[str, tuple[str, ...]]
# A name to its price; or to the price that several groups share, {"price": 2.1, "for": ["TSH", "T3"]}.
Price = float | Mapping[str, Any]


def group_costs(
    costs: Mapping[Any, Price] | Sequence[float] | None,
    columns: Sequence[str],
    members: Members,
    free: Sequence[str] = (),
    trained: Sequence[float] | None = None,
) -> tuple[float, ...]:
    """The costs of groups, with what they share, from those of training (or 1 each) and the prices given."""
    before = (1.0,) * len(members) if trained is None else trained
    given = _as_mapping(costs, columns, members)
    shared = shared_prices(given, columns, members, free, shared_costs(before))
    known = {s.name for s in shared}
    alone = {name: _price(name, cast(float, price)) for name, price in given.items() if name not in known}
    return join_costs(_own_costs(alone, columns, members, free, [*known], own_costs(before)), shared)


def unpriced_groups(costs: Mapping[Any, Price], members: Members) -> list[str]:
    """The groups that have no price of their own, by a name or by a column; none if all that is given is 1."""
    given = {name: price for name, price in costs.items() if is_shared(price) or price != 1}
    if not given:
        return []
    return [group for group, inside in members.items() if not {group, *inside} & {*costs}]


def _own_costs(
    prices: Mapping[str, float],
    columns: Sequence[str],
    members: Members,
    free: Sequence[str],
    shared: Sequence[str],
    before: Sequence[float],
) -> tuple[float, ...]:
    """One cost a group: the group's price, else the sum of the prices of its columns, else that of before."""
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
            names = [*members, *(c for c in columns if c not in members), *shared]
            raise unknown_name("column or group in costs:", name, names)
    for group in given:
        if group in summed:
            column = next(n for n in members[group] if n in prices)
            raise AskwiseError(f"group {group!r} has a price and so has its column {column!r}; keep one of them")
    return tuple(given.get(g, summed.get(g, cost)) for g, cost in zip(members, before, strict=True))


def _as_mapping(
    costs: Mapping[Any, Price] | Sequence[float] | None, columns: Sequence[str], members: Members
) -> dict[str, Price]:
    if costs is None:
        return {}
    if isinstance(costs, Mapping) or hasattr(costs, "items"):
        return {named(key, columns): value for key, value in costs.items()}
    if isinstance(costs, str) or not isinstance(costs, Iterable):
        raise AskwiseError(f"costs takes a mapping of names to prices or a sequence of prices, was given {costs!r}")
    values = list(costs)
    if len(values) == len(members):
        return dict(zip(members, values, strict=True))
    if len(values) == len(columns):
        # A price for every column, in order: those of free columns are known to be unused.
        asked = {c for inside in members.values() for c in inside}
        return {c: v for c, v in zip(columns, values, strict=True) if c in asked}
    raise AskwiseError(
        f"costs has {len(values)} prices; give one for each of the {len(members)} groups, "
        f"one for each of the {len(columns)} columns, or a mapping of names to prices"
    )


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
