"""The routes: each parses, calls one function and formats."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Annotated, Any

from fastapi import Body, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, PlainTextResponse, RedirectResponse, Response
from starlette.exceptions import HTTPException
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from askwise._version import __version__
from askwise.core.errors import AskwiseError, unknown_name
from askwise.model.file import plain
from askwise.service import bodies, exports
from askwise.service.catalogue import Catalogue, Served, Terms
from askwise.service.guard import Guard, refusal
from askwise.service.refusals import Conflict, Refusal
from askwise.service.request_logging import WENT_WRONG, Metrics, Watch
from askwise.service.sessions import KeptSessions
from askwise.service.storage import Journal, Record

WEB = FilePath(__file__).parent / "web"
# What a browser may load before anybody has given a token: the page, and whether the server is there.
OPEN_PATHS = ("/", "/healthz", "/favicon.ico")
LONGEST_MESSAGE = 600
NO_JOURNAL = "this server keeps no sessions; start it with --journal sqlite:///journal.db, or use POST .../next"
REFUSALS: dict[int | str, dict[str, Any]] = {
    401: {"model": bodies.Error, "description": "The token is missing or wrong."},
    403: {"model": bodies.Error, "description": "Without a token, a page of another site."},
    404: {"model": bodies.Error, "description": "There is no such model or session."},
    409: {"model": bodies.Error, "description": "The state of the session forbids it."},
    413: {"model": bodies.Error, "description": "The body is too long."},
    415: {"model": bodies.Error, "description": "The body is not JSON."},
    421: {"model": bodies.Error, "description": "Without a token, another host name than localhost."},
    422: {"model": bodies.Error, "description": "The body can't be meant; the message says why."},
    429: {"model": bodies.Error, "description": "Too many sessions are open."},
    503: {"model": bodies.Error, "description": "The journal can't be reached; the message says what that means."},
}


# Of a route whose own reply is text, FastAPI would say that its refusals are text too.
JSON_REFUSALS: dict[int | str, dict[str, Any]] = {
    status: {
        "description": refused["description"],
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
    }
    for status, refused in REFUSALS.items()
}


class CsvResponse(PlainTextResponse):
    media_type = "text/csv"


@dataclass(frozen=True)
class Limits:
    """What the service takes at most."""

    sessions: int = 10_000
    idle_seconds: float = 3600.0
    rows: int = 1000
    body_bytes: int = 1_048_576


def create_app(
    catalogue: Catalogue,
    journal: Journal | None = None,
    token: str | None = None,
    limits: Limits | None = None,
    log_requests: bool = False,
    host: str = "127.0.0.1",
) -> ASGIApp:
    """The whole service, ready for any ASGI server. Without a token it answers to localhost and to `host`."""
    metrics, limits = Metrics(), limits or Limits()
    app = _app(catalogue, journal, limits, metrics)
    return Watch(Guard(app, token, limits.body_bytes, OPEN_PATHS, host), metrics, log_requests)


def _app(catalogue: Catalogue, journal: Journal | None, limits: Limits, metrics: Metrics) -> FastAPI:
    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        if kept is not None:
            await asyncio.to_thread(kept.close)

    # Documentation pages would load scripts from another host; the document itself is at /v1/openapi.json.
    app = FastAPI(
        title="askwise",
        version=__version__,
        description="Which question to ask next, for this case, and when to stop asking.",
        docs_url=None,
        redoc_url=None,
        openapi_url="/v1/openapi.json",
        lifespan=lifespan,
        # A redirect would be to whatever host the request names.
        redirect_slashes=False,
        responses=REFUSALS,
    )
    kept = None if journal is None else KeptSessions(catalogue, journal, limits.sessions, limits.idle_seconds)
    metrics.add("askwise_models", "gauge", "Models served.", lambda: len(catalogue.models))
    if kept is not None and journal is not None:
        metrics.add("askwise_sessions_open", "gauge", "Kept sessions in memory.", lambda: kept.n_open)
        metrics.add("askwise_journal_commits_total", "counter", "Commits of the journal.", lambda: journal.commits)
    _handle_errors(app)
    _add_models(app, catalogue, limits)
    _add_sessions(app, catalogue, kept)
    _add_health(app, metrics)
    _add_page(app)
    return app


def _add_models(app: FastAPI, catalogue: Catalogue, limits: Limits) -> None:
    @app.get("/v1/models", response_model=bodies.Models, tags=["models"], summary="All models")
    async def models() -> Response:
        return reply({"models": [_entry(served) for served in catalogue.models.values()]})

    @app.get("/v1/models/{name}", response_model=bodies.ModelFacts, tags=["models"], summary="All about a model")
    async def model(name: str) -> Response:
        return reply(catalogue.find(name).facts)

    @app.get("/v1/models/{name}/examples", response_model=bodies.Examples, tags=["models"], summary="Example photos")
    async def examples(name: str) -> Response:
        """Photos at the model's size, where the server was started with --examples; of tables there are none."""
        return reply({"examples": list(catalogue.find(name).examples)})

    @app.post("/v1/models/{name}/next", response_model=bodies.Reply, tags=["stateless"], summary="What to ask next")
    async def next_question(name: str, case: bodies.Case) -> Response:
        """Everything that is known goes in, the next question comes out; nothing is kept."""
        served = catalogue.find(name)
        return reply(await served.run(_next, served, served.terms(case.stop, case.costs), case))

    @app.post("/v1/models/{name}/batch", response_model=bodies.BatchReply, tags=["stateless"], summary="Many at once")
    async def batch(name: str, cases: bodies.Batch) -> Response:
        """The same as `next` for each of many rows."""
        served = catalogue.find(name)
        if len(cases.rows) > limits.rows:
            raise Refusal(f"the batch has {len(cases.rows)} rows; at most {limits.rows} are taken at once (--max-rows)")
        return await asyncio.to_thread(_batch, served, cases)

    @app.post("/v1/models/{name}/sketch", response_model=bodies.Sketch, tags=["stateless"], summary="Sketch an image")
    async def sketch(name: str, whole: bodies.Whole) -> Response:
        """The edges of a whole image, for a model that takes them for nothing; nothing is kept."""
        return reply(await asyncio.to_thread(catalogue.find(name).sketch, whole.image))


def _add_sessions(app: FastAPI, catalogue: Catalogue, kept: KeptSessions | None) -> None:
    def keeping() -> KeptSessions:
        if kept is None:
            raise Conflict(NO_JOURNAL)
        return kept

    about: dict[str, Any] = {"response_model": bodies.SessionState, "tags": ["sessions"]}

    @app.post("/v1/models/{name}/sessions", status_code=201, summary="Begin a kept session", **about)
    async def begin(name: str, case: Annotated[bodies.Case | None, Body()] = None) -> Response:
        """Every event is committed to the journal before it is acknowledged."""
        case = case or bodies.Case()
        sessions, served = keeping(), catalogue.find(name)
        state = await sessions.begin(served, case.stop, case.costs, case.answers, case.declined)
        return reply(state, 201, {"Location": f"/v1/sessions/{state['id']}"})

    @app.get("/v1/sessions/{session}", summary="Where a session is", **about)
    async def state(session: str) -> Response:
        return reply(await keeping().state(session))

    @app.post("/v1/sessions/{session}/tell", summary="Answer a question", **about)
    async def tell(session: str, told: bodies.Tell) -> Response:
        return reply(await keeping().change(session, told.revision, lambda kept: kept.tell(told.name, told.value)))

    @app.post("/v1/sessions/{session}/decline", summary="A question can't be had", **about)
    async def decline(session: str, declined: bodies.Decline) -> Response:
        return reply(await keeping().change(session, declined.revision, lambda kept: kept.decline(declined.name)))

    @app.post("/v1/sessions/{session}/undo", summary="Take the last answer back", **about)
    async def undo(session: str, change: Annotated[bodies.Change | None, Body()] = None) -> Response:
        return reply(await keeping().change(session, _revision(change), lambda kept: kept.undo()))

    @app.post("/v1/sessions/{session}/stop", summary="End a session", **about)
    async def stop(session: str, change: Annotated[bodies.Change | None, Body()] = None) -> Response:
        return reply(await keeping().change(session, _revision(change), lambda kept: kept.close()))

    @app.get("/v1/sessions/{session}/record", response_model=bodies.SessionRecord, tags=["sessions"])
    async def record(session: str) -> Response:
        """Every event from the beginning, with the estimates of that moment."""
        return await asyncio.to_thread(_exported, await keeping().record(session))

    @app.get(
        "/v1/sessions/{session}/record.csv", response_class=CsvResponse, responses=JSON_REFUSALS, tags=["sessions"]
    )
    async def record_csv(session: str) -> Response:
        """The same, a line an event."""
        text = await asyncio.to_thread(exports.as_csv, await keeping().record(session))
        named = {"Content-Disposition": f'attachment; filename="session-{session}.csv"'}
        return CsvResponse(text, headers=named)


def _add_health(app: FastAPI, metrics: Metrics) -> None:
    @app.get("/healthz", tags=["health"], summary="Whether the server is there")
    async def health() -> dict[str, str]:
        return {"status": "ok", "version": __version__}

    @app.get(
        "/metrics",
        response_class=PlainTextResponse,
        responses=JSON_REFUSALS,
        tags=["health"],
        summary="Counts, as Prometheus reads them",
    )
    async def counts() -> Response:
        return Response(metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")


def _add_page(app: FastAPI) -> None:
    @app.get("/", include_in_schema=False)
    async def page() -> Response:
        return FileResponse(WEB / "index.html", headers={"Cache-Control": "no-cache"})

    @app.get("/favicon.ico", include_in_schema=False)
    async def icon() -> Response:
        return RedirectResponse("web/icon.svg")

    app.mount("/web", Files(directory=WEB), name="web")


class Files(StaticFiles):
    """The page's own files, asked for anew each time: an upgrade shows at once."""

    def file_response(self, *args: Any, **kwargs: Any) -> Response:
        response = super().file_response(*args, **kwargs)
        response.headers["Cache-Control"] = "no-cache"
        return response


def _handle_errors(app: FastAPI) -> None:
    @app.exception_handler(AskwiseError)
    async def mistaken(_: Request, error: AskwiseError) -> Response:
        return refusal(getattr(error, "status", 422), _shortened(str(error)), error.about and _shortened(error.about))

    @app.exception_handler(RequestValidationError)
    async def misshapen(_: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        where = _shortened(".".join(str(part) for part in first["loc"]))
        return refusal(422, _shortened(f"{where} {_said_of(first)}"), where)

    @app.exception_handler(HTTPException)
    async def refused(_: Request, error: HTTPException) -> Response:
        return refusal(error.status_code, str(error.detail), headers=dict(error.headers or {}))

    @app.exception_handler(Exception)
    async def broken(_: Request, __: Exception) -> Response:
        # The error itself goes on to the watch, which logs where it came from.
        return refusal(500, WENT_WRONG)


def reply(facts: dict[str, Any], status: int = 200, headers: dict[str, str] | None = None) -> Response:
    try:
        text = json.dumps(facts, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except (ValueError, TypeError):
        # A number that is not finite, or one of numpy's.
        text = json.dumps(plain(facts), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return Response(text, status, headers, "application/json")


def _entry(served: Served) -> dict[str, Any]:
    facts = served.facts
    return {name: facts[name] for name in ("name", "target", "task", "fingerprint")} | {
        "n_questions": len(facts["questions"])
    }


def _next(served: Served, terms: Terms, known: bodies.Known) -> dict[str, Any]:
    return terms.told(served.session(terms, known.answers, known.declined))


def _exported(record: Record) -> Response:
    return reply(exports.as_facts(record))


def _batch(served: Served, cases: bodies.Batch) -> Response:
    terms = served.terms(cases.stop, cases.costs)
    found = []
    for i, row in enumerate(cases.rows):
        try:
            found.append(_next(served, terms, row))
        except AskwiseError as error:
            raise Refusal(f"row {i}: {error}", about=f"rows.{i}") from None
    return reply({"rows": found})


def _said_of(error: dict[str, Any]) -> str:
    """What is wrong with a part of a body, without the part itself."""
    if error["type"] == "extra_forbidden":
        return f"can't be there: {unknown_name('key', error['loc'][-1], bodies.REQUEST_KEYS)}"
    words = {
        "missing": "is needed and was not given",
        "greater_than_equal": "must be at least {ge}",
        "less_than_equal": "must be at most {le}",
        "string_too_long": "is too long; at most {max_length} characters are taken",
    }.get(error["type"])
    if words is None:
        # Pydantic's own words begin "Input should be a valid ...".
        return error["msg"].replace("Input should", "should", 1)
    return words.format(**error.get("ctx", {}))


def _revision(change: bodies.Change | None) -> int | None:
    return None if change is None else change.revision


def _shortened(text: str) -> str:
    # Half a character can't be sent.
    text = text.encode("utf-8", "backslashreplace").decode()
    return text if len(text) <= LONGEST_MESSAGE else f"{text[:LONGEST_MESSAGE]} ..."
