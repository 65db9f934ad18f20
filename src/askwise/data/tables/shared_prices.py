"""Prices that several questions share, as a user gives them: an amount, and what it is for."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from askwise.core.costs import SharedCost
from askwise.core.errors import AskwiseError, listed, shortened, unknown_name

PRICE, FOR = "price", "for"
AS_IN = '{"price": 2.1, "for": ["TSH", "T3"]}'


def is_shared(price: object) -> bool:
    """Whether what is given for a name is a price that several questions share."""
    return isinstance(price, Mapping)


def shared_prices(
    given: Mapping[str, Any],
    columns: Sequence[str],
    members: Mapping[str, tuple[str, ...]],
    free: Sequence[str],
    trained: Sequence[SharedCost],
) -> list[SharedCost]:
    """What is shared: as in training, but for what is given. A number for a name of training changes its price."""
    found = {s.name: s for s in trained}
    group_of = {column: group for group, inside in members.items() for column in inside} | {g: g for g in members}
    numbers = {group: number for number, group in enumerate(members)}
    for name, price in given.items():
        if is_shared(price):
            if name in members or name in columns:
                what = "question" if name in members else "column"
                raise AskwiseError(
                    f"{name!r} is a {what}, and a shared price needs a name of its own; "
                    f"give the {what} a number as its price"
                )
            _check_keys(name, price)
            groups = _groups(name, price[FOR], columns, group_of, free)
            found[name] = SharedCost(name, _amount(name, price[PRICE]), tuple(sorted(numbers[g] for g in groups)))
        elif name in found:
            found[name] = found[name]._replace(price=_amount(name, price))
    return list(found.values())


def names_in(costs: Mapping[str, Any]) -> list[str]:
    """The columns and groups that prices name: those with a price, and those that share one."""
    found: list[str] = []
    for name, price in costs.items():
        members = price.get(FOR) if is_shared(price) else [name]
        # What is no list gives an error where prices are read.
        found += map(str, members) if isinstance(members, list) else []
    return found


def without_names(costs: Mapping[str, Any], gone: Iterable[str], columns: Sequence[str]) -> dict[str, Any]:
    """Prices without some columns and groups; what is then shared by none goes too. columns: all, before they went."""
    lost, kept = set(gone), {}
    for name, price in costs.items():
        if is_shared(price) and isinstance(price.get(FOR), list):
            members = [_column_at(member, columns) for member in price[FOR]]
            left = [member for member in members if member not in lost]
            if left or not members:
                kept[name] = {**price, FOR: left}
        elif name not in lost:
            kept[name] = price
    return kept


def _column_at(member: object, columns: Sequence[str]) -> str:
    """A name as it is given, or that of the column at a position."""
    is_position = isinstance(member, (int, np.integer)) and not isinstance(member, bool)
    return columns[int(member)] if is_position and 0 <= member < len(columns) else str(member)  # type: ignore


def _check_keys(name: str, price: Mapping[str, Any]) -> None:
    if set(price) != {PRICE, FOR}:
        raise AskwiseError(
            f"the shared price {name!r} has {listed(price) if price else 'nothing'}; "
            f"it takes exactly 'price' and 'for', as in {AS_IN}"
        )


def _amount(name: str, value: object) -> float:
    try:
        amount = math.nan if isinstance(value, bool) else float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        amount = math.nan
    if not math.isfinite(amount) or amount < 0:
        raise AskwiseError(
            f"the price of {name!r} is {shortened(value)}; what is shared costs a number above 0, or 0 if it is paid "
            "already"
        )
    return amount


def _groups(
    name: str, members: object, columns: Sequence[str], group_of: Mapping[str, str], free: Sequence[str]
) -> list[str]:
    """The groups that share a price, each named by itself, by one of its columns, or by a column's position."""
    if isinstance(members, (str, Mapping)) or not isinstance(members, Iterable):
        raise AskwiseError(f"'for' of the shared price {name!r} takes a list of names, was given {shortened(members)}")
    found: dict[str, str] = {}
    for member in members:
        text = _column_at(member, columns)
        if text in free:
            raise AskwiseError(f"{text!r} in 'for' of the shared price {name!r} is a free column, which costs nothing")
        if text not in group_of:
            raise unknown_name(f"column or group in 'for' of {name!r}:", member, group_of)
        group = group_of[text]
        if group in found:
            again = "twice" if found[group] == text else f"as {found[group]!r} and as {text!r}"
            raise AskwiseError(f"'for' of the shared price {name!r} names {group!r} {again}; keep one")
        found[group] = text
    if not found:
        raise AskwiseError(f"'for' of the shared price {name!r} is empty; name the columns or groups that need it")
    return list(found)
