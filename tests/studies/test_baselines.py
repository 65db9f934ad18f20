"""Baselines of scikit-learn: their order, what a budget buys of it, and the models that are fitted to that."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from askwise.core.costs import SharedCost, join_costs
from askwise.core.errors import AskwiseError
from askwise.core.prices import Prices
from askwise.data.tables.schema import Schema
from askwise.data.tables.split import hold_out
from askwise.evaluation import metrics
from askwise.studies.compare import ImageData
from askwise.studies.compare.baselines.boosting import Boosting
from askwise.studies.compare.baselines.candidate import BaselineCandidate
from askwise.studies.compare.baselines.columns import Cases
from askwise.studies.compare.baselines.fixed_order import buy, order_of
from askwise.studies.compare.baselines.linear import Linear
from askwise.studies.compare.baselines.registry import BASELINES
from askwise.studies.compare.data import Split, TableData
from askwise.studies.compare.markdown import markdown
from askwise.studies.compare.plan import methods_for, plan
from askwise.studies.compare.run import compare

BOTH = pytest.mark.parametrize("kind", [Boosting, Linear])


def clinic(n=240, seed=0):
    """Whom `strong` tells much of and `weak` a little; a panel, a category and a free column beside noise."""
    draw = np.random.default_rng(seed)
    y = draw.integers(0, 2, n)
    words = np.where(draw.random(n) < 0.85, np.where(y, "red", "blue"), "green")
    X = pd.DataFrame(
        {
            "noise": draw.normal(size=n),
            "weak": 0.5 * y + draw.normal(size=n),
            "strong": 2 * y + draw.normal(size=n),
            "half": y + draw.normal(size=n),
            "rest": y + draw.normal(size=n),
            "word": words,
            "age": 0.7 * y + draw.normal(size=n),
        }
    )
    return X, y


def fitted(kind, X, y, budgets=(1.0,), task="classification", by=None, **questions):
    candidate = BaselineCandidate(kind, task, 0, questions, tuple(budgets))
    return candidate.fit(Split(X, y, X, y, by), lambda _: None)


def asked(found, X, y, k=1.0):
    records, _ = found.ask(X, metrics.coded(found.task, y), [k])
    return records[0]


def names(found):
    return [found.schema.space.names[g] for g in found.order]


def test_the_order_is_by_importance_per_price_and_ties_go_to_the_cheaper():
    assert order_of(np.array([1.0, 3.0, 2.0]), Prices.array((1.0,) * 3)).tolist() == [1, 2, 0]
    assert order_of(np.array([1.0, 3.0, 2.0]), Prices.array((1.0, 4.0, 1.0))).tolist() == [2, 0, 1]
    assert order_of(np.array([-1.0, 0.0, -5.0]), Prices.array((2.0, 3.0, 1.0))).tolist() == [2, 0, 1]


SHARING = join_costs((1.0, 1.0, 2.0), [SharedCost("draw", 3.0, (0, 1))])


def test_the_order_has_what_shares_a_price_one_after_the_other():
    assert order_of(np.array([3.5, 2.5, 2.0]), Prices.array((4.0, 4.0, 2.0))).tolist() == [2, 0, 1]
    assert order_of(np.array([3.5, 2.5, 1.5]), Prices.array(SHARING)).tolist() == [0, 1, 2]


def test_a_fixed_order_pays_a_shared_price_once_in_each_row():
    available = np.array([[True, True, True], [False, True, True], [False, False, True]])
    known, spent = buy(np.array([0, 1, 2]), available, Prices.array(SHARING), 5.0)
    assert known.tolist() == [[True, True, False], [False, True, False], [False, False, True]]
    assert spent.tolist() == [5.0, 4.0, 2.0]


def test_a_budget_leaves_out_what_does_not_fit_and_what_can_not_be_had():
    prices = Prices.array((0.1, 5.0, 0.2))
    known, spent = buy(np.array([1, 0, 2]), np.array([[True] * 3, [False, True, True]]), prices, 0.1 + 0.2)
    assert known.tolist() == [[True, False, True], [False, False, True]]
    assert spent.tolist() == pytest.approx([0.3, 0.2])


@BOTH
def test_what_tells_most_comes_first_and_noise_last(kind):
    X, y = clinic()
    order = names(fitted(kind, X, y, groups={"panel": ["half", "rest"]}, free=["age"]))
    assert set(order[:2]) <= {"word", "strong", "panel"}
    assert order[-1] in ("noise", "weak")
    assert len(order) == 5


@BOTH
def test_dear_questions_come_later(kind):
    X, y = clinic()
    assert names(fitted(kind, X[["strong", "weak"]], y))[0] == "strong"
    assert names(fitted(kind, X[["strong", "weak"]], y, costs={"strong": 1000}))[0] == "weak"


def test_the_values_of_a_panel_are_shuffled_together():
    draw = np.random.default_rng(0)
    first = draw.normal(size=400)
    # Only the difference tells, so a row of another case is as good as none, and halves are never mixed.
    X = pd.DataFrame({"a": first, "b": first + draw.normal(size=400) * 0.1, "c": draw.normal(size=400)})
    y = (X["b"] > X["a"]).astype(int).to_numpy()
    cases = Cases.of(Schema.of(X, groups={"ab": ["a", "b"]}), X)
    ab, c = Boosting("classification", 0).importance(cases, y)
    assert ab > 0.1 > abs(c)


@BOTH
def test_a_model_sees_only_what_its_budget_buys_and_the_free_columns(kind):
    X, y = clinic()
    found = fitted(kind, X, y, free=["age"])
    first = names(found)[0]
    for column in X.columns.drop([first, "age"]):
        other = X.assign(**{column: X[column].sample(frac=1, random_state=0).to_numpy()})
        assert asked(found, other, y) == asked(found, X, y)
    changed = asked(found, X.assign(age=-X["age"]), y)
    assert changed["auroc"] < asked(found, X, y)["auroc"]


@BOTH
def test_a_budget_that_buys_nothing_predicts_the_base_rate_or_from_free_columns(kind):
    X, y = clinic()
    share = y.mean()
    nothing = asked(fitted(kind, X, y, [0.5]), X, y, 0.5)
    assert (nothing["mean_cost"], nothing["mean_groups"]) == (0, 0)
    assert nothing["log_loss"] == pytest.approx(-share * np.log(share) - (1 - share) * np.log(1 - share))
    assert asked(fitted(kind, X, y, [0.5], free=["age"]), X, y, 0.5)["auroc"] > 0.6
    mean = asked(fitted(kind, X, y.astype(float), [0.5], "regression"), X, y.astype(float), 0.5)
    assert mean["r2"] == pytest.approx(0, abs=1e-9)


@BOTH
def test_the_next_question_stands_in_for_what_is_missing_and_only_what_is_had_is_paid(kind):
    X, y = clinic()
    first = names(fitted(kind, X, y))[0]
    gaps = np.arange(len(X)) % 2 == 0
    missing = X.assign(**{first: X[first].mask(gaps)})
    found = fitted(kind, missing, y, [1.0, 2.0])
    record = asked(found, missing, y, 2.0)
    assert (record["mean_cost"], record["mean_groups"]) == (2, 2)
    empty = X.head(4).astype(object).mask(np.ones((4, 7), dtype=bool))
    assert asked(found, empty, y[:4])["mean_cost"] == 0


@pytest.mark.filterwarnings("ignore:column 'town' has 300", "error::FutureWarning")
@BOTH
def test_categories_never_seen_and_columns_of_many_texts_do_no_harm(kind):
    draw = np.random.default_rng(0)
    town = draw.integers(0, 300, 3000)
    y = (town % 2 + (draw.random(3000) < 0.05)) % 2
    X = pd.DataFrame({"town": [f"town {t}" for t in town], "noise": draw.normal(size=3000)})
    found = fitted(kind, X, y)
    assert names(found)[0] == "town"
    # One-hot inputs of the most frequent hundred tell of a third of the rows only.
    assert asked(found, X, y)["auroc"] > (0.9 if kind is Boosting else 0.6)
    unseen = asked(found, X.assign(town="elsewhere"), y)
    assert unseen["auroc"] == pytest.approx(0.5)


@BOTH
@pytest.mark.parametrize("labels", [("no", "yes"), (False, True), (3, 7)])
def test_labels_may_be_anything(kind, labels):
    X, y = clinic()
    named = np.array(labels)[y]
    found = fitted(kind, X, named)
    assert asked(found, X, named)["accuracy"] > 0.7
    assert found.task.labels == labels


@BOTH
def test_a_number_is_predicted_too(kind):
    X, _ = clinic()
    number = 3 * X["strong"].to_numpy() + X["weak"].to_numpy()
    found = fitted(kind, X, number, [1.0, 2.0], "regression")
    assert set(names(found)[:2]) == {"strong", "weak"}
    assert 0.8 < asked(found, X, number, 1.0)["r2"] < asked(found, X, number, 2.0)["r2"]


@BOTH
def test_rows_of_one_person_are_held_out_together(kind, monkeypatch):
    sides = []

    def watched(y, fraction, seed, stratify, by=None):
        found = hold_out(y, fraction, seed, stratify, by)
        sides.append([set(by[rows]) for rows in found])
        return found

    monkeypatch.setattr("askwise.studies.compare.baselines.baseline.hold_out", watched)
    X, y = clinic()
    fitted(kind, X, y, by=np.arange(len(y)) // 4)
    assert sides
    assert not any(fit & held for fit, held in sides)


@BOTH
def test_the_same_seed_gives_the_same_figures(kind):
    X, y = clinic()
    assert asked(fitted(kind, X, y), X, y) == asked(fitted(kind, X, y), X, y)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Both baselines beside a method, on a table with prices."""
    folder = tmp_path_factory.mktemp("baselines")
    X, y = clinic()
    data = TableData("clinic", X, y, costs={"strong": 4}, free=["age"])
    methods = ["random-order", *BASELINES]
    return compare([data], folder, methods, 2, jobs=1, settings={"epochs": 1, "hidden": 8}), folder, data


def test_they_are_cells_like_others_with_a_line_for_each_budget(made):
    results, _, data = made
    table = results.results
    mine = table[table["method"].isin(BASELINES)]
    assert results.failed == []
    assert set(mine["rule"]) == {"budget"}
    assert set(mine["protocol"]) == {"per-budget"}
    assert (mine.groupby(["method", "seed"]).size() == table["budget"].nunique()).all()
    assert (mine["mean_cost"] <= mine["budget"] + 1e-9).all()
    # They hold nothing back to validate on.
    assert (mine["rows_trained"] == data.n_rows).all()
    assert (mine[["train_seconds", "microseconds_per_row"]] > 0).all(axis=None)


def test_they_are_kept_and_run_again_only_if_they_changed(made, monkeypatch):
    _, folder, data = made
    again = compare([data], folder, list(BASELINES), 2, jobs=1, settings={"epochs": 3})
    assert (again.n_run, again.n_kept) == (0, 4)
    before = {c.method: c.fingerprint for c in plan([data], list(BASELINES), 1).cells}
    monkeypatch.setattr(Boosting, "revision", Boosting.revision + 1)
    after = {c.method: c.fingerprint for c in plan([data], list(BASELINES), 1).cells}
    assert [name for name in before if before[name] != after[name]] == ["boosting-best-k"]


def test_the_document_says_what_they_are_and_counts_their_rows_apart(made):
    results, _, data = made
    text = markdown(results.results)
    assert "boosting-best-k, linear-lasso: scikit-learn's models; one order for everybody" in text
    trained = int(results.results.loc[results.results["method"] == "random-order", "rows_trained"].max())
    assert trained < data.n_rows
    assert f"{trained} rows trained on" in text


def test_tables_have_them_by_default_and_images_do_not():
    X, y = clinic()
    table = TableData("clinic", X, y)
    number = replace(table, y=y.astype(float), task="regression", metric="")
    images = ImageData("photos", np.zeros((20, 4, 4, 3), dtype=np.uint8), np.arange(20) % 2, settings={"patch": 2})
    assert set(BASELINES) <= set(methods_for(table)) & set(methods_for(number))
    assert not set(BASELINES) & set(methods_for(images))
    with pytest.raises(AskwiseError, match="'linear-lasso' has no dataset here: it learns from tables"):
        plan([images], ["linear-lasso"], 1)
