"""DIME: a value network that estimates each unknown group's conditional mutual information with the answer."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from askwise.acquisition import StoppingRule, walk
from askwise.arrays import at_least_float32, cost_tensor
from askwise.errors import AskwiseError
from askwise.features import FeatureSpace, Rows, rows_at_once
from askwise.methods.base import ClassifierMethod, Method, RegressorMethod
from askwise.model import Costs
from askwise.networks.dropout import set_dropout
from askwise.networks.incremental import FirstLayerTracker, GroupInputs
from askwise.networks.mlp import Mlp, MlpTrunk
from askwise.networks.one_row import MlpRow, RowNetworks, Units
from askwise.networks.pair import Networks, SeparateNetworks, SharedNetworks
from askwise.networks.scaling import SCALINGS
from askwise.policy import Belief, OneRow, Policy, Tracker
from askwise.tasks import Classification, Task
from askwise.training.draws import own_draws
from askwise.training.loop import Training, evaluating, even_batches, frozen
from askwise.training.objectives import LoseFreeColumns, MaskedPrediction, losses_as_used, random_step
from askwise.training.schedule import batch_size_for, dropout_for, epochs_for, patience_for
from askwise.training.temperature import fit_temperature
from askwise.training.update import Plan, aside

LONGEST_EPISODE = 32
PRETRAIN_UPDATES = 1700
JOINT_UPDATES = 1700
# Of a GPU more, since a walk keeps it waiting.
UPDATES_PER_WALK = {"cpu": 4, "cuda": 8}
# Where raw scores start. Most groups tell little: from 0, half the entropy, estimates take long to come down.
FIRST_VALUE = -2.0


class DimePolicy(Policy):
    """Predictor f(x_S) and value network v(x_S), one score a group in the units of the loss.

    Logits are divided by `temperature`, 1 until the end of training.
    """

    unit: Tensor
    temperature: Tensor

    def __init__(self, space: FeatureSpace, task: Task, networks: Networks, scaling: str) -> None:
        super().__init__(space)
        self.networks = networks
        self.scaling = scaling
        self.register_buffer("unit", torch.tensor(task.unit), persistent=False)
        self.register_buffer("temperature", torch.tensor(1.0))
        self.is_regression = task.kind == "regression"
        self.group_inputs = GroupInputs(space)

    def forward(self, x: Tensor, mask: Tensor, scores: bool = True) -> Belief:
        return self._belief(*self.networks(self.hide(x, mask), mask, scores))

    @property
    def _first_layers(self) -> list[nn.Linear]:
        """The networks' first layers, where all that follows is as here; a subclass may do otherwise."""
        return self.networks.first_layers if type(self).forward is DimePolicy.forward else []

    def learning(self, x: Tensor, mask: Tensor, group: Tensor) -> tuple[Belief, Tensor]:
        """A belief to learn from, and outputs as they will be used: without dropout, and without a gradient.

        Of the scores, (batch, 1), only that of one group (batch,) of each row.
        """
        hidden = self.hide(x, mask)
        if self._first_layers:
            # Dropout comes after the first layers, which most of the work is in: they are run once for both.
            first = self.networks.first(hidden, mask)
            outputs, raw = self.networks.onward(first)
            with aside(), evaluating(self):
                used, _ = self.networks.onward(first.detach(), scores=False)
        else:
            outputs, raw = self.networks(hidden, mask)
            with aside(), evaluating(self):
                used, _ = self.networks(hidden, mask, scores=False)
        assert raw is not None
        return self._belief(outputs, raw.gather(1, group[:, None])), self._belief(used, None).outputs

    def track(self, rows: Rows) -> Tracker:
        if not self._first_layers or not self.group_inputs.pays:
            return super().track(rows)
        onward = self.networks.onward
        return FirstLayerTracker(
            self, rows, self.group_inputs, self.networks, lambda *given: self._belief(*onward(*given))
        )

    def one_row(self) -> Callable[[], OneRow]:
        unit = float(self.unit)
        units = Units(unit**0.5 if self.is_regression else 1 / float(self.temperature), unit, self.scaling)
        # A class made from this one may compute something else from the same networks.
        networks = RowNetworks.of(self.space.n_groups, self.networks, units) if type(self) is DimePolicy else None
        return super().one_row() if networks is None else partial(MlpRow, networks)

    def _belief(self, outputs: Tensor, raw: Tensor | None) -> Belief:
        outputs, raw = at_least_float32(outputs), None if raw is None else at_least_float32(raw)
        outputs = outputs * self.unit.sqrt() if self.is_regression else outputs / self.temperature
        return Belief(outputs, None if raw is None else self._scale(raw, outputs))

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *rest: Any) -> None:
        # Models saved before there was a temperature have none.
        state_dict.setdefault(f"{prefix}temperature", torch.tensor(1.0))
        super()._load_from_state_dict(state_dict, prefix, *rest)

    def _scale(self, raw: Tensor, outputs: Tensor) -> Tensor:
        """Scores in the units of the loss; by default within 0 <= I <= H(y | x_S), without the entropy's gradient."""
        scores: Tensor = SCALINGS[self.scaling](raw, outputs.detach(), self.unit)
        return scores


class ValueWarmUp:
    """Eq. (3) on random sets and random groups, under the pre-trained predictor: every group's value is seen.

    Joint training stops early on small tables, where the predictor soon learns its rows by heart; by then values
    learnt on the policy's own path alone would still be near their start.
    """

    def __init__(self, policy: Policy, task: Task, validation_draws: int = 8) -> None:
        self.policy = policy
        self.task = task
        self.validation_draws = validation_draws

    def _gaps(self, rows: Rows) -> Tensor:
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

    def losses(self, rows: Rows, weight: Tensor, progress: Tensor) -> Iterator[Tensor]:
        del progress
        yield (self._gaps(rows) * weight).sum() / weight.sum()

    def validate(self, rows: Rows) -> Tensor:
        with own_draws(rows.x.device, seed=0):
            gaps = [
                self._gaps(batch)
                for batch in rows.batches(rows_at_once(rows.x.device))
                for _ in range(self.validation_draws)
            ]
        return torch.cat(gaps).mean()


class JointObjective:
    """Algorithm 1: episodes by the current policy, then one flat update over all their states.

    The episode runs without gradients; the flat pass over its states gives the gradient of the paper's loop. Beside its
    episode each row adds one random set and one random step from it, so that sets which the policy never visits stay
    predictable and valued. Walking many rows at once is cheaper than a few at a time: the episodes of a batch serve
    several updates, of `rows_per_update` rows each.
    """

    def __init__(
        self,
        policy: DimePolicy,
        task: Task,
        costs: Tensor,
        n_steps: int,
        epsilon: float,
        rows_per_update: int | None = None,
    ) -> None:
        self.policy = policy
        self.task = task
        self.costs = costs
        self.n_steps = n_steps
        self.epsilon = epsilon
        self.rows_per_update = rows_per_update

    def _states(self, rows: Rows, epsilon: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Known sets (steps + 3, batch, groups), and for each step the group asked and whether one was.

        Steps lead from each set to the next; the last two sets are the random one and its successor.
        """
        known, choice, asked = [], [], []
        with aside():
            for step in walk(self.policy, rows, self.costs, self.n_steps, epsilon=epsilon):
                known.append(step.known)
                choice.append(step.choice)
                asked.append(step.can_ask)
        known.append(step.known_next)
        scattered, extra, can, with_extra = random_step(rows.available)
        known += [scattered, with_extra]
        choice.append(extra)
        asked.append(can)
        return torch.stack(known), torch.stack(choice), torch.stack(asked)

    def losses(self, rows: Rows, weight: Tensor, progress: Tensor) -> Iterator[Tensor]:
        states = self._states(rows, self.epsilon * (1 - progress))
        n_parts, _ = even_batches(len(rows), self.rows_per_update or len(rows))
        # Every n-th row, so that padding, which comes last, is spread over the parts.
        for part in (slice(start, None, n_parts) for start in range(n_parts)):
            yield self._loss(rows.take(part), weight[part], *(state[:, part] for state in states))

    def _loss(self, rows: Rows, weight: Tensor, known: Tensor, choice: Tensor, asked: Tensor) -> Tensor:
        """Of the predictions in all states, and of the values of all steps."""
        assert rows.y is not None
        n_states, n_rows = known.shape[:2]
        mask = self.policy.mask(known, rows.present).flatten(0, 1)
        x, y = rows.x.repeat(n_states, 1), rows.y.repeat(n_states)
        # From the last state of the episode, and from that after the random step, nothing was asked.
        nothing = torch.zeros_like(choice[:1])
        group = torch.cat([choice[:-1], nothing, choice[-1:], nothing])
        belief, used = self.policy.learning(x, mask, group.flatten())

        # A state that no question led to repeats the one before: it counts once.
        first = torch.ones_like(asked[:1])
        led_to = torch.cat([first, asked[:-1], first, asked[-1:]]).to(weight.dtype) * weight
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
        return torch.cat([states[: self.n_steps], states[self.n_steps + 1 :]])

    def validate(self, rows: Rows) -> Tensor:
        """Mean loss over all that is spent along the greedy path, from nothing on; with equal costs, over its states.

        Steps alone would not do: who asks the dear questions first has a lower loss after each step, for more money.
        """
        horizon = self.costs.mean() * (self.n_steps + 1)
        total = torch.zeros((), device=rows.x.device)
        for batch in rows.batches(rows_at_once(rows.x.device)):
            assert batch.y is not None
            for t, step in enumerate(walk(self.policy, batch, self.costs, self.n_steps + 1)):
                end = step.spent_next if t < self.n_steps else horizon
                spent = torch.minimum(horizon, end) - torch.minimum(horizon, step.spent)
                total += (self.task.loss(step.belief.outputs, batch.y) * spent).sum()
        return total / (len(rows) * horizon * self.task.unit)


class Dime(Method):
    """What DIME's classifier and regressor share: settings, networks and the stages of training."""

    scalings: ClassVar[tuple[str, ...]]

    def __init__(
        self,
        costs: Costs = None,
        groups: Mapping[str, Sequence[Any]] | None = None,
        free: Sequence[Any] | None = None,
        max_steps: int | None = None,
        hidden: int = 128,
        layers: int = 2,
        dropout: float | None = None,
        share_trunk: bool = False,
        scaling: str = "positive",
        predictor: nn.Module | None = None,
        value: nn.Module | None = None,
        pretrain_epochs: int | None = None,
        epochs: int | None = None,
        batch_size: int | None = None,
        learning_rate: float = 2e-3,
        weight_decay: float = 0.05,
        epsilon: float = 0.05,
        patience: int | None = None,
        stop: StoppingRule | None = None,
        validation_fraction: float = 0.2,
        random_state: Any = None,
        checkpoint_dir: str | Path | None = None,
        device: str = "auto",
    ) -> None:
        self.costs = costs
        self.groups = groups
        self.free = free
        self.max_steps = max_steps
        self.hidden = hidden
        self.layers = layers
        self.dropout = dropout
        self.share_trunk = share_trunk
        self.scaling = scaling
        self.predictor = predictor
        self.value = value
        self.pretrain_epochs = pretrain_epochs
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.epsilon = epsilon
        self.patience = patience
        self.stop = stop
        self.validation_fraction = validation_fraction
        self.random_state = random_state
        self.checkpoint_dir = checkpoint_dir
        self.device = device

    def check_settings(self) -> None:
        for name in ("hidden", "layers"):
            _whole(name, getattr(self, name))
        for name in ("max_steps", "pretrain_epochs", "epochs", "batch_size", "patience"):
            if getattr(self, name) is not None:
                _whole(name, getattr(self, name))
        if self.dropout is not None and not 0 <= self.dropout < 1:
            raise AskwiseError(f"dropout must lie in [0, 1), was given {self.dropout!r}")
        if not 0 <= self.epsilon <= 1:
            raise AskwiseError(f"epsilon must lie in [0, 1], was given {self.epsilon!r}")
        for name, at_least in (("learning_rate", "above 0"), ("weight_decay", "at least 0")):
            given = getattr(self, name)
            number = isinstance(given, (int, float, np.number)) and not isinstance(given, bool)
            if not number or not (given > 0 if at_least == "above 0" else given >= 0):
                raise AskwiseError(f"{name} must be a number {at_least}, was given {given!r}")
        if self.scaling not in self.scalings:
            allowed = ", ".join(map(repr, self.scalings))
            bounded = self.scaling == "bounded"
            what = "scaling 'bounded' is for classes only" if bounded else f"unknown scaling {self.scaling!r}"
            raise AskwiseError(f"{what}; allowed here: {allowed}")
        if (self.predictor is None) != (self.value is None):
            raise AskwiseError("give both predictor= and value=, or neither")
        if self.predictor is not None and self.share_trunk:
            raise AskwiseError(
                "share_trunk=True builds its own networks; it can't be joined with predictor= and value="
            )

    def build(self, space: FeatureSpace, task: Task) -> Policy:
        return DimePolicy(space, task, self._networks(space, task), self.scaling)

    def _networks(self, space: FeatureSpace, task: Task) -> Networks:
        if self.predictor is not None and self.value is not None:
            # Modules of the user's own are deep-copied, so that fit never changes what was given.
            # Together, so that what they share stays shared.
            networks = SeparateNetworks(*copy.deepcopy((self.predictor, self.value)))
            _check_shapes(networks, space, task)
            return networks
        n_inputs = space.n_entries + space.n_columns
        dropout = self.dropout or 0.0
        if self.share_trunk:
            trunk = MlpTrunk(n_inputs, self.hidden, self.layers, dropout)
            head = nn.Linear(self.hidden, space.n_groups)
            nn.init.constant_(head.bias, FIRST_VALUE)
            return SharedNetworks(trunk, nn.Linear(self.hidden, task.n_outputs), head)
        value = Mlp(n_inputs, self.hidden, space.n_groups, self.layers, dropout)
        nn.init.constant_(value.head.bias, FIRST_VALUE)
        return SeparateNetworks(Mlp(n_inputs, self.hidden, task.n_outputs, self.layers, dropout), value)

    def train(self, policy: Policy, training: Training, task: Task) -> None:
        assert isinstance(policy, DimePolicy)
        n_rows = len(training.train)
        batch_size = self.batch_size or batch_size_for(n_rows)
        pretrain_epochs = self.pretrain_epochs or self.epochs
        space = policy.space
        steps = min(space.n_groups, self.max_steps or LONGEST_EPISODE)
        costs = cost_tensor(space.costs, torch.float32, training.device)

        if self.dropout is None and self.predictor is None:
            set_dropout(policy, dropout_for(n_rows))
        training.prepare = LoseFreeColumns(space, training.device)

        def plan(epochs: int | None, updates: int, keep_best: bool = True, batches: int = 1) -> Plan:
            count = epochs or epochs_for(n_rows, batch_size, updates)
            patience = (self.patience or patience_for(count)) if keep_best else None
            size = batches * batch_size
            return Plan(count, size, self.learning_rate, self.weight_decay, patience, keep_best=keep_best)

        training.stage("predictor", MaskedPrediction(policy, task), plan(pretrain_epochs, PRETRAIN_UPDATES))
        with frozen(policy.networks.predictor_parts):
            # The squared error of single draws is mostly noise: which epoch has the lowest says little.
            warm_up = plan(pretrain_epochs, PRETRAIN_UPDATES, keep_best=False)
            training.stage("value", ValueWarmUp(policy, task), warm_up)
        joint = JointObjective(policy, task, costs, steps, self.epsilon, batch_size)
        training.stage("joint", joint, plan(self.epochs, JOINT_UPDATES, batches=UPDATES_PER_WALK[training.device.type]))
        if isinstance(task, Classification):
            policy.temperature.fill_(fit_temperature(policy, training.val, costs, steps))


class DimeClassifier(ClassifierMethod, Dime):
    """Asks the group with the most information about a label per cost, and stops when a rule says so.

    costs, groups, free: prices, panels of columns asked together, and columns known from the start.
    max_steps: questions in a training episode, by default as many as there are groups, 32 at most.
    hidden, layers, dropout, share_trunk: the networks, dropout by default less the more rows there are; predictor,
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

    def __init__(
        self,
        costs: Costs = None,
        groups: Mapping[str, Sequence[Any]] | None = None,
        free: Sequence[Any] | None = None,
        max_steps: int | None = None,
        hidden: int = 128,
        layers: int = 2,
        dropout: float | None = None,
        share_trunk: bool = False,
        scaling: str = "bounded",
        class_weights: Mapping[Any, float] | str | None = None,
        predictor: nn.Module | None = None,
        value: nn.Module | None = None,
        pretrain_epochs: int | None = None,
        epochs: int | None = None,
        batch_size: int | None = None,
        learning_rate: float = 2e-3,
        weight_decay: float = 0.05,
        epsilon: float = 0.05,
        patience: int | None = None,
        stop: StoppingRule | None = None,
        validation_fraction: float = 0.2,
        random_state: Any = None,
        checkpoint_dir: str | Path | None = None,
        device: str = "auto",
    ) -> None:
        super().__init__(
            costs=costs, groups=groups, free=free, max_steps=max_steps, hidden=hidden, layers=layers, dropout=dropout,
            share_trunk=share_trunk, scaling=scaling, predictor=predictor, value=value,
            pretrain_epochs=pretrain_epochs, epochs=epochs, batch_size=batch_size,
            learning_rate=learning_rate, weight_decay=weight_decay, epsilon=epsilon,
            patience=patience, stop=stop, validation_fraction=validation_fraction,
            random_state=random_state, checkpoint_dir=checkpoint_dir, device=device,
        )  # fmt: skip
        self.class_weights = class_weights


class DimeRegressor(RegressorMethod, Dime):
    """Asks the group that is expected to reduce the variance of a number most per cost.

    The settings are those of DimeClassifier; information, penalties and frontier are in squared units of y.
    """

    registry_name = "dime-regressor"
    scalings = ("positive", "none")


def _whole(name: str, number: object) -> None:
    if isinstance(number, bool) or not isinstance(number, (int, np.integer)) or number < 1:
        raise AskwiseError(f"{name} must be a whole number of at least 1, was given {number!r}")


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
