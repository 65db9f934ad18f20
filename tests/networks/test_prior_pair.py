"""Free columns through a network of their own."""

import pytest
import torch

from askwise import AskwiseError, DimeClassifier
from askwise.core.features import FeatureSpace
from askwise.core.prices import Prices
from askwise.core.rows import Rows
from askwise.core.tasks import Classification
from askwise.core.walk import walk
from askwise.methods.dime.policy import DimePolicy
from askwise.networks.pair import zeroed_outputs
from askwise.networks.pair_policy import CountingTracker
from askwise.networks.prior_pair import PriorNetworks
from askwise.training.episode import Episode

# Two groups to ask and a free column of two entries, in the middle.
SPACE = FeatureSpace(("a", "b"), (1.0, 1.0), (0, -1, 1), (0, 1, 1, 2))
X = torch.randn(6, 4, generator=torch.Generator().manual_seed(0))
MASK = torch.tensor([[1, 1, 0]] * 6).bool()


def make(stop_gradient, seed=0):
    torch.manual_seed(seed)
    return PriorNetworks(SPACE, 3, 8, 2, 0.0, stop_gradient)


def reached(networks, loss):
    """Whether a loss has a gradient for the network of the free columns."""
    networks.zero_grad()
    loss.backward()
    return any(p.grad is not None and bool(p.grad.abs().sum() > 0) for p in networks.prior.parameters())


@pytest.mark.parametrize("stop_gradient", [True, False])
def test_predictions_train_the_prior_only_without_the_stop(stop_gradient):
    networks = make(stop_gradient)
    outputs, raw = networks(X, MASK)
    assert reached(networks, outputs.square().sum()) is not stop_gradient
    _, raw = networks(X, MASK)
    assert reached(networks, raw.square().sum())


def test_both_networks_see_free_columns_only_through_their_own():
    networks = make(stop_gradient=False).eval()
    other = X.clone()
    other[:, 1:3] += 1
    assert not torch.equal(networks(X, MASK)[0], networks(other, MASK)[0])
    assert not torch.equal(networks(X, MASK)[1], networks(other, MASK)[1])
    with zeroed_outputs(networks.prior):
        assert torch.equal(networks(X, MASK)[0], networks(other, MASK)[0])
        assert torch.equal(networks(X, MASK)[1], networks(other, MASK)[1])
    assert not torch.equal(networks(X, MASK)[1], networks(other, MASK)[1])


def test_with_the_stop_a_fresh_prediction_makes_nothing_of_the_prior():
    networks = make(stop_gradient=True).eval()
    other = X.clone()
    other[:, 1:3] += 1
    assert torch.equal(networks(X, MASK)[0], networks(other, MASK)[0])


def make_policy():
    torch.manual_seed(0)
    return DimePolicy(SPACE, Classification((0, 1, 2)), PriorNetworks(SPACE, 3, 8, 2, 0.5, True), "bounded").eval()


def test_free_columns_looked_at_once_for_all_states_of_a_row_give_what_they_give_at_each():
    policy = make_policy()
    present = torch.ones_like(MASK)
    rows = Rows(X, present, SPACE.available(present))
    episode = Episode.of_steps(walk(policy, rows, Prices.tensor(SPACE.costs), 2, epsilon=torch.tensor(1.0)))
    assert episode.known.sum(2).tolist() == [[0] * 6, [1] * 6, [2] * 6]
    belief, outputs_eval, _ = policy.forward_episode(rows, episode)
    plain = policy(X.repeat(3, 1), policy.mask(episode.known, present).flatten(0, 1))
    assert torch.allclose(belief.outputs, plain.outputs, atol=1e-6)
    assert torch.allclose(outputs_eval, plain.outputs, atol=1e-6)
    asked = episode.choice_of_states().flatten()[:, None]
    assert len(asked.unique()) == 2
    assert torch.allclose(belief.scores, plain.scores.gather(1, asked), atol=1e-6)


def test_free_columns_looked_at_once_for_a_walk_give_what_they_give_at_each_step():
    policy = make_policy()
    present = torch.ones_like(MASK)
    rows = Rows(X, present, SPACE.available(present))
    tracker = policy.track(rows)
    assert isinstance(tracker, CountingTracker)
    known = torch.zeros(len(X), 2, dtype=torch.bool)
    for group in (0, 1):
        seen, plain = tracker.belief(known), policy(X, policy.mask(known, present))
        assert torch.allclose(seen.outputs, plain.outputs, atol=1e-6)
        assert torch.allclose(seen.scores, plain.scores, atol=1e-6)
        known[:, group] = True
        tracker.reveal(torch.full((len(X),), group), torch.ones(len(X), dtype=torch.bool))


def test_a_model_learns_from_free_columns_through_their_network(cases, fast):
    X, y = cases
    # With the answer itself for a free column, nothing is left to ask.
    X = X.assign(told=y)
    model = DimeClassifier(free=["told"], free_network=True, **fast | {"epochs": 16}).fit(X, y)
    known = {label: model.session(known={"told": label}).prediction.value for label in ("sick", "well")}
    assert known == {"sick": "sick", "well": "well"}


def test_a_network_for_free_columns_needs_free_columns(cases, fast):
    with pytest.raises(AskwiseError, match="name some with free="):
        DimeClassifier(free_network=True, **fast).fit(*cases)


def test_the_parts_of_a_prediction_leave_the_prior_out_where_it_has_no_gradient_for_it():
    networks = make(True)
    assert networks.prior not in networks.predictor_parts
    networks = make(False)
    assert networks.prior in networks.predictor_parts
