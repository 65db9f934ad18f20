"""Load on `askwise serve` from a second process: rates, waiting times, errors, memory.

python -m benchmarks.speed.service [--model heart.askwise] [--seconds 15] [--requests 100000]

The server runs in a process of its own on loopback, with a journal on SQLite; this process is all its clients. Without
a model, one is trained on scikit-learn's breast cancer data. Figures are printed as one JSON object a part; the exit
status is 1 where one is beyond its limit.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer

from askwise import DimeClassifier
from benchmarks.shared.options import Options, tiny
from benchmarks.shared.server import Client, Server, served

RATE = 50.0
NO_ERRORS: dict[str, tuple[float, float]] = {"errors": (0, 0)}
# What each part must reach on two cores, this process included.
LIMITS = {
    "next_without_thinking": {"per_second": (500, np.inf), "p99_ms": (0, 300), **NO_ERRORS},
    "events_without_thinking": {"events_per_second": (150, np.inf), **NO_ERRORS},
    "sessions_at_a_rate": {"p99_ms": (0, 50), **NO_ERRORS},
}


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


async def many(args: argparse.Namespace, client: Callable[[int, Load, Callable[[], bool]], Awaitable[None]]) -> Load:
    """Clients at once, each sending its next request as soon as the last is answered."""
    load = Load()
    end = time.perf_counter() + args.seconds
    await asyncio.gather(*(client(i, load, lambda: time.perf_counter() < end) for i in range(args.clients)))
    return load


async def next_without_thinking(server: Server, args: argparse.Namespace) -> dict[str, Any]:
    async def client(i: int, load: Load, goes_on: Callable[[], bool]) -> None:
        cases, connection = Cases(server.model, i), server.client()
        while goes_on():
            await load.time(
                connection.call("POST", f"{server.path}/next", {"answers": cases.some(), "stop": server.stop})
            )
        await connection.close()

    return (await many(args, client)).figures(f"{args.clients} clients without think time on /next")


async def events_without_thinking(server: Server, args: argparse.Namespace) -> dict[str, Any]:
    """Sessions that are told and undone: each request commits two events."""

    async def client(i: int, load: Load, goes_on: Callable[[], bool]) -> None:
        cases, connection = Cases(server.model, i), server.client()
        while goes_on():
            state = json.loads(
                await load.time(connection.call("POST", f"{server.path}/sessions", {"stop": server.stop}))
            )
            while state["question"] is not None and goes_on():
                told = {"name": state["question"]["name"], "revision": state["revision"]}
                told["value"] = cases.answer(told["name"])
                path = f"/v1/sessions/{state['id']}/tell"
                state = json.loads(await load.time(connection.call("POST", path, told)))
        await connection.close()

    before, began = server.commits(), time.perf_counter()
    figures = (await many(args, client)).figures(f"{args.clients} clients without think time on kept sessions")
    commits = (server.commits() - before) / (time.perf_counter() - began)
    return figures | {"events_per_second": round(2 * figures["per_second"], 1), "commits_per_second": round(commits, 1)}


async def sessions_at_a_rate(server: Server, args: argparse.Namespace) -> dict[str, Any]:
    """Many sessions, of which one after the other is told something or begun anew, at a steady rate."""
    connections = [server.client() for _ in range(args.clients)]
    cases = Cases(server.model, 0)

    async def begin(connection: Client) -> dict[str, Any]:
        return json.loads((await connection.call("POST", f"{server.path}/sessions", {"stop": server.stop}))[1])

    states = [await begin(connections[0]) for _ in range(args.sessions)]
    load, free = Load(), asyncio.Queue[Client]()
    for connection in connections:
        free.put_nowait(connection)

    async def one(i: int) -> None:
        # The clock runs while a request waits for a connection.
        await load.time(change(i))

    async def change(i: int) -> tuple[int, bytes]:
        connection = await free.get()
        question = states[i]["question"]
        path, body = f"{server.path}/sessions", {"stop": server.stop}
        if question is not None:
            path, body = f"/v1/sessions/{states[i]['id']}/tell", {"name": question["name"]}
            body["value"] = cases.answer(question["name"])
        status, reply = await connection.call("POST", path, body)
        states[i] = json.loads(reply)
        free.put_nowait(connection)
        return status, reply

    tasks = []
    for k in range(int(RATE * args.seconds)):
        await asyncio.sleep(max(0.0, load.started + k / RATE - time.perf_counter()))
        tasks.append(asyncio.create_task(one(k % args.sessions)))
    await asyncio.gather(*tasks)
    for connection in connections:
        await connection.close()
    return load.figures(f"{args.sessions} sessions at {RATE:g} requests a second")


async def memory_over(server: Server, args: argparse.Namespace) -> dict[str, Any]:
    """Resident memory of the server as requests go by: half of them stateless, half in kept sessions."""
    load, left, sizes = Load(), args.requests, {}
    every = max(1, args.requests // 10)

    async def client(i: int) -> None:
        nonlocal left
        cases, connection, state = Cases(server.model, i), server.client(), None
        while left > 0:
            left -= 1
            if left % every == 0:
                sizes[args.requests - left] = server.memory()
            if left % 2:
                await load.time(connection.call("POST", f"{server.path}/next", {"answers": cases.some()}))
            elif state is None or state["question"] is None:
                if state is not None:
                    await load.time(connection.call("POST", f"/v1/sessions/{state['id']}/stop"))
                state = json.loads(await load.time(connection.call("POST", f"{server.path}/sessions")))
            else:
                name = state["question"]["name"]
                told = {"name": name, "value": cases.answer(name)}
                state = json.loads(await load.time(connection.call("POST", f"/v1/sessions/{state['id']}/tell", told)))
        await connection.close()

    await asyncio.gather(*(client(i) for i in range(args.clients)))
    return load.figures(f"memory over {args.requests} requests") | {"mib_after": sizes}


def judged(figures: dict[str, Any], limits: dict[str, tuple[float, float]]) -> bool:
    """Print the figures of a part, and whether each that has limits is within them."""
    is_within = all(low <= figures[name] <= high for name, (low, high) in limits.items())
    print(json.dumps(figures | {"within_limits": is_within}), flush=True)
    return is_within


def trained(args: argparse.Namespace, folder: Path) -> Path:
    data = load_breast_cancer(as_frame=True)
    model = DimeClassifier(random_state=0, **tiny(args, DimeClassifier))
    model.fit(data.data, data.target_names[data.target]).save(folder / "breast-cancer.askwise")
    return folder / "breast-cancer.askwise"


def main(argv: Sequence[str] | None = None) -> None:
    options = Options(__doc__)
    options.add_argument("--model", type=Path)
    options.add("--clients", type=int, default=64, smoke=4)
    options.add("--seconds", type=float, default=15.0, smoke=0.2)
    options.add("--sessions", type=int, default=1000, smoke=20, help="kept sessions that are asked at a steady rate")
    options.add("--requests", type=int, default=100_000, smoke=40, help="for the part on memory; 0 leaves it out")
    args = options.read(argv)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model, well = args.model or trained(args, folder), True
        with served(model, folder, in_thread=args.smoke) as server:
            for part in (next_without_thinking, events_without_thinking, sessions_at_a_rate):
                limits = NO_ERRORS if args.smoke else LIMITS[part.__name__]
                well = judged(asyncio.run(part(server, args)), limits) and well
            if args.requests:
                well = judged(asyncio.run(memory_over(server, args)), NO_ERRORS) and well
    if not well:
        sys.exit(1)


if __name__ == "__main__":
    main()
