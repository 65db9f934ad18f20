"""Opportunistic learning: Q-learning whose reward is how much an answer changes the prediction, per cost."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from askwise.core.belief import Belief
from askwise.core.features import FeatureSpace
from askwise.core.policy import Policy
from askwise.core.rows import Rows
from askwise.core.tasks import Task
from askwise.methods.base import ClassifierMethod, with_settings
from askwise.methods.q_learning import QMethod
from askwise.networks.pair_policy import PairPolicy
from askwise.training.loop import Training
from askwise.training.objectives import MaskedPrediction
from askwise.training.q_learning import QLearning, States, greedy, targets
from askwise.training.weights import weighted_mean

# What the changes that later answers make count, from question to question. On CUBE 0 does as well; where a question
# tells only together with a later one, as the context of CUBE-NM, it takes more than 0.
DISCOUNT = 0.5
# Where raw values start: most answers change little.
FIRST_VALUE = -2.0


class OpportunisticPolicy(PairPolicy):
    """A predictor, and on the same trunk the value of asking each group, which is never below 0."""

    is_information = False


class OpportunisticObjective(QLearning):
    """Prediction in all states of the episodes, and double Q-learning of the discounted changes that answers make.

    A change is the L1 distance of the class probabilities before and after an answer. They are those of the network
    without dropout, which stand for the mean over draws of dropout: means of few draws differ by their noise alone.
    Changes are told anew whenever an episode is learnt from, since the predictor learns too.
    """

    batches_remembered = 8
    discount = DISCOUNT

    def loss(
        self, rows: Rows, weight: Tensor, states: States, online: Belief, online_eval: Belief, target: Belief
    ) -> Tensor:
        n_states, known = self.n_steps + 1, torch.cat([states.known, states.random[None]])
        state_weight, step_weight = self.state_and_step_weights(rows, weight, states)
        surprise, of_states = self.weights.predictor_losses(
            self.task.training_loss, online.outputs.flatten(0, 1), rows, known, weight
        )
        predictor = weighted_mean(surprise, of_states * (state_weight > 0))

        probability = online_eval.outputs[:n_states].softmax(2)
        change = (probability[1:] - probability[:-1]).abs().sum(2)
        reward = change * (self.prices.mean() / states.price).to(change.dtype)
        best = greedy(states, online_eval.scores[:n_states])
        asking = nn.functional.softplus(target.scores[:n_states].gather(2, best[..., None])[..., 0])
        goal = targets(reward, torch.full_like(reward, self.discount), asking * states.can_ask)
        raw = online.scores[: self.n_steps].gather(2, states.choice[..., None])[..., 0]
        value = weighted_mean((nn.functional.softplus(raw) - goal).square(), step_weight)
        return predictor + value


@with_settings
class OpportunisticClassifier(ClassifierMethod, QMethod):
    """Asks the group whose answer, and those it leads to, will change the prediction most per cost.

    It never stops by itself: prediction waits until a rule says so, as in the DIME paper. Predictor and values share a
    trunk, and probabilities without dropout stand for the published mean over draws of dropout.
    budget: a number trains on episodes that spend that budget; None on episodes of `max_steps` questions.
    max_steps: questions in a training episode, by default as many as there are groups, 32 at most.
    pretrain_epochs: passes over the rows in which only predictions are learnt. The other settings are those of
    DimeClassifier.
    """

    registry_name = "opportunistic-classifier"

    def build(self, space: FeatureSpace, task: Task) -> Policy:
        networks = self.pair(space, task, share_trunk=True)
        nn.init.constant_(networks.score_head.bias, FIRST_VALUE)
        return OpportunisticPolicy(space, task, networks, "positive")

    def train(self, policy: Policy, training: Training, task: Task) -> None:
        assert isinstance(policy, OpportunisticPolicy)
        self.learn(policy, training, task, "predictor", MaskedPrediction(policy, task), OpportunisticObjective)
