"""Numbers: metrics, curves, areas and intervals."""

import copy
import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import safetensors.numpy
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics as sk

from askwise import AskwiseError, AverageCost, Budget, Confidence, EddiClassifier, MrmrClassifier, Penalty, load
from askwise.core.prices import Prices
from askwise.core.rows import Rows, evenly
from askwise.core.stopping import parse_rule
from askwise.core.tasks import Classification, Regression
from askwise.core.trace import rollout
from askwise.evaluation import curves, frontier, metrics, thresholds
from askwise.model import file as bundle


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
        (metrics.accuracy, lambda w: sk.accuracy_score(y, proba.argmax(1), sample_weight=w)),
        (metrics.log_loss, lambda w: sk.log_loss(y, proba, sample_weight=w, labels=labels)),
        (
            metrics.brier,
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

    assert_equals_sklearn(metrics.auroc, reference, proba, y, weights)


def test_auroc_of_one_class_alone_is_not_a_number():
    proba, _, weights = example(2)
    assert np.isnan(metrics.auroc(proba, np.zeros(200, dtype=int), weights)).all()


def test_rmse_and_r2_equal_scikit_learns():
    rng = np.random.default_rng(0)
    y = rng.normal(5, 3, size=100)
    prediction = y + rng.normal(size=100)
    weights = rng.random((3, 100))
    assert_equals_sklearn(
        metrics.rmse, lambda w: sk.root_mean_squared_error(y, prediction, sample_weight=w), prediction, y, weights
    )
    assert_equals_sklearn(metrics.r2, lambda w: sk.r2_score(y, prediction, sample_weight=w), prediction, y, weights)


def test_ece_is_the_mean_gap_between_confidence_and_accuracy():
    """Ten rows at 0.95, nine of them right; ten at 0.55, none right: 0.5 * 0.05 + 0.5 * 0.55."""
    proba = np.array([[0.95, 0.05]] * 10 + [[0.55, 0.45]] * 10)
    y = np.array([0] * 9 + [1] * 11)
    assert metrics.expected_calibration_error(proba, y, np.ones((1, 20)))[0] == pytest.approx(0.3)


def test_ece_of_certain_and_right_predictions_is_zero():
    assert metrics.expected_calibration_error(np.eye(3), np.arange(3), np.ones((1, 3)))[0] == 0


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10_000), n=st.integers(5, 40), n_classes=st.integers(2, 4))
def test_a_weight_of_two_is_the_row_twice(seed, n, n_classes):
    rng = np.random.default_rng(seed)
    proba = rng.dirichlet(np.ones(n_classes), size=n)
    y = rng.integers(0, n_classes, size=n)
    count = rng.integers(0, 3, size=n)
    count[0] = 1
    again = np.repeat(np.arange(n), count)
    for name, metric in metrics.METRICS["classification"].items():
        order = ("auroc", "average_precision", "sensitivity_at_90_specificity")
        if (name in order and len(np.unique(y[again])) < n_classes) or (metric.two_classes and n_classes > 2):
            continue
        weighted = metric(proba, y, count[None].astype(float))[0]
        repeated = metric(proba[again], y[again], np.ones((1, len(again))))[0]
        assert weighted == pytest.approx(repeated, abs=1e-12), name


def test_every_metric_of_the_task_is_there():
    proba, y, _ = example(3)
    found = metrics.metrics(Classification((0, 1, 2)), proba, y)
    assert list(found) == ["accuracy", "auroc", "log_loss", "brier", "ece", "average_precision"]
    of_two = metrics.metrics(Classification((0, 1)), proba[:, :2], y % 2)
    assert set(of_two) - set(found) == {"sensitivity_at_90_specificity"}
    assert list(metrics.metrics(Regression(0.0, 1.0), proba[:, 0], y)) == ["rmse", "r2"]


def test_bootstrap_intervals_hold_the_metric_and_shrink_with_rows():
    task = Classification((0, 1))
    few, many = (metrics.metrics(task, *example(2, n=n)[:2], metrics.bootstrap_draws(n, 300)) for n in (100, 2000))
    for name in ("accuracy", "auroc", "log_loss", "brier"):
        assert few[f"{name}_low"] <= few[name] <= few[f"{name}_high"]
        assert many[f"{name}_high"] - many[f"{name}_low"] < few[f"{name}_high"] - few[f"{name}_low"]


def test_the_ece_has_no_bootstrap_interval_since_drawing_again_only_raises_it():
    proba, y, _ = example(2, n=500)
    draws = metrics.bootstrap_draws(500, 200)
    found = metrics.metrics(Classification((0, 1)), proba, y, draws)
    assert {"ece_low", "ece_high"}.isdisjoint(found)
    calibrated = (np.random.default_rng(0).random(500) < proba[:, 1]).astype(int)
    drawn = metrics.expected_calibration_error(proba, calibrated, draws.astype(float))
    assert np.mean(drawn > metrics.expected_calibration_error(proba, calibrated, np.ones((1, 500)))) > 0.75


def test_a_bootstrap_interval_of_accuracy_is_that_of_the_binomial():
    proba, y, _ = example(2, n=1000)
    found = metrics.metrics(Classification((0, 1)), proba, y, metrics.bootstrap_draws(1000, 2000))
    spread = 1.96 * np.sqrt(found["accuracy"] * (1 - found["accuracy"]) / 1000)
    assert found["accuracy_high"] - found["accuracy"] == pytest.approx(spread, rel=0.15)
    assert found["accuracy"] - found["accuracy_low"] == pytest.approx(spread, rel=0.15)


# Curves


def test_a_curve_has_every_rule_with_cost_groups_and_metrics(clinic, new_cases):
    table = clinic.curve(*new_cases)
    assert list(table.columns[:4]) == ["rule", "parameter", "mean_cost", "mean_groups"]
    assert list(table.columns[4:]) == list(metrics.METRICS["classification"])
    assert set(table["rule"]) == {"budget", "confidence", "penalty", "average-cost"}
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


class AtMost:
    """A rule of a user's own that counts questions."""

    def stops(self, step):
        return step.n_asked >= 2


def test_the_signals_of_a_trace_count_questions_as_a_walk_does(clinic, new_cases):
    model, rows = clinic.model_, clinic.encode(new_cases[0])
    trace = model.trace(rows, [None, AtMost()], model.costs())
    signals = curves.TraceSignals.of(model, trace, model.costs())
    assert torch.equal(curves._cut(trace, signals, AtMost()), trace.stops[1].at)
    assert set(signals.n_asked[-1].tolist()) == set(rows.available.sum(1).tolist())


def test_with_equal_costs_a_budget_of_the_curve_is_what_acquire_gives(flowers, iris):
    table = flowers.curve(*iris)
    budgets = table[table["rule"] == "budget"]
    assert budgets["parameter"].tolist() == budgets["mean_groups"].tolist() == [0, 1, 2, 3, 4]
    for point in budgets.itertuples():
        assert (flowers.predict(iris[0], stop=Budget(point.parameter)) == iris[1]).mean() == point.accuracy


def test_a_regression_curve_has_no_confidence(progression, diabetes):
    table = progression.curve(*diabetes)
    assert set(table["rule"]) == {"budget", "penalty", "average-cost"}
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


# What a model keeps of the frontier


@pytest.fixture(scope="module")
def keeping(clinic, cases):
    """A model that keeps the frontier of 300 rows with unequal prices, and those rows and answers."""
    model, rows = copy.deepcopy(clinic.model_), clinic.encode(cases[0])
    frontier.keep_frontier(model, rows, cases[1])
    return model, rows, cases[1]


def test_the_spending_table_rises_in_cost_as_the_penalty_falls(keeping):
    model, rows, _ = keeping
    table = model.spending[model.costs()]
    assert (np.diff(table["penalty"]) < 0).all()
    assert (np.diff(table["mean_cost"]) >= 0).all()
    assert table["penalty"].iloc[-1] == 0
    assert table["mean_cost"].iloc[0] == 0
    assert table["mean_cost"].iloc[-1] == pytest.approx(model.acquire(rows, None).spent.mean())


def test_the_spending_table_is_finer_than_the_frontier(keeping):
    model, _, _ = keeping
    fine, coarse = model.spending[model.costs()]["mean_cost"], model.frontier()["mean_cost"]
    assert len(fine) > 3 * len(coarse)
    assert np.diff(fine).max() <= np.diff(coarse).max()
    # How far below k the largest mean cost not above it lies: an average cost is met more closely.
    wanted = np.linspace(coarse[coarse > 0].min(), coarse.max(), 500)
    short, shorter = (np.array([k - costs[costs <= k].max() for k in wanted]) for costs in (coarse, fine))
    assert shorter.mean() < short.mean() / 3
    assert shorter.max() < short.max() / 2


def test_the_frontier_that_is_kept_is_the_frontier_of_those_rows(keeping):
    model, rows, y = keeping
    pd.testing.assert_frame_equal(model.frontier(), frontier.frontier(model, rows, y))


def test_mean_costs_are_those_of_acquire_at_these_penalties(keeping):
    model, rows, _ = keeping
    points = model.spending[model.costs()]
    for point in points.iloc[:: len(points) // 15].itertuples():
        assert model.acquire(rows, Penalty(point.penalty)).spent.mean() == pytest.approx(point.mean_cost)


def test_where_penalties_are_spread_by_some_rows_what_they_spend_is_counted_on_all(keeping, monkeypatch):
    kept, rows, y = keeping
    model = copy.copy(kept)
    model.frontiers, model.spending = {}, {}
    monkeypatch.setattr(thresholds, "MOST_LEVELS", 100)
    frontier.keep_frontier(model, rows, y)
    table = model.spending[model.costs()]
    assert len(table) < len(kept.spending[model.costs()])
    for point in table.iloc[:: len(table) // 10].itertuples():
        assert model.acquire(rows, Penalty(point.penalty)).spent.mean() == pytest.approx(point.mean_cost)


def test_the_spending_table_of_one_row_has_its_steps(flowers, iris):
    model, rows = copy.copy(flowers.model_), flowers.encode(iris[0]).take(slice(0, 1))
    model.frontiers, model.spending = {}, {}
    frontier.keep_frontier(model, rows, iris[1][:1])
    found = model.spending[model.costs()]["mean_cost"].tolist()
    assert (found[0], found[-1]) == (0, 4)
    assert set(found) <= {0, 1, 2, 3, 4}


def test_a_penalty_of_nothing_goes_on_where_nothing_is_gained(table_policy):
    """Each row asks group 0, worth 2, then what is worth nothing; the second row has one group less."""
    present = torch.tensor([[True, True, True], [True, False, True]])
    rows, rules = Rows(torch.zeros(2, 3), present, present), [None, Penalty(0.0)]
    trace = rollout(table_policy([1, 1, 1], [2.0, 0.0, -1.0]), rows, Prices(torch.ones(3)), rules)
    penalties = thresholds.thresholds(trace.best.numpy(), trace.spent.numpy(), 20)
    stops = np.array(list(Penalty.steps_of_many(trace.best.numpy(), penalties)))
    assert penalties[-1] == 0
    assert stops[:, -1].tolist() == trace.stops[1].at.tolist() == [3, 2]
    assert stops[:, 0].tolist() == [0, 0]


# What a model keeps of every rule


def test_the_curve_that_is_kept_is_that_of_the_validation_rows(keeping):
    kept, rows, y = keeping
    model = replace(kept, curves={})
    frontier.keep_frontier(model, rows, y)
    table = model.curves[model.costs()]
    pd.testing.assert_frame_equal(table, curves.curve(model, rows, y))
    assert set(table["rule"]) == {"budget", "confidence", "penalty", "average-cost"}


def test_the_curve_that_is_kept_is_of_evenly_chosen_rows_where_there_are_many(keeping, monkeypatch):
    kept, rows, y = keeping
    model = copy.copy(kept)
    model.frontiers, model.spending, model.curves = {}, {}, {}
    monkeypatch.setattr(frontier, "KEPT_ROWS", 50)
    frontier.keep_frontier(model, rows, y)
    pd.testing.assert_frame_equal(model.frontier(), kept.frontier())
    some = rows.take(evenly(len(rows), 50))
    for point in model.curves[model.costs()].iloc[::6].itertuples():
        rule = parse_rule(f"{point.rule}={point.parameter}")
        assert model.acquire(some, rule).spent.mean() == pytest.approx(point.mean_cost)


def test_a_model_whose_scores_are_an_order_keeps_a_frontier_of_budgets(cases):
    model = MrmrClassifier(costs={"scan": 40, "pressure": 2.5}, hidden=16, epochs=5, random_state=0).fit(*cases).model_
    table = model.curves[model.costs()]
    assert set(table["rule"]) == {"budget", "confidence", "average-cost"}
    assert {"average_cost", "rule", "budget", "mean_cost"} <= set(model.frontier().columns)
    assert "penalty" not in model.frontier()
    assert model.spending == {}


def test_a_regression_keeps_budgets_and_penalties(progression):
    table = progression.model_.curves[progression.model_.costs()]
    assert set(table["rule"]) == {"budget", "penalty", "average-cost"}
    assert list(table.columns[4:]) == ["rmse", "r2"]


def test_a_bundle_keeps_the_spending_table(clinic, cases, tmp_path):
    clinic.save(tmp_path / "m")
    model = load(tmp_path / "m")
    assert list(model.model_.spending) == list(clinic.model_.spending) == [clinic.model_.costs()]
    for costs, table in clinic.model_.spending.items():
        pd.testing.assert_frame_equal(model.model_.spending[costs], table, check_exact=True)
    ours, theirs = (m.model_.rule(AverageCost(11.3), clinic.model_.costs()) for m in (clinic, model))
    assert ours == theirs
    assert clinic.acquire(cases[0], stop=ours).order == model.acquire(cases[0], stop=AverageCost(11.3)).order


@pytest.mark.parametrize("left_out", [(), ("spending",)])
def test_a_bundle_from_before_there_were_blends_goes_on_with_its_penalties(clinic, tmp_path, left_out):
    """The oldest have no table of what many penalties spend, but the frontier of some."""
    clinic.save(tmp_path / "new")
    contents = bundle.read(tmp_path / "new")
    header = {name: part for name, part in contents.header.items() if name not in left_out}
    table = {"penalty": [9.0, 0.5, 0.2, 0.0], "mean_cost": [0.0, 2.0, 5.0, 12.0]}
    header["frontiers"] = [{"costs": clinic.model_.costs(), "table": table}]
    text = json.dumps(header)
    metadata = {bundle.HEADER: text, bundle.DIGEST: bundle._digest(text, safetensors.numpy.save(contents.weights))}
    (tmp_path / "old").write_bytes(safetensors.numpy.save(contents.weights, metadata=metadata))
    model = load(tmp_path / "old").model_
    looked_up = model.spending[model.costs()] if not left_out else model.frontier()
    for k in (2.0, 5.0, 11.3):
        rule = model.rule(AverageCost(k), model.costs())
        assert isinstance(rule, Penalty)
        assert rule == AverageCost(k).resolve(lambda: looked_up)


def test_predictions_that_differ_in_the_last_bits_of_float32_are_ties():
    same = np.array([0.3, 0.3 * (1 + 1e-8), 0.3 * (1 - 1e-8), 0.3])
    proba = np.stack([1 - same, same], axis=1)
    assert metrics.auroc(proba, np.array([0, 1, 0, 1]), np.ones((1, 4)))[0] == 0.5


def test_small_probabilities_keep_their_order():
    """Of a rare event, all of them are below a millionth."""
    score = np.arange(1, 9) * 1e-8
    proba = np.stack([1 - score, score], axis=1)
    assert metrics.auroc(proba, np.array([0, 0, 0, 0, 1, 1, 1, 1]), np.ones((1, 8)))[0] == 1


def test_a_model_whose_scores_are_sampled_keeps_a_curve_only_of_equal_prices(cases):
    """Walks of its own for each budget would take longer than its training."""
    priced = EddiClassifier(costs={"scan": 40}, hidden=8, epochs=2, random_state=0).fit(*cases).model_
    assert priced.curves == {}
    assert "penalty" in priced.frontier().columns
    equal = EddiClassifier(hidden=8, epochs=2, random_state=0).fit(*cases).model_
    assert set(equal.curves[equal.costs()]["rule"]) == {"budget", "confidence", "penalty", "average-cost"}


def test_with_equal_prices_one_walk_serves_the_frontier_and_the_curve(flowers, iris, monkeypatch):
    model = replace(flowers.model_, frontiers={}, spending={}, curves={})
    rows, walked = flowers.encode(iris[0]), []
    trace = model.trace
    monkeypatch.setattr(model, "trace", lambda *given, **more: walked.append(given) or trace(*given, **more))
    frontier.keep_frontier(model, rows, iris[1])
    assert len(walked) == 1
    for point in model.curves[model.costs()].iloc[::5].itertuples():
        rule = parse_rule(f"{point.rule}={point.parameter}")
        acquired = model.acquire(rows, rule)
        assert acquired.spent.mean() == pytest.approx(point.mean_cost)
        assert (flowers.classes_[acquired.proba.argmax(1)] == iris[1]).mean() == pytest.approx(point.accuracy)
