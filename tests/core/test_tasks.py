"""Losses and answers."""

import math

import numpy as np
import pytest
import torch
from sklearn.metrics import log_loss

from askwise.core.tasks import Classification, Regression, entropy, task_from_dict


@pytest.mark.parametrize(
    ("shares", "nats"),
    [((1, 1, 1), math.log(3)), ((1, 0, 0), 0.0), ((0.25, 0.75), -(0.25 * math.log(0.25) + 0.75 * math.log(0.75)))],
)
def test_entropy_is_in_nats_from_certain_to_uniform(shares, nats):
    logits = torch.tensor(shares, dtype=torch.float64).clamp_min(1e-300).log()
    assert entropy(logits).item() == pytest.approx(nats)


def test_classification_loss_is_the_cross_entropy():
    task = Classification(("a", "b", "c"))
    outputs = torch.randn(20, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    y = np.array(list("abcabcabcabcabcabcab"))
    losses = task.loss(outputs, task.encode(y))
    assert losses.mean().item() == pytest.approx(log_loss(y, task.decode(outputs), labels=["a", "b", "c"]))


@pytest.mark.parametrize("labels", [("no", "yes"), (0, 1), (False, True), (-1, 7), (1.5, 2.5)])
def test_labels_of_every_type_are_encoded_by_position_and_survive_a_dict(labels):
    task = Classification(labels)
    assert task.encode(np.array(labels)[[1, 0, 1]]).tolist() == [1, 0, 1]
    assert task_from_dict(task.to_dict()) == task


def test_the_weighted_loss_is_lowest_at_the_true_prevalence():
    """With 9 rows of one class and 1 of the other, the best constant logits give 0.9 and 0.1, whatever the weights."""
    task = Classification(("a", "b"), weights=(1 / 1.8, 5.0))
    y = torch.tensor([0] * 9 + [1])
    shares = torch.linspace(0.5, 0.99, 99, dtype=torch.float64)
    losses = [
        task.training_loss(torch.stack([share, 1 - share]).log().expand(10, 2), y).mean().item() for share in shares
    ]
    assert shares[int(np.argmin(losses))].item() == pytest.approx(0.9, abs=0.006)


def test_without_weights_the_training_loss_is_the_loss():
    task, outputs, y = Classification(("a", "b")), torch.randn(8, 2), torch.tensor([0, 1] * 4)
    assert torch.equal(task.training_loss(outputs, y), task.loss(outputs, y))


def test_regression_loss_is_in_squared_units_of_y():
    task = Regression(center=100.0, scale=10.0)
    y = np.array([90.0, 120.0])
    outputs = torch.tensor([[0.0], [5.0]])
    assert task.decode(outputs).tolist() == [100.0, 105.0]
    assert task.loss(outputs, task.encode(y)).tolist() == [100.0, 225.0]
    assert task.unit == 100.0
    assert task_from_dict(task.to_dict()) == task


def test_regression_keeps_small_differences_of_large_numbers():
    task = Regression(center=1e9, scale=1.0)
    assert task.encode(np.array([1e9 + 0.25])).tolist() == [0.25]
