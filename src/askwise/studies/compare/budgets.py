"""The budgets that methods are compared at."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from askwise.core.arrays import Array
from askwise.core.costs import are_equal, total_cost
from askwise.core.errors import AskwiseError
from askwise.core.prices import Prices
from askwise.studies.compare.data import Dataset

# From these numbers of groups the budgets of equal costs are taken, and so many where costs differ.
COUNTS = (1, 2, 3, 5, 8, 12, 20)
N_BUDGETS = 8


def budgets_for(dataset: Dataset, given: Sequence[float] | None = None) -> tuple[float, ...]:
    """The budgets to compare at: those given that do not exceed the price of everything, or some that suit the costs.

    Of equal costs 1, 2, 3, 5, ... of them; else a few in about equal ratios, from the cheapest group to everything,
    each the price of one group or of the cheapest ones together, so that none is just missed.
    """
    costs = dataset.schema.space.costs
    total, least = total_cost(costs), min(costs)
    if given is not None:
        within = tuple(sorted({float(k) for k in given if k <= total * (1 + 1e-9)}))
        if not within:
            raise AskwiseError(
                f"{dataset.name}: every budget is above {total:g}, the price of everything; give lower ones"
            )
        return within
    if are_equal(costs):
        return tuple(float(c * least) for c in COUNTS if c <= len(costs))
    # Sums such as 0.1 + 0.2 are written as they are meant.
    sums = {float(f"{k:.9g}") for k in (*costs, *_cheapest_together(costs))}
    worth = np.array(sorted(k for k in sums if k < total * (1 - 1e-8)))
    if len(worth) < N_BUDGETS:
        return (*(float(k) for k in worth), float(total))
    targets = np.geomspace(least, total, N_BUDGETS)[:-1]
    above = np.searchsorted(worth, targets * (1 - 1e-8))
    return (*sorted({float(worth[i]) for i in above if i < len(worth)}), float(total))


def _cheapest_together(costs: Sequence[float]) -> Array:
    """What the cheapest group costs, the two cheapest, and so on: each time the cheapest given those before."""
    prices, known = Prices.array(costs), np.zeros((1, len(costs)), dtype=bool)
    paid = []
    for _ in costs:
        now = np.where(known, np.inf, prices.of(known))[0]
        paid.append(now.min())
        known[0, now.argmin()] = True
    return np.cumsum(paid)
