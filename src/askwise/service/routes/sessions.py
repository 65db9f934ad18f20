"""Routes of stored sessions."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Annotated, Any

from fastapi import APIRouter, Body
from starlette.responses import PlainTextResponse, Response

from askwise.service import bodies, exports
from askwise.service.catalogue import Catalogue
from askwise.service.errors import Conflict
from askwise.service.responses import JSON_ERROR_RESPONSES, json_response
from askwise.service.session_store import SessionStore
from askwise.service.storage import Record
from askwise.service.stored_session import JournalEvent, StoredSession

NO_JOURNAL = "this server keeps no sessions; start it with --journal sqlite:///journal.db, or use POST .../next"
STATE: dict[str, Any] = {"response_model": bodies.SessionState}
OptionalChange = Annotated[bodies.Change | None, Body()]


class CsvResponse(PlainTextResponse):
    media_type = "text/csv"


class SessionRoutes:
    """The routes; without a journal there is no store, and each of them is a conflict."""

    def __init__(self, catalogue: Catalogue, store: SessionStore | None) -> None:
        self.catalogue = catalogue
        self._store = store
        self.router = APIRouter(prefix="/v1", tags=["sessions"])
        self._add_begin_and_state()
        self._add_changes()
        self._add_records()

    @property
    def store(self) -> SessionStore:
        if self._store is None:
            raise Conflict(NO_JOURNAL)
        return self._store

    async def _change(
        self, session: str, revision: int | None, make_change: Callable[[StoredSession], JournalEvent]
    ) -> Response:
        return json_response(await self.store.change(session, revision, make_change))

    def _add_begin_and_state(self) -> None:
        @self.router.post("/models/{name}/sessions", status_code=201, summary="Begin a kept session", **STATE)
        async def begin(name: str, case: Annotated[bodies.Case | None, Body()] = None) -> Response:
            """Every event is committed to the journal before it is acknowledged."""
            case = case or bodies.Case()
            store, served = self.store, self.catalogue.find(name)
            state = await store.begin(served, case.stop, case.prices, case.answers, case.declined, case.prior)
            return json_response(state, 201, {"Location": f"/v1/sessions/{state['id']}"})

        @self.router.get("/sessions/{session}", summary="Where a session is", **STATE)
        async def state(session: str) -> Response:
            return json_response(await self.store.state(session))

    def _add_changes(self) -> None:
        post = self.router.post

        @post("/sessions/{session}/tell", summary="Answer a question", **STATE)
        async def tell(session: str, told: bodies.Tell) -> Response:
            return await self._change(session, told.revision, lambda stored: stored.tell(told.name, told.value))

        @post("/sessions/{session}/decline", summary="A question can't be had", **STATE)
        async def decline(session: str, declined: bodies.Decline) -> Response:
            return await self._change(session, declined.revision, lambda stored: stored.decline(declined.name))

        @post("/sessions/{session}/undo", summary="Take the last answer back", **STATE)
        async def undo(session: str, change: OptionalChange = None) -> Response:
            return await self._change(session, _revision(change), lambda stored: stored.undo())

        @post("/sessions/{session}/stop", summary="End a session", **STATE)
        async def stop(session: str, change: OptionalChange = None) -> Response:
            return await self._change(session, _revision(change), lambda stored: stored.close())

    def _add_records(self) -> None:
        @self.router.get("/sessions/{session}/record", response_model=bodies.SessionRecord)
        async def record(session: str) -> Response:
            """Every event from the beginning, with the estimates of that moment."""
            return await asyncio.to_thread(_record_response, await self.store.record(session))

        @self.router.get("/sessions/{session}/record.csv", response_class=CsvResponse, responses=JSON_ERROR_RESPONSES)
        async def record_csv(session: str) -> Response:
            """The same, a line an event."""
            text = await asyncio.to_thread(exports.record_csv, await self.store.record(session))
            return CsvResponse(text, headers={"Content-Disposition": f'attachment; filename="session-{session}.csv"'})


def _record_response(record: Record) -> Response:
    return json_response(exports.record_json(record))


def _revision(change: bodies.Change | None) -> int | None:
    return None if change is None else change.revision
