"""What is done about gaps that tell the answer: which groups are corrected, and how much every state then counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from askwise.core.arrays import Array
from askwise.core.features import FeatureSpace
from askwise.core.row_weights import effective_rows
from askwise.core.rows import Rows
from askwise.core.tasks import Classification, Task
from askwise.data.tables.gaps import GroupGaps, answer_cuts, flagged_gaps
from askwise.data.tables.presence_model import PresenceModel
from askwise.methods.preparation import Prepared
from askwise.training.gap_weights import GapWeights, free_entries
from askwise.training.weights import StateWeights

MISSING = ("auto", "ignore", "correct", "evidence")


def groups_to_correct(missing: str, gaps: Sequence[GroupGaps]) -> list[str]:
    """The groups whose gaps are corrected: those that are flagged, or all that have gaps."""
    corrected = {"auto": flagged_gaps(gaps), "correct": gaps}.get(missing, [])
    return [group.group for group in corrected]


def gap_weights(space: FeatureSpace, task: Task, names: Sequence[str], rows: Rows) -> GapWeights:
    """Weights fitted to these rows, which have answers, against the gaps of the groups of these names."""
    assert rows.y is not None
    groups = np.array(sorted(space.position[name] for name in names), dtype=np.int64)
    answers, n_answers, cuts = _answers(task, rows.y.cpu().numpy())
    present = space.available(rows.present).cpu().numpy()[:, groups]
    free = rows.x[:, free_entries(space)].cpu().numpy()
    weight = None if rows.weight is None else rows.weight.cpu().numpy()
    model = PresenceModel.fit(present, answers, n_answers, weight, free if free.shape[1] else None)
    return GapWeights(space, groups, model, cuts)


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


def _answers(task: Task, y: Array) -> tuple[Array, int, Array]:
    """The number of each row's answer, how many there are, and the numbers between which one lies."""
    if isinstance(task, Classification):
        return y, task.n_outputs, np.empty(0)
    cuts = answer_cuts(y.astype(np.float64))
    return np.searchsorted(cuts, y, side="right"), len(cuts) + 1, cuts
