"""What a baseline is: how important each question is, and a model of rows in which some are known."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
import pandas as pd

from askwise.core.arrays import Array
from askwise.data.tables.split import hold_out
from askwise.evaluation.metrics import log_loss, rmse
from askwise.studies.compare.baselines.columns import Cases

CLASSES = "classification"
# The share of the rows that a setting is chosen on, as large as that of the methods.
HELD_OUT = 0.2


class Predictor(Protocol):
    """A fitted model."""

    def answer(self, frame: pd.DataFrame) -> Array:
        """Probabilities (rows, classes), or numbers (rows,)."""
        ...


@dataclass(frozen=True, eq=False)
class Baseline(ABC):
    """A model of scikit-learn for classes, coded as 0, 1, ..., or for a number.

    by: the subject that each row belongs to, where a subject has several rows; they are held out together. weights: how
    much each row counts, (rows,); None if all count the same.
    """

    task: str
    seed: int
    by: Array | None = None
    weights: Array | None = None
    # Goes up when it is fitted in another way.
    revision: ClassVar[int] = 1

    @abstractmethod
    def importance(self, cases: Cases, y: Array) -> Array:
        """How important each group is, (groups,); 0 or less: not at all."""

    @abstractmethod
    def fit(self, frame: pd.DataFrame, y: Array) -> Predictor:
        """Fit a model to rows with what is known of them. Its setting is chosen on rows held out, then all are used."""

    @property
    def is_classes(self) -> bool:
        return self.task == CLASSES

    def held_out(self, y: Array, fraction: float = HELD_OUT, draw: int = 0) -> tuple[Array, Array]:
        """The positions of rows to fit on, and of those held out."""
        return hold_out(y, fraction, self.seed + draw, self.is_classes, self.by)

    def loss(self, answer: Array, y: Array, rows: Array) -> float:
        """The loss of predictions of some rows, by position: log loss in nats, or root mean squared error."""
        weights = self.weights_of(rows)
        counts = np.ones(len(y)) if weights is None else weights
        return float((log_loss if self.is_classes else rmse)(answer, y, counts[None])[0])

    def weights_of(self, rows: Array) -> Array | None:
        """How much some rows count, by position."""
        return None if self.weights is None else self.weights[rows]


def answer_of(model: Any, inputs: Any) -> Array:
    """What a model of scikit-learn predicts: probabilities if it is a classifier, else numbers."""
    predict = getattr(model, "predict_proba", model.predict)
    return np.asarray(predict(inputs), dtype=np.float64)
