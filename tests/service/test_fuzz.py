"""Requests that no one means: the server answers each with a refusal, and stays up."""

from __future__ import annotations

import contextlib
import json
import random
import re
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
import schemathesis
from hypothesis import HealthCheck, given, seed, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from serving import started

NEXT = "/v1/models/heart/next"
CHECKS = [
    not_a_server_error,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
]


@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: mode.value)
def test_replies_are_as_the_document_says(client, mode):
    """Requests made from the document, as it says and against it: each reply is of a kind that is written there."""
    document = schemathesis.openapi.from_url(f"http://127.0.0.1:{client.port}/v1/openapi.json")
    operations = [found.ok() for found in document.get_all_operations()]
    assert len(operations) == 16
    checked = set()
    for operation in operations:

        @seed(0)
        @settings(max_examples=12, deadline=None, database=None, suppress_health_check=list(HealthCheck))
        @given(case=operation.as_strategy(generation_mode=mode))
        def check(case):
            checked.add(case.operation.label)
            case.call_and_validate(checks=CHECKS)

        # Where no body is given, nothing can be wrong with it: half of the routes take none.
        with contextlib.suppress(Unsatisfiable):
            check()
    expected = 15 if mode.value == "positive" else 7
    assert len(checked) >= expected, [o.label for o in operations if o.label not in checked]


# Raw bytes


GOOD = [
    ("POST", NEXT, {"answers": {"age": 63, "exercise test": {"rate": 140, "pain": None}}, "declined": ["scan"]}),
    ("POST", NEXT, {"answers": {"smoker": True}, "stop": "budget=20|confidence=0.1", "costs": {"scan": 3.5}}),
    ("POST", "/v1/models/heart/batch", {"rows": [{"answers": {"pressure": 150}}, {"declined": ["sex"]}]}),
    ("POST", "/v1/models/heart/sessions", {"answers": {"age": 63}, "stop": "penalty=0.01"}),
    ("POST", "/v1/sessions/SESSION/tell", {"name": "pressure", "value": 150, "revision": 0}),
    ("POST", "/v1/sessions/SESSION/decline", {"name": "scan"}),
    ("POST", "/v1/sessions/SESSION/undo", {"revision": 1}),
    ("GET", "/v1/sessions/SESSION", None),
    ("GET", "/v1/sessions/SESSION/record.csv", None),
    ("GET", "/v1/models/heart", None),
    ("GET", "/v1/models/heart/examples", None),
    ("GET", "/web/index.html", None),
    ("GET", "/metrics", None),
]
WORDS = [
    b"NaN", b"-Infinity", b"1e999", b"-1e400", b"null", b"true", b"[]", b"{}", b'""', b"0", b"-0", b"9" * 400,
    b"1e-400", b"\\ud800", b"\\u0000", b"\x00", b"\xff\xfe", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"[" * 3000,
    b"'", b"\\", b"%00", b"../", b"..%2f", b"\r\n", b"\n\n", b"\x7f", b"\xf0\x9f\x98\x80", b"<script>",
]  # fmt: skip
OTHERS = [
    None,
    True,
    -1,
    0,
    1e308,
    5e-324,
    10**40,
    "",
    "x" * 3000,
    "\x00",
    "NaN",
    [],
    [[]],
    {},
    {"": None},
    "budget=1e999",
]
HEADERS = [
    b"Content-Length: -1", b"Content-Length: abc", b"Content-Length: 99999999999999999999", b"Content-Length: 5, 6",
    b"Transfer-Encoding: gzip", b"Transfer-Encoding: chunked, chunked", b"Content-Type: text/plain", b"Host: x.example",
    b"Content-Encoding: gzip", b"Expect: 100-continue", b"Upgrade: websocket\r\nConnection: Upgrade", b"Range: bytes=0",
    b"X: " + b"y" * 70_000, b"\xff: \xff", b"NoColon", b": nothing", b"Authorization: Bearer \xff", b"Upgrade: h2c",
    b"If-Modified-Since: yesterday", b"If-None-Match: *", b"Connection: close, keep-alive", b"Cookie: " + b"a=b;" * 500,
]  # fmt: skip


def request(method, path, body, headers=(), head_only=False):
    lines = [b"%s %s HTTP/1.1" % (method.encode(), path), b"Host: localhost", b"Content-Type: application/json"]
    lines += [*headers, b"Connection: close"]
    if body is not None and not any(h.lower().startswith((b"content-length", b"transfer-encoding")) for h in headers):
        lines.append(b"Content-Length: %d" % len(body))
    return b"\r\n".join(lines) + b"\r\n\r\n" + (b"" if head_only or body is None else body)


def mangled(data, rng):
    """Bytes with a few of them dropped, changed, swapped, repeated or put in."""
    data = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(data) + 1)
        to = min(len(data), at + rng.randint(1, 8))
        what = rng.randrange(5)
        if what == 0:
            del data[at:to]
        elif what == 1:
            data[at:to] = rng.randbytes(to - at)
        elif what == 2:
            data[at:at] = rng.choice(WORDS)
        elif what == 3:
            data[at:at] = data[at:to] * rng.randint(1, 50)
        else:
            data[at:to] = reversed(data[at:to])
    return bytes(data)


def retyped(value, rng):
    """JSON with one of its parts replaced, renamed or left out."""
    if isinstance(value, dict) and value and rng.random() < 0.8:
        found, name = dict(value), rng.choice(list(value))
        roll = rng.random()
        if roll < 0.2:
            del found[name]
        elif roll < 0.35:
            found[rng.choice(["", "x", name.upper(), name + "\x00", "__class__"])] = found.pop(name)
        else:
            found[name] = retyped(found[name], rng)
        return found
    if isinstance(value, list) and value and rng.random() < 0.5:
        return [retyped(value[0], rng), *value[1:]] * rng.randint(1, 3)
    return rng.choice(OTHERS)


def in_chunks(method, path, body, rng):
    """A chunked body whose chunks are not what they say."""
    sizes = [
        b"%x" % len(body),
        b"-5",
        b"zz",
        b"",
        b"ffffffffffffffff",
        b"%x" % (len(body) + 3),
        b"1;" + b"e" * 2000,
        b"0x5",
    ]
    ends = [b"0\r\n\r\n", b"0\r\nX: y\r\n\r\n", b"", b"0\r\n", b"00000000000000000000\r\n\r\n", rng.randbytes(20)]
    head = request(method, path, body, [b"Transfer-Encoding: chunked"], head_only=True)
    return head + rng.choice(sizes) + b"\r\n" + body + b"\r\n" + rng.choice(ends)


def malformed(rng, session):
    """A request that something is wrong with."""
    method, path, facts = rng.choice(GOOD)
    path = path.replace("SESSION", session).encode()
    body = None if facts is None else json.dumps(facts).encode()
    kind = rng.randrange(10)
    if kind == 0 or (body is None and kind < 6):
        return request(method, mangled(path, rng).replace(b"\n", b"%0A").replace(b" ", b"%20"), body)
    if kind <= 2:
        return request(method, path, mangled(body, rng))
    if kind == 3:
        return request(method, path, json.dumps(retyped(facts, rng)).encode())
    if kind == 4:
        return request(method, path, body[: rng.randrange(len(body))], [b"Content-Length: %d" % len(body)])
    if kind == 5:
        return in_chunks(method, path, body, rng)
    if kind == 6:
        return request(method, path, body, rng.sample(HEADERS, rng.randint(1, 3)))
    if kind == 7:
        one, two = request(method, path, body).replace(b"Connection: close\r\n", b""), request("GET", b"/healthz", None)
        return one * rng.randint(1, 5) + mangled(one, rng) + two
    if kind == 8:
        other = rng.choice(["PUT", "DELETE", "HEAD", "OPTIONS", "TRACE", "CONNECT", "PATCH", "G", "PRI", "x" * 3000])
        return request(other, path, body)
    return mangled(request(method, path, body), rng)


def statuses(data):
    """The statuses of all replies in what came back."""
    return [int(line.split()[1]) for line in re.findall(rb"^HTTP/1\.1 \d{3}", data, re.MULTILINE)]


def fuzz(client, n_requests):
    """Send malformed requests, from a few threads; how often each status came back."""

    def send(i):
        rng = random.Random(i)
        data = malformed(rng, session)
        # Some hang up, some wait a while for a server that waits for the rest.
        found = client.raw(data) if rng.random() < 0.8 else client.raw(data, seconds=0.5, half_close=False)
        assert b"Traceback" not in found, data
        assert not [status for status in statuses(found) if status >= 500], (data, found)
        return statuses(found)

    session = client.post("/v1/models/heart/sessions", {}).facts["id"]
    expected = client.post(NEXT, GOOD[0][2]).body
    with ThreadPoolExecutor(4) as pool:
        counts = Counter(status for found in pool.map(send, range(n_requests)) for status in found)
    assert client.get("/healthz").status == 200
    assert client.post(NEXT, GOOD[0][2]).body == expected
    return counts


def test_malformed_requests_are_refused_and_the_server_stays_up(client):
    counts = fuzz(client, 300)
    # Wrong in many ways, and not all at the first line.
    assert {200, 400, 404, 405, 415, 421, 422} <= set(counts)


@pytest.mark.proof
def test_ten_thousand_malformed_requests_are_refused_and_the_server_stays_up(model_file, tmp_path):
    with started(model_file, "--journal", f"sqlite:///{tmp_path / 'fuzzed.db'}") as service:
        fuzz(service.client, 10_000)
        assert service.process.poll() is None
