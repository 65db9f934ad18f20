"""A model's card: how it was trained."""

from __future__ import annotations

import platform
from dataclasses import asdict
from typing import Any

import torch

from askwise._version import __version__
from askwise.evaluation import metrics
from askwise.methods.preparation import Prepared
from askwise.model.model import Model
from askwise.training.loop import Training


def make_card(model: Model, data: Prepared, training: Training, seconds: float) -> dict[str, Any]:
    """The card of a model that was trained on this data in so many seconds; what gaps tell, if there are any."""
    with_everything = model.task.decode(model.outputs(data.val))
    card = {
        "askwise": __version__,
        "torch": torch.__version__,
        "python": platform.python_version(),
        "rows_trained": len(data.train),
        "rows_validated": len(data.val),
        "seconds": round(seconds, 1),
        "epochs": {s: sum(h["stage"] == s for h in training.history) for s in training.stages},
        "validation": metrics.metrics(model.task, with_everything, metrics.coded(model.task, data.val_answers)),
    }
    return card | ({"gaps": [asdict(group) for group in data.gaps]} if data.gaps else {})
