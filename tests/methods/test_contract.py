"""What every registered method promises."""

import itertools
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone, is_classifier

from askwise import METHODS, AskwiseError, AverageCost, Budget, Penalty, Session, load

GROUPS = {"exercise test": ["rate", "pain"]}
COSTS = {"scan": 40, "exercise test": 15, "pressure": 2.5}


def answer(acquired):
    return acquired.prediction if acquired.proba is None else acquired.proba


@pytest.fixture(scope="module", params=METHODS)
def name(request):
    return request.param


@pytest.fixture(scope="module")
def make(name, fast):
    """The estimator, with those of the fast settings that it has."""
    method = METHODS[name]
    known = {k: v for k, v in fast.items() if k in method().get_params()}
    return lambda **changes: method(**{**known, **changes})


@pytest.fixture(scope="module")
def data(name, cases):
    """Rows with holes, a panel and a free column; the answer is a label or a number."""
    X, y = cases
    if is_classifier(METHODS[name]()):
        return X, y
    noise = np.random.default_rng(0).normal(size=len(y))
    return X, 100 + 20 * (y == "sick") + noise


@pytest.fixture(scope="module")
def model(make, data):
    return make(costs=COSTS, groups=GROUPS, free=["age"]).fit(*data)


def test_the_registry_and_the_class_agree_on_the_name(name):
    assert METHODS[name].registry_name == name


def test_an_acquisition_is_consistent_with_itself(model, data):
    X, _ = data
    costs = dict(zip(model.model_.schema.space.names, model.model_.costs(), strict=True))
    acquired = model.acquire(X, stop=Budget(30))
    for i, order in enumerate(acquired.order):
        assert len(set(order)) == len(order) == acquired.n_asked[i]
        assert acquired.spent[i] == pytest.approx(sum(costs[g] for g in order))
        assert set(acquired.known.columns[acquired.known.iloc[i]]) == set(order)
    assert acquired.known.index.equals(X.index)
    assert set(acquired.reason) <= {"budget", "nothing-left"}


def test_without_a_rule_everything_available_is_used(model, data):
    X, _ = data
    acquired = model.acquire(X)
    available = X.notna().drop(columns="age").T.groupby(lambda c: "exercise test" if c in ("rate", "pain") else c).any()
    pd.testing.assert_frame_equal(acquired.known, available.T[acquired.known.columns], check_names=False)
    assert set(acquired.reason) == {"nothing-left"}
    everything = model.predict_proba(X) if is_classifier(model) else model.predict(X)
    assert np.allclose(answer(acquired), everything, atol=1e-12)


@settings(max_examples=15, deadline=None)
@given(k=st.floats(0, 70))
def test_a_budget_is_never_exceeded(model, data, k):
    acquired = model.acquire(data[0].head(50), stop=Budget(k))
    assert (acquired.spent <= k * (1 + 1e-6)).all()


@settings(max_examples=15, deadline=None)
@given(rows=st.lists(st.integers(0, 299), min_size=1, max_size=12))
def test_a_rows_result_does_not_depend_on_the_rest_of_the_batch(model, data, rows):
    X, _ = data
    whole, part = model.acquire(X, stop=Budget(25)), model.acquire(X.iloc[rows], stop=Budget(25))
    assert part.order == [whole.order[r] for r in rows]
    assert part.reason.tolist() == [whole.reason[r] for r in rows]
    assert np.allclose(answer(part), answer(whole)[rows], atol=1e-9)


def test_what_is_not_asked_is_not_used(model, data):
    """Other values in the columns that were not asked change neither the questions nor the answer."""
    X = data[0].head(60)
    acquired = model.acquire(X, stop=Budget(5))
    other = X.copy()
    for column in ("pressure", "rate", "scan"):
        group = model.model_.schema.group_of(column)
        untold = ~acquired.known[group].to_numpy()
        other.loc[untold, column] = other.loc[untold, column] + 30
    again = model.acquire(other, stop=Budget(5))
    assert not other.equals(X)
    assert again.order == acquired.order
    assert np.allclose(answer(again), answer(acquired), atol=1e-9)


def test_the_answer_depends_on_the_set_of_answers_not_on_their_order(model):
    answers = {"pressure": 150, "sex": "male", "scan": 2.0, "age": 50}
    found = [Session.from_answers(model, dict(order)).prediction for order in itertools.permutations(answers.items())]
    assert all(prediction == found[0] for prediction in found)


def test_other_costs_change_the_questions_without_retraining(model, data):
    X = data[0].dropna().head(30)
    names = list(model.model_.schema.space.names)
    for cheap in ("scan", "pressure"):
        costs = {name: 1e-6 if name == cheap else 1e6 for name in names}
        acquired = model.acquire(X, stop=Budget(1), costs=costs)
        assert acquired.order == [[cheap]] * len(X)
        assert acquired.spent.tolist() == [1e-6] * len(X)


def test_the_same_seed_gives_the_same_model(make, model, data):
    X, y = data
    again = make(costs=COSTS, groups=GROUPS, free=["age"]).fit(X, y)
    assert np.array_equal(answer(model.acquire(X)), answer(again.acquire(X)))
    assert model.acquire(X, stop=Budget(20)).order == again.acquire(X, stop=Budget(20)).order


def test_a_saved_and_loaded_model_is_the_same(model, data, tmp_path):
    X, _ = data
    model.save(tmp_path / "m.askwise")
    again = load(tmp_path / "m.askwise")
    assert type(again) is type(model)
    for stop in (None, Budget(20), Penalty(0.01) if model.model_.policy.is_information else Budget(3)):
        ours, theirs = model.acquire(X, stop=stop), again.acquire(X, stop=stop)
        assert ours.order == theirs.order
        assert np.array_equal(answer(ours), answer(theirs))


def test_pickles_and_clones(model, data):
    X, _ = data
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict(X), model.predict(X))
    assert clone(model).get_params() == model.get_params()


def test_a_session_asks_what_the_trace_asked(model, data):
    X = data[0].dropna().head(10)
    acquired = model.acquire(X, stop=Budget(20))
    for i, (_, row) in enumerate(X.iterrows()):
        session = model.session(stop=Budget(20), known={"age": row["age"]})
        order = []
        while (question := session.ask()) is not None:
            values = {c.name: row[c.name] for c in question.columns}
            session.tell(question.name, values if len(values) > 1 else row[question.name])
            order.append(question.name)
        assert order == acquired.order[i]
        assert session.reason == acquired.reason[i]
        assert session.spent == pytest.approx(acquired.spent[i])


def test_average_cost_is_about_kept_on_new_rows(model, new_cases):
    """What is left of it may not buy anything, where prices differ."""
    acquired = model.acquire(new_cases[0], stop=AverageCost(12))
    assert 3 < acquired.spent.mean() < 18
    assert acquired.expected_cost.low < 12 * 1.03
    assert set(acquired.reason) <= {"average-cost", "nothing-left"}


def test_scores_that_are_no_information_meet_no_penalty(model, data):
    if model.model_.policy.is_information:
        pytest.skip("its scores are information")
    with pytest.raises(AskwiseError, match=r"a penalty needs scores that are information.*use a budget"):
        model.acquire(data[0], stop=Penalty(0.1))
    with pytest.raises(AskwiseError, match=r"does not estimate information, its scores are only an order"):
        model.information(data[0])


def test_a_curve_covers_nothing_to_everything(model, data):
    table = model.curve(*data)
    budgets = table[table["rule"] == "budget"]
    assert budgets["mean_cost"].min() == 0
    assert budgets["mean_cost"].max() == pytest.approx(model.acquire(data[0]).spent.mean())


def test_one_column_and_few_rows_are_enough(make, data):
    X, y = data
    model = make().fit(X[["scan"]].dropna().head(8), y[X["scan"].notna()][:8])
    assert model.acquire(X[["scan"]].dropna().head(3)).order == [["scan"]] * 3
