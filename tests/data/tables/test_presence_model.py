"""How likely a row has some groups and lacks others: what is fitted to rows, with weights and free columns."""

from __future__ import annotations

import time

import numpy as np
import pytest
from scipy.special import expit

from askwise.data.tables.presence_kinds import MOST_KINDS, Presence, best_kinds, candidates
from askwise.data.tables.presence_model import PresenceModel, recentred


def in_two_kinds(rng, y, n_groups, often=(0.8, 0.3)):
    """Rows that have most groups or few, more often most with answer 0."""
    has_most = rng.random(len(y)) < np.array(often)[y]
    return rng.random((len(y), n_groups)) < np.where(has_most[:, None], 0.85, 0.2)


def share_of_model(model, free, answer):
    """How often rows with these free columns have each group, by the model."""
    p = expit(model.logits[answer][:, None] + free @ model.of_free)
    return np.einsum("k,krg->rg", np.exp(model.log_kind[answer]), p)


@pytest.mark.parametrize("slope", [3.4, 4.8, 20.0])
def test_a_steep_free_column_leaves_the_presence_of_each_answer_as_it_was(slope):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 2000)
    free = rng.normal(size=(2000, 1)) + 4 * y[:, None]
    free = (free - free.mean()) / free.std()
    present = rng.random((2000, 2)) < expit(slope * (free - 0.5) * [1, -1])
    model = PresenceModel.fit(present, y, 2, free=free)
    assert np.abs(model.logits).max() < 10 * slope
    for answer in (0, 1):
        own = y == answer
        assert share_of_model(model, free[own], answer).mean(0) == pytest.approx(present[own].mean(0), abs=0.01)


def test_with_row_weights_it_is_the_weighted_presence_that_stays():
    rng = np.random.default_rng(0)
    y, free = rng.integers(0, 2, 3000), rng.normal(size=(3000, 1))
    present = rng.random((3000, 1)) < expit(2 * free)
    weight = np.where(free[:, 0] > 0, 2.0, 0.5)
    model = PresenceModel.fit(present, y, 2, weight, free)
    found = np.average(share_of_model(model, free[y == 0], 0)[:, 0], weights=weight[y == 0])
    assert found == pytest.approx(np.average(present[:, 0], weights=weight), abs=0.02)


def test_constants_are_found_however_rare_a_group_and_whatever_the_offsets():
    rng = np.random.default_rng(0)
    offset = np.concatenate([rng.normal(3, 1, 500), rng.normal(0, 200, 20)])[:, None] * np.ones(3)
    weight, logits = rng.random(520), np.array([[-13.0, 0.0, 13.0], [-1.0, 2.0, 5.0]])
    p = expit(recentred(logits, offset, weight)[:, None] + offset)
    assert np.average(p, axis=1, weights=weight) == pytest.approx(expit(logits), abs=1e-8)


def test_weights_that_are_all_equal_choose_as_many_kinds_whatever_they_are():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 1000)
    present = rng.random((1000, 3)) < 0.6
    kinds = [PresenceModel.fit(present, y, 2, np.full(1000, w)).n_kinds for w in (1.0, 20.0)]
    assert kinds == [1, 1]


def test_rows_of_few_large_weights_tell_of_fewer_kinds_than_as_many_equal_rows():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 2000)
    present = in_two_kinds(rng, y, 2)
    weight = np.where(rng.random(2000) < 0.005, 190.0, 0.05)
    rows = Presence(present.astype(float), y, 2, weight)
    assert best_kinds(rows).log_kind.shape[1] == 1
    assert PresenceModel.fit(present, y, 2).n_kinds == 2


def test_parameters_are_counted_also_where_kinds_of_two_answers_happen_to_be_equal():
    rng = np.random.default_rng(0)
    half = in_two_kinds(rng, np.zeros(300, np.int64), 3)
    rows = Presence(np.concatenate([half, half]).astype(float), np.repeat([0, 1], 300), 2, np.ones(600))
    found = {kinds.n_parameters for kinds in candidates(rows)}
    shared = {2 * (n - 1) + 3 * n for n in range(2, MOST_KINDS + 1)}
    own = {2 * (n - 1) + 2 * 3 * n for n in range(2, MOST_KINDS + 1)}
    assert found == {2 * 3} | shared | own


def test_many_rows_groups_and_answers_take_little_time():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 5, 5000)
    present = in_two_kinds(rng, y, 60, often=(0.8, 0.3, 0.5, 0.6, 0.2))
    start = time.process_time()
    assert PresenceModel.fit(present, y, 5).n_kinds == 2
    assert time.process_time() - start < 0.7
