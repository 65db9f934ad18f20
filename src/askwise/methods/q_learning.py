"""What methods that learn by Q-learning share: the budget of an episode, and the stages of training."""

from __future__ import annotations

from dataclasses import replace

from askwise.core.costs import own_costs
from askwise.core.features import FeatureSpace
from askwise.core.prices import Prices
from askwise.core.rows import even_batches
from askwise.core.tasks import Task
from askwise.methods.base import with_settings
from askwise.methods.budgeted import BudgetedMethod, paid_in_turn
from askwise.methods.checks import check_whole_or_none
from askwise.methods.table import TableMethod
from askwise.networks.pair_policy import PairPolicy
from askwise.training.loop import Training
from askwise.training.q_learning import QLearning
from askwise.training.temperature import fit_temperature
from askwise.training.update import Objective

Q_UPDATES = 1700


@with_settings
class QMethod(TableMethod, BudgetedMethod):
    """A method whose scores are learnt by Q-learning, for one budget or for all."""

    # Memories of episodes hold the answers of the table.
    learns_softly = False

    pretrain_epochs: int | None = None

    def check_settings(self) -> None:
        super().check_settings()
        check_whole_or_none("pretrain_epochs", self.pretrain_epochs)

    def episode_steps(self, space: FeatureSpace) -> int:
        """How many questions an episode has at most; at least one, also where none can be paid."""
        steps = self.steps(space)
        if self.budget is None:
            return steps
        # Without what groups share, so that no episode has more.
        costs = own_costs(space.costs)
        cheapest_first = sorted(range(space.n_groups), key=costs.__getitem__)
        return max(1, min(steps, len(paid_in_turn(self.budget, costs, cheapest_first))))

    def learn(
        self,
        policy: PairPolicy,
        training: Training,
        task: Task,
        first: str,
        pretraining: Objective,
        objective: type[QLearning],
    ) -> None:
        """Predictions from random sets first, then Q-learning."""
        self.before_training(policy, training)
        # Sums of prices must meet a budget.
        prices = Prices.tensor(policy.space.costs, device=training.device)
        steps = self.episode_steps(policy.space)
        training.stage(first, pretraining, self.pretraining(training, self.pretrain_epochs))
        plan = self.plan(training, Q_UPDATES)
        _, walked = even_batches(len(training.train), self.walked(plan, training).batch_size)
        q_learning = objective(policy, task, prices, steps, self.rule, walked, plan.batch_size)
        training.stage("q", q_learning, replace(plan, batch_size=walked))
        policy.temperature.fill_(fit_temperature(policy, training.val, prices, steps))
