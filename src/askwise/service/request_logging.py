"""The outermost middleware: security headers, metrics, a log line, and a plain reply to an unexpected error."""

from __future__ import annotations

import logging
import time
import traceback
from collections import Counter
from collections.abc import Callable

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from askwise.service.errors import INTERNAL_ERROR, error_response
from askwise.service.middleware import HttpMiddleware

logger = logging.getLogger("askwise.service")

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
# The page may load and talk to nothing but this server.
CONTENT_SECURITY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": CONTENT_SECURITY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}


class Metrics:
    """Counts and times of requests, in the format of Prometheus."""

    def __init__(self) -> None:
        self.requests: Counter[tuple[str, str, int]] = Counter()
        self.seconds: dict[str, float] = {}
        self.buckets: Counter[tuple[str, float]] = Counter()
        self.gauges: dict[str, tuple[str, str, Callable[[], float]]] = {}

    def add(self, name: str, kind: str, meaning: str, read: Callable[[], float]) -> None:
        """Add a number that is read whenever the metrics are; kind: gauge or counter."""
        self.gauges[name] = (kind, meaning, read)

    def count(self, route: str, method: str, status: int, seconds: float) -> None:
        self.requests[route, method, status] += 1
        self.seconds[route] = self.seconds.get(route, 0.0) + seconds
        for most in BUCKETS:
            if seconds <= most:
                self.buckets[route, most] += 1

    def text(self) -> str:
        lines = ["# HELP askwise_requests_total Requests answered.", "# TYPE askwise_requests_total counter"]
        for (route, method, status), n in sorted(self.requests.items()):
            lines.append(f'askwise_requests_total{{route="{route}",method="{method}",status="{status}"}} {n}')
        lines.append("# HELP askwise_request_seconds Time from a request to its reply.")
        lines.append("# TYPE askwise_request_seconds histogram")
        totals: Counter[str] = Counter()
        for (route, _, _), n in self.requests.items():
            totals[route] += n
        for route, n in sorted(totals.items()):
            for most in BUCKETS:
                lines.append(
                    f'askwise_request_seconds_bucket{{route="{route}",le="{most:g}"}} {self.buckets[route, most]}'
                )
            lines.append(f'askwise_request_seconds_bucket{{route="{route}",le="+Inf"}} {n}')
            lines.append(f'askwise_request_seconds_sum{{route="{route}"}} {self.seconds[route]:.6f}')
            lines.append(f'askwise_request_seconds_count{{route="{route}"}} {n}')
        for name, (kind, meaning, read) in self.gauges.items():
            lines += [f"# HELP {name} {meaning}", f"# TYPE {name} {kind}", f"{name} {read()!r}"]
        return "\n".join(lines) + "\n"


class RequestLogging(HttpMiddleware):
    """Counts and logs each request. Of an unexpected error, the client is told only that it happened."""

    def __init__(self, app: ASGIApp, metrics: Metrics, log_requests: bool) -> None:
        super().__init__(app)
        self.metrics = metrics
        self.log_requests = log_requests

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        started, status = time.perf_counter(), 0

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
                # No cache on the way may keep a case. The page's own files set this themselves.
                headers.setdefault("cache-control", "no-store")
            await send(message)

        try:
            await self.app(scope, receive, send_with_headers)
        except Exception as error:
            logger.error("%s %s: %s", _method(scope), _route(scope), _error_place(error))
            if not status:
                await error_response(500, INTERNAL_ERROR)(scope, receive, send_with_headers)
        seconds = time.perf_counter() - started
        self.metrics.count(_route(scope), _method(scope), status, seconds)
        if self.log_requests:
            logger.info("%s %s %d %.1f ms", _method(scope), _route(scope), status, 1000 * seconds)


def _method(scope: Scope) -> str:
    known = ("GET", "POST", "HEAD", "OPTIONS", "PUT", "PATCH", "DELETE")
    return scope["method"] if scope["method"] in known else "other"


def _route(scope: Scope) -> str:
    """The route as declared: it holds no names of models or sessions, and there are few routes."""
    route = scope.get("route")
    return getattr(route, "path", None) or "other"


def _error_place(error: BaseException) -> str:
    """The type of an error and its line. Its message might hold somebody's data."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f"{frames[-1].filename}:{frames[-1].lineno}" if frames else "unknown place"
    return f"{type(error).__name__} at {place}"
