"""Calibration: what a model says of itself against what is true."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch

from askwise import Budget, DimeClassifier
from askwise.core.rows import Rows
from askwise.core.tasks import Classification, Regression
from askwise.data.tables.schema import Schema
from askwise.evaluation import calibration
from askwise.evaluation.estimates import estimates_summary, realised, realised_bins
from askwise.evaluation.metrics import BINS, equal_mass_bins, expected_calibration_error
from askwise.model.model import Model


def ece(proba, y):
    return expected_calibration_error(proba, y, np.ones((1, len(y))))[0]


def synthetic(n=3000, seed=0, sharpness=1.0):
    """Probabilities and labels drawn from them; with a sharpness above 1 they claim more than they know."""
    rng = np.random.default_rng(seed)
    true = rng.dirichlet(np.ones(3), size=n)
    y = (true.cumsum(1) < rng.random(n)[:, None]).sum(1)
    claimed = true**sharpness
    return claimed / claimed.sum(1, keepdims=True), y


# Bins and predictions


def test_bins_hold_equally_many_rows_in_order():
    by = np.random.default_rng(0).random(1003)
    bins = equal_mass_bins(by, np.ones((1, 1003)))[0]
    assert set(np.bincount(bins)) <= {100, 101}
    assert (np.diff(bins[np.argsort(by)]) >= 0).all()


def test_rows_with_the_same_value_share_a_bin_whatever_their_order():
    by = np.array([0.9] * 95 + [0.5] * 5)
    assert len(np.unique(equal_mass_bins(by, np.ones((1, 100)))[0])) == 2
    last_bit = np.array([0.7, 0.7 + 1e-16] * 50)
    assert len(np.unique(equal_mass_bins(last_bit, np.ones((1, 100)))[0])) == 1


def test_weights_move_the_edges_of_bins():
    by = np.arange(20.0)
    bins = equal_mass_bins(by, np.where(by < 10, 9.0, 1.0)[None])[0]
    assert bins[:10].max() < bins[10:].min() == bins[10:].max() == BINS - 1


def test_a_perfectly_calibrated_model_shows_the_error_of_a_perfect_model():
    found = [(ece(*synthetic(seed=seed)), calibration.perfect_ece(synthetic(seed=seed)[0])) for seed in range(8)]
    errors, perfect = np.array(found).T
    assert errors.mean() == pytest.approx(perfect.mean(), rel=0.2)
    assert perfect.min() > 0.01


def test_a_perfect_model_stays_below_what_chance_explains_in_nineteen_of_twenty_samples():
    above = [ece(proba, y) > np.quantile(calibration.drawn_ece(proba), 0.95) for proba, y in map(sample, range(200))]
    assert 0.01 < np.mean(above) < 0.10


def sample(seed):
    return synthetic(n=300, seed=seed)


def test_an_overconfident_model_shows_more():
    proba, y = synthetic(sharpness=3)
    assert ece(proba, y) > 5 * calibration.perfect_ece(proba)
    table = calibration.reliability(proba, y)
    assert (table["confidence"] > table["high"]).sum() >= 8


def test_the_error_of_a_perfect_model_is_the_mean_over_drawn_labels():
    proba, _ = synthetic(n=200)
    rng = np.random.default_rng(1)
    drawn = [ece(proba, (proba.cumsum(1) < rng.random(200)[:, None]).sum(1)) for _ in range(400)]
    assert calibration.perfect_ece(proba, draws=400) == pytest.approx(np.mean(drawn), rel=0.05)
    assert calibration.perfect_ece(proba) == calibration.perfect_ece(proba)


def test_the_gaps_of_the_reliability_table_are_the_ece():
    proba, y = synthetic(sharpness=2)
    table = calibration.reliability(proba, y)
    gaps = (table["accuracy"] - table["confidence"]).abs()
    assert (gaps * table["n"]).sum() / table["n"].sum() == pytest.approx(ece(proba, y))
    assert ((table["low"] < table["accuracy"]) & (table["accuracy"] < table["high"])).all()


def test_the_interval_of_an_accuracy_is_wilsons():
    """Nine of ten right: 0.596 to 0.982. All of ten right: from 0.722, not from 1."""
    proba = np.array([[0.9, 0.1]] * 10)
    found = calibration.reliability(proba, np.array([0] * 9 + [1])).iloc[0]
    assert (found["low"], found["high"]) == pytest.approx((0.596, 0.982), abs=1e-3)
    sure = calibration.reliability(proba, np.zeros(10, dtype=int)).iloc[0]
    assert (sure["low"], sure["high"]) == pytest.approx((0.722, 1.0), abs=1e-3)


def test_numbers_are_compared_in_bins_of_the_prediction():
    rng = np.random.default_rng(0)
    prediction = rng.normal(size=4000)
    table = calibration.number_reliability(prediction, prediction + rng.normal(size=4000))
    assert table["n"].tolist() == [400] * 10
    assert ((table["low"] < table["prediction"]) & (table["prediction"] < table["high"])).sum() >= 8
    assert (table["high"] - table["low"]).mean() == pytest.approx(2 * 1.96 / 20, rel=0.15)


def test_the_interval_of_a_mean_is_that_of_the_textbook_however_large_the_numbers():
    truth = np.array([1.0, 2.0, 4.0, 3.0, 5.0, 7.0])
    found, far = (calibration.number_reliability(np.repeat([1.0, 2.0], 3), truth + shift) for shift in (0, 1e8))
    half = 1.96 * np.array([truth[:3].std(ddof=1), truth[3:].std(ddof=1)]) / np.sqrt(3)
    assert (found["high"] - found["truth"]).tolist() == pytest.approx(half.tolist())
    assert (far["high"] - far["truth"]).tolist() == pytest.approx(half.tolist(), rel=1e-6)


def test_a_bin_of_one_row_claims_no_certainty():
    found = calibration.number_reliability(np.arange(5.0), np.arange(5.0))
    assert found["n"].tolist() == [1] * 5
    assert found[["low", "high"]].isna().all(axis=None)
    one_row = questions_of([0.1, 0.1, 0.1], [0.2, 0.3, 0.1], [4, 4, 4])
    assert realised_bins(one_row)["loss_reduction_error"].isna().all()
    assert math.isnan(estimates_summary(one_row)["realised_over_predicted_error"])


def test_confidence_counts_every_row_once_as_right_or_wrong():
    proba, y = synthetic(n=500)
    table = calibration.confidence_counts(proba, y)
    assert table["right"].sum() == (proba.argmax(1) == y).sum()
    assert table["wrong"].sum() == (proba.argmax(1) != y).sum()
    assert table.loc[table["high"] <= 0.32, ["right", "wrong"]].to_numpy().sum() == 0


@pytest.mark.parametrize(
    ("prices", "budget"),
    [([1] * 64, 15), ([2] * 16, 30), ([1, 3] * 10, 30), ([1] * 15, 8), ([1] * 4, 2), ([1, 2, 7], 5), ([3], 3)],
)
def test_the_budget_is_that_of_fifteen_questions_or_half_of_few(prices, budget):
    assert calibration.calibration_budget(prices) == budget


# Estimates


def model_of(policy, task):
    """A model around a policy of the tests, whose groups are g0, g1, ..."""
    frame = pd.DataFrame({name: [0.0, 1.0] for name in policy.space.names})
    return Model(Schema.of(frame, costs=list(policy.space.costs)), task, policy)


def rows_of(n, n_groups, missing=()):
    present = torch.ones(n, n_groups, dtype=torch.bool)
    for place in missing:
        present[place] = False
    return Rows(torch.zeros(n, n_groups), present, present)


def only_age(X):
    """The clinic's rows before anything is asked: age is free."""
    return X.astype(object).assign(**{name: np.nan for name in X.columns if name != "age"})


def test_realised_reductions_are_those_of_predictions_question_by_question(clinic, new_cases):
    X, y = new_cases
    table = realised(clinic.model_, clinic.encode(X), y, budget=20)
    found = clinic.acquire(X, stop=Budget(20))
    assert table.groupby("row")["asked"].agg(list).to_dict() == {i: o for i, o in enumerate(found.order) if o}
    for row in (0, 17):
        partial = only_age(X.iloc[[row]])
        losses, entropies = [], []
        for asked in [None, *found.order[row]]:
            if asked is not None:
                columns = [c.name for c in clinic.model_.schema.columns_of(asked)]
                partial[columns] = X.iloc[[row]][columns]
            proba = clinic.predict_proba(partial)[0]
            losses.append(-math.log(proba[clinic.classes_.tolist().index(y[row])]))
            entropies.append(-(proba * np.log(proba)).sum())
        part = table[table["row"] == row]
        assert part["loss_reduction"].tolist() == pytest.approx((-np.diff(losses)).tolist())
        assert part["entropy_reduction"].tolist() == pytest.approx((-np.diff(entropies)).tolist())
        assert part["entropy"].tolist() == pytest.approx(entropies[:-1])


def test_what_is_predicted_is_information_not_information_per_cost(clinic, new_cases):
    X, y = new_cases
    table = realised(clinic.model_, clinic.encode(X), y, budget=1000)
    first = table[table["step"] == 1]
    known = clinic.information(only_age(X)).iloc[first["row"]]
    said = [known.iloc[i][asked] for i, asked in enumerate(first["asked"])]
    assert first["predicted"].tolist() == pytest.approx(said)
    assert (table["largest"] >= table["predicted"]).all()


def test_a_budget_ends_the_path_and_what_is_missing_is_not_asked(table_policy):
    policy = table_policy(costs=[1, 1, 1], scores=[0.3, 0.2, 0.1])
    rows = rows_of(2, 3, missing=[(1, 0)])
    table = realised(model_of(policy, Classification((0, 1))), rows, np.array([0, 1]), budget=2)
    assert table[["row", "step", "asked"]].to_numpy().tolist() == [
        [0, 1, "g0"], [0, 2, "g1"], [1, 1, "g1"], [1, 2, "g2"],
    ]  # fmt: skip


def test_an_estimate_below_zero_promises_nothing(table_policy):
    policy = table_policy(costs=[1, 1], scores=[-0.3, -0.2])
    table = realised(model_of(policy, Classification((0, 1))), rows_of(2, 2), np.array([0, 1]), budget=2)
    assert table["predicted"].tolist() == table["largest"].tolist() == [0] * 4


def test_questions_dearer_than_the_budget_are_named(table_policy):
    policy = table_policy(costs=[1, 9, 2], scores=[0.3, 0.2, 0.1])
    found = calibration.calibration(model_of(policy, Classification((0, 1))), rows_of(4, 3), np.array([0, 1, 0, 1]))
    assert (found.budget, found.too_dear) == (6, ("g1",))


def test_estimates_above_the_entropy_are_counted(table_policy):
    """The entropy is log 2 throughout; the first estimate of 0.8 is above it, what is left then is not."""
    scores = {(): [0.8, 0.1, 0.0], (0,): [0.0, 0.1, 0.0]}
    policy = table_policy(costs=[1, 1, 1], scores=[0.0, 0.0, 0.0], by_known=scores)
    table = realised(model_of(policy, Classification((0, 1))), rows_of(5, 3), np.zeros(5, dtype=int), 2)
    assert table["entropy"].tolist() == pytest.approx([math.log(2)] * 10)
    assert estimates_summary(table)["share_above_entropy"] == 0.5


def test_the_bounded_scaling_never_exceeds_the_entropy_and_others_may(iris, fast, flowers):
    X, y = iris
    bounded = calibration.calibration(flowers.model_, flowers.encode(X), y).summary
    free = DimeClassifier(scaling="none", **fast).fit(X, y)
    with torch.no_grad():
        free.model_.policy.networks.value.head.bias += 5
    # A new model, since the fitted one keeps a copy of its policy to run.
    unbounded = calibration.calibration(replace(free.model_), free.encode(X), y).summary
    assert (bounded["share_above_entropy"], unbounded["share_above_entropy"]) == (0, 1)


def questions_of(predicted, brought, rows):
    return pd.DataFrame({"row": rows, "predicted": predicted, "loss_reduction": brought})


def test_the_summary_of_estimates_is_a_ratio_and_a_slope():
    table = questions_of([1.0, 2.0, 3.0], [0.5, 2.5, 4.5], [0, 1, 2])
    found = estimates_summary(table)
    assert (found["realised_over_predicted"], found["slope"]) == pytest.approx((7.5 / 6, 2.0))
    assert found["slope_error"] == pytest.approx(0, abs=1e-12)


def test_the_errors_of_ratio_and_slope_are_their_spread_over_samples_of_whole_rows():
    def drawn(seed):
        rng = np.random.default_rng(seed)
        rows, luck = np.repeat(np.arange(150), 4), np.repeat(rng.normal(size=150), 4)
        predicted = rng.random(600)
        return estimates_summary(questions_of(predicted, 0.8 * predicted * (1 + luck), rows))

    found = pd.DataFrame([drawn(seed) for seed in range(200)])
    for name in ("realised_over_predicted", "slope"):
        assert found[name].mean() == pytest.approx(0.8, abs=0.03)
        assert found[f"{name}_error"].mean() == pytest.approx(found[name].std(), rel=0.15)


def test_binned_reductions_are_means_with_errors_that_count_whole_rows():
    rng = np.random.default_rng(0)
    predicted = rng.random(1000)
    table = questions_of(predicted, predicted + rng.normal(size=1000), np.arange(1000))
    bins = realised_bins(table)
    assert bins["n"].tolist() == [100] * 10
    order = np.argsort(predicted)[:100]
    assert bins["loss_reduction"][0] == pytest.approx(table["loss_reduction"].iloc[order].mean())
    assert bins["loss_reduction_error"][0] == pytest.approx(table["loss_reduction"].iloc[order].sem())
    twice = realised_bins(pd.concat([table, table]))
    assert twice["loss_reduction_error"].tolist() == pytest.approx(bins["loss_reduction_error"].tolist())


def test_a_policy_that_only_orders_has_no_estimates(table_policy):
    policy = table_policy(costs=[1, 1], scores=[2.0, 1.0], is_information=False)
    found = calibration.calibration(model_of(policy, Classification((0, 1))), rows_of(4, 2), np.array([0, 1, 0, 1]))
    assert found.questions is None
    assert "realised_over_predicted" not in found.summary
    assert found.summary["ece"] == 0


def test_a_number_has_estimates_and_no_ece(progression, diabetes):
    X, y = diabetes
    found = calibration.calibration(progression.model_, progression.encode(X), y.to_numpy())
    assert isinstance(found.task, Regression)
    estimates = {"realised_over_predicted", "slope"}
    assert set(found.summary) == {"budget", *estimates, *(f"{name}_error" for name in estimates)}
    assert found.at_budget == pytest.approx(progression.predict(X, stop=Budget(found.budget)))
    before = ((y - found.task.center) ** 2).mean()
    after = ((y - found.at_budget) ** 2).mean()
    assert found.questions["loss_reduction"].sum() / len(y) == pytest.approx(before - after, rel=0.2)


def test_the_numbers_of_a_calibration_are_those_of_predictions(clinic, new_cases):
    X, y = new_cases
    found = calibration.calibration(clinic.model_, clinic.encode(X), y)
    truth = clinic.model_.task.encode(y).numpy()
    assert found.summary["ece"] == ece(clinic.predict_proba(X, stop=Budget(found.budget)), truth)
    assert found.summary["ece_everything"] == ece(clinic.predict_proba(X), truth)
    for name in ("ece", "ece_everything"):
        assert found.summary[f"{name}_if_perfect"] < found.summary[f"{name}_if_perfect_high"]
