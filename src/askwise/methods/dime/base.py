"""DIME: a value network that estimates each unknown group's conditional mutual information with the answer."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from askwise.core.errors import AskwiseError
from askwise.core.features import FeatureSpace
from askwise.core.policy import Policy
from askwise.core.tasks import Task
from askwise.methods.base import with_settings
from askwise.methods.checks import check_whole_or_none
from askwise.methods.dime.objectives import JointObjective, ValueWarmUp
from askwise.methods.dime.policy import DimePolicy
from askwise.methods.neural import PRETRAIN_UPDATES, NeuralMethod
from askwise.networks.pair import Networks, zeroed_outputs
from askwise.training.loop import Training
from askwise.training.modes import frozen
from askwise.training.objectives import MaskedPrediction
from askwise.training.update import Plan

# Where raw scores start. Most groups tell little: from 0, half the entropy, estimates take long to come down.
FIRST_VALUE = -2.0


@with_settings
class Dime(NeuralMethod):
    """What DIME's classifier and regressor share: settings, networks and the stages of training."""

    scalings: ClassVar[tuple[str, ...]]
    # Of joint training, where epochs are not given.
    joint_updates: ClassVar[int] = 1100

    scaling: str = "positive"
    pretrain_epochs: int | None = None
    epsilon: float = 0.05
    learn_from: int | None = None

    def check_settings(self) -> None:
        super().check_settings()
        check_whole_or_none("pretrain_epochs", self.pretrain_epochs)
        check_whole_or_none("learn_from", self.learn_from)
        if not 0 <= self.epsilon <= 1:
            raise AskwiseError(f"epsilon must lie in [0, 1], was given {self.epsilon!r}")
        if self.scaling not in self.scalings:
            allowed = ", ".join(map(repr, self.scalings))
            bounded = self.scaling == "bounded"
            what = "scaling 'bounded' is for classes only" if bounded else f"unknown scaling {self.scaling!r}"
            raise AskwiseError(f"{what}; allowed here: {allowed}")

    def build(self, space: FeatureSpace, task: Task) -> Policy:
        return DimePolicy(space, task, self.networks(space, task), self.scaling)

    def networks(self, space: FeatureSpace, task: Task) -> Networks:
        """Predictor and value network."""
        raise NotImplementedError

    def value_epochs(self, pretrain_epochs: int) -> int:
        """How long values learn from random sets, after a predictor that learnt for so long."""
        return pretrain_epochs

    def train(self, policy: Policy, training: Training, task: Task) -> None:
        assert isinstance(policy, DimePolicy)
        self.before_training(policy, training)
        self.learn(policy, training, task)
        self.calibrate(policy, training, task)

    def learn(self, policy: DimePolicy, training: Training, task: Task) -> None:
        """The stages of training."""
        pretrain = self.pretraining(training, self.pretrain_epochs)
        joint = self.joint_plan(training)

        networks = policy.networks
        # A prior that predictions do not train means nothing yet: first values learn from it.
        with zeroed_outputs(networks.prior_network if networks.prior_without_gradient else None):
            training.stage("predictor", MaskedPrediction(policy, task), pretrain)
        with frozen(policy.networks.predictor_parts):
            # The squared error of single draws is mostly noise: which epoch has the lowest says little.
            epochs = self.value_epochs(self.plan(training, PRETRAIN_UPDATES, self.pretrain_epochs).epochs)
            values = replace(pretrain, epochs=epochs, keep_best=False, patience=None)
            training.stage("value", ValueWarmUp(policy, task, self.prices(policy, training)), values)
        self.before_joint(policy, training, task, joint)
        training.stage("joint", self.joint(policy, training, task, joint), self.walked(joint, training))

    def before_joint(self, policy: DimePolicy, training: Training, task: Task, plan: Plan) -> None:
        """Called once before joint training by this plan."""

    def joint_plan(self, training: Training) -> Plan:
        """How long and how fast episodes are learnt from."""
        return self.plan(training, self.joint_updates)

    def joint(
        self,
        policy: DimePolicy,
        training: Training,
        task: Task,
        plan: Plan,
        kind: type[JointObjective] = JointObjective,
        learn_from: int | None = None,
    ) -> JointObjective:
        """Algorithm 1, for a stage of this plan; learn_from: steps of an episode to learn from, if not the setting."""
        prices, steps = self.prices(policy, training), self.steps(policy.space)
        return kind(policy, task, prices, steps, self.epsilon, plan.batch_size, learn_from or self.learn_from)
