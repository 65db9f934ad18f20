"""A trained model: schema, task, policy and frontiers, and what can be done with encoded rows."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from askwise.core.arrays import Array, cost_tensor
from askwise.core.belief import OneRow
from askwise.core.errors import AskwiseError, shortened
from askwise.core.policy import Policy
from askwise.core.rows import Rows
from askwise.core.step import Step, StoppingRule, price
from askwise.core.stopping import check_rule, resolve_rule
from askwise.core.tasks import Task
from askwise.core.trace import Stop, Trace, rollout
from askwise.data.tables.prices import group_costs
from askwise.data.tables.schema import Schema

Costs = Mapping[Any, float] | Sequence[float] | None


@dataclass(frozen=True, repr=False)
class Acquisition:
    """What was asked of each row, and what came of it.

    order: group names in the order asked; known: DataFrame of bool, rows by groups; spent, n_asked, reason: one a row;
    proba (rows, classes) for classes, prediction (rows,) for numbers.
    """

    order: list[list[str]]
    known: pd.DataFrame
    spent: Array
    n_asked: Array
    reason: Array
    proba: Array | None = None
    prediction: Array | None = None

    def __repr__(self) -> str:
        reasons = ", ".join(f"{n} {r}" for r, n in Counter(self.reason.tolist()).most_common())
        return (
            f"Acquisition of {len(self.order)} rows: {self.n_asked.mean():.2f} questions and {self.spent.mean():.4g} "
            f"spent on average; stopped: {reasons}"
        )


@dataclass(eq=False)
class Model:
    """Everything a trained model is. `frontiers` holds, for each tuple of costs, a table of penalty, cost and metrics;
    `spending` a longer one, of penalty and cost alone; `curves` a shorter one, of every rule.

    `fingerprint` is that of the file a model was loaded from; empty where it was not.

    The policy is kept in float32 as it was trained. A rollout runs in float32 too, for speed, and settles near ties in
    float64; everything else runs in float64. So a row gets the same choices alone, in a batch and in a session.
    """

    schema: Schema
    task: Task
    policy: Policy
    frontiers: dict[tuple[float, ...], pd.DataFrame] = field(default_factory=dict)
    spending: dict[tuple[float, ...], pd.DataFrame] = field(default_factory=dict)
    curves: dict[tuple[float, ...], pd.DataFrame] = field(default_factory=dict)
    card: dict[str, Any] = field(default_factory=dict)
    device: str = "cpu"
    fingerprint: str = ""

    @cached_property
    def running_policy(self) -> Policy:
        """The policy in float64."""
        return copy.deepcopy(self.policy).to(self.device).double().eval()

    @cached_property
    def fast_policy(self) -> Policy:
        """The policy in float32."""
        return copy.deepcopy(self.policy).to(self.device).float().eval()

    @cached_property
    def one_row(self) -> Callable[[], OneRow]:
        """Starts the beliefs about a session's row."""
        return self.running_policy.one_row()

    def place(self, rows: Rows) -> Rows:
        return rows.to(self.device, torch.float64)

    def costs(self, costs: Costs = None) -> tuple[float, ...]:
        """The costs of training, changed where others are given."""
        space = self.schema.space
        if costs is None:
            return space.costs
        members = {g: tuple(c.name for c in self.schema.columns_of(g)) for g in space.names}
        trained = dict(zip(space.names, space.costs, strict=True))
        return group_costs(space.in_order(costs), self.schema.column_names, members, self.schema.free, trained)

    def cost_tensor(self, costs: tuple[float, ...]) -> Tensor:
        return cost_tensor(costs, torch.float64, self.device)

    def frontier(self, costs: tuple[float, ...] | None = None) -> pd.DataFrame:
        """The table of penalty against mean cost and metrics."""
        costs = costs or self.schema.space.costs
        if costs not in self.frontiers:
            raise AskwiseError(
                "an average cost can be kept only under prices that the model has a frontier of, and it has none of "
                f"these: {self._prices_given(costs)}; use a budget or a penalty instead, or the prices of training. "
                "In Python, model.frontier(X, y, costs=...) makes a frontier of these prices from rows of your own"
            )
        return self.frontiers[costs]

    def _prices_given(self, costs: tuple[float, ...]) -> str:
        """How prices differ from those of training."""
        space = self.schema.space
        other = [(n, c, was) for n, c, was in zip(space.names, costs, space.costs, strict=True) if c != was]
        if not other:
            return "these are the prices of training"
        name, cost, was = other[0]
        count = f" ({len(other)} prices differ)" if len(other) > 1 else ""
        return f"{shortened(name)} costs {cost:.12g} here and {was:.12g} in training{count}"

    def rule(self, stop: StoppingRule | None, costs: tuple[float, ...]) -> StoppingRule | None:
        """The rule to run: checked against the task and policy, with AverageCost looked up."""
        if stop is None:
            return None
        check_rule(stop, self.task, self.policy)
        # A model saved before there was a longer table has the frontier alone.
        return resolve_rule(stop, lambda: self.spending[costs] if costs in self.spending else self.frontier(costs))

    def outputs(self, rows: Rows) -> Tensor:
        """Outputs from everything that is present."""
        policy, found = self.running_policy, []
        with torch.no_grad():
            for batch in rows.batches(self.schema.space.rows_at_once(torch.device(self.device))):
                placed = self.place(batch)
                mask = policy.mask(placed.available, placed.present)
                found.append(policy(placed.x, mask, scores=False).outputs.cpu())
        return torch.cat(found)

    def trace(
        self,
        rows: Rows,
        rules: Sequence[StoppingRule | None],
        costs: tuple[float, ...],
        walked_by: StoppingRule | None = None,
        progress: Callable[[float], None] | None = None,
    ) -> Trace:
        """One rollout that all the rules cut; `walked_by` is the one whose budget limits the choices on the way."""
        return rollout(
            self.fast_policy,
            rows,
            self.cost_tensor(costs),
            rules,
            walked_by,
            lambda batch: batch.to(self.device),
            progress=progress,
            exact=self.running_policy,
        )

    def acquire(self, rows: Rows, stop: StoppingRule | None, costs: Costs = None, index: Any = None) -> Acquisition:
        prices = self.costs(costs)
        rule = self.rule(stop, prices)
        trace = self.trace(rows, [rule], prices, walked_by=rule)
        return self.acquisition(trace, trace.stops[0], index)

    def acquisition(self, trace: Trace, stop: Stop, index: Any = None) -> Acquisition:
        outputs, spent, n_asked = trace.at(stop.at)
        names = np.array(self.schema.space.names, dtype=object)
        choice = trace.choice.numpy().T
        # A rule may hold a row where nothing can be asked: such a step asked nothing.
        asked = (choice >= 0) & (np.arange(choice.shape[1]) < stop.at.numpy()[:, None])
        row, step = np.nonzero(asked)
        known = np.zeros((len(choice), len(names)), dtype=bool)
        known[row, choice[row, step]] = True
        each = np.split(names[choice[row, step]], np.cumsum(asked.sum(1))[:-1])
        order = [part.tolist() for part in each]
        answer = self.task.decode(outputs)
        return Acquisition(
            order,
            pd.DataFrame(known, columns=names, index=index),
            spent.double().numpy(),
            n_asked.numpy(),
            stop.reason,
            **{"proba" if self.task.kind == "classification" else "prediction": answer},
        )

    def values(self, step: Step) -> Tensor:
        """Score per cost of every group at a step, also of those that can't be asked now."""
        assert step.belief.scores is not None
        return price(self.policy, step.belief.scores, step.costs)

    def information(self, rows: Rows, available: Tensor | None = None) -> Array:
        """Estimated information of every open group, (rows, groups), in one forward pass; NaN where it is not open.

        Here absent means not known yet: a group is known where any of its columns is present.
        """
        policy = self.running_policy
        if not policy.is_information:
            raise AskwiseError(
                "this method does not estimate information, its scores are only an order; a session's ranking has "
                "that, and so has acquire(X).order. DimeClassifier and EddiClassifier estimate information"
            )
        found = []
        with torch.no_grad():
            for batch in rows.batches(self.schema.space.rows_at_once(torch.device(self.device))):
                placed = self.place(batch)
                belief = policy(placed.x, policy.mask(placed.available, placed.present))
                assert belief.scores is not None
                scores = price(policy, belief.scores, torch.ones_like(belief.scores[0]))
                found.append(scores.masked_fill(placed.available, torch.nan).cpu())
        scores = torch.cat(found).double()
        if available is not None:
            scores = scores.masked_fill(~available, torch.nan)
        return scores.numpy()
