"""Objectives that several methods share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import torch
from torch import Tensor

from askwise.core.features import FeatureSpace
from askwise.core.policy import Policy
from askwise.core.rows import Rows
from askwise.core.tasks import Task
from askwise.core.tensors import evaluating
from askwise.training.draws import seeded_rng
from askwise.training.known_sets import random_known
from askwise.training.update import without_gradients
from askwise.training.weights import WeightedObjective, share_of_batch, weighted_mean


def eval_losses(policy: Policy, task: Task, x: Tensor, mask: Tensor, y: Tensor) -> Tensor:
    """Losses of the predictor as it will be used, without dropout: its noise hides what an answer is worth."""
    with without_gradients(), evaluating(policy):
        return task.loss(policy(x, mask, scores=False).outputs, y)


class FreeColumnDropout:
    """Hide each free column in a tenth of the rows, as if it were missing in the table.

    Whoever uses the model may not know a free column; a network that never saw that would answer nonsense. Columns
    that are asked are not touched: every state but the last hides some of them anyway.
    """

    def __init__(self, space: FeatureSpace, device: torch.device, share: float = 0.1) -> None:
        self.share = share
        self.free = torch.tensor([group < 0 for group in space.group_of_column], device=device)
        self.any = space.has_free_columns

    def __call__(self, rows: Rows) -> Rows:
        if not self.any:
            return rows
        lost = (torch.rand(rows.present.shape, device=rows.present.device) < self.share) & self.free
        return replace(rows, present=rows.present & ~lost)


class RandomDraws(WeightedObjective):
    """The mean error of random states of each row: drawn anew in training, the same ones in every validation."""

    policy: Policy
    validation_draws = 4

    def errors(self, rows: Rows) -> tuple[Tensor, Tensor]:
        """An error of each row, (rows,), and the known set that it is weighted by, (rows, groups)."""
        raise NotImplementedError

    def losses(self, rows: Rows, weight: Tensor, progress: Tensor) -> Iterator[Tensor]:
        del progress
        errors, known = self.errors(rows)
        yield weighted_mean(errors, self.weights(rows, known, weight)) * share_of_batch(weight)

    def validate(self, rows: Rows) -> Tensor:
        found, weights = [], []
        with seeded_rng(rows.x.device, seed=0):
            for batch in rows.batches(self.policy.space.rows_at_once(rows.x.device)):
                for _ in range(self.validation_draws):
                    errors, known = self.errors(batch)
                    found.append(errors)
                    weights.append(self.weights(batch, known, batch.row_weight))
        return weighted_mean(torch.cat(found), torch.cat(weights))


class MaskedPrediction(WeightedObjective):
    """Predict from random sets of groups: the pre-training of the paper's appendix, eq. (2).

    draw: draws known sets to predict from, both (rows, groups), out of what is available.
    """

    def __init__(
        self,
        policy: Policy,
        task: Task,
        draw: Callable[[Tensor], Tensor] = random_known,
        validation_masks: int = 4,
    ) -> None:
        self.policy = policy
        self.task = task
        self.draw = draw
        self.validation_masks = validation_masks

    def losses(self, rows: Rows, weight: Tensor, progress: Tensor) -> Iterator[Tensor]:
        del progress
        known = self.draw(rows.available)
        outputs = self._outputs(rows, known)
        losses = self.weights.predictor_losses(self.task.training_loss, outputs, rows, known, weight)
        yield weighted_mean(*losses) / self.task.unit * share_of_batch(weight)

    def validate(self, rows: Rows) -> Tensor:
        total, weights = (torch.zeros((), device=rows.x.device) for _ in range(2))
        with seeded_rng(rows.x.device, seed=0):
            for batch in rows.batches(self.policy.space.rows_at_once(rows.x.device)):
                assert batch.y is not None
                for _ in range(self.validation_masks):
                    known = self.draw(batch.available)
                    outputs, of_rows = self._outputs(batch, known), batch.row_weight
                    losses, weight = self.weights.predictor_losses(self.task.loss, outputs, batch, known, of_rows)
                    total += (losses * weight).sum()
                    weights += weight.sum()
        return total / (weights * self.task.unit)

    def _outputs(self, rows: Rows, known: Tensor) -> Tensor:
        mask = self.policy.mask(known, rows.present)
        outputs: Tensor = self.policy(rows.x, mask, scores=False).outputs
        return outputs
