"""DIME with values that look further ahead than one question, and with base rates by construction."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from askwise import DimeClassifier, DimeRegressor, Session
from askwise.core.errors import AskwiseError
from askwise.core.prices import Prices
from askwise.core.rows import Rows
from askwise.core.walk import walk
from askwise.methods.base import Method
from askwise.methods.dime.lookahead import half_by_information
from askwise.methods.neural import UPDATES_PER_WALK
from askwise.training.episode import Episode


@pytest.fixture(scope="module")
def products():
    """A sign says which of two products decides: alone, none of the five columns tells anything."""
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], (3000, 6))
    product = np.where(X[:, 0] > 0, X[:, 1] * X[:, 2], X[:, 3] * X[:, 4])
    return X, (product > 0).astype(int)


SETTINGS = {"hidden": 48, "max_steps": 3, "random_state": 0, "learning_rate": 5e-3}


def test_looking_ahead_finds_the_columns_that_tell_only_together(products):
    X, y = products
    model = DimeClassifier(lookahead="auto", **SETTINGS).fit(X, y)
    assert model.settled_["lookahead"] > 0
    asked = model.acquire(X[:500]).order
    needed = [{"x0", "x1", "x2"} if x > 0 else {"x0", "x3", "x4"} for x in X[:500, 0]]
    assert np.mean([set(order[:3]) == names for order, names in zip(asked, needed, strict=True)]) > 0.9


def test_where_one_question_is_enough_auto_does_not_look_ahead(iris, tmp_path):
    model = DimeClassifier(lookahead="auto", hidden=16, epochs=5, random_state=0).fit(*iris)
    assert model.settled_["lookahead"] == 0
    assert model.model_.policy.networks.score_head.out_features == 4
    model.save(tmp_path / "m.askwise")
    assert DimeClassifier(lookahead=0.0).get_params()["lookahead"] == 0


@pytest.mark.parametrize("lookahead", [1, -0.1, "often", None, True])
def test_a_lookahead_that_can_not_be_is_told(lookahead, iris):
    with pytest.raises(AskwiseError, match=r"lookahead must be 'auto' or a number in \[0, 1\)"):
        DimeClassifier(lookahead=lookahead).fit(*iris)


def test_what_follows_each_step_is_the_discounted_sum_of_later_gains():
    known = torch.zeros(4, 1, 3, dtype=torch.bool)
    taken = torch.tensor([[True], [True], [False]])
    episode = Episode(known, torch.zeros(3, 1, dtype=torch.int64), taken, torch.zeros(4, 1), (4,), (3,))
    gains = torch.tensor([[1.0], [2.0], [9.0]])
    half = torch.full((3, 1), 0.5)
    ahead = episode.returns_ahead(gains, torch.ones(3, 1), half, torch.tensor([[8.0]]))
    # The last step was not taken: nothing was paid, and its state is worth what the end is.
    assert ahead.flatten().tolist() == [2.0 + 0.5 * 8.0, 8.0, 8.0]


def stop_in(stage):
    def stop(progress):
        if (progress.stage, progress.epoch) == stage:
            raise KeyboardInterrupt

    return stop


def test_a_run_broken_off_keeps_what_was_settled(products, tmp_path):
    X, y = products[0][:600], products[1][:600]
    settings = {"lookahead": "auto", "encoding": 4, "base_rates": True, "hidden": 8, "epochs": 3, "random_state": 0}
    whole = DimeClassifier(**settings).fit(X, y)
    broken = DimeClassifier(checkpoint_dir=tmp_path, **settings)
    with pytest.raises(KeyboardInterrupt):
        broken.fit(X, y, progress=stop_in(("joint", 1)))
    broken.fit(X, y)
    assert_same_weights(whole, broken)


def assert_same_weights(one: Method, other: Method):
    ours, theirs = (model.model_.policy.state_dict() for model in (one, other))
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)


def test_with_nothing_known_the_prediction_is_the_frequency_of_each_label(iris):
    X, y = iris
    model = DimeClassifier(base_rates=True, hidden=8, epochs=2, random_state=0).fit(X[:120], y[:120], eval_set=iris)
    expected = np.bincount(y[:120]) / 120
    assert list(Session(model).prediction.proba.values()) == pytest.approx(expected.tolist(), abs=1e-6)
    nothing = X[:1] * np.nan
    assert model.predict_proba(nothing)[0] == pytest.approx(expected, abs=1e-6)


def test_with_nothing_known_the_prediction_is_the_mean(diabetes):
    X, y = diabetes
    model = DimeRegressor(base_rates=True, hidden=8, epochs=2, random_state=0).fit(X, y, eval_set=(X, y))
    assert Session(model).prediction.value == pytest.approx(float(np.mean(y)), rel=1e-5)


def test_in_the_trial_every_update_has_rows_of_both_orders(table_policy):
    policy, present = table_policy([1, 1], [1.0, 0.0]), torch.ones(16, 2, dtype=torch.bool)
    rows = Rows(torch.zeros(16, 2), present, present)
    step = next(walk(policy, rows, Prices.tensor((1.0, 1.0)), n_steps=1))
    ahead = replace(step, choice=torch.ones(16, dtype=torch.int64))
    choice = half_by_information(ahead).choice
    for n_parts in UPDATES_PER_WALK.values():
        assert all(choice[start::n_parts].unique().tolist() == [0, 1] for start in range(n_parts))


def test_nothing_is_tried_if_there_is_but_one_question(iris):
    model = DimeClassifier(max_steps=1, hidden=8, epochs=2, random_state=0)
    stages = set()
    model.fit(*iris, progress=lambda progress: stages.add(progress.stage))
    assert stages == {"predictor", "value", "joint"}
