"""CwCF: values of questions and classes, learnt from where they lead to."""

import numpy as np
import pandas as pd
import pytest
import torch

from askwise import AskwiseError, Budget, Confidence, CwcfClassifier
from askwise.core.belief import Belief
from askwise.core.features import FeatureSpace
from askwise.core.prices import Prices
from askwise.core.rows import Rows
from askwise.core.tasks import Classification
from askwise.methods.cwcf import CwcfObjective, class_errors
from askwise.training.q_learning import States

SMALL = {"hidden": 32, "pretrain_epochs": 20, "epochs": 30, "learning_rate": 0.01, "random_state": 0, "dropout": 0.0}


def switch(n_rows=400, seed=0):
    """The answer is in one of two columns, and a switch that tells nothing of the answer says in which."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.integers(0, 2, (n_rows, 3)).astype(float), columns=["switch", "left", "right"])
    return frame, np.where(frame["switch"] == 1, frame["right"], frame["left"]).astype(int)


@pytest.fixture(scope="module")
def two():
    return CwcfClassifier(budget=2, **SMALL).fit(*switch())


def test_with_two_questions_it_asks_the_switch_first_which_tells_nothing_by_itself(two):
    X, y = switch(200, seed=1)
    acquired = two.acquire(X, stop=Budget(2))
    asked = [["switch", "right" if on else "left"] for on in X["switch"]]
    assert acquired.order == asked
    assert (two.classes_[acquired.proba.argmax(1)] == y).mean() > 0.99


def test_with_one_question_it_leaves_the_switch():
    X, y = switch(200, seed=1)
    one = CwcfClassifier(budget=1, **SMALL).fit(*switch())
    acquired = one.acquire(X, stop=Budget(1))
    assert {order[0] for order in acquired.order} <= {"left", "right"}
    assert (one.classes_[acquired.proba.argmax(1)] == y).mean() > 0.65


def test_probabilities_are_one_plus_the_values_of_the_classes(two):
    X, _ = switch(50, seed=1)
    policy, rows = two.model_.policy, two.encode(X.assign(right=np.nan))
    mask = policy.mask(rows.available, rows.present)
    values, _ = policy.networks(policy.hide(rows.x, mask), mask)
    expected = (1 + values).clamp(0, 1).detach().numpy()
    found = policy(rows.x, mask).outputs.softmax(1).detach().numpy()
    # Off by the temperature, and by what little regression misses.
    assert np.abs(found - expected).max() < 0.15
    assert np.abs(expected.sum(1) - 1).max() < 0.1


def test_a_case_stops_when_it_is_sure_enough(two):
    X, _ = switch(50, seed=1)
    assert (two.acquire(X, stop=Confidence(0.2)).n_asked == 2).all()


def test_the_value_of_a_class_is_0_if_right_and_minus_1_if_wrong():
    y = torch.tensor([1, 0])
    right = torch.tensor([[-1.0, 0.0, -1.0], [0.0, -1.0, -1.0]])
    assert class_errors(right, y).tolist() == [0, 0]
    assert class_errors(right + 1, y).tolist() == [3, 3]


def objective(rule=None, costs=(1.0, 1.0)):
    places = tuple(range(len(costs)))
    space = FeatureSpace(tuple("abc"[: len(costs)]), costs, places, places)
    task = Classification((0, 1))
    policy = CwcfClassifier(hidden=4).build(space, task)
    return CwcfObjective(policy, task, Prices.tensor(costs), 2, rule, 4, 4)


def goals(rule, scores):
    """Of one case that was asked a and then b; naming a class is worth -0.8, -0.4 and -0.1 on the way."""
    q = objective(rule)
    classes = torch.tensor([[-0.8, -1], [-0.4, -1], [-0.1, -1], [0, 0]])
    belief = Belief(classes[:, None], torch.tensor(scores)[:, None])
    present = torch.ones(1, 2, dtype=torch.bool)
    states = States.of(Rows(torch.zeros(1, 2), present, present), torch.tensor([[0, 1]]), q.prices, 2, rule)
    return q._goal(states, belief, belief)[:, 0].tolist()


def test_with_a_budget_only_the_last_state_counts():
    scores = [[-0.3, -0.5], [-0.3, -0.2], [0.0, 0.0], [0.0, 0.0]]
    assert goals(Budget(2), scores) == pytest.approx([-0.1, -0.1])
    # Where the second question can't be paid, the class is named before it.
    assert goals(Budget(1), scores)[0] == pytest.approx(-0.4)


def test_an_episode_counts_only_as_far_as_the_policy_would_still_follow_it():
    """Asking a again is no choice in the second state; were b worth less than c, c's value would count."""
    q = objective(Budget(2), costs=(1.0, 1.0, 1.0))
    present = torch.ones(1, 3, dtype=torch.bool)
    states = States.of(Rows(torch.zeros(1, 3), present, present), torch.tensor([[0, 1, 2]]), q.prices, 2, Budget(2))
    classes = torch.full((4, 1, 2), -0.5)
    for of_b, expected in ((-0.2, -0.5), (-0.4, -0.3)):
        scores = torch.tensor([[-0.3, -0.5, -0.5], [0.0, of_b, -0.3], [0.0] * 3, [0.0] * 3])[:, None]
        belief = Belief(classes, scores)
        assert q._goal(states, belief, belief)[0].item() == pytest.approx(expected)


def test_without_a_budget_every_state_on_the_way_counts():
    scores = [[-0.3, -0.5], [-0.3, -0.2], [0.0, 0.0], [0.0, 0.0]]
    assert goals(None, scores) == pytest.approx([(-0.8 - 0.4 - 0.1) / 3, (-0.4 - 0.1) / 2])


def test_of_equal_columns_the_cheaper_is_asked_first():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    X = pd.DataFrame({"dear": y + rng.normal(0, 0.05, 300), "cheap": y + rng.normal(0, 0.05, 300), "noise": y * 0})
    model = CwcfClassifier(costs={"dear": 5, "cheap": 1, "noise": 1}, **SMALL).fit(X, y)
    assert {order[0] for order in model.acquire(X, stop=Budget(6)).order} == {"cheap"}


def test_class_weights_leave_probabilities_at_the_true_prevalence():
    rng = np.random.default_rng(0)
    y = (rng.random(600) < 0.2).astype(int)
    X = pd.DataFrame({"a": y + rng.normal(size=600), "b": rng.normal(size=600)})
    model = CwcfClassifier(class_weights="balanced", **SMALL).fit(X, y)
    assert model.predict_proba(X)[:, 1].mean() == pytest.approx(0.2, abs=0.06)


@pytest.mark.parametrize("budget", [0, -1, "2", True, float("nan")])
def test_a_budget_that_is_no_price_gives_a_clear_error(budget):
    with pytest.raises(AskwiseError, match="budget must be a number above 0, was given"):
        CwcfClassifier(budget=budget).fit(*switch(20))


def test_other_settings_are_checked_too():
    with pytest.raises(AskwiseError, match="pretrain_epochs must be a whole number"):
        CwcfClassifier(pretrain_epochs=0).fit(*switch(20))


def test_a_budget_below_every_price_still_predicts():
    X, y = switch(60)
    model = CwcfClassifier(budget=0.5, hidden=8, pretrain_epochs=2, epochs=2, random_state=0).fit(X, y)
    assert (model.acquire(X, stop=Budget(0.5)).n_asked == 0).all()
