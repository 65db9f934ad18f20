"""Where a curve of what asking brings bends: the point to start with, and why, in words."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from askwise.core.arrays import Array
from askwise.evaluation.metrics import OfMetrics

# A suggestion spends at most this share of what everything costs.
MOST_SPENT = 0.8
# A curve whose best point lies nearer to the chord than this share of all gain has no bend.
FLATTEST = 0.05
# Asking that takes less than this share off the loss, or adds less than this to a share or AUROC, brings nothing.
NOTHING = 0.01


@dataclass(frozen=True)
class Bend:
    """A point of a curve.

    index: its label in the table; cost_share, gain_share: of what everything costs and brings; gain_share is None where
    everything brings less than nothing. is_straight: the curve has no bend, and this is its end at 80 % of the cost.
    """

    index: int
    cost: float
    groups: float
    cost_share: float
    gain_share: float | None
    is_straight: bool


def find_bend(table: pd.DataFrame, metric: str) -> Bend | None:
    """The point of a curve furthest above the chord from nothing to everything, of those that spend at most 80 %.

    None where asking brings nothing. Where no point that asks spends so little, it is the cheapest of them.
    """
    ordered = table.sort_values("mean_cost", kind="stable")
    cost, gain = ordered["mean_cost"].to_numpy(float), gains(ordered, metric)
    most, everything = float(cost[-1]), float(gain[-1])
    asks = (cost > 0) & np.isfinite(gain)
    if not asks.any() or not brings_anything(ordered, metric):
        return None
    can_be = asks & (cost <= max(MOST_SPENT * most, cost[asks][0]) * (1 + 1e-9))
    above = np.where(can_be, gain - everything * cost / most, -np.inf)
    at = int(above.argmax())
    is_straight = bool(above[at] < FLATTEST * np.nanmax(gain))
    if is_straight:
        at = int(np.flatnonzero(can_be)[-1])
    gained = float(gain[at]) / everything if everything > 0 else None
    return Bend(
        ordered.index[at], cost[at], float(ordered["mean_groups"].iloc[at]), cost[at] / most, gained, is_straight
    )


def suggested_rule(frontier: pd.DataFrame) -> tuple[str, Bend] | None:
    """The rule at which a frontier bends, by the loss, as text; None where asking brings nothing.

    It is an average cost, or a budget if a method's scores are only an order.
    """
    bend = find_bend(frontier, loss_of(frontier))
    if bend is None:
        return None
    record = frontier.loc[bend.index]
    cost = record["average_cost"] if "average_cost" in frontier else record["mean_cost"]
    return f"{'average-cost' if 'penalty' in frontier else 'budget'}={_rounded_up(float(cost))}", bend


def loss_of(table: pd.DataFrame) -> str:
    """The loss that a curve or frontier has."""
    return "log_loss" if "log_loss" in table else "rmse"


def _rounded_up(cost: float) -> str:
    """A cost with three digits, not below it."""
    step = 10.0 ** (math.floor(math.log10(cost)) - 2)
    return f"{math.ceil(cost / step * (1 - 1e-9)) * step:.4g}"


def gains(ordered: pd.DataFrame, metric: str) -> Array:
    """How much better each point is than the one that spends least, in order of rising cost."""
    sign = 1 if _HIGHER_IS_BETTER[metric] else -1
    value = ordered[metric].to_numpy(float)
    return np.asarray(sign * (value - value[0]))


def brings_anything(ordered: pd.DataFrame, metric: str) -> bool:
    """Whether some point is better than asking nothing by more than a hundredth: of a loss, or of a share."""
    gain = gains(ordered, metric)
    start = float(ordered[metric].iloc[0])
    least = NOTHING if _HIGHER_IS_BETTER[metric] else NOTHING * abs(start)
    return bool(np.isfinite(gain).any() and np.nanmax(gain) > least)


_HIGHER_IS_BETTER = OfMetrics(lambda metric: metric.higher_is_better)
