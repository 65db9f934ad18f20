"""Methods that ask everybody the same: the order, the sets to learn from, one budget alone, floor and ceiling."""

import numpy as np
import pandas as pd
import pytest
import torch

from askwise import AllFeaturesClassifier, AskwiseError, Budget, RandomOrderClassifier, RandomOrderRegressor, load
from askwise.core.tasks import Classification
from askwise.methods.budgeted import affordable, paid_in_turn
from askwise.methods.static import ANY_LENGTH, WITH_GAPS, OrderPolicy

SETTINGS = {"hidden": 16, "epochs": 3, "random_state": 0}


@pytest.fixture
def table():
    """Two columns that tell one half of the label each, one of noise; the second costs 3."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, 300)
    x = {"high": y // 2, "low": y % 2, "noise": rng.random(300) > 0.5}
    return pd.DataFrame(x).astype(float), y


def policy_of(model) -> OrderPolicy:
    return model.model_.policy


def test_every_case_is_asked_in_the_same_order(table):
    X, y = table
    model = RandomOrderClassifier(**SETTINGS).fit(X, y)
    orders = {tuple(order) for order in model.acquire(X).order}
    assert len(orders) == 1
    names = model.model_.schema.space.names
    assert orders == {tuple(names[g] for g in policy_of(model).order.tolist())}


def test_another_seed_gives_another_order():
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 12)))
    y = np.arange(40) % 2
    orders = [RandomOrderClassifier(**SETTINGS | {"random_state": s, "epochs": 1}).fit(X, y) for s in (0, 1)]
    assert orders[0].acquire(X[:1]).order != orders[1].acquire(X[:1]).order


def test_an_order_survives_saving(table, tmp_path):
    X, y = table
    model = RandomOrderClassifier(**SETTINGS | {"random_state": 3}).fit(X, y)
    model.save(tmp_path / "m.askwise")
    assert policy_of(load(tmp_path / "m.askwise")).order.tolist() == policy_of(model).order.tolist()


def order_policy(order):
    model = RandomOrderClassifier(hidden=4)
    X = pd.DataFrame(np.zeros((1, len(order))), columns=[f"x{i}" for i in range(len(order))])
    from askwise.data.tables.schema import Schema

    policy = model.build(Schema.of(X, named=True).space, Classification((0, 1)))
    policy.ask_in(torch.tensor(order))
    return policy


def test_sets_to_learn_from_are_prefixes_of_what_can_be_had_up_to_gaps():
    torch.manual_seed(0)
    policy = order_policy([3, 1, 0, 2, 4, 5])
    available = torch.rand(20_000, 6) < 0.7
    known = policy.prefixes(available, longest=3)
    assert not (known & ~available).any()
    in_order = policy.order
    known, available = known[:, in_order], available[:, in_order]
    skipped = ~known & available
    # A prefix never has something known behind something that was skipped.
    is_prefix = ~(known & (skipped.cumsum(1) > 0)).any(1)
    assert 1 - WITH_GAPS <= float(is_prefix.double().mean()) < 1
    longer = float((known.sum(1) > 3).double().mean())
    assert 0 < longer < ANY_LENGTH
    sizes = known[is_prefix & (available.sum(1) == 6)].sum(1)
    shares = torch.bincount(sizes, minlength=7)[:4] / len(sizes)
    assert shares.min() > 0.15


def test_within_a_budget_the_order_takes_what_it_can_pay():
    X = pd.DataFrame({"dear": [0.0, 1.0] * 20, "cheap": [0.0, 1.0] * 20, "middling": [0.0, 1.0] * 20})
    model = RandomOrderClassifier(costs={"dear": 5, "cheap": 1, "middling": 2}, hidden=4, epochs=1, random_state=0)
    policy = policy_of(model.fit(X, np.arange(40) % 2))
    policy.ask_in(torch.tensor([0, 2, 1]))
    for budget, taken in {4: [False, True, True], 5: [True, False, False], 8: [True, True, True]}.items():
        policy.take_within(budget)
        assert policy.taken.tolist() == taken


def test_trained_for_one_budget_it_is_blind_to_all_else(table):
    X, y = table
    model = RandomOrderClassifier(budget=1, **SETTINGS).fit(X, y)
    [[first]] = model.acquire(X[:1], stop=Budget(1)).order
    at_budget, everything = model.predict_proba(X, stop=Budget(1)), model.predict_proba(X)
    assert np.allclose(at_budget, everything)
    assert len(np.unique(everything.round(6), axis=0)) == X[first].nunique()


def test_a_predictor_for_one_budget_is_at_least_about_as_good_there(table):
    X, y = table
    every, one = (RandomOrderClassifier(budget=b, **SETTINGS | {"epochs": 40}).fit(X, y) for b in (None, 2))
    scores = [(m.predict(X, stop=Budget(2)) == y).mean() for m in (every, one)]
    assert scores[1] >= scores[0] - 0.02


def test_all_features_is_the_ceiling(table):
    X, y = table
    model = AllFeaturesClassifier(**SETTINGS | {"epochs": 60}).fit(X, y)
    assert (model.predict(X) == y).mean() == 1


def test_a_declined_question_is_stepped_over(table):
    X, y = table
    model = RandomOrderClassifier(**SETTINGS).fit(X, y)
    session = model.session(stop=Budget(2))
    first = session.ask().name
    session.decline(first)
    assert session.ask().name == model.acquire(X[:1]).order[0][1]


def test_a_budget_must_be_a_number_above_0(table):
    X, y = table
    for bad in (0, -1, "ten", True):
        with pytest.raises(AskwiseError, match=r"budget must be a number above 0, was given"):
            RandomOrderClassifier(budget=bad, **SETTINGS).fit(X, y)


def test_its_table_of_costs_is_one_of_budgets(table):
    X, y = table
    model = RandomOrderRegressor(**SETTINGS).fit(X, y.astype(float))
    assert model.frontier_["budget"].tolist() == [0, 1, 2, 3]
    assert model.frontier_["mean_cost"].tolist() == [0, 1, 2, 3]


def test_a_sum_of_prices_that_just_fits_is_paid():
    assert affordable(0.3, (0.1 + 0.2, 0.31)).tolist() == [True, False]
    assert paid_in_turn(0.3, (0.1, 0.25, 0.2), [0, 1, 2]) == [0, 2]


def test_trained_for_one_budget_it_stops_there_where_no_rule_is_given(table):
    X, y = table
    model = RandomOrderClassifier(budget=2, **SETTINGS).fit(X, y)
    assert set(model.acquire(X).spent) == {2}
    assert set(model.acquire(X, stop=Budget(3)).spent) == {3}
    assert model.session().ask() is not None
