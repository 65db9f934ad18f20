"""Metrics of predictions, with weights and bootstrap intervals."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Generic, TypeVar

import numpy as np

from askwise.core.arrays import Array
from askwise.core.errors import AskwiseError
from askwise.core.tasks import Classification, Task
from askwise.evaluation.intervals import bootstrap_draws as bootstrap_draws
from askwise.evaluation.intervals import percentiles, share_interval
from askwise.evaluation.ranked import auroc as auroc
from askwise.evaluation.ranked import average_precision, rows_to_find, sensitivity_at_90_specificity
from askwise.evaluation.ranked import without_last_bits as without_last_bits

MetricFunction = Callable[..., Array]
Fact = TypeVar("Fact")

# Of confidence, of predictions and of estimates: so many bins.
BINS = 10
# From this share of the largest class on, these metrics lead; what several classes do not have is left out.
LOPSIDED = 0.9
LEAD_IF_RARE = ("auroc", "sensitivity_at_90_specificity", "average_precision")


@dataclass(frozen=True)
class Metric:
    """A metric: how it is computed, which way it is better, and how it is named and written everywhere.

    function: (predictions, answers, weights) -> one value for each row of weights (draws, rows). Predictions are
    probabilities (rows, classes) with answers as positions of labels, or numbers (rows,).
    label: the name in reports, with the unit in brackets. short: the heading in tables of the terminal, by default the
    label; on_terminal=False leaves it out there. form: "{:.1%}" for a share, "{:.4g}" for a number of any size.
    has_interval: False where drawing rows again can only raise it. two_classes: it is one of two classes only.
    share_of: (answers, weights) -> the rows, a bool each, that it is a share of; None where it is no share of rows.
    is_plain: that share is the mean of right and wrong rows, so that Wilson's interval holds.
    of_label: of two classes it is that of one label; function and share_of also take its position, `to_find`.
    """

    function: MetricFunction
    higher_is_better: bool
    label: str
    short: str = ""
    form: str = "{:.3f}"
    on_terminal: bool = True
    has_interval: bool = True
    two_classes: bool = False
    share_of: Callable[..., Array] | None = None
    is_plain: bool = False
    of_label: bool = False

    def __call__(self, predictions: Array, answers: Array, weights: Array) -> Array:
        return self.function(predictions, answers, weights)

    def for_label(self, to_find: int | None) -> Metric:
        """The same metric of the label at this position; None, or a metric of no label: as it is."""
        if to_find is None or not self.of_label:
            return self
        share_of = None if self.share_of is None else partial(self.share_of, to_find=to_find)
        return replace(self, function=partial(self.function, to_find=to_find), share_of=share_of)

    @property
    def name(self) -> str:
        """The label without its unit."""
        return self.label.split(" (")[0]

    @property
    def is_share(self) -> bool:
        """Whether it is written in percent."""
        return self.form.endswith("%}")

    @property
    def has_any_size(self) -> bool:
        """Whether it is written with significant digits, since its size depends on the unit of the answer."""
        return self.form.endswith("g}")


def _weighted_mean(values: Array, weights: Array) -> Array:
    return (weights @ values) / weights.sum(1)


def accuracy(proba: Array, y: Array, weights: Array) -> Array:
    return _weighted_mean((proba.argmax(1) == y).astype(float), weights)


def every_row(y: Array, weights: Array) -> Array:
    """That a metric is a share of all rows."""
    del weights
    return np.ones(len(y), dtype=bool)


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


def bin_sums(bins: Array, values: Array) -> Array:
    """Sums of values (draws, rows) over the rows of each bin, (draws, bins)."""
    n_draws = len(values)
    place = bins + BINS * np.arange(n_draws)[:, None]
    return np.bincount(place.ravel(), values.ravel(), minlength=n_draws * BINS).reshape(n_draws, BINS)


def rmse(prediction: Array, y: Array, weights: Array) -> Array:
    return np.sqrt(_weighted_mean((prediction - y) ** 2, weights))


def r2(prediction: Array, y: Array, weights: Array) -> Array:
    mean = _weighted_mean(y, weights)
    spread = (weights * (y[None] - mean[:, None]) ** 2).sum(1) / weights.sum(1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return 1 - _weighted_mean((prediction - y) ** 2, weights) / spread


# Drawing rows again adds noise to every bin, and ECE is a mean of absolute values, which noise can only raise: its
# interval would lie too high, often above the ECE itself. `calibration.drawn_ece` says what chance does to it.
METRICS: dict[str, dict[str, Metric]] = {
    "classification": {
        "accuracy": Metric(accuracy, True, "Accuracy", "accuracy", "{:.1%}", share_of=every_row, is_plain=True),
        "auroc": Metric(auroc, True, "AUROC"),
        "log_loss": Metric(log_loss, False, "Log loss (nats)", "log loss"),
        "brier": Metric(brier, False, "Brier score", on_terminal=False),
        "ece": Metric(
            expected_calibration_error, False, "Calibration error (ECE)", on_terminal=False, has_interval=False
        ),
        "average_precision": Metric(
            average_precision, True, "Average precision", "average precision", on_terminal=False, of_label=True
        ),
        "sensitivity_at_90_specificity": Metric(
            sensitivity_at_90_specificity,
            True,
            "Sensitivity at 90% specificity",
            "sens. at 90% spec.",
            "{:.1%}",
            on_terminal=False,
            two_classes=True,
            share_of=rows_to_find,
            of_label=True,
        ),
    },
    "regression": {
        "rmse": Metric(rmse, False, "RMSE (units of y)", "RMSE", "{:.4g}"),
        "r2": Metric(r2, True, "R²"),
    },
}


def all_metrics() -> dict[str, Metric]:
    """The metrics of all tasks by name."""
    return {name: metric for of_task in METRICS.values() for name, metric in of_task.items()}


class OfMetrics(Mapping[str, Fact], Generic[Fact]):
    """A fact about every metric by its name, as METRICS has it when it is looked up."""

    def __init__(self, fact: Callable[[Metric], Fact]) -> None:
        self._fact = fact

    def __getitem__(self, name: str) -> Fact:
        return self._fact(all_metrics()[name])

    def __iter__(self) -> Iterator[str]:
        return iter(all_metrics())

    def __len__(self) -> int:
        return len(all_metrics())


def metrics_in_order(task: Task, y: Array) -> dict[str, Metric]:
    """The metrics of a task, those that lead first: where one class has nearly all rows, accuracy says little.

    The order of a table's metrics is this one, and everything that shows a table goes by it.
    """
    known = METRICS[task.kind]
    if not isinstance(task, Classification):
        return known
    known = {name: metric for name, metric in known.items() if len(task.labels) == 2 or not metric.two_classes}
    largest = np.bincount(y.astype(np.int64)).max(initial=0) / max(1, len(y))
    first = LEAD_IF_RARE if is_lopsided(largest) else ()
    return {name: known[name] for name in dict.fromkeys([*(n for n in first if n in known), *known])}


def is_lopsided(largest_share: float) -> bool:
    """Whether the largest class has so many of the rows that its frequency alone is a high accuracy."""
    return largest_share >= LOPSIDED - 1e-12


def metrics(
    task: Task,
    answer: Array,
    y: Array,
    draws: Array | None = None,
    weights: Array | None = None,
    persons: Array | None = None,
    to_find: int | None = None,
) -> dict[str, float]:
    """Every metric of the task, those that lead first; with bootstrap draws also 95 % intervals, but of ECE.

    Intervals are called `<metric>_low` and `_high`. weights: of the rows, (rows,); those of weight 0 are as if they
    were not there. persons: the number of each row's person, where draws are of those. to_find: the position of the
    label of two that is to be found, by default as the rows say.
    """
    if weights is None:
        weights = np.ones(len(y))
    elif not (weights > 0).all():
        kept = weights > 0
        draws, persons = None if draws is None else draws[:, kept], None if persons is None else persons[kept]
        answer, y, weights = answer[kept], y[kept], weights[kept]
    known = {name: metric.for_label(to_find) for name, metric in metrics_in_order(task, y).items()}
    result: dict[str, float] = {}
    drawn: dict[str, list[Array]] = {name: [] for name, metric in known.items() if metric.has_interval}
    for some in weighted_draws(draws, weights):
        for name, found in drawn.items():
            found.append(known[name](answer, y, some))
    for name, metric in known.items():
        result[name] = float(metric(answer, y, weights[None])[0])
        if drawn.get(name):
            low, high = _interval(metric, result[name], np.concatenate(drawn[name]), y, weights, persons)
            result |= {f"{name}_low": low, f"{name}_high": high}
    return result


def weighted_draws(draws: Array | None, weights: Array) -> Iterator[Array]:
    """Draws (draws, rows) times the rows' weights, a few at a time, so that memory does not grow with their number."""
    for some in [] if draws is None else np.array_split(draws, -(-draws.size // 2_000_000)):
        yield some * weights


def _interval(
    metric: Metric, value: float, drawn: Array, y: Array, weights: Array, persons: Array | None
) -> tuple[float, float]:
    """The interval of a metric from what the draws gave; that of a share is never without a width."""
    if metric.share_of is None or not np.isfinite(value):
        return percentiles(drawn)
    among = metric.share_of(y, np.ones((1, len(y))))
    # Under weights the share is no plain mean of rows.
    is_plain = metric.is_plain and bool((weights == weights[0]).all())
    return share_interval(value, among, drawn, persons, is_plain)


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
