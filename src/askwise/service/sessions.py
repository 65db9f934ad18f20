"""All kept sessions: those in use in memory, every one in the journal before it is acknowledged."""

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
from askwise.service.catalogue import Catalogue, Served
from askwise.service.refusals import Conflict, NotFound, TooMany
from askwise.service.storage import Journal, Record
from askwise.service.stored_session import MOST_EVENTS, Happening, Kept, now

# How often a request is tried again on what another server has written meanwhile.
TRIES = 5
READERS = 2
IDS = re.compile(r"[A-Za-z0-9_-]{22}")
BUSY = "the session is being changed by other requests all the time; try again"
Result = TypeVar("Result")


class KeptSessions:
    """All kept sessions: those in use in memory, every one in the journal."""

    def __init__(self, catalogue: Catalogue, journal: Journal, most_open: int, idle_seconds: float) -> None:
        self.catalogue = catalogue
        self.journal = journal
        # Of its own, so that no batch that takes long keeps a session waiting.
        self._readers = ThreadPoolExecutor(READERS, "askwise-reader")
        self.most_open = most_open
        self.idle_seconds = idle_seconds
        self._open: OrderedDict[str, Kept] = OrderedDict()

    def close(self) -> None:
        """Write what still waits, and let go of the journal."""
        self._readers.shutdown()
        self.journal.close()

    @property
    def n_open(self) -> int:
        return len(self._open)

    async def begin(
        self,
        served: Served,
        stop: str | None,
        costs: Mapping[str, float] | None,
        answers: Mapping[str, Any],
        declined: Iterable[str],
    ) -> dict[str, Any]:
        """A new session, in which some answers may be known already."""
        kept = Kept.new(secrets.token_urlsafe(16), now(), served, stop, costs)
        happenings = await served.run(kept.begin, answers, declined)
        self._make_room()
        # In memory at once, so that sessions that begin together are counted.
        self._open[kept.id] = kept
        await self._commit(kept, happenings, kept.start())
        return await served.run(kept.state)

    async def state(self, session: str) -> dict[str, Any]:
        for _ in range(TRIES):
            kept = await self._find(session)
            async with kept.lock:
                if not kept.stale and await self._is_up_to_date(kept):
                    return await kept.served.run(kept.state)
                self._forget(kept)
        raise Conflict(BUSY)

    async def change(self, session: str, revision: int | None, act: Callable[[Kept], Happening]) -> dict[str, Any]:
        """Let something happen in a session that is at this revision (None: at any), and say what follows."""
        for _ in range(TRIES):
            kept = await self._find(session)
            async with kept.lock:
                if kept.stale:
                    continue
                before = kept.revision
                try:
                    self._check(kept, revision)
                    happenings = await kept.served.run(kept.let, act)
                except AskwiseError:
                    # What another server has written may allow it.
                    is_final = await self._is_up_to_date(kept)
                    if not is_final or kept.revision != before:
                        self._forget(kept)
                    if is_final:
                        raise
                    continue
                except BaseException:
                    self._forget(kept)
                    raise
                try:
                    await self._commit(kept, happenings)
                except Conflict:
                    continue
                if kept.closed:
                    self._forget(kept)
                return await kept.served.run(kept.state)
        raise Conflict(BUSY)

    async def record(self, session: str) -> Record:
        """All that the journal has of a session, served model or not."""
        return await self._in_reader(self._read, session)

    async def _find(self, session: str) -> Kept:
        """A session from memory, or else from the journal."""
        kept = self._open.get(session)
        if kept is None:
            restored = await self._in_reader(self._restored, session)
            # Another request may have been quicker.
            kept = self._open.get(session, restored)
        kept.used = time.monotonic()
        if not kept.closed:
            self._open[session] = kept
            self._open.move_to_end(session)
            self._shrink(kept)
        return kept

    async def _is_up_to_date(self, kept: Kept) -> bool:
        return await self._in_reader(self.journal.last, kept.id) == kept.n_events

    async def _in_reader(self, read: Callable[[str], Result], session: str) -> Result:
        return await asyncio.get_running_loop().run_in_executor(self._readers, read, session)

    def _read(self, session: str) -> Record:
        found = self.journal.read(session) if IDS.fullmatch(session) else None
        if found is None:
            raise NotFound("there is no such session in the journal; POST /v1/models/{name}/sessions begins one")
        return found

    def _restored(self, session: str) -> Kept:
        record = self._read(session)
        served = self.catalogue.with_fingerprint(record.start["fingerprint"])
        if served is None:
            raise Conflict(
                f"the session was begun with a model {record.start['model']!r} whose fingerprint begins with "
                f"{record.start['fingerprint'][:12]}, and that one is not served here: serve that file again to go on; "
                "the record can still be read"
            )
        return Kept.restored(served, record)

    def _check(self, kept: Kept, revision: int | None) -> None:
        if revision is not None and revision != kept.revision:
            raise Conflict(
                f"the session is at revision {kept.revision}, and the request was made for revision {revision}: "
                "something happened meanwhile, or the request was sent twice; read the session again"
            )
        if kept.closed:
            raise Conflict("the session was stopped, and nothing more can happen in it; begin another one")
        if kept.n_events >= MOST_EVENTS:
            raise Conflict(f"the session has {kept.n_events} events, the most it can have; begin another one")

    async def _commit(self, kept: Kept, happenings: list[Happening], start: dict[str, Any] | None = None) -> None:
        """Write to the journal; where that fails, memory is behind it or ahead of it, and is forgotten."""
        try:
            await asyncio.wrap_future(self.journal.append(kept.rows(happenings), start))
        except BaseException:
            self._forget(kept)
            raise
        kept.n_events += len(happenings)

    def _forget(self, kept: Kept) -> None:
        kept.stale = True
        if self._open.get(kept.id) is kept:
            del self._open[kept.id]

    def _make_room(self) -> None:
        """Refuse a new session where too many are in use; those that lie idle are left to the journal."""
        longest_ago = time.monotonic() - self.idle_seconds
        while self._open and (oldest := next(iter(self._open.values()))).used < longest_ago:
            self._forget(oldest)
        if len(self._open) >= self.most_open:
            raise TooMany(
                f"{len(self._open)} sessions are open, the most this server keeps (--max-sessions); stop some, or wait "
                "until one has been idle for a while"
            )

    def _shrink(self, in_use: Kept) -> None:
        """Sessions that go on are never refused: those not used for longest are left to the journal."""
        too_many = len(self._open) - self.most_open
        if too_many > 0:
            idle = [kept for kept in self._open.values() if kept is not in_use and not kept.lock.locked()]
            for kept in idle[:too_many]:
                self._forget(kept)
