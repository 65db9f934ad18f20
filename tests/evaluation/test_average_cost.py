"""Which rule an average cost stands for: it spends what it may, and is not behind the budget."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from askwise import AverageCost, Budget, DimeClassifier, DimeRegressor, MrmrClassifier, NumpyModel, Session
from askwise.core.stopping import Blend, parse_rule
from askwise.core.tasks import Classification, Regression
from askwise.core.trace import Stop, Trace
from askwise.evaluation import average_cost
from askwise.evaluation.average_cost import Chooser, expected_cost
from askwise.evaluation.recorded import Recorded

N_GROUPS = 12


def walk(n_rows=600, seed=0, told_apart=True, missing=0):
    """Rows that are sure after 1 question or after 7, each with a probability of a half.

    told_apart: the prediction and the information say which; else each question brings all rows a little less than the
    one before. missing: the last so
    many groups can't be had in every second row.
    """
    rng = np.random.default_rng(seed)
    solved = np.where(rng.random(n_rows) < 0.5, 1, 7)
    steps = np.arange(N_GROUPS + 1)[:, None]
    truth = rng.integers(0, 2, n_rows)
    sure = np.where(steps >= solved, 0.47, 0.02) if told_apart else 0.02 + 0.035 * steps
    sure = sure * rng.uniform(0.9, 1, (N_GROUPS + 1, n_rows))
    p = 0.5 + sure * np.where(truth == 0, 1, -1)
    best = np.where(steps >= solved, 0.01, 0.2) if told_apart else np.full(p.shape, 0.1)
    best = best * rng.uniform(0.9, 1.1, p.shape)
    end = np.full(n_rows, N_GROUPS)
    end[::2] -= missing
    held = np.minimum(steps, end)
    p, best = np.take_along_axis(p, held, 0), np.take_along_axis(best, held, 0)
    outputs = torch.from_numpy(np.stack([np.log(p), np.log(1 - p)], -1))
    choice = torch.from_numpy(np.where(steps[:-1] < end, steps[:-1], -1))
    reason = np.array(["nothing-left"] * n_rows, dtype=object)
    spent = torch.from_numpy(held.astype(float))
    trace = Trace(outputs, spent, torch.from_numpy(best), choice, (Stop(torch.from_numpy(end), reason),))
    model = SimpleNamespace(task=Classification(("a", "b")))
    return Recorded.of(model, trace, truth)


def chooser(is_information=True, **settings):
    return Chooser(walk(**settings), 1.0, is_information, {})


def chosen(one, k):
    return one.rule(k, one.kind(k))


def test_where_easy_rows_can_be_told_a_blend_takes_the_place_of_the_budget():
    rule, found = chosen(chooser(), 4.0)
    assert isinstance(rule, Blend)
    assert found.loss.mean() < chooser().baseline(4.0)[1].loss.mean()


@pytest.mark.parametrize("k", [1.0, 2.0, 4.0])
def test_where_nothing_tells_rows_apart_the_budget_is_kept(k):
    assert chosen(chooser(told_apart=False), k)[0] == Budget(k)


@pytest.mark.parametrize("k", [2.0, 4.0, 6.0])
def test_with_few_rows_the_budget_is_kept(k):
    assert chosen(chooser(n_rows=40), k)[0] == Budget(k)


@pytest.mark.parametrize("k", [2.0, 3.0, 4.0, 5.5, 8.0])
def test_fresh_rows_cost_from_90_to_103_percent_of_k_and_within_what_was_expected(k):
    fresh, shares, expected = walk(n_rows=5000, seed=100), [], []
    for seed in range(6):
        rule, found = chosen(chooser(n_rows=300, seed=seed), k)
        spent = float(fresh.trace.at(torch.from_numpy(_stops(rule, fresh)))[1].mean())
        interval = expected_cost(found.spent)
        shares.append(spent / k)
        expected.append(interval.low - 1e-9 <= spent <= interval.high + 1e-9)
    assert 0.9 <= np.mean(shares) <= 1.03
    assert all(0.88 <= share <= 1.06 for share in shares)
    assert np.mean(expected) > 0.8


def _stops(rule, recorded):
    """The steps at which a rule stops the rows of a walk to its end."""
    signals = SimpleNamespace(
        best=recorded.best, error=recorded.error, spent=recorded.spent, can_ask=True, cheapest=np.array(1.0)
    )
    stops = rule.stops(signals)
    return np.minimum(np.where(stops.any(0), stops.argmax(0), recorded.end), recorded.end)


@pytest.mark.parametrize("k", [1.5, 2.5, 4.0, 7.3])
def test_the_steps_of_a_chosen_rule_are_those_at_which_it_stops(k):
    one = chooser()
    rule, found = chosen(one, k)
    assert found.at.tolist() == _stops(rule, one.walk).tolist()
    assert parse_rule(str(rule)) == rule


def test_between_two_whole_numbers_some_rows_are_asked_once_more():
    one = chooser(told_apart=False, n_rows=2000)
    rule, found = one.baseline(2.5)
    assert (rule.least, rule.most) == (2, 3)
    assert set(found.spent) == {2.0, 3.0}
    assert 0.9 * 2.5 < found.spent.mean() <= 2.5


def test_what_rows_that_lack_groups_leave_is_spent_on_others():
    one = chooser(told_apart=False, missing=8)
    assert one.walk.within(Budget(6)).spent.mean() == 5
    _, found = one.baseline(6.0)
    assert 0.93 * 6 < found.spent.mean() <= 6


def test_what_a_budget_of_unequal_prices_leaves_is_spent_by_a_blend():
    """The budget buys one question of each row, and then nothing that is left is cheap enough."""
    recorded = walk()
    after_one = Stop(torch.ones(recorded.n_rows, dtype=torch.int64), recorded.trace.stops[0].reason)
    budgets = {4.0: replace(recorded.trace, stops=(after_one,))}
    rule, found = chosen(Chooser(recorded, None, True, budgets), 4.0)
    assert isinstance(rule, Blend)
    assert 1 < found.spent.mean() <= 4


def test_with_unequal_prices_a_budget_that_is_not_used_up_may_be_larger_than_k(monkeypatch):
    monkeypatch.setattr(average_cost, "WEIGHTS", ())
    recorded = walk(told_apart=False)
    stops = [Stop(torch.full((recorded.n_rows,), n), recorded.trace.stops[0].reason) for n in (2, 4)]
    budgets = {k: replace(recorded.trace, stops=(stop,)) for k, stop in zip((4.0, 9.0), stops, strict=True)}
    rule, found = chosen(Chooser(recorded, None, True, budgets), 4.0)
    assert rule == Budget(9)
    assert found.spent.mean() == 4


def test_numbers_have_penalties_alone_and_orders_only_the_error():
    assert chooser().weights == (0, 0.25, 0.5, 0.75, 1)
    assert chooser(is_information=False).weights == (0,)
    number = Recorded(**{**vars(walk()), "task": Regression(0.0, 1.0)})
    assert Chooser(number, 1.0, True, {}).weights == (1,)
    assert Chooser(number, 1.0, False, {}).weights == ()


# Trained models


@pytest.fixture(scope="module")
def easy_and_hard():
    """The label is the sign of the first column, or of the sum of four others where the first is near 0."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 8))
    X[:, 0] = np.sign(X[:, 0]) * np.where(rng.random(1500) < 0.5, 2, 0.02)
    y = np.where(np.abs(X[:, 0]) > 1, X[:, 0] > 0, X[:, 1:5].sum(1) > 0).astype(int)
    return X, y


@pytest.fixture(scope="module")
def trained(easy_and_hard):
    X, y = easy_and_hard
    settings = {"hidden": 32, "epochs": 15, "pretrain_epochs": 15, "batch_size": 64, "random_state": 0}
    return DimeClassifier(**settings).fit(X[:1000], y[:1000], eval_set=(X[1000:1300], y[1000:1300]))


@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_average_cost_spends_what_it_may_and_is_not_behind_the_budget(trained, easy_and_hard, k):
    X, y = (part[1300:] for part in easy_and_hard)
    average, budget = (trained.acquire(X, stop=rule) for rule in (AverageCost(k), Budget(k)))
    right = [(trained.classes_[found.proba.argmax(1)] == y).mean() for found in (average, budget)]
    assert 0.9 * k <= average.spent.mean() <= 1.06 * k
    assert right[0] >= right[1] - 0.01
    assert f"(expected: {average.expected_cost})" in repr(average)


def test_easy_rows_leave_more_for_hard_ones(trained, easy_and_hard):
    X, y = (part[1300:] for part in easy_and_hard)
    assert str(trained.model_.rule(AverageCost(3), trained.model_.costs())).startswith("blend=")
    average, budget = (trained.acquire(X, stop=rule) for rule in (AverageCost(3), Budget(3)))
    is_hard = np.abs(X[:, 0]) < 1
    assert average.spent[is_hard].mean() > 1 + average.spent[~is_hard].mean()
    right = [(trained.classes_[found.proba.argmax(1)] == y).mean() for found in (average, budget)]
    assert right[0] > right[1] + 0.02


@pytest.mark.parametrize("k", [0.5, 1, 2.4, 3, 5])
@pytest.mark.filterwarnings("ignore::askwise.core.errors.AskwiseWarning")
def test_a_batch_a_session_and_numpy_stop_at_the_same_place(trained, easy_and_hard, tmp_path, k):
    X = easy_and_hard[0][1300:1330]
    trained.save(tmp_path / "m.askwise")
    acquired = trained.acquire(X, stop=AverageCost(k))
    for model in (trained, NumpyModel.load(tmp_path / "m.askwise")):
        for i, row in enumerate(X):
            session = Session(model, AverageCost(k))
            while (question := session.ask()) is not None:
                session.tell(question.name, row[int(question.name[1:])])
            assert (session.asked, session.reason) == (acquired.order[i], acquired.reason[i])


def test_the_frontier_has_a_rule_and_an_interval_for_each_average_cost(trained):
    table = trained.frontier_
    assert {"average_cost", "rule", "mean_cost", "cost_low", "cost_high", "penalty", "accuracy"} <= set(table.columns)
    assert table["average_cost"].is_monotonic_increasing
    assert (table["mean_cost"] <= table["average_cost"] * (1 + 1e-9)).all()
    assert (table["cost_low"] <= table["mean_cost"]).all()
    assert (table["mean_cost"] <= table["cost_high"] + 1e-12).all()
    whole = table[(table["average_cost"] >= 1) & (table["average_cost"] < 8)]
    assert (whole["mean_cost"] >= 0.9 * whole["average_cost"]).all()


def test_an_order_has_average_costs_too(easy_and_hard):
    X, y = easy_and_hard
    model = MrmrClassifier(hidden=16, epochs=5, random_state=0).fit(X, y)
    acquired = model.acquire(X, stop=AverageCost(3))
    assert 2.7 <= acquired.spent.mean() <= 3.1
    assert set(acquired.reason) == {"average-cost"}
    assert all("weight=0," in text for text in model.frontier_["rule"] if text.startswith("blend"))


def test_a_number_has_penalties_and_budgets_only(easy_and_hard, fast):
    X, y = easy_and_hard
    model = DimeRegressor(**fast).fit(X, y + X[:, 5])
    rules = [parse_rule(text) for text in model.frontier_["rule"]]
    assert all(isinstance(rule, Budget) or rule.weight == 1 for rule in rules)
    assert 1.8 <= model.acquire(X, stop=AverageCost(2)).spent.mean() <= 2.1
