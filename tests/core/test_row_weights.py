"""Weights of rows: what is refused, how they are scaled, and how many rows they are worth."""

import numpy as np
import pandas as pd
import pytest
import torch

from askwise import AskwiseError
from askwise.core.row_weights import check_row_weights, effective_rows, rows_in_proportion, scaled_to_mean_1
from askwise.core.rows import Rows
from askwise.core.tasks import Classification, Regression


@pytest.mark.parametrize("given", [[1, 2, 0], pd.Series([1, 2, 0]), np.array([1, 2, 0], dtype=np.uint8), (1.0, 2.0, 0)])
def test_lists_series_and_whole_numbers_are_weights(given):
    assert check_row_weights(given, 3).tolist() == [1.0, 2.0, 0.0]


WRONG = {
    "sample_weight has 2 weights for 3 rows": [1, 2],
    "sample_weight is missing or not finite in 2 rows, first in row 1": [1, np.nan, np.inf],
    "sample_weight is negative in 1 row, first in row 2": [1, 1, -1],
    "sample_weight is zero in all 3 rows": [0, 0, 0],
    "sample_weight must hold numbers, it holds .a. in row 0": ["a", "b", "c"],
    "sample_weight must be 1D": [[1], [1], [1]],
    "sample_weight must be 1D, a list or column of weights, was given 2": 2,
}


@pytest.mark.parametrize("message", WRONG)
def test_weights_that_can_not_be_are_refused(message):
    with pytest.raises(AskwiseError, match=message):
        check_row_weights(WRONG[message], 3)


def test_weights_have_a_mean_of_1_and_equal_ones_are_none():
    assert scaled_to_mean_1(np.array([1.0, 3.0])).tolist() == [0.5, 1.5]
    assert scaled_to_mean_1(np.array([1e300, 3e300])).tolist() == pytest.approx([0.5, 1.5])
    assert scaled_to_mean_1(np.array([7.0, 7.0])) is None


def test_effective_rows_are_those_that_count():
    assert effective_rows(None, 5) == 5
    assert effective_rows(np.array([2.0, 2.0, 0.0]), 3) == pytest.approx(2)
    assert effective_rows(np.array([3.0, 1.0]), 2) == pytest.approx(16 / 10)


def test_rows_in_proportion_appear_as_often_as_they_weigh():
    assert np.bincount(rows_in_proportion(np.array([1.0, 3.0, 0.0, 2.0]), 12)).tolist() == [2, 6, 0, 4]


def test_batches_carry_the_weights_of_their_rows_and_0_for_padding():
    rows = Rows(torch.arange(5.0)[:, None], *[torch.ones(5, 1, dtype=torch.bool)] * 2, torch.arange(5))
    weighted = Rows(rows.x, rows.present, rows.available, rows.y, weight=torch.arange(1.0, 6.0))
    batches = list(weighted.shuffled_batches(2, 3, torch.device("cpu")))
    assert sum(float(weight.sum()) for _, weight in batches) == 15
    assert all(w in (0, y + 1) for rows, weight in batches for w, y in zip(weight, rows.y, strict=True))
    assert weighted.take(slice(2, 4)).weight.tolist() == [3, 4]


def test_base_rates_count_rows_by_their_weights():
    y, weight = torch.tensor([0, 1, 1]), torch.tensor([2.0, 0.5, 0.5])
    assert Classification((0, 1)).base_outputs(y, weight).exp().tolist() == pytest.approx([2 / 3, 1 / 3])
    assert Regression(0.0, 1.0).base_outputs(y.float(), weight).tolist() == pytest.approx([1 / 3])
