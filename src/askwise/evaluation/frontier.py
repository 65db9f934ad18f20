"""The frontier: what every penalty spends and brings."""

from __future__ import annotations

import numpy as np
import pandas as pd
import torch

from askwise.core.arrays import Array
from askwise.core.rows import Rows, evenly
from askwise.core.stopping import Penalty
from askwise.core.trace import Trace
from askwise.evaluation.curves import curve, curve_of_trace, record
from askwise.evaluation.metrics import coded
from askwise.evaluation.thresholds import are_equal, thresholds
from askwise.model.model import Model
from askwise.model.session_model import Costs

# Penalties to look an average cost up among.
FINE_POINTS = 2000

# Rows of the curve that a model keeps.
KEPT_ROWS = 1000


def frontier(model: Model, rows: Rows, y: Array, costs: Costs = None, points: int = 200) -> pd.DataFrame:
    """Penalty against mean cost, mean number of groups and metrics, from asking everything to asking nothing."""
    trace = model.trace(rows, [None], model.costs(costs))
    return _frontier(model, trace, coded(model.task, y), points)


def keep_frontier(model: Model, rows: Rows, y: Array, costs: Costs = None) -> pd.DataFrame:
    """Have a model keep the frontier and the curve of these rows, and what it spends at ten times as many penalties.

    Where scores are only an order there are no penalties: the frontier is then of budgets.
    """
    prices = model.costs(costs)
    if not model.policy.is_information:
        model.curves[prices] = table = curve(model, rows, y, costs)
        kept = table[table["rule"] == "budget"].drop(columns="rule").rename(columns={"parameter": "budget"})
        model.frontiers[prices] = kept.reset_index(drop=True)
        return model.frontiers[prices]
    trace, truth = model.trace(rows, [None], prices), coded(model.task, y)
    # Unequal prices take a walk for each budget.
    if model.policy.capabilities.cheap_scores or are_equal(prices):
        some = evenly(len(rows), KEPT_ROWS)
        model.curves[prices] = curve_of_trace(model, rows.take(some), truth[some.numpy()], trace.take(some), prices)
    penalties = thresholds(trace.best.numpy(), trace.spent.numpy(), FINE_POINTS)
    # Row by row: all stops of all rows at once would fill gigabytes.
    stops = Penalty.steps_of_many(trace.best.numpy(), penalties)
    cost = sum(spent[at] for spent, at in zip(trace.spent.numpy().T, stops, strict=True))
    model.frontiers[prices] = _frontier(model, trace, truth, 200)
    model.spending[prices] = pd.DataFrame({"penalty": penalties, "mean_cost": cost / len(rows)})
    return model.frontiers[prices]


def _frontier(model: Model, trace: Trace, truth: Array, points: int) -> pd.DataFrame:
    penalties = thresholds(trace.best.numpy(), trace.spent.numpy(), points)
    stops = torch.from_numpy(np.array(list(Penalty.steps_of_many(trace.best.numpy(), penalties))).T)
    records = [record(model, trace, Penalty(lam), at, truth) for lam, at in zip(penalties, stops, strict=True)]
    table = pd.DataFrame(records).drop(columns="rule").rename(columns={"parameter": "penalty"})
    return table.drop_duplicates("mean_cost", keep="first").reset_index(drop=True)
