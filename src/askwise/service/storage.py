"""The journal: a database of every event of every session, committed before it is acknowledged."""

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
from askwise.service.errors import Conflict, JournalUnavailable

logger = logging.getLogger("askwise.service")

# The most appends in one commit, so that none waits long.
MAX_BATCH = 256
# The time limit for connecting to PostgreSQL.
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
    """Rows to write in one transaction: events, and the session itself if it is new."""

    events: Sequence[dict[str, Any]]
    start: dict[str, Any] | None = None
    done: Future[None] = field(default_factory=Future)


class Journal:
    """Takes appends from any thread; one thread writes them, all that wait in one commit.

    Two servers may share a journal: the number of an event is part of its key, so that of two events with the same
    number only one is taken; the other is a `Conflict`.
    """

    def __init__(self, url: str) -> None:
        self.engine = _create_engine(url)
        try:
            tables.create_all(self.engine)
        except sa.exc.SQLAlchemyError as error:
            raise AskwiseError(
                f"the journal {_url_for_display(url)} can't be opened: {_driver_message(error)}"
            ) from None
        self.commits = 0
        self._waiting: queue.SimpleQueue[Append | None] = queue.SimpleQueue()
        self._writer = threading.Thread(target=self._write_all, name="askwise-journal", daemon=True)
        self._writer.start()

    def append(self, events: Sequence[dict[str, Any]], start: dict[str, Any] | None = None) -> Future[None]:
        """Write events, and first the session if they begin one. The future is done once they are committed."""
        append = Append(events, start)
        self._waiting.put(append)
        return append.done

    def read(self, session: str) -> Record | None:
        """The record of a session, None if there is none."""
        try:
            with self.engine.connect() as connection:
                start = connection.execute(sa.select(sessions_table).where(sessions_table.c.id == session)).first()
                if start is None:
                    return None
                which = sa.select(events_table).where(events_table.c.session == session).order_by(events_table.c.seq)
                found = connection.execute(which)
                return Record(dict(start._mapping), [dict(row._mapping) for row in found])
        except sa.exc.SQLAlchemyError as error:
            raise _unavailable(error, NOT_CHANGED) from None

    def last_event(self, session: str) -> int | None:
        """The number of a session's last event, None if there is none."""
        try:
            with self.engine.connect() as connection:
                which = sa.select(sa.func.max(events_table.c.seq)).where(events_table.c.session == session)
                return connection.execute(which).scalar()
        except sa.exc.SQLAlchemyError as error:
            raise _unavailable(error, NOT_CHANGED) from None

    def close(self) -> None:
        """Finish the waiting writes and close the database."""
        self._waiting.put(None)
        self._writer.join()
        self.engine.dispose()

    def _write_all(self) -> None:
        while (first := self._waiting.get()) is not None:
            batch, ended = _not_cancelled([first]), False
            while len(batch) < MAX_BATCH and not self._waiting.empty():
                append = self._waiting.get()
                if append is None:
                    ended = True
                    break
                batch += _not_cancelled([append])
            if batch:
                self._write(batch)
            if ended:
                return

    def _write(self, batch: list[Append]) -> None:
        is_sent = False
        try:
            with self.engine.begin() as connection:
                starts = [append.start for append in batch if append.start is not None]
                if starts:
                    connection.execute(sa.insert(sessions_table), starts)
                connection.execute(sa.insert(events_table), [event for append in batch for event in append.events])
                is_sent = True
        except Exception as error:
            self._handle_failure(batch, error, is_sent)
            return
        self.commits += 1
        for append in batch:
            append.done.set_result(None)

    def _handle_failure(self, batch: list[Append], error: Exception, is_sent: bool) -> None:
        """Write each append by itself, so that a bad one hinders no other; unless the database itself fails.

        If it fails during a commit, nobody knows whether the commit arrived.
        """
        if is_sent or _is_connection_error(error):
            unavailable = _unavailable(error, MAYBE_CHANGED if is_sent else NOT_CHANGED)
            for append in batch:
                append.done.set_exception(unavailable)
        elif len(batch) > 1:
            for append in batch:
                self._write([append])
        elif isinstance(error, sa.exc.IntegrityError):
            batch[0].done.set_exception(Conflict("the session was changed by another request; read it again"))
        else:
            batch[0].done.set_exception(_unavailable(error, NOT_CHANGED))


def _not_cancelled(appends: list[Append]) -> list[Append]:
    """The appends whose request was not cancelled; from now on they can't be."""
    return [append for append in appends if append.done.set_running_or_notify_cancel()]


def _create_engine(url: str) -> sa.Engine:
    try:
        parsed = sa.make_url(url)
    except (sa.exc.ArgumentError, ValueError):
        # Not shown: in an address that can't be parsed, the password can't be found and hidden.
        raise AskwiseError(f"the journal's address can't be read; {ALLOWED_URLS}") from None
    if parsed.get_backend_name() not in ("sqlite", "postgresql"):
        raise AskwiseError(f"the journal {_url_for_display(url)} is of an unknown kind; {ALLOWED_URLS}")
    in_memory = not parsed.database or ":memory:" in parsed.database or parsed.query.get("mode") == "memory"
    if parsed.get_backend_name() == "sqlite" and in_memory:
        raise AskwiseError(
            f"the journal {_url_for_display(url)} would be forgotten; name a file, as in sqlite:///journal.db"
        )
    if parsed.drivername == "postgresql":
        # The driver that the extra installs, whatever the default of SQLAlchemy is.
        parsed = parsed.set(drivername="postgresql+psycopg")
    if parsed.drivername == "postgresql+psycopg" and "connect_timeout" not in parsed.query:
        parsed = parsed.update_query_dict({"connect_timeout": CONNECT_SECONDS})
    try:
        engine = sa.create_engine(parsed, pool_pre_ping=True)
    except sa.exc.SQLAlchemyError as error:
        raise AskwiseError(
            f"the journal {_url_for_display(url)} can't be opened: {_driver_message(error)}; {ALLOWED_URLS}"
        ) from None
    except ImportError as error:
        raise AskwiseError(
            f"the journal {_url_for_display(url)} needs the driver {error.name!r}; for PostgreSQL install it with: "
            "pip install 'askwise[postgres]'"
        ) from None
    if engine.dialect.name == "sqlite":
        if not str(parsed.database).startswith("file:"):
            _create_private_file(Path(str(parsed.database)))
        sa.event.listen(engine, "connect", _set_pragmas)
    return engine


def _create_private_file(path: Path) -> None:
    """Create a file that only its owner can read: it will hold people's answers."""
    if not path.parent.is_dir():
        raise AskwiseError(f"the journal's folder {path.parent} does not exist; make it first, or choose another")
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        return
    except OSError as error:
        raise AskwiseError(f"the journal {path} can't be written: {error.strerror}; choose another file") from None


NOT_CHANGED = "so nothing was done; try again in a while"
MAYBE_CHANGED = (
    "and it was lost in the middle of a commit, so that the change may or may not have been made: read the session "
    "before you repeat it, or repeat it with the revision you have seen"
)
ALLOWED_URLS = "give sqlite:///journal.db or postgresql://user@host/database"


def _set_pragmas(connection: Any, _: Any) -> None:
    """Let readers not wait for the writer, and have a commit on the disk before it returns."""
    cursor = connection.cursor()
    for setting in ("journal_mode=WAL", "synchronous=FULL", "busy_timeout=10000", "foreign_keys=ON"):
        cursor.execute(f"PRAGMA {setting}")
    cursor.close()


def _url_for_display(url: str) -> str:
    """An address without its password and without its query, which may hold one too."""
    return repr(sa.make_url(url).set(query={}).render_as_string(hide_password=True))


def _driver_message(error: Exception) -> str:
    """The first line of a driver's message, which holds no data."""
    return str(getattr(error, "orig", None) or error).strip().split("\n")[0]


def _is_connection_error(error: Exception) -> bool:
    """Whether the database itself fails, whatever is written."""
    return isinstance(error, (sa.exc.OperationalError, sa.exc.InterfaceError))


def _unavailable(error: Exception, consequence: str) -> JournalUnavailable:
    # A driver's message about a value might hold the value, so only failures of the database itself are logged.
    logger.error("journal: %s", _driver_message(error) if _is_connection_error(error) else type(error).__name__)
    return JournalUnavailable(f"the journal can't be reached, {consequence}")
