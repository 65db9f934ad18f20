"""The supervised Concrete autoencoder: selectors learn by gradients which few groups predict the answer best."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import torch
from torch import Tensor, nn

from askwise.core.costs import are_equal
from askwise.core.features import FeatureSpace
from askwise.core.prices import Prices
from askwise.core.tasks import Task
from askwise.methods.base import ClassifierMethod, RegressorMethod, with_settings
from askwise.methods.budgeted import affordable, paid_in_turn
from askwise.methods.checks import check_numbers, check_whole_or_none
from askwise.methods.static import OrderPolicy, StaticMethod
from askwise.methods.table import TableMethod
from askwise.networks.concrete import ConcreteSelector
from askwise.networks.pair import SeparateNetworks
from askwise.networks.pair_policy import PairPolicy
from askwise.training.loop import Training
from askwise.training.modes import frozen
from askwise.training.objectives import MaskedPrediction

# At each temperature.
SELECTION_UPDATES = 600
# Sets drawn for a batch, whose rows take turns with them: one for each row would cost more than the networks do.
SETS_PER_BATCH = 16


class Selection(PairPolicy):
    """Selectors, and a predictor that sees what they select; both are thrown away once the order is known."""

    def __init__(self, space: FeatureSpace, task: Task, predictor: nn.Module, selector: ConcreteSelector) -> None:
        super().__init__(space, task, SeparateNetworks(predictor, nn.Identity()))
        self.selector = selector

    def sets(self, available: Tensor, temperature: float, prefixes: bool) -> Tensor:
        """Softly known sets to learn from, (rows, groups). What can't be had adds nothing: it is not present."""
        n_rows = len(available)
        drawn = self.selector.draw(min(n_rows, SETS_PER_BATCH), temperature, prefixes)
        return drawn.repeat(-(-n_rows // len(drawn)), 1)[:n_rows]


@with_settings
class ConcreteAutoencoder(StaticMethod):
    """What the classifier and the regressor share: settings, and the selection at one temperature after another."""

    temperatures: Sequence[float] = (10.0, 1.8, 0.32, 0.056, 0.01)
    selection_epochs: int | None = None

    def check_settings(self) -> None:
        super().check_settings()
        check_whole_or_none("selection_epochs", self.selection_epochs)
        check_numbers("temperatures", self.temperatures, above=0)

    def order(self, policy: OrderPolicy, training: Training, task: Task) -> Tensor:
        space = policy.space
        n_selectors, allowed = self._affordable(space)
        if n_selectors == 0:
            return allowed.int().argsort(descending=True, stable=True)
        selector = ConcreteSelector(n_selectors, allowed)
        # A part of the policy for now, since that is what learns. The policy's own predictor waits, fresh.
        selection = Selection(space, task, self.network(space, task.n_outputs), selector).to(training.device)
        policy.add_module("selection", selection)
        self.before_training(policy, training)
        # A budget that the selected groups just fill leaves nothing to put in order.
        prefixes = self.budget is None or not are_equal(space.costs)
        with frozen(policy.networks.predictor_parts):
            for temperature in self.temperatures:
                draw = partial(selection.sets, temperature=float(temperature), prefixes=prefixes)
                objective = MaskedPrediction(selection, task, draw)
                plan = self.plan(training, SELECTION_UPDATES, self.selection_epochs)
                training.stage(f"selection at {temperature:g}", objective, plan)
        order = selector.order()
        del policy.selection
        return order

    def _affordable(self, space: FeatureSpace) -> tuple[int, Tensor]:
        """How many selectors there are, and which groups (groups,) they may select.

        A budget pays for so many groups at the mean price; where that is all of them, or none, nothing is selected.
        """
        if self.budget is None:
            return self.steps(space), torch.ones(space.n_groups, dtype=torch.bool)
        allowed = affordable(self.budget, space.costs)
        n_allowed = int(allowed.sum())
        mean = float(Prices.tensor(space.costs).total(allowed[None])) / max(n_allowed, 1)
        count = len(paid_in_turn(self.budget, (mean,) * n_allowed, list(range(n_allowed))))
        return 0 if count == n_allowed else count, allowed


@with_settings
class ConcreteAutoencoderClassifier(ClassifierMethod, TableMethod, ConcreteAutoencoder):
    """Asks every case for the groups that a Concrete autoencoder selects, and predicts a label from them.

    Selectors learn together with a predictor, softly at first and then more and more sharply; a new predictor is then
    trained on what they have selected.
    budget: None puts the groups in one order, in which every first few are the best few that could be found, with as
    many selectors as `max_steps`, and trains one predictor for all of them. A number selects as many groups as it pays
    for, and trains the predictor on these alone. Prices matter to a budget only: a price never changes the order.
    temperatures: of the selection, each until it no longer improves on the validation rows.
    epochs: at each temperature, unless selection_epochs says otherwise, and for the predictor; all other settings are
    those of DimeClassifier.
    """

    registry_name = "concrete-autoencoder-classifier"


@with_settings
class ConcreteAutoencoderRegressor(RegressorMethod, TableMethod, ConcreteAutoencoder):
    """Asks every case for the groups that a Concrete autoencoder selects, and predicts a number from them.

    The settings are those of ConcreteAutoencoderClassifier.
    """

    registry_name = "concrete-autoencoder-regressor"
