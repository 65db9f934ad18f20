"""Who is let in, what is let in, and what never comes out."""

from __future__ import annotations

import inspect
import re
import signal
import time

import pytest
from serving import Client, command, started
from typer.testing import CliRunner

from askwise.cli import app
from askwise.service.access import AccessControl
from askwise.service.errors import INTERNAL_ERROR
from askwise.service.request_logging import HEADERS
from askwise.service.routes.page import WEB

NEXT, SESSIONS = "/v1/models/heart/next", "/v1/models/heart/sessions"
TOKEN = "a-token-of-some-length"


def leaks(reply):
    """Whether a reply shows the inside of the server."""
    return any(word in reply.body for word in (b"Traceback", b'File "', b".py", b"site-packages", b"Error:"))


# Where it listens, and the token


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1"])
def test_another_address_than_loopback_without_a_token_ends_with_two(model_file, host):
    ended = CliRunner().invoke(app, ["serve", str(model_file), "--host", host, "--port", "0"])
    assert ended.exit_code == 2
    assert ended.stdout == ""
    assert ended.stderr.startswith(f"Error: --host {host} can be reached from other machines, so a token is needed")


@pytest.mark.parametrize(
    "text", ["short", "", "two words of a token that is long", "tökentökentökentöken", "\x00" * 20]
)
def test_a_token_that_is_no_token_ends_with_two(model_file, tmp_path, text):
    path = tmp_path / "token.txt"
    path.write_text(text, encoding="utf-8")
    ended = CliRunner().invoke(app, ["serve", str(model_file), "--token-file", str(path)])
    assert ended.exit_code == 2
    assert "must hold a token of at least 16 letters" in ended.stderr
    assert not text or text not in ended.stderr


def test_all_but_the_page_and_health_needs_the_token(serve):
    client = serve(token=TOKEN)
    right = Client(client.port, (("Authorization", f"Bearer {TOKEN}"),))
    for path in ("/", "/healthz", "/favicon.ico", "/web/index.html"):
        assert client.get(path).status in (200, 307), path
    for path in ("/v1/models", "/v1/models/heart", "/v1/openapi.json", "/metrics", "/v1/sessions/x", "/nothing", "//"):
        refused = client.get(path)
        assert refused.status == 401, path
        assert refused.headers["www-authenticate"] == "Bearer"
        assert "Authorization: Bearer TOKEN" in refused.message
        assert right.get(path).status in (200, 404)
    assert client.post(NEXT, {}).status == client.post(SESSIONS, {}).status == 401
    assert right.post(NEXT, {}).status == 200
    assert right.post(SESSIONS, {}).status == 201


@pytest.mark.parametrize(
    "given",
    [TOKEN, f"Basic {TOKEN}", "Bearer", "Bearer ", f"Bearer {TOKEN[:-1]}", f"Bearer {TOKEN}x",
     f"Bearer {TOKEN.upper()}", "Bearer \xe9\xff", f"Bearer {TOKEN} {TOKEN}", "x" * 5000],
)  # fmt: skip
def test_a_wrong_token_is_401(serve, given):
    client = serve(journal=None, token=TOKEN)
    assert client.get("/v1/models", Authorization=given).status == 401


def test_the_token_is_compared_in_constant_time():
    source = inspect.getsource(AccessControl)
    assert "hmac.compare_digest(" in source
    assert not re.search(r"self\.token\s*[!=]=|[!=]=\s*self\.token", source)


def test_with_a_token_any_name_of_the_host_will_do(serve):
    client = serve(journal=None, token=TOKEN)
    assert client.get("/v1/models", Host="askwise.example", Authorization=f"bearer {TOKEN}").status == 200


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost", 200), ("LOCALHOST:8000", 200), ("127.0.0.1", 200), ("[::1]", 200), ("[::1]:8000", 200),
        ("evil.example", 421), ("localhost.evil.example:80", 421), ("127.0.0.1.evil.example", 421),
        ("evil.example:localhost", 421), ("localhost:80:evil.example", 421), ("0.0.0.0", 421), ("", 421), (":80", 421),
    ],
)  # fmt: skip
def test_without_a_token_only_requests_to_this_machine_are_answered(client, host, status):
    """A page of another site, whose name was made to point here, gets nothing."""
    assert client.get("/v1/models", Host=host).status == status
    assert client.post(NEXT, {}, Host=host).status == status
    assert client.get("/", Host=host).status == status


# Bodies


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://localhost:1"},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
    ],
)
def test_a_page_of_another_site_can_do_nothing(client, headers):
    for path in ("/v1/models/heart/sessions", "/v1/models/heart/next"):
        assert client.post(path, b"", Content_Type="text/plain", **headers).status == 403
    own = {"Origin": f"http://127.0.0.1:{client.port}", "Sec_Fetch_Site": "same-origin"}
    assert client.post("/v1/models/heart/next", {}, **own).status == 200
    # Following a link to the page is no harm.
    assert client.get("/", Sec_Fetch_Site="cross-site").status == 200


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("batch", b'{"rows":[' + b"0," * 500_000 + b"0]}"),
        ("batch", b'{"rows":[' + b"{}," * 340_000 + b"{}]}"),
        ("next", b'{"declined":[' + b"0," * 500_000 + b"0]}"),
        ("next", b"{" + b",".join(b'"a%d":1' % i for i in range(90_000)) + b"}"),
    ],
    ids=["wrong rows", "many rows", "wrong names", "wrong keys"],
)
def test_no_body_keeps_the_others_waiting(client, path, body):
    began = time.process_time()
    assert client.post(f"/v1/models/heart/{path}", body).status == 422
    # Server and client are one process here.
    assert time.process_time() - began < 1.5


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "", "json"])
def test_a_body_that_does_not_say_json_is_415(client, kind):
    """What a page of another site can send without being asked for leave is not taken."""
    for path in (NEXT, SESSIONS):
        assert client.post(path, b"{}", Content_Type=kind).status == 415
    assert client.post(NEXT, b"{}", Content_Type="application/json; charset=utf-8").status == 200


STRANGE = {
    "nan": b'{"answers": {"pressure": NaN}}',
    "infinity": b'{"answers": {"pressure": Infinity}}',
    "minus infinity": b'{"costs": {"scan": -Infinity}}',
    "1e999": b'{"answers": {"pressure": 1e999}}',
    "-1e999": b'{"costs": {"scan": -1e999}}',
    "1e999 unread": b'{"answers": {"age": 3}, "x": [1e999]}',
    "huge int": b'{"answers": {"pressure": ' + b"9" * 4000 + b"}}",
    "huger int": b'{"answers": {"pressure": ' + b"9" * 100_000 + b"}}",
    "huge int for a choice": b'{"answers": {"sex": ' + b"9" * 4000 + b"}}",
    "huge price": b'{"costs": {"scan": ' + b"9" * 4000 + b"}}",
    "open lists": b"[" * 100_000,
    "lists in lists": b"[" * 50_000 + b"]" * 50_000,
    "lists in an answer": b'{"answers": {"pain": ' + b"[" * 900 + b"]" * 900 + b"}}",
    "objects in objects": b'{"answers": ' + b'{"a": ' * 800 + b"1" + b"}" * 801,
    "half a character": b'{"answers": {"pain": "\\ud800"}}',
    "half a character for a name": b'{"answers": {"\\udfff": 1}}',
    "half a character for a key": b'{"\\uD800": 1}',
    "half a character to decline": b'{"declined": ["\\uDBFF"]}',
    "not UTF-8": b'{"answers": {"pain": "\xff\xfe"}}',
    "half a character in UTF-8": b'{"answers": {"pain": "\xed\xa0\x80"}}',
    "UTF-16": '{"answers": {}}'.encode("utf-16"),
    "a mark of the order of bytes": b"\xef\xbb\xbf{}",
    "a key twice": b'{"stop": "budget=1", "stop": "budget=1000"}',
    "an answer twice": b'{"answers": {"pressure": 100, "pressure": 180}}',
    "NUL": b'{"answers": {"pain": "\\u0000"}}',
    "NUL for a name": b'{"answers": {"\\u0000": 1}}',
    "NUL in a rule": b'{"stop": "budget=\\u00005"}',
    "raw NUL": b'{"answers": {}}\x00',
    "empty": b"",
    "blank": b"  \n",
    "null": b"null",
    "list": b"[]",
    "text": b'"x"',
    "number": b"7",
    "true": b"true",
    "two": b"{}{}",
    "comma": b'{"answers": {},}',
    "comment": b"{} // nothing",
    "quotes": b"{'answers': {}}",
}


@pytest.mark.parametrize("body", STRANGE.values(), ids=STRANGE.keys())
def test_a_strange_body_is_422_with_a_message(client, body):
    refused = client.post(NEXT, body)
    assert refused.status == 422
    assert 0 < len(refused.message) < 700
    assert not leaks(refused)


@pytest.mark.parametrize("body", STRANGE.values(), ids=STRANGE.keys())
def test_a_strange_body_is_never_an_error_of_the_server(client, body):
    path = f"/v1/sessions/{client.post(SESSIONS, {}).facts['id']}"
    for where in ("/v1/models/heart/batch", f"{path}/tell", f"{path}/decline"):
        assert client.post(where, body).status == 422
    for where in (SESSIONS, f"{path}/undo", f"{path}/stop"):
        reply = client.post(where, body)
        # These may come without a body.
        assert reply.status in ((200, 201, 422) if body in (b"", b"null") else (422,))


def test_a_request_that_is_cut_off_changes_nothing(client):
    """No body at all is fine for stop; a body that was announced and never came is not."""
    session = client.post(SESSIONS, {}).facts["id"]
    head = f"POST /v1/sessions/{session}/stop HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    for rest in ("Content-Length: 20\r\n\r\n", "Content-Length: 20\r\n\r\n  ", "Transfer-Encoding: chunked\r\n\r\n"):
        assert b" 200 " not in client.raw((head + rest).encode())
    assert client.get(f"/v1/sessions/{session}").facts["closed"] is False


# Replies


def test_every_reply_has_the_security_headers(serve):
    client, locked = serve(body_bytes=1000), serve(journal=None, token=TOKEN)
    session = client.post(SESSIONS, {})
    replies = {
        200: [client.get("/"), client.get("/web/index.html"), client.get("/v1/models"), client.post(NEXT, {}),
              client.get("/healthz"), client.get("/metrics"), client.get("/v1/openapi.json"),
              client.get(f"/v1/sessions/{session.facts['id']}/record.csv")],
        201: [session],
        307: [client.get("/favicon.ico")],
        401: [locked.get("/v1/models")],
        404: [client.get("/nothing"), client.get("/web/nothing.js"), client.get("/v1/models/x"), client.get("/web/")],
        405: [client.get(NEXT), client.send("PUT", "/", b"{}"), client.send("TRACE", "/")],
        409: [client.post(f"/v1/sessions/{session.facts['id']}/undo", {"revision": 5})],
        413: [client.post(NEXT, b"x" * 2000)],
        415: [client.post(NEXT, b"x", Content_Type="text/plain")],
        421: [client.get("/", Host="evil.example")],
        422: [client.post(NEXT, b"x"), client.post(NEXT, {"stop": "x"}), client.post(NEXT, {"x": 1})],
    }  # fmt: skip
    for status, found in replies.items():
        for reply in found:
            assert reply.status == status
            assert reply.headers.items() >= HEADERS.items()
            assert reply.headers["cache-control"] in ("no-store", "no-cache")
            assert not leaks(reply)


def test_the_policy_lets_a_page_load_from_here_alone():
    policy = dict(part.strip().split(" ", 1) for part in HEADERS["content-security-policy"].split(";"))
    assert policy["default-src"] == "'none'"
    assert policy["frame-ancestors"] == policy["base-uri"] == policy["form-action"] == "'none'"
    for sources in policy.values():
        assert set(sources.split()) <= {"'none'", "'self'", "data:"}
    assert "data:" not in policy["script-src"]


def test_no_file_of_the_page_names_another_host(client):
    files = [path for path in WEB.rglob("*") if path.is_file()]
    assert files
    # A picture that is drawn says which language it is written in; nothing is loaded from there.
    names = ("http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink")
    for path in files:
        text = path.read_bytes()
        for name in names:
            text = text.replace(name.encode(), b"")
        assert not re.search(rb"https?://|wss?://|[\"'(=]\s*//[a-z0-9]", text, re.IGNORECASE), path.name
    assert not re.search(rb"https?://", client.get("/").body)


@pytest.mark.parametrize(
    "path",
    ["..%2fapp.py", "%2e%2e/app.py", "../app.py", "..%5capp.py", "..%2f..%2f..%2f..%2f..%2f..%2fetc%2fpasswd",
     "%2fetc%2fpasswd", "/etc/passwd", "index.html%00", "....//app.py", "%252e%252e%252fapp.py", "x" * 5000],
)  # fmt: skip
def test_no_path_leads_out_of_the_page_s_folder(client, path):
    found = client.get(f"/web/{path}")
    assert found.status == 404
    assert b"import" not in found.body
    assert b"root:" not in found.body


@pytest.mark.parametrize(
    "name", ["..%2f..%2fetc%2fpasswd", "%2fetc%2fpasswd", "..", "%2e%2e", ".", "heart%00", "C%3a%5c"]
)
def test_the_name_of_a_model_never_becomes_a_path(client, name):
    for refused in (client.get(f"/v1/models/{name}"), client.post(f"/v1/models/{name}/next", {})):
        assert refused.status == 404
        assert b"root:" not in refused.body


# Logs


def test_no_data_is_in_the_log(model_file, tmp_path):
    said, mark = tmp_path / "log.txt", "314159"
    with (
        said.open("w") as stderr,
        started(model_file, "--journal", f"sqlite:///{tmp_path / 'j.db'}", "--log-requests", stderr=stderr) as service,
    ):
        client = service.client
        session = client.post(SESSIONS, {"answers": {"age": int(mark)}}).facts["id"]
        client.post(f"/v1/sessions/{session}/tell", {"name": "pressure", "value": float(mark)})
        client.post(f"/v1/sessions/{session}/tell", {"name": "pain", "value": mark})
        client.post(NEXT, {"answers": {mark: 1}})
        client.post(NEXT, {"stop": mark, "costs": {mark: 1}})
        client.post(NEXT, f'{{"answers": {{"age": {mark}'.encode())
        client.get(f"/v1/models/{mark}")
        client.get(f"/{mark}?{mark}={mark}", Cookie=mark, Authorization=f"Bearer {mark}")
        client.send(f"M{mark}", "/", b"{}")
        client.raw(f"{mark} {mark}\r\n{mark}\r\n\r\n".encode())
        assert service.end(signal.SIGINT) in (0, 130)
    text = said.read_text()
    assert "POST /v1/sessions/{session}/tell 200 " in text
    assert "POST /v1/models/{name}/next 422 " in text
    assert mark not in text
    assert session not in text


def test_without_being_asked_for_nothing_is_logged(model_file):
    with command("serve", model_file) as service:
        service.client.post(NEXT, {"answers": {"age": 63}})
        service.client.post(NEXT, {"answers": {"agee": 63}})
    assert service.result.stderr == ""


@pytest.mark.parametrize("path", [NEXT, "/v1/models/heart/batch", SESSIONS])
def test_an_error_in_a_handler_shows_nothing_but_that_it_happened(serve, monkeypatch, caplog, until, path):
    def fail(*_):
        raise RuntimeError("the age is 314159")

    client = serve()
    monkeypatch.setattr("askwise.session.session.Session.ask", fail)
    reply = client.post(path, {"rows": [{}]} if path.endswith("batch") else {})
    assert reply.status == 500
    assert reply.facts == {"error": {"message": INTERNAL_ERROR, "where": None}}
    assert reply.headers.items() >= HEADERS.items()
    # The reply is there a moment before the log.
    until(lambda: caplog.records)
    (logged,) = [record.getMessage() for record in caplog.records if record.name.startswith("askwise")]
    assert re.fullmatch(r"POST /v1/models/\{name\}/\w+: RuntimeError at \S+test_safety.py:\d+", logged)
    assert "314159" not in caplog.text
    monkeypatch.undo()
    assert client.post(NEXT, {}).status == 200
    samples = client.get("/metrics").body.decode()
    assert 'status="500"} 1' in samples
