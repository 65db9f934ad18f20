"""Episodes: the states of walks, and the steps between them."""

import pytest
import torch

from askwise.core.prices import Prices
from askwise.core.rows import Rows
from askwise.core.walk import walk
from askwise.training.episode import Episode

# The first row can be asked everything, the second only the middle group, the third nothing.
AVAILABLE = torch.tensor([[True, True, True], [False, True, False], [False, False, False]])


@pytest.fixture
def policy(table_policy):
    """Asks the last group first, then the middle one."""
    return table_policy([1.0] * 3, [1.0, 2.0, 3.0])


def walked(policy, available=AVAILABLE, n_steps=3):
    rows = Rows(torch.zeros(available.shape), available, available)
    return Episode.of_steps(walk(policy, rows, Prices.tensor([1.0] * 3), n_steps))


def test_the_episode_of_a_walk_holds_its_states_and_its_steps(policy):
    episode = walked(policy)
    assert episode.known[:, 0].int().tolist() == [[0, 0, 0], [0, 0, 1], [0, 1, 1], [1, 1, 1]]
    assert episode.known[:, 1].int().tolist() == [[0, 0, 0], [0, 1, 0], [0, 1, 0], [0, 1, 0]]
    assert episode.choice[:, 0].tolist() == [2, 1, 0]
    assert episode.taken.T.tolist() == [[True] * 3, [True, False, False], [False] * 3]
    assert (episode.n_states, episode.n_rows, episode.lengths, episode.most_known) == (4, 3, (4,), (3,))


def test_a_state_that_no_question_led_to_repeats_the_one_before(policy):
    episode = walked(policy)
    same = (episode.known[1:] == episode.known[:-1]).all(2)
    assert not episode.repeated[0].any()
    assert torch.equal(episode.repeated[1:], same)
    assert episode.repeated.sum(0).tolist() == [0, 2, 3]


def test_a_random_step_adds_one_open_group_to_a_random_set():
    torch.manual_seed(0)
    available = AVAILABLE.repeat(200, 1)
    step = Episode.random_step(available)
    before, after = step.known
    added = torch.nn.functional.one_hot(step.choice[0], 3).bool() & step.taken.T
    assert torch.equal(after, before | added)
    assert not (added & before).any()
    assert not (after & ~available).any()
    assert set(before[::3].sum(1).tolist()) == {0, 1, 2, 3}


def test_a_random_step_from_everything_available_is_not_taken_and_repeats_its_state():
    torch.manual_seed(0)
    available = AVAILABLE.repeat(200, 1)
    step = Episode.random_step(available)
    nothing_open = ~(available & ~step.known[0]).any(1)
    assert 0 < nothing_open.sum() < len(available)
    assert torch.equal(step.taken[0], ~nothing_open)
    assert torch.equal(step.repeated, torch.stack([torch.zeros_like(nothing_open), nothing_open]))


def test_no_step_leads_from_one_walk_to_the_next(policy):
    both = Episode.cat([walked(policy), Episode.random_step(AVAILABLE)])
    states = torch.arange(6)[:, None].expand(6, 3)
    assert both.before(states)[:, 0].tolist() == [0, 1, 2, 4]
    assert both.after(states)[:, 0].tolist() == [1, 2, 3, 5]
    assert torch.equal(both.after(both.known) & ~both.before(both.known), asked_of(both))


def asked_of(episode):
    """What each step adds to what is known."""
    return torch.nn.functional.one_hot(episode.choice, 3).bool() & episode.taken[..., None]


def test_a_gain_is_how_much_lower_the_loss_is_after_a_step(policy):
    both = Episode.cat([walked(policy), Episode.random_step(AVAILABLE)])
    losses = torch.tensor([8.0, 5.0, 4.0, 4.5, 7.0, 1.0])[:, None].expand(6, 3)
    assert both.gains(losses)[:, 0].tolist() == [3.0, 1.0, -0.5, 6.0]


def test_from_the_end_of_a_walk_nothing_is_asked(policy):
    random = Episode.random_step(AVAILABLE)
    asked = Episode.cat([walked(policy), random]).choice_of_states()
    assert asked[:, 0].tolist() == [2, 1, 0, 0, random.choice[0, 0].item(), 0]


def test_no_state_knows_more_than_its_walk_says(policy):
    both = Episode.cat([walked(policy, n_steps=2), Episode.random_step(AVAILABLE)])
    assert both.known_counts == [(9, 2), (6, 3)]
    walk_states, random_states = both.known.split(both.lengths)
    assert walk_states.sum(2).max() == 2
    assert random_states.sum(2).max() <= 3


def test_some_rows_of_an_episode_are_the_episode_of_these_rows(policy):
    episode = walked(policy)
    some, alone = episode.take(slice(0, None, 2)), walked(policy, AVAILABLE[::2])
    for name in ("known", "choice", "taken", "repeated"):
        assert torch.equal(getattr(some, name), getattr(alone, name)), name
    assert (some.lengths, some.most_known) == (alone.lengths, alone.most_known)


def windows(policy, row):
    """Two steps of the walk of one row, drawn 400 times."""
    torch.manual_seed(0)
    return walked(policy, AVAILABLE[row : row + 1].repeat(400, 1)).window(2)


def test_a_window_is_some_steps_of_a_walk_in_a_row_and_the_first_state_follows_the_last(policy):
    part = windows(policy, row=0)
    assert (part.n_states, part.lengths, part.most_known) == (3, (3,), (3,))
    sizes = part.known.sum(2).T
    assert set(map(tuple, sizes.tolist())) == {(0, 1, 2), (1, 2, 3), (2, 3, 0), (3, 0, 1)}
    # To begin again is no step, and yet leads to another state.
    assert torch.equal(part.taken.T, sizes[:, 1:] > sizes[:, :-1])
    assert not part.repeated.any()


def test_in_a_window_too_a_state_that_repeats_the_one_before_does_not_count_again(policy):
    part = windows(policy, row=1)
    same = (part.known[1:] == part.known[:-1]).all(2)
    assert not part.repeated[0].any()
    assert torch.equal(part.repeated[1:], same)
    assert not (part.taken & same).any()
