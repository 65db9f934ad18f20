"""Objectives over episodes of the policy's own questions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from typing import Any

import torch
from torch import Tensor

from askwise.core.policy import Policy
from askwise.core.rows import Rows
from askwise.core.step import Step
from askwise.core.tasks import Task
from askwise.core.walk import walk
from askwise.training.loop import evaluating, even_batches
from askwise.training.update import aside


def episode(steps: Iterable[Step]) -> tuple[Tensor, Tensor, Tensor]:
    """Known sets along a walk (steps + 1, batch, groups), and for each step the group asked and whether one was."""
    known, choice, asked = [], [], []
    with aside():
        for step in steps:
            known.append(step.known)
            choice.append(step.choice)
            asked.append(step.can_ask)
        known.append(step.known_next)
    return torch.stack(known), torch.stack(choice), torch.stack(asked)


class EpisodeObjective:
    """Episodes by the current policy, then flat updates over all their states.

    The episodes run without gradients; a flat pass over their states gives the gradient of a loop from question to
    question. Walking many rows at once is cheaper than a few at a time: the episodes of a batch serve several updates,
    of `rows_per_update` rows each.
    """

    def __init__(
        self, policy: Policy, task: Task, costs: Tensor, n_steps: int, rows_per_update: int | None = None
    ) -> None:
        self.policy = policy
        self.task = task
        self.costs = costs
        self.n_steps = n_steps
        self.rows_per_update = rows_per_update

    def _episodes(self, rows: Rows, progress: Tensor) -> tuple[Tensor, ...]:
        """What the loss needs of each row's episode, rows second: known sets (states, batch, groups), for each step the
        group asked and whether one was (steps, batch), and more where a method wants it."""
        raise NotImplementedError

    def _walk(self, rows: Rows, **how: Any) -> tuple[Tensor, Tensor, Tensor]:
        """The episode of a walk of each row.

        Dropout stays on: that is exploration too. Networks with batch norms walk as they will be used: a norm would
        else judge each step by its own batch, in which all rows know equally much.
        """
        with nullcontext() if self.policy.explores else evaluating(self.policy):
            return episode(walk(self.policy, rows, self.costs, self.n_steps, **how))

    def _loss(self, rows: Rows, weight: Tensor, *states: Tensor) -> Tensor:
        """Over all states and steps of some of the rows, as `_episodes` gives them."""
        raise NotImplementedError

    def losses(self, rows: Rows, weight: Tensor, progress: Tensor) -> Iterator[Tensor]:
        states = self._episodes(rows, progress)
        n_parts, _ = even_batches(len(rows), self.rows_per_update or len(rows))
        # Every n-th row, so that padding, which comes last, is spread over the parts.
        for part in (slice(start, None, n_parts) for start in range(n_parts)):
            yield self._loss(rows.take(part), weight[part], *(state[:, part] for state in states))

    def validate(self, rows: Rows) -> Tensor:
        """Mean loss over all that is spent along the greedy path, from nothing on; with equal costs, over its states.

        Steps alone would not do: who asks the dear questions first has a lower loss after each step, for more money.
        """
        horizon = self.costs.mean() * (self.n_steps + 1)
        total = torch.zeros((), device=rows.x.device)
        for batch in rows.batches(self.policy.space.rows_at_once(rows.x.device)):
            assert batch.y is not None
            for t, step in enumerate(walk(self.policy, batch, self.costs, self.n_steps + 1)):
                end = step.spent_next if t < self.n_steps else horizon
                spent = torch.minimum(horizon, end) - torch.minimum(horizon, step.spent)
                total += (self.task.loss(step.belief.outputs, batch.y) * spent).sum()
        return total / (len(rows) * horizon * self.task.unit)
