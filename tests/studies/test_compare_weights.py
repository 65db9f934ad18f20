"""A comparison under weights of rows."""

import numpy as np
import pandas as pd
import pytest

from askwise.studies.compare.baselines.registry import BASELINES
from askwise.studies.compare.data import TableData


def test_a_comparison_under_weights_is_another_and_tests_by_them():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"a": rng.random(99), "b": rng.random(99), "y": np.arange(99) % 2, "w": rng.integers(1, 4, 99)}
    )
    given = frame[["a", "b"]], frame["y"].to_numpy()
    plain, weighted = TableData("cases", *given), TableData("cases", *given, weights=frame["w"])
    assert plain.fingerprint != weighted.fingerprint
    split = weighted.split(0, 1000, 1000)
    assert len(split.weights) == len(split.y)
    assert len(split.weights_test) == len(split.y_test)
    assert plain.split(0, 1000, 1000).weights is None


@pytest.mark.parametrize("name", BASELINES)
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_a_baseline_learns_from_weights_as_from_repeated_rows(name, task):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({0: rng.integers(0, 2, 400).astype(float), 1: rng.standard_normal(400)})
    y = (rng.random(400) < np.where(X[0] == 1, 0.7, 0.3)).astype(int)
    weights = 1.0 + 4 * y
    y = y if task == "classification" else y.astype(float)
    fitted = BASELINES[name](task, 0, None, weights / weights.mean()).fit(X, y)
    answer = fitted.answer(X)
    answer = answer[:, 1] if task == "classification" else answer
    assert np.average(answer, weights=weights) == pytest.approx(np.average(y, weights=weights), abs=0.04)
