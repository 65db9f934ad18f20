"""CwCF, classification with costly features: deep Q-learning whose actions are to ask a group or to name a class."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor
from torch.nn import functional as F

from askwise.core.belief import Belief
from askwise.core.capabilities import Capabilities
from askwise.core.features import FeatureSpace
from askwise.core.policy import Policy
from askwise.core.rows import Rows
from askwise.core.tasks import Classification, Task
from askwise.core.tensors import at_least_float32
from askwise.methods.base import ClassifierMethod, with_settings
from askwise.methods.q_learning import QMethod
from askwise.networks.dueling import DuelingNetworks
from askwise.networks.encoding import InputEncoding
from askwise.networks.mlp import MlpTrunk
from askwise.networks.pair_policy import PairPolicy
from askwise.training.known_sets import random_known
from askwise.training.loop import Training
from askwise.training.objectives import RandomDraws
from askwise.training.q_learning import QLearning, States, greedy, targets
from askwise.training.weights import weighted_mean

# How sharply the value of a class, which regression may put below that of a sure error, is kept above it.
SHARPNESS = 50.0
# Questions differ little in what they are worth in the end: their errors count more than those of the classes.
GROUP_WEIGHT = 4.0


class CwcfPolicy(PairPolicy):
    """Q-values of classes and groups. That of a class is -P(it is wrong): 1 + Q is its probability.

    Outputs are log(1 + Q), so that softmax makes them probabilities. With class weights w the values are those of cases
    that count w times; outputs less log w are at the true prevalence.
    """

    is_information = False
    # Its outputs are values, which a belief turns into probabilities.
    declared: ClassVar[Capabilities] = Capabilities(incremental=True)
    weights: Tensor

    def __init__(self, space: FeatureSpace, task: Task, networks: DuelingNetworks) -> None:
        super().__init__(space, task, networks)
        assert isinstance(task, Classification)
        weights = torch.tensor(task.weights or (1.0,) * task.n_outputs)
        self.register_buffer("weights", weights, persistent=False)

    def _belief(self, outputs: Tensor, raw: Tensor | None) -> Belief:
        probability = F.softplus(1 + at_least_float32(outputs), beta=SHARPNESS).clamp_min(1e-6)
        logits = (probability / self.weights).log() / self.temperature
        return Belief(logits, None if raw is None else at_least_float32(raw))


def class_errors(values: Tensor, y: Tensor) -> Tensor:
    """Squared error of the values of the classes (..., classes): naming the right one (...) gives 0, any other -1.

    The label is known in training, and so is the reward of every class in every state.
    """
    right = y[..., None] == torch.arange(values.shape[-1], device=y.device)
    return (values + 1 - right.to(values.dtype)).square().sum(-1)


class ClassValues(RandomDraws):
    """The values of the classes on random sets: the published pre-training."""

    policy: CwcfPolicy

    def __init__(self, policy: CwcfPolicy) -> None:
        self.policy = policy

    def errors(self, rows: Rows) -> tuple[Tensor, Tensor]:
        assert rows.y is not None
        known = random_known(rows.available)
        mask = self.policy.mask(known, rows.present)
        values, _ = self.policy.networks(self.policy.hide(rows.x, mask), mask, False)
        return class_errors(values.float(), rows.y) * self.policy.weights[rows.y], known


class CwcfObjective(QLearning):
    """Double Q-learning with Retrace: what a question leads to is worth what can be done from there.

    With a budget, an episode asks until nothing more can be paid, and then names a class. Without one, its budget is
    anything up to the horizon, equally likely: a question that costs a share h of what may be left is asked in vain
    with probability h, and the class must be named without its answer.
    """

    batches_remembered = 3

    def loss(
        self, rows: Rows, weight: Tensor, states: States, online: Belief, online_eval: Belief, target: Belief
    ) -> Tensor:
        assert rows.y is not None
        assert isinstance(self.policy, CwcfPolicy)
        state_weight, step_weight = self.state_and_step_weights(rows, weight * self.policy.weights[rows.y], states)
        of_class = class_errors(online.outputs, rows.y.expand(online.outputs.shape[:2]))
        classes = weighted_mean(of_class, state_weight)

        goal = self._goal(states, online_eval, target)
        value = online.scores[: self.n_steps].gather(2, states.choice[..., None])[..., 0]
        groups = weighted_mean((value - goal).square(), step_weight)
        return classes + GROUP_WEIGHT * groups

    def _goal(self, states: States, online_eval: Belief, target: Belief) -> Tensor:
        """The worth of each step, (steps, batch): chosen by the policy in evaluation mode, valued by its slow copy."""
        n_states = self.n_steps + 1
        named = online_eval.outputs[:n_states].argmax(2, keepdim=True)
        naming = target.outputs[:n_states].gather(2, named)[..., 0]
        best = greedy(states, online_eval.scores[:n_states])
        asking = target.scores[:n_states].gather(2, best[..., None])[..., 0]
        worth = torch.where(states.can_ask, asking, naming)
        followed = states.asked & (states.choice == best[:-1])
        in_vain = torch.zeros_like(naming[:-1])
        if self.rule is None:
            left = self.horizon - states.spent[:-1]
            in_vain = torch.where(left > 0, states.price / left, 1.0).clamp(0, 1).to(naming.dtype)
        # No action is worth more than being right for sure.
        return targets(in_vain * naming[:-1], 1 - in_vain, worth, followed).clamp(-1, 0)


@with_settings
class CwcfClassifier(ClassifierMethod, QMethod):
    """Learns by Q-learning which question is worth most in the end, not just at once.

    The form with a hard budget: it never stops by itself, since a rule says when. Unlike the published training, the
    values of all classes are learnt in every state, since the label is known.
    budget: a number trains for that budget, which is spent in every case before the class is named; None trains one
    policy for all budgets up to `max_steps` questions of mean price.
    max_steps: questions in a training episode, by default as many as there are groups, 32 at most.
    pretrain_epochs: passes over the rows in which only the values of classes are learnt. The other settings are those
    of DimeClassifier.
    """

    registry_name = "cwcf-classifier"

    def build(self, space: FeatureSpace, task: Task) -> Policy:
        trunk = MlpTrunk(InputEncoding(space), self.width, self.layers, self.dropout or 0.0)
        return CwcfPolicy(space, task, DuelingNetworks(trunk, self.width, task.n_outputs, space.n_groups))

    def train(self, policy: Policy, training: Training, task: Task) -> None:
        assert isinstance(policy, CwcfPolicy)
        self.learn(policy, training, task, "classes", ClassValues(policy), CwcfObjective)
