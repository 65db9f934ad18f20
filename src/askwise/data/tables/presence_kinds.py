"""Kinds of rows by the groups that they have, found by expectation maximisation (EM)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.special import logit

from askwise.core.arrays import Array
from askwise.core.row_weights import effective_rows

# Kinds of rows that are tried, where groups are recorded together: the best number by the BIC.
MOST_KINDS = 4
# Groups are taken for recorded together only with so many rows for each answer.
FEWEST_ROWS_OF_ANSWER = 100
EM_STEPS = 60
# Rows that are added to each kind, recorded as often as all rows are: no probability is 0 or 1.
ADDED_ROWS = 1.0


@dataclass(frozen=True)
class Presence:
    """present (rows, groups) of 0 and 1, answer (rows,) from 0 to n_answers - 1, weight (rows,)."""

    present: Array
    answer: Array
    n_answers: int
    weight: Array

    @cached_property
    def n_of_answer(self) -> Array:
        return np.bincount(self.answer, self.weight, self.n_answers)

    @cached_property
    def overall(self) -> Array:
        """The share of all rows that have each group."""
        return np.asarray((self.weight @ self.present) / self.weight.sum())

    def of(self, answer: int) -> Presence:
        """The rows of one answer, which is number 0 among these."""
        own = self.answer == answer
        return Presence(self.present[own], np.zeros(int(own.sum()), np.int64), 1, self.weight[own])


class Kinds(NamedTuple):
    """Kinds of rows, within which groups are recorded independently.

    log_kind (answers, kinds): log P(kind | answer). logits (answers, kinds, groups): of the presence of a group.
    log_likelihood: of the weighted rows. n_parameters: how many numbers were fitted.
    """

    log_kind: Array
    logits: Array
    log_likelihood: float
    n_parameters: int

    def bic(self, weight: Array) -> float:
        """The Bayesian information criterion: less is better. Rows count as many as they are worth (Kish)."""
        n_rows = effective_rows(weight, len(weight))
        return float(self.n_parameters * np.log(n_rows) - 2 * self.log_likelihood * n_rows / weight.sum())


def best_kinds(rows: Presence) -> Kinds:
    """The kinds that describe these rows best by the BIC: one for each answer, or several."""
    return min(candidates(rows), key=lambda found: found.bic(rows.weight))


def candidates(rows: Presence) -> Iterator[Kinds]:
    """One kind of rows for each answer, then several kinds."""
    yield _one_kind(rows)
    n_groups = rows.present.shape[1]
    if n_groups < 2 or rows.n_of_answer.min() < FEWEST_ROWS_OF_ANSWER:
        return
    for n_kinds in range(2, MOST_KINDS + 1):
        begin = _by_number_of_groups(rows.present, n_kinds)
        yield _shared_kinds(rows, begin, rows.overall)
        yield _own_kinds(rows, begin)


def _one_kind(rows: Presence) -> Kinds:
    """Groups are recorded independently given the answer; what may be chance is shrunk towards no difference."""
    n = rows.n_of_answer[:, None]
    overall = np.clip((rows.weight @ rows.present + 0.5) / (rows.weight.sum() + 1), 1e-6, 1 - 1e-6)
    parts = [rows.of(answer) for answer in range(rows.n_answers)]
    share = (np.stack([part.weight @ part.present for part in parts]) + overall) / (n + 1)
    # How far the shares differ, against how far chance makes them differ (James and Stein).
    squares = (n * (share - overall) ** 2).sum(0) / (overall * (1 - overall))
    beyond_chance = np.maximum(0.0, 1 - (rows.n_answers - 1) / np.maximum(squares, 1e-12))
    logits = (logit(overall) + beyond_chance * (logit(share) - logit(overall)))[:, None]
    log_kind = np.zeros((rows.n_answers, 1))
    log_p = [_log_p_of_kinds(part, log_kind[:1], own) @ part.weight for part, own in zip(parts, logits, strict=True)]
    return Kinds(log_kind, logits, float(np.sum(log_p)), logits.size)


def _by_number_of_groups(present: Array, n_kinds: int) -> Array:
    """How far rows belong to kinds, (kinds, rows), to begin with: by how many groups they have."""
    count = present.sum(1) + 1e-3 * (present @ np.arange(present.shape[1]))
    kind = np.argsort(np.argsort(count, kind="stable"), kind="stable") * n_kinds // len(count)
    return 0.8 * np.eye(n_kinds)[:, kind] + 0.2 / n_kinds


def _own_kinds(rows: Presence, belongs: Array) -> Kinds:
    """Kinds of rows for each answer, which share nothing."""
    found = [
        _shared_kinds(rows.of(answer), belongs[:, rows.answer == answer], rows.overall)
        for answer in range(rows.n_answers)
    ]
    return Kinds(
        np.concatenate([kinds.log_kind for kinds in found]),
        np.concatenate([kinds.logits for kinds in found]),
        sum(kinds.log_likelihood for kinds in found),
        sum(kinds.n_parameters for kinds in found),
    )


def _shared_kinds(rows: Presence, belongs: Array, overall: Array) -> Kinds:
    """The same kinds of rows for all answers, more or less often. belongs (kinds, rows): where EM begins."""
    n_kinds = len(belongs)
    for _ in range(EM_STEPS):
        counted = belongs * rows.weight
        of_both = np.stack([np.bincount(rows.answer, of_kind, rows.n_answers) for of_kind in counted], 1)
        log_kind = np.log((of_both + 1) / (rows.n_of_answer[:, None] + n_kinds))
        share = (counted @ rows.present + ADDED_ROWS * overall) / (counted.sum(1)[:, None] + ADDED_ROWS)
        logits = logit(np.clip(share, 1e-6, 1 - 1e-6))
        log_p = _log_p_of_kinds(rows, log_kind, logits)
        largest = log_p.max(0)
        belongs = np.exp(log_p - largest)
        total = belongs.sum(0)
        belongs /= total
    log_likelihood = float((largest + np.log(total)) @ rows.weight)
    logits = np.repeat(logits[None], rows.n_answers, axis=0)
    return Kinds(log_kind, logits, log_likelihood, rows.n_answers * (n_kinds - 1) + logits[0].size)


def _log_p_of_kinds(rows: Presence, log_kind: Array, logits: Array) -> Array:
    """log P(presence, kind | answer) of each row's own answer, (kinds, rows); logits (kinds, groups)."""
    # log P(there) - log P(not there) is the logit itself.
    found = logits @ rows.present.T + log_kind.T[:, rows.answer]
    return np.asarray(found - np.logaddexp(0, logits).sum(1)[:, None])
