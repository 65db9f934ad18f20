"""What a threshold decides, against numbers counted and formulas worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

from askwise import AskwiseError, Budget
from askwise.core.tasks import Classification, Regression
from askwise.evaluation.decisions import (
    BY_ROWS,
    BY_TRAINING,
    GRID,
    DecisionOptions,
    confusion,
    decide,
    decision_curve,
    measures,
    net_benefit,
)
from askwise.evaluation.intervals import bootstrap_draws, wilson

# Four true calls, two false ones, one missed, thirteen cleared.
CALLED = np.array([True] * 6 + [False] * 14)
FOUND = np.array([True] * 4 + [False] * 2 + [True] + [False] * 13)


def test_the_confusion_matrix_counts_rows():
    assert confusion(CALLED, FOUND).to_numpy().tolist() == [[4, 2], [1, 13]]


def test_each_measure_is_its_share_with_wilsons_interval():
    found = measures(CALLED, FOUND, 0.2, bootstrap_draws(20, 50))
    shares = {
        "sensitivity": (4, 5),
        "specificity": (13, 15),
        "positive_predictive_value": (4, 6),
        "negative_predictive_value": (13, 14),
    }
    for name, (right, n) in shares.items():
        line = found.loc[name]
        assert (line["value"], line["n"]) == (pytest.approx(right / n), n)
        assert (line["low"], line["high"]) == pytest.approx([float(end) for end in wilson(right / n, n)])


def test_net_benefit_is_true_calls_less_false_ones_by_the_odds_of_the_threshold():
    """At 20 %: (4 - 2 * 0.25) / 20."""
    assert measures(CALLED, FOUND, 0.2).loc["net_benefit", "value"] == pytest.approx(0.175)


def test_the_decision_curve_is_the_formula_at_every_threshold():
    rng = np.random.default_rng(0)
    probability, found = np.round(rng.random(200), 2), rng.random(200) < 0.3
    weight = rng.integers(0, 3, 200).astype(float)
    expected = []
    for t in GRID:
        called = probability >= t
        true, false = (weight[called & which].sum() for which in (found, ~found))
        expected.append((true - t / (1 - t) * false) / weight.sum())
    assert net_benefit(probability, found, weight) == pytest.approx(expected, abs=1e-12)


def test_calling_everybody_is_worth_the_prevalence_less_the_others_by_the_odds():
    found = np.arange(10) < 3
    table = decision_curve(np.full(10, 0.5), np.full(10, 0.5), found, bootstrap_draws(10, 20)).set_index("threshold")
    assert table.loc[0.25, "treat_all"] == pytest.approx(0.3 - 0.7 / 3)
    assert (table["treat_none"] == 0).all()
    assert (table["net_benefit_low"] <= table["net_benefit_high"]).all()


def test_weights_are_repeated_rows_in_every_number():
    rng = np.random.default_rng(3)
    weights = rng.integers(1, 4, 20).astype(float)
    twice = np.repeat(np.arange(20), weights.astype(int))
    assert (confusion(CALLED, FOUND, weights) == confusion(CALLED[twice], FOUND[twice])).all(axis=None)
    weighted, repeated = measures(CALLED, FOUND, 0.2, weights=weights), measures(CALLED[twice], FOUND[twice], 0.2)
    assert weighted["value"].tolist() == pytest.approx(repeated["value"].tolist())
    proba = rng.random(20)
    curves = (
        decision_curve(proba, proba, FOUND, weights=weights),
        decision_curve(*(x[twice] for x in (proba, proba, FOUND))),
    )
    assert curves[0].to_numpy() == pytest.approx(curves[1].to_numpy())


def test_under_unequal_weights_an_interval_is_that_of_the_draws():
    draws, weights = bootstrap_draws(20, 200), np.where(FOUND, 1.0, 3.0) * np.arange(1, 21)
    line = measures(CALLED, FOUND, 0.2, draws, weights=weights).loc["sensitivity"]
    drawn = [np.average(CALLED[FOUND], weights=(draw * weights)[FOUND]) for draw in draws if (draw * FOUND).any()]
    assert (line["low"], line["high"]) == pytest.approx(tuple(np.quantile(drawn, [0.025, 0.975])))
    plain, same = (measures(CALLED, FOUND, 0.2, draws, weights=w) for w in (None, np.full(20, 3.0)))
    assert plain.to_numpy() == pytest.approx(same.to_numpy())


def test_the_label_to_find_does_not_change_with_the_rows(clinic, new_cases):
    """Training says which is rarer; a test file of nearly one label only changes neither it nor metrics of it."""
    X, y = new_cases
    rarer = np.argmin(clinic.model_.card["prevalence"])
    for label in clinic.classes_:
        kept = np.flatnonzero(y == label)
        kept = np.r_[kept, np.flatnonzero(y != label)[: len(kept) // 9]]
        found = decide(clinic.model_, clinic.encode(X.iloc[kept]), y[kept], None, DecisionOptions(bootstrap=0))
        assert (found.label, found.chosen) == (clinic.classes_[rarer], BY_TRAINING)
        everything = clinic.curve(X.iloc[kept], y[kept]).sort_values("mean_cost").iloc[-1]
        proba = clinic.predict_proba(X.iloc[kept])[:, rarer]
        expected = average_precision_score(y[kept] == found.label, proba)
        assert everything["average_precision"] == pytest.approx(expected, abs=1e-4)


def test_a_model_that_does_not_tell_the_labels_of_training_goes_by_the_rows(clinic, new_cases):
    X, y = new_cases
    older = replace(clinic.model_, card={})
    found = decide(older, clinic.encode(X), y, None, DecisionOptions(bootstrap=0, stop=Budget(1)))
    assert found.chosen == BY_ROWS


def test_where_nobody_is_called_there_is_no_predictive_value():
    line = measures(np.zeros(20, dtype=bool), FOUND, 0.9, bootstrap_draws(20, 10)).loc["positive_predictive_value"]
    assert line["n"] == 0
    assert np.isnan([line["value"], line["low"], line["high"]]).all()


def test_predictions_are_those_of_the_rule_and_persons_are_counted(clinic, new_cases):
    X, y = new_cases
    persons = np.arange(len(y)) // 2
    found = decide(clinic.model_, clinic.encode(X), y, None, DecisionOptions(0.3, stop=Budget(3), persons=persons))
    called = clinic.predict_proba(X, stop=Budget(3))[:, list(clinic.classes_).index(found.label)] >= 0.3
    assert found.counts.loc["called"].sum() == called.sum()
    assert (found.n_persons, found.stopped) == (len(y) // 2, "stopping at budget=3")
    other = decide(clinic.model_, clinic.encode(X), y, None, DecisionOptions(positive=found.other, bootstrap=0))
    assert other.label == found.other
    assert "low" not in other.measures


def test_several_classes_are_not_told_apart_by_a_threshold(flowers, iris):
    X, y = iris
    assert decide(flowers.model_, flowers.encode(X), y, None, DecisionOptions()) is None


@pytest.mark.parametrize(
    ("options", "task", "says"),
    [
        (DecisionOptions(1.0), Classification((0, 1)), "above 0 and below 1, was given 1"),
        (DecisionOptions(-0.1), Classification((0, 1)), "above 0 and below 1"),
        (DecisionOptions(0.2), Classification((0, 1, 2)), "predicts one of 3 labels"),
        (DecisionOptions(0.2), Regression(0.0, 1.0), "predicts a number"),
        (DecisionOptions(positive="ill"), Classification(("sick", "well")), "unknown positive label 'ill'"),
    ],
)
def test_what_can_not_be_decided_is_an_error(options, task, says):
    with pytest.raises(AskwiseError, match=says):
        options.check(task)
