"""DIME: a value network that estimates each unknown group's conditional mutual information with the answer."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from askwise.acquisition import walk
from askwise.features import FeatureSpace, Rows
from askwise.policy import Belief, Policy
from askwise.tasks import Task, entropy
from askwise.training.objectives import random_known

SCALINGS = ("bounded", "positive", "none")


class DimePolicy(Policy):
    """Predictor f(x_S) and value network v(x_S), one score a group in the units of the loss."""

    unit: Tensor

    def __init__(self, space: FeatureSpace, task: Task, networks: nn.Module, scaling: str) -> None:
        super().__init__(space)
        self.networks = networks
        self.scaling = scaling
        self.register_buffer("unit", torch.tensor(task.unit), persistent=False)
        self.is_regression = task.kind == "regression"

    def forward(self, x: Tensor, mask: Tensor, scores: bool = True) -> Belief:
        outputs, raw = self.networks(self.hide(x, mask), mask, scores)
        if self.is_regression:
            outputs = outputs * self.unit.sqrt()
        return Belief(outputs, None if raw is None else self._scale(raw, outputs))

    def _scale(self, raw: Tensor, outputs: Tensor) -> Tensor:
        """Scores within 0 <= I <= H(y | x_S): a sigmoid times the prediction's entropy, without its gradient."""
        if self.scaling == "bounded":
            return torch.sigmoid(raw) * entropy(outputs.detach())[:, None]
        if self.scaling == "positive":
            return F.softplus(raw) * self.unit
        return raw * self.unit


class JointObjective:
    """Algorithm 1: episodes by the current policy, then one flat update over all their states.

    The episode runs without gradients; since the optimiser steps once per episode, the flat pass gives the gradient
    of the paper's loop. Beside its episode each row adds one random set and one random step from it, so that sets
    which the policy never visits stay predictable and valued.
    """

    def __init__(self, policy: Policy, task: Task, costs: Tensor, n_steps: int, epsilon: float) -> None:
        self.policy = policy
        self.task = task
        self.costs = costs
        self.n_steps = n_steps
        self.epsilon = epsilon

    @torch.no_grad()
    def _states(self, rows: Rows, epsilon: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Known sets (steps + 3, batch, groups), and for each step the group asked and whether one was.

        Steps lead from each set to the next; the last two sets are the random one and its successor.
        """
        known, choice, asked = [], [], []
        for step in walk(self.policy, rows, self.costs, self.n_steps, epsilon=epsilon):
            known.append(step.known)
            choice.append(step.choice)
            asked.append(step.can_ask)
        known.append(step.known_next)
        scattered = random_known(rows.available)
        open_ = rows.available & ~scattered
        extra = torch.rand(open_.shape, device=open_.device).masked_fill(~open_, -1).argmax(1)
        known += [scattered, scattered.scatter(1, extra[:, None], open_.any(1, keepdim=True))]
        choice.append(extra)
        asked.append(open_.any(1))
        return torch.stack(known), torch.stack(choice), torch.stack(asked)

    def loss(self, rows: Rows, weight: Tensor, progress: Tensor) -> Tensor:
        assert rows.y is not None
        known, choice, asked = self._states(rows, self.epsilon * (1 - progress))
        n_states, n_rows = known.shape[:2]
        present = rows.present.expand(n_states, -1, -1).flatten(0, 1)
        mask = self.policy.mask(known.flatten(0, 1), present)
        belief = self.policy(rows.x.repeat(n_states, 1), mask)
        assert belief.scores is not None
        y = rows.y.repeat(n_states)

        # A state that no question led to repeats the one before: it counts once.
        first = torch.ones_like(asked[:1])
        led_to = torch.cat([first, asked[:-1], first, asked[-1:]]).to(weight.dtype) * weight
        predictor = self.task.training_loss(belief.outputs, y) / self.task.unit
        predictor = (predictor.view(n_states, n_rows) * led_to).sum() / led_to.sum()

        losses = self.task.loss(belief.outputs.detach(), y).view(n_states, n_rows)
        before = torch.cat([torch.arange(self.n_steps), torch.tensor([self.n_steps + 1])]).to(losses.device)
        gain = losses[before] - losses[before + 1]
        scores = belief.scores.view(n_states, n_rows, -1)[before].gather(2, choice[..., None])[..., 0]
        counted = asked.to(weight.dtype) * weight
        value = (((scores - gain) / self.task.unit) ** 2 * counted).sum() / counted.sum().clamp_min(1)
        return predictor + value

    def validate(self, rows: Rows) -> Tensor:
        """Mean loss along the greedy trajectory, the empty set included."""
        total = torch.zeros((), device=rows.x.device)
        for batch in rows.batches(4096):
            assert batch.y is not None
            for step in walk(self.policy, batch, self.costs, self.n_steps):
                total += self.task.loss(step.belief.outputs, batch.y).sum()
            mask = self.policy.mask(step.known_next, batch.present)
            total += self.task.loss(self.policy(batch.x, mask, scores=False).outputs, batch.y).sum()
        return total / (len(rows) * (self.n_steps + 1) * self.task.unit)
