"""What Q-learning remembers, and what it makes of it."""

import pytest
import torch

from askwise import Budget, CwcfClassifier, OpportunisticClassifier
from askwise.core.features import FeatureSpace
from askwise.core.prices import Prices
from askwise.core.rows import Rows
from askwise.core.tasks import Classification
from askwise.core.walk import walk
from askwise.methods.cwcf import CwcfObjective
from askwise.methods.dime.tables import DimeClassifier
from askwise.training.q_learning import States, episodes, targets
from askwise.training.recording import _State
from askwise.training.replay import ReplayMemory, TargetPolicy
from askwise.training.update import Plan, Update

COSTS = (1.0, 2.0, 0.5, 3.0)
SPACE = FeatureSpace(("a", "b", "c", "d"), COSTS, (0, 1, 2, 3), (0, 1, 2, 3))
PRICES = Prices.tensor(COSTS)


def make_rows(n, seed=0):
    g = torch.Generator().manual_seed(seed)
    present = torch.rand(n, 4, generator=g) < 0.8
    return Rows(torch.randn(n, 4, generator=g) * present, present, present, torch.arange(n))


def make_policy():
    torch.manual_seed(0)
    return DimeClassifier(hidden=8).build(SPACE, Classification((0, 1, 2))).eval()


def test_a_memory_forgets_the_oldest_and_draws_nothing_that_was_not_pushed():
    memory = ReplayMemory(SPACE, 10)
    for start, held in ((0, {0, 1, 2, 3}), (4, set(range(8))), (8, set(range(2, 12)))):
        rows = make_rows(12).take(slice(start, start + 4))
        memory.push(rows, torch.ones(4), torch.zeros(4, 4))
        drawn, weight, _ = memory.sample(500)
        assert set(drawn.y.tolist()) == held
        assert (weight == 1).all()


def test_a_drawn_episode_is_the_one_that_was_pushed():
    memory, rows, asked_at = ReplayMemory(SPACE, 20), make_rows(20), torch.randint(0, 5, (20, 4))
    memory.push(rows, torch.linspace(0, 1, 20), asked_at)
    drawn, weight, again = memory.sample(50)
    original = rows.take(drawn.y)
    assert all(torch.equal(a, b) for a, b in zip(drawn.parts[:2], original.parts[:2], strict=True))
    assert torch.equal(again, asked_at[drawn.y].to(again.dtype))
    assert torch.equal(weight, torch.linspace(0, 1, 20)[drawn.y])


def test_a_target_goes_part_of_the_way_and_takes_no_gradient():
    policy = make_policy()
    target = TargetPolicy(policy, rate=0.25)
    start = [p.clone() for p in target.copy.parameters()]
    with torch.no_grad():
        for p in policy.parameters():
            p += 1
    target.follow(policy)
    for before, now in zip(start, target.copy.parameters(), strict=True):
        assert torch.allclose(now, before + 0.25)
        assert not now.requires_grad


def test_states_are_those_of_the_walk():
    policy, rows = make_policy(), make_rows(30)
    steps = list(walk(policy, rows, PRICES, 3))
    asked_at = episodes(policy, rows, PRICES, 3, None, torch.tensor(0.0))
    states = States.of(rows, asked_at, PRICES, 3, None)
    for t, step in enumerate(steps):
        assert torch.equal(states.known[t], step.known)
        assert torch.equal(states.asked[t], step.can_ask)
        assert torch.equal(states.choice[t][step.can_ask], step.choice[step.can_ask])
        assert torch.equal(states.spent[t], step.spent)
    assert torch.equal(states.known[3], steps[-1].known_next)
    assert not states.allowed[3].any()


def test_random_episodes_keep_the_budget_and_ask_what_is_available():
    rows = make_rows(200)
    asked_at = episodes(make_policy(), rows, PRICES, 4, Budget(3.5), torch.tensor(1.0))
    states = States.of(rows, asked_at, PRICES, 4, Budget(3.5))
    assert states.spent.max() <= 3.5
    assert not (states.known & ~rows.available).any()
    assert not states.can_ask[-1].any()
    # Whatever could still be paid was asked.
    affordable = 3.5 - states.spent[-1][:, None] >= PRICES.costs
    assert not (affordable & rows.available & ~states.known[-1]).any()
    assert len(states.choice[0].unique()) == 4


def test_targets_follow_an_episode_as_long_as_it_did_what_the_policy_would_do():
    reward = torch.tensor([[1.0], [2.0], [4.0]])
    best = torch.tensor([[100.0], [200.0], [300.0], [8.0]])
    half = torch.full_like(reward, 0.5)
    assert targets(reward, half, best)[:, 0].tolist() == [101.0, 152.0, 8.0]
    followed = torch.tensor([[False], [True], [True]])
    assert targets(reward, half, best, followed)[:, 0].tolist() == [1 + 0.5 * 6, 2 + 0.5 * 8, 8.0]
    assert targets(reward, half, best, ~followed)[:, 0].tolist() == [101.0, 152.0, 8.0]


@pytest.mark.parametrize("method", [CwcfClassifier, OpportunisticClassifier])
def test_a_run_broken_off_while_it_learns_from_memory_ends_with_the_same_weights(method, iris, tmp_path):
    settings = {"hidden": 8, "pretrain_epochs": 2, "epochs": 4, "random_state": 3}
    unbroken = method(**settings).fit(*iris)

    def interrupt(progress):
        if (progress.stage, progress.epoch) == ("q", 1):
            raise KeyboardInterrupt

    model = method(**settings, checkpoint_dir=tmp_path)
    with pytest.raises(KeyboardInterrupt):
        model.fit(*iris, progress=interrupt)
    model.fit(*iris)
    ours, theirs = model.model_.policy.state_dict(), unbroken.model_.policy.state_dict()
    assert all(torch.equal(ours[k], theirs[k]) for k in theirs)


def test_trying_an_update_leaves_memory_and_slow_copy_as_they_were(monkeypatch):
    """On a GPU an update is tried before it is recorded; here the device's random state is stood in for."""
    monkeypatch.setattr(torch.cuda, "get_rng_state", lambda *_: None)
    monkeypatch.setattr(torch.cuda, "set_rng_state", lambda *_: None)
    space, task, device = (
        FeatureSpace(("a", "b"), (1.0, 1.0), (0, 1), (0, 1)),
        Classification((0, 1)),
        torch.device("cpu"),
    )
    policy = CwcfClassifier(hidden=4).build(space, task)
    objective = CwcfObjective(policy, task, Prices.tensor(space.costs), 2, None, 8, 4)
    present = torch.ones(8, 2, dtype=torch.bool)
    rows = Rows(torch.randn(8, 2), present, present, torch.randint(0, 2, (8,)))
    update = Update(policy, objective, Plan(1, 8), 1, lambda rows: rows, device)
    before, memory = _State(update), {k: v.clone() for k, v in objective.state_dict().items()}
    update(rows, torch.ones(8))
    assert objective.memory.filled == 8
    before.put_back()
    assert all(torch.equal(v, memory[k]) for k, v in objective.state_dict().items())
