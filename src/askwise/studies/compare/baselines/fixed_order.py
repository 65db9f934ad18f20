"""One order of questions for everybody: what a budget buys of it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from askwise.core.arrays import Array
from askwise.core.prices import Prices
from askwise.core.stopping import Budget


class Bought(NamedTuple):
    """What each row knows at a budget, (rows, groups), and what it paid, (rows,)."""

    known: Array
    spent: Array


def order_of(importance: Array, prices: Prices) -> Array:
    """The groups from the most important per price on; exact ties go to the cheaper group, then to the first.

    Prices are those of the moment: what groups share is paid with the first of them.
    """
    known, order = np.zeros((1, len(importance)), dtype=bool), []
    for _ in importance:
        costs = np.broadcast_to(prices.of(known), known.shape)[0]
        value = np.where(known[0], -np.inf, np.maximum(importance, 0.0) / costs)
        order.append(int(np.lexsort((costs, -value))[0]))
        known[0, order[-1]] = True
    return np.array(order)


def buy(order: Array, available: Array, prices: Prices, budget: float) -> Bought:
    """Buy down the order: what can't be had in a row, or does not fit into what is left, is left out there."""
    rule = Budget(budget)
    known, spent = np.zeros_like(available), np.zeros(len(available))
    for group in order:
        cost = np.broadcast_to(prices.of_choice(known, np.full(len(known), group)), spent.shape)
        takes = available[:, group] & rule.allows(spent, cost[:, None])[:, 0]
        known[:, group] = takes
        spent = spent + takes * cost
    return Bought(known, spent)
