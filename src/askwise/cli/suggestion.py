"""The rule to try first with a model, and why, in words."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from askwise.cli import show

if TYPE_CHECKING:
    import pandas as pd

    from askwise.evaluation.bend import Bend


@dataclass(frozen=True)
class Suggestion:
    """A rule as text, None where asking brings nothing, and why it is suggested."""

    rule: str | None
    why: str


def suggest(frontier: pd.DataFrame, unit: str = "question") -> Suggestion:
    """Return the rule at which the frontier of the validation rows bends, by the loss.

    It is an average cost, or a budget if a method's scores are only an order. unit: what is asked, one of it.
    """
    from askwise.evaluation.bend import find_bend
    from askwise.evaluation.metrics import all_metrics

    loss = "log_loss" if "log_loss" in frontier else "rmse"
    name = all_metrics()[loss].short.lower() if loss == "log_loss" else "RMSE"
    ordered = frontier.sort_values("mean_cost")
    nothing, everything = ordered.iloc[0], ordered.iloc[-1]
    bend = find_bend(frontier, loss)
    if bend is None:
        values = (show.format_metric(loss, record[loss]) for record in (nothing, everything))
        return Suggestion(
            None, "asking brings nothing on the rows held out: {} {} before, {} after".format(name, *values)
        )
    rule = "average-cost" if "penalty" in frontier else "budget"
    record = frontier.loc[bend.index]
    cost = record["average_cost"] if "average_cost" in frontier else record["mean_cost"]
    return Suggestion(f"{rule}={_rounded_up(cost)}", _why(bend, everything, name, unit))


def _why(bend: Bend, everything: Any, name: str, unit: str) -> str:
    most, units = float(everything["mean_groups"]), "patches" if unit == "patch" else f"{unit}s"
    asked = f"{show.format_number(round(bend.groups, 1))} of {show.format_number(round(most, 1))} {units}"
    brings = (
        "more than everything"
        if bend.gain_share is None or bend.gain_share > 1.005
        else f"{bend.gain_share:.0%} of what everything brings"
    )
    said = f"{asked} ({bend.cost_share:.0%} of the cost) bring {brings} in {name}"
    return f"{said}; the curve has no bend, each {unit} brings about as much" if bend.is_straight else said


def _rounded_up(cost: float) -> str:
    """Write a cost with three digits, not below it."""
    step = 10.0 ** (math.floor(math.log10(cost)) - 2)
    return f"{math.ceil(cost / step * (1 - 1e-9)) * step:.4g}"
