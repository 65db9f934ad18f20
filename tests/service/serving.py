"""Servers that tests talk to over real sockets: in a thread of this process, or as a process of their own."""

from __future__ import annotations

import contextlib
import http.client
import json
import signal
import socket
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from urllib.parse import urlsplit

import pytest
import uvicorn
from typer.testing import CliRunner

from askwise.cli import app as cli
from askwise.service.server import bind

START_SECONDS = 60
# A child inherits an ignored SIGINT, as under nohup, and Python then leaves it ignored.
MAIN = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); from askwise.cli import main; main()"
COMMAND = [sys.executable, "-c", MAIN, "serve"]


@dataclass(frozen=True)
class Reply:
    """What came back, its headers by their names in small letters."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def facts(self):
        return json.loads(self.body)

    @property
    def message(self):
        return self.facts["error"]["message"]

    @property
    def where(self):
        return self.facts["error"]["where"]


@dataclass(frozen=True)
class Client:
    """A program that talks to a server; `headers` go with each of its requests."""

    port: int
    headers: tuple[tuple[str, str], ...] = ()

    def send(self, method, path, body=None, **headers):
        """One request; a body of bytes, or parts of one (sent chunked), goes as it is, anything else as JSON."""
        named = {"Content-Type": "application/json", **dict(self.headers)}
        named |= {name.replace("_", "-"): value for name, value in headers.items()}
        in_parts = isinstance(body, list) and all(isinstance(part, bytes) for part in body) and bool(body)
        if body is not None and not isinstance(body, bytes) and not in_parts:
            body = json.dumps(body).encode()
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        with contextlib.closing(connection):
            connection.request(method, path, body, named, encode_chunked=in_parts)
            reply = connection.getresponse()
            return Reply(reply.status, {k.lower(): v for k, v in reply.getheaders()}, reply.read())

    def get(self, path, **headers):
        return self.send("GET", path, **headers)

    def post(self, path, body=None, **headers):
        return self.send("POST", path, body, **headers)

    def raw(self, data, seconds=10.0, half_close=True):
        """Send bytes as they are and hang up; everything that came back until the server hung up."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=seconds) as talk:
            with contextlib.suppress(OSError):
                talk.sendall(data)
                if half_close:
                    talk.shutdown(socket.SHUT_WR)
            found = bytearray()
            with contextlib.suppress(OSError):
                while part := talk.recv(65536):
                    found += part
            return bytes(found)


@contextlib.contextmanager
def running(app):
    """Serve an app from a thread of this process."""
    bound = bind("127.0.0.1", 0, has_token=False)
    config = uvicorn.Config(app, log_config=None, log_level="error", access_log=False, timeout_graceful_shutdown=5)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]}, daemon=True)
    thread.start()
    try:
        wait_until(lambda: server.started or not thread.is_alive())
        assert server.started
        yield Client(bound.getsockname()[1])
    finally:
        server.should_exit = True
        thread.join(20)
        bound.close()
        assert not thread.is_alive()


def wait_until(is_so, seconds=20.0):
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end, "it did not come about"
        time.sleep(0.005)


@dataclass
class Command:
    """An `askwise` command that serves: its client, and, once it has ended, its result."""

    client: Client
    result: object = None


@contextlib.contextmanager
def command(*args):
    """Run an `askwise` command that serves, in a thread of this process; it ends with the block."""
    servers, results = [], []

    class Recorded(uvicorn.Server):
        def __init__(self, config):
            super().__init__(config)
            servers.append(self)

    def run():
        results.append(CliRunner().invoke(cli, [*map(str, args), "--port", "0", "--json"]))

    thread = threading.Thread(target=run, daemon=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(uvicorn, "Server", Recorded)
        thread.start()
        try:
            wait_until(lambda: (servers and servers[0].started) or not thread.is_alive(), START_SECONDS)
            assert thread.is_alive(), results
            made = Command(Client(servers[0].servers[0].sockets[0].getsockname()[1]))
            yield made
        finally:
            for server in servers:
                server.should_exit = True
            thread.join(20)
            assert not thread.is_alive()
        made.result = results[0]


@dataclass
class Service:
    """`askwise serve` as a process."""

    process: subprocess.Popen
    client: Client

    def kill(self):
        """As when the machine loses its power: nothing is finished."""
        self.process.kill()
        self.process.wait(20)

    def end(self, by=signal.SIGTERM):
        """As by Ctrl-C or the system: what is in hand is answered first."""
        self.process.send_signal(by)
        return self.process.wait(20)


@contextlib.contextmanager
def started(*args, stderr=subprocess.DEVNULL, port=0):
    """`askwise serve` with these arguments, once it can be talked to."""
    command = [*COMMAND, *map(str, args), "--port", str(port), "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stderr, text=True)
    # Ends the wait for a line that never comes.
    limit = threading.Timer(START_SECONDS, process.kill)
    limit.start()
    try:
        line = process.stdout.readline()
        limit.cancel()
        assert line, f"the server did not start: {process.poll()}"
        yield Service(process, Client(urlsplit(json.loads(line)["url"]).port))
    finally:
        limit.cancel()
        if process.poll() is None:
            process.kill()
        process.wait(20)
        process.stdout.close()
