"""Routes for probes and for Prometheus."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import PlainTextResponse, Response

from askwise._version import __version__
from askwise.service.request_logging import Metrics
from askwise.service.responses import JSON_ERROR_RESPONSES


def health_routes(metrics: Metrics) -> APIRouter:
    router = APIRouter(tags=["health"])

    @router.get("/healthz", summary="Whether the server is there")
    async def health() -> dict[str, str]:
        return {"status": "ok", "version": __version__}

    @router.get(
        "/metrics",
        response_class=PlainTextResponse,
        responses=JSON_ERROR_RESPONSES,
        summary="Counts, as Prometheus reads them",
    )
    async def counts() -> Response:
        return Response(metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")

    return router
