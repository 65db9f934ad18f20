"""How likely a row has some groups and lacks others, given its answer: what weights against selective gaps need."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit, logsumexp
from sklearn.linear_model import LogisticRegression

from askwise.core.arrays import Array
from askwise.data.tables.presence_kinds import Presence, best_kinds

# More rows would not change what is found.
MOST_ROWS = 20_000
# Constants are moved until presence is on average what it was, as exactly as this.
CLOSE_ENOUGH, MOST_STEPS = 1e-10, 100
# Numbers that are computed at a time: as many as a CPU's cache holds.
AT_ONCE = 2**17
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
        rows = Presence(
            present[some].astype(np.float64),
            answers[some].astype(np.int64),
            n_answers,
            np.ones(len(some)) if weight is None else weight[some].astype(np.float64),
        )
        model = _without_free(rows, 0 if free is None else free.shape[1])
        return model if free is None or not free.shape[1] else _given_free(model, rows, free[some].astype(np.float64))

    def log_likelihood(self, present: Array, free: Array | None = None) -> Array:
        """log P(presence of all groups | answer, free columns), (rows, answers), of present (rows, groups)."""
        offset = 0.0 if free is None else (free @ self.of_free)[:, None, None]
        logits = self.logits + offset
        there = present[:, None, None].astype(np.float64)
        log_p = there * -np.logaddexp(0, -logits) + (1 - there) * -np.logaddexp(0, logits)
        return np.asarray(logsumexp(log_p.sum(-1) + self.log_kind, axis=-1))


def _without_free(rows: Presence, n_free: int) -> PresenceModel:
    """The model to which free columns tell nothing."""
    found = best_kinds(rows)
    n_of_answer = np.maximum(rows.n_of_answer, 0.5)
    of_free, answer_of_free = np.zeros((n_free, rows.present.shape[1])), np.zeros((n_free, rows.n_answers))
    log_answer = np.log(n_of_answer / n_of_answer.sum())
    return PresenceModel(log_answer, found.log_kind, found.logits, of_free, answer_of_free)


def _given_free(model: PresenceModel, rows: Presence, free: Array) -> PresenceModel:
    """The model with what free columns tell about presence, beside the answer, and about the answer."""
    inputs = np.column_stack([np.eye(rows.n_answers)[rows.answer], free])
    of_free = np.stack([_slopes(inputs, column, rows.weight)[rows.n_answers :] for column in rows.present.T], 1)
    # The constants move, so that the rows of each answer have a group as often as before.
    own = [rows.answer == answer for answer in range(rows.n_answers)]
    logits = np.stack(
        [
            recentred(logits, free[of_answer] @ of_free, rows.weight[of_answer])
            for logits, of_answer in zip(model.logits, own, strict=True)
        ]
    )
    log_answer, answer_of_free = _answer_given_free(rows, free)
    return replace(model, log_answer=log_answer, logits=logits, of_free=of_free, answer_of_free=answer_of_free)


def _slopes(inputs: Array, present: Array, weight: Array) -> Array:
    """The coefficients of a logistic regression without an intercept."""
    if present.min() == present.max():
        return np.zeros(inputs.shape[1])
    return np.asarray(_fitted(LogisticRegression(fit_intercept=False, max_iter=200), inputs, present, weight).coef_[0])


def recentred(logits: Array, offset: Array, weight: Array) -> Array:
    """Constants (kinds, groups) with which presence is on average what it was, once offset (rows, groups) is added.

    The average of the rows, which have weight (rows,), rises with the constant: Newton's method stays between two
    bounds, and goes to the middle between them where a step leaves them or halves no error.
    """
    if not weight.sum():
        return logits
    wanted, found = expit(logits), logits - weight @ offset / weight.sum()
    low, high = logits - offset.max(0), logits - offset.min(0)
    last = np.full_like(logits, np.inf)
    for _ in range(MOST_STEPS):
        mean, slope = _mean_presence(found, offset, weight)
        error = mean - wanted
        if np.abs(error).max() < CLOSE_ENOUGH:
            break
        low, high = np.where(error < 0, found, low), np.where(error > 0, found, high)
        step = found - error / np.maximum(slope, 1e-12)
        is_good = (step >= low) & (step <= high) & (np.abs(error) <= last / 2)
        found, last = np.where(is_good, step, (low + high) / 2), np.abs(error)
    return found


def _mean_presence(constants: Array, offset: Array, weight: Array) -> tuple[Array, Array]:
    """The weighted mean of expit(constants + offset), and how fast it rises with the constants, (kinds, groups)."""
    mean, slope = np.zeros_like(constants), np.zeros_like(constants)
    at_once = max(1, AT_ONCE // constants.size)
    for start in range(0, len(offset), at_once):
        some = slice(start, start + at_once)
        p = expit(constants[:, None] + offset[some])
        mean += weight[some] @ p
        slope += weight[some] @ (p * (1 - p))
    return mean / weight.sum(), slope / weight.sum()


def _answer_given_free(rows: Presence, free: Array) -> tuple[Array, Array]:
    """Constants (answers,) and coefficients (free inputs, answers) of log P(answer | free columns)."""
    found = _fitted(LogisticRegression(max_iter=200), free, rows.answer, rows.weight)
    constants = np.full(rows.n_answers, NEVER)
    coefficients = np.zeros((free.shape[1], len(constants)))
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
