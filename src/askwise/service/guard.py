"""Who may come in: the host, the token, the other site's page that may not, and a body of bounded size."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import re
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from askwise.service.strict_json import NotStrict, check_json

# Without a token only requests that are addressed to this machine itself are answered: a page of another site, whose
# name was made to point here, is not.
LOCAL_NAMES = ("localhost", "127.0.0.1", "[::1]")
PORT = re.compile(r":[0-9]*\Z")
WITH_BODY = ("POST", "PUT", "PATCH", "DELETE")
BODY_SECONDS = 30.0
# A client that sends too much can read the refusal only after it has sent a while longer.
DRAIN_SECONDS, DRAIN_TIMES = 2.0, 16


def refusal(status: int, message: str, where: str | None = None, headers: dict[str, str] | None = None) -> JSONResponse:
    """The reply to every request that is refused."""
    return JSONResponse({"error": {"message": message, "where": where}}, status, headers)


class HungUp(Exception):
    """The client went away in the middle of a body: what came of it must not be taken for the whole."""


class Guard:
    """Lets a request through to the app, its body read whole, or refuses it."""

    def __init__(
        self, app: ASGIApp, token: str | None, most_bytes: int, open_paths: tuple[str, ...], host: str
    ) -> None:
        self.app = app
        self.local_names = (*LOCAL_NAMES, f"[{host}]" if ":" in host else host.lower())
        self.token = None if token is None else _hashed(token.encode())
        self.most_bytes = most_bytes
        self.open_paths = open_paths

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        refused = self._refused(scope)
        if refused is None and scope["method"] in WITH_BODY:
            body, refused = await self._body(Headers(scope=scope), receive)
            receive = _replayed(body, receive)
        await (refused or self.app)(scope, receive, send)

    def _refused(self, scope: Scope) -> JSONResponse | None:
        headers = Headers(scope=scope)
        if self.token is None:
            return self._from_elsewhere(scope["method"], headers)
        if scope["path"] in self.open_paths or scope["path"].startswith("/web/"):
            return None
        scheme, _, given = headers.get("authorization", "").partition(" ")
        # latin-1 gives the bytes back as they came; digests have one length, so that nothing shows in the time.
        if scheme.lower() == "bearer" and hmac.compare_digest(_hashed(given.strip().encode("latin-1")), self.token):
            return None
        needed = "this server needs a token: send the header 'Authorization: Bearer TOKEN'"
        return refusal(401, needed, headers={"WWW-Authenticate": "Bearer"})

    def _from_elsewhere(self, method: str, headers: Headers) -> JSONResponse | None:
        """Without a token, this machine is trusted, and pages of other sites that run in its browser are not."""
        host = headers.get("host", "").lower()
        if PORT.sub("", host) not in self.local_names:
            return refusal(421, "without a token, only requests to localhost are answered; use that name")
        origin = headers.get("origin")
        is_foreign = origin is not None and urlsplit(origin).netloc.lower() != host
        if method in WITH_BODY and (is_foreign or headers.get("sec-fetch-site") in ("cross-site", "same-site")):
            return refusal(403, "without a token, pages of other sites are not answered; start the server with one")
        return None

    async def _body(self, headers: Headers, receive: Receive) -> tuple[bytes, JSONResponse | None]:
        try:
            async with asyncio.timeout(BODY_SECONDS):
                body, whole = await self._received(receive)
        except TimeoutError:
            return b"", refusal(408, "the body did not come in time", headers={"Connection": "close"})
        except HungUp:
            return b"", refusal(400, "the request was cut off before its body was whole")
        if not whole:
            too_much = f"the body is longer than {self.most_bytes:,} bytes, the most this server takes"
            return b"", refusal(413, too_much, headers={"Connection": "close"})
        if not body:
            return b"", None
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            return b"", refusal(415, "the body must be JSON: send the header 'Content-Type: application/json'")
        try:
            check_json(body)
        except NotStrict as error:
            return b"", refusal(422, str(error), "body")
        return body, None

    async def _received(self, receive: Receive) -> tuple[bytes, bool]:
        """The body, and whether it was within the limit."""
        body, more = bytearray(), True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise HungUp
            body += message.get("body", b"")
            more = message.get("more_body", False)
            if len(body) > self.most_bytes:
                await self._drain(receive, more)
                return b"", False
        return bytes(body), True

    async def _drain(self, receive: Receive, more: bool) -> None:
        count = 0
        try:
            async with asyncio.timeout(DRAIN_SECONDS):
                while more and count < DRAIN_TIMES * self.most_bytes:
                    message = await receive()
                    count += len(message.get("body", b""))
                    more = message.get("more_body", False)
        except TimeoutError:
            return


def _hashed(token: bytes) -> bytes:
    return hashlib.sha256(token).digest()


def _replayed(body: bytes, receive: Receive) -> Receive:
    """A body that was read already, for the app to read again."""
    given = False

    async def replay() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay
