"""What methods with networks share: the settings of networks and training, and the plan of a stage."""

from __future__ import annotations

import numpy as np
from torch import nn

from askwise.errors import AskwiseError
from askwise.features import FeatureSpace
from askwise.methods.base import Method, with_settings
from askwise.networks.dropout import set_dropout
from askwise.networks.mlp import Mlp, MlpTrunk
from askwise.networks.pair import SeparateNetworks, SharedNetworks
from askwise.policy import Policy
from askwise.tasks import Task
from askwise.training.loop import Training
from askwise.training.objectives import LoseFreeColumns
from askwise.training.schedule import batch_size_for, dropout_for, epochs_for, patience_for
from askwise.training.update import Plan

LONGEST_EPISODE = 32


@with_settings
class NeuralMethod(Method):
    """A method with networks, trained in stages: every one has the same networks, and the same care."""

    max_steps: int | None = None
    hidden: int = 128
    layers: int = 2
    dropout: float | None = None
    epochs: int | None = None
    batch_size: int | None = None
    learning_rate: float = 2e-3
    weight_decay: float = 0.05
    patience: int | None = None

    def check_settings(self) -> None:
        for name in ("hidden", "layers"):
            check_whole(name, getattr(self, name))
        for name in ("max_steps", "epochs", "batch_size", "patience"):
            check_whole_or_none(name, getattr(self, name))
        if self.dropout is not None and not 0 <= self.dropout < 1:
            raise AskwiseError(f"dropout must lie in [0, 1), was given {self.dropout!r}")
        check_number("learning_rate", self.learning_rate, above=0)
        check_number("weight_decay", self.weight_decay)

    def mlp(self, space: FeatureSpace, n_outputs: int) -> Mlp:
        """A network on (x, mask), of the size that the settings say."""
        return Mlp(space.n_inputs, self.hidden, n_outputs, self.layers, self.dropout or 0.0)

    def pair(self, space: FeatureSpace, task: Task, share_trunk: bool = False) -> SeparateNetworks | SharedNetworks:
        """A predictor and a network with a score for each group, apart or on one trunk."""
        if share_trunk:
            trunk = MlpTrunk(space.n_inputs, self.hidden, self.layers, self.dropout or 0.0)
            head = nn.Linear(self.hidden, space.n_groups)
            return SharedNetworks(trunk, nn.Linear(self.hidden, task.n_outputs), head)
        scores = self.mlp(space, space.n_groups)
        return SeparateNetworks(self.mlp(space, task.n_outputs), scores)

    def steps(self, space: FeatureSpace) -> int:
        """How many questions to train for."""
        return min(space.n_groups, self.max_steps or LONGEST_EPISODE)

    def ready(self, policy: Policy, training: Training, own_networks: bool = True) -> None:
        """Before the first stage: dropout for the number of rows, if it is ours to set; free columns may be missing."""
        if self.dropout is None and own_networks:
            set_dropout(policy, dropout_for(len(training.train)))
        training.prepare = LoseFreeColumns(policy.space, training.device)

    def plan(self, training: Training, updates: int, epochs: int | None = None) -> Plan:
        """A stage of about so many updates, or of so many epochs where they are given."""
        n_rows = len(training.train)
        batch_size = self.batch_size or batch_size_for(n_rows)
        count = epochs or self.epochs or epochs_for(n_rows, batch_size, updates)
        patience = self.patience or patience_for(count)
        return Plan(count, batch_size, self.learning_rate, self.weight_decay, patience)


def check_whole(name: str, number: object, least: int = 1) -> None:
    """Raise a clear error for a setting that is no whole number, or too small."""
    if isinstance(number, bool) or not isinstance(number, (int, np.integer)) or number < least:
        raise AskwiseError(f"{name} must be a whole number of at least {least}, was given {number!r}")


def check_whole_or_none(name: str, number: object) -> None:
    """The same for a setting that may be left out."""
    if number is not None:
        check_whole(name, number)


def check_number(name: str, given: object, above: float | None = None) -> None:
    """Raise a clear error for a setting that is no number, is not `above`, or is below 0."""
    number = isinstance(given, (int, float, np.number)) and not isinstance(given, bool)
    if not number or not (given >= 0 if above is None else given > above):  # type: ignore[operator]
        at_least = "at least 0" if above is None else f"above {above:g}"
        raise AskwiseError(f"{name} must be a number {at_least}, was given {given!r}")
