"""The Concrete autoencoder: what it selects, for all budgets and for one, and that the selectors leave no trace."""

import numpy as np
import pandas as pd
import pytest
import torch

from askwise import AskwiseError, Budget, ConcreteAutoencoderClassifier, ConcreteAutoencoderRegressor, load

SETTINGS = {"encoding": "raw", "hidden": 16, "epochs": 12, "learning_rate": 0.01, "random_state": 0}
QUICK = {**SETTINGS, "epochs": 2, "temperatures": (10, 0.3, 0.01)}


@pytest.fixture(scope="module")
def table():
    """Bits of the label: all of one in "best", of another in "second" and its copy; the rest is noise."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 8, 600)
    second = y // 2 % 2 + rng.normal(0, 0.3, 600)
    noise = {f"noise {i}": rng.normal(size=600) for i in range(4)}
    x = {**noise, "copy": second, "best": y // 4 * 2 + y % 2, "second": second}
    return pd.DataFrame(x).astype(float), y


def first(model, X, count):
    return model.acquire(X[:1], stop=Budget(1000)).order[0][:count]


@pytest.fixture(scope="module")
def model(table):
    return ConcreteAutoencoderClassifier(**SETTINGS).fit(*table)


def test_the_best_comes_first_then_what_completes_it_then_all_the_rest(model, table):
    names = model.acquire(table[0][:1]).order[0]
    assert names[0] == "best"
    assert names[1] in ("second", "copy")
    assert sorted(names) == sorted(table[0].columns)


def test_for_one_budget_it_selects_that_many_and_no_copy(table):
    model = ConcreteAutoencoderClassifier(budget=2, **SETTINGS).fit(*table)
    chosen = set(first(model, table[0], 2))
    assert chosen in ({"best", "second"}, {"best", "copy"})
    assert np.allclose(model.predict_proba(table[0]), model.predict_proba(table[0], stop=Budget(2)))


def test_of_a_number_it_selects_what_tells_most():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(400, 6)), columns=list("abcdef"))
    model = ConcreteAutoencoderRegressor(**SETTINGS).fit(X, 500 + 100 * X["e"] + 50 * X["b"])
    assert first(model, X, 2) == ["e", "b"]


def test_a_panel_is_selected_as_one():
    """Neither of its columns tells anything alone."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(0, 2, (600, 6)), columns=list("abcdef")).astype(float)
    y = np.where(rng.random(600) < 0.9, (X["b"] + X["e"]) % 2, X["c"])
    model = ConcreteAutoencoderClassifier(groups={"panel": ["b", "e"]}, **SETTINGS).fit(X, y)
    assert first(model, X, 1) == ["panel"]


def test_unequal_prices_a_budget_takes_nothing_dearer_than_itself_and_is_not_exceeded(table):
    X, y = table
    prices = {"best": 50, "second": 2, "noise 0": 3}
    model = ConcreteAutoencoderClassifier(budget=4, costs=prices, **QUICK).fit(X, y)
    assert first(model, X, 7)[-1] == "best"
    assert float(model.acquire(X[:5], stop=Budget(4)).spent.max()) <= 4
    assert np.allclose(model.predict_proba(X), model.predict_proba(X.assign(best=0.0)))


@pytest.mark.parametrize(("budget", "taken"), [(0.5, 0), (7, 7), (100, 7)])
def test_a_budget_that_pays_for_nothing_or_for_all_leaves_nothing_to_select(table, budget, taken):
    model = ConcreteAutoencoderClassifier(budget=budget, **QUICK).fit(*table)
    assert set(model.model_.card["epochs"]) == {"predictor"}
    assert model.model_.policy.taken.sum() == taken


def test_each_temperature_is_a_stage_from_hot_to_cold_and_then_comes_the_predictor(model):
    stages = [*(f"selection at {t}" for t in (10, 1.8, 0.32, 0.056, 0.01)), "predictor"]
    assert list(model.model_.card["epochs"]) == stages


def test_the_predictor_does_not_learn_while_groups_are_selected(table):
    seen = []

    class Watched(ConcreteAutoencoderClassifier):
        def order(self, policy, training, task):
            before = {k: v.clone() for k, v in policy.state_dict().items()}
            order = super().order(policy, training, task)
            seen.append(all(torch.equal(v, before[k]) for k, v in policy.state_dict().items()))
            seen.append(before.keys() == policy.state_dict().keys())
            return order

    Watched(**QUICK).fit(*table)
    assert seen == [True, True]


def test_what_is_missing_adds_nothing_while_groups_are_selected(table):
    """A column that would tell all is missing in most rows: it is not the first to ask."""
    X, y = table
    rare = np.where(np.arange(len(y)) % 10 == 0, y.astype(float), np.nan)
    model = ConcreteAutoencoderClassifier(**SETTINGS).fit(X.assign(rare=rare), y)
    assert model.acquire(X.assign(rare=np.nan)[:1]).order[0][0] == "best"
    assert model.acquire(X.assign(rare=1.0)[:1]).order[0][0] == "best"


@pytest.mark.parametrize("stage", ["selection at 0.3", "predictor"])
def test_a_killed_run_goes_on_with_the_same_selection(stage, table, tmp_path):
    X, y = table
    settings = {**QUICK, "budget": 2, "epochs": 3}

    def kill(progress):
        if progress.stage == stage and progress.epoch == 1:
            raise KeyboardInterrupt

    unbroken = ConcreteAutoencoderClassifier(**settings).fit(X, y)
    model = ConcreteAutoencoderClassifier(**settings, checkpoint_dir=tmp_path)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y, progress=kill)
    model.fit(X, y)
    assert model.model_.policy.taken.tolist() == unbroken.model_.policy.taken.tolist()
    assert np.array_equal(model.predict_proba(X), unbroken.predict_proba(X))


def test_a_bundle_holds_the_order_and_no_selectors(table, tmp_path):
    X, y = table
    model = ConcreteAutoencoderClassifier(budget=3, **QUICK).fit(X, y)
    assert not any("selection" in key for key in model.model_.policy.state_dict())
    model.save(tmp_path / "m.askwise")
    again = load(tmp_path / "m.askwise")
    assert again.acquire(X[:1]).order == model.acquire(X[:1]).order
    assert again.get_params()["budget"] == 3


@pytest.mark.parametrize("bad", [(), 1.0, "hot"])
def test_temperatures_must_be_several_numbers(table, bad):
    with pytest.raises(AskwiseError, match=r"temperatures must be one or more numbers above 0, was given"):
        ConcreteAutoencoderClassifier(**QUICK | {"temperatures": bad}).fit(*table)


@pytest.mark.parametrize("bad", [(1.0, 0), (-1,), ("hot",)])
def test_each_temperature_must_be_above_0(table, bad):
    with pytest.raises(AskwiseError, match=r"each of temperatures must be a number above 0, was given"):
        ConcreteAutoencoderClassifier(**QUICK | {"temperatures": bad}).fit(*table)
