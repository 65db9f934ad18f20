"""Answers to learn from that are less noisy than those of the table."""

import numpy as np
import pandas as pd
import pytest
import torch

from askwise import DimeClassifier, DimeRegressor
from askwise.core.rows import Rows, repeat_rows
from askwise.core.tasks import Classification, Regression
from askwise.methods import teacher
from askwise.methods.screening import Columns


def table(n=500, seed=0):
    """Two numbers, a category of three texts and noise; the log odds of the answer, and answers drawn by them."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, 2))
    kind = rng.integers(0, 3, n)
    odds = x[:, 0] + np.array([-1.0, 0.0, 1.0])[kind]
    values = np.column_stack([x, kind])
    return Columns(values, np.array([False, False, True])), odds, (rng.random(n) < 1 / (1 + np.exp(-odds))).astype(int)


TWO = Classification((0, 1))


@pytest.mark.parametrize("n", [200, 800])
def test_soft_answers_are_nearer_to_the_truth_than_the_answers(n):
    columns, odds, y = table(n)
    soft = teacher.soft_answers(TWO, columns, columns.values, y, seed=0)
    truth = 1 / (1 + np.exp(-odds))
    assert soft.sum(1) == pytest.approx(1)
    assert ((soft[:, 1] - truth) ** 2).mean() < 0.4 * ((y - truth) ** 2).mean()


def test_where_nothing_is_left_unexplained_answers_stay_nearly_as_they_are():
    x = np.linspace(-3, 3, 600)
    y = (x > 0).astype(int)
    columns = Columns(x[:, None], np.array([False]))
    soft = teacher.soft_answers(TWO, columns, columns.values, y, seed=0)
    assert np.abs(soft[:, 1] - y).mean() < 0.02


def test_numbers_are_softened_too():
    rng = np.random.default_rng(0)
    x, noise = rng.standard_normal((500, 1)), rng.standard_normal(500)
    y = (x[:, 0] + noise).astype(np.float32)
    soft = teacher.soft_answers(Regression(0.0, 1.4), Columns(x, np.array([False])), x, y, seed=0)
    assert soft.shape == (500, 1)
    assert ((soft[:, 0] - x[:, 0]) ** 2).mean() < 0.5 * (noise**2).mean()


def test_many_categories_are_softened_by_their_means():
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 80, 3000)
    truth = rng.random(80)[kind]
    y = (rng.random(3000) < truth).astype(int)
    inputs = np.eye(80)[kind]
    soft = teacher.soft_answers(TWO, Columns(kind[:, None].astype(float), np.array([True])), inputs, y, seed=0)
    assert ((soft[:, 1] - truth) ** 2).mean() < 0.4 * ((y - truth) ** 2).mean()


def test_answers_stay_where_folds_can_not_be_made():
    columns, _, y = table(60)
    y = (np.arange(60) == 7).astype(int)
    assert teacher.soft_answers(TWO, columns, columns.values, y, seed=0) is None


def test_answers_stay_in_tables_that_are_too_large():
    assert not teacher.is_too_large(20_000, 100, 500)
    assert teacher.is_too_large(20_001, 5_000, 1)
    assert teacher.is_too_large(200_000, 10, 51)


def test_a_fold_without_any_value_is_left_to_the_linear_model():
    values = np.where(np.arange(800) % 267 == 0, 1.0, np.nan)[:, None]
    y = np.arange(800) % 2
    soft = teacher.soft_answers(TWO, Columns(values, np.array([False])), np.nan_to_num(values), y, seed=0)
    assert soft.sum(1) == pytest.approx(1)


def test_a_column_with_next_to_no_values_and_a_rare_label_are_no_trouble():
    columns, _, y = table(500)
    values = np.column_stack([columns.values, np.where(np.arange(500) == 3, 1.0, np.nan), np.full(500, np.nan)])
    y[:2] = 2
    given = Columns(values, np.r_[columns.is_category, False, False])
    soft = teacher.soft_answers(Classification((0, 1, 2)), given, columns.values, y, seed=0)
    assert soft.sum(1) == pytest.approx(1)


def test_the_same_seed_gives_the_same_soft_answers():
    columns, _, y = table()
    one, other = (teacher.soft_answers(TWO, columns, columns.values, y, seed=3) for _ in range(2))
    assert np.array_equal(one, other)


def test_a_loss_of_shares_is_the_mean_loss_of_their_labels():
    outputs = torch.tensor([[0.3, -1.0, 2.0]])
    for weights in (None, (1.0, 2.0, 0.5)):
        task = Classification(("a", "b", "c"), weights)
        share = torch.tensor([[0.2, 0.5, 0.3]])
        each = torch.stack([task.training_loss(outputs, torch.tensor([label]))[0] for label in range(3)])
        assert float(task.training_loss(outputs, share)) == pytest.approx(float((share[0] * each).sum()))


def test_rows_keep_their_answers_beside_what_is_learnt_from():
    rows = Rows(torch.zeros(2, 1), torch.ones(2, 1).bool(), torch.ones(2, 1).bool(), torch.tensor([0, 1]))
    assert rows.target is rows.y
    soft = Rows(rows.x, rows.present, rows.available, rows.y, torch.tensor([[0.9, 0.1], [0.2, 0.8]]))
    assert soft.take(torch.tensor([1])).target.tolist() == [pytest.approx([0.2, 0.8])]
    assert soft.take(torch.tensor([1])).y.tolist() == [1]
    assert repeat_rows(soft.target, 3).shape == (6, 2)


def test_noisy_tables_are_learnt_better_from_soft_answers():
    columns, _, y = table(300)
    X, (fresh, fresh_odds, _) = pd.DataFrame(columns.values), table(2000, seed=1)
    truth = 1 / (1 + np.exp(-fresh_odds))
    found = {}
    for soft in (False, True):
        model = DimeClassifier(soft_answers=soft, epochs=12, lookahead=0, random_state=0).fit(X, y)
        found[soft] = ((model.predict_proba(pd.DataFrame(fresh.values))[:, 1] - truth) ** 2).mean()
    assert found[True] < 0.9 * found[False]


def test_a_regressor_learns_from_soft_answers(diabetes):
    settings = {"hidden": 16, "epochs": 8, "lookahead": 0, "random_state": 0}
    scores = [DimeRegressor(soft_answers=soft, **settings).fit(*diabetes).score(*diabetes) for soft in (False, True)]
    assert min(scores) > 0.2
    assert scores[0] != scores[1]
