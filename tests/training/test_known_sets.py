"""Random known sets to learn from."""

import pytest
import torch
from scipy.stats import chisquare

from askwise.training.known_sets import random_known


@pytest.mark.parametrize("d", [1, 4, 20])
def test_the_size_of_random_sets_is_uniform(d):
    torch.manual_seed(0)
    sizes = random_known(torch.ones(40_000, d, dtype=torch.bool)).sum(1)
    assert chisquare(torch.bincount(sizes, minlength=d + 1).numpy()).pvalue > 1e-3


def test_the_members_of_random_sets_are_at_random():
    torch.manual_seed(0)
    known = random_known(torch.ones(40_000, 5, dtype=torch.bool))
    pairs = known[known.sum(1) == 2]
    counts = [(pairs[:, i] & pairs[:, j]).sum().item() for i in range(5) for j in range(i)]
    assert chisquare(counts).pvalue > 1e-3


def test_random_sets_hold_only_what_is_available_with_uniform_size_among_it():
    torch.manual_seed(0)
    available = torch.tensor([1, 0, 1, 1, 0, 1], dtype=torch.bool).expand(20_000, -1)
    known = random_known(available)
    assert not (known & ~available).any()
    assert chisquare(torch.bincount(known.sum(1), minlength=5).numpy()).pvalue > 1e-3
