"""The ASGI app: routes, error handlers and middleware put together."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from fastapi import FastAPI
from starlette.types import ASGIApp

from askwise._version import __version__
from askwise.service.access import AccessControl
from askwise.service.catalogue import Catalogue
from askwise.service.request_logging import Metrics, RequestLogging
from askwise.service.responses import ERROR_RESPONSES, add_error_handlers
from askwise.service.routes.health import health_routes
from askwise.service.routes.models import model_routes, stateless_routes
from askwise.service.routes.page import add_page
from askwise.service.routes.sessions import SessionRoutes
from askwise.service.session_store import SessionStore
from askwise.service.storage import Journal

# What a browser may load before anybody has given a token: the page, and whether the server is there.
OPEN_PATHS = ("/", "/healthz", "/favicon.ico")


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
    """The whole service, for any ASGI server. Without a token it answers only to localhost and to `host`."""
    metrics, limits = Metrics(), limits or Limits()
    store = None if journal is None else SessionStore(catalogue, journal, limits.sessions, limits.idle_seconds)
    app = _create_fastapi(store)
    add_error_handlers(app)
    app.include_router(model_routes(catalogue))
    app.include_router(stateless_routes(catalogue, limits.rows))
    app.include_router(SessionRoutes(catalogue, store).router)
    app.include_router(health_routes(metrics))
    add_page(app)
    _add_metrics(metrics, catalogue, store)
    return RequestLogging(AccessControl(app, token, limits.body_bytes, OPEN_PATHS, host), metrics, log_requests)


def _create_fastapi(store: SessionStore | None) -> FastAPI:
    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        if store is not None:
            await asyncio.to_thread(store.close)

    # Documentation pages would load scripts from another host; the document itself is at /v1/openapi.json.
    return FastAPI(
        title="askwise",
        version=__version__,
        description="Which question to ask next, for this case, and when to stop asking.",
        docs_url=None,
        redoc_url=None,
        openapi_url="/v1/openapi.json",
        lifespan=lifespan,
        # A redirect would be to whatever host the request names.
        redirect_slashes=False,
        responses=ERROR_RESPONSES,
    )


def _add_metrics(metrics: Metrics, catalogue: Catalogue, store: SessionStore | None) -> None:
    metrics.add("askwise_models", "gauge", "Models served.", lambda: len(catalogue.models))
    if store is not None:
        journal = store.journal
        metrics.add("askwise_sessions_open", "gauge", "Kept sessions in memory.", lambda: store.n_open)
        metrics.add("askwise_journal_commits_total", "counter", "Commits of the journal.", lambda: journal.commits)
