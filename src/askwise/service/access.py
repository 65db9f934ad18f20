"""Access control: refuses a request before its route sees it."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import re
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from askwise.service.errors import error_response
from askwise.service.middleware import HttpMiddleware
from askwise.service.strict_json import InvalidJson, check_json

# Without a token only requests to these names are answered. That stops DNS rebinding: a site of another name that
# points to this machine.
LOCAL_NAMES = ("localhost", "127.0.0.1", "[::1]")
PORT = re.compile(r":[0-9]*\Z")
METHODS_WITH_BODY = ("POST", "PUT", "PATCH", "DELETE")
BODY_SECONDS = 30.0
# A client that sends too much reads the reply only after it has sent a while longer.
DRAIN_SECONDS, DRAIN_FACTOR = 2.0, 16


class Disconnected(Exception):
    """The client left in the middle of a body: the part that came must not be taken for the whole."""


class AccessControl(HttpMiddleware):
    """Passes an allowed request on with its whole body, or replies with an error."""

    def __init__(
        self, app: ASGIApp, token: str | None, max_body_bytes: int, open_paths: tuple[str, ...], host: str
    ) -> None:
        super().__init__(app)
        self.local_names = (*LOCAL_NAMES, f"[{host}]" if ":" in host else host.lower())
        self.token = None if token is None else _sha256(token.encode())
        self.max_body_bytes = max_body_bytes
        self.open_paths = open_paths

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        error = self._check_access(scope)
        if error is None and scope["method"] in METHODS_WITH_BODY:
            body, error = await self._read_body(Headers(scope=scope), receive)
            receive = _replay(body, receive)
        await (error or self.app)(scope, receive, send)

    def _check_access(self, scope: Scope) -> JSONResponse | None:
        """The error reply to a request that is not allowed, else None."""
        headers = Headers(scope=scope)
        if self.token is None:
            return self._check_origin(scope["method"], headers)
        if scope["path"] in self.open_paths or scope["path"].startswith("/web/"):
            return None
        scheme, _, given = headers.get("authorization", "").partition(" ")
        # latin-1 gives the bytes back as they came. Digests have one length, so the time tells nothing.
        if scheme.lower() == "bearer" and hmac.compare_digest(_sha256(given.strip().encode("latin-1")), self.token):
            return None
        needed = "this server needs a token: send the header 'Authorization: Bearer TOKEN'"
        return error_response(401, needed, headers={"WWW-Authenticate": "Bearer"})

    def _check_origin(self, method: str, headers: Headers) -> JSONResponse | None:
        """Without a token, trust this machine, but not the pages of other sites in its browser."""
        host = headers.get("host", "").lower()
        if PORT.sub("", host) not in self.local_names:
            return error_response(421, "without a token, only requests to localhost are answered; use that name")
        origin = headers.get("origin")
        is_foreign = origin is not None and urlsplit(origin).netloc.lower() != host
        if method in METHODS_WITH_BODY and (is_foreign or headers.get("sec-fetch-site") in ("cross-site", "same-site")):
            return error_response(
                403, "without a token, pages of other sites are not answered; start the server with one"
            )
        return None

    async def _read_body(self, headers: Headers, receive: Receive) -> tuple[bytes, JSONResponse | None]:
        try:
            async with asyncio.timeout(BODY_SECONDS):
                body, whole = await self._receive_body(receive)
        except TimeoutError:
            return b"", error_response(408, "the body did not come in time", headers={"Connection": "close"})
        except Disconnected:
            return b"", error_response(400, "the request was cut off before its body was whole")
        if not whole:
            too_much = f"the body is longer than {self.max_body_bytes:,} bytes, the most this server takes"
            return b"", error_response(413, too_much, headers={"Connection": "close"})
        if not body:
            return b"", None
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            return b"", error_response(415, "the body must be JSON: send the header 'Content-Type: application/json'")
        try:
            check_json(body)
        except InvalidJson as error:
            return b"", error_response(422, str(error), "body")
        return body, None

    async def _receive_body(self, receive: Receive) -> tuple[bytes, bool]:
        """The body, and whether it is within the limit."""
        body, more = bytearray(), True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise Disconnected
            body += message.get("body", b"")
            more = message.get("more_body", False)
            if len(body) > self.max_body_bytes:
                await self._drain(receive, more)
                return b"", False
        return bytes(body), True

    async def _drain(self, receive: Receive, more: bool) -> None:
        """Read on for a while, so that the client gets to read the reply."""
        count = 0
        try:
            async with asyncio.timeout(DRAIN_SECONDS):
                while more and count < DRAIN_FACTOR * self.max_body_bytes:
                    message = await receive()
                    count += len(message.get("body", b""))
                    more = message.get("more_body", False)
        except TimeoutError:
            return


def _sha256(token: bytes) -> bytes:
    return hashlib.sha256(token).digest()


def _replay(body: bytes, receive: Receive) -> Receive:
    """Give the app a body that was read already."""
    sent = False

    async def replay() -> Message:
        nonlocal sent
        if sent:
            return await receive()
        sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay
