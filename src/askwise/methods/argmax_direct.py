"""Argmax Direct: a selector that learns which group to ask next from the loss of the prediction that follows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from askwise.core.features import FeatureSpace
from askwise.core.policy import Policy
from askwise.core.prices import Prices
from askwise.core.rows import Rows
from askwise.core.step import Step
from askwise.core.tasks import Task
from askwise.core.tensors import at_least_float32
from askwise.methods.base import ClassifierMethod, RegressorMethod, with_settings
from askwise.methods.checks import check_numbers, check_whole_or_none
from askwise.methods.neural import NeuralMethod
from askwise.methods.table import TableMethod
from askwise.networks.concrete import gumbel
from askwise.networks.pair_policy import PairPolicy
from askwise.training.episodes import EpisodeObjective
from askwise.training.known_sets import random_known
from askwise.training.loop import Training
from askwise.training.objectives import MaskedPrediction
from askwise.training.weights import weighted_mean

# At each temperature. Twice as many were no better on CUBE and hardly on digits.
JOINT_UPDATES = 300


class SelectorPolicy(PairPolicy):
    """Predictor f(x_S) and selector pi(x_S), whose logits are the scores: an order of the groups, and no more."""

    is_information = False

    def logits(self, x: Tensor, mask: Tensor) -> Tensor:
        """What the selector gives, (batch, groups), without a prediction."""
        return at_least_float32(self.networks.raw_scores(self.hide(x, mask), mask))


@dataclass(frozen=True)
class Selections:
    """States to select from: before each question (states, batch, groups), and one random set a row (batch, groups).

    can_ask (states, batch): False where nothing is open.
    """

    before: Tensor
    can_ask: Tensor
    random: Tensor

    def take(self, rows: slice) -> Selections:
        return Selections(self.before[:, rows], self.can_ask[:, rows], self.random[rows])


class SoftSelection(EpisodeObjective[Selections]):
    """The loss after the next question, which the selector has chosen softly: a Concrete sample over the open groups.

    The sample is added to what is known, in the inputs and in the mask, so that the loss has a gradient for the
    selector too. States follow each other by groups drawn from the selector's softmax, as the largest of a Concrete
    sample is. The predictor also learns from nothing and from a random set: no selection leads to them, and users do.

    Costs play no part, neither in what is asked nor in validation.
    """

    policy: SelectorPolicy

    def __init__(
        self,
        policy: SelectorPolicy,
        task: Task,
        n_steps: int,
        temperature: float,
        rows_per_update: int | None = None,
        learn_from: int | None = None,
    ) -> None:
        equal = Prices(policy.unit.new_ones(policy.space.n_groups), are_equal=True)
        super().__init__(policy, task, equal, n_steps, rows_per_update)
        self.temperature = temperature
        self.learn_from = min(learn_from or n_steps, n_steps)

    def experience(self, rows: Rows, progress: Tensor) -> Selections:
        """The states before each question that is learnt from, and a random one."""
        del progress
        walked = self.walked(rows, change=self._drawn)
        before, can_ask = walked.before(walked.known), walked.taken
        if self.learn_from < self.n_steps:
            # Some of each row's, at random: to learn from a state costs several times what walking there did.
            step = torch.rand(can_ask.shape, device=can_ask.device).argsort(0)[: self.learn_from]
            before = before.gather(0, step[..., None].expand(-1, -1, before.shape[2]))
            can_ask = can_ask.gather(0, step)
        return Selections(before, can_ask, random_known(rows.available))

    def _drawn(self, step: Step) -> Step:
        """The same step with a group drawn by the softmax of the logits."""
        return replace(step, choice=(step.values / self.task.unit + gumbel(step.values)).argmax(1))

    def loss(self, rows: Rows, weight: Tensor, experience: Selections) -> Tensor:
        """Mean over the sets after each soft selection, nothing, and the random set."""
        before, can_ask, random = experience.before, experience.can_ask, experience.random
        selected = before + self._selected(rows, before, can_ask)
        sets = torch.cat([selected, torch.zeros_like(random)[None], random[None]])
        mask = self.policy.mask(sets, rows.present).flatten(0, 1)
        outputs = self.policy(rows.x.repeat(len(sets), 1), mask, scores=False).outputs
        # What is selected softly is known in part; how much a state counts is no reason to select.
        states = sets.detach()
        losses, of_states = self.weights.predictor_losses(self.task.training_loss, outputs, rows, states, weight)
        counts = torch.cat([can_ask, torch.ones_like(can_ask[:1]).expand(2, -1)])
        return weighted_mean(losses, counts * of_states) / self.task.unit

    def _selected(self, rows: Rows, known: Tensor, asked: Tensor) -> Tensor:
        """How far each group is selected next, (states, batch, groups): 0 where it is not open, else 1 in all."""
        mask = self.policy.mask(known, rows.present).flatten(0, 1)
        logits = self.policy.logits(rows.x.repeat(len(known), 1), mask).view(known.shape)
        # A softmax of nothing is no number: where nothing is open, the logits stay, and what comes of them is dropped.
        closed = (known | ~rows.available) & asked[..., None]
        noisy = (logits + gumbel(logits)).masked_fill(closed, -torch.inf)
        return (noisy / self.temperature).softmax(-1) * asked[..., None]


@with_settings
class ArgmaxDirect(NeuralMethod):
    """What the classifier and the regressor share: settings, networks and the stages of training."""

    pretrain_epochs: int | None = None
    learn_from: int | None = None
    # The published ones: five from 1 to 0.1, each the same share of the one before.
    temperatures: Sequence[float] = (1.0, 0.56, 0.32, 0.18, 0.1)

    def check_settings(self) -> None:
        super().check_settings()
        check_whole_or_none("pretrain_epochs", self.pretrain_epochs)
        check_whole_or_none("learn_from", self.learn_from)
        check_numbers("temperatures", self.temperatures, above=0)

    def build(self, space: FeatureSpace, task: Task) -> Policy:
        return SelectorPolicy(space, task, self.pair(space, task))

    def train(self, policy: Policy, training: Training, task: Task) -> None:
        assert isinstance(policy, SelectorPolicy)
        steps = self.steps(policy.space)
        self.before_training(policy, training)
        pretrain = self.pretraining(training, self.pretrain_epochs)
        joint = self.plan(training, JOINT_UPDATES)

        training.stage("predictor", MaskedPrediction(policy, task), pretrain)
        for temperature in self.temperatures:
            # The last one's networks are used. Those that validate best at any temperature, as published, were up to
            # 2 points less accurate on CUBE: perhaps a predictor grown too sure hides what its selector learnt since.
            objective = SoftSelection(policy, task, steps, float(temperature), joint.batch_size, self.learn_from)
            training.stage(f"temperature {temperature:g}", objective, self.walked(joint, training))
        self.calibrate(policy, training, task)


@with_settings
class ArgmaxDirectClassifier(ClassifierMethod, TableMethod, ArgmaxDirect):
    """Asks what a selector wants most that was trained to make the next prediction of a label as good as can be.

    Its scores are an order and no information: a penalty gives an error, and prices count only where a budget does.
    temperatures: of the Concrete samples, one stage of training each; high ones explore, low ones are nearly choices.
    epochs: passes over the rows at each temperature, and before them in pre-training of the predictor unless
    pretrain_epochs says otherwise. The other settings are those of DimeClassifier.
    """

    registry_name = "argmax-direct-classifier"


@with_settings
class ArgmaxDirectRegressor(RegressorMethod, TableMethod, ArgmaxDirect):
    """Asks what a selector wants most that was trained to make the next prediction of a number as good as can be.

    The settings are those of ArgmaxDirectClassifier.
    """

    registry_name = "argmax-direct-regressor"
