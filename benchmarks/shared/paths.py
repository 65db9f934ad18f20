"""The path of every row from question to question, and a metric after each question."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import torch

from askwise import Budget
from askwise.core.trace import Trace
from askwise.evaluation.metrics import all_metrics, coded
from benchmarks.shared.data import Array, Inputs
from benchmarks.shared.measuring import cpu_seconds, wall_seconds


def fit_seconds(model: Any, *data: Any, **more: Any) -> dict[str, float]:
    """Train a model; the seconds that took, by the wall and of the CPU."""
    (_, cpu), wall = wall_seconds(lambda: cpu_seconds(lambda: model.fit(*data, **more)))
    return {"wall_seconds": wall, "cpu_seconds": cpu}


def path_of(model: Any, x: Inputs, most: int | None = None, ask_missing: bool = False) -> Trace:
    """Ask up to `most` questions of equal price (None: all). Under Budget(k) a row stands at step k of it.

    ask_missing: a value that is missing can be asked; the question counts, and its answer tells nothing. Without it,
    as in `acquire`, it can't be asked, and a row of which nothing is left stays where it is.
    """
    rows = model.encode(x)
    if ask_missing:
        rows = replace(rows, available=torch.ones_like(rows.available))
    stop = None if most is None else Budget(most)
    return model.model_.trace(rows, [stop], (1.0,) * rows.available.shape[1])


def metric_on(model: Any, answers: Array, y: Array, metric: str) -> float:
    """A metric of decoded predictions: probabilities or numbers."""
    return float(all_metrics()[metric](answers, coded(model.model_.task, y), np.ones((1, len(y))))[0])


def along_path(model: Any, path: Trace, y: Array, metric: str) -> list[float]:
    """The metric after 0, 1, 2, ... questions."""
    return [metric_on(model, model.model_.task.decode(outputs), y, metric) for outputs in path.outputs]
