"""Argmax Direct: what it learns, and how."""

import numpy as np
import pytest
import torch

from askwise import ArgmaxDirectClassifier, ArgmaxDirectRegressor, AskwiseError, Budget, Penalty, RandomOrderClassifier
from askwise.core.features import FeatureSpace
from askwise.core.rows import Rows
from askwise.core.tasks import Classification, Regression
from askwise.data.synthetic import DISTRIBUTIONS
from askwise.methods import argmax_direct
from askwise.methods.argmax_direct import SoftSelection
from askwise.model.model import Model

TASKS = {"classification": Classification((0, 1, 2)), "regression": Regression(5.0, 4.0)}
# Five columns in four groups, one of them a panel of two; a sixth column is free.
SPACE = FeatureSpace(("a", "panel", "b", "c"), (1.0, 3.0, 0.5, 1.0), (0, 1, 1, 2, 3, -1), (0, 1, 2, 3, 4, 5))
SMALL = {"hidden": 32, "batch_size": 64, "learning_rate": 5e-3, "random_state": 0}
QUICK = {**SMALL, "pretrain_epochs": 15, "epochs": 8, "temperatures": (1, 0.3, 0.1)}


def make_rows(task, n=9):
    g = torch.Generator().manual_seed(0)
    present = torch.rand(n, 6, generator=g) < 0.75
    present[0] = True
    present[-1, :5] = n == 1
    x = torch.randn(n, 6, generator=g) * present
    y = torch.randint(0, 3, (n,), generator=g) if task.kind == "classification" else torch.randn(n, generator=g) * 4
    return Rows(x, present, SPACE.available(present), y)


def make_policy(task):
    torch.manual_seed(0)
    method = ArgmaxDirectClassifier if task.kind == "classification" else ArgmaxDirectRegressor
    policy = method(hidden=8, dropout=0.0).build(SPACE, task)
    for p in policy.parameters():
        p.data.mul_(2)
    return policy


def selections(objective, rows):
    return objective.experience(rows, torch.tensor(0.0))


def gradients(policy, loss):
    policy.zero_grad()
    loss.backward()
    return {name: p.grad.clone() for name, p in policy.named_parameters()}


def plain_loop(policy, task, rows, states, temperature):
    """The published loop, row after row and state after state, without noise; then nothing and the random sets."""
    losses = []
    for r in range(len(rows)):
        row = rows.take(slice(r, r + 1))
        for before in states.before[:, r : r + 1]:
            is_open = (row.available & ~before)[0]
            if is_open.any():
                scores = policy(row.x, policy.mask(before, row.present)).scores[0] / task.unit
                weights = torch.zeros(4).index_put((is_open,), (scores[is_open] / temperature).softmax(0))
                of_column = torch.stack([*weights[[0, 1, 1, 2, 3]], torch.tensor(0.0)])
                mask = policy.mask(before, row.present) + of_column * row.present
                losses.append(task.training_loss(policy(row.x, mask).outputs, row.y) / task.unit)
        for hard in (torch.zeros_like(row.available), states.random[r : r + 1]):
            outputs = policy(row.x, policy.mask(hard, row.present)).outputs
            losses.append(task.training_loss(outputs, row.y) / task.unit)
    return torch.cat(losses).mean()


@pytest.mark.parametrize("kind", TASKS)
def test_the_flat_update_is_the_gradient_of_the_plain_loop(kind, monkeypatch):
    monkeypatch.setattr(argmax_direct, "gumbel", torch.zeros_like)
    task = TASKS[kind]
    policy, rows = make_policy(task), make_rows(task)
    objective = SoftSelection(policy, task, n_steps=4, temperature=0.7)
    states = selections(objective, rows)
    flat = objective.loss(rows, torch.ones(len(rows)), states)
    plain = plain_loop(policy, task, rows, states, 0.7)
    assert flat.item() == pytest.approx(plain.item(), rel=1e-5)
    ours, theirs = gradients(policy, flat), gradients(policy, plain)
    for name in ours:
        assert torch.allclose(ours[name], theirs[name], rtol=1e-4, atol=1e-6), name
    assert all(ours[f"networks.{network}.head.weight"].abs().max() > 0 for network in ("predictor", "value"))


@pytest.mark.parametrize("temperature", [1.0, 1e-4])
def test_a_soft_selection_is_shared_among_the_open_groups(temperature):
    task = TASKS["classification"]
    policy, rows = make_policy(task), make_rows(task, n=200)
    objective = SoftSelection(policy, task, 4, temperature)
    states = selections(objective, rows)
    before, asked = states.before, states.can_ask
    soft = objective._selected(rows, before, asked)
    is_open = rows.available & ~before
    assert torch.equal(asked, is_open.any(2))
    assert not asked.all()
    assert torch.equal(soft.sum(2).round(decimals=5), asked.float())
    assert (soft[~is_open] == 0).all()
    choices = (soft.amax(2)[is_open.sum(2) > 1] > 0.999).float().mean()
    assert choices > 0.99 if temperature < 1 else choices < 0.5


def test_the_selection_of_a_panel_is_that_of_its_columns_and_a_free_column_stays_known():
    policy = make_policy(TASKS["classification"])
    present = torch.ones(1, 6, dtype=torch.bool)
    mask = policy.mask(torch.tensor([[0.25, 0.5, 1.0, 0.0]]), present)
    assert mask.tolist() == [[0.25, 0.5, 0.5, 1.0, 0.0, 1.0]]
    present[0, 1] = present[0, 5] = False
    assert policy.mask(torch.tensor([[0.25, 0.5, 1.0, 0.0]]), present).tolist() == [[0.25, 0, 0.5, 1.0, 0.0, 0]]


@pytest.mark.parametrize("kind", TASKS)
def test_episodes_ask_groups_drawn_by_the_softmax_of_the_logits(kind):
    task = TASKS[kind]
    policy, row = make_policy(task), make_rows(task, n=1)
    rows = row.take(torch.zeros(4000, dtype=torch.int64))
    objective = SoftSelection(policy, task, 2, 1.0)
    torch.manual_seed(0)
    walk = objective.walked(rows, change=objective._drawn)
    torch.manual_seed(0)
    states = selections(objective, rows)
    known, choice = walk.known, walk.choice
    assert torch.equal(states.before, known[:-1])
    logits = policy.logits(row.x, policy.mask(torch.zeros(1, 4, dtype=torch.bool), row.present))[0]
    share = choice[0].bincount(minlength=4) / 4000
    assert torch.allclose(share, logits.softmax(0), atol=0.04)
    assert share.max() < 0.95
    assert states.can_ask.all()
    assert torch.equal(known[1], torch.nn.functional.one_hot(choice[0], 4).bool())
    assert not known[1].gather(1, choice[1][:, None]).any()


def test_padded_rows_carry_no_gradient():
    task = TASKS["classification"]
    policy, rows = make_policy(task), make_rows(task)
    objective = SoftSelection(policy, task, 4, 0.5)
    weight = torch.tensor([1.0] * 6 + [0.0] * 3)
    found = []
    for y in (rows.y, torch.where(weight > 0, rows.y, (rows.y + 1) % 3)):
        torch.manual_seed(0)
        loss = next(objective.losses(Rows(rows.x, rows.present, rows.available, y), weight, torch.tensor(0.0)))
        found.append(gradients(policy, loss))
    assert all(torch.equal(found[0][name], found[1][name]) for name in found[0])


def test_a_part_of_padding_alone_changes_nothing():
    task = TASKS["classification"]
    policy, rows = make_policy(task), make_rows(task)
    loss = next(SoftSelection(policy, task, 4, 0.5).losses(rows, torch.zeros(len(rows)), torch.tensor(0.0)))
    assert loss.item() == 0
    assert all((g == 0).all() for g in gradients(policy, loss).values())


def accuracies(model, x, y, budgets):
    trace = model.trace(model.schema.encode(x), [Budget(max(budgets))], model.costs(None))
    return np.array([(trace.outputs[k].argmax(1).numpy() == y).mean() for k in budgets])


def test_accuracy_on_independent_tests_is_near_that_of_the_exact_greedy_policy():
    tests = DISTRIBUTIONS["tests"]()
    (x, y), (x_new, y_new) = tests.sample(1000, seed=0), tests.sample(4000, seed=1)
    learnt = accuracies(ArgmaxDirectClassifier(**QUICK | {"epochs": 12}).fit(x, y).model_, x_new, y_new, range(9))
    exact = accuracies(Model(tests.schema, tests.task, tests.policy), x_new, y_new, range(9))
    assert (learnt > exact - 0.06).all()
    assert exact[1] > exact[0] + 0.05


def test_it_beats_a_random_order_on_cube():
    cube = DISTRIBUTIONS["cube"]()
    (x, y), (x_new, y_new) = cube.sample(600, seed=0), cube.sample(2000, seed=1)
    budgets = range(1, 11)
    learnt = accuracies(ArgmaxDirectClassifier(**QUICK, max_steps=10).fit(x, y).model_, x_new, y_new, budgets)
    random = accuracies(RandomOrderClassifier(**SMALL, epochs=20).fit(x, y).model_, x_new, y_new, budgets)
    assert learnt.mean() > random.mean() + 0.1


def test_what_is_asked_first_hangs_on_what_is_known():
    """A free column tells which of two tests works."""
    prior = DISTRIBUTIONS["prior"]()
    x, y = prior.sample(1000, seed=0)
    model = ArgmaxDirectClassifier(free=["age band"], **QUICK).fit(x, y)
    first = np.array([order[0] for order in model.acquire(x, stop=Budget(1)).order])
    assert (first[x["age band"] == 0] == "test for the young").mean() > 0.9
    assert (first[x["age band"] == 3] == "test for the old").mean() > 0.9


def test_a_regressor_asks_about_as_well_as_the_exact_greedy_policy():
    gaussian = DISTRIBUTIONS["gaussian"]()
    (x, y), (x_new, y_new) = gaussian.sample(1000, seed=0), gaussian.sample(2000, seed=1)
    model = ArgmaxDirectRegressor(**QUICK).fit(x, y)
    exact = Model(gaussian.schema, gaussian.task, gaussian.policy)
    for k in (1, 2, 3):
        best = exact.acquire(exact.schema.encode(x_new), Budget(k), None, x_new.index).prediction
        error, least = (np.mean((p - y_new) ** 2) for p in (model.predict(x_new, stop=Budget(k)), best))
        assert error < least + 0.1 * y_new.var()


def test_prices_change_neither_training_nor_the_order():
    x, y = DISTRIBUTIONS["tests"]().sample(200, seed=0)
    settings = {**QUICK, "pretrain_epochs": 1, "epochs": 1}
    plain, priced = (ArgmaxDirectClassifier(costs=costs, **settings).fit(x, y) for costs in (None, {"test 1": 50}))
    assert plain.acquire(x).order == priced.acquire(x).order
    assert not any("test 1" in order for order in priced.acquire(x, stop=Budget(8)).order)


def test_each_temperature_is_a_stage(iris):
    model = ArgmaxDirectClassifier(**SMALL, temperatures=[2, 0.25], epochs=2, pretrain_epochs=1).fit(*iris)
    assert model.model_.card["epochs"] == {"predictor": 1, "temperature 2": 2, "temperature 0.25": 2}


def test_a_run_that_was_killed_goes_on_as_if_it_had_not_been(iris, tmp_path):
    settings = {**QUICK, "epochs": 2, "pretrain_epochs": 2}

    def stop_in_the_second_temperature(progress):
        if progress.stage == "temperature 0.3":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ArgmaxDirectClassifier(checkpoint_dir=tmp_path, **settings).fit(*iris, progress=stop_in_the_second_temperature)
    resumed = ArgmaxDirectClassifier(checkpoint_dir=tmp_path, **settings).fit(*iris)
    whole = ArgmaxDirectClassifier(**settings).fit(*iris)
    assert np.array_equal(resumed.predict_proba(iris[0], stop=Budget(2)), whole.predict_proba(iris[0], stop=Budget(2)))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"temperatures": ()}, r"temperatures must be one or more numbers above 0, was given \(\)"),
        ({"temperatures": 0.5}, "temperatures must be one or more numbers above 0, was given 0.5"),
        ({"temperatures": "0.5"}, "temperatures must be one or more numbers above 0, was given '0.5'"),
        ({"temperatures": [1, 0]}, "each of temperatures must be a number above 0, was given 0"),
        ({"temperatures": [1, "a"]}, "each of temperatures must be a number above 0, was given 'a'"),
        ({"pretrain_epochs": 0}, "pretrain_epochs must be a whole number of at least 1, was given 0"),
    ],
)
def test_settings_that_cannot_be_are_told(iris, settings, message):
    with pytest.raises(AskwiseError, match=message):
        ArgmaxDirectClassifier(**settings).fit(*iris)


def test_a_penalty_is_told_that_there_is_no_information(iris):
    with pytest.raises(AskwiseError, match="information"):
        ArgmaxDirectClassifier(stop=Penalty(0.1), **QUICK).fit(*iris)
