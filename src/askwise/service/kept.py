"""Sessions that the server keeps: every event is in the journal before it is acknowledged."""

from __future__ import annotations

import asyncio
import re
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from askwise.errors import AskwiseError
from askwise.replies import STOPPED_BY_USER, in_words, prediction_facts, session_facts
from askwise.service.catalogue import Catalogue, Served, Terms
from askwise.service.refusals import Conflict, NotFound, TooMany
from askwise.service.storage import Journal, Record
from askwise.session import Session

# A session with more events than this is a program gone wrong.
MOST_EVENTS = 10_000
# How often a change is tried again on what another server has written meanwhile.
TRIES = 5
IDS = re.compile(r"[A-Za-z0-9_-]{22}")


@dataclass(frozen=True)
class Happening:
    """One thing that happens in a session, as the journal keeps it."""

    kind: str
    body: dict[str, Any]


@dataclass(eq=False)
class Kept:
    """A session in memory, with as many events as the journal has of it."""

    id: str
    created: str
    served: Served
    terms: Terms
    stop: str | None
    session: Session
    n_events: int = 0
    # How often something was told, declined, undone or stopped.
    revision: int = 0
    closed: bool = False
    # Memory may differ from the journal: to be read anew.
    stale: bool = False
    used: float = field(default_factory=time.monotonic)
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def fingerprint(self) -> str:
        return self.served.model.fingerprint

    def state(self) -> dict[str, Any]:
        """The session as a client is told of it."""
        about = {
            "id": self.id,
            "created": self.created,
            "model": self.served.name,
            "fingerprint": self.fingerprint,
            "stop": self.stop,
            "costs": self.terms.costs or {},
            "revision": self.revision,
            "closed": self.closed,
            "asked": self.session.asked,
        }
        facts = session_facts(self.session) | self.terms.facts()
        if self.closed:
            facts |= {"question": None, "stopped": True, "reason": STOPPED_BY_USER, "why": in_words(STOPPED_BY_USER)}
        return about | facts

    def start(self) -> dict[str, Any]:
        """The row of the journal that begins it."""
        terms = {"stop": self.stop, "costs": self.terms.costs}
        about = {"id": self.id, "created": self.created, "model": self.served.name, "terms": terms}
        return about | {"fingerprint": self.fingerprint}

    def rows(self, happenings: Iterable[Happening]) -> list[dict[str, Any]]:
        """The rows of the journal for what happened after all that it has."""
        about = {"session": self.id, "at": now(), "fingerprint": self.fingerprint}
        numbered = enumerate(happenings, self.n_events + 1)
        return [about | {"seq": seq, "kind": h.kind, "body": h.body} for seq, h in numbered]

    def begin(self, answers: Mapping[str, Any], declined: Iterable[str]) -> list[Happening]:
        """What is known at the start, and what follows from it."""
        heard = [self.tell(name, value) for name, value in answers.items()]
        return [*heard, *(self.decline(name) for name in declined), self.outcome()]

    def let(self, act: Callable[[Kept], Happening]) -> list[Happening]:
        """Let something happen, and what follows from it."""
        happening = act(self)
        return [happening] if self.closed else [happening, self.outcome()]

    def tell(self, name: str, value: Any) -> Happening:
        """Told: the answers, what the question was estimated to tell, and what is predicted with its answer."""
        promised = self._promised(name)
        self.session.tell(name, value)
        return self._heard("told", name, {"answers": dict(self.session.history[-1].answers), **promised})

    def decline(self, name: str) -> Happening:
        promised = self._promised(name)
        self.session.decline(name)
        return self._heard("declined", name, promised)

    def undo(self) -> Happening:
        return self._heard("undone", self.session.undo(), {})

    def close(self) -> Happening:
        self.closed = True
        return self._heard("stopped", None, {"reason": STOPPED_BY_USER, "ranking": self._ranking()})

    def outcome(self) -> Happening:
        """What follows from all that was said: the next question, or the end."""
        question, ranking = self.session.ask(), self._ranking()
        if question is None:
            return Happening("stopped", {"reason": self.session.reason, "ranking": ranking, **self._estimates()})
        estimates = {"value": question.value, "cost": question.cost, "value_per_cost": question.value_per_cost}
        return Happening("asked", {"name": question.name, **estimates, "ranking": ranking, **self._estimates()})

    def replay(self, kind: str, body: Mapping[str, Any]) -> None:
        """Take in one event of the journal."""
        self.n_events += 1
        if kind == "told":
            self.session.tell(body["name"], body["answers"])
        elif kind == "declined":
            self.session.decline(body["name"])
        elif kind == "undone":
            self.session.undo()
        elif body.get("reason") == STOPPED_BY_USER:
            self.closed = True
        else:
            # Questions and ends follow from the answers.
            return
        self.revision += 1

    def _heard(self, kind: str, name: str | None, facts: dict[str, Any]) -> Happening:
        self.revision += 1
        return Happening(kind, {"name": name, **facts, **self._estimates()})

    def _promised(self, name: str) -> dict[str, Any]:
        """What was estimated of a question before it was answered; nothing for a free column."""
        group = self.session.model.schema.group_of(name)
        question = self.session.ask()
        found = next((c._asdict() for c in self.session.ranking if c.name == group), {})
        found.pop("name", None)
        return {"group": group, "as_asked": question is not None and question.name == group, **found}

    def _ranking(self) -> list[dict[str, Any]]:
        return [candidate._asdict() for candidate in self.session.ranking]

    def _estimates(self) -> dict[str, Any]:
        return {"prediction": prediction_facts(self.session), "spent": self.session.spent}


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


class KeptSessions:
    """All kept sessions: those in use in memory, every one in the journal."""

    def __init__(self, catalogue: Catalogue, journal: Journal, most_open: int, idle_seconds: float) -> None:
        self.catalogue = catalogue
        self.journal = journal
        self.most_open = most_open
        self.idle_seconds = idle_seconds
        self._open: OrderedDict[str, Kept] = OrderedDict()

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
        terms = served.terms(stop, costs)
        session = Session(served.model, terms.rule, terms.costs)
        kept = Kept(secrets.token_urlsafe(16), now(), served, terms, stop, session)
        happenings = await served.run(kept.begin, answers, declined)
        self._make_room()
        # In memory at once, so that sessions that begin together are counted.
        self._open[kept.id] = kept
        await self._commit(kept, happenings, kept.start())
        return await served.run(kept.state)

    async def state(self, session: str) -> dict[str, Any]:
        while True:
            kept = await self._find(session)
            async with kept.lock:
                if not kept.stale and await asyncio.to_thread(self.journal.last, session) == kept.n_events:
                    return await kept.served.run(kept.state)
                self._forget(kept)

    async def change(self, session: str, revision: int | None, act: Callable[[Kept], Happening]) -> dict[str, Any]:
        """Let something happen in a session that is at this revision (None: at any), and say what follows."""
        for _ in range(TRIES):
            kept = await self._find(session)
            async with kept.lock:
                if kept.stale:
                    continue
                try:
                    self._check(kept, revision)
                    happenings = await kept.served.run(kept.let, act)
                except AskwiseError:
                    # A session refuses before it changes. What another server has written may allow it.
                    if await asyncio.to_thread(self.journal.last, session) == kept.n_events:
                        raise
                    self._forget(kept)
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
        raise Conflict("the session is being changed by other requests all the time; try again")

    async def record(self, session: str) -> Record:
        """All that the journal has of a session, served model or not."""
        found = await asyncio.to_thread(self.journal.read, session) if IDS.fullmatch(session) else None
        if found is None:
            raise NotFound("there is no such session in the journal; POST /v1/models/{name}/sessions begins one")
        return found

    async def _find(self, session: str) -> Kept:
        """A session from memory, or else from the journal."""
        kept = self._open.get(session)
        if kept is None:
            record = await self.record(session)
            # Another request may have been quicker.
            kept = self._open.get(session) or self._restored(record)
        kept.used = time.monotonic()
        if not kept.closed:
            self._open[session] = kept
            self._open.move_to_end(session)
            self._shrink()
        return kept

    def _restored(self, record: Record) -> Kept:
        start = record.start
        served = self.catalogue.with_fingerprint(start["fingerprint"])
        if served is None:
            raise Conflict(
                f"the session was begun with a model {start['model']!r} whose fingerprint begins with "
                f"{start['fingerprint'][:12]}, and that one is not served here: serve that file again to go on; the "
                f"record can still be read"
            )
        stop, costs = start["terms"]["stop"], start["terms"]["costs"]
        terms = served.terms(stop, costs)
        session = Session(served.model, terms.rule, terms.costs)
        kept = Kept(start["id"], start["created"], served, terms, stop, session)
        for event in record.events:
            kept.replay(event["kind"], event["body"])
        return kept

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

    def _shrink(self) -> None:
        """Sessions that go on are never refused: the one not used for longest is left to the journal."""
        too_many = len(self._open) - self.most_open
        if too_many > 0:
            for kept in [kept for kept in self._open.values() if not kept.lock.locked()][:too_many]:
                self._forget(kept)
