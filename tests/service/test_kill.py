"""The server is killed under load: nothing that was acknowledged is lost."""

from __future__ import annotations

import http.client
import random
import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import pytest
from serving import started

from askwise import Session
from askwise.session.replies import session_facts

SESSIONS = "/v1/models/heart/sessions"
N_THREADS = 4
VALUES = {
    "age": lambda rng: rng.randint(20, 90),
    "sex": lambda rng: rng.choice(["female", "male"]),
    "pressure": lambda rng: rng.uniform(90, 170),
    "exercise test": lambda rng: {"rate": rng.uniform(90, 190), "pain": rng.choice(["none", "often", None])},
    "smoker": lambda rng: rng.random() < 0.5,
    "scan": lambda rng: rng.gauss(1, 2),
    "site": lambda _: 7,
}


@dataclass
class Case:
    """A session as its client knows it: what was acknowledged, and the change that may or may not have happened."""

    id: str
    first: dict
    acts: list = field(default_factory=list)
    pending: tuple | None = None

    @property
    def revision(self):
        return len(self.first) + len(self.acts)

    @property
    def n_said(self):
        """How much there is to take back: not what was known when it began."""
        undone = sum(act == ("undo",) for act in self.acts)
        return len(self.acts) - 2 * undone

    def rebuilt(self, model):
        """The same conversation, held here."""
        session = Session.from_answers(model, self.first)
        for what, *said in self.acts:
            getattr(session, what)(*said)
        return session


def change(client, case, rng, question):
    """One change, kept once it is acknowledged; the next question."""
    roll = rng.random()
    if question is None or (roll < 0.15 and case.n_said > 0):
        act = ("undo",)
    elif roll < 0.3:
        act = ("decline", question)
    else:
        act = ("tell", question, VALUES[question](rng))
    body = dict(zip(("name", "value"), act[1:], strict=False)) | {"revision": case.revision}
    case.pending = act
    reply = client.post(f"/v1/sessions/{case.id}/{act[0]}", body)
    assert reply.status == 200, reply.body
    case.acts.append(act)
    case.pending = None
    assert reply.facts["revision"] == case.revision
    return reply.facts["question"] and reply.facts["question"]["name"]


def load(client, cases, rng):
    """Begin sessions and hold them, until the server is gone."""
    try:
        while True:
            first = {"age": VALUES["age"](rng)} if rng.random() < 0.5 else {}
            begun = client.post(SESSIONS, {"answers": first})
            assert begun.status == 201, begun.body
            cases.append(case := Case(begun.facts["id"], first))
            question = begun.facts["question"]["name"]
            for _ in range(rng.randrange(12)):
                question = change(client, case, rng, question)
    except (OSError, http.client.HTTPException):
        return


def check(client, cases, model):
    """Every session is where its client left it, or one unacknowledged change further; then both are one again."""
    for case in cases:
        state = client.get(f"/v1/sessions/{case.id}").facts
        if case.pending is not None and state["revision"] == case.revision + 1:
            case.acts.append(case.pending)
        case.pending = None
        expected = session_facts(case.rebuilt(model))
        assert state["revision"] == case.revision
        assert {name: state[name] for name in expected} == expected
        heard = [e for e in client.get(f"/v1/sessions/{case.id}/record").facts["events"] if e["kind"] != "asked"]
        assert len([e for e in heard if e["body"].get("name")]) == case.revision


def kill_often(model_file, model, address, n_kills, client_of, acts_each=60):
    rng, all_cases = random.Random(0), []
    for _ in range(n_kills):
        with started(model_file, "--journal", address) as service:
            check(service.client, all_cases[-200:], model)
            parts = [[] for _ in range(N_THREADS)]
            with ThreadPoolExecutor(N_THREADS) as pool:
                loads = [pool.submit(load, service.client, part, random.Random(rng.random())) for part in parts]
                end = time.monotonic() + 60
                while sum(case.revision for part in parts for case in list(part)) < acts_each:
                    assert time.monotonic() < end
                    time.sleep(0.005)
                time.sleep(rng.uniform(0, 0.05))
                # All of them are at it until the kill.
                at_it = [not held.done() for held in loads]
                service.kill()
                for held in loads:
                    held.result(40)
                assert all(at_it)
            all_cases += [case for part in parts for case in part]
            assert sum(case.pending is not None for case in all_cases) <= N_THREADS
    check(client_of(address), all_cases, model)
    return all_cases


def test_nothing_acknowledged_is_lost_when_the_server_is_killed(model_file, heart, tmp_path, serve):
    address = f"sqlite:///{tmp_path / 'killed.db'}"
    cases = kill_often(model_file, heart, address, 2, lambda url: serve(journal=url))
    assert sum(case.revision for case in cases) >= 120


@pytest.mark.proof
@pytest.mark.parametrize("n_kills", [20])
def test_nothing_acknowledged_is_lost_when_the_server_is_killed_twenty_times(
    model_file, heart, address, serve, n_kills
):
    cases = kill_often(model_file, heart, address, n_kills, lambda url: serve(journal=url), acts_each=300)
    assert sum(case.revision for case in cases) >= 300 * n_kills


def test_a_signal_to_end_lets_requests_in_hand_be_answered_and_nothing_is_logged(model_file, tmp_path, until):
    """One waits for the database, which somebody else holds, when the signal comes; it is answered all the same."""
    path, log = tmp_path / "ended.db", tmp_path / "log.txt"
    with (
        log.open("w") as stderr,
        started(model_file, "--journal", f"sqlite:///{path}", stderr=stderr) as service,
        ThreadPoolExecutor(1) as pool,
    ):
        assert service.client.post("/v1/models/heart/next", {"answers": {"agee": 63}}).status == 422
        held = sqlite3.connect(path, isolation_level=None)
        held.execute("BEGIN IMMEDIATE")
        in_hand = pool.submit(service.client.post, SESSIONS, {})
        until(lambda: b"askwise_sessions_open 1\n" in service.client.get("/metrics").body)
        service.process.terminate()
        time.sleep(0.2)
        assert not in_hand.done()
        held.execute("ROLLBACK")
        held.close()
        assert in_hand.result(20).status == 201
        assert service.process.wait(20) in (0, -15)
    # Requests are logged only with --log-requests.
    assert log.read_text() == ""
    # The last to close takes the log of writes with it.
    assert not (tmp_path / "ended.db-wal").exists()
