"""Modes to run in, and that each ends with its block."""

import pytest
import torch
from torch import nn

from askwise.core.tensors import evaluating
from askwise.training.modes import frozen, set_training_mode, swapped_weights, threads


def test_swapped_weights_come_back_also_after_an_error():
    layer = nn.Linear(2, 2)
    own, other = layer.weight.detach().clone(), torch.full((2, 2), 7.0)
    seen = []

    def fail():
        with swapped_weights([layer.weight], [other]):
            seen.append(layer.weight.detach().clone())
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert torch.equal(seen[0], other)
    assert torch.equal(layer.weight, own)


def test_the_number_of_threads_is_put_back():
    before = torch.get_num_threads()
    with threads(1):
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == before


def test_each_part_is_back_in_its_own_mode_after_evaluation():
    layers = nn.Sequential(nn.Dropout(0.5), nn.BatchNorm1d(3)).train()
    layers[1].eval()
    with evaluating(layers):
        assert not any(part.training for part in layers.modules())
    assert [part.training for part in layers.modules()] == [True, True, False]


def test_a_frozen_module_learns_nothing_and_what_was_frozen_before_stays_so():
    layers = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    layers[0].bias.requires_grad_(False)
    with frozen([layers[0]]):
        assert [p.requires_grad for p in layers.parameters()] == [False, False, True, True]
    assert [p.requires_grad for p in layers.parameters()] == [True, False, True, True]


def test_a_frozen_batch_norm_keeps_its_statistics_in_training():
    layers = nn.Sequential(nn.BatchNorm1d(3), nn.BatchNorm1d(3)).eval()
    with frozen([layers[0]]):
        set_training_mode(layers)
        layers(torch.randn(8, 3) + 5)
    assert torch.equal(layers[0].running_mean, torch.zeros(3))
    assert not torch.equal(layers[1].running_mean, torch.zeros(3))
