"""A comparison with the truth: its figures by hand, and of policies whose errors are known."""

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

NOT_OPEN = math.nan


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
