"""The greedy step and the walk along it."""

import copy

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from askwise import Budget, Confidence, DimeClassifier, Penalty
from askwise.core import trace as tracing
from askwise.core import walk as walking
from askwise.core.belief import Belief
from askwise.core.features import FeatureSpace
from askwise.core.policy import Policy
from askwise.core.prices import Prices
from askwise.core.rows import Rows
from askwise.core.step import propose
from askwise.core.tasks import Classification
from askwise.core.trace import rollout
from askwise.core.walk import Walk, explore, walk

INF = float("inf")


def step_of(policy, known=None, available=None, spent=0.0, rule=None):
    n = policy.space.n_groups
    known = torch.zeros(1, n, dtype=torch.bool) if known is None else torch.tensor([known], dtype=torch.bool)
    available = torch.ones(1, n, dtype=torch.bool) if available is None else torch.tensor([available], dtype=torch.bool)
    prices = Prices.tensor(policy.space.costs)
    belief, spent = Belief(policy.outputs[None], policy.scores[None]), torch.tensor([spent], dtype=torch.float64)
    return propose(belief, known, available, spent, prices, rule, policy.ranking)


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
    step = propose(belief, known, available, torch.zeros(3000), Prices(torch.ones(6)))
    torch.manual_seed(0)
    counts = torch.bincount(explore(step, torch.tensor(1.0), torch.rand(3000, 6)).choice, minlength=6)
    assert (counts > 0).tolist() == [False, True, False, False, True, True]
    assert counts[[1, 4, 5]].min() > 850  # each a third of 3000, far beyond chance


def test_exploration_happens_with_probability_epsilon(table_policy):
    policy = table_policy([1] * 4, [9, 1, 1, 1])
    belief = Belief(policy.outputs.expand(8000, -1), policy.scores.expand(8000, -1))
    nothing, everything = torch.zeros(8000, 4, dtype=torch.bool), torch.ones(8000, 4, dtype=torch.bool)
    step = propose(belief, nothing, everything, torch.zeros(8000), Prices(torch.ones(4)))
    torch.manual_seed(0)
    changed = (explore(step, torch.tensor(0.2), torch.rand(8000, 4)).choice != 0).double().mean().item()
    assert changed == pytest.approx(0.2 * 3 / 4, abs=0.015)
    assert (explore(step, torch.tensor(0.0), torch.rand(8000, 4)).choice == 0).all()


def test_a_random_walk_never_reveals_what_is_unavailable_or_known(table_policy):
    policy = table_policy([1, 2, 3, 1, 2], [5, 4, 3, 2, 1])
    present = torch.rand(200, 5, generator=torch.Generator().manual_seed(1)) < 0.6
    rows = rows_for(present)
    steps = list(walk(policy, rows, Prices(torch.tensor(policy.space.costs)), 6, epsilon=torch.tensor(0.7)))
    assert all(not (s.known & ~rows.available).any() for s in steps)
    counts = torch.stack([s.known.sum(1) for s in steps])
    assert torch.equal(counts, torch.minimum(torch.arange(6)[:, None], rows.available.sum(1)))


def test_without_a_rule_everything_available_is_asked(table_policy):
    policy = table_policy([1, 1, 1], [1, 3, 2])
    trace = rollout(policy, rows_for([[1, 1, 1], [1, 0, 1], [0, 0, 0]]), Prices(torch.ones(3)), [None])
    assert trace.choice.T.tolist() == [[1, 2, 0], [2, 0, -1], [-1, -1, -1]]
    assert trace.stops[0].at.tolist() == [3, 2, 0]
    assert trace.stops[0].reason.tolist() == ["nothing-left"] * 3


def test_choices_follow_the_scores_of_the_present_state(table_policy):
    policy = table_policy([1, 1, 1], [1, 3, 2], by_known={(1,): [9, 0, 2], (0, 1): [0, 0, 0]})
    trace = rollout(policy, rows_for([[1, 1, 1]]), Prices(torch.ones(3)), [None])
    assert trace.choice.flatten().tolist() == [1, 0, 2]


def test_one_walk_serves_many_rules_and_each_is_cut_as_if_alone(table_policy):
    policy = table_policy([1] * 4, [4, 3, 2, 1])
    rows = rows_for([[1, 1, 1, 1], [0, 1, 0, 1]])
    rules = [Penalty(lam) for lam in (0.5, 1.5, 2.5, 9)]
    together = rollout(policy, rows, Prices(torch.ones(4)), rules)
    for rule, stop in zip(rules, together.stops, strict=True):
        alone = rollout(policy, rows, Prices(torch.ones(4)), [rule]).stops[0]
        assert stop.at.tolist() == alone.at.tolist()
        assert stop.reason.tolist() == alone.reason.tolist()


def test_batches_are_joined_into_one_trace(table_policy):
    policy = table_policy([1, 2, 3], [3, 2, 1])
    present = np.array([[1, 0, 0], [0, 0, 0], [1, 1, 1], [0, 1, 1], [1, 0, 1]])
    prices = Prices.tensor([1.0, 2.0, 3.0])
    whole = rollout(policy, rows_for(present), prices, [None])
    parts = rollout(policy, rows_for(present), prices, [None], batch_size=2)
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
    trace = rollout(policy, rows_for([present]), Prices.tensor(costs), [rule], walked_by=rule)
    asked = trace.choice.flatten().tolist()
    asked = [g for g in asked if g >= 0]
    assert len(set(asked)) == len(asked)
    assert all(present[g] for g in asked)
    spent = sum(costs[g] for g in asked)
    assert spent <= k * (1 + 1e-6)
    left = [g for g in range(n) if present[g] and g not in asked]
    assert all(spent + costs[g] > k for g in left)
    assert trace.stops[0].reason[0] == ("budget" if left else "nothing-left")


# What rollouts save


class ByRow(Policy):
    """A policy whose scores are given for each row, in a precision; keeps how many rows it saw, and for what."""

    def __init__(self, scores, costs=None, dtype=torch.float64, is_information=True):
        self.given = torch.as_tensor(scores, dtype=torch.float64)
        n = self.given.shape[1]
        costs = costs or (1.0,) * n
        super().__init__(FeatureSpace(tuple(f"g{i}" for i in range(n)), tuple(costs), tuple(range(n)), tuple(range(n))))
        self.is_information, self.dtype, self.calls = is_information, dtype, []

    def forward(self, x, mask, scores=True):
        self.calls.append((len(x), scores))
        row = x[:, 0].long()
        outputs = torch.stack([row, mask.sum(1)], 1).to(self.dtype)
        return Belief(outputs, self.given[row].to(self.dtype) if scores else None)

    def rows(self, present=None):
        """All rows, each of which knows its number."""
        present = torch.ones(self.given.shape, dtype=torch.bool) if present is None else torch.as_tensor(present) > 0
        x = torch.zeros(present.shape, dtype=self.dtype)
        x[:, 0] = torch.arange(len(x))
        return Rows(x, present, present)

    def roll(self, rule=None, present=None, **settings):
        return rollout(self, self.rows(present), Prices.tensor(self.space.costs), [rule], walked_by=rule, **settings)


def cut(trace, row, rule=0):
    """A row's trace up to where a rule stopped it: outputs, best, spent, choices, and the reason."""
    stop = trace.stops[rule]
    at = int(stop.at[row])
    states = (part[: at + 1, row] for part in (trace.outputs, trace.best, trace.spent))
    return *states, trace.choice[:at, row], stop.reason[row]


def assert_same_up_to_the_stops(one, other, rows=None, n_rules=1):
    """One trace is of all rows, the other of all or of some."""
    rows = range(one.choice.shape[1]) if rows is None else rows
    for there, here in enumerate(rows):
        for rule in range(n_rules):
            ours, theirs = cut(one, here, rule), cut(other, there, rule)
            assert [len(part) for part in ours[:4]] == [len(part) for part in theirs[:4]]
            assert torch.equal(ours[3], theirs[3])
            assert torch.equal(ours[2], theirs[2])
            assert ours[4] == theirs[4]
            # Products of fewer rows may be rounded otherwise.
            assert torch.allclose(ours[1], theirs[1], rtol=1e-4, atol=1e-6)
            assert torch.allclose(ours[0], theirs[0], rtol=1e-4, atol=1e-5)


def test_rows_that_have_stopped_leave_once_they_are_more_than_a_fifth_of_the_batch():
    """Of ten rows, row r is worth asking for r questions."""
    policy = ByRow([[float(g < r) for g in range(10)] for r in range(10)])
    trace = policy.roll(Penalty(0.5))
    assert trace.stops[0].at.tolist() == list(range(10))
    assert [n for n, _ in policy.calls] == [10, 10, 10, 7, 7, 5, 5, 3, 2, 1]
    assert [int((trace.choice[:, r] >= 0).sum()) for r in range(10)] == list(range(10))


@pytest.mark.parametrize(
    ("fitted", "table", "rules"),
    [
        ("clinic", "new_cases", [Penalty(2e-3)]),
        ("clinic", "new_cases", [Budget(25)]),
        ("clinic", "new_cases", [Budget(18) | Confidence(0.2), Penalty(0.02)]),
        ("flowers", "iris", [Penalty(0.02), Confidence(0.4), Penalty(1e-3)]),
        # Ten columns: here the first layers are carried on.
        ("progression", "diabetes", [Penalty(10)]),
        ("progression", "diabetes", [Penalty(20), Penalty(0.2), Budget(4)]),
    ],
)
def test_rows_that_leave_change_nothing_up_to_each_stop(request, monkeypatch, fitted, table, rules):
    model = request.getfixturevalue(fitted)
    rows = model.encode(request.getfixturevalue(table)[0]).take(slice(None, None, 3))

    def trace(rows):
        return model.model_.trace(rows, rules, model.model_.costs(), rules[0])

    leaving = trace(rows)
    assert len({int(at) for at in leaving.stops[0].at}) > 1
    for most_standing in (0.0, 1.0):
        monkeypatch.setattr(tracing, "MOST_STANDING", most_standing)
        assert_same_up_to_the_stops(leaving, trace(rows), n_rules=len(rules))
    for row in range(0, len(rows), 7):
        assert_same_up_to_the_stops(leaving, trace(rows.take(slice(row, row + 1))), [row], len(rules))


def test_a_row_leaves_only_when_every_rule_has_stopped_it():
    policy = ByRow([[3.0, 2.0, 1.0]] * 4)
    trace = rollout(policy, policy.rows(), Prices(torch.ones(3)), [Penalty(2.5), Penalty(0.5), Penalty(1.5)])
    assert [stop.at.tolist() for stop in trace.stops] == [[1] * 4, [3] * 4, [2] * 4]
    assert [n for n, _ in policy.calls] == [4] * 4


def many_questions():
    """A policy whose 48 groups are worth nearly the same, the same in float64, and rows with holes."""
    space = FeatureSpace(tuple(map(str, range(48))), (1.0,) * 48, tuple(range(48)), tuple(range(48)))
    torch.manual_seed(0)
    policy = DimeClassifier(hidden=32).build(space, Classification((0, 1, 2))).eval()
    policy.networks.value.head.weight.data *= 1e-5
    present = torch.rand(120, 48) < 0.9
    return policy, copy.deepcopy(policy).double(), Rows(torch.randn(120, 48) * present, present, present)


def test_a_row_is_asked_the_same_alone_in_any_batch_and_in_float64():
    policy, exact, rows = many_questions()
    prices = Prices(torch.ones(48, dtype=torch.float64))
    expected = rollout(exact, rows.to("cpu", torch.float64), prices, [None]).choice
    assert not torch.equal(rollout(policy, rows, prices, [None]).choice, expected)
    for batch_size in (7, 64, None):
        trace = rollout(policy, rows, prices, [None], batch_size=batch_size, exact=exact)
        assert torch.equal(trace.choice, expected)
    for row in (0, 50, 119):
        trace = rollout(policy, rows.take(slice(row, row + 1)), prices, [None], exact=exact)
        n_asked = int(rows.available[row].sum())
        assert torch.equal(trace.choice[:, 0], expected[:n_asked, row])


@pytest.mark.parametrize(
    ("fast", "exact", "costs", "choice"),
    [
        ([1, 1, 0.5], [1, 1 + 1e-9, 0.5], (1.0,) * 3, 1),  # equal in float32
        ([1 + 1e-6, 1, 0.5], [1, 1 + 1e-9, 0.5], (1.0,) * 3, 1),  # the other way round
        ([1, 1, 0.5], [1, 1, 0.5], (1.0,) * 3, 0),  # a tie in truth: the first
        ([4, 2, 0.5], [4, 2, 0.5], (2.0, 1.0, 1.0), 1),  # of different costs: the cheaper
        ([4, 2, 0.5], [4 + 1e-9, 2, 0.5], (2.0, 1.0, 1.0), 0),
        ([-1, 0, -2], [-1, 1e-12, -2], (1.0,) * 3, 1),  # below nothing is nothing
        ([1.001, 1, 0.5], [1, 1.1, 9], (1.0,) * 3, 0),  # not near: nobody else is asked
    ],
)
def test_near_ties_are_settled_by_the_exact_policy(fast, exact, costs, choice):
    policy, judge = ByRow([fast], costs, torch.float32), ByRow([exact], costs)
    assert policy.roll(exact=judge).choice[0].item() == choice
    near = sorted(max(score, 0) / cost for score, cost in zip(fast, costs, strict=True))
    assert (len(judge.calls) > 0) is (near[-2] >= near[-1] * (1 - walking.NEAR))


def test_near_ties_of_scores_that_are_only_an_order_are_settled_below_zero_too():
    fast, exact = [[-1.0, -1.0 - 1e-6, -2.0]], [[-1.0, -1.0 + 1e-9, -2.0]]
    policy = ByRow(fast, dtype=torch.float32, is_information=False)
    assert policy.roll(exact=ByRow(exact, is_information=False)).choice.flatten().tolist() == [1, 0, 2]


def test_the_exact_policy_looks_only_at_rows_with_a_near_tie_and_may_choose_only_what_can_be_paid():
    fast = [[1.0, 1.0, 1.0, 1.0], [4.0, 3.0, 2.0, 1.0], [1.0, 1.0, 1.0, 1.0]]
    exact = [[9.0, 1.0, 2.0, 5.0]] * 3
    present = [[1, 1, 1, 0], [1, 1, 1, 1], [1, 1, 1, 1]]
    policy, judge = ByRow(fast, (5.0, 1.0, 1.0, 1.0), torch.float32), ByRow(exact, (5.0, 1.0, 1.0, 1.0))
    trace = policy.roll(Budget(4), present, exact=judge)
    assert trace.choice.T.tolist() == [[2, 1, -1], [1, 2, 3], [3, 2, 1]]
    # One group left to choose is no tie.
    assert judge.calls == [(2, True), (1, True)]


@pytest.mark.parametrize("costs", [(1.0,) * 5, (3.0, 1.0, 1.0, 2.0, 1.0)])
def test_where_the_budget_is_spent_scores_are_not_computed_and_nothing_changes(monkeypatch, costs):
    scores = torch.rand(6, 5, generator=torch.Generator().manual_seed(0)).tolist()
    present = [[1, 1, 1, 1, 1]] * 4 + [[1, 0, 0, 0, 0], [0, 0, 0, 0, 0]]
    saving, asking = ByRow(scores, costs), ByRow(scores, costs)
    found = saving.roll(Budget(3), present)
    monkeypatch.setattr(Walk, "_anything_allowed", lambda *_: True)
    expected = asking.roll(Budget(3), present)
    assert [scored for _, scored in saving.calls] == [True] * (len(saving.calls) - 1) + [False]
    assert all(scored for _, scored in asking.calls)
    for part in ("outputs", "spent", "best", "choice"):
        assert torch.equal(getattr(found, part), getattr(expected, part)), part
    assert_same_up_to_the_stops(found, expected)


def test_a_budget_of_nothing_needs_no_scores_at_all():
    policy = ByRow([[1.0, 2.0]] * 3)
    assert policy.roll(Budget(0.5)).stops[0].reason.tolist() == ["budget"] * 3
    assert policy.calls == [(3, False)]
