"""The greedy step and the walk along it."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from askwise import Budget, Penalty
from askwise.acquisition import explore, propose, rollout, walk
from askwise.features import Rows
from askwise.policy import Belief

INF = float("inf")


def step_of(policy, known=None, available=None, spent=0.0, rule=None):
    n = policy.space.n_groups
    known = torch.zeros(1, n, dtype=torch.bool) if known is None else torch.tensor([known], dtype=torch.bool)
    available = torch.ones(1, n, dtype=torch.bool) if available is None else torch.tensor([available], dtype=torch.bool)
    costs = torch.tensor(policy.space.costs, dtype=torch.float64)
    belief = Belief(policy.outputs[None], policy.scores[None])
    return propose(policy, belief, known, available, torch.tensor([spent], dtype=torch.float64), costs, rule)


def rows_for(present):
    present = torch.as_tensor(np.asarray(present, dtype=bool))
    return Rows(torch.zeros(present.shape, dtype=torch.float64), present, present)


def test_known_and_unavailable_groups_have_value_minus_infinity(table_policy):
    policy = table_policy([1, 1, 1, 1], [9, 8, 7, 6])
    step = step_of(policy, known=[1, 0, 0, 0], available=[1, 0, 1, 1])
    assert step.values.tolist() == [[-INF, -INF, 7, 6]]
    assert step.open.tolist() == [[False, False, True, True]]
    assert step.choice.item() == 2


def test_what_a_budget_can_not_pay_has_value_minus_infinity(table_policy):
    policy = table_policy([5, 2, 3], [9, 1, 2])
    step = step_of(policy, spent=2.0, rule=Budget(5))
    assert step.values[0, 0] == -INF
    assert step.choice.item() == 2
    assert step.open.all()


def test_information_is_divided_by_cost(table_policy):
    step = step_of(table_policy([4, 1], [2.0, 1.0]))
    assert step.values.tolist() == [[0.5, 1.0]]
    assert step.choice.item() == 1


def test_information_below_zero_counts_as_zero(table_policy):
    """-5 at a price of 100 is no better than -5 at a price of 1; both are 0, and the tie goes to the cheaper."""
    step = step_of(table_policy([100, 1], [-0.1, -5.0]))
    assert step.values.tolist() == [[0.0, 0.0]]
    assert step.choice.item() == 1


def test_scores_that_are_only_an_order_are_not_divided_or_clamped(table_policy):
    step = step_of(table_policy([100, 1], [-0.1, -5.0], is_information=False))
    assert step.values.tolist() == [[-0.1, -5.0]]
    assert step.choice.item() == 0


@pytest.mark.parametrize(
    ("costs", "scores", "choice"),
    [
        ([2, 1, 2], [2, 1, 2], 1),  # equal values: the cheaper
        ([2, 1, 1], [2, 1, 1], 1),  # equal values and prices: the first
        ([1, 1, 1], [0, 0, 0], 0),
        ([3, 2, 2], [-1, -1, -2], 1),
        ([2, 1], [2, 1 + 1e-12], 1),  # not a tie at all
        ([1, 2], [1, 2 + 1e-12], 1),
        ([2] * 100 + [1] * 200, [2] * 100 + [1] * 200, 100),
    ],
)
def test_exact_ties_go_to_the_cheaper_then_to_the_first(table_policy, costs, scores, choice):
    assert step_of(table_policy(costs, scores)).choice.item() == choice


def test_where_nothing_can_be_asked_nothing_changes(table_policy):
    step = step_of(table_policy([1, 1], [1, 1]), known=[1, 0], available=[1, 0], spent=1.0)
    assert not step.can_ask.item()
    assert torch.equal(step.known_next, step.known)
    assert torch.equal(step.spent_next, step.spent)


def test_exploration_picks_only_open_groups(table_policy):
    policy = table_policy([1] * 6, [1] * 6)
    known = torch.tensor([1, 0, 0, 1, 0, 0], dtype=torch.bool).expand(3000, -1)
    available = torch.tensor([1, 1, 0, 1, 1, 1], dtype=torch.bool).expand(3000, -1)
    belief = Belief(policy.outputs.expand(3000, -1), policy.scores.expand(3000, -1))
    step = propose(policy, belief, known, available, torch.zeros(3000), torch.ones(6))
    torch.manual_seed(0)
    counts = torch.bincount(explore(step, torch.tensor(1.0), torch.rand(3000, 6)).choice, minlength=6)
    assert (counts > 0).tolist() == [False, True, False, False, True, True]
    assert counts[[1, 4, 5]].min() > 850  # each a third of 3000, far beyond chance


def test_exploration_happens_with_probability_epsilon(table_policy):
    policy = table_policy([1] * 4, [9, 1, 1, 1])
    belief = Belief(policy.outputs.expand(8000, -1), policy.scores.expand(8000, -1))
    nothing, everything = torch.zeros(8000, 4, dtype=torch.bool), torch.ones(8000, 4, dtype=torch.bool)
    step = propose(policy, belief, nothing, everything, torch.zeros(8000), torch.ones(4))
    torch.manual_seed(0)
    changed = (explore(step, torch.tensor(0.2), torch.rand(8000, 4)).choice != 0).double().mean().item()
    assert changed == pytest.approx(0.2 * 3 / 4, abs=0.015)
    assert (explore(step, torch.tensor(0.0), torch.rand(8000, 4)).choice == 0).all()


def test_a_random_walk_never_reveals_what_is_unavailable_or_known(table_policy):
    policy = table_policy([1, 2, 3, 1, 2], [5, 4, 3, 2, 1])
    present = torch.rand(200, 5, generator=torch.Generator().manual_seed(1)) < 0.6
    rows = rows_for(present)
    steps = list(walk(policy, rows, torch.tensor(policy.space.costs), 6, epsilon=torch.tensor(0.7)))
    assert all(not (s.known & ~rows.available).any() for s in steps)
    counts = torch.stack([s.known.sum(1) for s in steps])
    assert torch.equal(counts, torch.minimum(torch.arange(6)[:, None], rows.available.sum(1)))


def test_without_a_rule_everything_available_is_asked(table_policy):
    policy = table_policy([1, 1, 1], [1, 3, 2])
    trace = rollout(policy, rows_for([[1, 1, 1], [1, 0, 1], [0, 0, 0]]), torch.ones(3), [None])
    assert trace.choice.T.tolist() == [[1, 2, 0], [2, 0, -1], [-1, -1, -1]]
    assert trace.stops[0].at.tolist() == [3, 2, 0]
    assert trace.stops[0].reason.tolist() == ["nothing-left"] * 3


def test_choices_follow_the_scores_of_the_present_state(table_policy):
    policy = table_policy([1, 1, 1], [1, 3, 2], by_known={(1,): [9, 0, 2], (0, 1): [0, 0, 0]})
    trace = rollout(policy, rows_for([[1, 1, 1]]), torch.ones(3), [None])
    assert trace.choice.flatten().tolist() == [1, 0, 2]


def test_one_walk_serves_many_rules_and_each_is_cut_as_if_alone(table_policy):
    policy = table_policy([1] * 4, [4, 3, 2, 1])
    rows = rows_for([[1, 1, 1, 1], [0, 1, 0, 1]])
    rules = [Penalty(lam) for lam in (0.5, 1.5, 2.5, 9)]
    together = rollout(policy, rows, torch.ones(4), rules)
    for rule, stop in zip(rules, together.stops, strict=True):
        alone = rollout(policy, rows, torch.ones(4), [rule]).stops[0]
        assert stop.at.tolist() == alone.at.tolist()
        assert stop.reason.tolist() == alone.reason.tolist()


def test_batches_are_joined_into_one_trace(table_policy):
    policy = table_policy([1, 2, 3], [3, 2, 1])
    present = np.array([[1, 0, 0], [0, 0, 0], [1, 1, 1], [0, 1, 1], [1, 0, 1]])
    costs = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)
    whole = rollout(policy, rows_for(present), costs, [None])
    parts = rollout(policy, rows_for(present), costs, [None], batch_size=2)
    assert torch.equal(whole.choice, parts.choice)
    assert torch.equal(whole.spent, parts.spent)
    assert whole.stops[0].at.tolist() == parts.stops[0].at.tolist()


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_a_budget_is_never_exceeded_and_nothing_affordable_is_left(table_policy, data):
    n = data.draw(st.integers(1, 6))
    costs = data.draw(st.lists(st.sampled_from([0.1, 0.2, 0.3, 1, 2.5, 7]), min_size=n, max_size=n))
    scores = data.draw(st.lists(st.floats(-1, 5), min_size=n, max_size=n))
    present = data.draw(st.lists(st.booleans(), min_size=n, max_size=n))
    k = data.draw(st.floats(0, 12))
    policy = table_policy(costs, scores)
    rule = Budget(k)
    prices = torch.tensor(costs, dtype=torch.float64)
    trace = rollout(policy, rows_for([present]), prices, [rule], walked_by=rule)
    asked = trace.choice.flatten().tolist()
    asked = [g for g in asked if g >= 0]
    assert len(set(asked)) == len(asked)
    assert all(present[g] for g in asked)
    spent = sum(costs[g] for g in asked)
    assert spent <= k * (1 + 1e-6)
    left = [g for g in range(n) if present[g] and g not in asked]
    assert all(spent + costs[g] > k for g in left)
    assert trace.stops[0].reason[0] == ("budget" if left else "nothing-left")
