"""A comparison with the truth: its figures by hand, of policies whose errors are known, and of parallel trials."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
import torch

from askwise import DimeClassifier
from askwise.core.belief import Belief
from askwise.core.errors import AskwiseError
from askwise.core.policy import Policy
from askwise.core.tasks import Classification, entropy
from askwise.data.synthetic import DISTRIBUTIONS
from askwise.evaluation.known_truth import Comparison, compare
from askwise.model.model import Model
from askwise.studies.verify.trials import Trial, mean_scores, run_trials, shrinkage, summary, trials_of

NOT_OPEN = math.nan
TINY = {"hidden": 8, "epochs": 2, "pretrain_epochs": 2}


class Altered(Policy):
    """The exact policy, with scores and outputs changed."""

    def __init__(self, truth, scores=lambda scores: scores, outputs=lambda outputs: outputs):
        super().__init__(truth.schema.space)
        self.exact, self.scores, self.outputs = truth.policy, scores, outputs

    def forward(self, x, mask, scores=True):
        belief = self.exact(x, mask)
        return Belief(self.outputs(belief.outputs), self.scores(belief.scores) if scores else None)


def known(name):
    return DISTRIBUTIONS[name]()


def compared(name, n_rows=200, **changes):
    truth = DISTRIBUTIONS[name]()
    return compare(Model(truth.schema, truth.task, Altered(truth, **changes)), truth, n_rows, seed=5)


def at_first(name):
    """The exact belief before anything is known."""
    truth = DISTRIBUTIONS[name]()
    nothing = torch.zeros(1, len(truth.columns), dtype=torch.bool)
    x = torch.zeros(1, len(truth.columns), dtype=torch.float64)
    return truth.policy(x, nothing)


@pytest.fixture
def by_hand():
    """Two rows, two questions each: the first row asks well, the second wrongly and then has nothing left."""
    exact = np.array([[[0.4, 0.2], [0.1, 0.3]], [[NOT_OPEN, 0.2], [NOT_OPEN, NOT_OPEN]]])
    estimated = np.array([[[0.3, 0.2], [0.2, 0.1]], [[NOT_OPEN, 0.4], [NOT_OPEN, NOT_OPEN]]])
    choice = np.array([[0, 0], [1, -1]])
    divergence = np.array([[0.1, 0.3], [0.0, 0.2], [0.0, 0.0]])
    return Comparison(Classification((0, 1)), np.ones(2), estimated, exact, choice, divergence, pd.DataFrame())


def test_the_figures_of_a_small_comparison_are_those_found_by_hand(by_hand):
    figures = by_hand.figures()
    assert figures == {
        "error_chosen": pytest.approx((0.1 + 0.1 + 0.2) / 3),
        "error_open": pytest.approx((0.1 + 0 + 0.1 + 0.2 + 0.2) / 5),
        "relative_error_chosen": pytest.approx((0.25 + 1 + 1) / 3),
        # Ranks 4, 2.5, 2.5, 1, 5 against 5, 2.5, 1, 4, 2.5.
        "rank_correlation": pytest.approx(np.corrcoef([4, 2.5, 2.5, 1, 5], [5, 2.5, 1, 4, 2.5])[0, 1]),
        # Of the two moments with two open questions, the first is in the right order.
        "order": 0.5,
        "regret": pytest.approx((0 + 0.2 + 0) / 3),
        "divergence": pytest.approx(0.1),
    }


def test_regret_is_what_the_best_question_tells_more_than_its_price_buys_at_the_rate_paid(by_hand):
    dear_first = Comparison(**{**vars(by_hand), "costs": np.array([4.0, 1.0])})
    np.testing.assert_allclose(dear_first.chosen["regret"], [0.2 - 0.4 / 4, 0.3 - 0.1 / 4, 0], atol=1e-12)
    assert (dear_first.chosen["regret"] <= 0.4).all()


def test_order_sees_what_the_correlation_over_all_moments_does_not():
    """Upside down within every moment, yet large where much is unknown and small where little is."""
    found = compared("tests", scores=lambda scores: scores.max(1, keepdim=True).values - 0.1 * scores)
    figures = found.figures()
    assert figures["rank_correlation"] > 0
    assert figures["order"] < 0.1


@pytest.mark.parametrize(
    ("model", "truth", "words"),
    [
        (
            lambda: Model(known("tests").schema, known("tests").task, known("tests").policy),
            "costs",
            "its questions are",
        ),
        (lambda: DimeClassifier(), "tests", "estimator.model_"),
    ],
)
def test_a_model_of_something_else_is_refused(model, truth, words):
    with pytest.raises(AskwiseError, match=words):
        compare(model(), known(truth), 10, seed=0)


@pytest.mark.parametrize("name", ["tests", "costs", "gaussian"])
def test_the_exact_policy_has_no_error(name):
    found = compared(name)
    figures = found.figures()
    assert figures.pop("rank_correlation") == pytest.approx(1)
    assert figures.pop("order") == 1
    assert max(map(abs, figures.values())) < 1e-9
    np.testing.assert_allclose(found.scores["trained"], found.scores["exact_greedy"])


def test_halved_estimates_are_wrong_by_half_and_ask_the_same():
    found = compared("tests", scores=lambda scores: scores / 2)
    figures = found.figures()
    assert figures["error_chosen"] == pytest.approx(found.chosen["exact"].mean() / 2)
    assert figures["error_open"] == pytest.approx(np.nanmean(found.exact) / 2)
    assert figures["relative_error_chosen"] == pytest.approx(0.5)
    assert figures["rank_correlation"] == pytest.approx(1)
    assert figures["regret"] == pytest.approx(0, abs=1e-9)


def test_a_policy_that_asks_the_worst_regrets_the_difference_to_the_best():
    found = compared("tests", scores=lambda scores: 1 - scores)
    tells = at_first("tests").scores
    first = found.chosen[found.chosen["step"] == 0]
    assert set(first["group"]) == {int(tells.argmin())}
    np.testing.assert_allclose(first["regret"], float(tells.max() - tells.min()))
    assert found.figures()["rank_correlation"] == pytest.approx(-1)


def test_a_policy_that_always_says_even_odds_diverges_by_what_it_hides():
    found = compared("tests", outputs=torch.zeros_like)
    hidden = math.log(2) - float(entropy(at_first("tests").outputs))
    np.testing.assert_allclose(found.divergence[0], hidden)


def test_numbers_diverge_by_the_squared_distance_of_predictions():
    found = compared("gaussian", outputs=lambda outputs: outputs + 0.5)
    assert found.figures()["divergence"] == pytest.approx(0.25)


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
    some = [o for o in outcomes if o.trial.rows == 100]
    again = run_trials([o.trial for o in some], TINY, jobs=2, progress=told.append)
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
