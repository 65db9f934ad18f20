"""Metrics of the order of probabilities are those of scikit-learn, with weights and ties."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, roc_curve

from askwise.core.tasks import Classification
from askwise.evaluation import metrics
from askwise.evaluation.ranked import average_precision, position_to_find, sensitivity_at_90_specificity


def of_two(ties: bool, share: float = 0.3, n: int = 300) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    y = (rng.random(n) < share).astype(int)
    second = 1 / (1 + np.exp(-rng.normal(1.5 * y, 1)))
    second = np.round(second * 8) / 8 * 0.9 + 0.05 if ties else np.round(second, 5)
    return np.column_stack([1 - second, second]), y, rng.integers(0, 4, size=(4, n)).astype(float)


@pytest.mark.parametrize("ties", [False, True])
def test_average_precision_of_two_classes_equals_scikit_learns(ties):
    proba, y, weights = of_two(ties)
    expected = [average_precision_score(y, proba[:, 1], sample_weight=w) for w in weights]
    assert average_precision(proba, y, weights) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("ties", [False, True])
def test_average_precision_of_several_classes_is_the_mean_over_them(ties):
    rng = np.random.default_rng(1)
    proba = rng.dirichlet(np.ones(3), size=200)
    proba = np.round(proba * 4) / 4 if ties else np.round(proba, 5)
    y, weights = rng.integers(0, 3, 200), rng.integers(0, 4, size=(3, 200)).astype(float)
    expected = [average_precision_score(np.eye(3)[y], proba, average="macro", sample_weight=w) for w in weights]
    assert average_precision(proba, y, weights) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("ties", [False, True])
def test_sensitivity_at_90_specificity_is_the_highest_of_the_roc_curve_there(ties):
    proba, y, weights = of_two(ties)
    expected = []
    for w in weights:
        false, found, _ = roc_curve(y, proba[:, 1], sample_weight=w, drop_intermediate=False)
        expected.append(found[false <= 0.1 + 1e-9].max())
    assert sensitivity_at_90_specificity(proba, y, weights) == pytest.approx(expected, abs=1e-12)


def test_the_label_to_find_is_the_second_unless_the_first_is_clearly_rarer():
    ones = np.ones((1, 10))
    assert [position_to_find(np.array([0] * k + [1] * (10 - k)), ones) for k in (2, 3, 4, 5, 8)] == [0, 0, 1, 1, 1]


def test_the_rare_label_is_found_whichever_stands_first():
    proba, y, weights = of_two(False, share=0.1)
    for metric in (average_precision, sensitivity_at_90_specificity):
        assert metric(proba[:, ::-1], 1 - y, weights) == pytest.approx(metric(proba, y, weights))


def test_without_rows_to_find_there_is_no_number():
    proba, _, weights = of_two(False)
    for y in (np.zeros(300, dtype=int), np.ones(300, dtype=int)):
        assert np.isnan(average_precision(proba, y, weights)).all()
        assert np.isnan(sensitivity_at_90_specificity(proba, y, weights)).all()


@pytest.mark.parametrize(("n_rare", "first"), [(10, "auroc"), (11, "accuracy")])
def test_auroc_and_sensitivity_lead_from_ninety_percent_of_one_class_on(n_rare, first):
    y = np.array([1] * n_rare + [0] * (100 - n_rare))
    proba = np.random.default_rng(0).dirichlet(np.ones(2), size=100)
    found = list(metrics.metrics(Classification((0, 1)), proba, y))
    second = "sensitivity_at_90_specificity" if first == "auroc" else "auroc"
    assert found[:2] == [first, second]


def test_of_several_classes_average_precision_stands_where_sensitivity_would():
    y = np.array([0] * 95 + [1, 2] * 2)
    proba = np.random.default_rng(0).dirichlet(np.ones(3), size=99)
    found = list(metrics.metrics(Classification((0, 1, 2)), proba, y))
    assert found[:2] == ["auroc", "average_precision"]
    assert "sensitivity_at_90_specificity" not in found
