"""What columns tell by themselves, and how fast networks may learn from them."""

import numpy as np
import pytest
import torch

from askwise import METHODS, DimeClassifier
from askwise.core.features import FeatureSpace
from askwise.methods.screening import Columns, Screening, columns_of, gain_of_inputs


def one_hot(y):
    return np.eye(y.max() + 1)[y]


@pytest.fixture
def noise():
    """The first of 300 columns tells, the others are noise."""
    rng = np.random.default_rng(0)
    values = rng.standard_normal((400, 300))
    return Columns(values, np.zeros(300, dtype=bool)), one_hot((values[:, 0] > 0).astype(int))


def test_chance_lets_about_one_column_of_many_pass(noise):
    found = Screening.of(*noise)
    assert found.share[0] > 0.5
    assert np.count_nonzero(found.share[1:]) <= 4


def test_what_tells_nothing_is_learnt_from_slowly_if_rows_are_few(noise):
    gain = Screening.of(*noise).gain_of_columns()
    assert gain[0] == 1
    assert 0 < np.median(gain) < 1e-3


def test_with_many_rows_a_column_all_are_learnt_from_at_full_speed():
    assert (Screening(np.array([0.5, 0.0, 0.1]), n_rows=600).gain_of_columns() == 1).all()


def test_a_column_that_bends_tells_as_well_as_a_straight_one():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((500, 2))
    found = Screening.of(Columns(x, np.zeros(2, dtype=bool)), one_hot((np.abs(x[:, 0]) > 0.7).astype(int)))
    assert found.share[0] > 0.5
    assert found.share[1] == 0


def test_missing_values_and_constant_columns_are_no_trouble():
    values = np.column_stack([np.full(60, np.nan), np.ones(60), np.where(np.arange(60) % 3, np.nan, 1.0)])
    found = Screening.of(Columns(values, np.zeros(3, dtype=bool)), one_hot(np.arange(60) % 2))
    assert np.isfinite(found.share).all()
    assert (found.share == 0).all()


def test_a_category_is_one_column_and_its_rare_texts_are_learnt_from_slowly():
    space = FeatureSpace(("kind", "age"), (1.0, 1.0), (0, 1), (0, 0, 0, 1))
    x = np.array([[1, 0, 0, 0.5], [0, 1, 0, 0.1], [0, 0, 0, 0.2]])
    present = np.array([[True, True], [True, True], [False, True]])
    columns = columns_of(space, x, present)
    assert columns.is_category.tolist() == [True, False]
    assert columns.values[:2].tolist() == [[0, 0.5], [1, 0.1]]
    assert np.isnan(columns.values[2, 0])
    gain = gain_of_inputs(space, Screening(np.array([0.2, 0.2]), 5000), np.array([50, 2, 800, 900]))
    assert gain.tolist() == [1, 0.2, 1, 1, 1, 1]


def test_a_trained_model_holds_no_factors(iris):
    model = DimeClassifier(hidden=8, epochs=2, random_state=0).fit(*iris)
    encodings = [part for part in model.model_.policy.modules() if hasattr(part, "gain")]
    assert encodings
    assert all(part.gain is None for part in encodings)


@pytest.mark.parametrize("name", [name for name in METHODS if name.endswith("-classifier")])
def test_ending_the_training_changes_no_prediction(name, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 8))
    y = (X[:, 0] > 0).astype(int)
    method = METHODS[name]
    kept, after = {}, method.after_training

    def watched(self, policy):
        policy.eval()
        x, mask = (torch.from_numpy(part) for part in (X.astype(np.float32), rng.random(X.shape) < 0.5))
        with torch.no_grad():
            kept["before"] = policy(x, mask, scores=False).outputs
            after(self, policy)
            kept["after"] = policy(x, mask, scores=False).outputs

    monkeypatch.setattr(method, "after_training", watched)
    method(hidden=8, epochs=1, random_state=0).fit(X, y)
    assert torch.allclose(kept["before"], kept["after"], atol=1e-5)


def test_more_answers_do_not_hurt_in_a_wide_table():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1000, 300))
    y = (X[:, 0] + 0.7 * X[:, 1] + 0.5 * rng.standard_normal(1000) > 0).astype(int)
    settings = {
        "epochs": 3,
        "pretrain_epochs": 15,
        "max_steps": 3,
        "soft_answers": False,
        "lookahead": 0,
        "random_state": 0,
    }
    scores = [DimeClassifier(screening=on, **settings).fit(X[:400], y[:400]).score(X[400:], y[400:]) for on in (0, 1)]
    assert scores[1] > scores[0] + 0.05
    assert scores[1] > 0.78
