"""Metrics of the order in which probabilities put the rows: AUROC, average precision, sensitivity at a specificity."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from askwise.core.arrays import Array

# The specificity at which the sensitivity is read.
SPECIFICITY = 0.9
# The first of two labels is the one to find only if it is clearly the rarer: else drawing rows again could swap them.
CLEARLY_RARER = 0.4


def without_last_bits(values: Array) -> Array:
    """Values to six digits: predictions from the same answers differ in the last bits of float32, and are a tie."""
    fraction, exponent = np.frexp(values)
    return np.ldexp(np.round(fraction, 6), exponent)


def position_to_find(y: Array, weights: Array) -> int:
    """The position of the label of two that is to be found: the second one, or the first in less than 40 % of rows."""
    total = weights.sum(0)
    return 0 if total[y == 0].sum() < CLEARLY_RARER * total.sum() else 1


def _position(y: Array, weights: Array, to_find: int | None) -> int:
    """The position that is given, else that of the rows."""
    return position_to_find(y, weights) if to_find is None else to_find


def rows_to_find(y: Array, weights: Array, to_find: int | None = None) -> Array:
    """Whether each row has the label to find. to_find: its position, if the rows are not to tell it."""
    return np.asarray(y == _position(y, weights, to_find))


def auroc(proba: Array, y: Array, weights: Array) -> Array:
    """Area under the ROC curve; for several classes the mean of one-against-rest over the classes that occur."""
    if proba.shape[1] == 2:
        return _auroc_of_one(proba[:, 1], y == 1, weights)
    return _mean_over_classes(_auroc_of_one, proba, y, weights)


def average_precision(proba: Array, y: Array, weights: Array, to_find: int | None = None) -> Array:
    """Mean precision over the rows to find, from the surest on: the area under the precision-recall curve, by steps.

    Of two classes it is that of the label at position to_find, by default of `position_to_find`; of several the mean
    over those that occur.
    """
    if proba.shape[1] == 2:
        k = _position(y, weights, to_find)
        return _average_precision_of_one(proba[:, k], y == k, weights)
    return _mean_over_classes(_average_precision_of_one, proba, y, weights)


def sensitivity_at_90_specificity(proba: Array, y: Array, weights: Array, to_find: int | None = None) -> Array:
    """The largest share of the rows to find that a threshold finds while it clears at least 90 % of the others.

    Of two classes; the label to find is that at position to_find, by default that of `position_to_find`.
    """
    k = _position(y, weights, to_find)
    found, false = _found_from_the_top(proba[:, k], y == k, weights)
    clears = false <= (1 - SPECIFICITY) * false[:, -1:] * (1 + 1e-9)
    both = (found[:, -1] > 0) & (false[:, -1] > 0)
    best = np.where(clears, found, 0.0).max(1)
    return np.where(both, best / np.where(both, found[:, -1], 1.0), np.nan)


def _mean_over_classes(of_one: Callable[..., Array], proba: Array, y: Array, weights: Array) -> Array:
    """The mean of a metric of one class against the rest, over the classes that occur."""
    classes = [k for k in range(proba.shape[1]) if 0 < (y == k).sum() < len(y)]
    if not classes:
        return np.full(len(weights), np.nan)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.nanmean([of_one(proba[:, k], y == k, weights) for k in classes], axis=0))


def _auroc_of_one(score: Array, positive: Array, weights: Array) -> Array:
    """Weighted share of (positive, negative) pairs in order, ties counting half; for each row of weights."""
    up, down = _by_score(score, positive, weights)
    below = np.cumsum(down, axis=1) - down
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((up * (below + 0.5 * down)).sum(1) / (up.sum(1) * down.sum(1)))


def _average_precision_of_one(score: Array, positive: Array, weights: Array) -> Array:
    found, false = _found_from_the_top(score, positive, weights)
    gained = np.diff(found, axis=1, prepend=0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        precision = np.where(gained > 0, found / (found + false), 0.0)
        return np.asarray((gained * precision).sum(1) / found[:, -1])


def _found_from_the_top(score: Array, positive: Array, weights: Array) -> tuple[Array, Array]:
    """Weights of positive and negative rows at each distinct score or above, from the highest on, (draws, scores)."""
    up, down = (part[:, ::-1] for part in _by_score(score, positive, weights))
    return np.cumsum(up, axis=1), np.cumsum(down, axis=1)


def _by_score(score: Array, positive: Array, weights: Array) -> tuple[Array, Array]:
    """Weights of positive and negative rows at each distinct score, rising, (draws, scores)."""
    score = without_last_bits(score)
    order = np.argsort(score)
    ranked, truth, w = score[order], positive[order], weights[:, order]
    starts = np.flatnonzero(np.r_[True, ranked[1:] != ranked[:-1]])
    return np.add.reduceat(w * truth, starts, axis=1), np.add.reduceat(w * ~truth, starts, axis=1)
