"""Weights of states in a loss: the one place that says how much each state counts."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import ClassVar, NamedTuple, Self

import torch
from torch import Tensor

from askwise.core.rows import Rows, repeat_rows

# (outputs, answers) -> the loss of each row.
Loss = Callable[[Tensor, Tensor], Tensor]


class OfPredictions(NamedTuple):
    """How predictions are judged: by which answers (all states, ...), with which weights (..., batch).

    offset (all states, n_outputs): added to the outputs before they are compared.
    """

    answers: Tensor
    weight: Tensor
    offset: Tensor | None = None

    def losses(self, loss: Loss, outputs: Tensor) -> Tensor:
        return loss(outputs if self.offset is None else outputs + self.offset, self.answers)


class StateWeights:
    """How much a state counts in a loss: as much as its row, whatever is known there.

    An objective asks this object for the weight of every state it learns from or validates on. A kind of weight that
    depends on what is known overrides it. differ_by_answer: whether rows that differ in nothing but their answers count
    differently.
    """

    differ_by_answer: ClassVar[bool] = False

    def __call__(self, rows: Rows, known: Tensor, row_weight: Tensor) -> Tensor:
        """The weights (..., batch) of states that know `known` (..., batch, groups), from those of the rows (batch,).

        The weight of a step is that of the state it leads to.
        """
        del rows, known
        return row_weight

    def targets(self, rows: Rows, known: Tensor) -> Tensor:
        """The answers in states `known` (..., batch, groups) that go with their weights: (all states, ...).

        Weights may differ by answer; then so do the shares of a target that has several answers.
        """
        return repeat_rows(rows.target, math.prod(known.shape[:-2]))

    def of_predictions(self, rows: Rows, known: Tensor, row_weight: Tensor) -> OfPredictions:
        """How predictions in states `known` (..., batch, groups) are judged."""
        return OfPredictions(self.targets(rows, known), self(rows, known, row_weight))

    def predictor_losses(
        self, loss: Loss, outputs: Tensor, rows: Rows, known: Tensor, row_weight: Tensor
    ) -> tuple[Tensor, Tensor]:
        """The losses of predictions (all states, n_outputs), and the weights of these: (..., batch) each."""
        judged = self.of_predictions(rows, known, row_weight)
        return judged.losses(loss, outputs).view(known.shape[:-1]), judged.weight

    @property
    def selective_groups(self) -> list[int]:
        """The groups whose gaps tell the answer, and are weighed for it."""
        return []

    def to(self, device: torch.device) -> Self:
        """The same weights, computed on a device."""
        del device
        return self

    def rows_with_tries(self, rows: Rows) -> Rows:
        """The rows with all groups available that are tried in vain if they are absent."""
        return rows

    def recorded(self, rows: Rows) -> Tensor | None:
        """The groups (batch, groups) that a row has, if others may be tried in vain; None if they may not."""
        del rows
        return None


class WeightedObjective:
    """Base of objectives over states; `weights` may be replaced before training begins."""

    weights: StateWeights = StateWeights()


def share_of_batch(weight: Tensor) -> Tensor:
    """By how much the mean loss of a batch counts: the mean weight of its rows, without padding, whose weight is 0.

    A mean under weights is divided by their sum, which differs from batch to batch; this makes up for it.
    """
    return weight.sum() / (weight > 0).sum().clamp_min(1)


def weighted_mean(values: Tensor, weight: Tensor) -> Tensor:
    """The mean of values under weights, which broadcast; 0 if nothing counts."""
    weight = weight.expand_as(values)
    total = weight.sum()
    # Not a tiny number in place of 0: the gradient of so large a quotient overflows.
    return (values * weight).sum() / torch.where(total > 0, total, 1)
