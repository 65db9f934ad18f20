"""Dropout whose random numbers are cheap."""

import pytest
import torch

from askwise.networks.dropout import Dropout, set_dropout
from askwise.networks.mlp import Mlp


@pytest.mark.parametrize("p", [0.05, 0.1, 0.3, 0.5, 0.9, 0.999])
@pytest.mark.parametrize("shape", [(400_000,), (800, 500), (3, 133_333)])
def test_the_share_of_zeros_is_p_and_the_mean_is_kept(p, shape):
    torch.manual_seed(0)
    dropped = Dropout(p)(torch.ones(shape))
    met = min(round(p * 256), 255) / 256
    n, zeros = dropped.numel(), (dropped == 0).float().mean().item()
    # Five standard errors, so that a right one fails once in a million seeds.
    assert zeros == pytest.approx(met, abs=5 * (met * (1 - met) / n) ** 0.5)
    assert abs(met - p) <= 1 / 256
    assert dropped.mean().item() == pytest.approx(1, abs=5 * (met / (1 - met) / n) ** 0.5)
    assert dropped[dropped != 0].unique().tolist() == pytest.approx([1 / (1 - met)])


def test_neighbours_and_calls_are_dropped_independently():
    """One draw decides eight entries: its bytes must not go together."""
    torch.manual_seed(0)
    lost = Dropout(0.5)(torch.ones(100_000, 8)) == 0
    together = lost.double().T.corrcoef() - torch.eye(8, dtype=torch.float64)
    assert together.abs().max() < 5 / 100_000**0.5
    again = Dropout(0.5)(torch.ones(100_000, 8)) == 0
    assert (lost == again).double().mean().item() == pytest.approx(0.5, abs=5 * 0.5 / 800_000**0.5)


@pytest.mark.parametrize("shape", [(1,), (7,), (8,), (9,), (5, 3), (0, 4)])
def test_any_shape_and_precision_is_kept(shape):
    for dtype in (torch.float32, torch.float64, torch.bfloat16):
        dropped = Dropout(0.3)(torch.ones(shape, dtype=dtype))
        assert dropped.shape == shape
        assert dropped.dtype == dtype


def test_the_gradient_passes_where_an_entry_stayed():
    torch.manual_seed(0)
    x = torch.ones(1000, requires_grad=True)
    dropped = Dropout(0.25)(x)
    dropped.sum().backward()
    assert torch.equal(x.grad, dropped.detach())


def test_without_p_and_outside_training_it_changes_nothing():
    x = torch.randn(50, 4)
    state = torch.get_rng_state()
    assert Dropout(0.0)(x) is x
    assert Dropout(0.7).eval()(x) is x
    assert torch.equal(torch.get_rng_state(), state)


def test_every_dropout_inside_a_module_gets_a_new_p():
    network = Mlp(4, 8, 2, layers=3, dropout=0.1)
    set_dropout(network, 0.6)
    assert [part.p for part in network.modules() if isinstance(part, Dropout)] == [0.6] * 3
