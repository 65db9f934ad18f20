"""How likely a row has some groups and lacks others, given its answer: what weights against selective gaps need."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit, logit, logsumexp
from sklearn.linear_model import LogisticRegression

from askwise.core.arrays import Array

# More rows would not change what is found.
MOST_ROWS = 20_000
# Kinds of rows that are tried, where groups are recorded together: the best number by the BIC.
MOST_KINDS = 4
# Groups are taken for recorded together only with so many rows for each answer.
FEWEST_ROWS_OF_ANSWER = 100
EM_STEPS = 60
# Rows that are added to each kind, recorded as often as all rows are: no probability is 0 or 1.
ADDED_ROWS = 1.0
NEWTON_STEPS = 8
# The log probability of an answer that no row has.
NEVER = -50.0


@dataclass(frozen=True)
class PresenceModel:
    """P(presence | answer, free columns) for some groups, as a mixture of kinds of rows.

    Within a kind, groups are recorded independently. log_answer (answers,): log P(answer). log_kind (answers, kinds):
    log P(kind | answer). logits (answers, kinds, groups): of the presence of a group. of_free (free inputs, groups) is
    added to the logits, answer_of_free (free inputs, answers) to log_answer, each times the row's free inputs.
    """

    log_answer: Array
    log_kind: Array
    logits: Array
    of_free: Array
    answer_of_free: Array

    @property
    def n_kinds(self) -> int:
        return self.log_kind.shape[1]

    @staticmethod
    def fit(
        present: Array, answers: Array, n_answers: int, weight: Array | None = None, free: Array | None = None
    ) -> PresenceModel:
        """Fit to rows present (rows, groups), with answers (rows,) from 0 to n_answers - 1.

        weight (rows,): how much each row counts. free (rows, free inputs): inputs that are known before anything is
        asked.
        """
        some = np.arange(min(len(present), MOST_ROWS)) * len(present) // max(1, min(len(present), MOST_ROWS))
        given = _Rows(
            present[some].astype(np.float64),
            np.eye(n_answers)[answers[some]],
            np.ones(len(some)) if weight is None else weight[some].astype(np.float64),
            np.zeros((len(some), 0)) if free is None else free[some].astype(np.float64),
        )
        best = min(_candidates(given), key=lambda found: _bic(found, given))
        return _given_free(best, given) if given.free.shape[1] else best

    def log_likelihood(self, present: Array, free: Array | None = None) -> Array:
        """log P(presence of all groups | answer, free columns), (rows, answers), of present (rows, groups)."""
        offset = 0.0 if free is None else (free @ self.of_free)[:, None, None]
        logits = self.logits + offset
        there = present[:, None, None].astype(np.float64)
        log_p = there * -np.logaddexp(0, -logits) + (1 - there) * -np.logaddexp(0, logits)
        return np.asarray(logsumexp(log_p.sum(-1) + self.log_kind, axis=-1))


@dataclass(frozen=True)
class _Rows:
    """present (rows, groups), of_answer (rows, answers; one 1 a row), weight (rows,), free (rows, free inputs)."""

    present: Array
    of_answer: Array
    weight: Array
    free: Array

    @property
    def n_of_answer(self) -> Array:
        return self.weight @ self.of_answer


def _candidates(rows: _Rows) -> Iterator[PresenceModel]:
    """Models with one kind of rows for each answer, then with several kinds."""
    yield _one_kind(rows)
    n_groups = rows.present.shape[1]
    if n_groups < 2 or rows.n_of_answer.min() < FEWEST_ROWS_OF_ANSWER:
        return
    for n_kinds in range(2, MOST_KINDS + 1):
        for shared in (True, False):
            yield _several_kinds(rows, n_kinds, shared)


def _one_kind(rows: _Rows) -> PresenceModel:
    """Groups are recorded independently given the answer; what may be chance is shrunk towards no difference."""
    n_answers = rows.of_answer.shape[1]
    n = rows.n_of_answer[:, None]
    overall = np.clip((rows.weight @ rows.present + 0.5) / (rows.weight.sum() + 1), 1e-6, 1 - 1e-6)
    share = ((rows.of_answer * rows.weight[:, None]).T @ rows.present + overall) / (n + 1)
    # How far the shares differ, against how far chance makes them differ (James and Stein).
    squares = (n * (share - overall) ** 2).sum(0) / (overall * (1 - overall))
    beyond_chance = np.maximum(0.0, 1 - (n_answers - 1) / np.maximum(squares, 1e-12))
    logits = logit(overall) + beyond_chance * (logit(share) - logit(overall))
    return _model(rows, np.zeros((n_answers, 1)), logits[:, None])


def _several_kinds(rows: _Rows, n_kinds: int, shared: bool) -> PresenceModel:
    """Kinds of rows, found by expectation maximisation. shared: the same kinds for all answers, more or less often."""
    n_answers = rows.of_answer.shape[1]
    overall = (rows.weight @ rows.present) / rows.weight.sum()
    # Rows begin in kinds by how many groups they have.
    count = rows.present.sum(1) + 1e-3 * (rows.present @ np.arange(rows.present.shape[1]))
    kind = np.argsort(np.argsort(count, kind="stable"), kind="stable") * n_kinds // len(count)
    belongs = 0.8 * np.eye(n_kinds)[kind] + 0.2 / n_kinds
    answer = rows.of_answer.argmax(1)
    for _ in range(EM_STEPS):
        counted = belongs * rows.weight[:, None]
        of_both = rows.of_answer[:, :, None] * counted[:, None]
        share_of_kind = (of_both.sum(0) + 1) / (rows.n_of_answer[:, None] + n_kinds)
        if shared:
            share = (counted.T @ rows.present + ADDED_ROWS * overall) / (counted.sum(0)[:, None] + ADDED_ROWS)
            share = np.broadcast_to(share, (n_answers, *share.shape))
        else:
            found = np.einsum("rak,rg->akg", of_both, rows.present)
            share = (found + ADDED_ROWS * overall) / (of_both.sum(0)[..., None] + ADDED_ROWS)
        model = _model(rows, np.log(share_of_kind), logit(np.clip(share, 1e-6, 1 - 1e-6)))
        log_p = _log_p_of_kinds(model, rows.present, answer)
        belongs = np.exp(log_p - logsumexp(log_p, axis=1, keepdims=True))
    return model


def _log_p_of_kinds(model: PresenceModel, present: Array, answer: Array) -> Array:
    """log P(presence, kind | answer) of each row's own answer, (rows, kinds)."""
    log_there, log_not = -np.logaddexp(0, -model.logits), -np.logaddexp(0, model.logits)
    found = np.einsum("rg,akg->rak", present, log_there - log_not) + log_not.sum(-1) + model.log_kind
    return np.asarray(found[np.arange(len(answer)), answer])


def _model(rows: _Rows, log_kind: Array, logits: Array) -> PresenceModel:
    n_answers, n_groups, n_free = rows.of_answer.shape[1], rows.present.shape[1], rows.free.shape[1]
    log_answer = np.log(np.maximum(rows.n_of_answer, 0.5) / np.maximum(rows.n_of_answer, 0.5).sum())
    return PresenceModel(log_answer, log_kind, logits, np.zeros((n_free, n_groups)), np.zeros((n_free, n_answers)))


def _bic(model: PresenceModel, rows: _Rows) -> float:
    """The Bayesian information criterion: less is better."""
    n_answers, n_kinds, n_groups = model.logits.shape
    shared = n_kinds > 1 and n_answers > 1 and bool((model.logits[0] == model.logits[1]).all())
    n_parameters = n_answers * (n_kinds - 1) + n_groups * n_kinds * (1 if shared else n_answers)
    log_p = logsumexp(_log_p_of_kinds(model, rows.present, rows.of_answer.argmax(1)), axis=1)
    return float(n_parameters * np.log(len(rows.present)) - 2 * (rows.weight @ log_p))


def _given_free(model: PresenceModel, rows: _Rows) -> PresenceModel:
    """The model with what free columns tell about presence, beside the answer, and about the answer."""
    answer, n_answers = rows.of_answer.argmax(1), rows.of_answer.shape[1]
    inputs = np.column_stack([rows.of_answer, rows.free])
    of_free = np.stack([_slopes(inputs, column, rows.weight)[n_answers:] for column in rows.present.T], 1)
    offset = rows.free @ of_free
    # The constants move, so that the rows of each answer have a group as often as before.
    logits = np.stack([_recentred(own, offset[answer == k]) for k, own in enumerate(model.logits)])
    log_answer, answer_of_free = _answer_given_free(rows, answer)
    return replace(model, log_answer=log_answer, logits=logits, of_free=of_free, answer_of_free=answer_of_free)


def _slopes(inputs: Array, present: Array, weight: Array) -> Array:
    """The coefficients of a logistic regression without an intercept."""
    if present.min() == present.max():
        return np.zeros(inputs.shape[1])
    return np.asarray(_fitted(LogisticRegression(fit_intercept=False, max_iter=200), inputs, present, weight).coef_[0])


def _recentred(logits: Array, offset: Array) -> Array:
    """Constants (kinds, groups) with which presence is on average what it was, once offset (rows, groups) is added."""
    wanted, found = expit(logits), logits.copy()
    for _ in range(NEWTON_STEPS if len(offset) else 0):
        p = expit(found[:, None] + offset)
        found -= (p.mean(1) - wanted) / np.maximum((p * (1 - p)).mean(1), 1e-6)
    return found


def _answer_given_free(rows: _Rows, answer: Array) -> tuple[Array, Array]:
    """Constants (answers,) and coefficients (free inputs, answers) of log P(answer | free columns)."""
    found = _fitted(LogisticRegression(max_iter=200), rows.free, answer, rows.weight)
    constants = np.full(rows.of_answer.shape[1], NEVER)
    coefficients = np.zeros((rows.free.shape[1], len(constants)))
    of_two = len(found.classes_) == 2
    # Of two answers, a regression has the coefficients of the second one only.
    constants[found.classes_] = [0.0, found.intercept_[0]] if of_two else found.intercept_
    own = np.stack([np.zeros_like(found.coef_[0]), found.coef_[0]]) if of_two else found.coef_
    coefficients[:, found.classes_] = own.T
    return constants, coefficients


def _fitted(regression: LogisticRegression, inputs: Array, outcomes: Array, weight: Array) -> LogisticRegression:
    with warnings.catch_warnings():
        # One that has not converged is close enough for a weight.
        warnings.simplefilter("ignore")
        return regression.fit(inputs, outcomes, weight)
