"""Into how many parts a number is cut: more where these explain more of the answer."""

import numpy as np
import pytest
import torch

from askwise import DimeClassifier
from askwise.core.features import FeatureSpace
from askwise.core.rows import Rows
from askwise.core.tasks import Classification
from askwise.methods.parts import FEWEST_PARTS, ROWS_FOR_PARTS, PiecewiseLinearFit, parts_that_explain
from askwise.methods.training_table import TrainingTable


def values_and_noise(n_rows=4000, seed=0):
    rng = np.random.default_rng(seed)
    return rng.uniform(0, 1, n_rows), rng.standard_normal((n_rows, 1))


def test_what_tells_nothing_or_the_same_everywhere_is_not_cut():
    values, noise = values_and_noise()
    assert parts_that_explain(values, noise) == 1
    assert parts_that_explain(values, 3 * values[:, None] + noise) == 1


@pytest.mark.parametrize(("waves", "fewest", "most"), [(1, 4, 8), (8, 16, 64)])
def test_the_finer_the_shape_the_more_parts(waves, fewest, most):
    values, noise = values_and_noise()
    answers = np.sin(2 * np.pi * waves * values)[:, None] + 0.5 * noise
    assert fewest <= parts_that_explain(values, answers) <= most


def test_a_column_whose_rows_have_one_answer_only_is_not_cut():
    values, _ = values_and_noise()
    assert parts_that_explain(values, np.tile([0.0, 1.0], (4000, 1))) == 1


def test_few_rows_are_not_cut_finely():
    values, noise = values_and_noise(200)
    assert parts_that_explain(values, np.sin(100 * values)[:, None] + noise) <= 8


@pytest.mark.parametrize("values", [np.zeros(0), np.zeros(50), np.arange(50) % 2.0])
def test_columns_without_values_or_with_one_or_two_stay_whole(values):
    assert parts_that_explain(values, np.random.default_rng(0).standard_normal((len(values), 2))) == 1


def test_the_fit_is_that_of_least_squares():
    values, noise = values_and_noise(300)
    values.sort()
    answers = values[:, None] ** 2 + 0.1 * noise
    edges = np.quantile(values, [0, 0.25, 0.5, 0.75, 1], method="inverted_cdf")
    basis = np.stack([np.interp(values, edges, row) for row in np.eye(5)], 1)
    left = answers - basis @ np.linalg.lstsq(basis, answers, rcond=None)[0]
    assert PiecewiseLinearFit.of(values, answers, 4).residual_ss == pytest.approx((left**2).sum(), rel=0.01)


def test_each_column_of_a_model_gets_the_parts_that_suit_it():
    values, noise = values_and_noise(2000)
    frame = np.column_stack([values, noise[:, 0]])
    model = DimeClassifier(epochs=1, hidden=8, random_state=0).fit(frame, np.sin(12 * values) > 0)
    wave, line = (len(column.edges) for column in model.model_.schema.columns)
    assert wave >= 5
    assert line == 0


@pytest.mark.parametrize(("n_rows", "n_parts"), [(ROWS_FOR_PARTS, FEWEST_PARTS), (ROWS_FOR_PARTS - 1, 0)])
def test_with_many_rows_a_column_that_tells_nothing_by_itself_is_cut(n_rows, n_parts):
    # Whether two numbers have the same sign: each of them tells nothing.
    x = np.random.default_rng(0).standard_normal((n_rows, 2))
    y = torch.from_numpy((x.prod(1) > 0).astype(int))
    present = torch.ones(n_rows, 2, dtype=torch.bool)
    space = FeatureSpace(("a", "b"), (1.0, 1.0), (0, 1), (0, 1))
    table = TrainingTable(space, Classification((0, 1)), Rows(torch.from_numpy(x), present, present, y))
    edges = table.edges(np.array([True, True]), None)
    assert [max(len(part) - 1, 0) for part in edges] == [n_parts, n_parts]
