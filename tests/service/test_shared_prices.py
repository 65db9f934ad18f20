"""Prices that questions share, in the API."""

from __future__ import annotations

import pytest
from serving import running

from askwise import Session
from askwise.service.app import create_app
from askwise.service.catalogue import Catalogue
from askwise.service.storage import Journal
from askwise.session.replies import session_facts

DRAW = {"price": 2.0, "for": ["scan", "pressure"]}
NEXT = "/v1/models/blood/next"


@pytest.fixture(scope="module")
def site(tmp_path_factory, blood):
    path = tmp_path_factory.mktemp("shared") / "blood.askwise"
    blood.save(path)
    journal = Journal(f"sqlite:///{path.with_name('journal.db')}")
    with running(create_app(Catalogue.read([path]), journal)) as client:
        yield client


def prices_of(reply, part="cost"):
    return {candidate["name"]: candidate[part] for candidate in reply["ranking"]}


def test_prices_in_replies_fall_once_the_first_question_is_answered(site):
    before, after = (site.post(NEXT, {"answers": answers}).facts for answers in ({}, {"pressure": 130}))
    assert (prices_of(before)["scan"], prices_of(after)["scan"]) == (6.0, 4.0)
    assert prices_of(before, "own_cost")["scan"] == prices_of(after, "own_cost")["scan"] == 4.0
    assert (before["spent"], after["spent"]) == (0.0, 3.0)


def test_a_model_tells_what_its_questions_share(site):
    facts = site.get("/v1/models/blood").facts
    assert facts["shared_prices"] == [{"name": "draw", "price": 2.0, "for": ["pressure", "scan"]}]
    scan = next(question for question in facts["questions"] if question["name"] == "scan")
    assert (scan["cost"], scan["own_cost"]) == (6.0, 4.0)


def test_shared_prices_of_a_request_are_those_of_a_session(site, blood):
    costs = {"smoker": 0.5, "draw": 7, "visit": {"price": 3, "for": ["smoker", "sex", "scan"]}}
    reply = site.post(NEXT, {"answers": {"smoker": True}, "costs": costs, "stop": "budget=20"}).facts
    session = Session.from_answers(blood.model_, {"smoker": True}, costs=costs, stop=None)
    assert {k: reply[k] for k in ("spent", "ranking")} == {k: session_facts(session)[k] for k in ("spent", "ranking")}
    assert prices_of(reply)["scan"] == 11.0


def test_a_kept_session_remembers_its_shared_prices(site):
    state = site.post("/v1/models/blood/sessions", {"costs": {"draw": {**DRAW, "price": 5}}}).facts
    told = site.post(f"/v1/sessions/{state['id']}/tell", {"name": "scan", "value": 1.0}).facts
    assert state["costs"] == {"draw": {**DRAW, "price": 5}}
    assert told["spent"] == 9.0
    undone = site.post(f"/v1/sessions/{state['id']}/undo").facts
    assert (undone["spent"], prices_of(undone)["scan"]) == (0.0, 9.0)


@pytest.mark.parametrize(
    ("shared", "where", "message"),
    [
        ({"price": 1}, "body.costs.draw.for", "needed"),
        ({"price": -1, "for": ["scan"]}, "body.costs.draw.price", "at least 0"),
        ({"price": "2", "for": ["scan"]}, "body.costs.draw.price", "number"),
        ({"price": 1, "for": []}, "body.costs.draw.for", "at least 1 item"),
        ({"price": 1, "for": ["scan"], "of": 1}, "body.costs.draw.of", "can't be there"),
        ({"price": 1, "for": ["scam"]}, "costs", "did you mean 'scan'?"),
    ],
)
def test_a_request_with_an_impossible_shared_price_says_where_and_why(site, shared, where, message):
    reply = site.post(NEXT, {"costs": {"draw": shared}})
    assert reply.status == 422
    assert reply.where == where
    assert message in reply.message
