"""Estimates of information beside what the answers brought."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from askwise.core.arrays import Array
from askwise.core.rows import Rows
from askwise.core.stopping import Budget
from askwise.core.tasks import Classification, entropy
from askwise.core.walk import walk
from askwise.evaluation.metrics import equal_mass_bins
from askwise.model.model import Model
from askwise.model.session_model import Costs

if TYPE_CHECKING:
    from pandas.core.groupby import DataFrameGroupBy


@torch.no_grad()
def realised(
    model: Model, rows: Rows, y: Array, budget: float, costs: Costs = None, which: Tensor | None = None
) -> pd.DataFrame:
    """What each question on the greedy path up to a budget promised, and what its answer brought.

    which: positions of rows (default: all). One record a question: row, step (from 1), asked, predicted (its estimated
    information), largest (the largest estimate of any open group), loss_reduction; of classes also entropy, that of
    the prediction before asking, and entropy_reduction. Losses are cross entropy in nats, or squared errors.
    Information is never negative, so an estimate below 0 promises 0, as in `step.value_per_cost`, which chooses.
    Where rows have weights, the column weight has them.
    """
    chosen = torch.arange(len(rows)) if which is None else which
    prices = model.prices(model.costs(costs))
    n_groups = model.schema.space.n_groups
    answers = model.task.encode(y)
    parts = []
    for start in range(0, len(chosen), 4096):
        some = chosen[start : start + 4096]
        batch, target = model.place(rows.take(some)), answers[some].to(model.device)
        states: dict[str, list[Array]] = {}
        for step in walk(model.running_policy, batch, prices, n_groups + 1, Budget(budget)):
            assert step.belief.scores is not None
            scores = step.belief.scores.clamp_min(0)
            found = {
                "asks": step.can_ask,
                "group": step.choice,
                "predicted": scores.gather(1, step.choice[:, None])[:, 0],
                "largest": scores.masked_fill(~step.open, 0).max(1).values,
                "loss": model.task.loss(step.belief.outputs, target),
            }
            if isinstance(model.task, Classification):
                found["entropy"] = entropy(step.belief.outputs)
            for name, values in found.items():
                states.setdefault(name, []).append(values.cpu().numpy())
            if not bool(step.can_ask.any()):
                break
        parts.append(_records({name: np.stack(v) for name, v in states.items()}, some.numpy(), model))
    found = pd.concat(parts, ignore_index=True)
    return found if rows.weight is None else found.assign(weight=rows.weight.double().numpy()[found["row"]])


def _records(states: dict[str, Array], rows: Array, model: Model) -> pd.DataFrame:
    """One record for each question that was asked, row by row, from states (steps + 1, rows)."""
    position, step = np.nonzero(states["asks"][:-1].T)
    at, after = (step, position), (step + 1, position)
    names = np.array(model.schema.space.names, dtype=object)
    table = {"row": rows[position], "step": step + 1, "asked": names[states["group"][at]]}
    table |= {name: states[name][at] for name in ("predicted", "largest", "entropy") if name in states}
    for name in ("loss", "entropy"):
        if name in states:
            table[f"{name}_reduction"] = states[name][at] - states[name][after]
    return pd.DataFrame(table)


def realised_bins(questions: pd.DataFrame) -> pd.DataFrame:
    """Questions in at most ten equal bins of what they promised: n, mean predicted and reductions, standard errors."""
    if questions.empty:
        return pd.DataFrame()
    reductions = [name for name in ("loss_reduction", "entropy_reduction") if name in questions]
    found = []
    for _, part in by_bin(questions, "predicted"):
        weight = _weights(part)
        record: dict[str, float] = {"n": len(part), "predicted": np.average(part["predicted"], weights=weight)}
        for name in reductions:
            mean = float(np.average(part[name], weights=weight))
            error = _error(weight * (part[name] - mean), _independent(part), float(weight.sum()))
            record |= {name: mean, f"{name}_error": error}
        found.append(record)
    return pd.DataFrame(found)


def _weights(table: pd.DataFrame) -> pd.Series[float]:
    """How much each record counts."""
    return table["weight"] if "weight" in table else pd.Series(1.0, table.index)


def _independent(questions: pd.DataFrame) -> pd.Series[Any]:
    """What stands by itself: the person of each question where it is known, else its row."""
    return questions["person" if "person" in questions else "row"]


def _error(residuals: pd.Series[Any], rows: pd.Series[Any], over: float) -> float:
    """The standard error of an estimate whose deviation is the sum of the residuals divided by `over`.

    Questions of one row are not independent, so the sums of whole rows are counted. One row tells nothing: NaN.
    """
    of_rows = residuals.groupby(rows).sum().to_numpy()
    if len(of_rows) < 2 or over == 0:
        return np.nan
    return float(np.sqrt((of_rows**2).sum() * len(of_rows) / (len(of_rows) - 1)) / over)


def estimates_summary(questions: pd.DataFrame) -> dict[str, float]:
    """Realised over predicted, the slope of one on the other, each with its error, and the share above H(y|x_S).

    Realised over predicted is the mean reduction of loss over the mean estimate: below 1, estimates promise too much.
    The slope is that of a line through both: below 1, large estimates are too large beside small ones. The share, of
    classes only, is that of the moments in which the largest estimate is above the entropy of the prediction, which
    no information can exceed.
    """
    predicted, brought, rows = questions["predicted"], questions["loss_reduction"], _independent(questions)
    weight = _weights(questions)
    away = predicted - (weight * predicted).sum() / weight.sum()
    total, spread = float((weight * predicted).sum()), float((weight * away**2).sum())
    ratio = float((weight * brought).sum()) / total if total else np.nan
    slope = float((weight * away * brought).sum()) / spread if spread else np.nan
    unexplained = brought - (weight * brought).sum() / weight.sum() - slope * away
    numbers = {
        "realised_over_predicted": ratio,
        "realised_over_predicted_error": _error(weight * (brought - ratio * predicted), rows, total),
        "slope": slope,
        "slope_error": _error(weight * away * unexplained, rows, spread),
    }
    if "entropy" in questions:
        above = questions["largest"] > questions["entropy"]
        numbers["share_above_entropy"] = float((weight * above).sum() / weight.sum())
    return numbers


def by_bin(table: pd.DataFrame, by: str) -> DataFrameGroupBy[Any, Any]:
    """The records of a table in at most ten bins of about equally many, by one of its columns."""
    return table.groupby(equal_mass_bins(table[by].to_numpy(), _weights(table).to_numpy()[None])[0])
