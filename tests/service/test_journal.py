"""The journal, on SQLite and on a PostgreSQL that the tests start."""

from __future__ import annotations

import concurrent.futures
import contextlib
from concurrent.futures import ThreadPoolExecutor

import pytest
import sqlalchemy as sa

from askwise.core.errors import AskwiseError
from askwise.service.errors import Conflict
from askwise.service.storage import Journal

SESSIONS = "/v1/models/heart/sessions"


def start(session):
    about = {"id": session, "created": "2020-01-01", "model": "heart", "fingerprint": "f"}
    return {**about, "terms": {"stop": None, "costs": {"scan": 2}}}


def event(session, seq, **body):
    return {"session": session, "seq": seq, "at": "2020-01-01", "kind": "told", "fingerprint": "f", "body": body}


@pytest.fixture
def journal(address):
    with contextlib.closing(Journal(address)) as made:
        yield made


@contextlib.contextmanager
def nothing_written(journal):
    """Let the writer wait, so that appends gather."""
    with journal.engine.connect() as connection:
        if journal.engine.dialect.name == "sqlite":
            connection.exec_driver_sql("BEGIN IMMEDIATE")
        else:
            connection.exec_driver_sql("LOCK TABLE askwise_sessions, askwise_events IN EXCLUSIVE MODE")
        yield
        connection.rollback()


@contextlib.contextmanager
def events_gone(journal):
    """As long as this lasts, the table of events can't be found."""
    with journal.engine.begin() as connection:
        connection.exec_driver_sql("ALTER TABLE askwise_events RENAME TO away")
    yield
    with journal.engine.begin() as connection:
        connection.exec_driver_sql("ALTER TABLE away RENAME TO askwise_events")


# Writing and reading


def test_sqlite_is_on_the_disk_before_a_commit_returns(tmp_path):
    with contextlib.closing(Journal(f"sqlite:///{tmp_path / 'own.db'}")) as journal:
        settings = ("journal_mode", "synchronous", "foreign_keys")
        # Every connection of the pool, not only the first.
        with journal.engine.connect() as first, journal.engine.connect() as second:
            for connection in (first, second):
                found = [connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in settings]
                assert found == ["wal", 2, 1]


def test_postgresql_is_on_the_disk_before_a_commit_returns(postgres):
    with contextlib.closing(Journal(postgres.new_database())) as journal, journal.engine.connect() as connection:
        for name in ("synchronous_commit", "fsync"):
            assert connection.exec_driver_sql(f"SHOW {name}").scalar() == "on"


def test_what_is_written_is_read_as_it_was(journal):
    body = {"answers": {"größe": 1.1, "pain": None, "s": "\x00\U0001f600'\"\\"}, "n": [1, True, 5e-324, 1.7e308]}
    journal.append([event("a", 1), event("a", 2, **body)], start("a")).result(20)
    record = journal.read("a")
    assert record.start == start("a")
    assert record.events == [event("a", 1), event("a", 2, **body)]
    assert journal.last_event("a") == 2


def test_of_an_unknown_session_there_is_nothing(journal):
    assert journal.read("nobody") is None
    assert journal.last_event("nobody") is None


def test_appends_that_wait_share_a_commit(journal):
    with nothing_written(journal):
        waiting = [journal.append([event(f"s{i}", 1)], start(f"s{i}")) for i in range(200)]
        assert not any(append.done() for append in waiting)
    for append in waiting:
        append.result(20)
    # The first may have gone alone, while the others came.
    assert journal.commits <= 2
    assert all(journal.last_event(f"s{i}") == 1 for i in range(200))


def test_of_two_with_the_same_number_one_is_a_conflict_and_the_rest_is_written(journal):
    for name in "abc":
        journal.append([event(name, 1)], start(name)).result(20)
    with nothing_written(journal):
        journal.append([event("c", 2)])
        first, other, second = (
            journal.append([event(name, 2, by=by), event(name, 3, by=by)]) for name, by in ("a1", "b1", "a2")
        )
    first.result(20)
    other.result(20)
    with pytest.raises(Conflict, match="changed by another request"):
        second.result(20)
    assert [e["body"] for e in journal.read("a").events] == [{}, {"by": "1"}, {"by": "1"}]
    assert (journal.last_event("b"), journal.last_event("c")) == (3, 2)


def test_an_append_is_written_whole_or_not_at_all(journal):
    journal.append([event("a", 1)], start("a")).result(20)
    with pytest.raises(Conflict):
        journal.append([event("a", 2), event("a", 1)]).result(20)
    with pytest.raises(Conflict):
        journal.append([event("nobody", 1)]).result(20)
    assert journal.last_event("a") == 1


def test_an_append_that_is_given_up_hinders_no_other(journal):
    with nothing_written(journal):
        first, given_up, last = (journal.append([event(name, 1)], start(name)) for name in "abc")
        assert given_up.cancel() or given_up.running()
    first.result(20)
    last.result(20)
    journal.append([event("d", 1)], start("d")).result(20)
    assert journal.last_event("b") in (None, 1)


def test_what_waits_is_written_before_the_end(address):
    journal = Journal(address)
    waiting = [journal.append([event(f"s{i}", 1)], start(f"s{i}")) for i in range(50)]
    journal.close()
    assert all(append.done() and append.exception() is None for append in waiting)
    with contextlib.closing(Journal(address)) as again:
        assert all(again.last_event(f"s{i}") == 1 for i in range(50))


# Addresses


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("sqlite://", "would be forgotten; name a file"),
        ("sqlite:///:memory:", "would be forgotten; name a file"),
        ("sqlite:///file::memory:?uri=true", "would be forgotten; name a file"),
        ("oracle://me:hidden@host/db", "'oracle://me:***@host/db' is of an unknown kind; give sqlite:///journal.db or"),
        ("mysql://me:hidden@host/db", "is of an unknown kind"),
        ("journal.db", "the journal's address can't be read; give sqlite:///journal.db or"),
        ("postgresql:/me:hidden@host/db", "the journal's address can't be read"),
        ("postgresql://me:hidden@host:port/db", "the journal's address can't be read"),
        ("postgresql+nodriver://me:hidden@host/db", "can't be opened"),
        ("postgresql://me:hidden@127.0.0.1:1/db", "'postgresql://me:***@127.0.0.1:1/db' can't be opened: "),
        ("postgresql://me@127.0.0.1:1/db?password=hidden", "'postgresql://me@127.0.0.1:1/db' can't be opened: "),
        ("sqlite:////nowhere/at/all/journal.db", "folder /nowhere/at/all does not exist; make it first"),
        ("", "the journal's address can't be read"),
    ],
)
def test_an_address_that_will_not_do_says_why_and_hides_the_password(url, message):
    with pytest.raises(AskwiseError) as raised:
        Journal(url)
    assert message in str(raised.value)
    assert "hidden" not in str(raised.value)


def test_a_file_that_is_no_database_says_so(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("not a database, but a text of some length\n" * 100)
    with pytest.raises(AskwiseError, match=r"notes.txt' can't be opened: file is not a database"):
        Journal(f"sqlite:///{path}")


# Servers


def test_two_servers_on_one_journal_see_what_the_other_wrote(serve, address):
    one, two = serve(journal=address), serve(journal=address)
    path = f"/v1/sessions/{one.post(SESSIONS, {}).facts['id']}"
    assert two.get(path).facts == one.get(path).facts
    one.post(f"{path}/tell", {"name": "pressure", "value": 150, "revision": 0})
    # The second has seen nothing of it yet.
    told = two.post(f"{path}/tell", {"name": "smoker", "value": True, "revision": 1})
    assert told.status == 200
    assert told.facts["asked"] == ["pressure", "smoker"]
    assert one.post(f"{path}/tell", {"name": "sex", "value": "male", "revision": 1}).status == 409
    assert one.post(f"{path}/undo", {}).facts["asked"] == ["pressure"]
    assert two.post(f"{path}/tell", {"name": "smoker", "value": False}).facts["answers"]["smoker"] is False
    assert one.get(path).facts == two.get(path).facts
    assert two.post(f"{path}/stop", {"revision": 4}).facts["closed"] is True
    assert one.post(f"{path}/tell", {"name": "sex", "value": "male"}).status == 409
    assert one.get(path).facts["closed"] is True


def test_many_changes_through_two_servers_leave_one_consistent_session(serve, address):
    clients = [serve(journal=address), serve(journal=address)]
    path = f"/v1/sessions/{clients[0].post(SESSIONS, {}).facts['id']}"

    def change(i):
        client = clients[i % 2]
        if i % 4 < 2:
            return client.post(f"{path}/tell", {"name": "sex", "value": ("male", "female")[i % 2]}).status
        return client.post(f"{path}/undo", {}).status

    with ThreadPoolExecutor(4) as pool:
        statuses = list(pool.map(change, range(60)))
    assert set(statuses) <= {200, 409, 422}
    one, two = (client.get(path).facts for client in clients)
    assert one == two
    assert one["revision"] == statuses.count(200)
    events = clients[0].get(f"{path}/record").facts["events"]
    assert [e["seq"] for e in events] == list(range(1, len(events) + 1))
    assert len(events) == 1 + 2 * statuses.count(200)


def test_while_the_journal_fails_nothing_happens_and_then_it_goes_on(serve, address):
    client = serve(journal=address)
    path = f"/v1/sessions/{client.post(SESSIONS, {}).facts['id']}"
    before = client.post(f"{path}/tell", {"name": "pressure", "value": 150}).facts
    with contextlib.closing(Journal(address)) as journal, events_gone(journal):
        for refused in (
            client.post(f"{path}/tell", {"name": "smoker", "value": True}),
            client.post(f"{path}/tell", {"name": "smoker", "value": True}),
            client.post(f"{path}/stop", {}),
            client.get(path),
            client.get(f"{path}/record"),
            client.post(SESSIONS, {}),
        ):
            assert refused.status == 503
            assert refused.message == "the journal can't be reached, so nothing was done; try again in a while"
        assert client.post("/v1/models/heart/next", {}).status == 200
        assert client.get("/healthz").status == 200
    assert client.get(path).facts == before
    assert client.post(f"{path}/tell", {"name": "smoker", "value": True, "revision": 1}).status == 200
    assert client.get("/metrics").body.count(b"askwise_sessions_open 1\n") == 1


def test_a_postgresql_that_goes_away_and_comes_back_loses_nothing(serve, postgres):
    client = serve(journal=postgres.new_database())
    path = f"/v1/sessions/{client.post(SESSIONS, {}).facts['id']}"
    before = client.post(f"{path}/tell", {"name": "pressure", "value": 150}).facts
    postgres.stop()
    try:
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            change = {"name": "smoker", "value": True}
            replies = list(pool.map(lambda _: client.post(f"{path}/tell", change), range(4)))
        assert [reply.status for reply in replies] == [503] * 4
    finally:
        postgres.start()
    assert client.get(path).facts == before
    assert client.post(f"{path}/tell", change | {"revision": 1}).facts["asked"] == ["pressure", "smoker"]


def test_the_journal_s_trouble_is_logged_without_data(journal, caplog, until):
    with events_gone(journal), pytest.raises(AskwiseError, match="can't be reached"):
        journal.append([event("a", 1, answers={"age": 314159})], start("a")).result(20)
    until(lambda: caplog.records)
    assert caplog.records[0].getMessage().startswith("journal: ")
    assert "314159" not in caplog.text


def test_an_unreachable_journal_ends_the_command_with_two(model_file):
    from typer.testing import CliRunner

    from askwise.cli import app

    ended = CliRunner().invoke(
        app, ["serve", str(model_file), "--port", "0", "--journal", "postgresql://me:x1y2@127.0.0.1:1/db"]
    )
    assert ended.exit_code == 2
    assert "can't be opened" in ended.stderr
    assert "x1y2" not in ended.stderr


def test_the_tables_are_plain_enough_to_be_read_by_hand(journal):
    journal.append([event("a", 1, name="sex")], start("a")).result(20)
    with journal.engine.connect() as connection:
        rows = connection.execute(sa.text("SELECT session, seq, kind FROM askwise_events ORDER BY seq")).all()
    assert [tuple(row) for row in rows] == [("a", 1, "told")]


def test_a_commit_that_may_have_arrived_is_not_called_undone(journal):
    """As when the connection is lost after the commit was sent: repeating a change blindly might make it twice."""

    def lost(_):
        raise sa.exc.OperationalError("COMMIT", {}, Exception("server closed the connection unexpectedly"))

    sa.event.listen(journal.engine, "commit", lost)
    with pytest.raises(AskwiseError, match="may or may not have been made: read the session"):
        journal.append([event("a", 1)], start("a")).result(20)


def test_a_new_file_is_its_owner_s_alone(tmp_path):
    Journal(f"sqlite:///{tmp_path / 'private.db'}").close()
    assert (tmp_path / "private.db").stat().st_mode & 0o777 == 0o600
