"""What is done about gaps that tell the answer: which groups are corrected, and how much every state then counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from askwise.core.row_weights import effective_rows
from askwise.data.tables.gaps import GroupGaps, flagged_gaps
from askwise.methods.preparation import Prepared
from askwise.training.gap_weights import GapWeights
from askwise.training.weights import StateWeights

MISSING = ("auto", "ignore", "correct", "evidence")


def groups_to_correct(missing: str, gaps: Sequence[GroupGaps]) -> list[str]:
    """The groups whose gaps are corrected: those that are flagged, or all that have gaps."""
    corrected = {"auto": flagged_gaps(gaps), "correct": gaps}.get(missing, [])
    return [group.group for group in corrected]


def facts_of_gaps(missing: str, data: Prepared, weights: StateWeights) -> dict[str, Any]:
    """What a model's card tells: what was made of gaps, and what weighing them leaves of the rows."""
    if not data.gaps:
        return {}
    facts: dict[str, Any] = {"missing": missing}
    if isinstance(weights, GapWeights):
        names = [data.schema.space.names[group] for group in weights.selective_groups]
        known = weights.to(data.train.x.device)(data.train, weights.tries(data.train), data.train.row_weight)
        rows = effective_rows(known.double().numpy(), len(known))
        facts["corrected"] = {"groups": names, "effective_rows": round(rows, 1)}
    return facts
