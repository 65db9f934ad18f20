"""DIME: a value network that estimates each unknown group's conditional mutual information with the answer."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

import torch
from torch import Tensor, nn

from askwise.errors import AskwiseError
from askwise.features import FeatureSpace, Rows
from askwise.methods.base import ClassifierMethod, RegressorMethod, with_settings
from askwise.methods.checks import check_whole_or_none
from askwise.methods.neural import PRETRAIN_UPDATES, NeuralMethod
from askwise.methods.table import TableMethod
from askwise.networks.pair import Networks, SeparateNetworks, silent
from askwise.networks.pair_policy import PairPolicy
from askwise.networks.prior_pair import PriorNetworks
from askwise.policy import Belief, Policy
from askwise.tasks import Task
from askwise.training.episodes import EpisodeObjective
from askwise.training.loop import Training, evaluating, frozen
from askwise.training.objectives import MaskedPrediction, RandomDraws, losses_as_used, random_step
from askwise.training.update import Plan, aside

# Where raw scores start. Most groups tell little: from 0, half the entropy, estimates take long to come down.
FIRST_VALUE = -2.0


class DimePolicy(PairPolicy):
    """Predictor f(x_S) and value network v(x_S), one score a group in the units of the loss."""

    def learning(
        self, x: Tensor, mask: Tensor, group: Tensor, n_states: int, most: Sequence[tuple[int, int]]
    ) -> tuple[Belief, Tensor]:
        """A belief to learn from, and outputs as they will be used: without dropout, and without a gradient.

        Of the scores, (batch, 1), only that of one group (batch,) of each row. The batch is `n_states` times the same
        rows. most: of each part of the batch the number of rows, and the most groups that any of them knows.
        """
        hidden = self.hide(x, mask)
        if self.first_layers:
            # Dropout comes after the first layers, which most of the work is in: they are run once for both.
            first = self.networks.first(hidden, mask)
            outputs, raw = self.networks.onward(first)
            with aside(), evaluating(self):
                used, _ = self.networks.onward(first.detach(), scores=False)
        else:
            outputs, raw = self.networks.counted(hidden, mask, True, most, self._prior(hidden, mask, n_states))
            used = outputs.detach()
            if self.networks.is_noisy:
                with aside(), evaluating(self):
                    used, _ = self.networks.counted(hidden, mask, False, most, self._prior(hidden, mask, n_states))
        assert raw is not None
        return self._belief(outputs, raw.gather(1, group[:, None])), self._belief(used, None).outputs

    def _prior(self, x: Tensor, mask: Tensor, n_states: int) -> Tensor | None:
        """What the network of what is known from the start makes of each row, once for all its states."""
        n_rows = len(x) // n_states
        prior = self.networks.prior_of(x[:n_rows], mask[:n_rows])
        return None if prior is None else prior.repeat(n_states, 1)


class ValueWarmUp(RandomDraws):
    """Eq. (3) on random sets and random groups, under the pre-trained predictor: every group's value is seen.

    Joint training stops early on small tables, where the predictor soon learns its rows by heart; by then values
    learnt on the policy's own path alone would still be near their start.
    """

    validation_draws = 8

    def __init__(self, policy: Policy, task: Task) -> None:
        self.policy = policy
        self.task = task

    def errors(self, rows: Rows) -> Tensor:
        """Squared error of the value of a random step of each row, in units of the loss."""
        known, choice, asked, known_next = random_step(rows.available)
        mask = self.policy.mask(known, rows.present)
        gain = self._losses(rows, mask) - self._losses(rows, self.policy.mask(known_next, rows.present))
        belief = self.policy(rows.x, mask)
        assert belief.scores is not None
        score = belief.scores.gather(1, choice[:, None])[:, 0]
        return ((score - gain) / self.task.unit) ** 2 * asked

    def _losses(self, rows: Rows, mask: Tensor) -> Tensor:
        assert rows.y is not None
        return losses_as_used(self.policy, self.task, rows.x, mask, rows.y)


class JointObjective(EpisodeObjective):
    """Algorithm 1: episodes by the current policy, then one flat update over all their states.

    Beside its episode each row adds one random set and one random step from it, so that sets which the policy never
    visits stay predictable and valued.
    """

    policy: DimePolicy

    def __init__(
        self,
        policy: DimePolicy,
        task: Task,
        costs: Tensor,
        n_steps: int,
        epsilon: float,
        rows_per_update: int | None = None,
        learn_from: int | None = None,
    ) -> None:
        super().__init__(policy, task, costs, n_steps, rows_per_update)
        self.epsilon = epsilon
        self.learn_from = min(learn_from or n_steps, n_steps)

    def _episodes(self, rows: Rows, progress: Tensor) -> tuple[Tensor, ...]:
        return self._states(rows, self.epsilon * (1 - progress))

    def _states(self, rows: Rows, epsilon: Tensor) -> tuple[Tensor, ...]:
        """Known sets (learnt from + 3, batch, groups), and for each step the group asked, whether one was, and whether
        the set after it is another one.

        Steps lead from each set to the next; the last two sets are the random one and its successor.
        """
        known, choice, asked, new = self._part(*self._walk(rows, epsilon=epsilon))
        scattered, extra, can, with_extra = random_step(rows.available)
        known = torch.cat([known, torch.stack([scattered, with_extra])])
        extra, can = extra[None], can[None]
        return known, torch.cat([choice, extra]), torch.cat([asked, can]), torch.cat([new, can])

    def _part(self, known: Tensor, choice: Tensor, asked: Tensor) -> tuple[Tensor, ...]:
        """Of each row's episode the steps to learn from: all, or some in a row from a random one on.

        They go on with the first after the last, so that all are learnt from equally often; that is no step, and
        counts as none. An episode walked is cheap beside one learnt from: the gradient is that of all steps on average.
        """
        if self.learn_from == self.n_steps:
            return known, choice, asked, asked
        n_states, n_rows = known.shape[:2]
        start = torch.randint(n_states, (n_rows,), device=known.device)
        state = (start + torch.arange(self.learn_from + 1, device=known.device)[:, None]) % n_states
        step, is_step = state[:-1].clamp_max(self.n_steps - 1), state[:-1] < self.n_steps
        known = known.gather(0, state[..., None].expand(-1, -1, known.shape[2]))
        choice, asked = choice.gather(0, step), asked.gather(0, step)
        return known, choice, asked & is_step, asked | ~is_step

    def _loss(self, rows: Rows, weight: Tensor, *states: Tensor) -> Tensor:
        """Of the predictions in all states, and of the values of all steps."""
        known, choice, asked, new = states
        assert rows.y is not None
        n_states, n_rows = known.shape[:2]
        mask = self.policy.mask(known, rows.present).flatten(0, 1)
        x, y = rows.x.repeat(n_states, 1), rows.y.repeat(n_states)
        # From the last state of the episode, and from that after the random step, nothing was asked.
        nothing = torch.zeros_like(choice[:1])
        group = torch.cat([choice[:-1], nothing, choice[-1:], nothing])
        most = [((n_states - 2) * n_rows, self.n_steps), (2 * n_rows, rows.available.shape[1])]
        belief, used = self.policy.learning(x, mask, group.flatten(), n_states, most)

        # A state that no question led to repeats the one before: it counts once.
        first = torch.ones_like(asked[:1])
        led_to = torch.cat([first, new[:-1], first, new[-1:]]).to(weight.dtype) * weight
        predictor = self.task.training_loss(belief.outputs, y) / self.task.unit
        predictor = (predictor.view(n_states, n_rows) * led_to).sum() / led_to.sum().clamp_min(1)

        gain = self._of_steps(self._gains(belief, used, y, n_states))
        scores = self._of_steps(belief.scores.view(n_states, n_rows)[:-1])
        counted = asked.to(weight.dtype) * weight
        value = (((scores - gain) / self.task.unit) ** 2 * counted).sum() / counted.sum().clamp_min(1)
        return predictor + value

    def _gains(self, belief: Belief, used: Tensor, y: Tensor, n_states: int) -> Tensor:
        """How much lower the loss of each state is than that of the one before, (states - 1, batch).

        Of the outputs as used: dropout's noise, which is in the belief to learn from, hides what an answer is worth.
        """
        del belief
        losses = self.task.loss(used, y).view(n_states, -1)
        return losses[:-1] - losses[1:]

    def _of_steps(self, states: Tensor) -> Tensor:
        """All but the place where the episode ends and the random set begins: no question leads over it."""
        return torch.cat([states[: self.learn_from], states[self.learn_from + 1 :]])


@with_settings
class Dime(NeuralMethod):
    """What DIME's classifier and regressor share: settings, networks and the stages of training."""

    scalings: ClassVar[tuple[str, ...]]
    # Of joint training, where epochs are not given.
    joint_updates: ClassVar[int] = 1700

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
        self.ready(policy, training)
        self.learn(policy, training, task)
        self.calibrate(policy, training, task)

    def learn(self, policy: DimePolicy, training: Training, task: Task) -> None:
        """The stages of training."""
        pretrain = self.plan(training, PRETRAIN_UPDATES, self.pretrain_epochs)
        joint = self.plan(training, self.joint_updates)

        networks = policy.networks
        # A prior that predictions do not train means nothing yet: first values learn from it.
        with silent(networks.prior_network if networks.stops_gradient else None):
            training.stage("predictor", MaskedPrediction(policy, task), pretrain)
        with frozen(policy.networks.predictor_parts):
            # The squared error of single draws is mostly noise: which epoch has the lowest says little.
            values = replace(pretrain, epochs=self.value_epochs(pretrain.epochs), keep_best=False, patience=None)
            training.stage("value", ValueWarmUp(policy, task), values)
        training.stage("joint", self.joint(policy, training, task, joint), self.walked(joint, training))

    def joint(self, policy: DimePolicy, training: Training, task: Task, plan: Plan) -> JointObjective:
        """Algorithm 1, for a stage of this plan."""
        costs, steps = self.costs_of(policy, training), self.steps(policy.space)
        return JointObjective(policy, task, costs, steps, self.epsilon, plan.batch_size, self.learn_from)


@with_settings
class TableDime(TableMethod, Dime):
    """DIME on tables: perceptrons, or modules of the user's own."""

    share_trunk: bool = False
    predictor: nn.Module | None = None
    value: nn.Module | None = None
    free_network: bool = False
    stop_gradient: bool = True

    def check_settings(self) -> None:
        super().check_settings()
        if self.free_network and (self.share_trunk or self.predictor is not None):
            raise AskwiseError(
                "free_network=True builds its own networks; leave out share_trunk=, predictor= and value="
            )
        if self.free_network and not self.free:
            raise AskwiseError("free_network=True is for free columns, and there are none; name some with free=")
        if (self.predictor is None) != (self.value is None):
            raise AskwiseError("give both predictor= and value=, or neither")
        if self.predictor is not None and self.share_trunk:
            raise AskwiseError(
                "share_trunk=True builds its own networks; it can't be joined with predictor= and value="
            )

    def networks(self, space: FeatureSpace, task: Task) -> Networks:
        if self.predictor is not None and self.value is not None:
            # Modules of the user's own are deep-copied, so that fit never changes what was given.
            # Together, so that what they share stays shared.
            own = SeparateNetworks(*copy.deepcopy((self.predictor, self.value)))
            _check_shapes(own, space, task)
            return own
        if self.free_network:
            sizes = self.hidden, self.layers, self.dropout or 0.0
            with_prior = PriorNetworks(space, task.n_outputs, *sizes, self.stop_gradient)
            nn.init.constant_(with_prior.value.head.bias, FIRST_VALUE)
            return with_prior
        networks = self.pair(space, task, self.share_trunk)
        nn.init.constant_(networks.score_head.bias, FIRST_VALUE)
        return networks

    def ready(self, policy: Policy, training: Training) -> None:
        if self.predictor is None:
            super().ready(policy, training)
        else:
            # The dropout of the user's own modules is the user's.
            NeuralMethod.ready(self, policy, training)


@with_settings
class DimeClassifier(ClassifierMethod, TableDime):
    """Asks the group with the most information about a label per cost, and stops when a rule says so.

    costs, groups, free: prices, panels of columns asked together, and columns known from the start. questions: texts,
    units, help and the order of choices, by the name of a column or group.
    max_steps: questions in a training episode, by default as many as there are groups, 32 at most.
    hidden, layers, dropout, share_trunk: the networks, dropout by default less the more rows there are. free_network:
    free columns pass through a network of their own, which predictions train only with stop_gradient=False. predictor,
    value: modules (x, mask) -> outputs and (batch, n_groups) instead of them.
    scaling: "bounded" keeps estimates within 0 and the prediction's entropy; "positive" and "none" are for ablation.
    class_weights: "balanced" or a mapping of label to weight.
    epochs: passes over the rows in joint training, and in the two stages before it unless pretrain_epochs says
    otherwise; by default what suits the number of rows, as with batch_size. patience: epochs without improvement
    after which a stage stops, by default a third of them. learning_rate, weight_decay: of AdamW. epsilon: share of
    random questions in the first episodes; it falls to 0.
    stop: the rule used where none is given. validation_fraction: share of the rows held out in fit.
    checkpoint_dir: a folder for the state after each epoch. device: "auto", "cpu" or "cuda", to train on.
    """

    registry_name = "dime-classifier"
    scalings = ("bounded", "positive", "none")

    scaling: str = "bounded"


@with_settings
class DimeRegressor(RegressorMethod, TableDime):
    """Asks the group that is expected to reduce the variance of a number most per cost.

    The settings are those of DimeClassifier; information, penalties and frontier are in squared units of y.
    """

    registry_name = "dime-regressor"
    scalings = ("positive", "none")


def _shape(given: object) -> str:
    return f"shape {tuple(given.shape)}" if isinstance(given, Tensor) else f"a {type(given).__name__}"


def _check_shapes(networks: SeparateNetworks, space: FeatureSpace, task: Task) -> None:
    """Try a user's modules on two rows, so that a wrong shape is told before training."""
    x, mask = torch.zeros(2, space.n_entries), torch.zeros(2, space.n_columns, dtype=torch.bool)
    networks.eval()
    for name, module, width in (
        ("predictor", networks.predictor, task.n_outputs),
        ("value", networks.value, space.n_groups),
    ):
        try:
            with torch.no_grad():
                given = module(x, mask)
        except Exception as error:
            raise AskwiseError(
                f"{name}(x, mask) failed on x of shape {tuple(x.shape)} and a mask of bool of shape "
                f"{tuple(mask.shape)}: {error}"
            ) from error
        if not isinstance(given, Tensor) or tuple(given.shape) != (2, width):
            raise AskwiseError(
                f"{name}(x, mask) gave {_shape(given)} for 2 rows of {space.n_entries} inputs; "
                f"it must give (2, {width})"
            )
