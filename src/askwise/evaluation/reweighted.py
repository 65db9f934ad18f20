"""Rows with the gaps of a model's training, weighed so that being recorded says nothing: as in use."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pandas as pd

from askwise.core.arrays import Array
from askwise.core.rows import Rows
from askwise.data.tables.gaps import flagged_gaps
from askwise.evaluation.curves import curve
from askwise.evaluation.metrics import as_labelled
from askwise.model.model import Model
from askwise.model.session_model import Costs
from askwise.training.gap_weights import GapWeights


def gaps_to_weigh(model: Model, rows: Rows) -> list[str]:
    """The groups whose gaps told the answer in training, or were corrected there, and that some of these rows lack."""
    told = {group.group for group in flagged_gaps(model.gaps)}
    told |= set(model.card.get("corrected", {}).get("groups", []))
    if not told:
        return []
    space = model.schema.space
    recorded = space.recorded(rows.present)
    share = recorded.double().mean(0).tolist()
    return [name for name, part in zip(space.names, share, strict=True) if name in told and 0 < part < 1]


def with_answers(model: Model, rows: Rows, y: Array) -> Rows:
    """The rows with their answers."""
    return replace(rows, y=model.task.encode(as_labelled(model.task, y)))


def weights_against_gaps(model: Model, rows: Rows) -> GapWeights | None:
    """Weights of the states of these rows, which have answers; None if there are no such gaps."""
    names = gaps_to_weigh(model, rows)
    return GapWeights.fit(model.schema.space, model.task, names, rows) if names else None


@dataclass(frozen=True)
class Reweighted:
    """A curve of rows that are weighed against the gaps of these groups."""

    groups: list[str]
    curve: pd.DataFrame


def reweighted_curve(model: Model, rows: Rows, y: Array, costs: Costs = None) -> Reweighted | None:
    """The curve of rows weighed against the gaps that told the answer in training; None if they have no such gaps."""
    rows = with_answers(model, rows, y)
    states = weights_against_gaps(model, rows)
    if states is None:
        return None
    names = [model.schema.space.names[group] for group in states.selective_groups]
    return Reweighted(names, curve(model, rows, y, costs, states=states))
