"""Around every request: its headers, its count and time, and a plain reply where something breaks."""

from __future__ import annotations

import logging
import time
import traceback
from collections import Counter
from collections.abc import Callable

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from askwise.service.guard import refusal

logger = logging.getLogger("askwise.service")

WENT_WRONG = "something went wrong in the server; nothing more can be said here"
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
# Everything a page may load or talk to is on this server.
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
    """Counts of requests and times, as Prometheus reads them."""

    def __init__(self) -> None:
        self.requests: Counter[tuple[str, str, int]] = Counter()
        self.seconds: dict[str, float] = {}
        self.within: Counter[tuple[str, float]] = Counter()
        self.gauges: dict[str, tuple[str, str, Callable[[], float]]] = {}

    def add(self, name: str, kind: str, meaning: str, read: Callable[[], float]) -> None:
        """A number that is read when it is asked for; kind: gauge or counter."""
        self.gauges[name] = (kind, meaning, read)

    def count(self, route: str, method: str, status: int, seconds: float) -> None:
        self.requests[route, method, status] += 1
        self.seconds[route] = self.seconds.get(route, 0.0) + seconds
        for most in SECONDS:
            if seconds <= most:
                self.within[route, most] += 1

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
            for most in SECONDS:
                lines.append(
                    f'askwise_request_seconds_bucket{{route="{route}",le="{most:g}"}} {self.within[route, most]}'
                )
            lines.append(f'askwise_request_seconds_bucket{{route="{route}",le="+Inf"}} {n}')
            lines.append(f'askwise_request_seconds_sum{{route="{route}"}} {self.seconds[route]:.6f}')
            lines.append(f'askwise_request_seconds_count{{route="{route}"}} {n}')
        for name, (kind, meaning, read) in self.gauges.items():
            lines += [f"# HELP {name} {meaning}", f"# TYPE {name} {kind}", f"{name} {read()!r}"]
        return "\n".join(lines) + "\n"


class Watch:
    """The outermost layer: nothing that goes wrong below shows more than that it went wrong."""

    def __init__(self, app: ASGIApp, metrics: Metrics, log_requests: bool) -> None:
        self.app = app
        self.metrics = metrics
        self.log_requests = log_requests

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started, status = time.perf_counter(), 0

        async def with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
                # What is said of a case is nobody's to keep on the way; the page's own files set this themselves.
                headers.setdefault("cache-control", "no-store")
            await send(message)

        try:
            await self.app(scope, receive, with_headers)
        except Exception as error:
            logger.error("%s %s: %s", _method(scope), _route(scope), _where(error))
            if not status:
                await refusal(500, WENT_WRONG)(scope, receive, with_headers)
        seconds = time.perf_counter() - started
        self.metrics.count(_route(scope), _method(scope), status, seconds)
        if self.log_requests:
            logger.info("%s %s %d %.1f ms", _method(scope), _route(scope), status, 1000 * seconds)


def _method(scope: Scope) -> str:
    known = ("GET", "POST", "HEAD", "OPTIONS", "PUT", "PATCH", "DELETE")
    return scope["method"] if scope["method"] in known else "other"


def _route(scope: Scope) -> str:
    """The route as it is declared: it holds neither names nor numbers of sessions, and there are few of them."""
    route = scope.get("route")
    return getattr(route, "path", None) or "other"


def _where(error: BaseException) -> str:
    """What kind of error, and the line it came from; its message might hold somebody's data."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f"{frames[-1].filename}:{frames[-1].lineno}" if frames else "unknown place"
    return f"{type(error).__name__} at {place}"
