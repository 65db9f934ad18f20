"""By which numbers a group is chosen: information per cost, or what it and the questions after it bring."""

import numpy as np
import pytest
import torch

from askwise.core.belief import Belief
from askwise.core.prices import Prices
from askwise.core.ranking import LookAhead, Ranking, ranking_of
from askwise.core.step import propose
from askwise.core.stopping import Penalty


def step_of(scores, ahead, costs, ranking, rule=None):
    numbers = [torch.tensor([part], dtype=torch.float64) for part in (scores, ahead)]
    belief = Belief(torch.zeros(1, 2, dtype=torch.float64), *numbers)
    known = torch.zeros(1, len(scores), dtype=torch.bool)
    return propose(belief, known, ~known, torch.zeros(1, dtype=torch.float64), Prices.tensor(costs), rule, ranking)


def test_a_context_that_tells_nothing_is_chosen_for_what_comes_after_it():
    ranking = LookAhead(discount=0.7)
    step = step_of([0.0, 0.1], [1.0, 0.2], [1.0, 1.0], ranking)
    assert step.choice.tolist() == [0]
    # What is shown stays information per cost.
    assert step.values.tolist() == [[0.0, 0.1]]
    assert step_of([0.0, 0.1], [1.0, 0.2], [1.0, 1.0], Ranking()).values.tolist() == [[0.0, 0.1]]


def test_as_the_discount_goes_to_0_the_order_is_that_of_information_per_cost():
    rng = np.random.default_rng(0)
    scores, ahead, costs = rng.random((3, 1, 6))
    ranks = LookAhead(discount=1e-60).ranks(Belief(None, scores, ahead), costs + 0.3)
    assert np.argsort(ranks[0]).tolist() == np.argsort(scores[0] / (costs[0] + 0.3)).tolist()


@pytest.mark.parametrize("discount", [0.3, 0.7, 0.95])
def test_a_cheap_question_that_tells_nothing_is_never_asked_before_one_that_tells(discount):
    """After the useless one, the other can still be asked: that is all that lies ahead of it."""
    ranking = LookAhead(discount=discount, mean_price=1.0)
    costs = np.array([[0.01, 1.99]])
    alone = ranking.returns(np.array([[0.0, 0.5]]), np.zeros((1, 2)), costs)[0, 1]
    step = step_of([0.0, 0.5], [alone, 0.0], costs[0].tolist(), ranking)
    assert step.choice.tolist() == [1]


def test_what_questions_of_equal_price_bring_per_price_is_their_weighted_mean():
    ranking = LookAhead(discount=0.5, mean_price=2.0)
    ahead = ranking.returns(np.array([[0.6]]), np.array([[0.0]]), np.array([2.0]))
    for _ in range(60):
        ahead = ranking.returns(np.array([[0.6]]), ahead, np.array([2.0]))
    assert ahead[0, 0] * ranking.rate == pytest.approx(0.6 / 2)


def test_a_penalty_goes_on_for_what_lies_ahead():
    ranking = LookAhead(discount=0.7)
    rule = Penalty(0.2)
    assert not rule.stops(step_of([0.0, 0.1], [1.5, 0.0], [1.0, 1.0], ranking, rule)).item()
    assert rule.stops(step_of([0.0, 0.1], [0.1, 0.0], [1.0, 1.0], ranking, rule)).item()


def test_tensors_and_arrays_are_ranked_alike():
    rng = np.random.default_rng(1)
    scores, ahead = rng.normal(size=(2, 3, 4))
    costs, ranking = rng.random(4) + 0.1, LookAhead(discount=0.6)
    arrays = ranking.ranks(Belief(None, scores, ahead), costs)
    tensors = ranking.ranks(Belief(None, torch.tensor(scores), torch.tensor(ahead)), torch.tensor(costs))
    assert np.allclose(arrays, tensors.numpy(), rtol=1e-12)


def test_a_discount_of_0_looks_at_one_question(flowers):
    space = flowers.model_.schema.space
    assert ranking_of(space, True, 0.0) == Ranking()
    assert ranking_of(space, True, 0.5) == LookAhead(True, 0.5, sum(space.costs) / space.n_groups)
