"""Weights of states against selective gaps: that a group was recorded then says nothing about the answer."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Self

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from askwise.core.arrays import Array
from askwise.core.features import FeatureSpace
from askwise.core.rows import Rows, repeat_rows
from askwise.core.tasks import Classification, Task
from askwise.data.tables.gaps import answer_cuts
from askwise.data.tables.presence_model import PresenceModel
from askwise.training.weights import OfPredictions, StateWeights

# Weights are at most so large, and at least one of so many.
LARGEST = 30.0
# What presence says for or against an answer, at most: beyond that, predictions learn nothing anyway.
MOST_LOG_RATIO = 30.0


class GapWeights(StateWeights):
    """Weigh a state by P(presence) / P(presence | answer) of the groups that were tried to get there.

    Predictions of labels need no weights, which would leave few rows where gaps tell much: log P(presence | answer) is
    added to their logits while they learn, so that these learn what is left.

    A group was tried if it is known, or was asked in vain: rows are walked as if they had all `groups`, and one that
    is absent reveals nothing. So rows of each answer have as many gaps, and as many values, as those of any other.
    cuts: between which numbers an answer that is a number is one of the model's answers.
    """

    differ_by_answer = True

    def __init__(self, space: FeatureSpace, groups: np.ndarray, model: PresenceModel, cuts: np.ndarray) -> None:
        self.space = space
        self.groups = torch.from_numpy(np.asarray(groups))
        self.cuts = torch.from_numpy(np.asarray(cuts, dtype=np.float64))
        self.of_labels = not len(cuts)
        # Of a loss, weights, answers and offsets ask about the same states.
        self._last: tuple[Rows, Tensor, Tensor] | None = None
        # A kind of rows of one answer after the other: (groups, answers x kinds).
        self.logits = torch.from_numpy(model.logits).flatten(0, 1).T.float()
        self.log_kind = torch.from_numpy(model.log_kind).float()
        self.log_answer = torch.from_numpy(model.log_answer).float()
        self.free = torch.tensor(free_entries(space), dtype=torch.int64)
        self.of_free, self.answer_of_free = (
            torch.from_numpy(part).float() for part in (model.of_free, model.answer_of_free)
        )

    @property
    def selective_groups(self) -> list[int]:
        return list(self.groups.tolist())

    def to(self, device: torch.device) -> Self:
        other = copy.copy(self)
        other._last = None
        for name, value in vars(self).items():
            if isinstance(value, Tensor):
                setattr(other, name, value.to(device))
        return other

    @staticmethod
    def fit(space: FeatureSpace, task: Task, names: Sequence[str], rows: Rows) -> GapWeights:
        """Weights fitted to these rows, which have answers, against the gaps of the groups of these names."""
        assert rows.y is not None
        groups = np.array(sorted(space.position[name] for name in names), dtype=np.int64)
        answers, n_answers, cuts = _answers(task, rows.y.cpu().numpy())
        present = space.recorded(rows.present).cpu().numpy()[:, groups]
        free = rows.x[:, free_entries(space)].cpu().numpy()
        weight = None if rows.weight is None else rows.weight.cpu().numpy()
        model = PresenceModel.fit(present, answers, n_answers, weight, free if free.shape[1] else None)
        return GapWeights(space, groups, model, cuts)

    def tries(self, rows: Rows) -> Tensor:
        """Which groups may be tried, (rows, groups): those that are there, and all whose gaps are weighed."""
        available = rows.available.clone()
        available[:, self.groups.to(available.device)] = True
        return available

    def rows_with_tries(self, rows: Rows) -> Rows:
        return replace(rows, available=self.tries(rows), tries=True)

    def __call__(self, rows: Rows, known: Tensor, row_weight: Tensor) -> Tensor:
        of_answer = self.of_answers(rows, known)
        if rows.soft_y is not None:
            return row_weight * (of_answer * rows.soft_y).sum(-1)
        return row_weight * of_answer.gather(-1, self._answers(rows).expand(of_answer.shape[:-1])[..., None])[..., 0]

    def targets(self, rows: Rows, known: Tensor) -> Tensor:
        if rows.soft_y is None:
            return super().targets(rows, known)
        weighted = self.of_answers(rows, known) * rows.soft_y
        return (weighted / weighted.sum(-1, keepdim=True)).flatten(0, -2)

    def of_predictions(self, rows: Rows, known: Tensor, row_weight: Tensor) -> OfPredictions:
        if not self.of_labels:
            return super().of_predictions(rows, known, row_weight)
        answers = repeat_rows(rows.target, math.prod(known.shape[:-2]))
        offset = self.log_ratios(rows, known).flatten(0, -2)
        return OfPredictions(answers, row_weight.expand(known.shape[:-1]), offset)

    def recorded(self, rows: Rows) -> Tensor:
        return self.space.recorded(rows.present)

    def of_answers(self, rows: Rows, known: Tensor) -> Tensor:
        """The weight that states (..., batch) would have, had their row this answer or that: (..., batch, answers)."""
        most = math.log(LARGEST)
        return (-self.log_ratios(rows, known)).clamp(-most, most).exp()

    @torch.no_grad()
    def log_ratios(self, rows: Rows, known: Tensor) -> Tensor:
        """log P(presence | answer) / P(presence) of the groups tried in states (..., batch): (..., batch, answers)."""
        if self._last is None or self._last[0] is not rows or self._last[1] is not known:
            # In bfloat16, errors of many groups would add up.
            with torch.autocast(rows.x.device.type, enabled=False):
                self._last = (rows, known, self._log_ratios(rows, known))
        return self._last[2]

    def _log_ratios(self, rows: Rows, known: Tensor) -> Tensor:
        there = self.recorded(rows)[:, self.groups]
        tried = known[..., self.groups].float()
        answer = self.log_answer
        if len(self.free):
            inputs = rows.x[:, self.free].float()
            answer = answer + inputs @ self.answer_of_free
            logits = self.logits + (inputs @ self.of_free)[..., None]
            shown = torch.where(there[..., None], logsigmoid(logits), logsigmoid(-logits))
            log_p = torch.einsum("...bg,bgm->...bm", tried, shown)
        else:
            has, lacks = logsigmoid(self.logits), logsigmoid(-self.logits)
            log_p = (tried * there) @ has + (tried * ~there) @ lacks
        log_p = log_p.view(*log_p.shape[:-1], *self.log_kind.shape)
        given_answer = (log_p + self.log_kind).logsumexp(-1)
        overall = (given_answer + answer.log_softmax(-1)).logsumexp(-1, keepdim=True)
        return (given_answer - overall).clamp(-MOST_LOG_RATIO, MOST_LOG_RATIO)

    def _answers(self, rows: Rows) -> Tensor:
        """The number of each row's answer, (batch,)."""
        assert rows.y is not None
        return torch.bucketize(rows.y.double(), self.cuts, right=True) if len(self.cuts) else rows.y


def _answers(task: Task, y: Array) -> tuple[Array, int, Array]:
    """The number of each row's answer, how many there are, and the numbers between which one lies."""
    if isinstance(task, Classification):
        return y, task.n_outputs, np.empty(0)
    cuts = answer_cuts(y.astype(np.float64))
    return np.searchsorted(cuts, y, side="right"), len(cuts) + 1, cuts


def free_entries(space: FeatureSpace) -> list[int]:
    """The entries of columns that are known from the start."""
    return [entry for entry, column in enumerate(space.column_of_entry) if space.group_of_column[column] < 0]
