"""Objectives over episodes of the policy's own questions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any, Generic, Protocol, Self, TypeVar

import torch
from torch import Tensor

from askwise.core.policy import Policy
from askwise.core.prices import Prices
from askwise.core.rows import Rows, even_batches
from askwise.core.tasks import Task
from askwise.core.tensors import evaluating
from askwise.core.walk import walk
from askwise.training.episode import Episode
from askwise.training.weights import WeightedObjective, share_of_batch


class Experience(Protocol):
    """What an objective keeps of the walks of a batch; an Episode, or less."""

    def take(self, rows: slice) -> Self:
        """The same of some of the rows."""
        ...


E = TypeVar("E", bound=Experience)


class EpisodeObjective(WeightedObjective, Generic[E]):
    """Walks each row by the current policy, then learns from all states of the episodes in flat updates.

    The walks run without gradients; a flat pass over their states gives the gradient of a loop from question to
    question. To walk many rows at once is cheaper than a few at a time: the episodes of a batch serve several updates,
    of `rows_per_update` rows each.
    """

    def __init__(
        self,
        policy: Policy,
        task: Task,
        prices: Prices,
        n_steps: int,
        rows_per_update: int | None = None,
    ) -> None:
        self.policy = policy
        self.task = task
        self.prices = prices
        self.n_steps = n_steps
        self.rows_per_update = rows_per_update

    def experience(self, rows: Rows, progress: Tensor) -> E:
        """The states and steps of each row that the loss learns from."""
        raise NotImplementedError

    def loss(self, rows: Rows, weight: Tensor, experience: E) -> Tensor:
        """The loss over all states and steps of some of the rows, whose weights are (batch,)."""
        raise NotImplementedError

    def walked(self, rows: Rows, **options: Any) -> Episode:
        """The episode of a walk of each row.

        Dropout stays on: it is exploration too. Networks with batch norms walk as they will be used: else a norm would
        judge each step by its own batch, in which all rows know equally much.
        """
        with nullcontext() if self.policy.capabilities.noise_in_walks else evaluating(self.policy):
            return Episode.of_steps(walk(self.policy, rows, self.prices, self.n_steps, **options))

    def losses(self, rows: Rows, weight: Tensor, progress: Tensor) -> Iterator[Tensor]:
        experience = self.experience(rows, progress)
        n_parts, _ = even_batches(len(rows), self.rows_per_update or len(rows))
        # Every n-th row, so that padding, which comes last, is spread over the parts.
        for part in (slice(start, None, n_parts) for start in range(n_parts)):
            loss = self.loss(rows.take(part), weight[part], experience.take(part))
            yield loss * share_of_batch(weight[part])

    def validate(self, rows: Rows) -> Tensor:
        """Mean loss over all that is spent along the greedy path, from nothing on; with equal costs, over its states.

        Steps alone would not do: who asks the dear questions first has a lower loss after each step, for more money.
        """
        losses, weights = self.path_losses(rows)
        return losses.sum() / (weights.sum() * self.task.unit)

    def path_losses(self, rows: Rows) -> tuple[Tensor, Tensor]:
        """Of each row, the loss along its greedy path times what is spent with it, and all that is spent; weighted."""
        horizon = self.prices.mean() * (self.n_steps + 1)
        found = []
        for batch in rows.batches(self.policy.space.rows_at_once(rows.x.device)):
            assert batch.y is not None
            losses, weights = torch.zeros_like(batch.row_weight), torch.zeros_like(batch.row_weight)
            for t, step in enumerate(walk(self.policy, batch, self.prices, self.n_steps + 1)):
                end = step.spent_next if t < self.n_steps else horizon
                spent = torch.minimum(horizon, end) - torch.minimum(horizon, step.spent)
                weight = self.weights(batch, step.known, batch.row_weight) * spent
                losses += self.task.loss(step.belief.outputs, batch.y) * weight
                weights += weight
            found.append((losses, weights))
        return torch.cat([part for part, _ in found]), torch.cat([part for _, part in found])
