"""The paper's statements, each as a test: exactly by enumeration, by sampling, and with trained networks."""

import copy
from functools import cache

import numpy as np
import pytest
import torch
from torch import nn

from askwise import Budget, Confidence, DimeClassifier, DimeRegressor, Penalty
from askwise.core.prices import Prices
from askwise.core.rows import Rows
from askwise.core.tasks import entropy as entropy_of_outputs
from askwise.data.synthetic import DISTRIBUTIONS
from askwise.data.synthetic.discrete import Discrete
from askwise.evaluation.known_truth import compare
from askwise.methods.dime.objectives import ValueWarmUp
from askwise.model.model import Model
from askwise.networks.mlp import Mlp
from askwise.training.loop import Training
from askwise.training.update import Plan
from best_policies import BestPolicies, every_policy, least_cost_at, least_loss_at
from joint_tables import (
    UNKNOWN,
    as_tensors,
    entropy,
    information,
    open_features,
    outcomes,
    posterior,
    states_of,
    table_of,
)

COLUMNS = ("x0", "x1", "x2", "x3")
# The theorems are about the method as the paper has it.
PAPER = {"encoding": "raw", "screening": False, "soft_answers": False, "base_rates": False, "lookahead": 0}


@cache
def known(name):
    return DISTRIBUTIONS[name]()


@cache
def learnt(name, n_rows):
    """A small network trained on so many rows, about as many updates whatever their number."""
    few = n_rows < 1000
    method = DimeRegressor if name == "gaussian" else DimeClassifier
    estimator = method(
        **known(name).settings,
        **PAPER,
        hidden=32,
        dropout=0.0,
        learning_rate=5e-3,
        batch_size=64 if few else 256,
        pretrain_epochs=40 if few else 16,
        epochs=20 if few else 8,
        random_state=0,
    )
    return estimator.fit(*known(name).sample(n_rows, seed=1)).model_


def small_table(seed=0):
    """Three labels and four features of 2, 3, 2 and 2 levels, without any structure."""
    return np.random.default_rng(seed).dirichlet(np.full(72, 0.5)).reshape(3, 2, 3, 2, 2)


def mean_improvement(joint, predict, state, i):
    """E over y and x_i given x_S of the loss improvement of a predictor of log probabilities, by enumeration."""
    before = predict(state)
    return sum(float(masses @ (predict(then) - before)) for then, masses in outcomes(joint, state, [i]))


def exact_predictor(d):
    """Log probabilities of a state under the distribution's own posterior."""
    return lambda state: d.outputs(*as_tensors([state]))[0].numpy()


def improvements(d, rows, known_columns, column):
    """The loss improvement of each sampled row under the exact predictor, and the stated information."""
    x, y = rows
    before = torch.zeros_like(x, dtype=torch.bool)
    before[:, known_columns] = True
    after = before.clone()
    after[:, column] = True
    gain = d.task.loss(d.outputs(x, before), y) - d.task.loss(d.outputs(x, after), y)
    group = d.schema.space.group_of_column[column]
    return gain.numpy(), d.information(x, before)[:, group].numpy()


def sampled(d, n_rows, seed):
    frame, y = d.sample(n_rows, seed)
    return torch.tensor(frame.to_numpy()), d.task.encode(y)


def assert_mean_is_zero(gap):
    assert abs(gap.mean()) < 4 * gap.std() / np.sqrt(len(gap)) + 1e-9


# ---------------------------------------------------------------- lemma 1 and theorem 1


def test_lemma_1_improvement_under_the_exact_predictor_is_unbiased_for_each_state_and_feature():
    joint = small_table()
    d = Discrete(COLUMNS, joint)
    stated = d.information(*as_tensors(states_of(joint)))
    for s, state in enumerate(states_of(joint)):
        for i in open_features(state):
            improvement = mean_improvement(joint, exact_predictor(d), state, i)
            assert improvement == pytest.approx(information(joint, state, i), abs=1e-10)
            assert improvement == pytest.approx(stated[s, i].item(), abs=1e-10)


@pytest.mark.parametrize("state", [{}, {2: 1}, {0: 0, 1: 1}, {3: 2, 2: 0}, {0: 1, 3: 0, 5: 1}])
def test_lemma_1_sampled_improvements_average_to_the_information_at_a_fixed_state(state):
    d = known("network")
    x, y = sampled(d, 40_000, seed=2)
    here = torch.stack([x[:, c] == v for c, v in state.items()]).all(0) if state else torch.ones(len(x), dtype=bool)
    assert here.sum() > 500
    for i in set(range(7)) - set(state):
        gain, stated = improvements(d, (x[here], y[here]), list(state), i)
        assert np.ptp(stated) < 1e-12
        assert_mean_is_zero(gain - stated)


@pytest.mark.parametrize(("known_columns", "column"), [([], 4), ([3, 5], 6), ([4], 2), ([1, 3, 6, 8], 5)])
def test_lemma_1_sampled_improvements_average_to_the_information_of_continuous_columns(known_columns, column):
    gain, stated = improvements(known("cube"), sampled(known("cube"), 8000, seed=3), known_columns, column)
    assert stated.mean() > 0.05
    assert_mean_is_zero(gain - stated)


def test_theorem_1_trained_networks_approach_the_posterior_and_the_information():
    few, many = (compare(learnt("network", n), known("network"), 1000, seed=4).figures() for n in (500, 8000))
    for name, bound, share in (
        ("divergence", 0.012, 0.5),
        ("error_open", 0.016, 0.7),
        ("error_chosen", 0.018, 0.7),
    ):
        assert many[name] < bound, name
        assert many[name] < share * few[name], name
    assert many["regret"] < 0.004


# ---------------------------------------------------------------- theorem 2: prior information


def test_theorem_2_improvement_is_unbiased_for_the_information_given_z():
    d = known("prior")
    joint = table_of(d)
    # z is the first column, the age band; a sample of the states keeps this short.
    with_z = [s for s in states_of(joint) if s[0] is not UNKNOWN][::23]
    assert {s[0] for s in with_z} == {0, 1, 2, 3}
    for state in with_z:
        stated = d.information(*as_tensors([state]))[0]
        for i in open_features(state):
            improvement = mean_improvement(joint, exact_predictor(d), state, i)
            assert improvement == pytest.approx(information(joint, state, i), abs=1e-10)
            assert improvement == pytest.approx(stated[i - 1].item(), abs=1e-10)


def test_theorem_2_trained_estimates_depend_on_z_as_the_truth_does():
    joint = table_of(known("prior"))
    model = learnt("prior", 8000)
    bands = model.schema.encode(known("prior").sample(1, 0)[0].iloc[[0] * 4].assign(**{"age band": range(4)}))
    present = torch.zeros_like(bands.present)
    present[:, 0] = True
    found = model.information(Rows(bands.x, present, model.schema.space.available(present)))
    exact = np.array([[information(joint, (z, *[UNKNOWN] * 5), i) for i in range(1, 6)] for z in range(4)])
    assert np.abs(found - exact).max() < 0.05
    assert found[[0, 1, 3]].argmax(1).tolist() == exact[[0, 1, 3]].argmax(1).tolist() == [0, 0, 1]
    # A policy blind to z states one number for all bands, and is off by half of what the bands differ.
    assert np.ptp(exact, axis=0).max() / 2 > 0.15


def test_theorem_2_trained_networks_approach_posterior_and_information_given_z():
    figures = compare(learnt("prior", 8000), known("prior"), 1000, seed=5).figures()
    assert figures["divergence"] < 0.008
    assert figures["error_open"] < 0.015
    assert figures["regret"] < 0.004


# ---------------------------------------------------------------- the regression version


def conditional(covariance, given, of, values):
    """Mean and covariance of some normal variables given the values of others, all around 0."""
    across = covariance[np.ix_(of, given)] @ np.linalg.inv(covariance[np.ix_(given, given)])
    return across @ values, covariance[np.ix_(of, of)] - across @ covariance[np.ix_(given, of)]


@pytest.mark.parametrize("given", [[], [5], [0, 3], [1, 2, 4, 5]])
def test_regression_lemma_improvement_under_the_exact_mean_is_the_reduction_of_variance(given):
    """Squared errors are quadratic in (x_i, y), so Gauss-Hermite quadrature of 3 nodes each way is exact."""
    d = known("gaussian")
    covariance = d.covariance.numpy()
    n = len(covariance) - 1
    nodes, weights = np.polynomial.hermite_e.hermegauss(3)
    grid = np.array(np.meshgrid(nodes, nodes)).reshape(2, -1)
    weight = np.outer(weights, weights).ravel() / (2 * np.pi)
    values = np.random.default_rng(6).normal(size=len(given))
    for i in set(range(n)) - set(given):
        mean, spread = conditional(covariance, given, [i, n], values)
        x_i, y = mean[:, None] + np.linalg.cholesky(spread) @ grid
        x = np.zeros((9, n))
        x[:, given], x[:, i] = values, x_i
        gain, stated = improvements(d, (torch.tensor(x), torch.tensor(y)), given, i)
        after = conditional(covariance, [*given, i], [n], np.zeros(len(given) + 1))[1]
        assert weight @ gain == pytest.approx((spread[1, 1] - after).item(), abs=1e-9)
        assert weight @ gain == pytest.approx(stated[0], abs=1e-9)


def test_regression_version_trained_networks_approach_the_mean_and_the_reduction_of_variance():
    few, many = (compare(learnt("gaussian", n), known("gaussian"), 1000, seed=7).figures() for n in (500, 8000))
    # In squared units of y, whose variance is 2.4.
    for name, bound in (("divergence", 0.04), ("error_open", 0.09), ("error_chosen", 0.06)):
        assert many[name] < bound, name
        assert many[name] < 0.75 * few[name], name


# ---------------------------------------------------------------- 0 <= I <= H


def test_exact_information_lies_between_0_and_the_entropy_of_the_answer():
    joint = small_table(seed=1)
    stated = Discrete(COLUMNS, joint).information(*as_tensors(states_of(joint))).numpy()
    for found, state in zip(stated, states_of(joint), strict=True):
        assert (found >= 0).all()
        assert (found <= entropy(posterior(joint, state)) + 1e-12).all()


@pytest.mark.parametrize("push", [-50.0, 0.0, 50.0])
def test_estimates_of_a_bounded_policy_lie_between_0_and_the_entropy_of_its_own_prediction(push):
    """As trained, and with raw scores pushed to either end: the bound holds by construction, not by luck."""
    model = learnt("network", 8000)
    policy = copy.deepcopy(model.running_policy)
    policy.networks.value.head.bias.data += push
    rows = model.place(model.schema.encode(known("network").sample(500, seed=8)[0]))
    groups = torch.rand(500, 7, generator=torch.Generator().manual_seed(9)) < 0.5
    with torch.no_grad():
        belief = policy(rows.x, policy.mask(groups, rows.present))
    most = entropy_of_outputs(belief.outputs)[:, None]
    assert (belief.scores >= 0).all()
    assert (belief.scores <= most + 1e-12).all()


# ---------------------------------------------------------------- a predictor that is wrong


def divergence(p, log_q):
    there = p > 0
    return float((p[there] * (np.log(p[there]) - log_q[there])).sum())


def too_sure(log_p):
    return torch.log_softmax(3 * log_p, -1)


def too_timid(log_p):
    return torch.log(0.7 * log_p.exp() + 0.3 / log_p.shape[-1])


def wrong_predictor(d, distort):
    return lambda state: distort(d.outputs(*as_tensors([state])))[0].numpy()


def biases(joint, predict):
    """KL(p || q) at S, less its mean once x_i is known; for each state and open feature."""
    for state in states_of(joint):
        now = divergence(posterior(joint, state), predict(state))
        for i in open_features(state):
            later = sum(
                masses.sum() * divergence(posterior(joint, then), predict(then))
                for then, masses in outcomes(joint, state, [i])
            )
            yield state, i, now - later


@pytest.mark.parametrize("distort", [too_sure, too_timid])
def test_a_wrong_predictor_biases_the_improvement_by_a_difference_of_divergences(distort):
    joint = small_table(seed=2)
    predict = wrong_predictor(Discrete(COLUMNS, joint), distort)
    for state, i, bias in biases(joint, predict):
        stated = information(joint, state, i) + bias
        assert mean_improvement(joint, predict, state, i) == pytest.approx(stated, abs=1e-10)


def test_the_bias_of_a_wrong_predictor_can_have_either_sign():
    joint = small_table(seed=2)
    d = Discrete(COLUMNS, joint)
    sure, timid = ([bias for *_, bias in biases(joint, wrong_predictor(d, how))] for how in (too_sure, too_timid))
    assert max(sure) > 0.05
    assert min(sure) < -0.05
    # KL(p || a p + b) is convex in p, so answers only add to it: here the bias is never upward.
    assert max(timid) < 1e-12
    assert min(timid) < -0.05


class TooSure(nn.Module):
    """A predictor (x, mask) -> log probabilities that triples the log odds of the truth; nothing to train."""

    def __init__(self, d):
        super().__init__()
        values, known_ = as_tensors(states_of(table_of(d)))
        self.register_buffer("place", 3 ** torch.arange(values.shape[1]))
        self.register_buffer("table", torch.zeros(3 ** values.shape[1], 2))
        self.table[self._index(values, known_)] = too_sure(d.outputs(values, known_)).float()

    def _index(self, x, mask):
        return ((x.long() + 1) * mask) @ self.place

    def forward(self, x, mask):
        return self.table[self._index(x, mask)]


def counted_table(total):
    """A joint of two labels and three binary tests in whole counts, and rows that have exactly these counts."""
    right = (0.8, 0.7, 0.75)
    joint = np.array([0.6, 0.4]).reshape(2, 1, 1, 1)
    for test, accuracy in enumerate(right):
        shape = [2, *(2 if c == test else 1 for c in range(3))]
        joint = joint * np.array([[accuracy, 1 - accuracy], [1 - accuracy, accuracy]]).reshape(shape)
    counts = np.round(total * joint).astype(int)
    cells = np.repeat(np.array(list(np.ndindex(2, 2, 2, 2))), counts.ravel(), axis=0)
    return counts / counts.sum(), cells[:, 1:], cells[:, 0]


def test_a_value_network_learns_the_biased_value_under_a_wrong_predictor():
    joint, x, y = counted_table(total=4000)
    d = Discrete(COLUMNS[:3], joint)
    torch.manual_seed(0)
    value = Mlp(6, 64, 3, dropout=0.0)
    policy = DimeClassifier(predictor=TooSure(d), value=value, scaling="none").build(d.schema.space, d.task)
    present = torch.ones(len(x), 3, dtype=torch.bool)
    rows = Rows(torch.tensor(x).float(), present, present, torch.tensor(y))
    plan = Plan(epochs=150, batch_size=1000, learning_rate=5e-3, weight_decay=0.0, keep_best=False)
    objective = ValueWarmUp(policy, d.task, Prices.tensor(d.schema.space.costs))
    Training(policy, rows, rows, seed=0).stage("value", objective, plan)
    off, bias = [], []
    for state, i, by in biases(joint, wrong_predictor(d, too_sure)):
        values, mask = as_tensors([state])
        with torch.no_grad():
            score = policy(values.float(), mask).scores[0, i].item()
        off.append(score - information(joint, state, i) - by)
        bias.append(by)
    assert np.ptp(bias) > 0.2
    assert np.abs(off).mean() < 0.25 * np.abs(bias).mean()
    assert np.corrcoef(np.array(off) + bias, bias)[0, 1] > 0.9


# ---------------------------------------------------------------- proposition 1: variable budgets


def decisive_table(seed):
    """Four binary features, of which some cases need few and others all; the answer is nearly certain in the end."""
    rng = np.random.default_rng(seed)
    cases = rng.dirichlet(np.full(16, 1.0))
    ill = np.where(rng.random(16) < 0.5, 0.02, 0.98)
    return np.array([cases * (1 - ill), cases * ill]).reshape(2, 2, 2, 2, 2)


PRICES = {"equal": (1.0, 1.0, 1.0, 1.0), "unequal": (1.0, 2.0, 1.5, 0.5)}
TASKS = [(seed, prices) for seed in range(3) for prices in PRICES]


@cache
def best_policies(seed, prices):
    best = BestPolicies(decisive_table(seed), PRICES[prices])
    return best, best.frontier()


def final_entropies(best):
    return [best.entropy(s) for s in states_of(best.joint) if UNKNOWN not in s]


@pytest.mark.parametrize(("seed", "prices"), TASKS)
def test_proposition_1_a_budget_on_average_loses_no_more_than_a_budget_for_each_case(seed, prices):
    best, frontier = best_policies(seed, prices)
    budgets = np.linspace(0, sum(PRICES[prices]), 41)
    on_average = np.array([least_loss_at(frontier, k) for k in budgets])
    for_each = np.array([best.least_loss_within(k) for k in budgets])
    assert (on_average <= for_each + 1e-9).all()
    assert (for_each - on_average).max() > 0.05


@pytest.mark.parametrize(("seed", "prices"), TASKS)
def test_proposition_1_a_confidence_on_average_costs_no_more_than_one_for_each_case(seed, prices):
    best, frontier = best_policies(seed, prices)
    levels = np.linspace(max(final_entropies(best)), best.entropy(best.start), 41)
    on_average = np.array([least_cost_at(frontier, m) for m in levels])
    for_each = np.array([best.least_cost_until(m) for m in levels])
    assert (on_average <= for_each + 1e-9).all()
    assert (for_each - on_average).max() > 0.3


def test_proposition_1_confidence_needs_a_level_within_reach():
    """Where no policy is that sure on average, those that go on while unsure stay unsure, and the minimum is empty."""
    best, frontier = best_policies(0, "equal")
    out_of_reach = 0.9 * min(final_entropies(best))
    assert least_cost_at(frontier, out_of_reach) == np.inf
    assert best.least_cost_until(out_of_reach) == pytest.approx(sum(PRICES["equal"]))


@pytest.mark.parametrize("seed", range(4))
def test_dynamic_programming_finds_what_trying_every_policy_finds(seed):
    joint = np.random.default_rng(seed).dirichlet(np.full(8, 0.7)).reshape(2, 2, 2)
    costs = (1.0, 1.5)
    best = BestPolicies(joint, costs)
    frontier = best.frontier()
    played = list(every_policy(joint, costs))
    means = np.array([weight @ outcome for outcome, weight in played])
    for k in np.linspace(0, 2.5, 26):
        within = [mean[1] for mean, (outcome, _) in zip(means, played, strict=True) if outcome[:, 0].max() <= k + 1e-9]
        assert best.least_loss_within(k) == pytest.approx(min(within))
        assert least_loss_at(frontier, k) == pytest.approx(means[means[:, 0] <= k + 1e-9, 1].min())
    for m in np.linspace(0, 0.69, 24):
        until = [
            mean[0]
            for mean, (outcome, _) in zip(means, played, strict=True)
            if ((outcome[:, 1] <= m + 1e-12) | (outcome[:, 0] >= sum(costs))).all()
        ]
        assert best.least_cost_until(m) == pytest.approx(min(until))
        fits = means[:, 1] <= m + 1e-9
        assert least_cost_at(frontier, m) == pytest.approx(means[fits, 0].min() if fits.any() else np.inf)


@pytest.mark.parametrize(("seed", "prices"), TASKS)
def test_no_rule_along_the_greedy_path_beats_the_best_policies(seed, prices):
    """What our own rules pay and lose, over all sixteen cases, lies on the right side of each minimum."""
    best, frontier = best_policies(seed, prices)
    d = Discrete(COLUMNS, best.joint, costs=dict(zip(COLUMNS, PRICES[prices], strict=True)))
    model = Model(d.schema, d.task, d.policy)
    present = torch.ones(16, 4, dtype=torch.bool)
    rows, weight = Rows(d.ways.double(), present, present), d.joint.sum(1).numpy()

    def pays_and_loses(rule):
        found = model.acquire(rows, rule)
        return weight @ found.spent, weight @ np.array([entropy(p) for p in found.proba])

    for k in (0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0):
        assert pays_and_loses(Budget(k))[1] >= best.least_loss_within(k) - 1e-9
    for m in (0.1, 0.2, 0.3, 0.45, 0.6):
        assert pays_and_loses(Confidence(m))[0] >= best.least_cost_until(m) - 1e-9
    for lam in (0.01, 0.03, 0.1, 0.2, 0.4):
        cost, loss = pays_and_loses(Penalty(lam))
        assert loss >= least_loss_at(frontier, cost) - 1e-9
