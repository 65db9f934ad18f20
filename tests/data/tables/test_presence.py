"""The test of presence is exact, and its information is that of the table."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import false_discovery_control, fisher_exact

from askwise.data.tables.presence import PresenceTest, false_discovery_limit


@pytest.mark.parametrize(("n_of_answer", "n_present"), [((20, 31), (9, 5)), ((3, 400), (3, 40)), ((7, 7), (7, 0))])
def test_with_two_answers_it_is_fishers_exact_test(n_of_answer, n_present):
    n, present = np.array(n_of_answer), np.array(n_present)
    assert PresenceTest(n).p_value(present) == pytest.approx(fisher_exact([present, n - present])[1])


def test_with_three_answers_shuffled_presence_is_as_rare_as_it_says():
    rng = np.random.default_rng(0)
    codes, present = np.repeat([0, 1, 2], [30, 20, 10]), np.arange(60) < 25
    test = PresenceTest(np.bincount(codes))
    p_values = np.array([test.p_value(np.bincount(codes[rng.permutation(present)], minlength=3)) for _ in range(1000)])
    for level in (0.01, 0.05, 0.2):
        assert (p_values <= level).mean() <= level + 2 * (level / 1000) ** 0.5


def test_information_is_that_of_the_table_without_what_chance_gives():
    n, present = np.array([500, 500]), np.array([400, 100])
    exact = np.log(2) + 0.8 * np.log(0.8) + 0.2 * np.log(0.2)
    assert PresenceTest(n).information(present) == pytest.approx(exact - 1 / 2000)
    assert PresenceTest(n).information(np.array([250, 250])) == 0


def test_one_answer_only_is_told_by_nothing():
    test = PresenceTest(np.array([10]))
    assert (test.p_value(np.array([4])), test.information(np.array([4]))) == (1.0, 0.0)


def test_the_limit_is_that_of_benjamini_and_hochberg():
    p_values = np.array([0.001, 0.009, 0.02, 0.2, 0.6, 0.9])
    passes = false_discovery_control(p_values) <= 0.05
    assert (p_values <= false_discovery_limit(p_values, 0.05)).tolist() == passes.tolist()
    assert false_discovery_limit(np.array([0.3, 0.9]), 0.05) < 0
    assert false_discovery_limit(np.empty(0), 0.05) < 0
