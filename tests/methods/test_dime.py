"""DIME: what it learns, and how."""

import copy

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from torch import nn

from askwise import AskwiseError, Budget, Confidence, DimeClassifier, DimeRegressor, Penalty, load
from askwise.core.belief import Belief
from askwise.core.features import FeatureSpace
from askwise.core.policy import Policy
from askwise.core.prices import Prices
from askwise.core.rows import Rows
from askwise.core.tasks import Classification, Regression, entropy
from askwise.methods.dime.objectives import JointObjective
from askwise.networks.dropout import Dropout
from askwise.networks.mlp import Mlp
from askwise.training.episode import Episode
from askwise.training.loop import Training
from askwise.training.objectives import eval_losses
from askwise.training.schedule import dropout_for

TASKS = {"classification": Classification((0, 1, 2)), "regression": Regression(5.0, 4.0)}
# Five columns in four groups, one of them a panel of two; a sixth column is free.
SPACE = FeatureSpace(("a", "panel", "b", "c"), (1.0, 3.0, 0.5, 1.0), (0, 1, 1, 2, 3, -1), (0, 1, 2, 3, 4, 5))
PRICES = Prices.tensor(SPACE.costs, torch.float32)


def make_rows(task, n=7, seed=0):
    g = torch.Generator().manual_seed(seed)
    present = torch.rand(n, 6, generator=g) < 0.75
    present[0] = True
    x = torch.randn(n, 6, generator=g) * present
    y = torch.randint(0, 3, (n,), generator=g) if task.kind == "classification" else torch.randn(n, generator=g) * 4
    return Rows(x, present, SPACE.available(present), y)


def make_policy(task, seed=0, **settings):
    estimator = (DimeClassifier if task.kind == "classification" else DimeRegressor)(
        hidden=8, **{"dropout": 0.0, "lookahead": 0, **settings}
    )
    torch.manual_seed(seed)
    policy = estimator.build(SPACE, task)
    # Larger weights than the initial ones, so that scores and losses differ from state to state.
    for p in policy.parameters():
        p.data.mul_(2)
    return policy


def gradients(policy, loss):
    policy.zero_grad()
    loss.backward()
    return {name: None if p.grad is None else p.grad.clone() for name, p in policy.named_parameters()}


def plain_loop(policy, task, rows, choices, starts):
    """Algorithm 1 as printed: row after row, step after step. Targets and entropies are plain numbers here.

    starts[e][r] is the set that episode e of row r begins with, choices[e][r] the groups it asks one after the other.
    """
    predictor, value, n_states, n_steps = 0.0, 0.0, 0, 0
    for start, asked in zip(starts, choices, strict=True):
        for r in range(len(rows)):
            row = rows.take(slice(r, r + 1))
            known = start[r : r + 1].clone()
            belief = policy(row.x, policy.mask(known, row.present))
            predictor, n_states = predictor + task.training_loss(belief.outputs, row.y).sum() / task.unit, n_states + 1
            for group in asked[r]:
                before, score = task.loss(belief.outputs, row.y).item(), belief.scores[0, group]
                known[0, group] = True
                belief = policy(row.x, policy.mask(known, row.present))
                predictor = predictor + task.training_loss(belief.outputs, row.y).sum() / task.unit
                gain = before - task.loss(belief.outputs, row.y).item()
                value = value + ((score - gain) / task.unit) ** 2
                n_states, n_steps = n_states + 1, n_steps + 1
    return predictor / n_states + value / n_steps


@pytest.mark.parametrize("share_trunk", [False, True])
@pytest.mark.parametrize("kind", TASKS)
def test_the_flat_update_is_the_gradient_of_the_plain_loop(kind, share_trunk):
    task = TASKS[kind]
    policy, rows = make_policy(task, share_trunk=share_trunk), make_rows(task)
    objective = JointObjective(policy, task, PRICES, n_steps=4, epsilon=0.5)
    torch.manual_seed(1)
    flat = next(objective.losses(rows, torch.ones(len(rows)), torch.tensor(0.0)))
    torch.manual_seed(1)
    episode = objective.experience(rows, torch.tensor(0.0))
    known, choice, taken = episode.known, episode.choice, episode.taken
    walks = [[choice[t, r].item() for t in range(4) if taken[t, r]] for r in range(len(rows))]
    extra = [[choice[4, r].item()] if taken[4, r] else [] for r in range(len(rows))]
    plain = plain_loop(policy, task, rows, [walks, extra], [torch.zeros_like(known[0]), known[5]])
    assert flat.item() == pytest.approx(plain.item(), rel=1e-5)
    ours, theirs = gradients(policy, flat), gradients(policy, plain)
    for name in ours:
        assert torch.allclose(ours[name], theirs[name], rtol=1e-4, atol=1e-6), name


# Learning from a part of each episode


def make_objective(task, learn_from, n_steps=4, **given):
    policy = make_policy(task)
    return JointObjective(policy, task, PRICES, n_steps, epsilon=0.5, learn_from=learn_from, **given)


def episodes_of(objective, rows, seed=0):
    """A walk of each row, and the part of it that is learnt from."""
    torch.manual_seed(seed)
    walk = objective.walked(rows, epsilon=torch.tensor(0.5))
    torch.manual_seed(seed)
    learnt = objective.experience(rows, torch.tensor(0.0))
    n = learnt.lengths[0]
    tensors = learnt.known[:n], learnt.choice[: n - 1], learnt.taken[: n - 1], learnt.repeated[:n]
    return walk, Episode(*tensors, (n,), learnt.most_known[:1])


@pytest.mark.parametrize("learn_from", [1, 2, 3])
def test_a_part_of_an_episode_is_steps_of_it_in_a_row(learn_from):
    task = TASKS["classification"]
    rows = make_rows(task, n=40)
    walk, part = episodes_of(make_objective(task, learn_from), rows)
    known, sets = walk.known, part.known
    assert sets.shape == (learn_from + 1, 40, 4)
    starts = set()
    for r in range(40):
        fits = [
            s for s in range(5) if all(torch.equal(sets[t, r], known[(s + t) % 5, r]) for t in range(learn_from + 1))
        ]
        assert fits
        starts.update(fits)
        for t in range(learn_from):
            steps = [(s + t) % 5 for s in fits]
            # From the last set of an episode to its first is no step, and yet leads to another set.
            assert part.taken[t, r].item() in [s < 4 and walk.taken[s, r].item() for s in steps]
            if part.taken[t, r]:
                assert not part.repeated[t + 1, r]
                assert torch.equal(sets[t + 1, r], sets[t, r] | torch.eye(4, dtype=torch.bool)[part.choice[t, r]])
                assert part.choice[t, r] in [walk.choice[s, r] for s in steps if s < 4]
    assert starts == set(range(5))


def test_all_steps_are_learnt_from_unless_fewer_are_wanted():
    task = TASKS["classification"]
    rows = make_rows(task)
    for learn_from in (None, 4, 9):
        walk, part = episodes_of(make_objective(task, learn_from), rows)
        for name in ("known", "choice", "taken", "repeated"):
            assert torch.equal(getattr(part, name), getattr(walk, name)), name
        assert torch.equal(part.repeated[1:], ~walk.taken)


def test_every_state_and_step_is_learnt_from_equally_often():
    task = TASKS["classification"]
    rows = make_rows(task).take(torch.zeros(6000, dtype=torch.int64))
    objective = make_objective(task, 2)
    _, part = episodes_of(objective, rows)
    sizes = part.known.sum(2)
    for size in range(5):
        assert float((sizes == size).float().mean()) == pytest.approx(1 / 5, abs=0.02)
    from_size = sizes[:-1][part.taken]
    for size in range(4):
        assert float((from_size == size).float().mean()) == pytest.approx(1 / 4, abs=0.02)
    assert float(part.taken.float().mean()) == pytest.approx(4 / 5, abs=0.02)


def test_the_loss_of_parts_is_on_average_that_of_whole_episodes():
    task = TASKS["regression"]
    rows = make_rows(task, n=2).take(torch.zeros(400, dtype=torch.int64))
    found = {}
    for learn_from in (None, 2):
        objective = make_objective(task, learn_from)
        # Without the random set beside each episode, which counts for more the fewer steps there are.
        objective.epsilon = 0.0
        torch.manual_seed(0)
        episodes = [objective.experience(rows, torch.tensor(0.0)) for _ in range(5)]
        known, taken = (torch.cat([getattr(e, name) for e in episodes], 1) for name in ("known", "taken"))
        n = known.shape[0] - 2
        mask = objective.policy.mask(known[:n], rows.present.repeat(5, 1)).flatten(0, 1)
        outputs = objective.policy(rows.x.repeat(5 * n, 1), mask).outputs
        found[learn_from] = task.loss(outputs, rows.y.repeat(5 * n)).mean().item()
        assert taken.any()
    assert found[2] == pytest.approx(found[None], rel=0.05)


def test_learn_from_takes_a_whole_number_above_zero(iris, fast):
    with pytest.raises(AskwiseError, match="learn_from"):
        DimeClassifier(learn_from=0, **fast).fit(*iris)


def test_without_exploration_the_episode_asks_the_best_open_group_per_cost():
    task = TASKS["classification"]
    policy, rows = make_policy(task), make_rows(task)
    episode = JointObjective(policy, task, PRICES, n_steps=4, epsilon=0.0).experience(rows, torch.tensor(0.0))
    known, choice, taken = episode.known, episode.choice, episode.taken
    for t in range(4):
        scores = policy(rows.x, policy.mask(known[t], rows.present)).scores / torch.tensor(SPACE.costs)
        best = scores.masked_fill(known[t] | ~rows.available, -1).argmax(1)
        assert torch.equal(choice[t][taken[t]], best[taken[t]])
        assert torch.equal(taken[t], (rows.available & ~known[t]).any(1))


def test_unavailable_groups_are_never_asked_or_revealed_in_training():
    task = TASKS["classification"]
    policy, rows = make_policy(task), make_rows(task, n=200)
    masks = []
    policy.register_forward_pre_hook(lambda _, args: masks.append(args[1]))
    episode = JointObjective(policy, task, PRICES, n_steps=4, epsilon=1.0).experience(rows, torch.tensor(0.0))
    assert not (episode.known & ~rows.available).any()
    can = rows.available.expand(5, -1, -1).gather(2, episode.choice[..., None])[..., 0]
    assert can[episode.taken].all()
    assert torch.equal(episode.taken[:4].sum(0), rows.available.sum(1))
    assert all(not (m & ~rows.present).any() for m in masks)


def test_a_free_column_is_revealed_in_every_state_where_it_is_present():
    task = TASKS["classification"]
    policy, rows = make_policy(task), make_rows(task, n=50)
    masks = []
    policy.register_forward_pre_hook(lambda _, args: masks.append(args[1]))
    flat = policy.networks.first
    policy.networks.first = lambda x, mask: masks.append(mask) or flat(x, mask)
    objective = JointObjective(policy, task, PRICES, n_steps=2, epsilon=0.5)
    next(objective.losses(rows, torch.ones(50), torch.tensor(0.0)))
    # Two steps, then the flat pass.
    assert len(masks) == 3
    for mask in masks:
        assert torch.equal(mask[:, 5], rows.present[:, 5].repeat(len(mask) // 50))


def test_an_episode_has_no_group_twice_and_starts_from_nothing():
    task = TASKS["classification"]
    policy, rows = make_policy(task), make_rows(task, n=100)
    episode = JointObjective(policy, task, PRICES, 4, 0.7).experience(rows, torch.tensor(0.0))
    assert not episode.known[0].any()
    assert torch.equal(episode.known[1:5].sum(2), episode.taken[:4].cumsum(0))


@pytest.mark.parametrize("share_trunk", [False, True])
@pytest.mark.parametrize("kind", TASKS)
def test_the_value_loss_does_not_reach_the_predictor(kind, share_trunk):
    """Neither through the target, the loss improvement, nor through the entropy factor of the bounded score."""
    task = TASKS[kind]
    policy, rows = make_policy(task, share_trunk=share_trunk), make_rows(task)
    belief = policy(rows.x, policy.mask(rows.available, rows.present))
    grads = gradients(policy, belief.scores.square().sum())
    own = "networks.predictor_head" if share_trunk else "networks.predictor"
    assert all(g is None for name, g in grads.items() if name.startswith(own))
    assert any(g is not None and g.abs().max() > 0 for g in grads.values())


def test_padded_rows_carry_no_gradient():
    task = TASKS["classification"]
    policy, rows = make_policy(task), make_rows(task)
    objective = JointObjective(policy, task, PRICES, n_steps=4, epsilon=0.0)
    weight = torch.tensor([1.0] * 5 + [0.0] * 2)
    found = []
    for y in (rows.y, torch.where(weight > 0, rows.y, (rows.y + 1) % 3)):
        torch.manual_seed(0)
        loss = next(objective.losses(Rows(rows.x, rows.present, rows.available, y), weight, torch.tensor(0.0)))
        found.append(gradients(policy, loss))
    assert all(torch.equal(found[0][name], found[1][name]) for name in found[0])


def test_exploration_is_annealed_to_nothing():
    task = TASKS["classification"]
    policy, rows = make_policy(task), make_rows(task, n=100)
    losses = []
    for epsilon, progress in ((1.0, 1.0), (0.0, 0.0), (1.0, 0.0)):
        torch.manual_seed(0)
        objective = JointObjective(policy, task, PRICES, 3, epsilon)
        losses.append(next(objective.losses(rows, torch.ones(100), torch.tensor(progress))).item())
    assert losses[0] == losses[1] != losses[2]


def test_validation_is_the_mean_loss_along_the_greedy_trajectory(flowers, iris):
    X, y = iris
    model = flowers.model_
    rows = model.schema.encode(pd.DataFrame(X))
    rows = Rows(rows.x, rows.present, rows.available, model.task.encode(y))
    objective = JointObjective(model.policy, model.task, Prices.tensor([1.0] * 4, torch.float32), 4, epsilon=0.0)
    with torch.no_grad():
        found = objective.validate(rows).item()
    per_budget = [-np.log(flowers.predict_proba(X, stop=Budget(k))[np.arange(len(y)), y]).mean() for k in range(5)]
    assert found == pytest.approx(np.mean(per_budget), rel=1e-5)


# Scores


def test_bounded_scores_lie_between_nothing_and_the_entropy():
    policy, rows = make_policy(TASKS["classification"]), make_rows(TASKS["classification"], n=50)
    belief = policy(rows.x, policy.mask(rows.available, rows.present))
    assert (belief.scores >= 0).all()
    assert (belief.scores <= entropy(belief.outputs)[:, None]).all()


@pytest.mark.parametrize(("scaling", "negative"), [("positive", False), ("none", True)])
@pytest.mark.parametrize("kind", TASKS)
def test_other_scalings_are_for_ablation(kind, scaling, negative):
    task = TASKS[kind]
    policy, rows = make_policy(task, scaling=scaling), make_rows(task, n=50)
    scores = policy(rows.x, policy.mask(rows.available, rows.present)).scores
    assert bool((scores < 0).any()) is negative


@pytest.mark.parametrize("scaling", ["positive", "none"])
def test_information_is_never_below_zero(scaling, iris, fast):
    model = DimeClassifier(scaling=scaling, **fast).fit(*iris)
    assert (model.information(np.full((1, 4), np.nan)).to_numpy() >= 0).all()


# What it learns


@pytest.fixture(scope="module")
def coins():
    """Two fair coins that together make four labels, a copy of the first, noise, and a constant."""
    rng = np.random.default_rng(0)
    first, second = rng.integers(0, 2, (2, 800))
    X = pd.DataFrame(
        {"noise": rng.normal(size=800), "first": first, "second": second, "copy": first, "constant": np.ones(800)}
    )
    model = DimeClassifier(
        hidden=32, pretrain_epochs=30, epochs=50, learning_rate=0.01, dropout=0.0, epsilon=0.2, random_state=0
    ).fit(X, 2 * first + second)
    return model, X


def test_information_is_the_conditional_mutual_information(coins):
    model, X = coins
    nothing = X.head(1).astype(float) * np.nan
    at_first = model.information(nothing).iloc[0]
    assert at_first["first"] == pytest.approx(np.log(2), abs=0.12)
    assert at_first["second"] == pytest.approx(np.log(2), abs=0.12)
    assert at_first["noise"] < 0.08
    assert at_first["constant"] < 0.08
    then = model.information(nothing.assign(first=1.0)).iloc[0]
    assert then["copy"] < 0.08
    assert then["second"] == pytest.approx(np.log(2), abs=0.12)


def test_two_questions_are_asked_and_no_more_when_two_tell_everything(coins):
    model, X = coins
    acquired = model.acquire(X, stop=Penalty(0.1))
    assert set(acquired.n_asked) == {2}
    assert set(acquired.reason) == {"penalty"}
    confident = model.acquire(X, stop=Confidence(0.2))
    assert confident.n_asked.mean() == pytest.approx(2, abs=0.1)


def test_of_two_copies_the_cheaper_is_asked(coins):
    model, X = coins
    for cheap, dear in (("first", "copy"), ("copy", "first")):
        acquired = model.acquire(X.head(50), stop=Penalty(0.01), costs={dear: 9, cheap: 0.5})
        assert acquired.known[cheap].all()
        assert not acquired.known[dear].any()


class Watched(DimeClassifier):
    """Keeps each stage's objective, the policy before and after it, and the training."""

    def train(self, policy, training, task):
        self.stages_ = []

        class Watching(Training):
            def stage(inner, name, objective, plan):
                before = copy.deepcopy(policy)
                super().stage(name, objective, plan)
                self.stages_.append((name, objective, before, copy.deepcopy(policy)))

        self.training_ = Watching(policy, training.train, training.val, training.seed)
        super().train(policy, self.training_, task)


@pytest.mark.parametrize("share_trunk", [False, True])
def test_prediction_from_everything_stays_within_a_point_of_the_pre_trained_predictor(share_trunk):
    X, y = load_digits(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, test_size=700, random_state=0, stratify=y)
    model = Watched(
        share_trunk=share_trunk, hidden=64, max_steps=10, pretrain_epochs=25, epochs=8, lookahead=0, random_state=0
    ).fit(X, y)
    (_, _, _, pretrained), *_ = model.stages_
    rows = model.model_.schema.encode(pd.DataFrame(X_test))
    with torch.no_grad():
        before = pretrained.eval()(rows.x, rows.present).outputs.argmax(1).numpy()
    assert (before == y_test).mean() > 0.93
    assert model.score(X_test, y_test) >= (before == y_test).mean() - 0.01


@pytest.mark.parametrize("share_trunk", [False, True])
def test_joint_training_starts_from_the_pre_trained_predictor(share_trunk, iris, fast):
    model = Watched(share_trunk=share_trunk, **fast).fit(*iris)
    (_, _, first, pretrained), _, (_, _, start, _) = model.stages_
    value = "networks.value_head" if share_trunk else "networks.value"
    for name, weight in start.named_parameters():
        if name.startswith(value):
            assert torch.equal(first.state_dict()[name], pretrained.state_dict()[name])
        else:
            assert torch.equal(weight, pretrained.state_dict()[name])
            assert not torch.equal(weight, first.state_dict()[name])


@pytest.mark.parametrize(("max_steps", "n_columns", "steps"), [(None, 5, 5), (None, 40, 32), (3, 5, 3), (9, 5, 5)])
def test_max_steps_bounds_training_episodes_not_inference(max_steps, n_columns, steps):
    X = np.random.default_rng(0).normal(size=(60, n_columns))
    model = Watched(max_steps=max_steps, hidden=4, pretrain_epochs=1, epochs=1, random_state=0).fit(X, X[:, 0] > 0)
    _, objective, _, _ = model.stages_[-1]
    assert objective.n_steps == steps
    assert set(model.acquire(X[:3]).n_asked) == {n_columns}


def test_the_best_epoch_of_joint_training_is_kept(iris, fast):
    """Labels without meaning: the longer it trains, the worse on the validation rows."""
    X, y = iris[0], np.random.default_rng(0).permutation(iris[1])
    model = Watched(**{**fast, "pretrain_epochs": 1, "epochs": 30, "dropout": 0.0, "hidden": 64}).fit(X, y)
    _, objective, _, _ = model.stages_[-1]
    losses = [h["validation_loss"] for h in model.training_.history if h["stage"] == "joint"]
    assert losses[-1] > min(losses)
    with torch.no_grad():
        assert objective.validate(model.training_.val).item() <= min(losses) + 1e-6


# information


def test_information_costs_one_forward_pass(clinic, new_cases):
    calls = []
    hook = clinic.model_.running_policy.register_forward_hook(lambda *_: calls.append(1))
    try:
        clinic.information(new_cases[0])
    finally:
        hook.remove()
    assert len(calls) == 1


def test_predicting_from_everything_costs_one_forward_pass(clinic, new_cases):
    calls = []
    hook = clinic.model_.running_policy.register_forward_hook(lambda *_: calls.append(1))
    try:
        clinic.predict(new_cases[0])
    finally:
        hook.remove()
    assert len(calls) == 1


def test_information_is_what_acquire_used(clinic, new_cases):
    """At what is known after two questions, the best information per cost is the third question."""
    X = new_cases[0]
    two, three = (clinic.acquire(X, stop=Budget(1e9) | AtMost(n)) for n in (2, 3))
    schema = clinic.model_.schema
    partial = X.copy().astype(object)
    for column in X.columns.drop("age"):
        partial.loc[~two.known[schema.group_of(column)], column] = None
    found = clinic.information(partial, available=clinic.acquire(X).known)
    per_cost = found / np.array(clinic.model_.costs())
    for i in range(len(X)):
        if len(three.order[i]) == 3:
            assert per_cost.iloc[i].idxmax() == three.order[i][2]
        assert found.iloc[i][two.order[i]].isna().all()


class AtMost:
    def __init__(self, n):
        self.n = n

    def stops(self, step):
        return step.n_asked >= self.n


def test_information_has_a_column_a_group_and_not_a_number_where_known(clinic, cases):
    X = cases[0].dropna().head(4)
    nothing = X.copy().astype(object)
    nothing[:] = None
    found = clinic.information(nothing)
    assert list(found.columns) == ["sex", "pressure", "exercise test", "smoker", "scan", "site"]
    assert found.notna().all().all()
    assert found.index.equals(X.index)
    some = clinic.information(nothing.assign(scan=X["scan"], pain=X["pain"], age=X["age"]))
    assert some.columns[some.isna().all()].tolist() == ["exercise test", "scan"]
    assert some.columns[some.notna().all()].tolist() == ["sex", "pressure", "smoker", "site"]


def test_available_marks_what_can_not_be_had(clinic, cases):
    nothing = cases[0].head(2).copy().astype(object)
    nothing[:] = None
    available = pd.DataFrame(True, index=[0, 1], columns=clinic.information(nothing).columns)
    available.loc[1, "scan"] = False
    found = clinic.information(nothing, available=available[available.columns[::-1]])
    assert np.isnan(found.iloc[1]["scan"])
    assert found.isna().to_numpy().sum() == 1
    with pytest.raises(AskwiseError, match="available has no column for the group 'scan'"):
        clinic.information(nothing, available=available.drop(columns="scan"))
    with pytest.raises(AskwiseError, match=r"available has shape \(2, 3\)"):
        clinic.information(nothing, available=np.ones((2, 3)))


# Regression


@pytest.mark.parametrize("factor", [10.0, 1024.0, 1e-15, 1e12])
def test_regression_values_are_in_squared_units_of_y(factor, progression, diabetes, fast):
    X, y = diabetes
    scaled = DimeRegressor(costs={"bmi": 2, "s5": 10}, lookahead=0, **fast).fit(X, y * factor)
    nothing = X.head(1) * np.nan
    ratio = scaled.information(nothing) / progression.information(nothing)
    assert np.allclose(ratio / factor**2, 1, rtol=0.02)
    assert np.allclose(scaled.predict(X) / factor, progression.predict(X), rtol=0.02)
    penalty = progression.frontier_["penalty"]
    middle = float(penalty[penalty > 0].median())
    ours = progression.acquire(X, stop=Penalty(middle)).n_asked.mean()
    theirs = scaled.acquire(X, stop=Penalty(middle * factor**2)).n_asked.mean()
    assert ours == pytest.approx(theirs, abs=0.3)
    assert 0 < ours < 10


def test_a_shift_of_y_shifts_the_prediction_and_nothing_else(progression, diabetes, fast):
    X, y = diabetes
    shifted = DimeRegressor(costs={"bmi": 2, "s5": 10}, lookahead=0, **fast).fit(X, y + 2**20)
    assert np.allclose(shifted.predict(X) - 2**20, progression.predict(X), atol=0.5)


def test_a_regression_learns_which_question_reduces_the_variance():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(500, 3)), columns=["strong", "weak", "noise"])
    y = 10 * (2 * X["strong"] + X["weak"])
    model = DimeRegressor(hidden=32, pretrain_epochs=25, epochs=25, learning_rate=5e-3, random_state=0).fit(X, y)
    found = model.information(X.head(1) * np.nan).iloc[0]
    # Var(E[y | x]) is 400 for the strong one, 100 for the weak one, 0 for noise.
    assert found["strong"] == pytest.approx(400, rel=0.35)
    assert found["weak"] == pytest.approx(100, rel=0.6)
    assert found["noise"] < 40
    assert model.acquire(X.head(20), stop=Budget(2)).order == [["strong", "weak"]] * 20


def test_a_regressor_has_predictions_and_no_probabilities(progression, diabetes):
    acquired = progression.acquire(diabetes[0].head(5), stop=Budget(3))
    assert acquired.proba is None
    assert np.array_equal(acquired.prediction, progression.predict(diabetes[0].head(5), stop=Budget(3)))


# Class weights


@pytest.fixture(scope="module")
def rare():
    rng = np.random.default_rng(0)
    y = (rng.random(1500) < 0.08).astype(int)
    return rng.normal(size=(1500, 3)) + 1.2 * y[:, None], y


@pytest.mark.parametrize("weights", ["balanced", {1: 20.0}])
def test_probabilities_with_class_weights_are_at_the_training_prevalence(weights, rare):
    X, y = rare
    settings = {"hidden": 32, "pretrain_epochs": 25, "epochs": 15, "learning_rate": 5e-3, "random_state": 0}
    model = DimeClassifier(class_weights=weights, **settings).fit(X, y)
    for stop in (Budget(0), Budget(1), None):
        assert model.predict_proba(X, stop=stop)[:, 1].mean() == pytest.approx(y.mean(), abs=0.025)
    # H(y) of 8 in 100 is 0.28 nats; of balanced classes it would be 0.69.
    assert (model.acquire(X, stop=Confidence(0.4)).reason == "confidence").all()
    assert model.acquire(X, stop=Confidence(0.4)).n_asked.mean() < 1
    assert (model.information(X[:1] * np.nan).to_numpy() < 0.2).all()


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ("balancd", "takes 'balanced' or a mapping"),
        ({7: 1.0}, "names 7, which is no label; labels: \\[0, 1, 2\\]"),
        ({0: 0.0}, "must be above 0"),
        ({0: float("nan")}, "must be above 0"),
    ],
)
def test_class_weights_that_can_not_be_are_errors(weights, message, iris, fast):
    with pytest.raises(AskwiseError, match=message):
        DimeClassifier(class_weights=weights, **fast).fit(*iris)


# Modules of the user's own


class Net(nn.Module):
    def __init__(self, n_outputs, n_inputs=8):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(n_inputs, 16), nn.ReLU(), nn.Linear(16, n_outputs))

    def forward(self, x, mask):
        assert not (x * ~mask).any(), "a hidden value was shown"
        return self.layers(torch.cat([x, mask.to(x.dtype)], 1))


def test_modules_of_ones_own_are_used_and_left_as_they_were(iris, fast):
    predictor, value = Net(3), Net(4)
    before = copy.deepcopy(predictor.state_dict()), copy.deepcopy(value.state_dict())
    model = DimeClassifier(predictor=predictor, value=value, **{**fast, "epochs": 20}).fit(*iris)
    assert isinstance(model.model_.policy.networks.predictor, Net)
    assert model.score(*iris) > 0.6
    assert model.predictor is predictor
    for module, state in zip((predictor, value), before, strict=True):
        assert all(torch.equal(module.state_dict()[k], state[k]) for k in state)
    assert isinstance(clone(model).predictor, Net)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"predictor": Net(2), "value": Net(4)}, r"predictor\(x, mask\) gave shape \(2, 2\) .*; it must give \(2, 3\)"),
        ({"predictor": Net(3), "value": Net(3)}, r"value\(x, mask\) gave shape \(2, 3\) .*; it must give \(2, 4\)"),
        ({"predictor": Net(3, n_inputs=5), "value": Net(4)}, "predictor"),
        ({"predictor": Net(3)}, "give both predictor= and value=, or neither"),
        ({"value": Net(4)}, "give both"),
        ({"predictor": Net(3), "value": Net(4), "share_trunk": True}, "share_trunk=True builds its own networks"),
    ],
)
def test_modules_that_do_not_fit_are_errors(settings, message, iris, fast):
    with pytest.raises(AskwiseError, match=message):
        DimeClassifier(**settings, **fast).fit(*iris)


# Settings


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"hidden": 0}, "hidden must be a whole number of at least 1, was given 0"),
        ({"layers": 0}, "layers must be a whole number"),
        ({"max_steps": 0}, "max_steps must be a whole number"),
        ({"epochs": 2.5}, "epochs must be a whole number of at least 1, was given 2.5"),
        ({"batch_size": True}, "batch_size must be a whole number"),
        ({"dropout": 1.0}, r"dropout must lie in \[0, 1\), was given 1.0"),
        ({"epsilon": -0.1}, r"epsilon must lie in \[0, 1\]"),
        ({"learning_rate": 0}, "learning_rate must be a number above 0"),
        ({"scaling": "bound"}, "unknown scaling 'bound'; allowed here: 'bounded', 'positive', 'none'"),
        ({"device": "gpu"}, "unknown device 'gpu'"),
        ({"costs": {"x9": 2}}, "unknown column or group in costs: 'x9'"),
        ({"stop": 5}, "not a stopping rule"),
    ],
)
def test_settings_that_can_not_be_are_errors(settings, message, iris, fast):
    with pytest.raises(AskwiseError, match=message):
        DimeClassifier(**{**fast, **settings}).fit(*iris)


def test_bounded_scores_have_no_meaning_for_a_regression(diabetes, fast):
    with pytest.raises(AskwiseError, match="'bounded' is for classes only; allowed here: 'positive', 'none'"):
        DimeRegressor(scaling="bounded", **fast).fit(*diabetes)


def test_a_rule_that_has_no_meaning_is_refused_by_fit_too(diabetes, fast):
    with pytest.raises(AskwiseError, match="predicts a number"):
        DimeRegressor(stop=Confidence(0.1), **fast).fit(*diabetes)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_asking_for_a_gpu_that_is_not_there_is_an_error(iris, fast):
    with pytest.raises(AskwiseError, match="torch sees no GPU; use device='auto' or 'cpu'"):
        DimeClassifier(device="cuda", **fast).fit(*iris)


def test_whole_numbers_of_numpy_are_whole_numbers(iris, fast):
    model = DimeClassifier(**{**fast, "hidden": np.int64(8), "epochs": np.int32(2)}).fit(*iris)
    assert model.model_.policy.networks.predictor.head.in_features == 8


def test_the_constructors_rule_is_used_where_none_is_given(iris, fast):
    X, y = iris
    plain, stopped = DimeClassifier(**fast).fit(X, y), DimeClassifier(stop=Budget(1), **fast).fit(X, y)
    assert np.array_equal(stopped.predict_proba(X), plain.predict_proba(X, stop=Budget(1)))
    assert stopped.score(X, y) == (plain.predict(X, stop=Budget(1)) == y).mean()
    assert set(stopped.acquire(X).n_asked) == {1}
    assert set(stopped.acquire(X, stop=Budget(3)).n_asked) == {3}


def test_positions_and_a_sequence_of_costs_work_on_arrays(iris, fast):
    X, y = iris
    model = DimeClassifier(groups={"petal": [2, 3]}, free=[0], costs=[5, 2], **fast).fit(X, y)
    acquired = model.acquire(X)
    assert model.model_.schema.free == ("x0",)
    assert {tuple(sorted(order)) for order in acquired.order} == {("petal", "x1")}
    assert model.acquire(X, stop=Budget(2)).order == [["petal"]] * len(X)
    assert set(acquired.spent) == {7.0}


def test_targets_of_the_values_come_from_the_predictor_without_dropout():
    task = TASKS["classification"]
    policy, rows = make_policy(task, dropout=0.9), make_rows(task, n=200)
    policy.train()
    mask = policy.mask(rows.available, rows.present)
    found = eval_losses(policy, task, rows.x, mask, rows.y)
    assert policy.training
    assert torch.equal(found, eval_losses(policy, task, rows.x, mask, rows.y))
    policy.eval()
    assert torch.equal(found, task.loss(policy(rows.x, mask).outputs, rows.y))


def test_dropout_follows_the_number_of_rows_unless_it_is_given(iris, fast):
    def dropouts(**settings):
        model = DimeClassifier(**{**fast, "epochs": 1, "pretrain_epochs": 1, **settings}).fit(*iris)
        return {m.p for m in model.model_.policy.modules() if isinstance(m, Dropout)}

    assert dropouts() == {dropout_for(120)}
    assert dropouts(dropout=0.45) == {0.45}


def test_dropout_inside_modules_of_ones_own_stays_as_it_was(iris, fast):
    own = {"predictor": Mlp(8, 16, 3, dropout=0.7), "value": Mlp(8, 16, 4, dropout=0.6)}
    model = DimeClassifier(**{**fast, "epochs": 1, "pretrain_epochs": 1, **own}).fit(*iris)
    assert {m.p for m in model.model_.policy.modules() if isinstance(m, Dropout)} == {0.7, 0.6}


def test_a_predictor_that_is_too_sure_gets_a_temperature_that_is_saved_and_loaded(tmp_path):
    X, y = load_digits(return_X_y=True)
    settings = {"hidden": 64, "dropout": 0.0, "epochs": 40, "max_steps": 5, "learning_rate": 0.01, "random_state": 0}
    model = DimeClassifier(**settings, soft_answers=False, base_rates=False).fit(X[:150], y[:150])
    temperature = float(model.model_.policy.temperature)
    assert temperature > 1
    assert float(clone(model).fit(X[:150], y[:150]).model_.policy.temperature) == temperature
    proba = model.predict_proba(X[150:])
    model.model_.policy.temperature.fill_(1.0)
    del model.model_.running_policy
    sure = model.predict_proba(X[150:])
    assert log_loss(y[150:], proba) < log_loss(y[150:], sure)
    assert (proba.argmax(1) == sure.argmax(1)).all()
    model.model_.policy.temperature.fill_(temperature)
    model.save(tmp_path / "digits.askwise")
    assert np.array_equal(load(tmp_path / "digits.askwise").predict_proba(X[150:]), proba)


def test_a_model_saved_before_there_was_a_temperature_loads():
    policy = make_policy(TASKS["classification"])
    old = {name: weight for name, weight in policy.state_dict().items() if name != "temperature"}
    policy.temperature.fill_(2.0)
    policy.load_state_dict(old)
    assert float(policy.temperature) == 1


def test_the_best_epoch_is_chosen_by_loss_over_money_not_over_steps():
    """Asking the dear group first has the lower loss after each step; asking the cheap one first, at each cost."""
    space = FeatureSpace(("dear", "cheap"), (10.0, 1.0), (0, 1), (0, 1))
    task = TASKS["regression"]
    present = torch.ones(1, 2, dtype=torch.bool)
    rows = Rows(torch.ones(1, 2), present, present, torch.zeros(1))

    class Fixed(Policy):
        """Squared error 100 with nothing, 25 with the cheap group, 16 with the dear one, 0 with both."""

        def __init__(self, first):
            super().__init__(space)
            self.first = first

        def forward(self, x, mask, scores=True):
            outputs = 10.0 - 6 * mask[:, :1].float() - 5 * mask[:, 1:].float() + (mask.all(1, keepdim=True)).float()
            wanted = torch.tensor([[100.0, 0.1], [0.1, 100.0]])[self.first].expand(len(x), 2)
            return Belief(outputs, wanted if scores else None)

    prices, same = (Prices.tensor(costs, torch.float32) for costs in (space.costs, (1.0, 1.0)))
    dear_first, cheap_first = (JointObjective(Fixed(f), task, prices, 2, 0.0).validate(rows) for f in (0, 1))
    horizon = 5.5 * 3
    assert float(dear_first) == pytest.approx((100 * 10 + 16 * 1) / (horizon * task.unit))
    assert float(cheap_first) == pytest.approx((100 * 1 + 25 * 10) / (horizon * task.unit))
    equal = JointObjective(Fixed(0), task, same, 2, 0.0).validate(rows)
    assert float(equal) == pytest.approx((100 + 16 + 0) / (3 * task.unit))
