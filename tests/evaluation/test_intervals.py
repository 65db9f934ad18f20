"""Intervals: Wilson's, and those of drawing persons again, against numbers worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from askwise import AskwiseError
from askwise.core.tasks import Classification
from askwise.evaluation.intervals import bootstrap_draws, person_numbers, share_interval, wilson
from askwise.evaluation.metrics import metrics


def proba_of(right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Predictions of which these are right, and their answers."""
    y = np.arange(len(right)) % 2
    said = np.where(right, y, 1 - y)
    return np.eye(2)[said] * 0.8 + 0.1, y


def test_wilsons_interval_is_that_of_the_textbook():
    """Nine of ten: 0.596 to 0.982. All of ten: 0.722 to 1. None of ten: the mirror image."""
    low, high = wilson(np.array([0.9, 1.0, 0.0]), np.array([10, 10, 10]))
    assert low == pytest.approx([0.596, 0.722, 0.0], abs=1e-3)
    assert high == pytest.approx([0.982, 1.0, 0.278], abs=1e-3)


def test_a_persons_rows_are_drawn_together():
    persons = np.array([0, 0, 0, 1, 2, 2])
    draws = bootstrap_draws(6, 50, persons=persons)
    assert (draws[:, 0] == draws[:, 1]).all()
    assert (draws[:, 4] == draws[:, 5]).all()
    assert (draws[:, [0, 3, 4]].sum(1) == 3).all()


def test_the_accuracy_of_single_rows_has_wilsons_interval():
    proba, y = proba_of(np.arange(20) < 18)
    found = metrics(Classification((0, 1)), proba, y, bootstrap_draws(20, 50))
    assert (found["accuracy_low"], found["accuracy_high"]) == pytest.approx((0.699, 0.972), abs=1e-3)


def test_the_accuracy_of_persons_is_as_sure_as_persons_are_many():
    """Two persons of 50 rows, one always right, one never: drawn twice, thrice or never, 0 to 1 is the interval."""
    persons = np.repeat([0, 1], 50)
    proba, y = proba_of(persons == 0)
    draws = bootstrap_draws(100, 200, persons=persons)
    found = metrics(Classification((0, 1)), proba, y, draws, persons=persons)
    assert (found["accuracy_low"], found["accuracy_high"]) == (0.0, 1.0)
    alone = metrics(Classification((0, 1)), proba, y, bootstrap_draws(100, 200))
    assert (alone["accuracy_low"], alone["accuracy_high"]) == pytest.approx((0.404, 0.596), abs=1e-3)


def test_the_standard_error_of_a_cluster_bootstrap_is_that_of_the_persons_means():
    rng = np.random.default_rng(0)
    means = rng.random(200)
    right = rng.random((200, 5)) < means[:, None]
    persons = np.repeat(np.arange(200), 5)
    proba, y = proba_of(right.ravel())
    found = metrics(Classification((0, 1)), proba, y, bootstrap_draws(1000, 2000, persons=persons), persons=persons)
    half = 1.96 * right.mean(1).std(ddof=1) / np.sqrt(200)
    assert found["accuracy_high"] - found["accuracy_low"] == pytest.approx(2 * half, rel=0.08)


def test_where_all_are_right_the_number_of_persons_counts():
    """Ten persons of ten rows, all right: from 0.722 as of ten, not from 0.963 as of a hundred, and not from 1."""
    persons = np.repeat(np.arange(10), 10)
    proba, y = proba_of(np.ones(100, dtype=bool))
    draws = bootstrap_draws(100, 50, persons=persons)
    found = metrics(Classification((0, 1)), proba, y, draws, persons=persons)
    assert (found["accuracy_low"], found["accuracy_high"]) == pytest.approx((0.722, 1.0), abs=1e-3)


def test_only_persons_with_rows_of_the_share_count():
    among = np.array([True, True, False, False])
    low, _ = share_interval(1.0, among, np.ones(10), np.array([0, 1, 2, 3]))
    assert low == pytest.approx(wilson(1.0, 2)[0])


@pytest.mark.parametrize(
    ("values", "says"),
    [
        (["a", "b"], "2 values for 3 rows"),
        (["a", None, "b"], "missing in 1 rows"),
        (["a", "a", "a"], "one value in all rows"),
    ],
)
def test_persons_that_can_not_be_told_apart_are_an_error(values, says):
    with pytest.raises(AskwiseError, match=says):
        person_numbers(values, 3)
