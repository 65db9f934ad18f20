"""What methods with one order of questions for all cases share: a predictor over the prefixes of that order."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from askwise.core.errors import AskwiseError, shortened
from askwise.core.features import FeatureSpace
from askwise.core.policy import Policy
from askwise.core.tasks import Task
from askwise.methods.base import with_settings
from askwise.methods.budgeted import BudgetedMethod, paid_in_turn
from askwise.methods.neural import NeuralMethod
from askwise.networks.pair import SharedNetworks
from askwise.networks.pair_policy import PairPolicy
from askwise.training.loop import Training
from askwise.training.objectives import MaskedPrediction

PREDICTOR_UPDATES = 3400
# How often a set to learn from is not just a prefix as long as an episode: one of any length; and one with gaps, as a
# case has whose answers were declined, or who could not pay for the next in line.
ANY_LENGTH, WITH_GAPS = 0.1, 0.25


class OrderPolicy(PairPolicy):
    """A predictor, and one order for all cases: the scores are its constant biases.

    taken (groups,): those that the predictor knows of; all, unless it is trained for one budget.
    """

    is_information = False
    taken: Tensor

    def __init__(self, space: FeatureSpace, task: Task, networks: SharedNetworks) -> None:
        super().__init__(space, task, networks)
        networks.score_head.requires_grad_(False)
        nn.init.zeros_(networks.score_head.weight)
        self.register_buffer("taken", torch.ones(space.n_groups, dtype=torch.bool))
        self.ask_in(torch.arange(space.n_groups))

    @property
    def _scores(self) -> Tensor:
        assert isinstance(self.networks, SharedNetworks)
        return self.networks.score_head.bias

    @torch.no_grad()
    def ask_in(self, order: Tensor) -> None:
        """Ask the groups in this order, (groups,), the first one first."""
        self._scores[order] = -torch.arange(len(order), dtype=self._scores.dtype, device=self._scores.device)

    @property
    def order(self) -> Tensor:
        """The groups in the order they are asked, (groups,)."""
        return self._scores.argsort(descending=True)

    def prefixes(self, available: Tensor, longest: int) -> Tensor:
        """Random known sets (rows, groups) to learn from: prefixes of what can be had, in order."""
        n_rows, n_groups = available.shape
        length, any_length, gaps, share = torch.rand(4, n_rows, 1, device=available.device)
        most = torch.where(any_length < ANY_LENGTH, n_groups, longest)
        order = self.order
        place = available[:, order].cumsum(1)[:, order.argsort()]
        lost = torch.rand(available.shape, device=available.device) < share * (gaps < WITH_GAPS)
        return (place <= (length * (most + 1)).floor()) & available & ~lost

    def take_within(self, budget: float) -> None:
        """Take the groups that are asked within a budget: each time the next in order that is affordable."""
        paid = paid_in_turn(budget, self.space.costs, self.order.tolist())
        self.taken.zero_()[paid] = True

    def forget(self) -> None:
        """Make the predictor blind to all groups but those that are taken."""
        lost = torch.cat([~self.taken, self.taken.new_zeros(1)])[self.group_of_column]
        inputs = torch.cat([lost[self.column_of_entry], lost, lost[list(self.space.column_of_part)]])
        for layer in self.first_layers:
            layer.weight.data[:, inputs] = 0


@with_settings
class StaticMethod(NeuralMethod, BudgetedMethod):
    """Asks every case the same questions in the same order, which a subclass finds.

    budget: None trains one predictor for every prefix of the order. A number trains it on what the order takes within
    that budget; it is then blind to everything else.
    """

    def order(self, policy: OrderPolicy, training: Training, task: Task) -> Tensor:
        """The groups in the order to ask them, (groups,): a tensor that names each of them once."""
        raise NotImplementedError

    def sets(self, policy: OrderPolicy) -> Callable[[Tensor], Tensor]:
        """How to draw known sets to learn from, both (rows, groups), out of what is available."""
        steps = self.steps(policy.space)
        return lambda available: policy.prefixes(available, steps)

    def build(self, space: FeatureSpace, task: Task) -> Policy:
        networks = self.pair(space, task, share_trunk=True)
        assert isinstance(networks, SharedNetworks)
        return OrderPolicy(space, task, networks)

    def train(self, policy: Policy, training: Training, task: Task) -> None:
        assert isinstance(policy, OrderPolicy)
        self.before_training(policy, training)
        order = self.order(policy, training, task)
        _check_order(order, policy.space.n_groups, f"{type(self).__name__}.order")
        policy.ask_in(order.to(training.device))
        draw = self.sets(policy)
        if self.budget is not None:
            if not policy.first_layers:
                raise AskwiseError("budget= trains a predictor for one budget on tables only; leave it out")
            policy.take_within(self.budget)
            # Looked up with each draw: of a run that goes on, order and groups come back when the stage begins.
            draw = lambda available: available & policy.taken  # noqa: E731
        training.stage("predictor", MaskedPrediction(policy, task, draw), self.plan(training, PREDICTOR_UPDATES))
        if self.budget is not None:
            policy.forget()
        self.calibrate(policy, training, task)


def _check_order(order: object, n_groups: int, name: str) -> None:
    """Raise where a method's order is not a tensor that names each group once."""
    wanted = f"{name} must return a tensor that names each of the {n_groups} groups once, by its number from 0"
    if not isinstance(order, Tensor):
        raise AskwiseError(f"{wanted}; it returned a {type(order).__name__}: use torch.tensor(...)")
    if order.is_floating_point() or sorted(order.flatten().tolist()) != list(range(n_groups)) or order.ndim != 1:
        raise AskwiseError(f"{wanted}; it returned {shortened(order.tolist())}")
