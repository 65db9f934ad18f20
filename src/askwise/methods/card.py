"""A model's card: how it was trained."""

from __future__ import annotations

import platform
from dataclasses import asdict
from typing import Any

import numpy as np
import torch

from askwise._version import __version__
from askwise.core.arrays import Array
from askwise.core.row_weights import effective_rows
from askwise.core.rows import Rows
from askwise.core.tasks import Classification
from askwise.evaluation import metrics
from askwise.evaluation.weights import RowWeights
from askwise.methods.preparation import Prepared
from askwise.model.model import Model
from askwise.training.loop import Training


def make_card(model: Model, data: Prepared, training: Training, seconds: float) -> dict[str, Any]:
    """The card of a model that was trained on this data in so many seconds.

    It tells the prevalence of labels and, if there are any, what gaps tell, and how many equal rows weighted ones are
    worth.
    """
    with_everything, truth = model.task.decode(model.outputs(data.val)), metrics.coded(model.task, data.val_answers)
    card = {
        "askwise": __version__,
        "torch": torch.__version__,
        "python": platform.python_version(),
        "rows_trained": len(data.train),
        "rows_validated": len(data.val),
        "seconds": round(seconds, 1),
        "epochs": {s: sum(h["stage"] == s for h in training.history) for s in training.stages},
        "validation": metrics.metrics(model.task, with_everything, truth, weights=_validation_weights(data, training)),
    }
    if data.train.weight is not None or data.val.weight is not None:
        card["effective_rows"] = {"trained": _effective(data.train), "validated": _effective(data.val)}
    if isinstance(model.task, Classification):
        card["prevalence"] = _prevalence(data.train, model.task)
    return card | ({"gaps": [asdict(group) for group in data.gaps]} if data.gaps else {})


def _validation_weights(data: Prepared, training: Training) -> Array:
    """How much the validation rows count with everything known."""
    return RowWeights.of(training.weights.rows_with_tries(data.val), training.weights).of_rows


def _prevalence(rows: Rows, task: Classification) -> list[float]:
    """The share of each label in rows to learn from, under their weights."""
    assert rows.y is not None
    counts = np.bincount(rows.y.numpy(), RowWeights.of(rows).of_rows, task.n_outputs)
    return [float(share) for share in counts / counts.sum()]


def _effective(rows: Rows) -> float:
    return round(effective_rows(RowWeights.of(rows).of_rows, len(rows)), 1)
