"""Sessions under prices that several questions share: as in a batch, in torch and in numpy."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch

from askwise import AverageCost, Budget, DimeClassifier, NumpyModel, Penalty, Session, load
from askwise.core.prices import Prices
from askwise.data.tables.column import is_missing
from askwise.model import file

COSTS = {"scan": 0.1, "pressure": 0.2, "draw": {"price": 0.7, "for": ["scan", "pressure", "sex"]}}


@pytest.fixture(scope="module")
def ahead(cases, fast):
    """A model that looks ahead."""
    return DimeClassifier(costs={**COSTS, "visit": {"price": 2, "for": ["scan", "rate"]}}, lookahead=0.5, **fast).fit(
        *cases
    )


@pytest.fixture(scope="module")
def models(blood, ahead, tmp_path_factory):
    """Each model as it was fitted, and from its file in torch and in numpy."""
    found = {}
    for name, model in {"blood": blood, "ahead": ahead}.items():
        path = tmp_path_factory.mktemp(name) / f"{name}.askwise"
        model.save(path)
        found[name] = (model, load(path), NumpyModel.load(path))
    return found


def hold(session, row):
    """Answer from a row until the session stops; what is missing there is declined."""
    order = []
    while (question := session.ask()) is not None:
        values = {c.name: row[c.name] for c in question.columns}
        if all(map(is_missing, values.values())):
            session.decline(question.name)
        else:
            session.tell(question.name, values if len(values) > 1 else row[question.columns[0].name])
            order.append(question.name)
    return order


@pytest.mark.parametrize("name", ["blood", "ahead"])
@pytest.mark.parametrize(
    ("stop", "costs"),
    [(None, None), (Budget(8), None), (Penalty(0.02), None), (AverageCost(4), None), (Budget(1.0), COSTS)],
)
def test_batch_session_numpy_and_file_agree_row_by_row(models, new_cases, name, stop, costs):
    model, loaded, in_numpy = models[name]
    X = new_cases[0].head(25)
    acquired = model.acquire(X, stop=stop, costs=costs)
    again = loaded.acquire(X, stop=stop, costs=costs)
    assert again.order == acquired.order
    assert again.spent.tolist() == acquired.spent.tolist()
    for i, (_, row) in enumerate(X.iterrows()):
        known = {} if name == "ahead" or is_missing(row["age"]) else {"age": row["age"]}
        for asked in (model.model_, in_numpy):
            session = Session(asked, stop, costs, known)
            assert hold(session, row) == acquired.order[i]
            assert session.spent == pytest.approx(acquired.spent[i], rel=1e-12)
            assert list(session.prediction.proba.values()) == pytest.approx(acquired.proba[i].tolist(), abs=1e-6)


def test_what_is_spent_is_the_price_of_what_is_known_together(blood, new_cases):
    acquired = blood.acquire(new_cases[0], stop=Budget(8))
    prices = Prices.tensor(blood.model_.costs())
    together = prices.total(torch.tensor(acquired.known.to_numpy()))
    assert acquired.spent == pytest.approx(together.numpy(), rel=1e-12)


def test_spent_is_the_same_to_the_last_bit_in_whichever_order_it_was_told(blood):
    answers = {"scan": 1.0, "pressure": 120.0, "sex": "male"}
    spent = {
        Session.from_answers(blood, dict(order), costs=COSTS).spent for order in itertools.permutations(answers.items())
    }
    assert spent == {math.fsum([0.1, 0.2, 1.0, 0.7])}


def test_a_question_that_is_declined_or_can_not_be_had_pays_for_nothing(blood):
    session = blood.session()
    session.decline("pressure")
    session.tell("sex", None)
    assert session.spent == 0
    assert {c.name: (c.cost, c.own_cost) for c in session.ranking}["scan"] == (6.0, 4.0)


def test_prices_fall_after_the_first_and_rise_when_it_is_undone(blood):
    session = blood.session()
    costs = []
    for change in (lambda: None, lambda: session.tell("pressure", 120), session.undo):
        change()
        costs.append({c.name: c.cost for c in session.ranking}["scan"])
    assert costs == [6.0, 4.0, 6.0]
    assert session.spent == 0


def test_free_columns_pay_for_nothing(blood):
    assert blood.session(known={"age": 50}).spent == 0


def test_the_frontier_and_the_curve_end_where_everything_is_known_and_paid_once(blood, cases):
    whole = blood.acquire(cases[0], stop=None)
    assert blood.curve(*cases)["mean_cost"].max() == pytest.approx(whole.spent.mean())
    assert blood.frontier_["mean_cost"].max() <= sum([1, 1, 1, 4, 2, 2, 1])


def test_an_average_cost_needs_the_shared_prices_of_training(blood):
    with pytest.raises(ValueError, match="'pressure' costs 2 here and 3 in training"):
        blood.session(stop=AverageCost(4), costs={"draw": 1})


def test_only_files_with_shared_prices_have_the_later_format(blood, clinic, tmp_path):
    for name, model in {"blood": blood, "clinic": clinic}.items():
        model.save(tmp_path / name)
    headers = {name: file.read(tmp_path / name).header for name in ("blood", "clinic")}
    assert (headers["blood"]["format"], headers["clinic"]["format"]) == (3, 2)
    assert headers["blood"]["schema"]["space"]["shared"] == {"draw": {"price": 2.0, "for": [1, 4]}}
    assert "shared" not in str(headers["clinic"])


def test_a_model_gets_shared_prices_after_training(clinic, new_cases):
    shared = {"visit": {"price": 10, "for": ["scan", "pressure", "smoker"]}}
    before, after = (clinic.acquire(new_cases[0], stop=None, costs=costs).spent for costs in (None, shared))
    assert set(np.round(after - before, 9)) <= {0.0, 10.0}
