"""mRMR: the groups that tell most about the answer, and least about each other."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from askwise.core.arrays import Array
from askwise.core.errors import AskwiseError
from askwise.core.features import FeatureSpace
from askwise.core.tasks import Task
from askwise.methods.base import ClassifierMethod, RegressorMethod, with_settings
from askwise.methods.binning import Levels, information_with, levels_of
from askwise.methods.checks import check_whole
from askwise.methods.forward import forward_selection
from askwise.methods.static import OrderPolicy, StaticMethod
from askwise.methods.table import TableMethod
from askwise.training.loop import Training

SCHEMES = ("difference", "quotient")
# What a quotient's redundancy is at least, in nats: noise has none, or less.
LEAST_REDUNDANCY = 0.01


@with_settings
class Mrmr(StaticMethod):
    """Asks in the order of minimum redundancy and maximum relevance (Peng et al., 2005).

    The next group is the one with the largest I(x_i; y) - mean over the chosen j of I(x_i; x_j), or the largest
    quotient of the two. Numbers are cut into levels of about as many rows each; what chance adds to the information of
    few rows is taken off. A row where a column is missing tells nothing, so a column is worth less the less often it
    can be had. A group is judged by its most relevant column: its columns together would take more rows to judge. Free
    columns count as chosen. With unequal costs, the score is divided by the cost.

    levels: how many levels a number has. scheme: 'difference' or 'quotient'.
    """

    levels: int = 3
    scheme: Literal["difference", "quotient"] = "difference"

    def check_settings(self) -> None:
        super().check_settings()
        check_whole("levels", self.levels, least=2)
        if self.scheme not in SCHEMES:
            raise AskwiseError(f"scheme must be 'difference' or 'quotient', was given {self.scheme!r}")

    def order(self, policy: OrderPolicy, training: Training, task: Task) -> Tensor:
        space = policy.space
        levels = levels_of(training.train.in_memory(), space, task, self.levels)
        return least_redundant(levels, space, self.steps(space), self.scheme)


def least_redundant(levels: Levels, space: FeatureSpace, steps: int, scheme: str = "difference") -> Tensor:
    """The groups in the order of mRMR (groups,); after so many steps, the rest by their scores then."""
    of_columns = information_with(levels.of_columns, levels.of_answer)
    best = [max(columns, key=lambda c: float(of_columns[c])) for columns in space.members]
    relevance, of_groups = of_columns[best], levels.of_columns[:, best]
    redundancies: list[Tensor] = []

    def choose(column: Array) -> None:
        redundancies.append(information_with(of_groups, column))

    def scores() -> Tensor:
        redundancy = torch.stack(redundancies).mean(0) if redundancies else torch.zeros_like(relevance)
        return relevance - redundancy if scheme == "difference" else relevance / redundancy.clamp_min(LEAST_REDUNDANCY)

    for column, group in enumerate(space.group_of_column):
        if group < 0:
            choose(levels.of_columns[:, column])
    return forward_selection(space, steps, scores, lambda group: choose(of_groups[:, group]))


@with_settings
class MrmrClassifier(ClassifierMethod, TableMethod, Mrmr):
    """Asks in the order of mRMR, the same for all cases, and predicts a label."""

    registry_name = "mrmr-classifier"


@with_settings
class MrmrRegressor(RegressorMethod, TableMethod, Mrmr):
    """Asks in the order of mRMR, the same for all cases, and predicts a number.

    The answer is cut into levels like a column.
    """

    registry_name = "mrmr-regressor"
