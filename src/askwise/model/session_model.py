"""What a session needs of a model: what can be asked, what it costs, and beliefs about one row."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from askwise.core.arrays import Array, log_softmax
from askwise.core.belief import OneRow
from askwise.core.errors import AskwiseError, shortened
from askwise.core.prior import PriorShift
from askwise.core.ranking import Ranking
from askwise.core.rule import Rule
from askwise.core.step import StoppingRule
from askwise.core.stopping import check_rule, resolve_rule
from askwise.core.tasks import Classification, Task
from askwise.data.tables.gaps import GroupGaps, gaps_of_card
from askwise.data.tables.prices import Price, group_costs
from askwise.data.tables.schema import Schema
from askwise.model.prior import Prior, prior_shift

Costs = Mapping[Any, Price] | Sequence[float] | None
Tables = dict[tuple[float, ...], pd.DataFrame]


@dataclass(eq=False)
class SessionModel:
    """A trained model as a session sees it, whatever computes its beliefs.

    For each tuple of costs, `frontiers` holds a table of average costs: the rule for each, what it spends, and metrics;
    `spending` a longer one, of penalty and mean cost; `curves` a shorter one, of every rule. `fingerprint` is that of
    the file the model was loaded from, empty if it was not loaded. `device`: where tensors are, for rules of a user's
    own.
    """

    schema: Schema
    task: Task
    _: KW_ONLY
    frontiers: Tables = field(default_factory=dict)
    spending: Tables = field(default_factory=dict)
    curves: Tables = field(default_factory=dict)
    card: dict[str, Any] = field(default_factory=dict)
    device: str = "cpu"
    fingerprint: str = ""

    @property
    def is_information(self) -> bool:
        """Whether scores are information, or only an order."""
        raise NotImplementedError

    @property
    def gaps(self) -> tuple[GroupGaps, ...]:
        """What the gaps of the rows it learnt from told about their answers; files of earlier versions do not say."""
        return gaps_of_card(self.card)

    @property
    def ranking(self) -> Ranking:
        """How groups are ranked."""
        return Ranking(self.is_information)

    @property
    def one_row(self) -> Callable[[], OneRow]:
        """Starts the beliefs about a session's row."""
        raise NotImplementedError

    def costs(self, costs: Costs = None) -> tuple[float, ...]:
        """The costs of training, changed where others are given."""
        space = self.schema.space
        if costs is None:
            return space.costs
        members = {g: tuple(c.name for c in self.schema.columns_of(g)) for g in space.names}
        return group_costs(space.in_order(costs), self.schema.column_names, members, self.schema.free, space.costs)

    def frontier(self, costs: tuple[float, ...] | None = None) -> pd.DataFrame:
        """The table of average cost against the rule that is run, what it spends and metrics."""
        costs = costs or self.schema.space.costs
        if costs not in self.frontiers:
            raise AskwiseError(
                "an average cost can be kept only under prices that the model has a frontier of, and it has none of "
                f"these: {self._prices_given(costs)}; use a budget or a penalty instead, or the prices of training. "
                "In Python, model.frontier(X, y, costs=...) makes a frontier of these prices from rows of your own"
            )
        return self.frontiers[costs]

    def prior_shift(self, prior: Prior) -> PriorShift | None:
        """What another prevalence than that of training does to predictions; None leaves them."""
        if prior is None:
            return None
        if not isinstance(self.task, Classification):
            raise AskwiseError("prior is the prevalence of labels, and this model predicts a number; leave it out")
        return prior_shift(prior, self.task.labels, self._prevalence())

    def _prevalence(self) -> Array:
        """The share of each label in the rows that the model learnt from, (classes,)."""
        kept, base_rate = self.card.get("prevalence"), self.base_rate
        if kept is not None:
            return np.array(kept, dtype=np.float64)
        if base_rate is not None:
            # Files of earlier versions keep it as what is predicted if nothing is known.
            return np.asarray(np.exp(log_softmax(base_rate)))
        raise AskwiseError(
            "this model does not say how frequent each label was in training, so predictions can't be moved to another "
            "prevalence; its file is of an earlier version: train it again"
        )

    @property
    def base_rate(self) -> Array | None:
        """The outputs (n_outputs,) if nothing is known, if these are kept apart from the networks."""
        return None

    def _prices_given(self, costs: tuple[float, ...]) -> str:
        """How prices differ from those of training."""
        space = self.schema.space
        other = [(n, c, was) for n, c, was in zip(space.names, costs, space.costs, strict=True) if c != was]
        if not other:
            same = costs == space.costs
            return "these are the prices of training" if same else "questions share other prices than in training"
        name, cost, was = other[0]
        count = f" ({len(other)} prices differ)" if len(other) > 1 else ""
        return f"{shortened(name)} costs {cost:.12g} here and {was:.12g} in training{count}"

    def rule(self, stop: StoppingRule | None, costs: tuple[float, ...], prior: Prior = None) -> StoppingRule | None:
        """The rule to run: checked against the task, the scores and the prior, with what an average cost stands for."""
        if stop is None:
            return None
        check_rule(stop, self.task, self)
        shift = self.prior_shift(prior)
        if shift is not None and isinstance(stop, Rule):
            stop.check_prior(self._prevalence() * np.exp(shift.added))
        return resolve_rule(stop, lambda: self._average_costs(costs))

    def _average_costs(self, costs: tuple[float, ...]) -> pd.DataFrame:
        """The table to look an average cost up in: the frontier.

        Files of earlier versions have a frontier of penalties alone, and most of them a longer table of penalties.
        """
        frontier = self.frontier(costs)
        return frontier if "rule" in frontier else self.spending.get(costs, frontier)
