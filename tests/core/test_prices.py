"""Prices: equal, unequal, and such that depend on what is known."""

import math
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
import torch

from askwise import Budget, Confidence, Penalty
from askwise.core.belief import Belief
from askwise.core.prices import Prices
from askwise.core.ranking import Ranking
from askwise.core.rows import Rows
from askwise.core.step import propose
from askwise.core.trace import rollout
from askwise.core.walk import walk

INF = math.inf
KINDS = {"array": np.array, "tensor": torch.tensor}
kinds = pytest.mark.parametrize("kind", KINDS)


class Rising(Prices):
    """Every group costs one more for each group that is known, and the group after a known one costs half."""

    def of(self, known):
        after_known = known * 1.0
        after_known[:, 1:], after_known[:, 0] = known[:, :-1] * 1.0, 0
        return (self.costs + (known * 1.0).sum(1)[:, None]) * (1 - after_known / 2)


def prices_of(kind, costs, cls=Prices):
    return getattr(cls, kind)(costs)


def rows_with(present):
    present = torch.as_tensor(present) > 0
    return Rows(torch.zeros(present.shape, dtype=torch.float64), present, present)


# Fixed prices


@kinds
@pytest.mark.parametrize("costs", [(2.5,) * 4, (1.0,), (1.0, 2.0), (1, 1.0, True), (0.1 + 0.2, 0.3)])
def test_prices_keep_the_numbers_and_know_whether_they_are_all_equal(kind, costs):
    prices = prices_of(kind, costs)
    assert prices.costs.tolist() == list(costs)
    assert prices.costs.shape == (len(costs),)
    assert prices.are_equal is (len(set(costs)) == 1)


def test_prices_come_in_the_precision_asked_for():
    assert Prices.array((1, 2)).costs.dtype == Prices.array((1, 1)).costs.dtype == np.float64
    assert Prices.tensor((1, 2)).costs.dtype == torch.float64
    for dtype in (torch.float32, torch.float64):
        assert Prices.tensor((1, 2), dtype).costs.dtype == Prices.tensor((1, 1), dtype).costs.dtype == dtype


def test_equal_numbers_are_not_taken_for_equal_prices_unless_told():
    """The contents are never looked at: on a GPU that would make the host wait."""
    for costs in (np.full(3, 3.0), torch.full((3,), 3.0)):
        assert not Prices(costs).are_equal


def test_prices_can_not_be_changed():
    with pytest.raises(FrozenInstanceError):
        Prices.array((1, 2)).are_equal = True


@kinds
@pytest.mark.parametrize(
    ("costs", "of_choice", "cheapest"), [((3, 1, 2), [2, 1], [1, INF]), ((4, 4, 4), [4, 4], [4, INF])]
)
def test_fixed_prices_are_the_same_whatever_is_known(kind, costs, of_choice, cheapest):
    prices, array = prices_of(kind, costs), KINDS[kind]
    open_ = array([[True, True, False], [False, False, False]])
    for known in (array([[False] * 3] * 2), array([[False, False, True]] * 2)):
        assert prices.of(known).tolist() == list(costs)
        assert np.broadcast_to(prices.of_choice(known, array([2, 1])), 2).tolist() == of_choice
        assert prices.cheapest(known, open_).tolist() == cheapest


@kinds
def test_the_mean_is_of_all_groups(kind):
    assert prices_of(kind, (1, 2, 6)).mean() == 3


def test_nothing_is_spent_in_the_precision_of_the_prices():
    for dtype in (torch.float32, torch.float64):
        spent = Prices.tensor((1, 2), dtype).nothing_spent(3)
        assert spent.tolist() == [0, 0, 0]
        assert spent.dtype == dtype


TIES = {
    "none": [0.5, 3.0, 1.0, 2.0, 2.5],
    "two": [1.0, 2.0, 2.0, 0.5, 1.0],
    "all": [1.0] * 5,
    "below zero": [-1.0, -2.0, -1.0, 0.0, -3.0],
}


class Listed(Prices):
    """Fixed prices that are given for every row, as those are that depend on what is known."""

    def of(self, known):
        return self.costs.expand(known.shape)


def assert_same_rollouts(policy, one, other, rule):
    """Two kinds of prices lead the same rows, some with holes, through the same questions."""
    present = torch.rand(30, 5, generator=torch.Generator().manual_seed(0)) < 0.7
    present[:2] = torch.tensor([[True], [False]])
    one, other = (rollout(policy, rows_with(present), prices, [rule], walked_by=rule) for prices in (one, other))
    for part in ("outputs", "spent", "best", "choice"):
        assert torch.equal(getattr(one, part), getattr(other, part)), part
    assert one.stops[0].at.tolist() == other.stops[0].at.tolist()
    assert one.stops[0].reason.tolist() == other.stops[0].reason.tolist()


RULES = [None, Budget(7.0), Budget(6.9), Penalty(0.4), Budget(5) | Penalty(0.1)]


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("scores", TIES)
def test_a_rollout_is_the_same_with_prices_told_to_be_equal_and_spelt_out(table_policy, scores, rule):
    policy = table_policy([2.5] * 5, TIES[scores])
    told, spelt_out = Prices.tensor(policy.space.costs), Prices(torch.tensor(policy.space.costs, dtype=torch.float64))
    assert told.are_equal
    assert not spelt_out.are_equal
    assert_same_rollouts(policy, told, spelt_out, rule)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("costs", [(2.5,) * 5, (3, 1, 1, 2, 0.5)])
def test_a_rollout_is_the_same_with_prices_of_groups_and_of_rows_and_groups(table_policy, costs, rule):
    policy = table_policy(costs, TIES["two"])
    assert_same_rollouts(policy, Prices.tensor(costs), Listed.tensor(costs), rule)


# Prices that depend on what is known


@kinds
@pytest.mark.parametrize("costs", [(2, 2, 2), (2, 4, 6)])
def test_a_subclass_that_overrides_only_the_price_of_a_group_is_right_in_everything_else(kind, costs):
    prices, array = prices_of(kind, costs, Rising), KINDS[kind]
    known = array([[False, False, False], [True, False, False], [False, True, True]])
    a, b, c = costs
    expected = [[a, b, c], [a + 1, (b + 1) / 2, c + 1], [a + 2, b + 2, (c + 2) / 2]]
    assert isinstance(prices, Rising)
    assert prices.of(known).tolist() == expected
    for group in range(3):
        choice = array([group] * 3)
        assert prices.of_choice(known, choice).tolist() == [row[group] for row in expected]
    assert prices.of_choice(known, array([2, 1, 0])).tolist() == [expected[0][2], expected[1][1], expected[2][0]]
    open_ = array([[False, True, True], [False, True, True], [False, False, False]])
    assert prices.cheapest(known, open_).tolist() == [min(b, c), min(expected[1][1:]), INF]


@kinds
def test_prices_that_are_equal_at_the_start_are_not_taken_for_equal_where_they_change(kind):
    assert prices_of(kind, (1, 1, 1)).are_equal
    assert not prices_of(kind, (1, 1, 1), Rising).are_equal
    assert not Rising(KINDS[kind]([1.0, 1.0]), are_equal=True).are_equal


def test_a_subclass_that_leaves_the_price_of_a_group_alone_may_be_equal():
    class Named(Prices):
        currency = "EUR"

    assert Named.tensor((1, 1)).are_equal


@kinds
@pytest.mark.parametrize(("known", "choice"), [([0, 0, 0], 0), ([1, 0, 0], 1), ([0, 1, 0], 2)])
def test_a_step_divides_by_the_price_of_the_moment_and_a_tie_goes_to_the_cheaper(kind, known, choice):
    """All tell the same: with nothing known the first is asked, then the one after the known one, at half price."""
    array, prices = KINDS[kind], prices_of(kind, (2, 2, 2), Rising)
    belief = Belief(array([[0.0, 0.0]]), array([[6.0, 6.0, 6.0]]))
    known, everything = array([known]) > 0, array([[True] * 3])
    step = propose(belief, known, everything, array([0.0]), prices)
    assert step.choice.tolist() == [choice]
    assert step.best.tolist() == [6 / prices.of(known)[0, choice]]
    order = Belief(belief.outputs, array([[1.0, 1.0, 1.0]]))
    assert propose(
        order, known, everything, array([0.0]), prices, ranking=Ranking(is_information=False)
    ).choice.tolist() == [choice]


def test_a_walk_pays_the_price_of_the_moment(table_policy):
    policy = table_policy([2, 2, 2], [9, 8, 7])
    steps = list(walk(policy, rows_with([[1, 1, 1], [1, 0, 1]]), Rising.tensor((2, 2, 2)), 4))
    assert torch.stack([step.choice for step in steps[:3]])[:, 0].tolist() == [0, 1, 2]
    # 2 at the start, then 3 / 2, then 4 / 2; of the other row 2, then 3.
    assert torch.stack([step.spent for step in steps]).T.tolist() == [[0, 2, 3.5, 5.5], [0, 2, 5, 5]]


@pytest.mark.parametrize(
    ("rule", "order", "reason"),
    [
        (Budget(3.4), [0], "budget"),
        (Budget(3.5), [0, 1], "budget"),
        (Budget(5.5), [0, 1, 2], "nothing-left"),
        # 9 / 2, 8 / 1.5, 7 / 2
        (Penalty(4), [0, 1], "penalty"),
        (Penalty(4.6), [], "penalty"),
        (Budget(3.5) | Penalty(1) | Confidence(0.1), [0, 1], "budget"),
    ],
)
def test_rules_judge_by_the_price_of_the_moment(table_policy, rule, order, reason):
    policy = table_policy([2, 2, 2], [9, 8, 7])
    trace = rollout(policy, rows_with([[1, 1, 1]]), Rising.tensor((2, 2, 2)), [rule], walked_by=rule)
    assert [group for group in trace.choice.flatten().tolist() if group >= 0] == order
    assert trace.stops[0].reason.tolist() == [reason]
