"""Metrics of predictions, with weights and bootstrap intervals."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from askwise.core.arrays import Array
from askwise.core.errors import AskwiseError
from askwise.core.tasks import Classification, Task

Metric = Callable[[Array, Array, Array], Array]

# Of confidence, of predictions and of estimates: so many bins.
BINS = 10

# Drawing rows again adds noise to every bin, and ECE is a mean of absolute values, which noise can only raise: its
# interval would lie too high, often above the ECE itself. `calibration.drawn_ece` says what chance does to it.
WITHOUT_INTERVAL = ("ece",)


def _weighted_mean(values: Array, weights: Array) -> Array:
    return (weights @ values) / weights.sum(1)


def accuracy(proba: Array, y: Array, weights: Array) -> Array:
    return _weighted_mean((proba.argmax(1) == y).astype(float), weights)


def log_loss(proba: Array, y: Array, weights: Array) -> Array:
    return _weighted_mean(-np.log(np.clip(proba[np.arange(len(y)), y], 1e-15, 1)), weights)


def brier(proba: Array, y: Array, weights: Array) -> Array:
    """Mean squared distance to the one-hot answer; for two classes, of the probability of the second one."""
    if proba.shape[1] == 2:
        return _weighted_mean((proba[:, 1] - y) ** 2, weights)
    return _weighted_mean(((proba - np.eye(proba.shape[1])[y]) ** 2).sum(1), weights)


def expected_calibration_error(proba: Array, y: Array, weights: Array) -> Array:
    """Mean gap between confidence and accuracy over at most ten bins of confidence, of equally many rows."""
    confidence = proba.max(1)
    gap = (proba.argmax(1) == y) - confidence
    sums = bin_sums(equal_mass_bins(confidence, weights), weights * gap)
    return np.abs(sums).sum(1) / weights.sum(1)


def equal_mass_bins(by: Array, weights: Array) -> Array:
    """The bin of each row, (draws, rows), counted from 0: rows in rising order of `by`, cut into equal weights.

    Rows with the same value stay together, so that their order does not matter; there may then be fewer bins.
    """
    by = without_last_bits(by)
    order = np.argsort(by, kind="stable")
    is_first = np.r_[True, np.diff(by[order]) > 0]
    mass = np.add.reduceat(weights[:, order], np.flatnonzero(is_first), axis=1)
    middle = np.cumsum(mass, axis=1) - mass / 2
    found = np.minimum(middle * BINS / weights.sum(1, keepdims=True), BINS - 1).astype(np.int64)
    bins = np.empty(weights.shape, dtype=np.int64)
    bins[:, order] = found[:, np.cumsum(is_first) - 1]
    return bins


def without_last_bits(values: Array) -> Array:
    """Values to six digits: predictions from the same answers differ in the last bits of float32, and are a tie."""
    fraction, exponent = np.frexp(values)
    return np.ldexp(np.round(fraction, 6), exponent)


def bin_sums(bins: Array, values: Array) -> Array:
    """Sums of values (draws, rows) over the rows of each bin, (draws, bins)."""
    n_draws = len(values)
    place = bins + BINS * np.arange(n_draws)[:, None]
    return np.bincount(place.ravel(), values.ravel(), minlength=n_draws * BINS).reshape(n_draws, BINS)


def auroc(proba: Array, y: Array, weights: Array) -> Array:
    """Area under the ROC curve; for several classes the mean of one-against-rest over the classes that occur."""
    if proba.shape[1] == 2:
        return _binary_auroc(proba[:, 1], y == 1, weights)
    classes = [k for k in range(proba.shape[1]) if 0 < (y == k).sum() < len(y)]
    if not classes:
        return np.full(len(weights), np.nan)
    with np.errstate(invalid="ignore"):
        return np.nanmean([_binary_auroc(proba[:, k], y == k, weights) for k in classes], axis=0)


def _binary_auroc(score: Array, positive: Array, weights: Array) -> Array:
    """Weighted share of (positive, negative) pairs in order, ties counting half; for each row of weights."""
    score = without_last_bits(score)
    order = np.argsort(score)
    ranked, truth, w = score[order], positive[order], weights[:, order]
    starts = np.flatnonzero(np.r_[True, ranked[1:] != ranked[:-1]])
    up = np.add.reduceat(w * truth, starts, axis=1)
    down = np.add.reduceat(w * ~truth, starts, axis=1)
    below = np.cumsum(down, axis=1) - down
    with np.errstate(invalid="ignore", divide="ignore"):
        return (up * (below + 0.5 * down)).sum(1) / (up.sum(1) * down.sum(1))


def rmse(prediction: Array, y: Array, weights: Array) -> Array:
    return np.sqrt(_weighted_mean((prediction - y) ** 2, weights))


def r2(prediction: Array, y: Array, weights: Array) -> Array:
    mean = _weighted_mean(y, weights)
    spread = (weights * (y[None] - mean[:, None]) ** 2).sum(1) / weights.sum(1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return 1 - _weighted_mean((prediction - y) ** 2, weights) / spread


METRICS: dict[str, dict[str, Metric]] = {
    "classification": {
        "accuracy": accuracy,
        "auroc": auroc,
        "log_loss": log_loss,
        "brier": brier,
        "ece": expected_calibration_error,
    },
    "regression": {"rmse": rmse, "r2": r2},
}


def bootstrap_draws(n_rows: int, count: int, seed: int = 0) -> Array:
    """How often each row is drawn in each of `count` bootstrap samples, (count, rows)."""
    rng = np.random.default_rng(seed)
    draws = np.empty((count, n_rows), dtype=np.uint8)
    for draw in draws:
        draw[:] = np.bincount(rng.integers(0, n_rows, n_rows), minlength=n_rows)
    return draws


def metrics(task: Task, answer: Array, y: Array, draws: Array | None = None) -> dict[str, float]:
    """Every metric of the task; with bootstrap draws also 95 % intervals, as `<metric>_low` and `_high`, but of ECE."""
    ones = np.ones((1, len(y)))
    # A few draws at a time, so that memory does not grow with their number.
    chunks = [] if draws is None else np.array_split(draws, -(-draws.size // 2_000_000))
    result: dict[str, float] = {}
    for name, metric in METRICS[task.kind].items():
        result[name] = float(metric(answer, y, ones)[0])
        if chunks and name not in WITHOUT_INTERVAL:
            drawn = np.concatenate([metric(answer, y, chunk.astype(float)) for chunk in chunks])
            drawn = drawn[np.isfinite(drawn)]
            low, high = np.quantile(drawn, [0.025, 0.975]) if len(drawn) else (np.nan, np.nan)
            result |= {f"{name}_low": float(low), f"{name}_high": float(high)}
    return result


def coded(task: Task, y: Array) -> Array:
    """Answers as the metrics take them: positions of labels, or numbers."""
    if not isinstance(task, Classification):
        return y.astype(np.float64)
    unknown = [label for label in np.unique(y).tolist() if label not in task.labels]
    if unknown:
        raise AskwiseError(f"unknown label {unknown[0]!r} in y; the model knows {list(task.labels)!r}")
    return task.encode(y).numpy()


def as_labelled(task: Task, y: Array) -> Array:
    """Answers in the model's own labels, so that 1.0 in a file is the label 1; numbers as they are."""
    return np.array(task.labels)[coded(task, y)] if isinstance(task, Classification) else y
