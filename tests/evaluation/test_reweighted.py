"""Figures reweighted against gaps: as if who had been recorded said nothing."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
import torch

from askwise import AskwiseWarning, Budget, DimeClassifier
from askwise.evaluation.reweighted import gaps_to_weigh, weights_against_gaps, with_answers
from askwise.evaluation.weights import RowWeights

SMALL = {"random_state": 0, "hidden": 16, "layers": 1, "soft_answers": False, "lookahead": 0, "epochs": 8}


def records(n_rows, seed):
    """A column that tells, a free one, and a lab of noise that most of the sick have."""
    rng = np.random.default_rng(seed)
    sick = rng.integers(0, 2, n_rows)
    X = pd.DataFrame({"telling": rng.normal(size=n_rows) + sick, "lab": rng.normal(size=n_rows)})
    X.loc[rng.random(n_rows) > np.where(sick, 0.8, 0.2), "lab"] = np.nan
    return X, np.where(sick, "sick", "well")


@pytest.fixture(scope="module")
def models():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AskwiseWarning)
        X, y = records(1200, 0)
        return {missing: DimeClassifier(**SMALL, missing=missing).fit(X, y) for missing in ("ignore", "auto")}


def everything(table):
    return table[table["rule"] == "budget"].iloc[-1]


def test_a_model_that_learnt_the_gaps_is_ahead_as_recorded_and_behind_reweighted(models):
    rows = records(3000, 1)
    loss = {
        (missing, reweighted): everything(m.curve(*rows, reweighted=reweighted))["log_loss"]
        for missing, m in models.items()
        for reweighted in (False, True)
    }
    assert loss["ignore", False] < loss["auto", False] - 0.05
    assert loss["auto", True] < loss["ignore", True] - 0.02


def test_what_is_asked_in_vain_costs_nothing_reweighted(models):
    X, y = records(500, 1)
    table = models["auto"].curve(X, y, reweighted=True)
    assert everything(table)["mean_cost"] == pytest.approx(1.5, abs=0.05)


def test_states_are_weighed_by_what_was_tried_so_far(models):
    model = models["auto"].model_
    rows = with_answers(model, models["auto"].encode(records(2000, 2)[0]), records(2000, 2)[1])
    states = weights_against_gaps(model, rows)
    rows = states.rows_with_tries(rows)
    trace = model.trace(rows, [Budget(9)], model.costs())
    weights = RowWeights.of(rows, states)
    of_states = weights.of_states(trace)
    assert np.allclose(of_states[0], 1)
    assert np.allclose(of_states[-1], weights.of_rows)
    assert np.allclose(weights.take(torch.arange(5)).of_rows, weights.of_rows[:5])


def test_without_such_gaps_there_is_nothing_to_weigh(models):
    X, y = records(300, 1)
    full = models["auto"].encode(X.fillna(0.0))
    assert gaps_to_weigh(models["auto"].model_, full) == []
    with pytest.warns(AskwiseWarning, match="not reweighted: each of the groups .* in all of these rows, or in none"):
        same = models["auto"].curve(X.fillna(0.0), y, reweighted=True)
    pd.testing.assert_frame_equal(same, models["auto"].curve(X.fillna(0.0), y))


def test_a_model_whose_gaps_told_nothing_says_that_there_is_nothing_to_weigh():
    X, y = records(300, 1)
    model = DimeClassifier(**SMALL | {"epochs": 1, "pretrain_epochs": 1}).fit(X.fillna(0.0), y)
    with pytest.warns(AskwiseWarning, match="not reweighted: no group's gaps told the answer in training"):
        model.curve(X, y, reweighted=True)
