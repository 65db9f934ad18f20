"""Weights of states against selective gaps: that a group was recorded then says nothing about the answer."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
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
# Columns that so many rows have may explain who was recorded; of more entries a regression would take too long.
NEARLY_ALL, MOST_ENTRIES = 0.99, 200
# What presence says for or against an answer, at most: beyond that, predictions learn nothing anyway.
MOST_LOG_RATIO = 30.0


@dataclass(frozen=True)
class Presence:
    """P(presence | answer, some entries of the inputs) of groups, as tensors; from a `PresenceModel`.

    logits (groups, answers x kinds): a kind of rows of one answer after the other.
    """

    entries: Tensor
    logits: Tensor
    log_kind: Tensor
    log_answer: Tensor
    of_entries: Tensor
    answer_of_entries: Tensor

    @staticmethod
    def of(model: PresenceModel, entries: Sequence[int]) -> Presence:
        numbers = (model.log_kind, model.log_answer, model.of_free, model.answer_of_free)
        logits = torch.from_numpy(model.logits).flatten(0, 1).T.float()
        places = torch.tensor(list(entries), dtype=torch.int64)
        return Presence(places, logits, *(torch.from_numpy(part).float() for part in numbers))

    def to(self, device: torch.device) -> Presence:
        return Presence(*(value.to(device) for value in vars(self).values()))

    def log_p(self, x: Tensor, there: Tensor, tried: Tensor) -> tuple[Tensor, Tensor]:
        """log P of what the groups tried show, for each answer (..., batch, answers), and for any (..., batch, 1).

        there (batch, groups): which groups rows have; tried (..., batch, groups).
        """
        answer = self.log_answer
        if len(self.entries):
            inputs = x[:, self.entries].float()
            answer = answer + inputs @ self.answer_of_entries
            logits = self.logits + (inputs @ self.of_entries)[..., None]
            shown = torch.where(there[..., None], logsigmoid(logits), logsigmoid(-logits))
            log_p = torch.einsum("...bg,bgm->...bm", tried, shown)
        else:
            has, lacks = logsigmoid(self.logits), logsigmoid(-self.logits)
            log_p = (tried * there) @ has + (tried * ~there) @ lacks
        log_p = log_p.view(*log_p.shape[:-1], *self.log_kind.shape)
        given_answer = (log_p + self.log_kind).logsumexp(-1)
        return given_answer, (given_answer + answer.log_softmax(-1)).logsumexp(-1, keepdim=True)


class GapWeights(StateWeights):
    """Weigh a state by P(presence) / P(presence | answer) of the groups that were tried to get there.

    Predictions of labels need no weights, which would leave few rows where gaps tell much: log P(presence | answer) is
    added to their logits while they learn, so that these learn what is left. Columns that all rows have may explain who
    was recorded: what they explain is not the answer's, and is weighed like the rest.

    A group was tried if it is known, or was asked in vain: rows are walked as if they had all `groups`, and one that
    is absent reveals nothing. So rows of each answer have as many gaps, and as many values, as those of any other.
    cuts: between which numbers an answer that is a number is one of the model's answers.
    """

    differ_by_answer = True

    def __init__(
        self, space: FeatureSpace, groups: Array, given: Presence, overall: Presence | None, cuts: Array
    ) -> None:
        self.space = space
        self.groups = torch.from_numpy(np.asarray(groups))
        self.cuts = torch.from_numpy(np.asarray(cuts, dtype=np.float64))
        self.of_labels = not len(cuts)
        self.given = given
        self.overall = overall
        # Of a loss, weights, answers and offsets ask about the same states.
        self._last: tuple[Rows, Tensor, tuple[Tensor, Tensor]] | None = None

    @property
    def selective_groups(self) -> list[int]:
        return list(self.groups.tolist())

    def to(self, device: torch.device) -> Self:
        other = copy.copy(self)
        other._last = None
        for name, value in vars(self).items():
            if isinstance(value, (Tensor, Presence)):
                setattr(other, name, value.to(device))
        return other

    @staticmethod
    def fit(space: FeatureSpace, task: Task, names: Sequence[str], rows: Rows) -> GapWeights:
        """Weights fitted to these rows, which have answers, against the gaps of the groups of these names."""
        assert rows.y is not None
        groups = np.array(sorted(space.position[name] for name in names), dtype=np.int64)
        answers, n_answers, cuts = _answers(task, rows.y.cpu().numpy())
        present = space.recorded(rows.present).cpu().numpy()[:, groups]
        weight = None if rows.weight is None else rows.weight.cpu().numpy()
        x = rows.x.cpu().numpy()

        def presence(entries: list[int]) -> Presence:
            inputs = x[:, entries] if entries else None
            return Presence.of(PresenceModel.fit(present, answers, n_answers, weight, inputs), entries)

        free, explaining = free_entries(space), explaining_entries(space, groups, rows)
        given = presence(explaining)
        return GapWeights(space, groups, given, None if explaining == free else presence(free), cuts)

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
        offset, explained = self._of_states(rows, known)
        return OfPredictions(answers, row_weight * limited(-explained[..., 0]), offset.flatten(0, -2))

    def recorded(self, rows: Rows) -> Tensor:
        return self.space.recorded(rows.present)

    def of_answers(self, rows: Rows, known: Tensor) -> Tensor:
        """The weight that states (..., batch) would have, had their row this answer or that: (..., batch, answers)."""
        ratios, explained = self._of_states(rows, known)
        return limited(-ratios - explained)

    def log_ratios(self, rows: Rows, known: Tensor) -> Tensor:
        """log P(presence | answer, columns that explain it) / P(presence | these columns): (..., batch, answers)."""
        return self._of_states(rows, known)[0]

    @torch.no_grad()
    def _of_states(self, rows: Rows, known: Tensor) -> tuple[Tensor, Tensor]:
        """The log ratios, and log P(presence | columns that explain it) / P(presence), (..., batch, 1)."""
        if self._last is None or self._last[0] is not rows or self._last[1] is not known:
            # In bfloat16, errors of many groups would add up.
            with torch.autocast(rows.x.device.type, enabled=False):
                self._last = (rows, known, self._compute(rows, known))
        return self._last[2]

    def _compute(self, rows: Rows, known: Tensor) -> tuple[Tensor, Tensor]:
        there, tried = self.recorded(rows)[:, self.groups], known[..., self.groups].float()
        given_answer, given = self.given.log_p(rows.x, there, tried)
        ratios = (given_answer - given).clamp(-MOST_LOG_RATIO, MOST_LOG_RATIO)
        if self.overall is None:
            return ratios, torch.zeros_like(given)
        return ratios, given - self.overall.log_p(rows.x, there, tried)[1]

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


def limited(log_weight: Tensor) -> Tensor:
    """Weights from their logarithms, neither too large nor too small."""
    most = math.log(LARGEST)
    return log_weight.clamp(-most, most).exp()


def explaining_entries(space: FeatureSpace, groups: Array, rows: Rows) -> list[int]:
    """The entries of columns that may explain who was recorded: free ones, and those that nearly all rows have."""
    share = rows.present.double().mean(0).tolist()
    corrected = set(groups.tolist())
    columns = {
        column
        for column, group in enumerate(space.group_of_column)
        if group < 0 or (group not in corrected and share[column] >= NEARLY_ALL)
    }
    entries = [entry for entry, column in enumerate(space.column_of_entry) if column in columns]
    return entries if len(entries) <= MOST_ENTRIES else free_entries(space)


def free_entries(space: FeatureSpace) -> list[int]:
    """The entries of columns that are known from the start."""
    return [entry for entry, column in enumerate(space.column_of_entry) if space.group_of_column[column] < 0]
