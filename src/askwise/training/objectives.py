"""Objectives that several methods share."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from askwise.core.features import FeatureSpace
from askwise.core.policy import Policy
from askwise.core.rows import Rows
from askwise.core.tasks import Task
from askwise.core.walk import random_open
from askwise.training.draws import own_draws
from askwise.training.loop import evaluating
from askwise.training.update import aside


def random_known(available: Tensor) -> Tensor:
    """Random sets of available groups whose size is uniform on 0..d, with members at random.

    Every group joins independently with one probability per row, itself uniform on [0, 1]: then the size of the set
    is uniform (the beta-binomial distribution with both parameters 1), at the price of one comparison.
    """
    draw = torch.rand(available.shape, device=available.device)
    level = torch.rand(len(available), 1, device=available.device)
    return (draw < level) & available


def random_step(available: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """A random set, a random open group of it, whether there is one, and the set with that group."""
    known = random_known(available)
    open_ = available & ~known
    choice = random_open(open_)
    asked = open_.any(1)
    return known, choice, asked, known | torch.zeros_like(known).scatter(1, choice[:, None], asked[:, None])


def losses_as_used(policy: Policy, task: Task, x: Tensor, mask: Tensor, y: Tensor) -> Tensor:
    """Losses of the predictor as it will be used: without dropout, whose noise hides what an answer is worth."""
    with aside(), evaluating(policy):
        return task.loss(policy(x, mask, scores=False).outputs, y)


class LoseFreeColumns:
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
        return Rows(rows.x, rows.present & ~lost, rows.available, rows.y)


class RandomDraws:
    """The mean of an error of each row in which chance has a part: drawn anew in training, alike in validation."""

    policy: Policy
    validation_draws = 4

    def errors(self, rows: Rows) -> Tensor:
        """An error of each row, (rows,)."""
        raise NotImplementedError

    def losses(self, rows: Rows, weight: Tensor, progress: Tensor) -> Iterator[Tensor]:
        del progress
        yield (self.errors(rows) * weight).sum() / weight.sum()

    def validate(self, rows: Rows) -> Tensor:
        batches = rows.batches(self.policy.space.rows_at_once(rows.x.device))
        with own_draws(rows.x.device, seed=0):
            return torch.cat([self.errors(batch) for batch in batches for _ in range(self.validation_draws)]).mean()


class MaskedPrediction:
    """Predict from random sets of groups: the pre-training of the paper's appendix, eq. (2).

    draw: gives known sets to predict from, both (rows, groups), out of what is available.
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
        assert rows.y is not None
        mask = self.policy.mask(self.draw(rows.available), rows.present)
        outputs = self.policy(rows.x, mask, scores=False).outputs
        losses = self.task.training_loss(outputs, rows.y) / self.task.unit
        yield (losses * weight).sum() / weight.sum()

    def validate(self, rows: Rows) -> Tensor:
        assert rows.y is not None
        total = torch.zeros((), device=rows.x.device)
        with own_draws(rows.x.device, seed=0):
            for batch in rows.batches(self.policy.space.rows_at_once(rows.x.device)):
                assert batch.y is not None
                for _ in range(self.validation_masks):
                    mask = self.policy.mask(self.draw(batch.available), batch.present)
                    outputs = self.policy(batch.x, mask, scores=False).outputs
                    total += self.task.loss(outputs, batch.y).sum()
        return total / (len(rows) * self.validation_masks * self.task.unit)
