"""Weights against selective gaps: under them, what was recorded says nothing about the answer."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.special import expit

from askwise.core.features import FeatureSpace
from askwise.core.rows import Rows
from askwise.core.tasks import Classification, Regression
from askwise.data.tables.presence_model import PresenceModel
from askwise.training.episode import Episode
from askwise.training.gap_weights import GapWeights

SPACE = FeatureSpace(("a", "b", "c"), (1.0, 1.0, 1.0), (0, 1, 2), (0, 1, 2))
WITH_FREE = FeatureSpace(("a", "b", "c"), (1.0, 1.0, 1.0), (0, 1, 2, -1), (0, 1, 2, 3))
TASK = Classification(("sick", "well"))
N = 8000


def rows_of(present, y, free=None):
    present = np.column_stack([present, np.ones(len(y), bool)]) if free is not None else present
    x = torch.zeros(len(y), present.shape[1])
    if free is not None:
        x[:, -1] = torch.from_numpy(free).float()
    there = torch.from_numpy(present)
    return Rows(x, there, there[:, :3], torch.from_numpy(y))


def by_answer(rng, y, shares):
    """Groups recorded independently, with these shares of each answer."""
    return rng.random((len(y), 3)) < np.array(shares)[y]


def together(rng, y):
    """Groups recorded together or not at all, more often with answer 0; the third by chance."""
    both = rng.random(len(y)) < np.where(y == 0, 0.8, 0.3)
    return np.column_stack([both, both ^ (rng.random(len(y)) < 0.05), rng.random(len(y)) < 0.5])


def states(known, n):
    return torch.tensor([name in known for name in SPACE.names]).expand(n, 3)


def share_of_sick(rows, weights, known, where):
    weight = weights(rows, states(known, len(rows)), rows.row_weight).numpy()
    sick = rows.y.numpy() == 0
    return (weight * sick)[where].sum() / weight[where].sum()


@pytest.mark.parametrize("kind", ["independent", "together"])
@pytest.mark.parametrize("known", ["a", "b", "ab", "abc"])
def test_with_any_set_tried_answers_are_as_frequent_as_before_whatever_was_recorded(kind, known):
    rng = np.random.default_rng(0)
    y = (rng.random(N) < 0.6).astype(np.int64)
    shares = [[0.8, 0.3, 0.5], [0.2, 0.7, 0.5]]
    rows = rows_of(by_answer(rng, y, shares) if kind == "independent" else together(rng, y), y)
    weights = GapWeights.fit(SPACE, TASK, SPACE.names, rows)
    present = rows.present.numpy()
    tried = [SPACE.position[name] for name in known]
    for pattern in np.unique(present[:, tried], axis=0):
        where = (present[:, tried] == pattern).all(1)
        if where.sum() > 300:
            assert share_of_sick(rows, weights, known, where) == pytest.approx(0.4, abs=0.05)


def test_a_product_of_groups_would_be_wrong_if_they_are_recorded_together():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, N)
    rows = rows_of(together(rng, y), y)
    each = [GapWeights.fit(SPACE, TASK, [name], rows) for name in "ab"]
    product = [w(rows, states(name, N), rows.row_weight) for w, name in zip(each, "ab", strict=True)]
    has = rows.present[:, :2].all(1)
    weight = (product[0] * product[1])[has]
    assert float((weight * (rows.y[has] == 0)).sum() / weight.sum()) < 0.4


def test_only_what_is_beyond_free_columns_is_weighed():
    rng = np.random.default_rng(0)
    free = rng.normal(size=N)
    y = (rng.random(N) < expit(2 * free)).astype(np.int64)
    by_free = rng.random((N, 3)) < expit(free)[:, None]
    rows = rows_of(by_free, y, free)
    weights = GapWeights.fit(WITH_FREE, TASK, ["a"], rows)
    weight = weights(rows, states("a", N), rows.row_weight)
    assert float((weight - 1).abs().mean()) < 0.05
    without = GapWeights.fit(SPACE, TASK, ["a"], rows_of(by_free, y))
    assert float((without(rows_of(by_free, y), states("a", N), rows.row_weight) - 1).abs().mean()) > 0.2


def test_gaps_by_chance_hardly_change_a_weight():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 2000)
    rows = rows_of(rng.random((2000, 3)) < 0.6, y)
    weights = GapWeights.fit(SPACE, TASK, SPACE.names, rows)
    assert float((weights(rows, states("abc", 2000), rows.row_weight) - 1).abs().mean()) < 0.03


def test_soft_answers_are_weighed_label_by_label():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, N)
    rows = rows_of(by_answer(rng, y, [[0.8, 0.5, 0.5], [0.2, 0.5, 0.5]]), y)
    weights = GapWeights.fit(SPACE, TASK, ["a"], rows)
    soft = replace(rows, soft_y=torch.nn.functional.one_hot(rows.y).float())
    known = torch.stack([states("", N), states("a", N)])
    assert torch.allclose(weights(soft, known, rows.row_weight), weights(rows, known, rows.row_weight))
    halves = replace(rows, soft_y=torch.full((N, 2), 0.5))
    targets = weights.targets(halves, known).view(2, N, 2)
    assert torch.allclose(targets[0], torch.tensor(0.5))
    # Of a row that has the group, an answer with which it was recorded seldom counts more.
    has = rows.present[:, 0]
    assert targets[1][has][:, 1].min() > 0.7
    assert targets[1][~has][:, 1].max() < 0.3


def test_numbers_are_weighed_by_their_range():
    rng = np.random.default_rng(0)
    y = rng.normal(size=N).astype(np.float32)
    rows = rows_of(rng.random((N, 3)) < np.where(y > 0.5, 0.9, 0.3)[:, None], y)
    weights = GapWeights.fit(SPACE, Regression(0.0, 1.0), ["a"], rows)
    weight, has = weights(rows, states("a", N), rows.row_weight), rows.present[:, 0]
    assert abs(float((weight * rows.y)[has].sum() / weight[has].sum())) < 0.05
    assert float(rows.y[has].mean()) > 0.2


def test_what_is_asked_in_vain_is_tried_and_is_no_step():
    known = torch.tensor([[[0, 0, 0]], [[1, 0, 0]], [[1, 1, 0]]], dtype=torch.bool)
    choice, taken = torch.tensor([[0], [1]]), torch.ones(2, 1, dtype=torch.bool)
    episode = Episode(known, choice, taken, torch.zeros(3, 1, dtype=torch.bool), (3,), (2,))
    found = episode.only_recorded(torch.tensor([[False, True, True]]))
    assert found.taken[:, 0].tolist() == [False, True]
    assert found.repeated[:, 0].tolist() == [False, True, False]
    assert episode.only_recorded(None) is episode


def test_groups_of_all_rows_and_answers_without_rows_give_finite_weights():
    present = np.column_stack([np.ones(50, bool), np.arange(50) < 25, np.zeros(50, bool)])
    y = (np.arange(50) < 25).astype(np.int64)
    model = PresenceModel.fit(present, y, 3)
    assert np.isfinite(model.logits).all()
    assert np.isfinite(model.log_answer).all()


def test_what_a_column_that_all_rows_have_explains_is_not_the_answers():
    rng = np.random.default_rng(0)
    coma = rng.normal(size=N)
    y = (rng.random(N) < expit(2 * coma)).astype(np.int64)
    present = np.column_stack([rng.random(N) < expit(-coma), rng.random(N) < 0.5, np.ones(N, bool)])
    rows = rows_of(present, y)
    rows.x[:, 2] = torch.from_numpy(coma).float()
    weights = GapWeights.fit(SPACE, TASK, ["a"], rows)
    judged = weights.of_predictions(rows, states("a", N), rows.row_weight)
    assert float(judged.offset.abs().mean()) < 0.05
    # Rows that have the group are weighed until they are like all rows.
    has = rows.present[:, 0]
    assert float(rows.x[has, 2].mean()) < -0.2
    assert abs(float((judged.weight * rows.x[:, 2])[has].sum() / judged.weight[has].sum())) < 0.1
