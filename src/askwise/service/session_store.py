"""All stored sessions: those in use are in memory, every change is in the journal before it is acknowledged."""

from __future__ import annotations

import asyncio
import re
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from askwise.core.errors import AskwiseError
from askwise.service.catalogue import Catalogue, ServedModel
from askwise.service.errors import Conflict, NotFound, TooManySessions
from askwise.service.storage import Journal, Record
from askwise.service.stored_session import MAX_EVENTS, JournalEvent, StoredSession, now

# How often a request is tried again after another server has written meanwhile.
MAX_TRIES = 5
READER_THREADS = 2
SESSION_ID = re.compile(r"[A-Za-z0-9_-]{22}")
BUSY = "the session is being changed by other requests all the time; try again"
Result = TypeVar("Result")


class SessionStore:
    """Sessions by id: a cache in memory over the journal."""

    def __init__(self, catalogue: Catalogue, journal: Journal, max_open: int, idle_seconds: float) -> None:
        self.catalogue = catalogue
        self.journal = journal
        # A pool of its own, so that no session waits for a long batch.
        self._readers = ThreadPoolExecutor(READER_THREADS, "askwise-reader")
        self.max_open = max_open
        self.idle_seconds = idle_seconds
        self._open: OrderedDict[str, StoredSession] = OrderedDict()

    def close(self) -> None:
        """Finish the waiting writes and close the journal."""
        self._readers.shutdown()
        self.journal.close()

    @property
    def n_open(self) -> int:
        return len(self._open)

    async def begin(
        self,
        served: ServedModel,
        stop: str | None,
        costs: Mapping[str, Any] | None,
        answers: Mapping[str, Any],
        declined: Iterable[str],
        prior: Mapping[str, float] | None = None,
    ) -> dict[str, Any]:
        """Begin a session, in which some answers may be known already."""
        stored = StoredSession.new(secrets.token_urlsafe(16), now(), served, stop, costs, prior)
        events = await served.run(stored.begin, answers, declined)
        self._make_room()
        # In memory before the commit, so that sessions that begin together are counted.
        self._open[stored.id] = stored
        await self._commit(stored, events, stored.session_row())
        return await served.run(stored.state)

    async def state(self, session: str) -> dict[str, Any]:
        for _ in range(MAX_TRIES):
            stored = await self._find(session)
            async with stored.lock:
                if not stored.stale and await self._matches_journal(stored):
                    return await stored.served.run(stored.state)
                self._drop(stored)
        raise Conflict(BUSY)

    async def change(
        self, session: str, revision: int | None, make_change: Callable[[StoredSession], JournalEvent]
    ) -> dict[str, Any]:
        """Make a change in a session at this revision (None: at any), and return its state."""
        for _ in range(MAX_TRIES):
            stored = await self._find(session)
            async with stored.lock:
                if stored.stale:
                    continue
                before = stored.revision
                try:
                    self._check(stored, revision)
                    events = await stored.served.run(stored.apply, make_change)
                except AskwiseError:
                    # Another server may have written what allows it.
                    is_final = await self._matches_journal(stored)
                    if not is_final or stored.revision != before:
                        self._drop(stored)
                    if is_final:
                        raise
                    continue
                except BaseException:
                    self._drop(stored)
                    raise
                try:
                    await self._commit(stored, events)
                except Conflict:
                    continue
                if stored.closed:
                    self._drop(stored)
                return await stored.served.run(stored.state)
        raise Conflict(BUSY)

    async def record(self, session: str) -> Record:
        """The journal's record of a session, also if its model is not served."""
        return await self._run_in_reader(self._read, session)

    async def _find(self, session: str) -> StoredSession:
        """A session from memory, else from the journal."""
        stored = self._open.get(session)
        if stored is None:
            restored = await self._run_in_reader(self._restore, session)
            # Another request may have been quicker.
            stored = self._open.get(session, restored)
        stored.last_used = time.monotonic()
        if not stored.closed:
            self._open[session] = stored
            self._open.move_to_end(session)
            self._evict(stored)
        return stored

    async def _matches_journal(self, stored: StoredSession) -> bool:
        return await self._run_in_reader(self.journal.last_event, stored.id) == stored.n_events

    async def _run_in_reader(self, read: Callable[[str], Result], session: str) -> Result:
        return await asyncio.get_running_loop().run_in_executor(self._readers, read, session)

    def _read(self, session: str) -> Record:
        found = self.journal.read(session) if SESSION_ID.fullmatch(session) else None
        if found is None:
            raise NotFound("there is no such session in the journal; POST /v1/models/{name}/sessions begins one")
        return found

    def _restore(self, session: str) -> StoredSession:
        record = self._read(session)
        served = self.catalogue.with_fingerprint(record.start["fingerprint"])
        if served is None:
            raise Conflict(
                f"the session was begun with a model {record.start['model']!r} whose fingerprint begins with "
                f"{record.start['fingerprint'][:12]}, and that one is not served here: serve that file again to go on; "
                "the record can still be read"
            )
        return StoredSession.restore(served, record)

    def _check(self, stored: StoredSession, revision: int | None) -> None:
        if revision is not None and revision != stored.revision:
            raise Conflict(
                f"the session is at revision {stored.revision}, and the request was made for revision {revision}: "
                "something happened meanwhile, or the request was sent twice; read the session again"
            )
        if stored.closed:
            raise Conflict("the session was stopped, and nothing more can happen in it; begin another one")
        if stored.n_events >= MAX_EVENTS:
            raise Conflict(f"the session has {stored.n_events} events, the most it can have; begin another one")

    async def _commit(
        self, stored: StoredSession, events: list[JournalEvent], start: dict[str, Any] | None = None
    ) -> None:
        """Write to the journal. If that fails, memory and journal may differ, so the session is dropped from memory."""
        try:
            await asyncio.wrap_future(self.journal.append(stored.event_rows(events), start))
        except BaseException:
            self._drop(stored)
            raise
        stored.n_events += len(events)

    def _drop(self, stored: StoredSession) -> None:
        stored.stale = True
        if self._open.get(stored.id) is stored:
            del self._open[stored.id]

    def _make_room(self) -> None:
        """Drop idle sessions from memory; refuse a new one if too many are in use."""
        longest_ago = time.monotonic() - self.idle_seconds
        while self._open and (oldest := next(iter(self._open.values()))).last_used < longest_ago:
            self._drop(oldest)
        if len(self._open) >= self.max_open:
            raise TooManySessions(
                f"{len(self._open)} sessions are open, the most this server keeps (--max-sessions); stop some, or wait "
                "until one has been idle for a while"
            )

    def _evict(self, in_use: StoredSession) -> None:
        """Drop the sessions not used for longest: one that goes on is never refused."""
        too_many = len(self._open) - self.max_open
        if too_many > 0:
            idle = [stored for stored in self._open.values() if stored is not in_use and not stored.lock.locked()]
            for stored in idle[:too_many]:
                self._drop(stored)
