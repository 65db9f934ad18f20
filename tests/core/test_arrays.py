"""What tensors and arrays do differently."""

import math

import numpy as np
import pytest
import torch

from askwise.core.arrays import any_in_row, largest, like, namespace, one_in_row
from askwise.core.arrays import log_softmax as log_probabilities
from askwise.core.tasks import entropy
from askwise.core.tensors import at_least_float32


def both(values, **settings):
    """The same numbers as a tensor and as an array."""
    array = np.array(values, **settings)
    return torch.from_numpy(array.copy()), array


def test_the_namespace_is_the_module_whose_functions_take_the_array():
    for array, module in zip(both([[1.0, 2.0]]), (torch, np), strict=True):
        assert namespace(array) is module
        assert namespace(array).amax(array, 1).tolist() == [2.0]


def test_the_largest_is_the_first_of_equals():
    inf = math.inf
    rows = [[1, 3, 3, 2], [0, 0, 0, 0], [-inf, -inf, -inf, -inf], [-1, -inf, -1, -2], [0.0, -0.0, 0.0, -1]]
    for values in both(rows, dtype=np.float64):
        best, place = largest(values)
        assert place.tolist() == [1, 0, 0, 0, 0]
        assert best.tolist() == [3, 0, -inf, -1, 0]


def test_the_first_of_equals_is_found_in_rows_of_any_length():
    """Vector instructions compare many at once: the first must be the first also where equals meet in other lanes."""
    rng = np.random.default_rng(0)
    for width in (1, 2, 7, 8, 9, 31, 64, 500):
        for values in both(rng.integers(0, 3, (200, width)).astype(np.float32)):
            _, place = largest(values)
            assert place.tolist() == [row.index(max(row)) for row in values.tolist()]


def test_one_in_row_is_the_entry_at_each_index():
    values = np.arange(12.0).reshape(4, 3)
    for rows, index in zip(both(values), both([2, 0, 1, 1]), strict=True):
        assert one_in_row(rows, index).tolist() == [2, 3, 7, 10]


@pytest.mark.parametrize("width", [1, 2, 40])
def test_any_in_row_tells_which_rows_hold_a_truth(width):
    truths = np.random.default_rng(0).random((300, width)) < 1 / width
    truths[0], truths[1] = False, True
    for found in map(any_in_row, both(truths)):
        assert found.tolist() == [any(row) for row in truths.tolist()]


def test_any_in_row_takes_views_of_other_tensors():
    truths = torch.rand(6, 10, generator=torch.Generator().manual_seed(0)) < 0.2
    for view in (truths.T, truths[:, ::3], truths[:1].expand(4, -1)):
        assert any_in_row(view).tolist() == view.any(1).tolist()


def test_an_array_in_the_precision_of_another_keeps_its_numbers():
    for values, other in zip(both([0.5, 2.0]), both([1.0], dtype=np.float32), strict=True):
        assert like(values, other).dtype == other.dtype
        assert like(values, other).tolist() == [0.5, 2.0]
        assert like(values, values) is values


def test_only_half_precision_is_widened():
    for dtype in (torch.bfloat16, torch.float16):
        assert at_least_float32(torch.ones(2, dtype=dtype)).dtype == torch.float32
    for dtype in (torch.float32, torch.float64):
        ones = torch.ones(2, dtype=dtype)
        assert at_least_float32(ones) is ones


@pytest.mark.parametrize("size", [1e-3, 1, 30, 1e3])
def test_log_softmax_and_entropy_of_tensors_and_arrays_agree(size):
    tensor, array = both(np.random.default_rng(0).normal(scale=size, size=(200, 5)))
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        logs, surprise = log_probabilities(array), entropy(array)
    assert logs == pytest.approx(log_probabilities(tensor).numpy(), rel=1e-12, abs=1e-14)
    assert surprise == pytest.approx(entropy(tensor).numpy(), rel=1e-12, abs=1e-14)
    assert np.exp(logs).sum(1) == pytest.approx(1)


def exact_entropy(gap, n_classes):
    """Of one class whose logit lies above all the others by a gap."""
    others = (n_classes - 1) * math.exp(-gap)
    return math.log1p(others) + gap * others / (1 + others)


@pytest.mark.parametrize("gap", [0.0, 1.0, 5.0, 10.0, 15.0, 20.0, 24.0])
@pytest.mark.parametrize("n_classes", [2, 10])
def test_the_entropy_of_a_very_sure_prediction_keeps_its_digits(gap, n_classes):
    logits = [[gap] + [0.0] * (n_classes - 1), [-3.0 - gap] * (n_classes - 1) + [-3.0]]
    for found in (entropy(torch.tensor(logits, dtype=torch.float32)), entropy(np.array(logits))):
        assert found.tolist() == pytest.approx([exact_entropy(gap, n_classes)] * 2, rel=1e-6)
    assert entropy(torch.tensor(logits, dtype=torch.float32)).dtype == torch.float32


def test_the_entropy_of_certainty_is_nothing_and_never_below():
    for logits in both([[0.0, -200.0, -3e38], [50.0, 0.0, 0.0], [1e4, -1e4, 0.0]]):
        assert entropy(logits)[2] == 0
        assert (entropy(logits) >= 0).all()
        assert not namespace(logits).isnan(entropy(logits)).any()
