"""Which of two labels is to be found: the rarer one in training, so that it stays the same whatever it is tested on."""

from __future__ import annotations

from askwise.core.tasks import Classification
from askwise.model.model import Model


def label_to_find(model: Model) -> int | None:
    """The position of the label of two that is to be found: the rarer one in training, else the second.

    None if there are not two labels, or if the model's file is of an earlier version and does not tell how frequent
    they were: then the rows decide (`ranked.position_to_find`).
    """
    shares = model.card.get("prevalence")
    if not isinstance(model.task, Classification) or len(model.task.labels) != 2 or shares is None:
        return None
    return 0 if shares[0] < shares[1] else 1
