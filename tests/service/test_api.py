"""The routes: what goes in, what comes out, what is refused."""

from __future__ import annotations

import csv
import io
import itertools
import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from serving import Client, running

from askwise import DimeClassifier, Session
from askwise.core.stopping import parse_rule
from askwise.service.app import create_app
from askwise.service.catalogue import Catalogue
from askwise.session.replies import session_facts

NEXT, BATCH, SESSIONS = "/v1/models/heart/next", "/v1/models/heart/batch", "/v1/models/heart/sessions"
KNOWN = {"age": 63, "pressure": 150, "exercise test": {"rate": 140, "pain": None}, "smoker": "yes"}
# One of the samples of a metric, as Prometheus reads them.
SAMPLE = re.compile(r'[a-z_]+(\{[a-z]+="[^"\\\n]*"(,[a-z]+="[^"\\\n]*")*\})? [0-9.e+-]+')


def begin(client, **case):
    """A new session: its state, and a function that does something in it."""
    begun = client.post(SESSIONS, case)
    assert begun.status == 201, begun.body
    path = f"/v1/sessions/{begun.facts['id']}"
    assert begun.headers["location"] == path

    def act(what, **body):
        return client.post(f"{path}/{what}", body)

    return begun.facts, act


# Models


def test_models_are_listed_and_described(client, heart):
    (entry,) = client.get("/v1/models").facts["models"]
    assert entry["name"] == "heart"
    assert entry["n_questions"] == 6
    facts = client.get("/v1/models/heart").facts
    assert entry["fingerprint"] == facts["fingerprint"] == heart.fingerprint
    questions = {q["name"]: q for q in facts["questions"]}
    assert {name: q["cost"] for name, q in questions.items()} == dict(
        zip(heart.schema.space.names, heart.schema.space.costs, strict=True)
    )
    assert [i["name"] for i in questions["exercise test"]["inputs"]] == ["rate", "pain"]
    assert questions["sex"]["inputs"][0]["choices"] == ["female", "male"]
    assert questions["smoker"]["inputs"][0]["kind"] == "boolean"
    assert [i["name"] for i in facts["free"]] == ["age"]
    assert facts["frontier"]
    assert facts["card"]


@pytest.mark.parametrize("name", ["kidney", "Heart", "heart.askwise", "%2e%2e%2fheart", "%00"])
def test_an_unknown_model_is_404_with_those_served(client, name):
    for refused in (
        client.get(f"/v1/models/{name}"),
        client.post(f"/v1/models/{name}/next", {}),
        client.post(f"/v1/models/{name}/batch", {"rows": []}),
        client.post(f"/v1/models/{name}/sessions", {}),
    ):
        assert refused.status == 404
    if "%2f" not in name:
        assert refused.message.startswith("there is no model ")
        assert refused.message.endswith("; served here: 'heart'")


def test_the_document_describes_every_route_with_examples(client):
    document = client.get("/v1/openapi.json").facts
    assert set(document["paths"]) == {
        "/v1/models", "/v1/models/{name}", "/v1/models/{name}/next", "/v1/models/{name}/batch",
        "/v1/models/{name}/examples",
        "/v1/models/{name}/sketch",
        "/v1/models/{name}/sessions", "/v1/sessions/{session}", "/v1/sessions/{session}/tell",
        "/v1/sessions/{session}/decline", "/v1/sessions/{session}/undo", "/v1/sessions/{session}/stop",
        "/v1/sessions/{session}/record", "/v1/sessions/{session}/record.csv", "/healthz", "/metrics",
    }  # fmt: skip
    assert document["components"]["schemas"]["Case"]["properties"]["answers"]["examples"]


# next and batch


RULES = [None, "budget=20", "penalty=0.01", "confidence=0.3", "average-cost=15"]


@pytest.mark.parametrize(
    ("stop", "costs"), [*((rule, None) for rule in RULES), *((r, {"scan": 1.5}) for r in RULES[:4])]
)
def test_next_says_what_a_session_knows(client, heart, stop, costs):
    reply = client.post(NEXT, {"answers": KNOWN, "declined": ["site"], "stop": stop, "costs": costs})
    rule = heart.rule(stop and parse_rule(stop), heart.costs(costs))
    expected = session_facts(Session.from_answers(heart, KNOWN, ["site"], rule, costs))
    assert reply.status == 200
    assert {name: reply.facts[name] for name in expected} == expected
    assert set(reply.facts) - set(expected) == {"penalty", "notes"}
    if stop == "penalty=0.01":
        assert reply.facts["penalty"] == 0.01


def test_the_same_answers_in_any_order_give_the_same_reply_to_the_last_byte(client):
    replies = {
        client.post(
            NEXT, {"answers": dict(order), "declined": declined, "stop": "budget=60", "costs": {"sex": 0.3}}
        ).body
        for order in itertools.permutations(KNOWN.items())
        for declined in (["site", "sex"], ["sex", "site"])
    }
    assert len(replies) == 1


def test_a_batch_gives_what_next_gives_row_by_row(client):
    rows = [
        {},
        {"answers": KNOWN},
        {"answers": {"rate": 120, "age": None}, "declined": ["scan", "sex"]},
        {"declined": ["sex", "pressure", "exercise test", "smoker", "scan", "site"]},
    ]
    terms = {"stop": "budget=45|confidence=0.2", "costs": {"smoker": 4.5}}
    many = client.post(BATCH, {"rows": rows, **terms})
    assert many.facts["rows"] == [client.post(NEXT, {**row, **terms}).facts for row in rows]
    assert client.post(BATCH, {"rows": []}).facts == {"rows": []}


def test_a_wrong_row_of_a_batch_is_named(client):
    refused = client.post(BATCH, {"rows": [{}, {"answers": {"pressure": "high"}}]})
    assert refused.status == 422
    assert refused.message == "row 1: 'pressure' takes a number, was given 'high'"


@pytest.mark.parametrize(
    ("case", "message"),
    [
        ({"answers": {"presure": 3}}, "unknown question 'presure'; did you mean 'pressure'?"),
        ({"answers": {"exercise test": {"raet": 3}}}, "unknown column of 'exercise test': 'raet'; did you mean 'rate'"),
        ({"declined": ["scn"]}, "unknown question 'scn'; did you mean 'scan'?"),
        ({"costs": {"scn": 3}}, "'scn'; did you mean 'scan'?"),
        ({"answers": {"pressure": "high"}}, "'pressure' takes a number, was given 'high'"),
        ({"answers": {"pressure": True}}, "'pressure' takes a number, was given True"),
        ({"answers": {"pressure": 10**400}}, "'pressure' takes a finite number"),
        ({"answers": {"pressure": "1e999"}}, "'pressure' takes a finite number"),
        ({"answers": {"sex": "other"}}, "'sex' takes one of 'female', 'male'; was given 'other'"),
        ({"answers": {"smoker": 2}}, "'smoker' takes yes or no, was given 2"),
        ({"answers": {"exercise test": 3}}, "'exercise test' has 2 columns; tell it a mapping"),
        ({"answers": {"rate": 3, "exercise test": {"rate": 3}}}, "'rate' is given twice, as 'exercise test' and as"),
        ({"answers": {"pressure": "6,5"}}, "was given '6,5'; write it with a point and no commas"),
        ({"declined": [f"q{i}" for i in range(9000)]}, "unknown question 'q0'"),
        ({"answers": {"scan": 3}, "declined": ["scan"]}, "'scan' is not open: it is known already"),
        ({"declined": ["age"]}, "'age' is free: it is never asked, so it can't be declined"),
        ({"stop": "bugdet=5"}, "unknown stopping rule 'bugdet'; did you mean 'budget'?"),
        ({"stop": "budget=many"}, "stopping rule 'budget=many' needs a number"),
        ({"stop": "budget=-1"}, "takes a number of at least 0"),
        ({"stop": "average-cost=15", "costs": {"scan": 2}}, "an average cost can be kept only under prices"),
    ],
)
def test_what_can_not_be_meant_is_422_and_says_what_can(client, case, message):
    refused = client.post(NEXT, case)
    assert refused.status == 422
    assert message in refused.message


@pytest.mark.parametrize(
    ("case", "where"),
    [
        ({"answer": {}}, "body.answer"),
        ({"answers": []}, "body.answers"),
        ({"answers": None}, "body.answers"),
        ({"declined": "scan"}, "body.declined"),
        ({"declined": [3]}, "body.declined.0"),
        ({"stop": 5}, "body.stop"),
        ({"stop": "budget=5|" * 200}, "body.stop"),
        ({"costs": {"scan": 0}}, "body.costs.scan"),
        ({"costs": {"scan": -1}}, "body.costs.scan"),
        ({"costs": {"scan": "3"}}, "body.costs.scan"),
        ({"costs": {"scan": True}}, "body.costs.scan"),
        ({"costs": {"scan": 1e308}}, "body.costs.scan"),
        ({"costs": {"scan": 5e-324}}, "body.costs.scan"),
        ({"costs": {"scan": None}}, "body.costs.scan"),
    ],
)
def test_a_body_of_another_shape_is_422_and_says_where(client, case, where):
    refused = client.post(NEXT, case)
    assert refused.status == 422
    assert refused.where == where
    assert refused.message.startswith(f"{where} ")


def test_a_misspelt_key_is_told_which_one_was_meant(client):
    assert "did you mean 'answers'?" in client.post(NEXT, {"answer": {}}).message


@pytest.mark.parametrize(
    ("path", "body", "where"),
    [
        (NEXT, {"answers": {"age": 1, "presure": 2}}, "presure"),
        (NEXT, {"answers": {"pressure": "high"}}, "pressure"),
        (NEXT, {"stop": "bugdet=5"}, "stop"),
        (NEXT, {"costs": {"scam": 5}}, "costs"),
        (BATCH, {"rows": [{}, {"answers": {"pressure": "high"}}]}, "rows.1"),
    ],
)
def test_a_refusal_names_the_part_it_is_about(client, path, body, where):
    assert client.post(path, body).where == where


def test_a_value_outside_what_was_seen_is_taken_with_a_remark(client):
    remarks = client.post(NEXT, {"answers": {"pressure": -1e5, "age": 50}}).facts["remarks"]
    assert list(remarks) == ["pressure"]
    assert remarks["pressure"].startswith("'pressure' is -100000, outside what was seen in training, ")


def test_the_dearest_prices_and_the_cheapest_still_give_numbers(client):
    costs = dict.fromkeys(["sex", "pressure", "smoker"], 1e12) | dict.fromkeys(["scan", "site"], 1e-9)
    reply = client.post(NEXT, {"answers": {"sex": "male", "pressure": 150}, "costs": costs})
    assert reply.facts["spent"] == 2e12
    assert all(isinstance(c["value_per_cost"], float) for c in reply.facts["ranking"])


def test_wrong_paths_and_methods_are_refused_as_json(client):
    assert client.get("/v1/nothing").status == 404
    assert client.get(NEXT).status == 405
    assert client.send("DELETE", "/v1/models").status == 405
    assert client.get("/docs").status == client.get("/redoc").status == 404
    assert client.get("/v1/nothing").message == "Not Found"


# Sessions


def test_a_session_is_told_declines_undoes_and_stops(client, heart):
    state, act = begin(client, answers={"age": 63}, stop="budget=50")
    session = Session.from_answers(heart, {"age": 63}, stop=parse_rule("budget=50"))
    assert state["revision"] == 1
    steps = [
        ("tell", {"name": "pressure", "value": 150}, lambda: session.tell("pressure", 150)),
        ("decline", {"name": "scan"}, lambda: session.decline("scan")),
        ("tell", {"name": "pain", "value": "often"}, lambda: session.tell("pain", "often")),
        ("undo", {}, session.undo),
        (
            "tell",
            {"name": "exercise test", "value": {"rate": 140}},
            lambda: session.tell("exercise test", {"rate": 140}),
        ),
    ]
    for n, (what, body, same) in enumerate(steps, 2):
        reply = act(what, **body)
        same()
        assert reply.status == 200
        assert reply.facts["revision"] == n
        assert {k: reply.facts[k] for k in session_facts(session)} == session_facts(session)
    assert reply.facts["asked"] == ["pressure", "exercise test"]
    assert reply.facts["stop"] == "budget=50"
    ended = act("stop").facts
    assert (ended["closed"], ended["stopped"], ended["question"]) == (True, True, None)
    assert ended["reason"] == "stopped-by-user"
    assert client.get(f"/v1/sessions/{state['id']}").facts == ended
    refused = act("tell", name="sex", value="male")
    assert refused.status == 409
    assert "the session was stopped" in refused.message


def test_what_was_known_when_a_session_began_is_not_undone(client):
    _, act = begin(client, answers={"age": 63, "sex": "female"})
    assert act("undo").status == 409
    assert act("tell", name="pressure", value=150).status == 200
    assert act("undo").facts["answers"] == {"age": 63.0, "sex": "female"}
    refused = act("undo")
    assert refused.message == "there is nothing to undo: all that is known was given when the session began"


def test_requests_that_are_refused_do_not_get_in_the_way_of_a_good_one(client):
    """All at once on one session: the same answer from many, and one that is another's."""
    _, act = begin(client)
    bodies = (
        [{"name": "pressure", "value": 150}] * 20
        + [{"name": "smoker", "value": True}]
        + [{"name": "pressure", "value": 1}] * 20
    )
    with ThreadPoolExecutor(len(bodies)) as pool:
        replies = list(pool.map(lambda body: act("tell", **body), bodies))
    assert [reply.status for reply in replies].count(200) == 2
    assert replies[20].status == 200
    refused = [reply.message for reply in replies if reply.status != 200]
    assert all("'pressure' is not open: it is known already" in message for message in refused)


def test_an_answer_that_can_not_be_had_is_kept_as_declined(client):
    state, act = begin(client)
    assert act("tell", name="pressure", value=None).facts["declined"] == ["pressure"]
    kinds = [e["kind"] for e in client.get(f"/v1/sessions/{state['id']}/record").facts["events"]]
    assert kinds == ["asked", "declined", "asked"]


@pytest.mark.parametrize("order", [["pain", "rate"], ["rate", "pain"]])
def test_a_panel_named_after_one_of_its_columns_resumes_as_it_was_told(serve, cases, tmp_path, order):
    panel = DimeClassifier(groups={"rate": ["rate", "pain"]}, epochs=1, pretrain_epochs=1, hidden=4).fit(*cases)
    panel.save(tmp_path / "panel.askwise")
    catalogue = Catalogue.read([tmp_path / "panel.askwise"])
    first, second = serve(catalogue), serve(catalogue)
    path = f"/v1/sessions/{first.post('/v1/models/panel/sessions').facts['id']}"
    for name in order:
        told = first.post(f"{path}/tell", {"name": name, "value": {"rate": 140, "pain": "none"}[name]})
        assert told.status == 200, told.body
    assert second.get(path).facts == told.facts


def test_a_session_runs_until_its_rule_stops_it_and_undo_goes_on(client):
    state, act = begin(client, stop="budget=4.5")
    told = {"pressure": 150, "smoker": False, "sex": "female", "site": 7}
    while state["question"] is not None:
        name = state["question"]["name"]
        state = act("tell", name=name, value=told[name]).facts
    assert state["reason"] == "budget"
    assert state["why"] == "no open question fits into the budget"
    assert state["closed"] is False
    assert act("undo").facts["question"]["name"] == name


def test_what_a_session_refuses_leaves_it_as_it_was(client):
    state, act = begin(client)
    for what, body in [
        ("tell", {"name": "pressure", "value": "high"}),
        ("tell", {"name": "presure", "value": 3}),
        ("tell", {"name": "pressure"}),
        ("tell", {"name": "pressure", "value": 3, "more": 1}),
        ("decline", {"name": "age"}),
        ("decline", {}),
        ("undo", {}),
        ("undo", {"revision": -1}),
        ("stop", {"revision": "last"}),
    ]:
        refused = act(what, **body)
        assert refused.status == 422, (what, body)
        assert refused.message
    now = client.get(f"/v1/sessions/{state['id']}").facts
    assert now == state
    assert len(client.get(f"/v1/sessions/{state['id']}/record").facts["events"]) == 1


def test_a_change_made_for_another_revision_is_409(client):
    _, act = begin(client)
    first = act("tell", name="pressure", value=150, revision=0)
    assert first.facts["revision"] == 1
    again = act("tell", name="pressure", value=150, revision=0)
    assert again.status == 409
    assert "at revision 1, and the request was made for revision 0" in again.message
    for what, body in [("decline", {"name": "scan"}), ("undo", {}), ("stop", {})]:
        assert act(what, revision=7, **body).status == 409
    assert act("undo", revision=1).facts["revision"] == 2


def test_what_is_told_twice_is_refused(client):
    _, act = begin(client)
    assert act("tell", name="pressure", value=150).status == 200
    refused = act("tell", name="pressure", value=150)
    assert refused.status == 422
    assert "'pressure' is not open: it is known already; open: 'sex'" in refused.message
    assert act("decline", name="pressure").status == 422


@pytest.mark.parametrize("session", ["x", "A" * 22, "%00", "..%2f..", "A" * 5000, "%F0%9F%98%80"])
def test_an_unknown_session_is_404(client, session):
    for refused in (
        client.get(f"/v1/sessions/{session}"),
        client.get(f"/v1/sessions/{session}/record"),
        client.get(f"/v1/sessions/{session}/record.csv"),
        client.post(f"/v1/sessions/{session}/tell", {"name": "sex", "value": "male"}),
        client.post(f"/v1/sessions/{session}/stop"),
    ):
        assert refused.status == 404


def test_the_record_has_every_event_with_its_estimates(client, heart):
    state, act = begin(client, answers={"age": 63}, costs={"scan": 30})
    act("tell", name="pressure", value=150)
    act("decline", name="scan")
    act("undo")
    ended = act("stop").facts
    record = client.get(f"/v1/sessions/{state['id']}/record").facts
    assert (record["model"], record["fingerprint"], record["costs"]) == ("heart", heart.fingerprint, {"scan": 30})
    events = record["events"]
    assert [e["seq"] for e in events] == list(range(1, len(events) + 1))
    kinds = ["told", "asked", "told", "asked", "declined", "asked", "undone", "asked", "stopped"]
    assert [e["kind"] for e in events] == kinds
    assert all(e["fingerprint"] == heart.fingerprint and e["body"]["prediction"] for e in events)
    assert events[1]["body"]["name"] == "pressure"
    told = events[2]["body"]
    assert (told["answers"], told["as_asked"], told["spent"]) == ({"pressure": 150.0}, True, 2.5)
    assert told["value"] == events[1]["body"]["value"]
    assert events[-1]["body"]["prediction"] == ended["prediction"]


def test_the_csv_has_a_line_an_event(client):
    state, act = begin(client)
    act("tell", name="exercise test", value={"rate": 140, "pain": "often"})
    act("stop")
    reply = client.get(f"/v1/sessions/{state['id']}/record.csv")
    assert reply.headers["content-type"] == "text/csv; charset=utf-8"
    assert reply.headers["content-disposition"] == f'attachment; filename="session-{state["id"]}.csv"'
    lines = list(csv.DictReader(io.StringIO(reply.body.decode(), newline="")))
    assert [line["kind"] for line in lines] == ["asked", "told", "asked", "stopped"]
    assert lines[1]["answers"] == '{"rate": 140.0, "pain": "often"}'
    assert [line["spent"] for line in lines] == ["0.0", "15.0", "15.0", "15.0"]
    assert lines[-1]["reason"] == "stopped-by-user"


def test_a_session_goes_on_after_a_restart_at_the_right_question(serve):
    first = serve()
    state, act = begin(first, answers={"age": 63}, stop="budget=50", costs={"scan": 30})
    act("tell", name="exercise test", value={"rate": 140, "pain": None})
    act("decline", name="pressure")
    act("tell", name="sex", value="male")
    before = act("undo").facts
    second = serve()
    path = f"/v1/sessions/{state['id']}"
    assert second.get(path).facts == before
    after = second.post(f"{path}/tell", {"name": "smoker", "value": True, "revision": before["revision"]}).facts
    assert after["asked"] == ["exercise test", "smoker"]
    assert first.get(path).facts == after


def test_another_model_under_the_same_name_is_409_and_the_record_is_still_read(serve, tmp_path, cases, fast):
    state, act = begin(serve())
    act("tell", name="pressure", value=150)
    path = tmp_path / "heart.askwise"
    DimeClassifier(**fast | {"random_state": 1, "epochs": 1}).fit(*cases).save(path)
    other = serve(Catalogue.read([path]))
    for refused in (
        other.get(f"/v1/sessions/{state['id']}"),
        other.post(f"/v1/sessions/{state['id']}/tell", {"name": "sex", "value": "male"}),
    ):
        assert refused.status == 409
        assert f"fingerprint begins with {state['fingerprint'][:12]}" in refused.message
        assert "serve that file again" in refused.message
    record = other.get(f"/v1/sessions/{state['id']}/record").facts
    assert [e["kind"] for e in record["events"]] == ["asked", "told", "asked"]
    assert other.get(f"/v1/sessions/{state['id']}/record.csv").status == 200


def test_without_a_journal_sessions_are_409_with_what_to_do(serve):
    client = serve(journal=None)
    assert client.post(NEXT, {}).status == 200
    for refused in (client.post(SESSIONS, {}), client.get("/v1/sessions/x"), client.post("/v1/sessions/x/undo")):
        assert refused.status == 409
        assert "start it with --journal sqlite:///journal.db, or use POST .../next" in refused.message


# Limits


def test_more_sessions_than_allowed_are_429_until_one_stops(serve):
    client = serve(sessions=2)
    (_, act), _ = begin(client), begin(client)
    refused = client.post(SESSIONS, {})
    assert refused.status == 429
    assert "2 sessions are open, the most this server keeps (--max-sessions)" in refused.message
    act("stop")
    assert client.post(SESSIONS, {}).status == 201


def test_idle_sessions_make_room_and_can_still_go_on(serve):
    client = serve(sessions=1, idle_seconds=0.0)
    first, act = begin(client)
    second, _ = begin(client)
    told = act("tell", name="pressure", value=150)
    assert told.status == 200
    assert client.get(f"/v1/sessions/{first['id']}").facts == told.facts
    assert client.get(f"/v1/sessions/{second['id']}").facts == second


def test_more_rows_than_allowed_are_refused(serve):
    client = serve(journal=None, rows=3)
    assert client.post(BATCH, {"rows": [{}] * 3}).status == 200
    refused = client.post(BATCH, {"rows": [{}] * 4})
    assert refused.status == 422
    assert refused.message == "the batch has 4 rows; at most 3 are taken at once (--max-rows)"


def test_a_body_too_long_is_413_counted_as_it_is_received(serve):
    client = serve(journal=None, body_bytes=1000)
    body = b'{"answers": {}' + b" " * 980 + b"}"
    assert client.post(NEXT, body).status == 200
    in_chunks = [b'{"answers": {}', b" " * 900, b" " * 900, b"}"]
    for refused in (
        client.post(NEXT, body + b" " * 10),
        client.post(NEXT, in_chunks),
        client.post(NEXT, b"x" * 50_000),
    ):
        assert refused.status == 413
        assert refused.message == "the body is longer than 1,000 bytes, the most this server takes"
    assert client.post(NEXT, in_chunks[:2] + in_chunks[3:]).status == 200


# Health


def test_health_and_counts(serve):
    client = serve()
    assert client.get("/healthz").facts["status"] == "ok"
    _, act = begin(client)
    for _ in range(3):
        client.post(NEXT, {})
    client.post(NEXT, {"answers": {"presure": 1}})
    act("decline", name="scan")
    reply = client.get("/metrics")
    assert reply.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    lines = reply.body.decode().splitlines()
    assert all(SAMPLE.fullmatch(line) or line.startswith(("# HELP ", "# TYPE ")) for line in lines)
    samples = dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
    route = 'route="/v1/models/{name}/next"'
    assert samples[f'askwise_requests_total{{{route},method="POST",status="200"}}'] == "3"
    assert samples[f'askwise_requests_total{{{route},method="POST",status="422"}}'] == "1"
    assert samples[f"askwise_request_seconds_count{{{route}}}"] == "4"
    assert samples[f'askwise_request_seconds_bucket{{{route},le="+Inf"}}'] == "4"
    assert samples["askwise_sessions_open"] == "1"
    assert samples["askwise_journal_commits_total"] == "2"
    assert samples["askwise_models"] == "1"


def test_names_of_other_paths_are_not_counted_one_by_one(serve):
    client: Client = serve(journal=None)
    for i in range(20):
        client.get(f"/nothing/{i}")
        client.get(f"/v1/models/nobody{i}")
    text = client.get("/metrics").body.decode()
    assert "nobody" not in text
    assert text.count("askwise_requests_total{") == 2


def test_a_reply_says_by_which_score_the_ranking_is_and_has_both(client, far_sighted, tmp_path):
    assert client.post(NEXT, {}).facts["ranked_by"] == "information"
    assert client.post(NEXT, {}).facts["ranking"][0]["lookahead_per_cost"] is None
    far_sighted.save(tmp_path / "far.askwise")
    with running(create_app(Catalogue.read([tmp_path / "far.askwise"]))) as other:
        facts = other.post("/v1/models/far/next", {"answers": {"age": 60}}).facts
    session = far_sighted.session(known={"age": 60})
    assert facts["ranked_by"] == session.ranked_by == "lookahead"
    assert [c["name"] for c in facts["ranking"]] == [c.name for c in session.ranking]
    for shown in (facts["ranking"][0], facts["question"]):
        assert shown["name"] == session.ask().name
        assert shown["lookahead_per_cost"] == pytest.approx(session.ask().lookahead_per_cost)
        assert shown["value_per_cost"] == pytest.approx(shown["value"] / shown["cost"])
