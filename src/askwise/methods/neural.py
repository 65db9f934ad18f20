"""The base of all methods that train networks."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import nn

from askwise.core.features import FeatureSpace
from askwise.core.policy import Policy
from askwise.core.prices import Prices
from askwise.core.tasks import Classification, Task
from askwise.methods.base import Method, with_settings
from askwise.methods.checks import check_number, check_whole_or_none
from askwise.networks.pair import Networks
from askwise.networks.pair_policy import PairPolicy
from askwise.training.loop import Training
from askwise.training.objectives import FreeColumnDropout
from askwise.training.schedule import batch_size_for, epochs_for, patience_for
from askwise.training.temperature import States, fit_temperature, greedy_states
from askwise.training.update import Plan

LONGEST_EPISODE = 32
# Of a stage in which a predictor, or the values of random sets, are learnt before episodes.
PRETRAIN_UPDATES = 1700
# Of a GPU more, since a walk keeps it waiting.
UPDATES_PER_WALK = {"cpu": 4, "cuda": 8}


@with_settings
class NeuralMethod(Method):
    """A method with networks, trained in stages: every one has the same networks, and the same care."""

    max_steps: int | None = None
    epochs: int | None = None
    batch_size: int | None = None
    learning_rate: float = 2e-3
    weight_decay: float = 0.05
    patience: int | None = None

    def check_settings(self) -> None:
        super().check_settings()
        for name in ("max_steps", "epochs", "batch_size", "patience"):
            check_whole_or_none(name, getattr(self, name))
        check_number("learning_rate", self.learning_rate, above=0)
        check_number("weight_decay", self.weight_decay)

    def network(self, space: FeatureSpace, n_outputs: int) -> nn.Module:
        """A network (x, mask) -> outputs, of the size that the settings say."""
        raise NotImplementedError

    def pair(self, space: FeatureSpace, task: Task, share_trunk: bool = False) -> Networks:
        """A predictor and a network with a score for each group; with `share_trunk` as linear heads of one trunk."""
        raise NotImplementedError

    def steps(self, space: FeatureSpace) -> int:
        """How many questions to train for."""
        return min(space.n_groups, self.max_steps or LONGEST_EPISODE)

    def before_training(self, policy: Policy, training: Training) -> None:
        """Called once before the first stage: here it hides free columns in some of the rows."""
        training.prepare = FreeColumnDropout(policy.space, training.device)

    def plan(self, training: Training, updates: int, epochs: int | None = None) -> Plan:
        """A stage of about so many updates, or of so many epochs where they are given."""
        n_rows = len(training.train)
        batch_size = self.batch_size or batch_size_for(n_rows)
        count = epochs or self.epochs or epochs_for(n_rows, batch_size, updates)
        patience = self.patience or patience_for(count)
        return Plan(count, batch_size, self.learning_rate, self.weight_decay, patience)

    def pretraining(self, training: Training, epochs: int | None) -> Plan:
        """A stage in which predictions are learnt from random sets, before episodes; of so many epochs if given."""
        return self.plan(training, PRETRAIN_UPDATES, epochs)

    def walked(self, plan: Plan, training: Training) -> Plan:
        """The same plan for a stage of episodes: one walk of many rows serves several updates."""
        return replace(plan, batch_size=plan.batch_size * UPDATES_PER_WALK[training.device.type])

    def prices(self, policy: Policy, training: Training) -> Prices:
        """The prices of the groups, on the device of training."""
        return Prices.tensor(policy.space.costs, torch.float32, training.device)

    def calibrate(self, policy: PairPolicy, training: Training, task: Task, states: States = greedy_states) -> None:
        """End the training of a classifier with the temperature of its logits, from the validation rows."""
        if isinstance(task, Classification):
            prices, steps = self.prices(policy, training), self.steps(policy.space)
            policy.temperature.fill_(fit_temperature(policy, training.val, prices, steps, states, training.weights))
