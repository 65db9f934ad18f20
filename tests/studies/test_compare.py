"""Comparisons: the same rows for all methods, cells that are kept and resumed, failures that stop nobody."""

from __future__ import annotations

import json
import os
import re
import shutil
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace

import joblib
import numpy as np
import pandas as pd
import pytest
import torch

from askwise import Budget, DimeClassifier
from askwise.core.errors import AskwiseError
from askwise.data.synthetic import DISTRIBUTIONS
from askwise.data.tables.split import hold_out
from askwise.evaluation.metrics import METRICS as METRICS_OF
from askwise.evaluation.metrics import Metric, accuracy
from askwise.methods.random_order import RandomOrderClassifier
from askwise.methods.registry import METHODS
from askwise.model.model import Model
from askwise.studies.compare import run as running
from askwise.studies.compare.budgets import budgets_for
from askwise.studies.compare.data import TableData
from askwise.studies.compare.named_data import named
from askwise.studies.compare.plan import plan
from askwise.studies.compare.run import columns, compare, run

QUICK = {"epochs": 1, "hidden": 8}
TWO = ("random-order", "all-features")


class Unlucky(RandomOrderClassifier):
    """Fails with one seed."""

    registry_name = "unlucky-classifier"

    def train(self, policy, training, task):
        if self.random_state == 1:
            raise RuntimeError("no luck")
        super().train(policy, training, task)


class Deadly:
    """Ends its process, as the system does where memory runs out."""

    device = "cpu"

    def fit(self, *_):
        os._exit(1)


class Breaking:
    """Runs in this process, and says that one was killed where it would have been."""

    def __init__(self, **_):
        pass

    def __call__(self, tasks):
        for function, arguments, _ in tasks:
            if any(isinstance(argument, Deadly) for argument in arguments):
                raise BrokenProcessPool
            yield function(*arguments)


@pytest.fixture(scope="module")
def wine():
    return named("wine")


@pytest.fixture(scope="module")
def made(wine, tmp_path_factory):
    """Two methods and two seeds on wine, and the folder that keeps them."""
    folder = tmp_path_factory.mktemp("compared")
    return compare([wine], folder, TWO, 2, jobs=1, settings=QUICK), folder


def marks(dataset, **choices):
    """The fingerprint of each method's first cell."""
    return {c.method: c.fingerprint for c in plan([dataset], TWO, 1, **({"settings": QUICK} | choices)).cells}


def cells(folder):
    return sorted(path.name for path in (folder / "cells").iterdir())


def test_there_is_one_line_for_every_cell_rule_and_budget(made):
    table = made[0].results
    assert list(table.columns) == columns()
    asked = table[table["method"] == "random-order"]
    assert asked["budget"].tolist() == [1, 2, 3, 5, 8, 12] * 2
    assert asked["seed"].tolist() == [0] * 6 + [1] * 6
    np.testing.assert_allclose(asked["mean_cost"], asked["budget"])
    ceiling = table[table["method"] == "all-features"]
    assert ceiling["rule"].tolist() == ["everything"] * 2
    assert (ceiling["mean_groups"] == 13).all()
    assert (table["train_seconds"] > 0).all()
    assert (table["microseconds_per_row"] > 0).all()
    assert table["device"].isin(["cpu", "cuda"]).all()


def test_what_is_there_is_kept_and_only_new_seeds_are_run(made, wine):
    first, folder = made
    before = cells(folder)
    again = compare([wine], folder, TWO, 2, jobs=1, settings=QUICK)
    assert (again.n_run, again.n_kept) == (0, 4)
    pd.testing.assert_frame_equal(again.results, first.results)
    more = compare([wine], folder, ["random-order"], 3, jobs=1, settings=QUICK)
    assert (more.n_run, more.n_kept) == (1, 2)
    assert set(before) < set(cells(folder))


@pytest.mark.parametrize(
    "change", [{"settings": {"epochs": 2, "hidden": 8}}, {"budgets": [1, 2]}, {"max_rows": 100}, {"test_rows": 20}]
)
def test_other_settings_are_other_cells(wine, change):
    first = marks(wine)
    other = marks(wine, **({"settings": QUICK} | change))
    assert first["random-order"] != other["random-order"]
    # Everything known costs the same under all budgets.
    assert (first["all-features"] == other["all-features"]) == ("budgets" in change)


def test_other_data_are_other_cells(wine):
    by = np.arange(len(wine.y)) // 2
    changed = [wine, replace(wine, y=np.roll(wine.y, 1)), replace(wine, split_by=by), replace(wine, split_by=by // 2)]
    assert len({marks(d)["random-order"] for d in changed}) == 4


@pytest.mark.parametrize(("these", "others"), [([0, 1], [False, True]), (["a", ""], ["a", None])])
def test_columns_that_hold_nearly_the_same_are_told_apart(these, others):
    tables = [TableData("t", pd.DataFrame({"a": values * 10}), np.arange(20) % 2) for values in (these, others)]
    assert tables[0].fingerprint != tables[1].fingerprint


def test_a_distribution_that_draws_otherwise_is_another(monkeypatch):
    first, other = named("gaussian:60"), named("gaussian:60")
    kind = type(other.distribution)
    assert first.fingerprint == named("gaussian:60").fingerprint
    draw = kind.sample
    monkeypatch.setattr(kind, "sample", lambda self, n, seed: draw(self, n, seed + 1))
    assert other.fingerprint != first.fingerprint


def test_a_method_of_another_revision_or_kind_of_device_is_another_cell(wine, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    first = marks(wine)
    assert marks(wine, settings=QUICK | {"device": "cpu"}) == first
    monkeypatch.setattr(RandomOrderClassifier, "revision", RandomOrderClassifier.revision + 1)
    other = marks(wine)
    assert other["random-order"] != first["random-order"]
    assert other["all-features"] == first["all-features"]
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert marks(wine)["all-features"] != first["all-features"]
    assert marks(wine) == marks(wine, settings=QUICK | {"device": "cuda:0"})


@pytest.fixture(scope="module")
def visits():
    """A hundred rows of twenty people, whose numbers are a column; each person has one answer."""
    draw = np.random.default_rng(0)
    person = draw.permutation(np.repeat(np.arange(20), 5))
    X = pd.DataFrame(draw.normal(size=(100, 3)), columns=list("abc")).assign(person=person)
    return TableData("visits", X, person % 2, split_by="person")


@pytest.mark.parametrize("task", ["classification", "regression"])
@pytest.mark.parametrize("seed", range(3))
def test_nobody_is_on_both_sides_of_the_test_split(visits, task, seed):
    split = replace(visits, task=task, y=visits.y.astype(float)).split(seed, 60, 15)
    assert list(split.X) == list("abc")
    assert len(split.X) <= 60
    assert 0 < len(split.X_test) <= 15
    of = pd.Series(visits.split_by)
    assert not set(of[split.X.index]) & set(of[split.X_test.index])
    assert (of[split.X.index] == split.by).all()


def test_nobody_is_on_both_sides_of_the_validation_of_a_cell(visits, tmp_path, monkeypatch):
    sides = []

    def watched(y, fraction, seed, stratify, by=None):
        found = hold_out(y, fraction, seed, stratify, by)
        sides.append([set(by[rows]) for rows in found])
        return found

    monkeypatch.setattr("askwise.methods.preparation.hold_out", watched)
    made = compare([visits], tmp_path, ["random-order"], 2, jobs=1, settings=QUICK)
    assert made.failed == []
    assert (made.results["n_groups"] == 3).all()
    assert len(sides) == 2
    assert all(train and val and not train & val for train, val in sides)


@pytest.mark.parametrize(
    ("by", "words"),
    [
        ("persn", "unknown column in split_by: 'persn'"),
        ([1, 2, 3], "3 values for 100 rows"),
        ([None] + [1, 2, 3] * 33, "missing in 1 rows"),
        ([1, 2] * 50, "2 different values; at least 3"),
    ],
)
def test_people_that_can_not_be_kept_together_are_told(visits, by, words):
    with pytest.raises(AskwiseError, match=re.escape(words)):
        replace(visits, split_by=by)


def test_cells_measured_before_a_metric_existed_are_run_again(made, wine, tmp_path, monkeypatch):
    shutil.copytree(made[1], tmp_path, dirs_exist_ok=True)
    before = cells(tmp_path)
    errors = Metric(lambda *given: 1 - accuracy(*given), False, "Errors", form="{:.1%}")
    monkeypatch.setitem(METRICS_OF["classification"], "errors", errors)
    again = compare([wine], tmp_path, TWO, 2, jobs=1, settings=QUICK, metric="errors")
    assert (again.n_run, again.n_kept) == (4, 0)
    np.testing.assert_allclose(again.results["errors"], 1 - again.results["accuracy"])
    # In place of what was there.
    assert cells(tmp_path) == before
    assert compare([wine], tmp_path, TWO, 2, jobs=1, settings=QUICK).n_kept == 4
    monkeypatch.delitem(METRICS_OF["classification"], "errors")
    assert "errors" not in compare([wine], tmp_path, TWO, 2, jobs=1, settings=QUICK).results


def test_a_cell_measures_what_the_estimator_gives(wine, tmp_path):
    found = compare([wine], tmp_path, ["dime"], 1, jobs=1, budgets=[2, 5], settings=QUICK).results
    split = wine.split(0, 8000, 5000)
    dime = DimeClassifier(**QUICK, random_state=0).fit(split.X, split.y)
    right = dime.predict(split.X_test, stop=Budget(5)) == split.y_test
    line = found[(found["rule"] == "budget") & (found["budget"] == 5)].iloc[0]
    assert line["accuracy"] == pytest.approx(right.mean())
    on_average = found[found["rule"] == "average-cost"]
    assert on_average["budget"].tolist() == [2, 5]
    assert (on_average["mean_cost"] <= 1.1 * on_average["budget"]).all()


def test_splits_are_stratified_apart_limited_and_of_their_seed(wine):
    split = wine.split(3, 60, 20)
    assert (len(split.X), len(split.X_test)) == (60, 20)
    assert not set(split.X.index) & set(split.X_test.index)
    shares = [pd.Series(y).value_counts(normalize=True).sort_index() for y in (wine.y, split.y, split.y_test)]
    np.testing.assert_allclose(shares[1], shares[0], atol=0.05)
    np.testing.assert_allclose(shares[2], shares[0], atol=0.05)
    assert list(wine.split(3, 60, 20).X.index) == list(split.X.index)
    assert set(wine.split(4, 60, 20).X_test.index) != set(split.X_test.index)


def test_a_failing_cell_is_told_and_run_again_and_the_others_go_on(wine, tmp_path, monkeypatch):
    monkeypatch.setitem(METHODS, "unlucky-classifier", Unlucky)
    made = compare([wine], tmp_path, ["unlucky"], 3, jobs=1, settings=QUICK)
    ((cell, error),) = made.failed
    assert (cell.seed, error) == (1, "RuntimeError: no luck")
    assert set(made.results["seed"]) == {0, 2}
    kept = json.loads((tmp_path / "cells" / cell.file).read_text())
    assert "in train" in kept["traceback"]
    monkeypatch.setattr(Unlucky, "train", RandomOrderClassifier.train)
    again = compare([wine], tmp_path, ["unlucky"], 3, jobs=1, settings=QUICK)
    assert (again.n_run, again.n_kept, again.failed) == (1, 2, [])


@pytest.mark.parametrize("parallel", [Breaking, pytest.param(joblib.Parallel, marks=pytest.mark.proof)])
def test_a_cell_whose_process_is_killed_is_told_and_the_others_go_on(wine, tmp_path, monkeypatch, parallel):
    monkeypatch.setattr(joblib, "Parallel", parallel)
    planned = plan([wine], ["random-order"], 3, settings=QUICK)
    deadly = replace(planned, candidates=(planned.candidates[0], Deadly(), planned.candidates[2]))
    made = run(deadly, tmp_path, jobs=2)
    ((cell, error),) = made.failed
    assert cell.seed == 1
    assert "memory" in error
    assert set(made.results["seed"]) == {0, 2}


def test_a_backend_of_joblib_takes_it_further(wine, made, tmp_path):
    told = []
    with joblib.parallel_config("threading", n_jobs=2):
        threaded = compare([wine], tmp_path, TWO, 2, settings=QUICK, progress=told.append)
    assert (threaded.n_run, threaded.failed) == (4, [])
    assert all(0 <= fraction <= 1 for fraction in told)
    facts = ["dataset", "method", "seed", "rule", "budget", "mean_cost", "accuracy", "log_loss"]
    pd.testing.assert_frame_equal(threaded.results[facts], made[0].results[facts])


def test_the_protocol_of_the_paper_fits_one_model_for_each_budget_where_a_method_takes_one(wine):
    planned = plan([wine], ["random-order", "all-features", "dime"], 1, budgets=[2, 5], protocol="paper")
    fits = [(c.method, c.protocol, c.budgets) for c in planned.cells]
    assert sorted(fits) == [
        ("all-features", "shared", (2.0, 5.0)),
        ("dime", "shared", (2.0, 5.0)),
        ("random-order", "paper", (2.0,)),
        ("random-order", "paper", (5.0,)),
    ]
    budgets = [c.estimator.budget for c in planned.candidates if hasattr(c.estimator, "budget")]
    assert budgets.count(2.0) == budgets.count(5.0) == 1
    assert len({c.file for c in planned.cells}) == 4


def test_single_methods_have_seeds_of_their_own(wine):
    planned = plan([wine], ["dime", "random-order"], 3, seeds_of={"dime": 1})
    assert [(c.method, c.seed) for c in planned.cells if c.method == "dime"] == [("dime", 0)]
    assert sum(c.method == "random-order" for c in planned.cells) == 3


def test_the_exact_policy_is_the_one_that_knows_the_distribution(tmp_path):
    tests = named("tests:60")
    found = compare([tests], tmp_path, ["exact"], 1, jobs=1, test_rows=300).results
    truth = DISTRIBUTIONS["tests"]()
    X, y = truth.sample(300, 1_000_000)
    model = Model(truth.schema, truth.task, truth.policy)
    guess = model.acquire(model.schema.encode(X), Budget(3)).proba.argmax(1)
    line = found[(found["rule"] == "budget") & (found["budget"] == 3)].iloc[0]
    assert line["accuracy"] == pytest.approx((guess == truth.task.encode(y).numpy()).mean())
    assert {"budget", "average-cost"} == set(found["rule"])


def priced(costs):
    X = pd.DataFrame(np.arange(20.0 * len(costs)).reshape(20, -1), columns=list(costs))
    return TableData("priced", X, np.arange(20) % 2, costs=costs)


def test_budgets_are_counts_of_equal_costs_and_sums_in_ratios_of_others():
    assert budgets_for(priced(dict.fromkeys("abcdef", 2.0))) == (2, 4, 6, 10)
    assert budgets_for(priced({"a": 1, "b": 9, "c": 90})) == (1, 9, 10, 90, 100)
    # 0.1 and 0.2 together are 0.3, and not a little more.
    assert budgets_for(priced({"a": 0.1, "b": 0.2, "c": 8})) == (0.1, 0.2, 0.3, 8, pytest.approx(8.3))
    many = budgets_for(priced({f"c{i}": 1 + i for i in range(30)}))
    assert (len(many), many[0], many[-1]) == (8, 1, 465)
    ratios = np.diff(np.log(many))
    assert ratios.max() < 2 * ratios.min()
    assert budgets_for(priced({"a": 1, "b": 2}), [3, 1, 5]) == (1, 3)


def test_the_metric_suits_the_answer(wine):
    assert [named(n).metric for n in ("wine", "breast-cancer", "diabetes", "tests", "gaussian")] == [
        "accuracy", "auroc", "rmse", "auroc", "rmse",
    ]  # fmt: skip
    assert {c.metric for c in plan([wine, named("diabetes")], ["dime"], 1, metric="log_loss").cells} == {
        "log_loss",
        "rmse",
    }


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"methods": ["dimme"]}, "unknown method 'dimme'; did you mean 'dime'?"),
        ({"methods": ["exact"]}, "'exact' has no dataset here: it needs a distribution"),
        ({"methods": ["mrmr"], "seeds_of": {"eddi": 2}}, "eddi has seeds of its own and is not among the methods"),
        ({"methods": []}, "no method"),
        ({"seeds_of": {"mrm": 2}}, "unknown method with seeds of its own 'mrm'"),
        ({"protocol": "papers"}, "did you mean 'paper'?"),
        ({"metric": "rmse"}, "unknown metric 'rmse'"),
        ({"budgets": [100]}, "wine: every budget is above 13"),
    ],
)
def test_mistakes_are_told_before_anything_is_trained(wine, arguments, words):
    with pytest.raises(AskwiseError, match=re.escape(words)):
        plan([wine], **arguments)


def test_a_table_that_can_not_be_learnt_is_told_by_its_name(wine):
    with pytest.raises(AskwiseError, match=r"alike: .*one class only"):
        plan([replace(wine, name="alike", y=np.zeros(len(wine.y)))])
    with pytest.raises(AskwiseError, match="'wine' is given twice"):
        plan([wine, wine])


def test_a_method_that_can_not_learn_a_dataset_is_left_out_and_alone_it_is_an_error():
    number = named("diabetes")
    planned = plan([number], ["cwcf", "dime"], 1)
    assert {c.method for c in planned.cells} == {"dime"}
    why = "predicts classes, and a number is predicted there"
    assert planned.left_out == (f"cwcf is not run on diabetes: it {why}",)
    with pytest.raises(AskwiseError, match=f"'cwcf' has no dataset here: it {why}"):
        plan([number], ["cwcf"], 1)


def test_names_and_arrays_will_do_and_the_files_are_written(made, tmp_path):
    again = compare(["wine"], made[1], "random-order", 1, settings=QUICK)
    assert (again.n_run, again.n_kept) == (0, 1)
    assert again.n_others >= 3
    files = again.write(tmp_path / "new")
    assert {path.name for path in files.values()} == {"results.csv", "table.md", "compare.png"}
    assert all(path.exists() for path in files.values())
    assert (again.results["n_test"] == 36).all()
    table = TableData("mine", np.ones((4, 2)), [0, 1, 0, 1])
    assert list(table.X) == ["x0", "x1"]
    with pytest.raises(AskwiseError, match="task='regression'"):
        TableData("mine", np.ones((4, 2)), [0.5, 1, 2, 3])


def test_the_longest_cells_begin_first(wine, tmp_path, monkeypatch):
    begun = []
    monkeypatch.setattr(running, "run_cell", lambda cell, *_: begun.append(cell.method) or running.failure("no"))
    compare([wine], tmp_path, ["random-order", "dime", "eddi"], 1, jobs=1)
    assert begun == ["eddi", "dime", "random-order"]
