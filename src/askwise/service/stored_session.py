"""One kept session: what happens in it, as its journal keeps it, and what a client is told."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Any

from askwise.service.catalogue import Served, Terms
from askwise.service.refusals import Conflict
from askwise.service.storage import Record
from askwise.session.messages import Event
from askwise.session.replies import STOPPED_BY_USER, in_words, prediction_facts, ranking_facts
from askwise.session.session import Session

# A session with more events than this is a program gone wrong.
MOST_EVENTS = 10_000


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
    # How much was known when it began: that is not undone.
    n_given: int = 0
    closed: bool = False
    # Memory may differ from the journal: to be read anew.
    stale: bool = False
    used: float = field(default_factory=time.monotonic)
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    @staticmethod
    def new(id: str, created: str, served: Served, stop: str | None, costs: Mapping[str, float] | None) -> Kept:
        terms = served.terms(stop, costs)
        return Kept(id, created, served, terms, stop, Session(served.model, terms.rule, terms.costs))

    @staticmethod
    def restored(served: Served, record: Record) -> Kept:
        """The session that the journal has."""
        start, said, has_begun = record.start, list[Event](), False
        terms = start["terms"]
        kept = Kept.new(start["id"], start["created"], served, terms["stop"], terms["costs"])
        for row in record.events:
            kind, body = row["kind"], row["body"]
            if kind in ("told", "declined"):
                said.append(Event(body["name"], body["group"], body["answers"], not body["answers"]))
            elif kind == "undone":
                said.pop()
            else:
                # Questions and ends follow from what was said; the first of them ends the beginning.
                kept.n_given = kept.n_given if has_begun else len(said)
                has_begun = True
            kept.closed = kept.closed or body.get("reason") == STOPPED_BY_USER
            kept.revision += kind in ("told", "declined", "undone") or kept.closed
        for event in said:
            kept.session.hear(event)
        kept.n_events = len(record.events)
        return kept

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
        facts = self.terms.told(self.session)
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
        given = self.served.session(self.terms, answers, declined).history
        self.n_given = len(given)
        return [*(self._said(event.name, partial(self.session.hear, event)) for event in given), self.outcome()]

    def let(self, act: Callable[[Kept], Happening]) -> list[Happening]:
        """Let something happen, and what follows from it."""
        happening = act(self)
        return [happening] if self.closed else [happening, self.outcome()]

    def tell(self, name: str, value: Any) -> Happening:
        """Told: the answers, what the question was estimated to tell, and what is predicted with its answer."""
        return self._said(name, partial(self.session.tell, name, value))

    def decline(self, name: str) -> Happening:
        return self._said(name, partial(self.session.decline, name))

    def undo(self) -> Happening:
        if self.n_given and len(self.session.history) <= self.n_given:
            raise Conflict("there is nothing to undo: all that is known was given when the session began")
        return self._heard("undone", self.session.undo(), {})

    def close(self) -> Happening:
        self.closed = True
        return self._heard("stopped", None, {"reason": STOPPED_BY_USER, "ranking": ranking_facts(self.session)})

    def outcome(self) -> Happening:
        """What follows from all that was said: the next question, or the end."""
        question, ranking = self.session.ask(), ranking_facts(self.session)
        if question is None:
            return Happening("stopped", {"reason": self.session.reason, "ranking": ranking, **self._estimates()})
        estimates = {"value": question.value, "cost": question.cost, "value_per_cost": question.value_per_cost}
        return Happening("asked", {"name": question.name, **estimates, "ranking": ranking, **self._estimates()})

    def _said(self, name: str, say: Callable[[], None]) -> Happening:
        promised = self._promised(name)
        say()
        event = self.session.history[-1]
        kind = "declined" if event.group in self.session.declined else "told"
        return self._heard(kind, name, {"group": event.group, "answers": dict(event.answers), **promised})

    def _heard(self, kind: str, name: str | None, facts: dict[str, Any]) -> Happening:
        self.revision += 1
        return Happening(kind, {"name": name, **facts, **self._estimates()})

    def _promised(self, name: str) -> dict[str, Any]:
        """What was estimated of a question before it was answered; nothing for a free column."""
        group = self.session.model.schema.group_of(name)
        question = self.session.ask()
        found = next((c for c in ranking_facts(self.session) if c["name"] == group), {})
        estimates = {name: value for name, value in found.items() if name != "name"}
        return {"as_asked": question is not None and question.name == group, **estimates}

    def _estimates(self) -> dict[str, Any]:
        return {"prediction": prediction_facts(self.session), "spent": self.session.spent}


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
