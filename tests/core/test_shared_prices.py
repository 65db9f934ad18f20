"""Prices that several groups share and that are paid once."""

import copy
import json
import pickle

import numpy as np
import pytest
import torch

from askwise import Budget, Penalty
from askwise.core.belief import Belief
from askwise.core.costs import (
    SharedCost,
    are_equal,
    costs_from_dict,
    costs_to_dict,
    join_costs,
    own_costs,
    shared_costs,
    total_cost,
)
from askwise.core.features import FeatureSpace
from askwise.core.policy import Policy
from askwise.core.prices import Prices, SharedPrices
from askwise.core.ranking import LookAhead, ranking_of
from askwise.core.rows import Rows
from askwise.core.step import propose
from askwise.core.trace import rollout

DRAW, ROOM = SharedCost("draw", 2.0, (0, 1)), SharedCost("room", 0.5, (1, 2))
COSTS = join_costs((1.0, 2.0, 3.0, 4.0), [DRAW, ROOM])
KINDS = {"array": np.array, "tensor": torch.tensor}
kinds = pytest.mark.parametrize("kind", KINDS)


# Costs


def test_costs_are_those_at_the_start_and_know_their_parts():
    assert [*COSTS] == [3.0, 4.5, 3.5, 4.0]
    assert own_costs(COSTS) == (1.0, 2.0, 3.0, 4.0)
    assert shared_costs(COSTS) == (DRAW, ROOM)
    assert total_cost(COSTS) == 12.5


def test_costs_that_share_nothing_are_a_plain_tuple():
    for shared in ([], [SharedCost("paid", 0.0, (0, 1))]):
        assert type(join_costs((1.0, 2.0), shared)) is tuple
    assert (own_costs((1, 2)), shared_costs((1, 2)), total_cost((1, 2))) == ((1, 2), (), 3)


def test_costs_are_the_same_only_if_their_parts_are():
    assert join_costs((1.0, 2.0, 3.0, 4.0), [ROOM, DRAW]) == COSTS
    assert COSTS != (3.0, 4.5, 3.5, 4.0)
    assert COSTS != (3.0, 4.5, 3.5, 4.0)
    assert len({COSTS: 0, (3.0, 4.5, 3.5, 4.0): 1, copy.deepcopy(COSTS): 2}) == 2


def test_costs_survive_copies_pickles_and_json():
    assert copy.copy(COSTS) == copy.deepcopy(COSTS) == pickle.loads(pickle.dumps(COSTS)) == COSTS
    assert costs_from_dict(json.loads(json.dumps(costs_to_dict(COSTS)))) == COSTS
    assert costs_to_dict((1.0, 2.0)) == {"costs": [1.0, 2.0]}


def test_groups_that_cost_the_same_at_the_start_are_not_equal_if_they_share_some_of_it():
    everybody = join_costs((1.0, 1.0), [SharedCost("visit", 5.0, (0, 1))])
    assert not are_equal(everybody)
    assert not Prices.array(everybody).are_equal
    assert not Prices.tensor(everybody).are_equal


# Prices


@kinds
def test_only_the_first_of_those_that_share_a_price_pays_it(kind):
    prices, array = getattr(Prices, kind)(COSTS), KINDS[kind]
    known = array([[False] * 4, [True, False, False, False], [False, True, False, False], [False, False, True, True]])
    expected = [[3.0, 4.5, 3.5, 4.0], [1.0, 2.5, 3.5, 4.0], [1.0, 2.0, 3.0, 4.0], [3.0, 4.0, 3.0, 4.0]]
    assert isinstance(prices, SharedPrices)
    assert prices.of(known).tolist() == expected
    assert prices.of_choice(known, array([1, 1, 0, 1])).tolist() == [4.5, 2.5, 1.0, 4.0]
    assert prices.cheapest(known, ~known).tolist() == [3.0, 2.5, 1.0, 3.0]
    assert prices.total(known).tolist() == [0.0, 3.0, 4.5, 7.5]
    assert prices.own(known).tolist() == [1.0, 2.0, 3.0, 4.0]
    assert prices.mean() == 12.5 / 4


@kinds
def test_the_payments_of_a_group_add_up_to_its_price(kind):
    prices, array = getattr(Prices, kind)(COSTS), KINDS[kind]
    for known in ([False] * 4, [True, False, False, False], [False, False, True, False]):
        row = array([known])
        for group in range(4):
            assert sum(prices.payments(row, group)) == float(prices.of(row)[0, group])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_shared_prices_come_in_the_precision_asked_for(dtype):
    prices = Prices.tensor(COSTS, dtype)
    assert prices.of(torch.zeros(2, 4, dtype=torch.bool)).dtype == prices.nothing_spent(2).dtype == dtype


def test_prices_never_look_at_their_numbers_on_the_host():
    """A tensor without contents has no numbers to look at; so a GPU never waits, and updates can be recorded."""
    prices = Prices.tensor(COSTS, torch.float32, "meta")
    known, choice = (torch.zeros(shape, dtype=kind, device="meta") for shape, kind in (((5, 4), torch.bool), (5, int)))
    assert prices.of(known).shape == (5, 4)
    assert prices.of_choice(known, choice).shape == prices.cheapest(known, known).shape == (5,)
    assert prices.mean().shape == ()


def random_costs(draws, n_groups):
    """Prices with cents, and up to five shared ones, in which groups may be several times."""
    shared = [
        SharedCost(
            f"s{i}", round(float(draws.uniform(0.01, 9)), 2), tuple(np.flatnonzero(draws.random(n_groups) < 0.5))
        )
        for i in range(draws.integers(1, 6))
    ]
    return join_costs(np.round(draws.uniform(0.01, 5, n_groups), 2).tolist(), [s for s in shared if s.groups])


def test_numpy_and_torch_in_batches_of_any_size_give_the_same_prices_bit_for_bit():
    draws = np.random.default_rng(0)
    for n_groups in (1, 7, 33):
        costs = random_costs(draws, n_groups)
        known = draws.random((50, n_groups)) < draws.random((50, 1))
        together = Prices.tensor(costs).of(torch.tensor(known)).numpy()
        alone = np.concatenate([np.broadcast_to(Prices.array(costs).of(row[None]), (1, n_groups)) for row in known])
        assert (np.broadcast_to(together, alone.shape) == alone).all()


def plain_spent(costs, choices):
    """What a row has spent after each of its choices, by a plain loop."""
    paid, spent, found = set(), 0.0, [0.0]
    for group in choices:
        price = own_costs(costs)[group]
        for shared in shared_costs(costs):
            if group in shared.groups and shared.name not in paid:
                paid.add(shared.name)
                price += shared.price
        spent += price
        found.append(spent)
    return found


class RandomScores(Policy):
    """Scores are the entries of the row, so that each row asks in an order of its own."""

    def forward(self, x, mask, scores=True):  # noqa: ARG002
        return Belief(x.new_zeros(len(x), 1), x)


def policy_of(costs):
    n_groups = len(costs)
    names = tuple(f"g{i}" for i in range(n_groups))
    return RandomScores(FeatureSpace(names, costs, tuple(range(n_groups)), tuple(range(n_groups))))


@pytest.mark.parametrize("rule", [None, Budget(20.0)])
def test_1000_random_traces_spend_exactly_what_a_plain_loop_does(rule):
    draws = np.random.default_rng(1)
    costs = random_costs(draws, 8)
    present = torch.tensor(draws.random((1000, 8)) < 0.8)
    rows = Rows(torch.tensor(draws.random((1000, 8))), present, present)
    trace = rollout(policy_of(costs), rows, Prices.tensor(costs), [rule], walked_by=rule)
    assert len({tuple(row) for row in trace.choice.T.tolist()}) > 30
    for choices, spent, at in zip(trace.choice.T.tolist(), trace.spent.T.tolist(), trace.stops[0].at, strict=True):
        told = plain_spent(costs, [g for g in choices if g >= 0])
        assert spent[: len(told)] == told
        assert rule is None or spent[at] <= rule.k * (1 + 1e-9)


# Choices


def step_of(costs, scores, known=(), rule=None, ranking=None, ahead=None, spent=0.0):
    known = torch.tensor([[g in known for g in range(len(costs))]])
    belief = Belief(torch.zeros(1, 1), torch.tensor([scores]), None if ahead is None else torch.tensor([ahead]))
    spent = torch.tensor([spent], dtype=torch.float64)
    options = {} if ranking is None else {"ranking": ranking}
    return propose(belief, known, ~known, spent, Prices.tensor(costs), rule, **options)


def test_the_price_that_divides_is_that_given_what_is_known():
    costs = join_costs((1.0, 1.0, 2.0), [SharedCost("draw", 3.0, (0, 1))])
    assert step_of(costs, [1.0, 1.2, 0.9]).choice.item() == 2
    after = step_of(costs, [1.0, 1.2, 0.9], known=[0])
    assert after.choice.item() == 1
    assert after.best.item() == pytest.approx(1.2)
    assert after.spent_next.item() == 1.0


def test_a_budget_and_a_penalty_look_at_the_price_that_is_left_to_pay():
    costs = join_costs((1.0, 1.0, 9.0), [SharedCost("draw", 3.0, (0, 1))])
    for rule in (Budget(5.0), Penalty(0.5)):
        assert step_of(costs, [1.0, 1.0, 0.0], known=[0], rule=rule, spent=4.0).can_ask.item()
    assert rule.stops(step_of(costs, [1.0, 1.0, 0.0])).item()
    assert not rule.stops(step_of(costs, [1.0, 1.0, 0.0], known=[0])).item()
    assert Budget(3.9).stops(step_of(costs, [1.0, 1.0, 0.0])).item()


def test_looking_ahead_a_set_with_one_shared_price_can_beat_the_better_single_question():
    """Alone, the third question tells most per price; two that share a draw are worth more together."""
    costs = join_costs((0.5, 0.5, 2.0), [SharedCost("draw", 3.0, (0, 1))])
    space = policy_of(costs).space
    ranking = ranking_of(space, True, 0.9)
    assert isinstance(ranking, LookAhead)
    assert ranking.mean_price == 6.0 / 3
    alone, ahead = [1.0, 1.0, 0.9], [1.5, 1.5, 0.4]
    assert step_of(costs, alone).choice.item() == 2
    assert step_of(costs, alone, ahead=ahead, ranking=ranking).choice.item() in (0, 1)


def test_what_can_not_be_had_does_not_pay_for_the_others():
    costs = join_costs((1.0, 1.0), [SharedCost("draw", 3.0, (0, 1))])
    present = torch.tensor([[False, True]])
    trace = rollout(policy_of(costs), Rows(torch.ones(1, 2), present, present), Prices.tensor(costs), [None])
    assert trace.spent[-1].tolist() == [4.0]


def test_prices_that_share_nothing_are_of_the_plain_type():
    for costs in ((1.0, 2.0), (1.0, 1.0), join_costs((1.0, 2.0), [])):
        assert type(Prices.array(costs)) is type(Prices.tensor(costs)) is Prices
