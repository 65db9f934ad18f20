"""Where to evaluate rules: thresholds and budgets that cover the range of costs."""

from __future__ import annotations

import numpy as np

from askwise.core.arrays import Array
from askwise.core.costs import are_equal, total_cost
from askwise.core.rows import evenly

# Sorting more values than this, to spread thresholds among them, would take long and gain nothing.
MOST_LEVELS = 1_000_000
# So many groups are each asked about in a table of average costs.
FEW_GROUPS = 20


def thresholds(signal: Array, spent: Array, points: int) -> list[float]:
    """Thresholds, falling, of a signal (steps, rows) that spread the mean cost of stopping below them.

    A row that stops once its signal is below v has paid for every step up to which the signal stayed at v or above;
    so the steps of all rows, sorted by the lowest signal so far, add up to the exact mean cost at each threshold.
    """
    # Where to put the thresholds, some of the rows tell: what each of them spends is counted on all.
    some = evenly(signal.shape[1], max(200, MOST_LEVELS // len(signal))).numpy()
    signal, spent = signal[:, some], spent[:, some]
    lowest = np.minimum.accumulate(signal, axis=0, dtype=np.float64)[:-1]
    paid = np.diff(spent, axis=0)
    counts = (paid > 0) & np.isfinite(lowest)
    if not counts.any():
        return [0.0]
    # Equal values may come in any order: only the last of them counts.
    order = np.argsort(-lowest[counts])
    values = lowest[counts][order]
    cost = np.cumsum(paid[counts][order]) / signal.shape[1]
    last_of_equals = np.r_[values[1:] != values[:-1], True]
    cost = np.r_[0.0, cost[last_of_equals]]
    # Just below the values that occur: a threshold that equals a row's value would be met or missed by rounding,
    # and the same row could stop in a batch and go on in a session.
    levels = np.r_[values[0] * 1.001 + 1e-12, values[last_of_equals] * (1 - 1e-4)]
    # What is hardly a number in float32 is nothing.
    levels[levels < 1e-30] = 0.0
    levels[-1] = 0.0
    # Most of them in equal ratios, the rest evenly: metrics change most where little is spent.
    even = points // 4
    ratios = points - even
    wanted = np.r_[np.linspace(0, cost[-1], even), np.geomspace(max(cost[1], cost[-1] / 1000), cost[-1], ratios)]
    return [float(levels[k]) for k in np.unique(np.searchsorted(cost, wanted * (1 + 1e-9), side="right") - 1)]


def budgets(prices: tuple[float, ...], points: int = 20) -> list[float]:
    """Budgets from nothing to everything: each whole number of groups where costs are equal and few."""
    total = total_cost(prices)
    if are_equal(prices):
        counts = np.unique(np.round(np.r_[0:6, np.geomspace(5, len(prices), points)]).astype(int))
        return [float(c * prices[0]) for c in counts if c <= len(prices)]
    return [0.0, *np.unique(np.r_[np.geomspace(min(prices), total, points), total]).tolist()]


def average_costs(prices: tuple[float, ...], everything: float, points: int) -> list[float]:
    """Average costs below that of everything: those of budgets, small whole numbers of groups, and others between."""
    least = min(prices) / 4 if are_equal(prices) else min(prices)
    between = np.geomspace(least, max(everything, least), points)
    # Of three digits, since people read them.
    rounded = [float(f"{k:.3g}") for k in between]
    whole = [count * prices[0] for count in range(1, FEW_GROUPS + 1)] if are_equal(prices) else []
    return [0.0, *(k for k in sorted({*rounded, *whole, *budgets(prices)}) if 0 < k < everything)]
