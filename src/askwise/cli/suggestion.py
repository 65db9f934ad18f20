"""The rule to try first with a model, and why, in words."""

from __future__ import annotations

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
    """Return the rule at which the frontier of the validation rows bends. unit: what is asked, one of it."""
    from askwise.evaluation.bend import loss_of, suggested_rule

    loss = loss_of(frontier)
    name = "log loss" if loss == "log_loss" else "RMSE"
    ordered = frontier.sort_values("mean_cost")
    nothing, everything = ordered.iloc[0], ordered.iloc[-1]
    found = suggested_rule(frontier)
    if found is None:
        before, after = (show.format_metric(loss, record[loss]) for record in (nothing, everything))
        return Suggestion(
            None, f"asking brings nothing on the rows held out ({name} {before} before, {after} with everything)"
        )
    rule, bend = found
    return Suggestion(rule, _why(bend, everything, name, unit))


def _why(bend: Bend, everything: Any, name: str, unit: str) -> str:
    units = "patches" if unit == "patch" else f"{unit}s"
    asked, most = (show.format_number(round(number, 1)) for number in (bend.groups, everything["mean_groups"]))
    brings = (
        "more than everything"
        if bend.gain_share is None or bend.gain_share > 1.005
        else f"{bend.gain_share:.0%} of what everything brings"
    )
    said = f"{asked} of {most} {units} ({bend.cost_share:.0%} of the cost) bring {brings} in {name}"
    return f"{said}; the curve has no bend, each {unit} brings about as much" if bend.is_straight else said
