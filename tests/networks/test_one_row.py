"""Multilayer perceptrons on one row, in numpy."""

import copy

import numpy as np
import pytest
import torch
from torch import nn

from askwise.core.arrays import sigmoid, softplus
from askwise.core.features import FeatureSpace
from askwise.core.policy import TorchRow
from askwise.core.tasks import Classification, Regression
from askwise.methods.dime.policy import DimePolicy
from askwise.networks.mlp import Mlp, MlpTrunk
from askwise.networks.one_row import MlpRow
from askwise.networks.pair import SeparateNetworks, SharedNetworks

# A panel of two columns that are apart, categories of three and two entries, and two free columns.
MIXED = FeatureSpace(("a", "panel", "b"), (1.0, 2.0, 3.0), (1, -1, 0, 1, 2, -1), (0, 0, 0, 1, 2, 3, 4, 5, 5))
PLAIN = FeatureSpace(("a", "b", "c"), (1.0, 1.0, 1.0), (0, 1, 2), (0, 1, 2))
CLASSES, NUMBER = Classification(("x", "y", "z")), Regression(center=5.0, scale=3.0)
MEANINGS = [(CLASSES, "bounded"), (CLASSES, "positive"), (CLASSES, "none"), (NUMBER, "positive"), (NUMBER, "none")]


def make_policy(space=MIXED, task=CLASSES, scaling="bounded", share=False, layers=2, kind=DimePolicy):
    torch.manual_seed(layers)
    n_inputs, heads = space.n_entries + space.n_columns, (task.n_outputs, space.n_groups)
    if share:
        networks = SharedNetworks(MlpTrunk(n_inputs, 16, layers), *(nn.Linear(16, n) for n in heads))
    else:
        # Networks of different widths, as modules of a user's own may have.
        networks = SeparateNetworks(*(Mlp(n_inputs, 8 + n, n, layers) for n in heads))
    policy = kind(space, task, networks, scaling)
    policy.temperature.fill_(1.7)
    return policy.double().eval()


def random_state(space, rng):
    """x (1, entries; 0 where unknown) and the mask (1, columns): any of them, also far from the last."""
    mask = rng.random((1, space.n_columns)) < rng.random()
    x = rng.normal(scale=4, size=(1, space.n_entries)).clip(-10, 10) * mask[:, list(space.column_of_entry)]
    return x.astype(np.float32), mask


@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize("share", [False, True])
@pytest.mark.parametrize(("task", "scaling"), MEANINGS)
@pytest.mark.parametrize("space", [MIXED, PLAIN])
def test_the_belief_is_that_of_the_policy_in_torch(space, task, scaling, share, layers):
    policy = make_policy(space, task, scaling, share, layers)
    row, rng = policy.one_row()(), np.random.default_rng(0)
    assert isinstance(row, MlpRow)
    for _ in range(30):
        state = random_state(space, rng)
        for ours, theirs in zip(row.belief(*state)[:2], TorchRow(policy).belief(*state)[:2], strict=True):
            assert ours.shape == theirs.shape
            assert np.abs(ours - theirs).max() < 1e-9


@pytest.mark.parametrize("share", [False, True])
def test_the_same_answers_give_the_same_belief_to_the_bit_whatever_was_before(share):
    start, rng = make_policy(share=share).one_row(), np.random.default_rng(0)
    row, goal = start(), random_state(MIXED, rng)
    expected = start().belief(*goal)
    for _ in range(200):
        row.belief(*random_state(MIXED, rng))
    found = row.belief(*goal)
    assert np.array_equal(found.outputs, expected.outputs)
    assert np.array_equal(found.scores, expected.scores)


def test_rows_started_from_one_model_do_not_share_their_answers():
    start, rng = make_policy().one_row(), np.random.default_rng(0)
    one, other = start(), start()
    nothing, something = [np.zeros_like(part) for part in random_state(MIXED, rng)], random_state(MIXED, rng)
    expected = one.belief(*nothing)
    other.belief(*something)
    assert np.array_equal(one.belief(*nothing).outputs, expected.outputs)


@pytest.mark.parametrize("size", [1e-30, 1.0, 1e6])
def test_the_sums_of_the_largest_inputs_have_room_whatever_the_size_of_the_weights(size):
    policy = make_policy(PLAIN)
    for layer in policy.networks.first_layers:
        layer.weight.data.fill_(size)
    state = np.full((1, 3), 10, np.float32), np.ones((1, 3), bool)
    assert policy.one_row()().belief(*state).outputs == pytest.approx(TorchRow(policy).belief(*state).outputs)


def test_sigmoid_and_softplus_are_torchs_without_overflow():
    raw = np.array([-1e4, -800.0, -30.0, -1.0, 0.0, 1.0, 19.9, 20.1, 30.0, 800.0, 1e4])
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        ours = sigmoid(raw), softplus(raw)
    theirs = torch.sigmoid(torch.tensor(raw)), nn.functional.softplus(torch.tensor(raw))
    for found, expected in zip(ours, theirs, strict=True):
        assert found == pytest.approx(expected.numpy(), rel=1e-14, abs=1e-300)


class OtherMlp(Mlp):
    def forward(self, x, mask):
        return super().forward(x, mask).tanh()


class OtherPolicy(DimePolicy):
    def _scale(self, raw, outputs):
        return super()._scale(raw, outputs) / 2


def with_other_activation(policy):
    policy.networks.predictor.trunk.layers[1] = nn.GELU()


def without_bias(policy):
    policy.networks.value.head.bias = None


def with_other_network(policy):
    policy.networks.value = OtherMlp(15, 8, 3).double().eval()


def with_weights_that_are_no_numbers(policy):
    policy.networks.predictor.first.weight.data[0, 0] = torch.nan


@pytest.mark.parametrize(
    "change", [with_other_activation, without_bias, with_other_network, with_weights_that_are_no_numbers]
)
def test_networks_that_are_built_otherwise_run_in_torch(change):
    policy = copy.deepcopy(make_policy())
    change(policy)
    assert_runs_in_torch(policy)


def test_a_policy_that_computes_something_else_runs_in_torch():
    assert_runs_in_torch(make_policy(kind=OtherPolicy))


def assert_runs_in_torch(policy):
    row, state = policy.one_row()(), random_state(MIXED, np.random.default_rng(0))
    assert isinstance(row, TorchRow)
    x, mask = map(torch.from_numpy, state)
    with torch.no_grad():
        expected = policy(x.double(), mask)
    found = row.belief(*state)
    assert np.array_equal(found.outputs, expected.outputs.numpy(), equal_nan=True)
    assert np.array_equal(found.scores, expected.scores.numpy(), equal_nan=True)
