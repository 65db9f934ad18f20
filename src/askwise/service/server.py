"""Binding to an address and serving from it until told to stop."""

from __future__ import annotations

import errno
import ipaddress
import logging
import socket
import sys
from pathlib import Path

import uvicorn
from starlette.types import ASGIApp

from askwise.core.errors import AskwiseError

SHORTEST_TOKEN = 16


def read_token(path: Path) -> str:
    """The token in a file: one line of visible ASCII."""
    if not path.is_file():
        raise AskwiseError(f"there is no file {path} with a token")
    try:
        token = path.read_text(encoding="utf-8").strip()
    except UnicodeDecodeError:
        token = ""
    if len(token) < SHORTEST_TOKEN or not token.isascii() or not token.isprintable() or " " in token:
        raise AskwiseError(
            f"{path} must hold a token of at least {SHORTEST_TOKEN} letters, digits or signs on one line, without "
            "spaces; make one with: python -c 'import secrets; print(secrets.token_urlsafe())'"
        )
    return token


def bind(host: str, port: int, has_token: bool) -> socket.socket:
    """A socket that listens; elsewhere than on loopback only where a token is needed."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (socket.gaierror, UnicodeError):
        raise AskwiseError(f"--host {host}: there is no such address; use 127.0.0.1, or 0.0.0.0 for all") from None
    family, kind, protocol, _, address = found[0]
    if not has_token and not all(_is_loopback(str(a[4][0])) for a in found):
        raise AskwiseError(
            f"--host {host} can be reached from other machines, so a token is needed: --token-file FILE; "
            "without one, only 127.0.0.1 or localhost is served"
        )
    bound = socket.socket(family, kind, protocol)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
        bound.listen(1024)
    except OSError as error:
        bound.close()
        raise AskwiseError(f"can't listen on {host}, port {port}: {_why(error)}") from None
    return bound


def _is_loopback(address: str) -> bool:
    return ipaddress.ip_address(address.partition("%")[0]).is_loopback


def _why(error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return "another program does; choose another --port, or 0 for any that is free"
    if error.errno == errno.EACCES:
        return "ports below 1024 are the system's; choose another --port"
    return str(error.strerror or error)


def address_of(bound: socket.socket) -> str:
    """Where a browser finds a socket."""
    host, port = bound.getsockname()[:2]
    if host in ("0.0.0.0", "::"):
        host = "127.0.0.1"
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


def serve(app: ASGIApp, bound: socket.socket) -> None:
    """Serve until a signal comes; requests in hand are answered first."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    own = logging.getLogger("askwise.service")
    own.addHandler(handler)
    own.setLevel(logging.INFO)
    config = uvicorn.Config(
        app,
        log_config=None,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        ws="none",
        timeout_keep_alive=65,
        timeout_graceful_shutdown=5,
    )
    try:
        uvicorn.Server(config).run(sockets=[bound])
    finally:
        own.removeHandler(handler)
