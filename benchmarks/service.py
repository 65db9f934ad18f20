"""Load on `askwise serve` from a second process: rates, waiting times, errors, memory.

python benchmarks/service.py [--model heart.askwise] [--seconds 15] [--requests 100000]

The server runs in a process of its own on loopback, with a journal on SQLite; this process is all its clients. Without
a model, one is trained on scikit-learn's breast cancer data. Figures are printed as one JSON object a part; the exit
status is 1 where one is beyond its limit.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit
from urllib.request import urlopen

import numpy as np

CLIENTS = 64
# What each part must reach on two cores, this process included.
LIMITS = {
    "next_without_thinking": {"per_second": (500, np.inf), "p99_ms": (0, 300), "errors": (0, 0)},
    "events_without_thinking": {"events_per_second": (150, np.inf), "errors": (0, 0)},
    "sessions_at_a_rate": {"p99_ms": (0, 50), "errors": (0, 0)},
}


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


class Load:
    """What came of many requests."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.errors = 0
        self.started = time.perf_counter()

    async def time(self, request: Awaitable[tuple[int, bytes]]) -> bytes:
        began = time.perf_counter()
        try:
            status, body = await request
        except (OSError, asyncio.IncompleteReadError):
            status, body = 0, b""
        self.seconds.append(time.perf_counter() - began)
        self.errors += status not in (200, 201)
        return body

    def figures(self, part: str) -> dict[str, Any]:
        took = time.perf_counter() - self.started
        p50, p99, most = 1000 * np.quantile(self.seconds, [0.5, 0.99, 1.0])
        return {
            "part": part,
            "requests": len(self.seconds),
            "errors": self.errors,
            "per_second": round(len(self.seconds) / took, 1),
            "p50_ms": round(p50, 2),
            "p99_ms": round(p99, 2),
            "max_ms": round(most, 2),
        }


class Cases:
    """Answers drawn from the ranges and choices of a model."""

    def __init__(self, model: dict[str, Any], seed: int) -> None:
        self.inputs = {question["name"]: question["inputs"] for question in model["questions"]}
        self.draw = random.Random(seed)

    def value(self, given: dict[str, Any]) -> Any:
        if given["kind"] == "category":
            return self.draw.choice(given["choices"])
        return (
            self.draw.random() < 0.5 if given["kind"] == "boolean" else self.draw.uniform(given["low"], given["high"])
        )

    def answer(self, question: str) -> dict[str, Any]:
        return {given["name"]: self.value(given) for given in self.inputs[question]}

    def some(self) -> dict[str, Any]:
        """The answers to a random set of questions."""
        told = self.draw.sample(sorted(self.inputs), self.draw.randrange(len(self.inputs)))
        return {name: value for question in told for name, value in self.answer(question).items()}


async def many(seconds: float, client: Callable[[int, Load, Callable[[], bool]], Awaitable[None]]) -> Load:
    """Clients at once, each sending its next request as soon as the last is answered."""
    load = Load()
    end = time.perf_counter() + seconds
    await asyncio.gather(*(client(i, load, lambda: time.perf_counter() < end) for i in range(CLIENTS)))
    return load


async def next_without_thinking(where: Where, seconds: float) -> dict[str, Any]:
    async def client(i: int, load: Load, goes_on: Callable[[], bool]) -> None:
        cases, connection = Cases(where.model, i), where.client()
        while goes_on():
            await load.time(
                connection.call("POST", f"{where.path}/next", {"answers": cases.some(), "stop": where.stop})
            )
        await connection.close()

    return (await many(seconds, client)).figures(f"{CLIENTS} clients without think time on /next")


async def events_without_thinking(where: Where, seconds: float) -> dict[str, Any]:
    """Sessions that are told and undone: each request commits two events."""

    async def client(i: int, load: Load, goes_on: Callable[[], bool]) -> None:
        cases, connection = Cases(where.model, i), where.client()
        while goes_on():
            state = json.loads(await load.time(connection.call("POST", f"{where.path}/sessions", {"stop": where.stop})))
            while state["question"] is not None and goes_on():
                told = {"name": state["question"]["name"], "revision": state["revision"]}
                told["value"] = cases.answer(told["name"])
                path = f"/v1/sessions/{state['id']}/tell"
                state = json.loads(await load.time(connection.call("POST", path, told)))
        await connection.close()

    before, began = where.commits(), time.perf_counter()
    figures = (await many(seconds, client)).figures(f"{CLIENTS} clients without think time on kept sessions")
    commits = (where.commits() - before) / (time.perf_counter() - began)
    return figures | {"events_per_second": round(2 * figures["per_second"], 1), "commits_per_second": round(commits, 1)}


async def sessions_at_a_rate(where: Where, seconds: float, sessions: int = 1000, rate: float = 50.0) -> dict[str, Any]:
    """Many sessions, of which one after the other is told something or begun anew, at a steady rate."""
    connections = [where.client() for _ in range(CLIENTS)]
    cases = Cases(where.model, 0)

    async def begin(connection: Client) -> dict[str, Any]:
        return json.loads((await connection.call("POST", f"{where.path}/sessions", {"stop": where.stop}))[1])

    states = [await begin(connections[0]) for _ in range(sessions)]
    load, free = Load(), asyncio.Queue[Client]()
    for connection in connections:
        free.put_nowait(connection)

    async def one(i: int) -> None:
        # The clock runs while a request waits for a connection.
        await load.time(change(i))

    async def change(i: int) -> tuple[int, bytes]:
        connection = await free.get()
        question = states[i]["question"]
        path, body = f"{where.path}/sessions", {"stop": where.stop}
        if question is not None:
            path, body = f"/v1/sessions/{states[i]['id']}/tell", {"name": question["name"]}
            body["value"] = cases.answer(question["name"])
        status, reply = await connection.call("POST", path, body)
        states[i] = json.loads(reply)
        free.put_nowait(connection)
        return status, reply

    tasks = []
    for k in range(int(rate * seconds)):
        await asyncio.sleep(max(0.0, load.started + k / rate - time.perf_counter()))
        tasks.append(asyncio.create_task(one(k % sessions)))
    await asyncio.gather(*tasks)
    for connection in connections:
        await connection.close()
    return load.figures(f"{sessions} sessions at {rate:g} requests a second")


async def memory_over(where: Where, requests: int) -> dict[str, Any]:
    """Resident memory of the server as requests go by: half of them stateless, half in kept sessions."""
    load, left, sizes = Load(), requests, {}
    every = max(1, requests // 10)

    async def client(i: int) -> None:
        nonlocal left
        cases, connection, state = Cases(where.model, i), where.client(), None
        while left > 0:
            left -= 1
            if left % every == 0:
                sizes[requests - left] = where.memory()
            if left % 2:
                await load.time(connection.call("POST", f"{where.path}/next", {"answers": cases.some()}))
            elif state is None or state["question"] is None:
                if state is not None:
                    await load.time(connection.call("POST", f"/v1/sessions/{state['id']}/stop"))
                state = json.loads(await load.time(connection.call("POST", f"{where.path}/sessions")))
            else:
                name = state["question"]["name"]
                told = {"name": name, "value": cases.answer(name)}
                state = json.loads(await load.time(connection.call("POST", f"/v1/sessions/{state['id']}/tell", told)))
        await connection.close()

    await asyncio.gather(*(client(i) for i in range(CLIENTS)))
    return load.figures(f"memory over {requests} requests") | {"mib_after": sizes}


class Where:
    """A running server: where it listens, its process, and the model it serves."""

    def __init__(self, process: subprocess.Popen[str], url: str, name: str) -> None:
        self.process = process
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
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return round(pages * os.sysconf("SC_PAGE_SIZE") / 2**20, 1)

    def commits(self) -> int:
        lines = self.get("/metrics").splitlines()
        return int(next(line for line in lines if line.startswith("askwise_journal_commits_total")).split()[1])


def judged(figures: dict[str, Any], limits: dict[str, tuple[float, float]]) -> bool:
    """Print the figures of a part, and whether each that has limits is within them."""
    is_within = all(low <= figures[name] <= high for name, (low, high) in limits.items())
    print(json.dumps(figures | {"within_limits": is_within}), flush=True)
    return is_within


def trained(folder: Path) -> Path:
    from sklearn.datasets import load_breast_cancer

    from askwise import DimeClassifier

    data = load_breast_cancer(as_frame=True)
    model = DimeClassifier(random_state=0).fit(data.data, data.target_names[data.target])
    model.save(folder / "breast-cancer.askwise")
    return folder / "breast-cancer.askwise"


@contextmanager
def served(model: Path, folder: Path, *options: str):
    command = [sys.executable, "-m", "askwise", "serve", str(model), "--port", "0", "--json"]
    command += ["--journal", f"sqlite:///{folder / 'journal.db'}", *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        url = json.loads(process.stdout.readline())["url"]
        yield Where(process, url, model.name.removesuffix(".askwise"))
    finally:
        process.terminate()
        process.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path)
    parser.add_argument("--seconds", type=float, default=15.0)
    parser.add_argument("--requests", type=int, default=100_000, help="for the part on memory; 0 leaves it out")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model, well = given.model or trained(folder), True
        with served(model, folder) as where:
            for part in (next_without_thinking, events_without_thinking, sessions_at_a_rate):
                well = judged(asyncio.run(part(where, given.seconds)), LIMITS[part.__name__]) and well
            if given.requests:
                well = judged(asyncio.run(memory_over(where, given.requests)), {"errors": (0, 0)}) and well
    sys.exit(0 if well else 1)


if __name__ == "__main__":
    main()
