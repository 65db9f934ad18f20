"""A trained model: a policy with its schema, task and frontiers."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from askwise.core.arrays import Array, at_least_zero
from askwise.core.belief import OneRow
from askwise.core.errors import AskwiseError
from askwise.core.policy import Policy
from askwise.core.prices import Prices
from askwise.core.prior import PriorShift
from askwise.core.ranking import Ranking
from askwise.core.rows import Rows
from askwise.core.step import StoppingRule
from askwise.core.stopping import Interval, expected_cost
from askwise.core.trace import Stop, Trace, rollout
from askwise.model.prior import Prior
from askwise.model.session_model import Costs, SessionModel


@dataclass(frozen=True, repr=False)
class Acquisition:
    """What was asked of each row, and what came of it.

    order: group names in the order asked; known: DataFrame of bool, rows by groups; spent, n_asked, reason: one a row;
    proba (rows, classes) for classes, prediction (rows,) for numbers. expected_cost: under an average cost, between
    which numbers the mean cost of fresh rows was expected.
    """

    order: list[list[str]]
    known: pd.DataFrame
    spent: Array
    n_asked: Array
    reason: Array
    proba: Array | None = None
    prediction: Array | None = None
    expected_cost: Interval | None = None

    def __repr__(self) -> str:
        reasons = ", ".join(f"{n} {r}" for r, n in Counter(self.reason.tolist()).most_common())
        expected = "" if self.expected_cost is None else f" (expected: {self.expected_cost})"
        return (
            f"Acquisition of {len(self.order)} rows: {self.n_asked.mean():.2f} questions and {self.spent.mean():.4g} "
            f"spent on average{expected}; stopped: {reasons}"
        )


@dataclass(eq=False)
class Model(SessionModel):
    """A trained policy with its schema, task and frontiers, and what can be done with encoded rows.

    The policy is kept in float32 as it was trained. A rollout runs in float32 too, for speed, and settles near ties in
    float64; everything else runs in float64. So a row gets the same choices alone, in a batch and in a session.
    """

    policy: Policy

    @property
    def is_information(self) -> bool:
        return self.policy.is_information

    @property
    def ranking(self) -> Ranking:
        return self.policy.ranking

    @cached_property
    def running_policy(self) -> Policy:
        """The policy in float64."""
        return copy.deepcopy(self.policy).to(self.device).double().eval()

    @cached_property
    def fast_policy(self) -> Policy:
        """The policy in float32."""
        return copy.deepcopy(self.policy).to(self.device).float().eval()

    @property
    def base_rate(self) -> Array | None:
        found = getattr(self.policy, "base_rate", None)
        return None if found is None else found.double().cpu().numpy()

    @cached_property
    def one_row(self) -> Callable[[], OneRow]:
        return self.running_policy.one_row()

    def place(self, rows: Rows) -> Rows:
        return rows.to(self.device, torch.float64)

    def prices(self, costs: tuple[float, ...]) -> Prices:
        """Costs as a rollout takes them."""
        return Prices.tensor(costs, device=self.device)

    def outputs(self, rows: Rows, prior: Prior = None) -> Tensor:
        """Outputs from everything that is present. prior: another prevalence than that of training."""
        policy, found, shift = self.running_policy, [], self.prior_shift(prior)
        with torch.no_grad():
            for batch in rows.batches(self.schema.space.rows_at_once(torch.device(self.device))):
                placed = self.place(batch)
                mask = policy.mask(placed.available, placed.present)
                found.append(policy(placed.x, mask, scores=False).outputs.cpu())
        outputs = torch.cat(found)
        return outputs if shift is None else shift.outputs(outputs)

    def trace(
        self,
        rows: Rows,
        rules: Sequence[StoppingRule | None],
        costs: tuple[float, ...],
        walked_by: StoppingRule | None = None,
        progress: Callable[[float], None] | None = None,
        shift: PriorShift | None = None,
    ) -> Trace:
        """One rollout that all the rules cut; `walked_by` is the one whose budget limits the choices on the way."""
        return rollout(
            self.fast_policy,
            rows,
            self.prices(costs),
            rules,
            walked_by,
            lambda batch: batch.to(self.device),
            progress=progress,
            exact=self.running_policy,
            shift=shift,
        )

    def acquire(
        self, rows: Rows, stop: StoppingRule | None, costs: Costs = None, index: Any = None, prior: Prior = None
    ) -> Acquisition:
        prices = self.costs(costs)
        rule = self.rule(stop, prices, prior)
        trace = self.trace(rows, [rule], prices, walked_by=rule, shift=self.prior_shift(prior))
        return replace(
            self.acquisition(trace, trace.stops[0], index), expected_cost=None if prior else expected_cost(rule)
        )

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
        answer = {"proba" if self.task.kind == "classification" else "prediction": self.task.decode(outputs)}
        return Acquisition(
            order,
            pd.DataFrame(known, columns=names, index=index),
            spent.double().numpy(),
            n_asked.numpy(),
            stop.reason,
            proba=answer.get("proba"),
            prediction=answer.get("prediction"),
        )

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
                known = self.schema.space.recorded(placed.present)
                belief = policy(placed.x, policy.mask(known, placed.present))
                assert belief.scores is not None
                scores = at_least_zero(belief.scores)
                found.append(scores.masked_fill(known, torch.nan).cpu())
        scores = torch.cat(found).double()
        if available is not None:
            scores = scores.masked_fill(~available, torch.nan)
        return scores.numpy()
