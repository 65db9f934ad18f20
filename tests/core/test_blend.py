"""Blends of information and error: when they stop, how they are written, and what they need."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from askwise import AskwiseError
from askwise.core.blend import Blend
from askwise.core.prices import Prices
from askwise.core.rows import Rows
from askwise.core.stopping import AverageCost, Budget, OnAverage, Penalty, expected_cost, least_value, parse_rule
from askwise.core.tasks import Regression, error_probability
from askwise.core.trace import rollout


def step(best, error, spent=0.0, kind=np.array):
    given = {"best": best, "error": error, "spent": spent}
    return SimpleNamespace(can_ask=kind([True]), **{name: kind([value]) for name, value in given.items()})


@pytest.mark.parametrize("kind", [np.array, torch.tensor])
@pytest.mark.parametrize(
    ("blend", "best", "error", "stops"),
    [
        (Blend(0.2), 0.1, 0.4, False),
        (Blend(0.2001), 0.1, 0.4, True),
        (Blend(0.11, weight=1), 0.1, 0.9, True),
        (Blend(0.09, weight=1), 0.1, 0.0, False),
        (Blend(0.3, weight=0), 9.0, 0.2, True),
        (Blend(0.3, weight=0), 0.0, 0.4, False),
        (Blend(1e-9), 5.0, 0.0, True),
    ],
)
def test_it_stops_where_information_to_the_weight_times_error_to_the_rest_is_below(blend, best, error, stops, kind):
    assert blend.stops(step(best, error, kind=kind)).tolist() == [stops]


@pytest.mark.parametrize(("spent", "stops"), [(0.0, False), (1.9, False), (2.0, True), (4.0, True)])
def test_it_does_not_stop_before_the_least_was_spent(spent, stops):
    assert Blend(1.0, least=2).stops(step(0.1, 0.1, spent)).tolist() == [stops]


@pytest.mark.parametrize(("spent", "stops"), [(2.9, False), (0.1 + 0.2 + 2.7, True), (4.0, True)])
def test_it_stops_once_the_most_was_spent(spent, stops):
    assert Blend(0.0, most=3.0).stops(step(5.0, 0.5, spent)).tolist() == [stops]


def test_with_a_weight_of_1_it_stops_where_the_penalty_stops(table_policy):
    policy = table_policy([1, 2, 1], [3.0, 1.0, 0.4])
    rows = Rows(torch.zeros(1, 3), torch.ones(1, 3) > 0, torch.ones(1, 3) > 0)
    rules = [rule for lam in (4, 1.1, 0.45, 0.4, 0.1) for rule in (Penalty(lam), Blend(lam, weight=1))]
    stops = rollout(policy, rows, Prices.tensor([1, 2, 1]), rules).stops
    assert [s.at.tolist() for s in stops[::2]] == [s.at.tolist() for s in stops[1::2]]
    assert {s.reason[0] for s in stops[1::2][:3]} == {"blend"}


@pytest.mark.parametrize(
    "rule",
    [Blend(0.1), Blend(1 / 3, weight=0.25, least=2, most=12), Blend(0, most=7.5) | Budget(3), Blend(2, weight=0)],
)
def test_its_text_is_read_back(rule):
    assert parse_rule(str(rule)) == rule


def test_what_is_left_out_of_its_text_has_the_default():
    assert str(Blend(0.1, most=12)) == "blend=0.1,most=12"
    assert parse_rule("blend=0.1, least=2") == Blend(0.1, 0.5, 2, math.inf)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("blend=0.1,wieght=1", "can't be read at 'wieght'; it has weight=N, least=N, most=N"),
        ("blend=0.1,weight=much", "can't be read at 'weight'"),
        ("budget=3,least=2", "can't be read at 'least'; it takes one number"),
        ("blend=0.1,weight=2", "from 0 to 1, was given 2.0"),
        ("blend=0.1,least=3,most=2", "from least to most, was given 3.0 and 2.0"),
        ("blend=-1", "a blend takes a number of at least 0"),
    ],
)
def test_a_text_that_makes_no_sense_is_an_error(text, says):
    with pytest.raises(AskwiseError, match=says):
        parse_rule(text)


def test_a_number_to_predict_allows_information_alone(table_policy):
    policy, task = table_policy([1], [1]), Regression(0.0, 1.0)
    Blend(0.1, weight=1).check(task, policy)
    with pytest.raises(AskwiseError, match="needs class probabilities"):
        Blend(0.1).check(task, policy)


def test_the_error_of_a_sure_prediction_keeps_its_digits():
    logits = np.array([[0.0, -30.0], [2.0, 2.0]])
    for outputs in (logits, torch.from_numpy(logits)):
        assert np.asarray(error_probability(outputs)) == pytest.approx([math.exp(-30), 0.5], rel=1e-2)


def test_the_least_value_of_a_blend_is_that_of_this_moment():
    rule = OnAverage(Blend(0.2, least=2), 3, (2.8, 3.1))
    assert least_value(rule, error=0.4, spent=2) == pytest.approx(0.1)
    assert least_value(rule, error=0.1, spent=2) == pytest.approx(0.4)
    assert least_value(rule, error=0.4, spent=1) is None
    assert least_value(Blend(0.3, weight=0), error=0.4) is None


# What an average cost stands for

FRONTIER = {
    "average_cost": [0.0, 1.0, 2.0, 3.0, 6.0],
    "rule": ["budget=0", "budget=1", "blend=0.2,most=4", "budget=3", "budget=inf"],
    "mean_cost": [0.0, 1.0, 1.9, 3.0, 6.0],
    "cost_low": [0.0, 1.0, 1.8, 3.0, 6.0],
    "cost_high": [0.0, 1.0, 2.05, 3.0, 6.0],
}


@pytest.mark.parametrize(
    ("k", "rule"),
    [(1, Budget(1)), (1.5, Budget(1.5)), (2.2, Blend(0.2, most=4)), (3, Budget(3)), (6, Budget(math.inf))],
)
def test_an_average_cost_stands_for_the_rule_of_the_largest_one_not_above_it(k, rule):
    assert AverageCost(k).resolve(lambda: FRONTIER).rule == rule


def test_what_is_expected_to_be_spent_comes_with_it():
    assert str(expected_cost(AverageCost(2.2).resolve(lambda: FRONTIER))) == "1.8 to 2.05"
    assert str(expected_cost(AverageCost(3).resolve(lambda: FRONTIER))) == "3"
    assert expected_cost(AverageCost(3).resolve(lambda: FRONTIER) | Budget(2)) is None
    assert expected_cost(Budget(3)) is None
    assert expected_cost(None) is None


def test_the_text_of_what_it_stands_for_is_that_of_the_rule():
    assert parse_rule(str(AverageCost(2.2).resolve(lambda: FRONTIER))) == Blend(0.2, most=4)


def test_its_reason_is_the_average_cost_whatever_rule_is_run(table_policy):
    policy = table_policy([1, 1, 1, 1], [4, 3, 2, 1])
    rows = Rows(torch.zeros(1, 4), torch.ones(1, 4) > 0, torch.ones(1, 4) > 0)
    for rule in (Budget(2), Penalty(2.5), Blend(2.5, weight=1)):
        found = OnAverage(rule, 2, (2, 2))
        trace = rollout(policy, rows, Prices.tensor([1] * 4), [found], found)
        assert (int(trace.stops[0].at[0]), trace.stops[0].reason[0]) == (2, "average-cost")
