"""The area under a curve of a metric over cost."""

from __future__ import annotations

import numpy as np
import pandas as pd


def area_under_curve(table: pd.DataFrame, metric: str, most: float | None = None, first: float = 0.0) -> float:
    """Mean of a metric over cost, from 0 to `most` (default: the largest cost in the table), by the trapezoid rule.

    The definition is the same for every stopping rule. Straight lines join the points of the table. From 0 to `first`
    the metric is held at its value at cost `first`; beyond the last point it is held at its last value.

    first: the smallest cost at which every curve of a comparison is measured. The curves of `model.curve` are all
    measured at cost 0, where nothing is asked. Those of `askwise compare` are measured from the first budget on: a
    penalty may have a point below it, a budget has none, and both are held back from the first budget to cost 0.
    """
    points = table.sort_values("mean_cost")
    cost, value = points["mean_cost"].to_numpy(), points[metric].to_numpy()
    end = float(cost[-1] if most is None else most)
    if end <= 0:
        return float(value[-1])
    start = min(first, end)
    at = np.unique(np.r_[start, cost[(cost > start) & (cost < end)], end])
    heights = np.interp(at, cost, value)
    return float((heights[0] * start + np.trapezoid(heights, at)) / end)
