"""Evaluation with weights of rows: weights are repeated rows, and rows of weight 0 are not there."""

import numpy as np
import pandas as pd
import pytest

from askwise import AskwiseError, load
from askwise.core.stopping import Blend, parse_rule
from askwise.core.tasks import Classification, Regression
from askwise.evaluation import calibration, frontier, metrics
from askwise.evaluation.recorded import Purchases, Recorded
from askwise.evaluation.weights import RowWeights, mean_and_error


@pytest.fixture
def weights(cases):
    return np.random.default_rng(0).integers(0, 4, len(cases[1]))


@pytest.mark.parametrize("task", [Classification(("a", "b")), Classification(("a", "b", "c")), Regression(0.0, 1.0)])
def test_rows_of_weight_0_change_no_digit_of_any_metric(task):
    rng = np.random.default_rng(1)
    answer, y = rng.standard_normal(90), rng.standard_normal(90)
    if isinstance(task, Classification):
        answer, y = rng.dirichlet(np.ones(task.n_outputs), 90), rng.integers(0, task.n_outputs, 90)
    weights = rng.integers(0, 3, 90).astype(float)
    kept = weights > 0
    draws = metrics.bootstrap_draws(90, 20)
    found = metrics.metrics(task, answer, y, draws, weights)
    assert found == metrics.metrics(task, answer[kept], y[kept], draws[:, kept], weights[kept])


def test_weights_are_repeated_rows_in_a_curve(clinic, cases, weights):
    X, y = cases
    twice = np.repeat(np.arange(len(y)), weights)
    by_weight = clinic.curve(X, y, sample_weight=weights)
    by_rows = clinic.curve(X.iloc[twice], y[twice])
    budgets = [table[table["rule"] == "budget"].reset_index(drop=True) for table in (by_weight, by_rows)]
    pd.testing.assert_frame_equal(*budgets, rtol=1e-9)


def test_a_curve_of_rows_of_weight_0_is_that_of_the_others(clinic, cases, weights):
    X, y = cases
    kept = weights > 0
    weighted = clinic.curve(X, y, bootstrap=10, sample_weight=weights)
    pd.testing.assert_frame_equal(
        weighted, clinic.curve(X[kept], y[kept], bootstrap=10, sample_weight=weights[kept]), check_exact=True
    )


def test_score_takes_weights(clinic, cases, weights):
    X, y = cases
    right = clinic.predict(X) == y
    assert clinic.score(X, y, sample_weight=weights) == pytest.approx(np.average(right, weights=weights))


def test_weights_of_another_length_are_refused(clinic, cases):
    with pytest.raises(AskwiseError, match="sample_weight has 2 weights for"):
        clinic.curve(*cases, sample_weight=[1, 2])


def test_a_frontier_is_chosen_and_measured_under_weights(clinic, cases, weights):
    """Each record's mean cost is that of the rule on the rows as often as they weigh."""
    X, y = cases
    kept = weights > 0
    rows = clinic.encode(X[kept]).with_weight(weights[kept].astype(float))
    table = frontier.frontier(clinic.model_, rows, y[kept])
    record = table.iloc[len(table) // 2]
    twice = np.repeat(np.arange(len(y)), weights)
    spent = clinic.acquire(X.iloc[twice], parse_rule(record["rule"])).spent
    assert record["mean_cost"] == pytest.approx(spent.mean())


@pytest.fixture
def recorded(clinic, cases, weights):
    """A walk of the rows that weigh something under their weights, and the same of repeated rows."""
    X, y = cases
    model, truth = clinic.model_, metrics.coded(clinic.model_.task, y)
    kept, twice = np.flatnonzero(weights), np.repeat(np.arange(len(y)), weights)
    rows = [clinic.encode(X.iloc[index]) for index in (kept, twice)]
    traces = [model.trace(part, [None], model.costs(None)) for part in rows]
    counts = RowWeights(weights[kept].astype(float))
    return Recorded.of(model, traces[0], truth[kept], counts), Recorded.of(model, traces[1], truth[twice])


def test_what_blends_pay_for_is_that_of_repeated_rows(recorded):
    blends = [Purchases(walk, Blend(0.0, 0.5, 1.0, 5.0)) for walk in recorded]
    every = [np.ones(walk.n_rows, dtype=bool) for walk in recorded]
    costs, losses = [], []
    for purchases, rows in zip(blends, every, strict=True):
        mean, _ = purchases.spending(rows)
        places = purchases.places
        costs.append(mean)
        losses.append([purchases.mean_loss(rows, int(place)) for place in places])
    assert costs[0] == pytest.approx(costs[1])
    assert losses[0] == pytest.approx(losses[1])


def test_the_error_of_a_mean_cost_is_that_of_its_rows(recorded):
    walk, _ = recorded
    purchases, every = Purchases(walk, Blend(0.0, 0.5, 1.0, 5.0)), np.ones(walk.n_rows, dtype=bool)
    mean, error = purchases.spending(every)
    for i in (0, len(mean) // 2, -1):
        found = walk.outcome(purchases.stops(purchases.threshold(int(purchases.places[i]))))
        assert (mean[i], error[i]) == pytest.approx(mean_and_error(found.spent, found.weights))


def test_calibration_counts_rows_by_their_weights(clinic, cases, weights):
    X, y = cases
    twice = np.repeat(np.arange(len(y)), weights)
    kept = weights > 0
    rows = clinic.encode(X[kept]).with_weight(weights[kept].astype(float))
    by_weight = calibration.calibration(clinic.model_, rows, y[kept])
    by_rows = calibration.calibration(clinic.model_, clinic.encode(X.iloc[twice]), y[twice])
    same = ("ece", "ece_everything", "realised_over_predicted", "slope", "share_above_entropy")
    assert [by_weight.summary[name] for name in same] == pytest.approx([by_rows.summary[name] for name in same])
    tables = [calibration.reliability(c.at_budget, c.truth, c.weights) for c in (by_weight, by_rows)]
    for name in ("confidence", "accuracy"):
        assert tables[0][name].tolist() == pytest.approx(tables[1][name].tolist())
    assert (tables[0]["n"] < tables[1]["n"]).any()


def test_bins_of_numbers_count_rows_by_their_weights():
    rng = np.random.default_rng(0)
    prediction, truth, weights = rng.random(200), rng.random(200), rng.integers(1, 4, 200).astype(float)
    twice = np.repeat(np.arange(200), weights.astype(int))
    found = calibration.number_reliability(prediction, truth, weights)
    exact = calibration.number_reliability(prediction[twice], truth[twice])
    assert found[["prediction", "truth"]].to_numpy() == pytest.approx(exact[["prediction", "truth"]].to_numpy())
    assert (found["high"] > found["low"]).all()


def test_the_card_tells_how_many_equal_rows_weighted_ones_are_worth(clinic, cases, weights, tmp_path):
    X, y = cases
    model = type(clinic)(hidden=8, epochs=2, random_state=0).fit(X, y, sample_weight=weights)
    model.save(tmp_path / "model.askwise")
    card = load(tmp_path / "model.askwise").model_.card
    assert 0 < card["effective_rows"]["trained"] < card["rows_trained"]
    assert card["rows_trained"] + card["rows_validated"] == np.count_nonzero(weights)
    assert "effective_rows" not in clinic.model_.card
