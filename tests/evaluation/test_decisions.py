"""What a threshold decides, against numbers counted and formulas worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from askwise import AskwiseError, Budget
from askwise.core.tasks import Classification, Regression
from askwise.evaluation.decisions import (
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
