"""Trainings on known distributions: every trial once, the same in parallel processes, and their summaries."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from askwise.core.errors import AskwiseError
from askwise.data.synthetic import DISTRIBUTIONS
from askwise.studies.verify.trials import Trial, mean_scores, run_trials, shrinkage, summary, trials_of

TINY = {"hidden": 8, "epochs": 1, "pretrain_epochs": 1}


@pytest.fixture(scope="module")
def outcomes():
    return run_trials(trials_of(["tests", "gaussian"], [150, 100], seeds=2), TINY, jobs=1)


def test_trials_are_every_task_rows_and_seed_once():
    assert trials_of(["prior", "tests", "prior"], [300, 100], 1) == [
        Trial("prior", 100, 0), Trial("prior", 300, 0), Trial("tests", 100, 0), Trial("tests", 300, 0),
    ]  # fmt: skip
    with pytest.raises(AskwiseError, match=r"unknown task 'cub'; did you mean 'cube'\? allowed: 'tests', "):
        trials_of(["tests", "cub"], [100], 1)


def test_trials_give_the_same_numbers_in_parallel_processes(outcomes):
    told = []
    some = [o for o in outcomes if (o.trial.rows, o.trial.seed) == (100, 1)]
    again = run_trials([o.trial for o in some], TINY, jobs=2, progress=told.append)
    assert len(again) == 2
    for one, other in zip(some, again, strict=True):
        assert (one.trial, one.figures) == (other.trial, other.figures)
        pd.testing.assert_frame_equal(one.scores, other.scores)
        pd.testing.assert_frame_equal(one.pairs, other.pairs)
    assert told == sorted(told)
    assert all(0 <= fraction <= 1 for fraction in told)


def test_seeds_differ_in_rows_and_training(outcomes):
    first, second = (o.figures["error_chosen"] for o in outcomes if (o.trial.task, o.trial.rows) == ("tests", 100))
    assert first != second


def test_a_number_s_errors_are_parts_of_its_variance(outcomes):
    (outcome,) = (o for o in outcomes if o.trial == Trial("gaussian", 100, 0))
    # No question tells more than the whole variance, which is far from 1 here.
    assert DISTRIBUTIONS["gaussian"]().task.unit > 2
    assert 0 < outcome.pairs["exact"].max() < 0.5
    assert outcome.record()["unit"] == "parts of the variance of y"


def test_the_summary_is_the_mean_and_deviation_over_seeds(outcomes):
    table = summary(outcomes)
    assert table[["task", "rows", "seeds"]].to_numpy().tolist() == [
        ["tests", 100, 2], ["tests", 150, 2], ["gaussian", 100, 2], ["gaussian", 150, 2],
    ]  # fmt: skip
    regrets = [o.figures["regret"] for o in outcomes[:2]]
    assert table["regret"][0] == pytest.approx(np.mean(regrets))
    assert table["regret_sd"][0] == pytest.approx(np.std(regrets, ddof=1))
    at_one = [o.scores["trained"][1] for o in outcomes[:2]]
    assert mean_scores(outcomes)["trained"][1] == pytest.approx(np.mean(at_one))


def test_shrinkage_has_a_line_for_each_figure_and_a_column_for_each_number_of_rows(outcomes):
    table = summary(outcomes)
    wide = shrinkage(table)
    assert list(wide.columns) == [100, 150]
    assert list(wide.index) == [(task, f) for task in ("tests", "gaussian") for f in ("error_chosen", "divergence")]
    np.testing.assert_allclose(wide.loc["gaussian", "divergence"], table["divergence"][2:])
