"""Numbers: metrics, curves, areas and intervals."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics as sk

from askwise import AskwiseError, Budget, Confidence, Penalty
from askwise import evaluation as ev
from askwise.tasks import Classification, Regression


def example(n_classes, n=200, seed=0, ties=False):
    rng = np.random.default_rng(seed)
    proba = rng.dirichlet(np.ones(n_classes), size=n)
    if ties:
        proba = np.round(proba * 4) / 4
        proba = np.where(proba.sum(1, keepdims=True) > 0, proba, 1) + 0.1
        proba /= proba.sum(1, keepdims=True)
    y = np.array([rng.choice(n_classes, p=p) for p in proba])
    return proba, y, rng.integers(0, 4, size=(3, n)).astype(float)


def assert_equals_sklearn(metric, reference, proba, y, weights):
    for w, found in zip(weights, metric(proba, y, weights), strict=True):
        assert found == pytest.approx(reference(w), abs=1e-12)


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_accuracy_log_loss_and_brier_equal_scikit_learns(n_classes):
    proba, y, weights = example(n_classes)
    labels = range(n_classes)
    for metric, reference in [
        (ev.accuracy, lambda w: sk.accuracy_score(y, proba.argmax(1), sample_weight=w)),
        (ev.log_loss, lambda w: sk.log_loss(y, proba, sample_weight=w, labels=labels)),
        (
            ev.brier,
            lambda w: sk.brier_score_loss(y, proba if n_classes > 2 else proba[:, 1], sample_weight=w, labels=labels),
        ),
    ]:
        assert_equals_sklearn(metric, reference, proba, y, weights)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_auroc_equals_scikit_learns_with_weights_and_ties(n_classes, ties):
    proba, y, weights = example(n_classes, ties=ties)
    # What differs in its last bits alone is a tie for us.
    score = np.round(proba if n_classes > 2 else proba[:, 1], 12)

    def reference(w):
        kept = w > 0
        return sk.roc_auc_score(y[kept], score[kept], sample_weight=w[kept], multi_class="ovr")

    assert_equals_sklearn(ev.auroc, reference, proba, y, weights)


def test_auroc_of_one_class_alone_is_not_a_number():
    proba, _, weights = example(2)
    assert np.isnan(ev.auroc(proba, np.zeros(200, dtype=int), weights)).all()


def test_rmse_and_r2_equal_scikit_learns():
    rng = np.random.default_rng(0)
    y = rng.normal(5, 3, size=100)
    prediction = y + rng.normal(size=100)
    weights = rng.random((3, 100))
    assert_equals_sklearn(
        ev.rmse, lambda w: sk.root_mean_squared_error(y, prediction, sample_weight=w), prediction, y, weights
    )
    assert_equals_sklearn(ev.r2, lambda w: sk.r2_score(y, prediction, sample_weight=w), prediction, y, weights)


def test_ece_is_the_mean_gap_between_confidence_and_accuracy():
    """Ten rows at 0.95, nine of them right; ten at 0.55, none right: 0.5 * 0.05 + 0.5 * 0.55."""
    proba = np.array([[0.95, 0.05]] * 10 + [[0.55, 0.45]] * 10)
    y = np.array([0] * 9 + [1] * 11)
    assert ev.expected_calibration_error(proba, y, np.ones((1, 20)))[0] == pytest.approx(0.3)


def test_ece_of_certain_and_right_predictions_is_zero():
    assert ev.expected_calibration_error(np.eye(3), np.arange(3), np.ones((1, 3)))[0] == 0


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10_000), n=st.integers(5, 40), n_classes=st.integers(2, 4))
def test_a_weight_of_two_is_the_row_twice(seed, n, n_classes):
    rng = np.random.default_rng(seed)
    proba = rng.dirichlet(np.ones(n_classes), size=n)
    y = rng.integers(0, n_classes, size=n)
    count = rng.integers(0, 3, size=n)
    count[0] = 1
    again = np.repeat(np.arange(n), count)
    for name, metric in ev.METRICS["classification"].items():
        if name == "auroc" and len(np.unique(y[again])) < n_classes:
            continue
        weighted = metric(proba, y, count[None].astype(float))[0]
        repeated = metric(proba[again], y[again], np.ones((1, len(again))))[0]
        assert weighted == pytest.approx(repeated, abs=1e-12), name


def test_every_metric_of_the_task_is_there():
    proba, y, _ = example(3)
    assert list(ev.metrics(Classification((0, 1, 2)), proba, y)) == ["accuracy", "auroc", "log_loss", "brier", "ece"]
    assert list(ev.metrics(Regression(0.0, 1.0), proba[:, 0], y)) == ["rmse", "r2"]


def test_bootstrap_intervals_hold_the_metric_and_shrink_with_rows():
    task = Classification((0, 1))
    few, many = (ev.metrics(task, *example(2, n=n)[:2], ev.bootstrap_draws(n, 300)) for n in (100, 2000))
    for name in ("accuracy", "auroc", "log_loss", "brier"):
        assert few[f"{name}_low"] <= few[name] <= few[f"{name}_high"]
        assert many[f"{name}_high"] - many[f"{name}_low"] < few[f"{name}_high"] - few[f"{name}_low"]


def test_the_ece_has_no_bootstrap_interval_since_drawing_again_only_raises_it():
    proba, y, _ = example(2, n=500)
    draws = ev.bootstrap_draws(500, 200)
    found = ev.metrics(Classification((0, 1)), proba, y, draws)
    assert {"ece_low", "ece_high"}.isdisjoint(found)
    calibrated = (np.random.default_rng(0).random(500) < proba[:, 1]).astype(int)
    drawn = ev.expected_calibration_error(proba, calibrated, draws.astype(float))
    assert np.mean(drawn > ev.expected_calibration_error(proba, calibrated, np.ones((1, 500)))) > 0.75


def test_a_bootstrap_interval_of_accuracy_is_that_of_the_binomial():
    proba, y, _ = example(2, n=1000)
    found = ev.metrics(Classification((0, 1)), proba, y, ev.bootstrap_draws(1000, 2000))
    spread = 1.96 * np.sqrt(found["accuracy"] * (1 - found["accuracy"]) / 1000)
    assert found["accuracy_high"] - found["accuracy"] == pytest.approx(spread, rel=0.15)
    assert found["accuracy"] - found["accuracy_low"] == pytest.approx(spread, rel=0.15)


# Curves


def test_a_curve_has_every_rule_with_cost_groups_and_metrics(clinic, new_cases):
    table = clinic.curve(*new_cases)
    assert list(table.columns[:4]) == ["rule", "parameter", "mean_cost", "mean_groups"]
    assert list(table.columns[4:]) == ["accuracy", "auroc", "log_loss", "brier", "ece"]
    assert set(table["rule"]) == {"budget", "confidence", "penalty"}
    assert table.notna().all().all()


def test_every_rule_of_a_curve_goes_from_nothing_to_everything(clinic, new_cases):
    everything = clinic.acquire(new_cases[0]).spent.mean()
    for rule, part in clinic.curve(*new_cases).groupby("rule"):
        assert part["mean_cost"].min() == 0, rule
        assert part["mean_cost"].max() == pytest.approx(everything), rule
        assert len(part) >= 8, rule


@pytest.mark.parametrize("rule", [Budget, Confidence, Penalty])
def test_a_point_of_a_curve_is_what_acquire_gives(clinic, new_cases, rule):
    X, y = new_cases
    table = clinic.curve(X, y)
    for point in table[table["rule"] == rule.name].iloc[2::5].itertuples():
        acquired = clinic.acquire(X, stop=rule(point.parameter))
        assert acquired.spent.mean() == pytest.approx(point.mean_cost)
        assert acquired.n_asked.mean() == pytest.approx(point.mean_groups)
        assert (clinic.classes_[acquired.proba.argmax(1)] == y).mean() == pytest.approx(point.accuracy)


def test_with_equal_costs_a_budget_of_the_curve_is_what_acquire_gives(flowers, iris):
    table = flowers.curve(*iris)
    budgets = table[table["rule"] == "budget"]
    assert budgets["parameter"].tolist() == budgets["mean_groups"].tolist() == [0, 1, 2, 3, 4]
    for point in budgets.itertuples():
        assert (flowers.predict(iris[0], stop=Budget(point.parameter)) == iris[1]).mean() == point.accuracy


def test_a_regression_curve_has_no_confidence(progression, diabetes):
    table = progression.curve(*diabetes)
    assert set(table["rule"]) == {"budget", "penalty"}
    assert list(table.columns[4:]) == ["rmse", "r2"]


def test_a_curve_under_other_costs_counts_those(clinic, new_cases):
    X, y = new_cases
    dearer = clinic.curve(X, y, costs={"smoker": 1000})
    assert dearer["mean_cost"].max() == pytest.approx(clinic.acquire(X, costs={"smoker": 1000}).spent.mean())


def test_a_curve_with_bootstrap_has_intervals(flowers, iris):
    table = flowers.curve(*iris, bootstrap=20, points=4)
    assert (table["accuracy_low"] <= table["accuracy"]).all()
    assert (table["accuracy"] <= table["accuracy_high"]).all()


def test_a_curve_tells_how_far_it_is(clinic, new_cases):
    seen = []
    clinic.curve(*new_cases, progress=seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == pytest.approx(1)


def test_a_curve_on_few_rows_works(flowers, iris):
    X, y = iris
    assert len(flowers.curve(X[[0, 60]], y[[0, 60]]))


def test_an_unknown_label_or_another_length_is_an_error(flowers, iris):
    X, y = iris
    with pytest.raises(AskwiseError, match="unknown label 9 in y; the model knows"):
        flowers.curve(X, np.where(y == 1, 9, y))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        flowers.curve(X, y[:-1])


# Areas


def test_the_area_under_a_curve_is_the_mean_over_cost():
    table = pd.DataFrame({"mean_cost": [0.0, 10.0, 5.0], "auroc": [0.5, 0.9, 0.8]})
    assert ev.area_under_curve(table, "auroc") == pytest.approx((0.65 * 5 + 0.85 * 5) / 10)
    assert ev.area_under_curve(table, "auroc", most=5) == pytest.approx(0.65)
    assert ev.area_under_curve(table, "auroc", most=20) == pytest.approx((0.65 * 5 + 0.85 * 5 + 0.9 * 10) / 20)


def test_the_area_of_a_constant_metric_is_that_constant():
    table = pd.DataFrame({"mean_cost": [1.0, 3.0], "r2": [0.4, 0.4]})
    for most in (None, 0.5, 2, 30):
        assert ev.area_under_curve(table, "r2", most) == pytest.approx(0.4)
