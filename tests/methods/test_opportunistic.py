"""Opportunistic learning: questions whose answers change the prediction most per cost."""

import numpy as np
import pandas as pd
import pytest
import torch

from askwise import AskwiseError, Budget, OpportunisticClassifier
from askwise.core.belief import Belief
from askwise.core.features import FeatureSpace
from askwise.core.prices import Prices
from askwise.core.rows import Rows
from askwise.core.tasks import Classification
from askwise.methods.opportunistic import DISCOUNT, OpportunisticObjective
from askwise.networks.pair import SharedNetworks
from askwise.training.q_learning import States

SMALL = {"hidden": 32, "pretrain_epochs": 30, "epochs": 30, "learning_rate": 0.01, "random_state": 0}


def columns(n_rows=300, seed=0):
    """A column that tells the answer, twice; one that hints at it; and one that has nothing to do with it."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n_rows)
    tells = {name: y + rng.normal(0, 0.1, n_rows) for name in ("dear", "cheap")}
    return pd.DataFrame({**tells, "hint": y + rng.normal(0, 2, n_rows), "noise": rng.normal(0, 1, n_rows)}), y


@pytest.fixture(scope="module")
def model():
    return OpportunisticClassifier(costs={"dear": 3, "cheap": 1, "hint": 1, "noise": 1}, **SMALL).fit(*columns())


def test_it_asks_what_changes_the_prediction_most_per_cost(model):
    X, y = columns(200, seed=1)
    acquired = model.acquire(X, stop=Budget(1))
    assert acquired.order == [["cheap"]] * 200
    assert (model.classes_[acquired.proba.argmax(1)] == y).mean() > 0.98


def test_predictor_and_values_share_a_trunk(model):
    assert type(model.model_.policy.networks) is SharedNetworks


def test_values_are_never_below_0(model):
    rows = model.encode(columns(50, seed=1)[0])
    mask = model.model_.policy.mask(torch.zeros_like(rows.available), rows.present)
    assert (model.model_.policy(rows.x, mask).scores >= 0).all()


def test_an_answer_earns_how_much_it_changes_the_prediction_per_cost():
    """A network that values each question at what it earned, discounted, has no error left."""
    prices = Prices.tensor([1.0, 3.0])
    space, task = FeatureSpace(("a", "b"), (1.0, 3.0), (0, 1), (0, 1)), Classification((0, 1))
    q = OpportunisticObjective(OpportunisticClassifier(hidden=4).build(space, task), task, prices, 2, None, 4, 4)
    present = torch.ones(1, 2, dtype=torch.bool)
    rows = Rows(torch.zeros(1, 2), present, present, torch.zeros(1, dtype=torch.int64))
    states = States.of(rows, torch.tensor([[0, 1]]), prices, 2, None)
    probability = torch.tensor([[0.5, 0.5], [0.8, 0.2], [0.1, 0.9], [0.5, 0.5]])[:, None]
    # |0.8 - 0.5| + |0.2 - 0.5| at half the mean cost, |0.1 - 0.8| + |0.9 - 0.2| at 1.5 times.
    second = 1.4 / 1.5
    first = 0.6 / 0.5 + DISCOUNT * second
    raw = torch.tensor([[first, 0], [0, second], [0, 0], [0, 0]])[:, None].clamp_min(1e-6).expm1().log()
    belief = Belief(probability.log(), raw)
    surprise = -probability[:, 0, 0].log().mean()
    assert q.loss(rows, torch.ones(1), states, belief, belief, belief).item() == pytest.approx(
        surprise.item(), abs=1e-5
    )


def test_a_budget_is_what_an_episode_spends():
    X, y = columns(200)
    one = OpportunisticClassifier(budget=1, costs={"dear": 3}, **{**SMALL, "epochs": 3, "pretrain_epochs": 3}).fit(X, y)
    assert (one.acquire(X, stop=Budget(1)).spent == 1).all()
    assert one.episode_steps(one.model_.schema.space) == 1


@pytest.mark.parametrize("budget", [0, -2, "all"])
def test_a_budget_that_is_no_price_gives_a_clear_error(budget):
    with pytest.raises(AskwiseError, match="budget must be a number above 0, was given"):
        OpportunisticClassifier(budget=budget).fit(*columns(20))
