"""One number that makes a predictor as sure as it should be."""

import pytest
import torch

from askwise.features import FeatureSpace, Rows
from askwise.policy import Belief, Policy
from askwise.training.temperature import fit_temperature

SPACE = FeatureSpace(("a", "b"), (1.0, 1.0), (0, 1), (0, 1))


class Sharpened(Policy):
    """Knows that the logits are the columns, and says them `times` as loudly."""

    def __init__(self, times):
        super().__init__(SPACE)
        self.times = times

    def forward(self, x, mask, scores=True):
        return Belief(self.times * self.hide(x, mask), torch.zeros(len(x), 2) if scores else None)


def rows_of(n, seed=0):
    """Two columns of logits; the label is drawn from them once both are known."""
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 2, generator=g) * 2
    y = (torch.rand(n, generator=g) > torch.softmax(x, 1)[:, 0]).long()
    present = torch.ones(n, 2, dtype=torch.bool)
    return Rows(x, present, present, y)


def fitted(times, n):
    """The temperature where both columns are known: the third step."""

    class Whole(Sharpened):
        def forward(self, x, mask, scores=True):
            return super().forward(x, torch.ones_like(mask), scores)

    return fit_temperature(Whole(times), rows_of(n), torch.ones(2), n_steps=2)


@pytest.mark.parametrize("times", [0.6, 1.0, 2.5])
def test_the_temperature_undoes_what_made_the_predictor_too_sure(times):
    assert fitted(times, 2000) == pytest.approx(times, rel=0.12)


def test_a_few_rows_hardly_move_it():
    assert abs(fitted(2.5, 4) - 1) < abs(fitted(2.5, 2000) - 1) / 2


def test_fitting_leaves_the_random_numbers_alone():
    torch.manual_seed(5)
    before = torch.random.get_rng_state()
    fitted(1.0, 50)
    assert torch.equal(before, torch.random.get_rng_state())
