"""One order of questions for everybody: what a budget buys of it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from askwise.core.arrays import Array
from askwise.core.stopping import Budget


class Bought(NamedTuple):
    """What each row knows at a budget, (rows, groups), and what it paid, (rows,)."""

    known: Array
    spent: Array


def order_of(importance: Array, costs: Array) -> Array:
    """The groups from the most important per price on; exact ties go to the cheaper group, then to the first."""
    return np.lexsort((costs, -np.maximum(importance, 0.0) / costs))


def buy(order: Array, available: Array, costs: Array, budget: float) -> Bought:
    """Buy down the order: what can't be had in a row, or does not fit into what is left, is left out there."""
    rule = Budget(budget)
    known, spent = np.zeros_like(available), np.zeros(len(available))
    for group in order:
        takes = available[:, group] & rule.allows(spent, costs[group])[:, 0]
        known[:, group] = takes
        spent = spent + takes * costs[group]
    return Bought(known, spent)
