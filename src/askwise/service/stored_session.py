"""One stored session: its events as the journal holds them, and its state as JSON."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from askwise.service.catalogue import ServedModel, Terms
from askwise.service.errors import Conflict
from askwise.service.storage import Record

# What it offers is imported when first used, since it imports torch.
if TYPE_CHECKING:
    from askwise.session.session import Session

# A session with more events than this is a program gone wrong.
MAX_EVENTS = 10_000


@dataclass(frozen=True)
class JournalEvent:
    """One event of a session; kind: asked, told, declined, undone or stopped."""

    kind: str
    body: dict[str, Any]


@dataclass(eq=False)
class StoredSession:
    """A session in memory, with the number of its events in the journal."""

    id: str
    created: str
    served: ServedModel
    terms: Terms
    stop: str | None
    session: Session
    n_events: int = 0
    # Counts what was told, declined, undone or stopped.
    revision: int = 0
    # How much was known at the beginning: that can't be undone.
    n_given: int = 0
    closed: bool = False
    # Memory may differ from the journal: the session must be read again.
    stale: bool = False
    last_used: float = field(default_factory=time.monotonic)
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    @staticmethod
    def new(
        id: str,
        created: str,
        served: ServedModel,
        stop: str | None,
        costs: Mapping[str, Any] | None,
        prior: Mapping[str, float] | None = None,
    ) -> StoredSession:
        terms = served.terms(stop, costs, prior)
        return StoredSession(id, created, served, terms, stop, served.new_session(terms))

    @staticmethod
    def restore(served: ServedModel, record: Record) -> StoredSession:
        """Rebuild a session from the journal."""
        from askwise.session.messages import Event
        from askwise.session.replies import STOPPED_BY_USER

        start, said, has_begun = record.start, list[Event](), False
        terms = start["terms"]
        # Journals of earlier versions have no prevalence.
        of_terms = terms["stop"], terms["costs"], terms.get("prior")
        stored = StoredSession.new(start["id"], start["created"], served, *of_terms)
        for row in record.events:
            kind, body = row["kind"], row["body"]
            if kind in ("told", "declined"):
                said.append(Event(body["name"], body["group"], body["answers"], not body["answers"]))
            elif kind == "undone":
                said.pop()
            else:
                # Questions and stops follow from the answers. The first of them ends the beginning.
                stored.n_given = stored.n_given if has_begun else len(said)
                has_begun = True
            stored.closed = stored.closed or body.get("reason") == STOPPED_BY_USER
            stored.revision += kind in ("told", "declined", "undone") or stored.closed
        for event in said:
            stored.session.hear(event)
        stored.n_events = len(record.events)
        return stored

    @property
    def fingerprint(self) -> str:
        return self.served.model.fingerprint

    def state(self) -> dict[str, Any]:
        """The state of the session as JSON."""
        from askwise.session.replies import STOPPED_BY_USER, in_words

        about = {
            "id": self.id,
            "created": self.created,
            "model": self.served.name,
            "fingerprint": self.fingerprint,
            "stop": self.stop,
            "costs": self.terms.costs or {},
            "prior": self.terms.prior or {},
            "revision": self.revision,
            "closed": self.closed,
            "asked": self.session.asked,
        }
        facts = self.terms.reply(self.session)
        if self.closed:
            facts |= {"question": None, "stopped": True, "reason": STOPPED_BY_USER, "why": in_words(STOPPED_BY_USER)}
        return about | facts

    def session_row(self) -> dict[str, Any]:
        """The journal's row of the session itself."""
        terms = {"stop": self.stop, "costs": self.terms.costs}
        terms |= {} if self.terms.prior is None else {"prior": self.terms.prior}
        about = {"id": self.id, "created": self.created, "model": self.served.name, "terms": terms}
        return about | {"fingerprint": self.fingerprint}

    def event_rows(self, events: Iterable[JournalEvent]) -> list[dict[str, Any]]:
        """The journal's rows of events that follow those it has."""
        about = {"session": self.id, "at": now(), "fingerprint": self.fingerprint}
        numbered = enumerate(events, self.n_events + 1)
        return [about | {"seq": seq, "kind": event.kind, "body": event.body} for seq, event in numbered]

    def begin(self, answers: Mapping[str, Any], declined: Iterable[str]) -> list[JournalEvent]:
        """Tell what is known at the start, and ask."""
        given = self.served.session(self.terms, answers, declined).history
        self.n_given = len(given)
        told = [self._answer(event.name, partial(self.session.hear, event)) for event in given]
        return [*told, self.next_step()]

    def apply(self, change: Callable[[StoredSession], JournalEvent]) -> list[JournalEvent]:
        """Make a change, and ask unless it ends the session."""
        event = change(self)
        return [event] if self.closed else [event, self.next_step()]

    def tell(self, name: str, value: Any) -> JournalEvent:
        """The event holds the answers, the estimates before them and the prediction after them."""
        return self._answer(name, partial(self.session.tell, name, value))

    def decline(self, name: str) -> JournalEvent:
        return self._answer(name, partial(self.session.decline, name))

    def undo(self) -> JournalEvent:
        if self.n_given and len(self.session.history) <= self.n_given:
            raise Conflict("there is nothing to undo: all that is known was given when the session began")
        return self._changed("undone", self.session.undo(), {})

    def close(self) -> JournalEvent:
        from askwise.session.replies import STOPPED_BY_USER

        self.closed = True
        return self._changed("stopped", None, {"reason": STOPPED_BY_USER, "ranking": self._ranking()})

    def next_step(self) -> JournalEvent:
        """The next question, or the stop."""
        question, ranking = self.session.ask(), self._ranking()
        if question is None:
            return JournalEvent("stopped", {"reason": self.session.reason, "ranking": ranking, **self._prediction()})
        numbers = ("value", "cost", "value_per_cost", "lookahead_per_cost")
        estimates = {name: getattr(question, name) for name in numbers}
        return JournalEvent("asked", {"name": question.name, **estimates, "ranking": ranking, **self._prediction()})

    def _answer(self, name: str, tell: Callable[[], None]) -> JournalEvent:
        estimates = self._estimates(name)
        tell()
        event = self.session.history[-1]
        kind = "declined" if event.group in self.session.declined else "told"
        return self._changed(kind, name, {"group": event.group, "answers": dict(event.answers), **estimates})

    def _changed(self, kind: str, name: str | None, facts: dict[str, Any]) -> JournalEvent:
        self.revision += 1
        return JournalEvent(kind, {"name": name, **facts, **self._prediction()})

    def _estimates(self, name: str) -> dict[str, Any]:
        """The estimates of a question before it is answered; none for a free column."""
        group = self.session.model.schema.group_of(name)
        question = self.session.ask()
        found = next((c for c in self._ranking() if c["name"] == group), {})
        estimates = {name: value for name, value in found.items() if name != "name"}
        return {"as_asked": question is not None and question.name == group, **estimates}

    def _ranking(self) -> list[dict[str, Any]]:
        from askwise.session.replies import ranking_facts

        return ranking_facts(self.session)

    def _prediction(self) -> dict[str, Any]:
        from askwise.session.replies import prediction_facts

        return {"prediction": prediction_facts(self.session), "spent": self.session.spent}


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
