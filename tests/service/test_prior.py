"""Another prevalence in the API."""

from __future__ import annotations

import pytest
from serving import running

from askwise import Session
from askwise.service.app import create_app
from askwise.service.catalogue import Catalogue
from askwise.service.storage import Journal

PRIOR = {"sick": 0.02}


@pytest.fixture(scope="module")
def site(tmp_path_factory, clinic):
    path = tmp_path_factory.mktemp("prior") / "clinic.askwise"
    clinic.save(path)
    journal = Journal(f"sqlite:///{path.with_name('journal.db')}")
    with running(create_app(Catalogue.read([path]), journal)) as client:
        yield client


def test_next_and_batch_move_the_prediction_and_no_question(site, clinic):
    body = {"answers": {"pressure": 150}, "prior": PRIOR}
    plain, moved = (site.post("/v1/models/clinic/next", given).facts for given in ({"answers": body["answers"]}, body))
    assert plain["question"] == moved["question"]
    assert plain["ranking"] == moved["ranking"]
    exact = Session.from_answers(clinic, body["answers"], prior=PRIOR).prediction
    assert moved["prediction"] != plain["prediction"]
    assert str(exact.proba["sick"])[:8] in str(moved["prediction"])
    batch = site.post("/v1/models/clinic/batch", {"rows": [{"answers": body["answers"]}], "prior": PRIOR}).facts
    assert batch["rows"][0]["prediction"] == moved["prediction"]


def test_a_kept_session_remembers_its_prevalence(site, clinic):
    state = site.post("/v1/models/clinic/sessions", {"prior": PRIOR}).facts
    assert state["prior"] == PRIOR
    told = site.post(f"/v1/sessions/{state['id']}/tell", {"name": "pressure", "value": 150}).facts
    again = site.get(f"/v1/sessions/{state['id']}").facts
    exact = Session.from_answers(clinic, {"pressure": 150}, prior=PRIOR).prediction
    assert str(exact.proba["sick"])[:8] in str(told["prediction"])
    assert again["prediction"] == told["prediction"]
    assert site.post("/v1/models/clinic/sessions", {}).facts["prior"] == {}


@pytest.mark.parametrize(
    ("prior", "message"), [({"sik": 0.1}, "did you mean 'sick'"), ({"sick": 2}, "above 0 and below 1")]
)
def test_a_wrong_prevalence_names_its_field(site, prior, message):
    reply = site.post("/v1/models/clinic/next", {"prior": prior})
    assert reply.status == 422
    assert message in str(reply.facts)
    assert "prior" in str(reply.facts)
