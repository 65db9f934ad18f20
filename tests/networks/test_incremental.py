"""First layers carried on from question to question: the same beliefs as thinking everything anew."""

from dataclasses import replace

import pytest
import torch
from torch import nn

from askwise.core.features import FeatureSpace
from askwise.core.policy import Tracker
from askwise.core.prices import Prices
from askwise.core.rows import Rows
from askwise.core.tasks import Classification, Regression
from askwise.core.walk import walk
from askwise.methods.dime.policy import DimePolicy
from askwise.networks.encoding import InputEncoding
from askwise.networks.incremental import FirstLayerTracker, GroupInputs
from askwise.networks.mlp import Mlp, MlpTrunk
from askwise.networks.pair import SeparateNetworks, SharedNetworks
from askwise.training.episode import Episode

CLASSES = Classification(("x", "y", "z"))


def space_of(group_of_column, widths):
    """Columns of so many entries each, in groups; -1 is free."""
    n_groups = max(group_of_column) + 1
    entries = tuple(column for column, width in enumerate(widths) for _ in range(width))
    return FeatureSpace(tuple(f"g{g}" for g in range(n_groups)), (1.0,) * n_groups, tuple(group_of_column), entries)


SINGLE = [3, 4, 5, 6, 7, 8, 9, 10, 11, 12]
SPACES = {
    "plain": space_of(range(14), [1] * 14),
    "in another order": space_of(range(14)[::-1], [1] * 14),
    # A panel of two columns that lie apart, a panel of three.
    "panels": space_of([0, 1, 1, 0, 2, 2, 2, *SINGLE, *range(13, 30)], [1] * 34),
    "categories": space_of(range(16), [1, 3, 2, 1, 1, 4] + [1] * 10),
    "free": space_of([-1, 0, 1, -1, 2, *SINGLE, -1], [1] * 16),
    "all of them": space_of([-1, 0, 1, 1, -1, 0, 2, 2, *SINGLE, *range(13, 34)], [3, 2, 1, 3, 1, 1, 1, 2] + [1] * 31),
}


def make_policy(space, share=False, task=CLASSES, dropout=0.0, seed=0):
    torch.manual_seed(seed)
    n_inputs, heads = InputEncoding(space), (task.n_outputs, space.n_groups)
    if share:
        networks = SharedNetworks(MlpTrunk(n_inputs, 16, 2, dropout), *(nn.Linear(16, n) for n in heads))
    else:
        networks = SeparateNetworks(*(Mlp(n_inputs, 8 + n, n, 2, dropout) for n in heads))
    policy = DimePolicy(space, task, networks, "bounded" if task is CLASSES else "positive")
    policy.temperature.fill_(1.3)
    return policy.eval()


def make_rows(space, n=40, seed=0, dtype=torch.float32):
    """Rows with holes in every column, free ones too; the first has everything, the last one nothing at all."""
    g = torch.Generator().manual_seed(seed)
    present = torch.rand(n, space.n_columns, generator=g) < 0.7
    present[0], present[-1] = True, False
    x = 2 * torch.randn(n, space.n_entries, generator=g, dtype=dtype) * present[:, list(space.column_of_entry)]
    return Rows(x, present, space.available(present))


def assert_same(ours, theirs, tolerance):
    for found, expected in zip(ours[:2], theirs[:2], strict=True):
        assert found.shape == expected.shape
        assert found.dtype == expected.dtype
        assert (found - expected).abs().max() < tolerance


@torch.no_grad()
def assert_same_along_a_walk(policy, rows, tolerance, epsilon=0.3):
    """Both trackers are led along one walk, partly random, until nothing is left; rows are left behind."""
    ours, theirs = policy.track(rows), Tracker(policy, rows)
    assert type(ours) is FirstLayerTracker
    prices = Prices.tensor(policy.space.costs, rows.x.dtype)
    steps = list(walk(policy, rows, prices, policy.space.n_groups + 1, epsilon=torch.tensor(epsilon)))
    here = torch.arange(len(rows))
    for t, step in enumerate(steps):
        if t % 4 == 2:
            some = torch.arange(len(here)) % 5 != 1
            ours.keep(some.nonzero()[:, 0])
            theirs.keep(some.nonzero()[:, 0])
            here = here[some]
        assert_same(ours.belief(step.known[here]), theirs.belief(step.known[here]), tolerance)
        for tracker in (ours, theirs):
            tracker.reveal(step.choice[here], step.can_ask[here])
    assert not steps[0].can_ask[-1]
    assert torch.equal(steps[-1].known, rows.available)


@pytest.mark.parametrize("share", [False, True], ids=["separate", "shared"])
@pytest.mark.parametrize("name", SPACES)
def test_the_beliefs_along_a_walk_are_those_of_thinking_anew(name, share):
    policy = make_policy(SPACES[name], share)
    assert_same_along_a_walk(policy, make_rows(SPACES[name]), 1e-5)
    assert_same_along_a_walk(policy.double(), make_rows(SPACES[name], dtype=torch.float64), 1e-12)


def test_the_beliefs_of_a_regression_are_those_of_thinking_anew():
    space = SPACES["all of them"]
    policy = make_policy(space, task=Regression(center=50.0, scale=2.0)).double()
    assert_same_along_a_walk(policy, make_rows(space, dtype=torch.float64), 1e-12)


@pytest.mark.parametrize("share", [False, True], ids=["separate", "shared"])
def test_in_training_without_dropout_the_beliefs_are_the_same(share):
    space = SPACES["all of them"]
    assert_same_along_a_walk(make_policy(space, share).train(), make_rows(space), 1e-5)


def test_in_training_with_dropout_every_belief_is_drawn_anew():
    space = SPACES["plain"]
    policy, rows = make_policy(space, dropout=0.5).train(), make_rows(space)
    tracker, nothing = policy.track(rows), torch.zeros_like(rows.available)
    assert not torch.equal(tracker.belief(nothing).outputs, tracker.belief(nothing).outputs)


def test_a_free_column_that_was_lost_is_not_seen():
    """Whoever hides a free column marks it absent and leaves its entries as they were."""
    space = SPACES["free"]
    policy, rows = make_policy(space).double(), make_rows(space, dtype=torch.float64)
    free = torch.tensor([group < 0 for group in space.group_of_column])
    lost = Rows(rows.x, rows.present & ~free, rows.available)
    assert rows.x[:, free].any()
    assert_same_along_a_walk(policy, lost, 1e-12)
    nothing = torch.zeros_like(rows.available)
    with torch.no_grad():
        first = policy.track(lost).belief(nothing).outputs
        assert (first == first[0]).all()
        assert not torch.equal(policy.track(rows).belief(nothing).outputs, first)


def test_a_group_that_was_not_asked_changes_nothing():
    space = SPACES["panels"]
    policy, rows = make_policy(space), make_rows(space)
    tracker, nothing = policy.track(rows), torch.zeros_like(rows.available)
    before = tracker.belief(nothing).outputs
    tracker.reveal(torch.zeros(len(rows), dtype=torch.int64), torch.zeros(len(rows), dtype=torch.bool))
    assert torch.equal(tracker.belief(nothing).outputs, before)


@pytest.mark.parametrize("share", [False, True], ids=["separate", "shared"])
def test_scores_are_given_only_where_they_are_asked_for(share):
    space = SPACES["plain"]
    policy, rows = make_policy(space, share), make_rows(space)
    tracker, nothing = policy.track(rows), torch.zeros_like(rows.available)
    without = tracker.belief(nothing, scores=False)
    assert without.scores is None
    assert torch.equal(without.outputs, tracker.belief(nothing).outputs)


def test_each_group_reveals_its_entries_and_its_columns_of_the_mask():
    # Group 0 holds columns 1 and 3, group 1 column 0; column 2 is free. Column 1 has two entries: 0 | 1 2 | 3 | 4.
    # Twelve groups more, of a column each, so that carrying on pays.
    inputs = GroupInputs(space_of([1, 0, -1, 0, *range(2, 14)], [1, 2, 1, 1] + [1] * 12)).all_groups
    found = [i[t > 0].tolist() for i, t in zip(inputs.index, inputs.there, strict=True)]
    assert found[:3] == [[1, 2, 18, 4, 20], [0, 17], [5, 21]]
    assert inputs.index.shape == (14, 5)


def test_one_group_much_larger_than_the_others_takes_no_memory():
    inputs = GroupInputs(space_of([*[0] * 40, *range(1, 400)], [1] * 439))
    assert not inputs.pays
    assert inputs.all_groups.index.numel() == inputs.all_groups.there.numel() == len(inputs.of_like_size) == 0


def test_groups_of_very_different_sizes_are_summed_with_those_of_their_size():
    # Columns of 1 number, of 12 parts, and of 100 categories.
    space = replace(space_of([0, 1, 2, 2], [1, 1, 100, 1]), edges=((), tuple(map(float, range(13))), *[()] * 101))
    inputs = GroupInputs(space)
    assert inputs.sums_pay
    assert [tuple(part.index.shape) for part in inputs.of_like_size] == [(1, 2), (1, 14), (1, 103)]
    policy, rows = make_policy(space), make_rows(space)
    known = torch.rand(6, *rows.available.shape) < 0.5
    mask = policy.mask(known, rows.present).flatten(0, 1)
    plain = policy.networks.first(policy.hide(rows.x.repeat(6, 1), mask), mask)
    assert torch.allclose(policy.first_of_states(rows, known), plain, atol=1e-5)


@pytest.mark.parametrize(
    ("space", "pays"),
    [
        (space_of(range(5), [1] * 5), False),  # 2 inputs of 10 a group
        (space_of(range(6), [1] * 6), True),
        (space_of([0, 0, *range(1, 11)], [1] * 12), True),
        (space_of([0, 0, 0, *range(1, 11)], [1] * 13), False),  # one large group is enough
    ],
)
def test_large_groups_are_thought_anew_since_carrying_on_would_not_pay(space, pays):
    policy, rows = make_policy(space), make_rows(space)
    assert policy.group_inputs.pays is pays
    assert type(policy.track(rows)) is (FirstLayerTracker if pays else Tracker)


class Doubled(Mlp):
    """A module made from ours that computes something else."""

    def forward(self, x, mask):
        return 2 * super().forward(x, mask)


class Linear(nn.Module):
    """A module that has nothing of ours."""

    def __init__(self, n_inputs, hidden, n_outputs):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(n_inputs, hidden), nn.Linear(hidden, n_outputs))

    def forward(self, x, mask):
        return self.layers(torch.cat([x, mask.to(x.dtype)], 1))


@pytest.mark.parametrize("kinds", [(Doubled, Mlp), (Mlp, Doubled), (Linear, Linear), (Linear, Mlp)])
def test_modules_of_ones_own_are_run_as_they_are(kinds):
    space = SPACES["plain"]
    networks = SeparateNetworks(*(kind(28, 8, n) for kind, n in zip(kinds, (3, 14), strict=True)))
    policy, rows = DimePolicy(space, CLASSES, networks, "bounded").eval(), make_rows(space)
    tracker, nothing = policy.track(rows), torch.zeros_like(rows.available)
    assert type(tracker) is Tracker
    assert_same(tracker.belief(nothing), policy(rows.x, policy.mask(nothing, rows.present)), 1e-7)
    # What is learnt from is what is used, too.
    episode = Episode.of_steps(walk(policy, rows, Prices.tensor(space.costs), 2))
    belief, *_ = policy.forward_episode(rows, episode)
    used = torch.cat([tracker.belief(known).outputs for known in episode.known])
    assert torch.equal(episode.known[0], nothing)
    assert_same((belief.outputs,), (used,), 1e-7)


class DoubledTrunk(MlpTrunk):
    def forward(self, x, mask):
        return 2 * super().forward(x, mask)


def test_a_trunk_of_ones_own_is_run_as_it_is():
    space = SPACES["plain"]
    networks = SharedNetworks(DoubledTrunk(28, 8), nn.Linear(8, 3), nn.Linear(8, 14))
    policy, rows = DimePolicy(space, CLASSES, networks, "bounded").eval(), make_rows(space)
    assert type(policy.track(rows)) is Tracker
