"""A running `askwise serve`, and clients that keep their connection open."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit
from urllib.request import urlopen


class Client:
    """One connection that is kept open, with just enough HTTP."""

    def __init__(self, host: str, port: int) -> None:
        self.address = host, port
        self.reader: asyncio.StreamReader | None = None

    async def call(self, method: str, path: str, body: dict[str, Any] | None = None) -> tuple[int, bytes]:
        if self.reader is None:
            self.reader, self.writer = await asyncio.open_connection(*self.address)
        data = b"" if body is None else json.dumps(body).encode()
        head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        self.writer.write(f"{head}Content-Length: {len(data)}\r\n\r\n".encode() + data)
        start = await self.reader.readuntil(b"\r\n\r\n")
        status = int(start[9:12])
        at = start.lower().index(b"content-length:") + 15
        length = int(start[at : start.index(b"\r\n", at)])
        return status, await self.reader.readexactly(length)

    async def close(self) -> None:
        if self.reader is not None:
            self.writer.close()


class Server:
    """A running server: where it listens, its process, and the model it serves."""

    def __init__(self, pid: int, url: str, name: str) -> None:
        self.pid = pid
        self.url = url
        self.host, self.port = str(urlsplit(url).hostname), int(urlsplit(url).port or 80)
        self.path = f"/v1/models/{quote(name)}"
        self.model = json.loads(self.get(self.path))
        penalties = [point["penalty"] for point in self.model["frontier"]]
        self.stop = f"penalty={penalties[len(penalties) // 2]:g}"

    def client(self) -> Client:
        return Client(self.host, self.port)

    def get(self, path: str) -> str:
        with urlopen(f"http://{self.host}:{self.port}{path}") as reply:
            return reply.read().decode()

    def memory(self) -> float:
        pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
        return round(pages * os.sysconf("SC_PAGE_SIZE") / 2**20, 1)

    def commits(self) -> int:
        lines = self.get("/metrics").splitlines()
        return int(next(line for line in lines if line.startswith("askwise_journal_commits_total")).split()[1])


@contextmanager
def served(model: Path, folder: Path, examples: Path | None = None, in_thread: bool = False) -> Iterator[Server]:
    """Serve a model with a journal in a folder, in a process of its own.

    in_thread: in a thread of this process instead, which starts in a moment.
    """
    journal, name = f"sqlite:///{folder / 'journal.db'}", model.name.removesuffix(".askwise")
    if in_thread:
        with _thread(model, journal, examples) as url:
            yield Server(os.getpid(), url, name)
        return
    command = [sys.executable, "-m", "askwise", "serve", str(model), "--port", "0", "--json", "--journal", journal]
    command += [] if examples is None else ["--examples", str(examples)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        yield Server(process.pid, json.loads(process.stdout.readline())["url"], name)
    finally:
        process.terminate()
        process.wait()


@contextmanager
def _thread(model: Path, journal: str, examples: Path | None) -> Iterator[str]:
    """The address of a server in a thread."""
    import uvicorn

    from askwise.service.app import create_app
    from askwise.service.catalogue import Catalogue
    from askwise.service.server import address_of, bind
    from askwise.service.storage import Journal

    bound = bind("127.0.0.1", 0, has_token=False)
    app = create_app(Catalogue.read([model], examples), Journal(journal))
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, access_log=False, timeout_graceful_shutdown=5))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]}, daemon=True)
    thread.start()
    try:
        while thread.is_alive() and not server.started:
            time.sleep(0.01)
        yield address_of(bound)
    finally:
        server.should_exit = True
        thread.join(20)
        bound.close()
