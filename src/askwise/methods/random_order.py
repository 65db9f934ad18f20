"""Two reference methods: one asks in a random order, the other knows everything."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from askwise.core.tasks import Task
from askwise.methods.base import ClassifierMethod, RegressorMethod, with_settings
from askwise.methods.static import OrderPolicy, StaticMethod
from askwise.methods.table import TableMethod
from askwise.training.draws import seeded_rng
from askwise.training.loop import Training


@with_settings
class RandomOrder(StaticMethod):
    """Asks in an order drawn at random: what any other method must beat."""

    def order(self, policy: OrderPolicy, training: Training, task: Task) -> Tensor:
        del task
        with seeded_rng("cpu", training.seed):
            return torch.randperm(policy.space.n_groups)


@with_settings
class RandomOrderClassifier(ClassifierMethod, TableMethod, RandomOrder):
    """Asks in one random order, the same for all cases, and predicts a label."""

    registry_name = "random-order-classifier"


@with_settings
class RandomOrderRegressor(RegressorMethod, TableMethod, RandomOrder):
    """Asks in one random order, the same for all cases, and predicts a number."""

    registry_name = "random-order-regressor"


@with_settings
class AllFeatures(StaticMethod):
    """Learns from complete cases only: what it predicts from everything is the ceiling of other methods.

    Its order is that of the table; of cases with few answers it knows nothing. With a budget it is given what that
    pays for, in that order.
    """

    def order(self, policy: OrderPolicy, training: Training, task: Task) -> Tensor:
        del training, task
        return torch.arange(policy.space.n_groups)

    def sets(self, policy: OrderPolicy) -> Callable[[Tensor], Tensor]:
        del policy
        return lambda available: available


@with_settings
class AllFeaturesClassifier(ClassifierMethod, TableMethod, AllFeatures):
    """Predicts a label from everything that is available."""

    registry_name = "all-features-classifier"


@with_settings
class AllFeaturesRegressor(RegressorMethod, TableMethod, AllFeatures):
    """Predicts a number from everything that is available."""

    registry_name = "all-features-regressor"
