"""DIME on tables."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from askwise.core.errors import AskwiseError
from askwise.core.features import FeatureSpace
from askwise.core.policy import Policy
from askwise.core.tasks import Task
from askwise.methods.base import ClassifierMethod, RegressorMethod, with_settings
from askwise.methods.checks import is_number
from askwise.methods.dime.base import FIRST_VALUE, Dime
from askwise.methods.dime.lookahead import (
    DISCOUNT,
    FEWEST_ROWS,
    TRIAL,
    TRIAL_STEPS,
    TrialObjective,
    looking_ahead_pays,
)
from askwise.methods.dime.policy import DimePolicy
from askwise.methods.neural import NeuralMethod
from askwise.methods.table import TableMethod
from askwise.methods.training_table import TrainingTable
from askwise.model.model import Model
from askwise.networks.pair import Networks, SeparateNetworks, SharedNetworks
from askwise.networks.pair_policy import PairPolicy
from askwise.networks.prior_pair import PriorNetworks
from askwise.training.loop import Training
from askwise.training.schedule import longer_for
from askwise.training.update import Plan

# Episodes of many rows are learnt from longer, up to so many times: most is learnt before them. With more than so many
# groups there are more states to see.
JOINT_LONGEST, MANY_GROUPS = 1.4, 100
# Shares of the entropy or variance that values start from.
LEAST_SHARE, MOST_SHARE = 0.01, 0.5
# The raw score of a share, by the scaling of the scores.
FIRST_SCORES: dict[str, Callable[[Tensor], Tensor]] = {
    "bounded": torch.logit,
    "positive": lambda share: share.expm1().log(),
    "none": lambda share: share,
}


@with_settings
class TableDime(TableMethod, Dime):
    """DIME on tables: perceptrons, or modules of the user's own."""

    share_trunk: bool = False
    predictor: nn.Module | None = None
    value: nn.Module | None = None
    lookahead: float | str = "auto"
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
        if self.lookahead != "auto" and not (is_number(self.lookahead) and 0 <= self.lookahead < 1):
            raise AskwiseError(f"lookahead must be 'auto' or a number in [0, 1), was given {self.lookahead!r}")
        if self.lookahead not in ("auto", 0) and (self.predictor is not None or self.free_network):
            raise AskwiseError(
                "lookahead needs a second score for each group, which predictor=, value= and free_network=True do not "
                "have; leave it out"
            )
        if self.predictor is not None and self.share_trunk:
            raise AskwiseError(
                "share_trunk=True builds its own networks; it can't be joined with predictor= and value="
            )

    @property
    def reads_parts(self) -> bool:
        # Networks that read (x, mask) themselves know of no parts.
        return self.predictor is None and not self.free_network

    def build(self, space: FeatureSpace, task: Task) -> Policy:
        policy = super().build(space, task)
        assert isinstance(policy, DimePolicy)
        if self._looks_ahead:
            policy.look_ahead(DISCOUNT if isinstance(self.lookahead, str) else self.lookahead)
        return policy

    @property
    def _looks_ahead(self) -> bool:
        return self.lookahead != 0 and self.predictor is None and not self.free_network

    def joint_plan(self, training: Training) -> Plan:
        assert isinstance(training.policy, DimePolicy)
        most = JOINT_LONGEST * math.sqrt(max(1.0, training.policy.space.n_groups / MANY_GROUPS))
        return self.plan(training, round(self.joint_updates * longer_for(len(training.train), most)))

    def before_joint(self, policy: DimePolicy, training: Training, task: Task, plan: Plan) -> None:
        """Settle whether to look ahead, if that is left to the data, in a short trial."""
        if self.lookahead != "auto" or not policy.discount:
            return
        trial = replace(plan, epochs=math.ceil(TRIAL * plan.epochs), keep_best=False, patience=None)
        some_steps = math.ceil(TRIAL_STEPS * (self.learn_from or self.steps(policy.space)))
        objective = self.joint(policy, training, task, trial, TrialObjective, some_steps)
        training.stage("look-ahead", objective, self.walked(trial, training))
        if not training.settle("look-ahead", lambda: looking_ahead_pays(policy, objective, training.val)):
            policy.drop_lookahead()

    def settled(self, model: Model) -> dict[str, Any]:
        assert isinstance(model.policy, DimePolicy)
        return super().settled(model) | {"lookahead": model.policy.discount}

    def networks(self, space: FeatureSpace, task: Task) -> Networks:
        if self.predictor is not None and self.value is not None:
            # Modules of the user's own are deep-copied, so that fit never changes what was given.
            # Together, so that what they share stays shared.
            own = SeparateNetworks(*copy.deepcopy((self.predictor, self.value)))
            _check_shapes(own, space, task)
            return own
        if self.free_network:
            sizes = self.width, self.layers, self.dropout or 0.0
            with_prior = PriorNetworks(space, task.n_outputs, *sizes, self.stop_gradient)
            nn.init.constant_(with_prior.value.head.bias, FIRST_VALUE)
            return with_prior
        networks = self.pair(space, task, self.share_trunk, space.n_groups * (1 + self._looks_ahead))
        nn.init.constant_(networks.score_head.bias, FIRST_VALUE)
        return networks

    def start_from(self, policy: PairPolicy, table: TrainingTable) -> None:
        """Values start from what each group tells by itself, too."""
        super().start_from(policy, table)
        if isinstance(policy.networks, (SeparateNetworks, SharedNetworks)) and policy.first_layers:
            share = torch.from_numpy(table.screening.share_of_groups(policy.space)).clamp(LEAST_SHARE, MOST_SHARE)
            with torch.no_grad():
                policy.networks.score_head.bias[: len(share)] = FIRST_SCORES[self.scaling](share)

    def before_training(self, policy: Policy, training: Training) -> None:
        if self.lookahead == "auto" and self._looks_ahead:
            assert isinstance(policy, DimePolicy)
            # With one question at most there is nothing ahead.
            if len(training.val) < FEWEST_ROWS or self.steps(policy.space) < 2:
                policy.drop_lookahead()
        if self.predictor is None:
            super().before_training(policy, training)
        else:
            # The dropout of the user's own modules is the user's.
            NeuralMethod.before_training(self, policy, training)


@with_settings
class DimeClassifier(ClassifierMethod, TableDime):
    """Asks the group with the most information about a label per cost, and stops when a rule says so.

    costs, groups, free: prices, panels of columns asked together, and columns known from the start. questions: texts,
    units, help and the order of choices, by the name of a column or group.
    max_steps: questions in a training episode, by default as many as there are groups, 32 at most.
    missing: what is made of gaps that tell the answer. "auto" corrects the groups that are found to tell it by being
    recorded, "correct" all that have gaps, "ignore" learns them, "evidence" makes it an answer that one can't be had.
    encoding: "raw" gives a network each number as it is, a whole number cuts it into so many piecewise-linear parts
    beside that, "auto" cuts each column into as many as explain more of the answer. screening: learn slowly from
    columns that tell nothing by themselves, if rows are few for so many columns. soft_answers: learn from answers mixed
    with what boosting and a linear model predict out of fold. base_rates: with nothing known, predict the frequency of
    each label. lookahead: how much counts what the questions after one bring, in [0, 1); 0 is the paper's method,
    "auto" looks ahead only if that lowers the loss on the validation rows.
    hidden, layers, dropout, share_trunk: the networks, by default wider and with less dropout the more rows there are;
    `settled_` has what was left to the data. free_network:
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
