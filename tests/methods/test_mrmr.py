"""mRMR: levels, information without bias, and the order it asks in."""

import numpy as np
import pandas as pd
import pytest
import torch

from askwise import AskwiseError, Budget, MrmrClassifier, MrmrRegressor
from askwise.data.synthetic import DISTRIBUTIONS
from askwise.methods.binning import MISSING, cut, information, information_with
from askwise.methods.forward import per_cost
from askwise.methods.mrmr import least_redundant
from joint_tables import UNKNOWN, table_of
from joint_tables import information as exact_information
from known_sets import best_set, in_proportion, levels_and_space, strengths_and_copies

FAST = {"hidden": 16, "epochs": 3, "random_state": 0}


def first(frame, y, n=None, scheme="difference", **settings):
    levels, space = levels_and_space(frame, y, **settings)
    order = least_redundant(levels, space, min(space.n_groups, 32), scheme)
    return [space.names[g] for g in order[:n]]


def noisy(rng, y, right):
    """A copy of a label of two that is right this often."""
    return np.where(rng.random(len(y)) < right, y, 1 - y)


@pytest.fixture(scope="module")
def table():
    """A label, two columns that tell it, a copy of the better one, and noise."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 3000)
    strong = noisy(rng, y, 0.9)
    frame = {"noise": rng.integers(0, 2, 3000), "copy": strong, "strong": strong, "weak": noisy(rng, y, 0.7)}
    return pd.DataFrame(frame).astype(float), y


def test_levels_hold_about_as_many_rows_each_and_equal_numbers_share_one():
    values = np.random.default_rng(0).exponential(size=900)
    assert np.bincount(cut(values, 3)).tolist() == [300, 300, 300]
    assert cut(np.array([5.0, 1.0, 5.0, 2.0]), 3).tolist() == [2, 0, 2, 1]
    mostly_zero = np.r_[np.zeros(80), np.arange(1, 21)]
    assert set(cut(mostly_zero, 3)[:80]) == {0}
    mostly_large = np.r_[np.arange(20), np.full(80, 30)]
    assert len(set(cut(mostly_large, 3))) == 1 + (cut(mostly_large, 3)[0] != cut(mostly_large, 3)[-1])


def test_information_of_large_counts_is_that_of_the_joint_table():
    distribution = DISTRIBUTIONS["network"]()
    joint = table_of(distribution)
    nothing = (UNKNOWN,) * 7
    for column in range(7):
        counts = 1e9 * torch.tensor(np.moveaxis(joint, column + 1, 1).reshape(3, joint.shape[column + 1], -1).sum(2))
        assert float(information(counts.T[None])) == pytest.approx(exact_information(joint, nothing, column), abs=1e-8)


def test_noise_has_no_information_on_average():
    rng = np.random.default_rng(0)
    columns, y = rng.integers(0, 5, (200, 500)), rng.integers(0, 4, 200)
    found = information_with(columns, y)
    assert abs(float(found.mean())) < 0.002
    # Without the correction it would be (5 - 1) (4 - 1) / 400.
    assert float(found.std()) < 0.02


def test_rows_where_a_column_is_missing_tell_nothing():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 10_000)
    column = noisy(rng, y, 0.9)
    some = np.where(rng.random(10_000) < 0.5, column, MISSING)
    whole, half = information_with(np.stack([column, some], 1), y)
    assert float(half / whole) == pytest.approx(0.5, abs=0.03)
    # Whether a value is missing is no answer to a question.
    told_by_holes = np.where(y == 1, 0, MISSING)
    assert float(information_with(told_by_holes[:, None], y)[0]) == 0


@pytest.mark.parametrize("scheme", ["difference", "quotient"])
def test_a_copy_comes_after_a_weaker_column_that_tells_something_new(table, scheme):
    order = first(*table, scheme=scheme)
    assert set(order[:2]) in ({"strong", "weak"}, {"copy", "weak"})
    assert sorted(order) == sorted(table[0].columns)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_it_picks_the_best_set_that_enumeration_finds(size):
    for distribution in (strengths_and_copies(), DISTRIBUTIONS["tests"]()):
        frame, y = in_proportion(distribution)
        assert set(first(frame, y, size)) == {frame.columns[c] for c in best_set(distribution, size)}


def test_it_picks_the_best_three_on_samples_too():
    for distribution in (strengths_and_copies(), DISTRIBUTIONS["tests"]()):
        names = {distribution.columns[c] for c in best_set(distribution, 3)}
        assert all(set(first(*distribution.sample(5000, seed), 3)) == names for seed in range(5))


def test_a_free_column_counts_as_chosen(table):
    frame, y = table
    assert first(frame, y, 1, free=["copy"]) == ["weak"]


def test_a_group_is_judged_by_its_best_column(table):
    frame, y = table
    order = first(frame.drop(columns="copy"), y, groups={"panel": ["noise", "strong"]})
    assert order == ["panel", "weak"]


def test_a_category_keeps_its_own_levels():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 600)
    colour = np.array(list("abcdef"))[2 * rng.integers(0, 3, 600) + y]
    assert first(pd.DataFrame({"weak": noisy(rng, y, 0.8).astype(float), "colour": colour}), y) == ["colour", "weak"]


def test_dear_groups_come_later_and_equal_costs_change_nothing(table):
    frame, y = table
    assert first(frame.drop(columns="copy"), y, 1, costs={"strong": 100}) == ["weak"]
    assert first(frame, y, costs=[7] * 4) == first(frame, y)
    scores = torch.tensor([0.3, 0.2, -0.1, -0.1])
    assert per_cost(scores, torch.tensor([4.0, 1.0, 1.0, 2.0])).argsort(descending=True).tolist() == [1, 0, 2, 3]


def test_an_order_has_every_group_once_however_few_steps(table):
    levels, space = levels_and_space(*table)
    whole = least_redundant(levels, space, 4).tolist()
    for steps in range(1, 5):
        order = least_redundant(levels, space, steps).tolist()
        assert sorted(order) == [0, 1, 2, 3]
        assert order[:steps] == whole[:steps]


def test_a_number_is_predicted_from_what_tells_about_it_in_any_shape():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(600, 4)), columns=list("abcd"))
    y = frame["c"] ** 2 + 0.1 * frame["a"] + rng.normal(size=600) / 5
    model = MrmrRegressor(**FAST).fit(frame, y)
    assert model.acquire(frame.head(3), stop=Budget(1)).order == [["c"]] * 3


def test_a_classifier_asks_in_the_order_of_its_training_rows(table):
    frame, y = table
    model = MrmrClassifier(**FAST).fit(frame[:2000], y[:2000], eval_set=(frame[2000:], y[2000:]))
    assert model.acquire(frame.tail(1)).order == [first(frame[:2000], y[:2000])]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"levels": 1}, "levels must be a whole number of at least 2, was given 1"),
        ({"scheme": "ratio"}, "scheme must be 'difference' or 'quotient', was given 'ratio'"),
    ],
)
def test_settings_that_cannot_be_give_a_clear_error(iris, settings, message):
    with pytest.raises(AskwiseError, match=message):
        MrmrClassifier(**settings).fit(*iris)
