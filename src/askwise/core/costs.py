"""Costs as numbers: one for each group, and amounts that several groups share and that are paid once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple


class SharedCost(NamedTuple):
    """An amount that is paid once, with the first of these groups (by number) that is asked."""

    name: str
    price: float
    groups: tuple[int, ...]


class SharedCosts(tuple[float, ...]):
    """What each group costs while nothing is known, where some of that is shared.

    own: the costs of the groups alone. shared: what is paid once for several of them. A tuple of numbers, as costs are
    that share nothing; two are equal only if their parts are.
    """

    own: tuple[float, ...]
    shared: tuple[SharedCost, ...]

    def __new__(cls, own: Iterable[float], shared: Iterable[SharedCost]) -> SharedCosts:
        own, shared = tuple(own), tuple(shared)
        start = (cost + sum(s.price for s in shared if g in s.groups) for g, cost in enumerate(own))
        made = super().__new__(cls, start)
        made.own, made.shared = own, shared
        return made

    def __getnewargs__(self) -> tuple[tuple[float, ...], tuple[SharedCost, ...]]:
        return self.own, self.shared

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SharedCosts) and (self.own, self.shared) == (other.own, other.shared)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((self.own, self.shared))


def join_costs(own: Iterable[float], shared: Iterable[SharedCost]) -> tuple[float, ...]:
    """Costs of groups with what they share; a plain tuple where that is nothing."""
    amounts = tuple(sorted(s for s in shared if s.price > 0))
    return SharedCosts(own, amounts) if amounts else tuple(own)


def own_costs(costs: Sequence[float]) -> tuple[float, ...]:
    """The costs of the groups without what they share."""
    return costs.own if isinstance(costs, SharedCosts) else tuple(costs)


def shared_costs(costs: Sequence[float]) -> tuple[SharedCost, ...]:
    """What groups share, by name; nothing for most costs."""
    return costs.shared if isinstance(costs, SharedCosts) else ()


def are_equal(costs: Sequence[float]) -> bool:
    """Whether all groups cost the same, whatever is known."""
    return not isinstance(costs, SharedCosts) and len(set(costs)) == 1


def total_cost(costs: Sequence[float]) -> float:
    """What everything costs: what is shared counts once."""
    return sum(own_costs(costs)) + sum(s.price for s in shared_costs(costs))


def shared_facts(names: Sequence[str], costs: Sequence[float]) -> list[dict[str, Any]]:
    """What is paid once for several groups of these names: what it is called, its price, and the groups."""
    return [{"name": s.name, "price": s.price, "for": [names[g] for g in s.groups]} for s in shared_costs(costs)]


def costs_to_dict(costs: Sequence[float]) -> dict[str, Any]:
    """Costs as JSON holds them: `costs` of the groups and, only where there is something, what is `shared`."""
    shared = {s.name: {"price": s.price, "for": list(s.groups)} for s in shared_costs(costs)}
    return {"costs": list(own_costs(costs))} | ({"shared": shared} if shared else {})


def costs_from_dict(data: Mapping[str, Any]) -> tuple[float, ...]:
    """Costs from what `costs_to_dict` gave."""
    shared = data.get("shared", {})
    return join_costs(data["costs"], (SharedCost(name, s["price"], tuple(s["for"])) for name, s in shared.items()))
