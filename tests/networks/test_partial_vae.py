"""The partial autoencoder: sets of known columns in, samples of every column out."""

import pytest
import torch
from torch.nn import functional as F

from askwise.core.features import FeatureSpace
from askwise.core.rows import Rows
from askwise.networks.partial_vae import PartialVae, spread_noise

# A number, a category of three, a pair of values, a constant, a category of two.
SPACE = FeatureSpace(tuple("abcde"), (1.0,) * 5, (0, 1, 2, 3, 4), (0, 1, 1, 1, 2, 3, 4, 4))
CONSTANT = 1.5


def make_rows(n=200, seed=0):
    """The number is about the pair's value, and the first category goes with it; some columns are absent."""
    g = torch.Generator().manual_seed(seed)
    high = torch.rand(n, generator=g) < 0.5
    number = torch.where(high, 1.0, -1.0) + 0.2 * torch.randn(n, generator=g)
    three = F.one_hot(torch.where(high, 2, torch.randint(0, 2, (n,), generator=g)), 3)
    two = F.one_hot(torch.randint(0, 2, (n,), generator=g), 2)
    pair = torch.where(high, 0.8, -1.2)
    x = torch.cat([number[:, None], three, pair[:, None], torch.full((n, 1), CONSTANT), two], 1)
    present = torch.rand(n, 5, generator=g) < 0.9
    return Rows(x * present[:, list(SPACE.column_of_entry)], present, present)


def make_model():
    torch.manual_seed(0)
    model = PartialVae(SPACE, hidden=32, latent=4)
    model.observe(make_rows())
    return model


@pytest.fixture
def model():
    return make_model()


@pytest.fixture
def noise():
    torch.manual_seed(1)
    return spread_noise(64, 4 + 5)


@pytest.fixture(scope="module")
def trained():
    model, rows = make_model(), make_rows()
    optimiser = torch.optim.Adam(model.parameters(), 0.02)
    for _ in range(200):
        mask = rows.present & (torch.rand(rows.present.shape) < torch.rand(len(rows), 1))
        loss = model.losses(rows, mask, torch.randn(len(rows), 4)).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return model.eval()


def test_samples_are_values_that_each_column_can_have(model, noise):
    rows = make_rows(20, seed=3)
    samples = model.imagine(rows.x, rows.present, noise)
    assert samples.shape == (20, 8, 64)
    number, three, pair, constant, two = samples.split([1, 3, 1, 1, 2], 1)
    assert (number >= model.low[0]).all()
    assert (number <= model.high[0]).all()
    for category in (three, two):
        assert set(category.unique().tolist()) == {0.0, 1.0}
        assert (category.sum(1) == 1).all()
    assert set(pair.float().unique().tolist()) == {model.low[4].item(), model.high[4].item()}
    assert (constant == CONSTANT).all()


def test_what_is_not_known_changes_nothing(model, noise):
    rows = make_rows(20)
    mask = rows.present & torch.tensor([True, False, True, True, False])
    other = rows.x + torch.tensor([0, 5.0, 5, 5, 0, 0, 5, 5])
    assert torch.equal(model.imagine(rows.x, mask, noise), model.imagine(other, mask, noise))


def test_what_is_missing_adds_nothing_to_the_loss(model):
    rows = make_rows(50)
    other = Rows(torch.where(rows.present[:, list(SPACE.column_of_entry)], rows.x, 7.0), rows.present, rows.available)
    z = torch.zeros(50, 4)
    assert torch.allclose(model.losses(rows, rows.present, z), model.losses(other, rows.present, z))


def test_samples_in_single_and_in_double_precision_are_the_same(model, noise):
    rows = make_rows(50)
    single = model.imagine(rows.x, rows.present, noise)
    double = model.double().imagine(rows.x.double(), rows.present, noise.double())
    assert single.dtype == torch.float32
    assert torch.equal(single, double.float())


def test_a_known_column_tells_of_the_others(trained, noise):
    x = torch.zeros(2, 8)
    x[:, 4] = torch.tensor([-1.2, 0.8])
    samples = trained.imagine(x, torch.tensor([[False, False, True, False, False]] * 2), noise)
    low, high = samples[:, 0].mean(1).tolist()
    assert low == pytest.approx(-1, abs=0.3)
    assert high == pytest.approx(1, abs=0.3)
    third = samples[:, 3].mean(1)
    assert third[0] < 0.15
    assert third[1] > 0.85


def test_nothing_known_gives_the_shares_of_the_table(trained, noise):
    samples = trained.imagine(torch.zeros(1, 8), torch.zeros(1, 5, dtype=torch.bool), noise)[0]
    expected = make_rows()
    shares = expected.x[expected.present[:, 1], 1:4].mean(0)
    assert torch.allclose(samples[1:4].mean(1).float(), shares, atol=0.15)


def test_a_column_that_no_row_has_is_a_constant(model, noise):
    rows = make_rows()
    present = rows.present & torch.tensor([False, True, True, True, True])
    model.observe(Rows(rows.x, present, present))
    assert torch.isfinite(model.losses(Rows(rows.x, present, present), present, torch.zeros(200, 4))).all()
    assert (model.imagine(rows.x, present, noise)[:, 0] == 0).all()


def test_noise_fills_equally_likely_ranges_evenly():
    torch.manual_seed(0)
    noise = spread_noise(16, 3)
    assert noise.shape == (16, 3)
    for column in torch.special.ndtr(noise).T:
        assert sorted((column * 16).floor().tolist()) == list(range(16))
