"""Training with weights of rows."""

import numpy as np
import pandas as pd
import pytest

from askwise import METHODS, AskwiseError, DimeClassifier, DimeRegressor
from askwise.core.tasks import Classification
from askwise.methods.parts import parts_that_explain
from askwise.methods.screening import Columns, Screening
from askwise.methods.teacher import soft_answers

FAST = {"hidden": 8, "epochs": 2, "random_state": 0}


def noisy_table(n, seed=0):
    """One answer that tells: P(y = 1) is 0.2 if it is 0, and 0.6 if it is 1; the other column is noise."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"tells": rng.integers(0, 2, n), "noise": rng.standard_normal(n)})
    return X, (rng.random(n) < np.where(X["tells"] == 1, 0.6, 0.2)).astype(int)


@pytest.fixture(scope="module")
def table():
    return noisy_table(200)


@pytest.mark.parametrize("name", [name for name in METHODS if "-image-" not in name])
def test_rows_of_weight_0_are_as_if_they_were_not_there(name, table):
    X, y = table
    X, weight = X.copy(), np.ones(len(y), dtype=int)
    weight[::3] = 0
    weight[1::3] = 2
    X.loc[weight == 0, "noise"] = 1e9
    kept = weight > 0
    few = {"n_samples": 2} if name.startswith("eddi") else {}
    one, other = (METHODS[name](**FAST, **few) for _ in range(2))
    one.fit(X, y, sample_weight=weight)
    other.fit(X[kept], y[kept], sample_weight=weight[kept].tolist())
    decided = [m.predict_proba if hasattr(m, "predict_proba") else m.predict for m in (one, other)]
    assert np.array_equal(*(predict(X[kept]) for predict in decided))


def test_a_label_only_in_rows_of_weight_0_is_none():
    X, y = noisy_table(60)
    labels = np.array(["no", "yes", "unknown"], dtype=object)[np.where(np.arange(60) < 9, 2, y)]
    assert DimeClassifier(**FAST).fit(X, labels, sample_weight=labels != "unknown").classes_.tolist() == ["no", "yes"]


def test_equal_weights_change_nothing(table):
    plain, weighted = DimeClassifier(**FAST).fit(*table), DimeClassifier(**FAST).fit(*table, sample_weight=[7] * 200)
    assert np.array_equal(plain.predict_proba(table[0]), weighted.predict_proba(table[0]))


@pytest.mark.parametrize(("name", "epochs"), [("dime-classifier", 8), ("mrmr-classifier", 20), ("cwcf-classifier", 20)])
def test_doubled_weights_are_doubled_rows(name, epochs):
    """Twice the sick: 0.6 becomes 0.75, and 0.2 becomes a third, whether rows or weights are doubled."""
    X, y = noisy_table(3000)
    by_weight, by_rows = (METHODS[name](hidden=16, epochs=epochs, random_state=0) for _ in range(2))
    by_weight.fit(X, y, sample_weight=1 + y)
    twice = np.repeat(np.arange(len(y)), 1 + y)
    # A row and its copy on both sides of a split would hide that too much is learnt by heart.
    by_rows.fit(X.iloc[twice], y[twice], split_by=twice)
    fresh, _ = noisy_table(500, seed=1)
    for value, exact in ((0, 1 / 3), (1, 0.75)):
        found = [model.predict_proba(fresh[fresh["tells"] == value])[:, 1].mean() for model in (by_weight, by_rows)]
        assert found == pytest.approx([exact, exact], abs=0.05)


def test_heavy_rows_count_as_they_weigh_whatever_batch_they_are_in():
    """Of 2 % sick rows with a weight of 49, half of what is learnt from is sick."""
    rng = np.random.default_rng(1)
    y = (np.arange(3000) % 50 == 0).astype(int)
    X = pd.DataFrame({"noise": rng.standard_normal(3000), "more": rng.standard_normal(3000)})
    plain = {"base_rates": False, "soft_answers": False, "hidden": 8, "epochs": 6, "batch_size": 32}
    model = DimeClassifier(**plain, random_state=0).fit(X, y, sample_weight=np.where(y, 49, 1))
    assert model.predict_proba(X[:300])[:, 1].mean() == pytest.approx(0.5, abs=0.1)


def test_base_rate_center_scale_and_balance_are_weighted(table):
    X, y = table
    weight = np.where(y, 3.0, 1.0)
    task = DimeClassifier(class_weights="balanced").make_task(y, weight)
    assert task.weights == DimeClassifier(class_weights="balanced").make_task(np.repeat(y, 1 + 2 * y)).weights
    number = X["noise"].to_numpy()
    weighted = DimeRegressor().make_task(number, weight)
    repeated = DimeRegressor().make_task(np.repeat(number, 1 + 2 * y))
    assert (weighted.center, weighted.scale) == pytest.approx((repeated.center, repeated.scale))


def test_eval_set_may_have_weights(table):
    X, y = table
    weight = (np.arange(200) % 2).astype(float)
    odd, half = weight > 0, np.ones(200)
    models = [
        DimeClassifier(**FAST).fit(X, y, eval_set=(X, y, weight), sample_weight=half),
        DimeClassifier(**FAST).fit(X, y, eval_set=(X[odd], y[odd])),
    ]
    assert models[0].model_.card["validation"] == models[1].model_.card["validation"]
    with pytest.raises(AskwiseError, match="the sample_weight of eval_set has 3 weights for 200 rows"):
        DimeClassifier(**FAST).fit(X, y, eval_set=(X, y, [1, 2, 3]))


def test_rows_of_one_person_stay_together_where_some_have_weight_0(table):
    X, y = table
    weight = np.where(np.arange(200) < 50, 0, 1)
    by = np.arange(200) // 4
    one = DimeClassifier(**FAST).fit(X, y, split_by=by, sample_weight=weight)
    other = DimeClassifier(**FAST).fit(X[50:], y[50:], split_by=by[50:])
    assert np.array_equal(one.predict_proba(X), other.predict_proba(X))


def test_screening_parts_and_soft_answers_see_weights_as_rows():
    rng = np.random.default_rng(0)
    values, weight = rng.standard_normal((1200, 3)), rng.integers(1, 4, 1200)
    y = (values[:, 0] + rng.standard_normal(1200) > 0).astype(int)
    repeated = np.repeat(np.arange(1200), weight)
    answers = np.eye(2)[y]
    columns = Columns(values, np.zeros(3, dtype=bool))
    share = Screening.of(columns, answers, weight.astype(float)).share
    of_rows = Screening.of(Columns(values[repeated], columns.is_category), answers[repeated]).share
    assert share == pytest.approx(of_rows, abs=0.01)
    bent = np.sin(4 * values[:, :1])
    assert parts_that_explain(values[:, 0], bent, weight.astype(float)) > 1
    soft = soft_answers(Classification((0, 1)), columns, values, y, 0, weight / weight.mean())
    exact = soft_answers(
        Classification((0, 1)), Columns(values[repeated], columns.is_category), values[repeated], y[repeated], 0
    )
    assert np.abs(soft[repeated] - exact).mean() < 0.1


def test_a_checkpoint_of_other_weights_is_not_taken_up(table, tmp_path):
    X, y = table
    for weight in (None, 1 + y):
        DimeClassifier(**FAST, checkpoint_dir=tmp_path / "run").fit(X, y, sample_weight=weight)
    fresh = DimeClassifier(**FAST).fit(X, y, sample_weight=1 + y)
    again = DimeClassifier(**FAST, checkpoint_dir=tmp_path / "run").fit(X, y, sample_weight=1 + y)
    assert np.array_equal(fresh.predict_proba(X), again.predict_proba(X))


def test_a_curve_draws_the_persons_of_rows_with_weight_again(table):
    X, y = table
    model, by, weight = DimeClassifier(**FAST).fit(X, y), np.arange(200) // 4, np.ones(200)
    weight[:30] = 0
    one = model.curve(X, y, bootstrap=5, sample_weight=weight, split_by=by)
    other = model.curve(X[30:], y[30:], bootstrap=5, sample_weight=weight[30:], split_by=by[30:])
    pd.testing.assert_frame_equal(one, other)


def test_a_split_by_of_wrong_length_is_told_by_the_rows_that_were_given(table):
    X, y = table
    weight = np.arange(200) % 2
    model = DimeClassifier(**FAST).fit(X, y, sample_weight=weight)
    with pytest.raises(AskwiseError, match="split_by has 199 values for 200 rows"):
        model.curve(X, y, sample_weight=weight, split_by=np.arange(199))
    with pytest.raises(AskwiseError, match="split_by has 100 values for 200 rows"):
        DimeClassifier(**FAST).fit(X, y, sample_weight=weight, split_by=np.arange(100))
