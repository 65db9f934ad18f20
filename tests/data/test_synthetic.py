"""The distributions with known answers: what they say they know is checked by other means."""

import itertools
from collections import Counter

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import chisquare, norm

from askwise import Budget, Session
from askwise.core.belief import Belief
from askwise.core.policy import Policy
from askwise.core.prices import Prices
from askwise.core.tasks import entropy as entropy_of_outputs
from askwise.core.walk import walk
from askwise.data.synthetic import DISTRIBUTIONS
from askwise.data.synthetic.discrete import Discrete
from askwise.evaluation.curves import curve
from askwise.evaluation.known_truth import compare
from askwise.model.model import Model
from joint_tables import UNKNOWN, as_tensors, entropy, information, open_features, outcomes, states_of, table_of

DISCRETE = ("tests", "network", "prior", "costs")
CUBES = ("cube", "cube-nm")


@pytest.fixture(scope="module")
def known():
    """Each distribution, made once."""
    return {name: make() for name, make in DISTRIBUTIONS.items()}


def told(d, **values):
    """One state of a distribution, as tensors, from answers by column; spaces in names are written _."""
    names = [c.replace(" ", "_") for c in d.columns]
    assert set(values) <= set(names)
    return as_tensors([tuple(values.get(name, UNKNOWN) for name in names)])


def tells(d, group, **values):
    """The information that the distribution states for a group."""
    return d.information(*told(d, **values))[0, d.schema.space.names.index(group)].item()


def all_cost_one(d):
    return Prices.tensor([1.0] * d.schema.space.n_groups)


def some_states(d, n_rows, seed, share=None):
    """Sampled rows with random sets of groups: values, mask over columns, known groups."""
    frame, _ = d.sample(n_rows, seed)
    rng = np.random.default_rng(seed)
    level = rng.random((n_rows, 1)) if share is None else share
    groups = torch.tensor(rng.random((n_rows, d.schema.space.n_groups)) < level)
    x = torch.tensor(frame.to_numpy())
    return x, d.policy.mask(groups, torch.ones_like(x, dtype=torch.bool)), groups


# ---------------------------------------------------------------- noisy tests

SENSITIVITY = (0.95, 0.90, 0.85, 0.80, 0.75, 0.70, 0.60, 0.55)
SPECIFICITY = (0.70, 0.85, 0.80, 0.90, 0.75, 0.65, 0.95, 0.60)


def bayes_by_hand(results):
    """P(ill | results), from a prevalence of 30 %."""
    ill, well = 0.3, 0.7
    for test, positive in results.items():
        ill *= SENSITIVITY[test] if positive else 1 - SENSITIVITY[test]
        well *= 1 - SPECIFICITY[test] if positive else SPECIFICITY[test]
    return ill / (ill + well)


def test_the_posterior_of_noisy_tests_is_bayes_rule(known):
    x, mask, _ = some_states(known["tests"], 60, seed=0)
    found = known["tests"].outputs(x, mask).exp()
    for row in range(60):
        ill = bayes_by_hand({t: x[row, t].item() for t in range(8) if mask[row, t]})
        np.testing.assert_allclose(found[row], [1 - ill, ill], atol=1e-12)


def test_the_information_of_a_noisy_test_is_the_textbook_formula(known):
    def coin(p):
        return entropy([p, 1 - p])

    x, mask, _ = some_states(known["tests"], 60, seed=1)
    found = known["tests"].information(x, mask)
    for row, test in itertools.product(range(60), range(8)):
        ill = bayes_by_hand({t: x[row, t].item() for t in range(8) if mask[row, t]})
        sens, spec = SENSITIVITY[test], SPECIFICITY[test]
        formula = coin(ill * sens + (1 - ill) * (1 - spec)) - ill * coin(sens) - (1 - ill) * coin(spec)
        assert found[row, test].item() == pytest.approx(0.0 if mask[row, test] else formula, abs=1e-12)


# ---------------------------------------------------------------- network


def test_neither_half_of_the_exclusive_or_tells_alone_and_both_tell_together(known):
    d = known["network"]
    table = table_of(d)
    together = information(table, (UNKNOWN,) * 7, 0, 1)
    assert together > 0.2
    assert tells(d, "a") == pytest.approx(0, abs=1e-12)
    assert tells(d, "b") == pytest.approx(0, abs=1e-12)
    # I(y; a, b) = I(y; a) + E[I(y; b | a)], and both values of a are equally likely.
    assert (tells(d, "b", a=0) + tells(d, "b", a=1)) / 2 == pytest.approx(together, abs=1e-12)


def test_the_reading_tells_nothing_where_mode_is_0(known):
    d = known["network"]
    for a, scale in itertools.product((0, 1), (0, 1, 2)):
        assert tells(d, "reading", mode=0) == pytest.approx(0, abs=1e-12)
        assert tells(d, "reading", mode=0, a=a, scale=scale) == pytest.approx(0, abs=1e-12)
        assert tells(d, "reading", mode=1, a=a, scale=scale) > 0.1


def test_the_noise_never_tells_and_the_echo_only_beside_b(known):
    d = known["network"]
    x, mask, _ = some_states(d, 200, seed=2)
    assert d.information(x, mask)[:, 6].max() < 1e-12
    assert tells(d, "echo") == pytest.approx(0, abs=1e-12)
    assert tells(d, "echo", b=1) > 0.05
    assert tells(d, "echo", a=0, b=1) == pytest.approx(0, abs=1e-12)


# ---------------------------------------------------------------- prior information


def test_the_age_band_is_free_and_decides_which_test_is_best(known):
    d = known["prior"]
    assert d.schema.free == ("age band",)
    assert "age band" not in d.schema.space.names
    model = Model(d.schema, d.task, d.policy)
    first = [Session(model, known={"age band": band}).ask().name for band in range(4)]
    assert first[:2] == ["test for the young"] * 2
    assert first[3] == "test for the old"


@pytest.mark.parametrize(("band", "prevalence", "young", "old"), [(0, 0.05, 0.95, 0.55), (3, 0.6, 0.55, 0.9)])
def test_the_age_band_moves_prevalence_and_accuracy_as_stated(known, band, prevalence, young, old):
    d = known["prior"]
    assert d.outputs(*told(d, age_band=band)).exp()[0, 1].item() == pytest.approx(prevalence)
    ill = prevalence * young * (1 - old)
    well = (1 - prevalence) * (1 - young) * old
    seen = told(d, age_band=band, test_for_the_young=1, test_for_the_old=0)
    assert d.outputs(*seen).exp()[0, 1].item() == pytest.approx(ill / (ill + well))


# ---------------------------------------------------------------- unequal costs


def test_two_cheap_tests_tell_more_together_than_the_dear_scan_for_less(known):
    d = known["costs"]
    scan, upper, lower = (d.columns.index(name) for name in ("scan", "upper test", "lower test"))
    nothing = (UNKNOWN,) * 6
    table = table_of(d)
    assert information(table, nothing, upper, lower) > 1.3 * information(table, nothing, scan)
    assert information(table, nothing, upper) < information(table, nothing, scan)
    assert d.costs["upper test"] + d.costs["lower test"] < d.costs["scan"] / 2


def test_greedy_asks_the_cheap_ones_first_where_costs_count_and_the_scan_where_not(known):
    d = known["costs"]
    model = Model(d.schema, d.task, d.policy)
    rows = d.schema.encode(d.sample(100, 0)[0])
    by_cost = model.acquire(rows, None).order
    assert all(set(order[:2]) == {"upper test", "lower test"} for order in by_cost)
    assert all(order.index("scan") > order.index("upper question") for order in by_cost)
    assert all(order[0] == "scan" for order in model.acquire(rows, None, costs=dict.fromkeys(d.costs, 1.0)).order)


# ---------------------------------------------------------------- CUBE and CUBE-NM


def cube_causes(name):
    """Label and column means of every hidden cause, written down once more: (causes,), (causes, columns)."""

    def mean(label, column):
        bit = (column - label) % 10
        return float(bin(label)[2:].zfill(3)[::-1][bit]) if bit < 3 and column < 10 else 0.5

    if name == "cube":
        return np.arange(8), np.array([[mean(label, c) for c in range(20)] for label in range(8)])
    causes = list(itertools.product(range(8), range(5)))
    context = [[float(c == k) for c in range(5)] for _, k in causes]
    blocks = [[mean(label, c % 10) if c // 10 == k else 0.5 for c in range(50)] for label, k in causes]
    return np.array([label for label, _ in causes]), np.hstack([context, blocks])


def cube_posterior(name, x, mask):
    """P(cause | x_S) of one state."""
    _, means = cube_causes(name)
    sigma = np.where(np.arange(means.shape[1]) < means.shape[1] - (20 if name == "cube" else 50), 0.1, 0.3)
    log_p = norm.logpdf(x, means, sigma)[:, mask].sum(1)
    p = np.exp(log_p - log_p.max())
    return p / p.sum()


def by_label(name, causes):
    """Sums over the causes of each label, (..., 8)."""
    return causes @ np.eye(8)[cube_causes(name)[0]]


def asked_states(d):
    """Six states along the greedy path, one after each number of questions up to five."""
    rows = d.schema.encode(d.sample(6, seed=3)[0]).to("cpu", torch.float64)
    steps = walk(d.policy, rows, all_cost_one(d), 6)
    for row, step in enumerate(steps):
        yield rows.x[row : row + 1], d.policy.mask(step.known, rows.present)[row : row + 1]


def columns_to_check(d, found):
    """The three columns that tell most in a state and one that tells least, with their stated information."""
    names = d.schema.space.names
    single = [g for g in np.argsort(-found) if names[g] in d.columns]
    return [(d.columns.index(names[g]), found[g]) for g in (*single[:3], single[-1])]


@pytest.mark.parametrize("name", CUBES)
def test_the_posterior_of_a_cube_is_bayes_rule(known, name):
    x, mask, _ = some_states(known[name], 40, seed=4)
    found = known[name].outputs(x, mask).exp().numpy()
    for row in range(40):
        by_hand = by_label(name, cube_posterior(name, x[row].numpy(), mask[row].numpy()))
        np.testing.assert_allclose(found[row], by_hand, atol=1e-9)


@pytest.mark.parametrize("name", CUBES)
def test_the_information_of_a_cube_column_is_the_integral(known, name):
    """I = integral of p(x_j, y) log p(x_j, y) / (p(x_j) p(y)), by adaptive quadrature."""
    _, means = cube_causes(name)
    for x, mask in asked_states(known[name]):
        causes = cube_posterior(name, x[0].numpy(), mask[0].numpy())
        label = by_label(name, causes)

        def integrand(v, j, causes=causes, label=label):
            joint = by_label(name, causes * norm.pdf(v, means[:, j], 0.3))
            there = joint > 0
            return (joint[there] * np.log(joint[there] / (label[there] * joint.sum()))).sum()

        for j, stated in columns_to_check(known[name], known[name].information(x, mask)[0].numpy()):
            if not mask[0, j]:
                whole, _ = quad(integrand, -2.1, 3.1, args=(j,), points=[0, 0.5, 1], epsabs=1e-10)
                assert stated == pytest.approx(whole, abs=1e-8)


@pytest.mark.parametrize("name", CUBES)
def test_the_information_of_a_cube_column_is_the_mean_log_ratio_of_draws(known, name):
    labels, means = cube_causes(name)
    rng = np.random.default_rng(5)
    for x, mask in asked_states(known[name]):
        causes = cube_posterior(name, x[0].numpy(), mask[0].numpy())
        j, stated = columns_to_check(known[name], known[name].information(x, mask)[0].numpy())[0]
        cause = rng.choice(len(causes), 20_000, p=causes)
        drawn = rng.normal(means[cause, j], 0.3)
        after = by_label(name, causes * norm.pdf(drawn[:, None], means[:, j], 0.3))
        after /= after.sum(1, keepdims=True)
        ratio = np.log(after[np.arange(20_000), labels[cause]] / by_label(name, causes)[labels[cause]])
        assert abs(ratio.mean() - stated) < 4 * ratio.std() / np.sqrt(20_000)


def test_the_context_of_cube_nm_tells_nothing_at_first_and_something_after_answers_of_a_block(known):
    d = known["cube-nm"]
    assert tells(d, "context") == pytest.approx(0, abs=1e-12)
    x, _, _ = some_states(d, 100, seed=6)
    mask = torch.zeros_like(x, dtype=torch.bool)
    mask[:, [5 + 3, 5 + 5, 5 + 6]] = True
    of_context = d.information(x, mask)[:, 0]
    assert of_context.mean() > 0.02
    label, _ = cube_causes("cube-nm")
    for row in range(20):
        # The context is seen without doubt: I(y; context) is the information between two hidden discrete causes.
        causes = cube_posterior("cube-nm", x[row].numpy(), mask[row].numpy()).reshape(8, 5)
        assert (label.reshape(8, 5) == np.arange(8)[:, None]).all()
        between = entropy(causes.sum(0)) + entropy(causes.sum(1)) - entropy(causes.ravel())
        assert of_context[row].item() == pytest.approx(between, abs=1e-9)


def test_once_the_context_is_known_cube_nm_is_cube_in_the_block_it_names(known):
    cube, nested = known["cube"], known["cube-nm"]
    block = 2
    rng = np.random.default_rng(7)
    answers, seen = rng.normal(0.5, 0.5, (20, 10)), rng.random((20, 10)) < 0.3
    x, mask = np.zeros((20, 55)), np.zeros((20, 55), dtype=bool)
    x[:, block], mask[:, :5] = 1.0, True
    place = slice(5 + 10 * block, 15 + 10 * block)
    x[:, place], mask[:, place] = answers, seen
    alone = cube.information(
        torch.tensor(np.hstack([answers, np.zeros((20, 10))])),
        torch.tensor(np.hstack([seen, np.zeros((20, 10), dtype=bool)])),
    )[:, :10]
    found = nested.information(torch.tensor(x), torch.tensor(mask))
    inside = slice(1 + 10 * block, 11 + 10 * block)
    assert torch.allclose(found[:, inside], alone, atol=1e-9)
    found[:, inside] = 0
    assert found.max() < 1e-9


class Favouring(Policy):
    """The exact policy that breaks ties for one column of every ten, and, where named, asks one group before all."""

    def __init__(self, d, column, first=None):
        super().__init__(d.schema.space)
        self.exact, self.first = d.policy, first
        self.favour = torch.tensor(
            [1e-7 * (name[0] == "x" and int(name[1:]) % 10 == column) for name in self.space.names]
        )

    def forward(self, x, mask, scores=True):
        belief = self.exact(x, mask, scores)
        if not scores:
            return belief
        found = belief.scores + self.favour
        if self.first is not None:
            found[:, self.space.position[self.first]] = 9.0
        return Belief(belief.outputs, found)


def greedy_steps(d, n_rows, n_steps, column, first=None):
    """The walk of the exact greedy policy over sampled rows, and their labels."""
    frame, y = d.sample(n_rows, seed=8)
    rows = d.schema.encode(frame).to("cpu", torch.float64)
    return list(walk(Favouring(d, column, first), rows, all_cost_one(d), n_steps)), y


# Accuracies of the exact greedy policy after so many questions, as another computation found them, from a number of
# rows and with an order of ties that are not known. Four first columns tie exactly and none is wrong, so a reference is
# met if it lies within what their choice spans, and so much to either side. CUBE's is met to 0.01 by asking x4 first;
# two of CUBE-NM (greedy at 5, context first at 3) lie 0.015 to 0.02 below every order tried, and why is not known.
REFERENCES = {
    "cube": ("cube", None, {1: 0.268, 2: 0.445, 3: 0.582, 5: 0.732, 7: 0.826, 10: 0.856}, 0.015),
    "cube-nm": ("cube-nm", None, {3: 0.230, 5: 0.471, 7: 0.688}, 0.03),
    "cube-nm, context first": ("cube-nm", "context", {3: 0.439, 5: 0.696, 7: 0.788}, 0.03),
}


@pytest.mark.parametrize("n_rows", [2000, pytest.param(20_000, marks=pytest.mark.proof)])
@pytest.mark.parametrize("reference", REFERENCES)
def test_exact_greedy_is_as_accurate_as_another_computation_found(known, reference, n_rows):
    name, first, published, slack = REFERENCES[reference]
    expected = {k: [] for k in published}
    for column in (3, 4, 5, 6):
        steps, y = greedy_steps(known[name], n_rows, max(published) + 1, column, first)
        for k in published:
            # The largest posterior is the chance to be right: the same mean as that of the hits, with less noise.
            chance, guess = steps[k].belief.outputs.exp().max(1)
            surplus = (guess.numpy() == y) - chance.numpy()
            assert abs(surplus.mean()) < 4 * surplus.std() / np.sqrt(n_rows)
            expected[k].append(chance.mean().item())
    for k, accuracy in published.items():
        assert min(expected[k]) - slack < accuracy < max(expected[k]) + slack, (k, accuracy, expected[k])


@pytest.mark.parametrize("name", CUBES)
def test_a_greedy_policy_written_anew_chooses_what_the_exact_one_chooses(known, name):
    """Bayes' rule by hand and Gauss-Hermite quadrature around each cause: every choice is among the best there are."""
    d = known[name]
    labels, means = cube_causes(name)
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    frame, _ = d.sample(8, seed=21)
    rows = d.schema.encode(frame).to("cpu", torch.float64)
    steps = list(walk(d.policy, rows, all_cost_one(d), 5))
    for row, step in itertools.product(range(8), steps[1:]):
        mask = d.policy.mask(step.known, rows.present)[row].numpy()
        causes = cube_posterior(name, rows.x[row].numpy(), mask)
        label = by_label(name, causes)

        def anew(j, causes=causes, label=label):
            """E over cause and x_j of log p(y | x_S, x_j) / p(y | x_S)."""
            draws = means[:, j, None] + 0.3 * nodes
            after = by_label(name, causes * norm.pdf(draws[..., None], means[:, j], 0.3))
            of_own = np.take_along_axis(after, labels[:, None, None], 2)[..., 0] / after.sum(2)
            return causes @ (np.log(of_own / label[labels][:, None]) @ (weights / weights.sum()))

        columns = [c for c in range(len(d.columns)) if not mask[c] and d.columns[c][0] == "x"]
        best = max(anew(c) for c in columns)
        chosen = d.schema.space.names[step.choice[row]]
        if chosen != "context":
            assert anew(d.columns.index(chosen)) == pytest.approx(best, abs=1e-5)


# ---------------------------------------------------------------- Gaussian


def conditional(covariance, chosen):
    """Weights and variance of the last variable given the chosen ones, by the Schur complement."""
    inner, across = covariance[np.ix_(chosen, chosen)], covariance[chosen, -1]
    weights = np.linalg.inv(inner) @ across
    return weights, covariance[-1, -1] - across @ weights


def test_gaussian_information_is_the_difference_of_conditional_variances(known):
    d = known["gaussian"]
    covariance = d.covariance.numpy()
    columns = range(len(d.columns))
    for chosen in itertools.chain.from_iterable(itertools.combinations(columns, n) for n in columns):
        mask = torch.zeros(1, len(columns), dtype=torch.bool)
        mask[0, list(chosen)] = True
        found = d.information(torch.zeros(1, len(columns), dtype=torch.float64), mask)[0]
        variance = conditional(covariance, list(chosen))[1]
        for i in columns:
            after = conditional(covariance, sorted({*chosen, i}))[1]
            assert found[i].item() == pytest.approx(variance - after, abs=1e-10)


def test_the_squared_error_of_the_exact_mean_meets_the_conditional_variance(known):
    d = known["gaussian"]
    frame, y = d.sample(40_000, seed=10)
    x = torch.tensor(frame.to_numpy())
    for chosen in ([], [5], [0, 3], [1, 2, 4, 5], list(range(6))):
        mask = torch.zeros_like(x, dtype=torch.bool)
        mask[:, chosen] = True
        gap = (d.outputs(x, mask)[:, 0].numpy() - y) ** 2
        variance = conditional(d.covariance.numpy(), chosen)[1]
        assert abs(gap.mean() - variance) < 4 * gap.std() / 200


# ---------------------------------------------------------------- samplers


@pytest.mark.parametrize("name", DISCRETE)
def test_sampled_frequencies_meet_the_joint(known, name):
    d = known[name]
    table = table_of(d)
    frame, y = d.sample(50_000, seed=11)
    counts = np.zeros_like(table)
    np.add.at(counts, (y, *frame.to_numpy().astype(int).T), 1)
    expected = 50_000 * table
    often = expected > 5
    assert (counts[table == 0] == 0).all()
    seen, awaited = np.r_[counts[often], counts[~often].sum()], np.r_[expected[often], expected[~often].sum()]
    keep = awaited > 0
    assert chisquare(seen[keep], awaited[keep]).pvalue > 1e-3


@pytest.mark.parametrize("name", CUBES)
def test_sampled_cube_columns_lie_around_the_means_of_their_cause(known, name):
    frame, y = known[name].sample(40_000, seed=12)
    x = frame.to_numpy()
    labels, means = cube_causes(name)
    cause = y if name == "cube" else y * 5 + x[:, :5].argmax(1)
    assert chisquare(np.bincount(cause, minlength=len(labels))).pvalue > 1e-3
    spread = x - means[cause]
    sigma = np.where(np.arange(x.shape[1]) < x.shape[1] - (20 if name == "cube" else 50), 0.1, 0.3)
    np.testing.assert_allclose(spread.std(0), sigma, rtol=0.02)
    for c in range(len(labels)):
        np.testing.assert_array_less(np.abs(spread[cause == c].mean(0)), 4.5 * sigma / np.sqrt((cause == c).sum()))


def test_sampled_gaussian_rows_follow_the_stated_regression(known):
    frame, y = known["gaussian"].sample(40_000, seed=13)
    x = frame.to_numpy()
    weights, *_ = np.linalg.lstsq(x, y, rcond=None)
    np.testing.assert_allclose(weights, [1.0, -0.8, 0.6, 0.6, -0.4, 0.8], atol=0.02)
    assert np.var(y - x @ weights) == pytest.approx(0.2, rel=0.03)
    np.testing.assert_allclose(np.corrcoef(x.T)[0], 0.4 ** np.arange(6), atol=0.02)


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_the_same_seed_gives_the_same_rows(known, name):
    frame, y = known[name].sample(50, seed=14)
    again, y_again = DISTRIBUTIONS[name]().sample(50, seed=14)
    assert frame.equals(again)
    assert (y == y_again).all()
    assert not frame.equals(known[name].sample(50, seed=15)[0])


# ---------------------------------------------------------------- the exact policy among others


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_an_exact_policy_is_evaluated_like_any_other(known, name):
    d = known[name]
    frame, y = d.sample(60, seed=16)
    table = curve(Model(d.schema, d.task, d.policy), d.schema.encode(frame), y, points=4)
    assert set(table["rule"]) == {"budget", "penalty"} | ({"confidence"} if d.task.kind == "classification" else set())
    metric = "log_loss" if d.task.kind == "classification" else "rmse"
    ends = table.sort_values("mean_cost")[metric].to_numpy()
    assert ends[-1] < ends[0]


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_a_session_with_an_exact_policy_asks_and_answers_as_the_batch_does(known, name):
    d = known[name]
    model = Model(d.schema, d.task, d.policy)
    frame, _ = d.sample(4, seed=17)
    batch = model.acquire(d.schema.encode(frame), Budget(5.0))
    for row, order in enumerate(batch.order):
        answers = frame.iloc[row].to_dict()
        session = Session(model, stop=Budget(5.0), known={c: answers[c] for c in d.free})
        while (question := session.ask()) is not None:
            session.tell(question.name, {c.name: answers[c.name] for c in question.columns})
        assert session.asked == order
        if d.task.kind == "classification":
            np.testing.assert_allclose(list(session.prediction.proba.values()), batch.proba[row], atol=1e-12)
        else:
            assert session.prediction.value == pytest.approx(batch.prediction[row])


@pytest.mark.parametrize("name", ["network", "prior", "costs", "gaussian"])
def test_the_truth_compared_with_itself_has_no_error(known, name):
    d = known[name]
    found = compare(Model(d.schema, d.task, d.policy), d, n_rows=100, seed=18)
    figures = found.figures()
    assert figures.pop("rank_correlation") == pytest.approx(1)
    assert figures.pop("order") == 1
    assert all(abs(value) < 1e-8 for value in figures.values())
    assert (found.scores["trained"] == found.scores["exact_greedy"]).all()


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_known_groups_tell_nothing_and_others_no_more_than_is_unknown(known, name):
    d = known[name]
    x, mask, groups = some_states(d, 100, seed=19)
    belief = d.policy(x, mask)
    most = entropy_of_outputs(belief.outputs) if d.task.kind == "classification" else torch.full((100,), d.task.unit)
    assert (belief.scores[groups] == 0).all()
    assert (belief.scores >= 0).all()
    assert (belief.scores <= most[:, None] + 1e-9).all()
    assert belief.scores[~groups].max() > 0.05


# ---------------------------------------------------------------- any discrete distribution


@st.composite
def tables(draw):
    """Joint tables of 2 or 3 labels and 2 to 4 features of 2 or 3 levels; some cases may be impossible."""
    shape = (draw(st.integers(2, 3)), *draw(st.lists(st.integers(2, 3), min_size=2, max_size=4)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    joint = rng.dirichlet(np.full(np.prod(shape), draw(st.sampled_from([0.2, 1.0])))).reshape(shape)
    joint[rng.random(shape) < draw(st.sampled_from([0.0, 0.3]))] = 0
    # One case of each label stays possible.
    joint[:, *[0] * (len(shape) - 1)] += 0.01
    return joint / joint.sum()


def discrete(joint, **settings):
    return Discrete([f"x{c}" for c in range(joint.ndim - 1)], joint, **settings)


@settings(max_examples=25, deadline=None)
@given(tables())
def test_stated_information_is_the_divergence_of_the_definition(joint):
    states = states_of(joint)
    found = discrete(joint).information(*as_tensors(states))
    for s, state in enumerate(states):
        for i in range(joint.ndim - 1):
            by_definition = information(joint, state, i) if i in open_features(state) else 0.0
            assert found[s, i].item() == pytest.approx(by_definition, abs=1e-10)


@settings(max_examples=25, deadline=None)
@given(tables())
def test_posteriors_are_shares_of_the_joint_and_bound_the_information(joint):
    states = states_of(joint)
    d = discrete(joint)
    p = d.outputs(*as_tensors(states)).exp().numpy()
    found = d.information(*as_tensors(states)).numpy()
    for s, state in enumerate(states):
        masses = joint[(slice(None), *(slice(None) if v is UNKNOWN else v for v in state))].reshape(len(joint), -1)
        np.testing.assert_allclose(p[s], masses.sum(1) / masses.sum(), atol=1e-12)
        assert (found[s] >= 0).all()
        assert (found[s] <= entropy(p[s]) + 1e-12).all()


@settings(max_examples=25, deadline=None)
@given(tables(), st.data())
def test_a_group_of_two_columns_obeys_the_chain_rule(joint, data):
    """I(y; x_i, x_j | x_S) = I(y; x_i | x_S) + E[I(y; x_j | x_S, x_i)]."""
    state = data.draw(st.sampled_from([s for s in states_of(joint) if len(open_features(s)) >= 2]))
    i, j = data.draw(st.permutations(open_features(state)))[:2]
    single, paired = discrete(joint), discrete(joint, groups={"pair": [f"x{i}", f"x{j}"]})
    both = paired.information(*as_tensors([state]))[0, paired.schema.space.names.index("pair")].item()
    one = single.information(*as_tensors([state]))[0, i].item()
    then = [
        masses.sum() * single.information(*as_tensors([after]))[0, j].item()
        for after, masses in outcomes(joint, state, [i])
    ]
    assert both == pytest.approx(one + sum(then), abs=1e-10)
    assert both == pytest.approx(information(joint, state, i, j), abs=1e-10)


def test_samples_of_a_group_of_columns_keep_the_columns_together():
    """Guards the reading of `ways`: a pair that always agrees does so in every sampled row."""
    joint = np.zeros((2, 2, 2))
    joint[0, 0, 0], joint[1, 1, 1], joint[0, 1, 1] = 0.5, 0.3, 0.2
    frame, y = discrete(joint, groups={"pair": ["x0", "x1"]}).sample(2000, seed=20)
    found = Counter(zip(y.tolist(), frame["x0"], frame["x1"], strict=True))
    assert set(found) == {(0, 0, 0), (1, 1, 1), (0, 1, 1)}
    assert found[0, 0, 0] == pytest.approx(1000, abs=100)
