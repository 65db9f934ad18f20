"""The journal: every event of every session in a database, committed before it is acknowledged."""

from __future__ import annotations

import logging
import os
import queue
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from askwise.core.errors import AskwiseError
from askwise.service.refusals import Conflict, Unavailable

logger = logging.getLogger("askwise.service")

# More than this many appends never share a commit, so that none waits long.
MOST_TOGETHER = 256
# A server that does not answer is given up on after this long.
CONNECT_SECONDS = "10"

tables = sa.MetaData()
sessions_table = sa.Table(
    "askwise_sessions",
    tables,
    sa.Column("id", sa.String(32), primary_key=True),
    sa.Column("created", sa.String(32), nullable=False),
    sa.Column("model", sa.Text, nullable=False),
    sa.Column("fingerprint", sa.String(64), nullable=False),
    sa.Column("terms", sa.JSON, nullable=False),
)
events_table = sa.Table(
    "askwise_events",
    tables,
    sa.Column("session", sa.String(32), sa.ForeignKey("askwise_sessions.id"), primary_key=True),
    sa.Column("seq", sa.Integer, primary_key=True),
    sa.Column("at", sa.String(32), nullable=False),
    sa.Column("kind", sa.String(16), nullable=False),
    sa.Column("fingerprint", sa.String(64), nullable=False),
    sa.Column("body", sa.JSON, nullable=False),
)


@dataclass(frozen=True)
class Record:
    """A session as the journal holds it: how it began, and its events in order."""

    start: dict[str, Any]
    events: list[dict[str, Any]]


@dataclass(frozen=True)
class Append:
    """Rows to be written together: events, and the session itself where it is new."""

    events: Sequence[dict[str, Any]]
    start: dict[str, Any] | None = None
    done: Future[None] = field(default_factory=Future)


class Journal:
    """Appends from any thread; one thread writes them, all that wait in one commit.

    Two servers may share a journal: the number of an event is part of its key, so that of two events with the same
    number only one is taken; the other is a `Conflict`.
    """

    def __init__(self, url: str) -> None:
        self.engine = _engine(url)
        try:
            tables.create_all(self.engine)
        except sa.exc.SQLAlchemyError as error:
            raise AskwiseError(f"the journal {_shown(url)} can't be opened: {_reason(error)}") from None
        self.commits = 0
        self._waiting: queue.SimpleQueue[Append | None] = queue.SimpleQueue()
        self._writer = threading.Thread(target=self._write_all, name="askwise-journal", daemon=True)
        self._writer.start()

    def append(self, events: Sequence[dict[str, Any]], start: dict[str, Any] | None = None) -> Future[None]:
        """Write events, after the session they begin where there is one; the future ends once they are committed."""
        append = Append(events, start)
        self._waiting.put(append)
        return append.done

    def read(self, session: str) -> Record | None:
        """The whole record of a session, None where there is none."""
        try:
            with self.engine.connect() as connection:
                start = connection.execute(sa.select(sessions_table).where(sessions_table.c.id == session)).first()
                if start is None:
                    return None
                which = sa.select(events_table).where(events_table.c.session == session).order_by(events_table.c.seq)
                found = connection.execute(which)
                return Record(dict(start._mapping), [dict(row._mapping) for row in found])
        except sa.exc.SQLAlchemyError as error:
            raise _unavailable(error, NOT_DONE) from None

    def last(self, session: str) -> int | None:
        """The number of a session's last event."""
        try:
            with self.engine.connect() as connection:
                which = sa.select(sa.func.max(events_table.c.seq)).where(events_table.c.session == session)
                return connection.execute(which).scalar()
        except sa.exc.SQLAlchemyError as error:
            raise _unavailable(error, NOT_DONE) from None

    def close(self) -> None:
        """Write what still waits, and let go of the database."""
        self._waiting.put(None)
        self._writer.join()
        self.engine.dispose()

    def _write_all(self) -> None:
        while (first := self._waiting.get()) is not None:
            together, ended = _still_wanted([first]), False
            while len(together) < MOST_TOGETHER and not self._waiting.empty():
                following = self._waiting.get()
                if following is None:
                    ended = True
                    break
                together += _still_wanted([following])
            if together:
                self._write(together)
            if ended:
                return

    def _write(self, together: list[Append]) -> None:
        is_sent = False
        try:
            with self.engine.begin() as connection:
                starts = [append.start for append in together if append.start is not None]
                if starts:
                    connection.execute(sa.insert(sessions_table), starts)
                connection.execute(sa.insert(events_table), [event for append in together for event in append.events])
                is_sent = True
        except Exception as error:
            self._failed(together, error, is_sent)
            return
        self.commits += 1
        for append in together:
            append.done.set_result(None)

    def _failed(self, together: list[Append], error: Exception, is_sent: bool) -> None:
        """One that can't be written hinders no other: each is tried by itself, unless the database is in trouble.

        Where the trouble came while a commit was on its way, nobody knows whether it arrived.
        """
        if is_sent or _is_trouble(error):
            unavailable = _unavailable(error, MAYBE_DONE if is_sent else NOT_DONE)
            for append in together:
                append.done.set_exception(unavailable)
        elif len(together) > 1:
            for append in together:
                self._write([append])
        elif isinstance(error, sa.exc.IntegrityError):
            together[0].done.set_exception(Conflict("the session was changed by another request; read it again"))
        else:
            together[0].done.set_exception(_unavailable(error, NOT_DONE))


def _still_wanted(appends: list[Append]) -> list[Append]:
    """Those whose request has not been given up; from now on they can't be."""
    return [append for append in appends if append.done.set_running_or_notify_cancel()]


def _engine(url: str) -> sa.Engine:
    try:
        parsed = sa.make_url(url)
    except (sa.exc.ArgumentError, ValueError):
        # Not shown: where the address can't be read, nor can the password in it be found.
        raise AskwiseError(f"the journal's address can't be read; {ALLOWED}") from None
    if parsed.get_backend_name() not in ("sqlite", "postgresql"):
        raise AskwiseError(f"the journal {_shown(url)} is of an unknown kind; {ALLOWED}")
    in_memory = not parsed.database or ":memory:" in parsed.database or parsed.query.get("mode") == "memory"
    if parsed.get_backend_name() == "sqlite" and in_memory:
        raise AskwiseError(f"the journal {_shown(url)} would be forgotten; name a file, as in sqlite:///journal.db")
    if parsed.drivername == "postgresql":
        # The driver that the extra installs, whichever this SQLAlchemy would choose.
        parsed = parsed.set(drivername="postgresql+psycopg")
    if parsed.drivername == "postgresql+psycopg" and "connect_timeout" not in parsed.query:
        parsed = parsed.update_query_dict({"connect_timeout": CONNECT_SECONDS})
    try:
        engine = sa.create_engine(parsed, pool_pre_ping=True)
    except sa.exc.SQLAlchemyError as error:
        raise AskwiseError(f"the journal {_shown(url)} can't be opened: {_reason(error)}; {ALLOWED}") from None
    except ImportError as error:
        raise AskwiseError(
            f"the journal {_shown(url)} needs the driver {error.name!r}; for PostgreSQL install it with: "
            "pip install 'askwise[postgres]'"
        ) from None
    if engine.dialect.name == "sqlite":
        if not str(parsed.database).startswith("file:"):
            _make_private(Path(str(parsed.database)))
        sa.event.listen(engine, "connect", _durable)
    return engine


def _make_private(path: Path) -> None:
    """Make a new file that only its owner can read, since people's answers will stand in it."""
    if not path.parent.is_dir():
        raise AskwiseError(f"the journal's folder {path.parent} does not exist; make it first, or choose another")
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        return
    except OSError as error:
        raise AskwiseError(f"the journal {path} can't be written: {error.strerror}; choose another file") from None


NOT_DONE = "so nothing was done; try again in a while"
MAYBE_DONE = (
    "and it was lost in the middle of a commit, so that the change may or may not have been made: read the session "
    "before you repeat it, or repeat it with the revision you have seen"
)
ALLOWED = "give sqlite:///journal.db or postgresql://user@host/database"


def _durable(connection: Any, _: Any) -> None:
    """Readers never wait for the writer, and a commit is on the disk before it returns."""
    cursor = connection.cursor()
    for setting in ("journal_mode=WAL", "synchronous=FULL", "busy_timeout=10000", "foreign_keys=ON"):
        cursor.execute(f"PRAGMA {setting}")
    cursor.close()


def _shown(url: str) -> str:
    """An address without its password, nor anything that follows a question mark, where one may be too."""
    return repr(sa.make_url(url).set(query={}).render_as_string(hide_password=True))


def _reason(error: Exception) -> str:
    """The first line of what a driver says, which names no data."""
    return str(getattr(error, "orig", None) or error).strip().split("\n")[0]


def _is_trouble(error: Exception) -> bool:
    """Whether it is the database itself that fails, whatever is to be written."""
    return isinstance(error, (sa.exc.OperationalError, sa.exc.InterfaceError))


def _unavailable(error: Exception, what_it_means: str) -> Unavailable:
    # What a driver says of a value might hold the value, so only trouble with the database itself is told.
    logger.error("journal: %s", _reason(error) if _is_trouble(error) else type(error).__name__)
    return Unavailable(f"the journal can't be reached, {what_it_means}")
