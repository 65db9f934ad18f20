"""One number that makes a predictor as sure as it should be."""

import pytest
import torch

from askwise.core.belief import Belief
from askwise.core.features import FeatureSpace
from askwise.core.policy import Policy
from askwise.core.prices import Prices
from askwise.core.rows import Rows
from askwise.training.temperature import fit_temperature, random_states

SPACE = FeatureSpace(("a", "b"), (1.0, 1.0), (0, 1), (0, 1))
PRICES = Prices.tensor(SPACE.costs, torch.float32)


class Loud(Policy):
    """Knows that the columns are the logits, and says them `times` as loudly."""

    def __init__(self, times):
        super().__init__(SPACE)
        self.times = times

    def forward(self, x, mask, scores=True):
        return Belief(self.times * self.hide(x, mask), torch.zeros(len(x), 2) if scores else None)


def rows_of(n, seed=0, size=2.0, absent=0.0):
    """Two columns of logits, from which the label is drawn; a share of the columns is absent."""
    g = torch.Generator().manual_seed(seed)
    present = torch.rand(n, 2, generator=g) >= absent
    x = torch.randn(n, 2, generator=g) * size * present
    y = (torch.rand(n, generator=g) > torch.softmax(x, 1)[:, 0]).long()
    return Rows(x, present, present, y)


def fitted(times, n, n_steps=2, **settings):
    return fit_temperature(Loud(times), rows_of(n, **settings), PRICES, n_steps)


@pytest.mark.parametrize("times", [1.5, 2.5])
def test_the_temperature_undoes_what_made_the_predictor_too_sure(times):
    # With one column absent in most rows, its logit is 0 for certain: what is known is all there is to know.
    assert fitted(times, 2000, absent=0.9) == pytest.approx(times, rel=0.15)


def test_a_timid_predictor_is_left_as_it_is():
    assert fitted(0.5, 2000) == 1


def test_a_few_rows_hardly_move_it():
    assert fitted(2.5, 4, absent=0.9) - 1 < (fitted(2.5, 2000, absent=0.9) - 1) / 2


def test_the_last_state_counts_and_states_that_no_question_led_to_do_not():
    """Only what is known at the end tells here: everything before it is the same for every row."""

    class AtTheEnd(Loud):
        def forward(self, x, mask, scores=True):
            return super().forward(x, mask & mask.all(1, keepdim=True), scores)

    rows = rows_of(2000)
    found = fit_temperature(AtTheEnd(2.5), rows, PRICES, n_steps=2)
    assert found == pytest.approx(2.5, rel=0.15)
    # More steps than there are questions repeat the end; the likeliest temperature does not move.
    assert fit_temperature(AtTheEnd(2.5), rows, PRICES, n_steps=6) == found


def test_fitting_leaves_the_random_numbers_alone():
    torch.manual_seed(5)
    before = torch.random.get_rng_state()
    fitted(1.0, 50)
    assert torch.equal(before, torch.random.get_rng_state())


def test_random_sets_of_groups_serve_as_well():
    found = fit_temperature(Loud(2.5), rows_of(2000, absent=0.9), PRICES, 2, random_states)
    assert found == pytest.approx(2.5, rel=0.15)
