"""DIME, trained in other ways than today's, for the ablation."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields, replace

import torch
from torch import Tensor
from torch.nn import functional as F

from askwise import DimeClassifier, DimeRegressor
from askwise.core.capabilities import Capabilities
from askwise.core.features import FeatureSpace
from askwise.core.policy import Policy
from askwise.core.prices import Prices
from askwise.core.rows import Rows
from askwise.core.tasks import Classification, Task, entropy
from askwise.core.tensors import evaluating
from askwise.core.walk import walk
from askwise.methods.dime.base import Dime
from askwise.methods.dime.objectives import JointObjective, ValueWarmUp
from askwise.methods.dime.policy import DimePolicy, EpisodeBelief
from askwise.networks.dropout import set_dropout
from askwise.training.episode import Episode
from askwise.training.loop import Training
from askwise.training.modes import frozen
from askwise.training.schedule import FEWEST_EPOCHS, patience_for
from askwise.training.update import Objective, Plan


@dataclass(frozen=True)
class Variant:
    """What is changed against today's training; by default nothing.

    targets: of the value network: "loss", the fall of the loss, without dropout; "noisy", the same with dropout;
    "divergence", of the prediction after an answer from that before; "mean" of the first and the third. updates: of
    every stage, however few rows there are. factor: one on all estimates, from validation rows. refit: updates of
    the value network on the policy's own path at the end. judge_values: the best epoch has the lowest loss plus
    squared error of the values. patience=False: no stage stops early.
    """

    targets: str = "loss"
    dropout: float | None = None
    value_dropout: float | None = None
    updates: int | None = None
    temperature: bool = True
    factor: bool = False
    refit: int = 0
    judge_values: bool = False
    averaging: float = 0.99
    patience: bool = True


def targets(kind: str, task: Task, fall: Tensor, outputs: Tensor, episode: Episode) -> Tensor:
    """What each step is worth, (steps, batch).

    fall (steps, batch): of the loss. outputs (states x batch, n_outputs): the predictions in all states.
    """
    if kind in ("loss", "noisy"):
        return fall
    states = outputs.view(episode.n_states, episode.n_rows, -1)
    if isinstance(task, Classification):
        log_p = F.log_softmax(states, -1)
        before, after = episode.before(log_p), episode.after(log_p)
        divergence = (after.exp() * (after - before)).sum(-1)
    else:
        divergence = episode.gains(states)[..., 0] ** 2
    return divergence if kind == "divergence" else (divergence + fall) / 2


class VariedPolicy(DimePolicy):
    """A policy whose estimates are multiplied by one factor, and which keeps the outputs that targets are made of."""

    declared: Capabilities = replace(DimePolicy.declared, numpy_form=False)
    factor = 1.0
    # Targets are made of the outputs with dropout, not of those as used.
    is_noisy = False
    targets_from: Tensor

    def forward_episode(self, rows: Rows, episode: Episode) -> EpisodeBelief:
        found = super().forward_episode(rows, episode)
        self.targets_from = found.belief.outputs.detach() if self.is_noisy else found.outputs_eval
        return found._replace(outputs_eval=self.targets_from)

    def _scale(self, raw: Tensor, outputs: Tensor) -> Tensor:
        scores = super()._scale(raw, outputs) * self.factor
        return torch.minimum(scores, entropy(outputs.detach())[:, None]) if self.scaling == "bounded" else scores


class VariedWarmUp(ValueWarmUp):
    """Other targets; for the mean, too, those of the divergence."""

    def __init__(self, usual: ValueWarmUp, kind: str) -> None:
        super().__init__(usual.policy, usual.task, usual.prices)
        self.kind = "divergence" if kind == "mean" else kind

    def errors(self, rows: Rows) -> tuple[Tensor, Tensor]:
        step = Episode.random_step(rows.available)
        mask, mask_next = self.policy.mask(step.known, rows.present)
        with torch.no_grad(), evaluating(self.policy):
            outputs = torch.cat([self.policy(rows.x, m, scores=False).outputs for m in (mask, mask_next)])
        losses = self.task.loss(outputs, rows.y.repeat(2)).view(2, -1)
        gain = targets(self.kind, self.task, step.gains(losses), outputs, step)[0]
        score = self.policy(rows.x, mask).scores.gather(1, step.choice.T)[:, 0]
        return ((score - gain) / self.task.unit) ** 2 * step.taken[0], step.known[1]


class VariedJoint(JointObjective):
    """Other targets, and another judge of epochs."""

    policy: VariedPolicy

    def __init__(self, usual: JointObjective, variant: Variant) -> None:
        walks = usual.policy, usual.task, usual.prices, usual.n_steps, usual.epsilon
        super().__init__(*walks, usual.rows_per_update, usual.learn_from)
        self.variant = variant

    def gains(self, outputs: Tensor, y: Tensor, episode: Episode) -> Tensor:
        fall = super().gains(outputs, y, episode)
        return targets(self.variant.targets, self.task, fall, self.policy.targets_from, episode)

    def validate(self, rows: Rows) -> Tensor:
        loss = super().validate(rows)
        if not self.variant.judge_values:
            return loss
        estimated, gained, taken = along_path(self.policy, self.task, rows, self.prices, self.n_steps)
        return loss + (((estimated - gained) / self.task.unit) ** 2 * taken).mean()


class OwnPath(VariedJoint):
    """Episodes as they will be walked: without dropout, and as many random questions to the end."""

    def experience(self, rows: Rows, progress: Tensor) -> Episode:
        with evaluating(self.policy):
            return super().experience(rows, torch.zeros_like(progress))


@torch.no_grad()
def along_path(policy: Policy, task: Task, rows: Rows, prices: Prices, n_steps: int) -> tuple[Tensor, Tensor, Tensor]:
    """Estimated gain, gain of the loss, and whether a question was asked, (steps, rows), on the greedy path."""
    steps = list(walk(policy, rows, prices, n_steps + 1))
    estimated = torch.stack([step.belief.scores.gather(1, step.choice[:, None])[:, 0] for step in steps[:-1]])
    losses = torch.stack([task.loss(step.belief.outputs, rows.y) for step in steps])
    return estimated, losses[:-1] - losses[1:], torch.stack([step.can_ask for step in steps[:-1]])


def fit_factor(estimated: Tensor, gained: Tensor, taken: Tensor, spread: float = 0.3) -> float:
    """The slope of the gains on their estimates, drawn towards 1 as far as rows leave it open."""
    estimated, gained = estimated * taken, gained * taken
    square = max(float((estimated**2).sum()), 1e-12)
    slope = float((estimated * gained).sum()) / square
    # Steps of one row are no separate evidence.
    variance = float((((gained - slope * estimated) * estimated).sum(0) ** 2).sum()) / square**2
    return (slope * spread**2 + variance) / (spread**2 + variance)


@dataclass
class VariedTraining(Training):
    """The stages that DIME asks for, changed as a variant says."""

    variant: Variant = field(default_factory=Variant)

    def stage(self, name: str, objective: Objective, plan: Plan) -> None:
        if isinstance(objective, ValueWarmUp):
            objective = VariedWarmUp(objective, self.variant.targets)
        elif isinstance(objective, JointObjective):
            objective = VariedJoint(objective, self.variant)
        if self.variant.updates is not None:
            plan = self._lasting(self.variant.updates, objective, plan)
        patience = plan.patience if self.variant.patience else None
        plan = replace(plan, patience=patience, averaging=self.variant.averaging)
        self.last = objective, plan
        super().stage(name, objective, plan)

    def refit(self) -> None:
        """The value network once more, on the policy's own path."""
        joint, plan = self.last
        plan = replace(self._lasting(self.variant.refit, joint, plan), patience=None, keep_best=False)
        super().stage("refit", OwnPath(joint, self.variant), plan)

    def _lasting(self, updates: int, objective: Objective, plan: Plan) -> Plan:
        """The same plan with so many updates, of which one walk may serve several."""
        rows_per_update = getattr(objective, "rows_per_update", None) or plan.batch_size
        epochs = max(FEWEST_EPOCHS, math.ceil(updates / math.ceil(len(self.train) / rows_per_update)))
        return replace(plan, epochs=epochs, patience=None if plan.patience is None else patience_for(epochs))


class Varied(Dime):
    """DIME, trained as a variant says."""

    variant = Variant()

    def build(self, space: FeatureSpace, task: Task) -> Policy:
        policy = VariedPolicy(space, task, self.networks(space, task), self.scaling)
        policy.is_noisy = self.variant.targets == "noisy"
        return policy

    def train(self, policy: Policy, training: Training, task: Task) -> None:
        if self.variant.value_dropout is not None:
            set_dropout(policy.networks.value, self.variant.value_dropout)
        given = {part.name: getattr(training, part.name) for part in fields(training) if part.init}
        varied = VariedTraining(**given, variant=self.variant)
        super().train(policy, varied, task)
        if not self.variant.temperature:
            policy.temperature.fill_(1.0)
        if self.variant.factor:
            joint, _ = varied.last
            policy.factor = fit_factor(*along_path(policy, task, training.val, joint.prices, joint.n_steps))
        if self.variant.refit:
            with frozen(policy.networks.predictor_parts):
                varied.refit()


class VariedClassifier(Varied, DimeClassifier):
    """Of labels."""


class VariedRegressor(Varied, DimeRegressor):
    """Of numbers."""
