"""Whatever bytes arrive at the control socket: JSON comes back, and no trace in the journal."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import socket
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robot.daemon.job_control import JobController
from robot.daemon.routes import ROUTES
from robot.records.documents import MOST_PROBLEMS

ENDLESS = ("/events", "/maintenance", "/shutdown")
PATHS = [*sorted({route.path for route in ROUTES} - set(ENDLESS)), "/openapi.json", "/none", "*"]
METHODS = [*sorted({route.method for route in ROUTES}), "HEAD", "TRACE", "OPTIONS", "get", "A" * 99]
DIGITS = "9" * 5_000


def talk(path: Path, request: bytes, patience_s: float = 240.0) -> bytes:
    """Send bytes; what comes back until the server closes, or is silent for so long."""
    found = b""
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(patience_s)
        client.connect(str(path))
        with contextlib.suppress(TimeoutError, ConnectionError):
            client.sendall(request)
        with contextlib.suppress(TimeoutError, ConnectionError):
            while part := client.recv(65536):
                found += part
    return found


def answers(data: bytes) -> list[tuple[int, bytes, bytes]]:
    """Status, head and body of each answer."""
    found = []
    while data:
        head, _, rest = data.partition(b"\r\n\r\n")
        status = int(head.split(b" ")[1])
        if status == 100:
            data = rest
            continue
        length = next(
            int(line.split(b":")[1])
            for line in head.split(b"\r\n")
            if line.lower().startswith(b"content-length")
        )
        found.append((status, head, rest[:length]))
        data = rest[length:]
    return found


def assert_refused_in_json(data: bytes, *, is_head: bool = False) -> list[int]:
    """Every answer but a picture is JSON, an error with its name and a short reason; their
    statuses.
    """
    statuses = []
    for status, head, body in [] if is_head else answers(data):
        if status == 200 and b"image/jpeg" in head:
            statuses.append(status)
            continue
        assert b"application/json" in head
        document = json.loads(body)
        if status != 200:
            assert status in {400, 404, 405, 409, 413, 417, 503, 507}, body
            assert document["error"]
            assert document["reason"]
            assert len(document["reason"]) < 1_000
        statuses.append(status)
    return statuses


def request(method: str, target: str, body: bytes = b"", *headers: str) -> bytes:
    """A request as HTTP has it, with more ``headers``."""
    lines = [f"{method} {target} HTTP/1.1", "Host: localhost", *headers, "Connection: close"]
    if body and not any("transfer" in line.lower() for line in headers):
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode("latin-1", "replace") + body


MALFORMED = {
    "rubbish": b"rubbish\r\n\r\n",
    "binary": bytes(range(256)) * 4,
    "http 2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "tls": bytes.fromhex("16030100a5010000a10303") + bytes(150),
    "odd version": b"GET /status HTTP/9.9\r\n\r\n",
    "long target": request("GET", "/" + "a" * 20_000),
    "long header": request("GET", "/status", b"", "X: " + "a" * 20_000),
    "many headers": request("GET", "/status", b"", *[f"X{n}: 1" for n in range(5_000)]),
    "header without colon": b"GET /status HTTP/1.1\r\nHost localhost\r\n\r\n",
    "header with null": b"GET /status HTTP/1.1\r\nHost: a\0b\r\n\r\n",
    "two lengths": request("POST", "/stop", b"{}", "Content-Length: 1"),
    "length of many digits": b"POST /stop HTTP/1.1\r\nContent-Length: "
    + b"9" * 5_000
    + b"\r\n\r\n",
    "negative length": b"POST /stop HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
    "length and chunks": request(
        "POST", "/stop", b"0\r\n\r\n", "Transfer-Encoding: chunked"
    ).replace(b"Connection", b"Content-Length: 5\r\nConnection"),
    "bad target": b"GET http://[::1 HTTP/1.1\r\nHost: a\r\n\r\n",
}

REFUSED = {
    "header of other bytes": b"GET /status HTTP/1.1\r\nHost: a\r\nExpect: \x80\r\n"
    b"Connection: close\r\n\r\n",
    "chunk without size": request("POST", "/stop", b"zz\r\n{}", "Transfer-Encoding: chunked"),
    "chunk of many digits": request(
        "POST", "/stop", b"f" * 5_000 + b"\r\n", "Transfer-Encoding: chunked"
    ),
    "expectations": request("POST", "/stop", b"{}", "Expect: miracles"),
    "expectations nowhere": request("GET", "/nowhere", b"", "Expect: miracles"),
    "count": request("GET", f"/runs?count={DIGITS}"),
    "count of other digits": request("GET", "/runs?count=%D9%A3"),
    "count twice": request("GET", "/runs?count=1&count=2"),
    "count with line": request("GET", "/runs?count=1%0A"),
    "run": request("GET", f"/runs/{DIGITS}"),
    "run with line": request("GET", "/runs/1%0A"),
    "camera": request("GET", f"/maintenance/picture?camera={'c' * 65}"),
    "deep": request("POST", "/stop", b'{"emergency": ' + b"[" * 30_000),
    "number": request("POST", "/stop", b'{"emergency": ' + b"9" * 50_000 + b"}"),
    "many keys": request(
        "POST", "/stop", json.dumps(dict.fromkeys(map(str, range(4_000)))).encode()
    ),
    "long key": request("POST", "/stop", json.dumps({"k" * 60_000: 1}).encode()),
    "moves": request("POST", "/start", b'{"kind": "scramble", "moves": "' + b"R" * 60_000 + b'"}'),
    "gzip": request("POST", "/stop", b"\x1f\x8b\x08\0\0", "Content-Encoding: gzip"),
    "values": request(
        "PUT", "/calibration", b'{"values": {"policy.search_s": ' + b"9" * 4_000 + b"}}"
    ),
}


def traces(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    return [record for record in caplog.records if record.exc_info or "\n" in record.getMessage()]


@pytest.mark.parametrize("name", MALFORMED)
async def test_what_is_no_http_is_refused_in_json(
    path: Path, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    caplog.set_level(logging.DEBUG)
    data = await asyncio.to_thread(talk, path, MALFORMED[name])
    assert assert_refused_in_json(data) == [400]
    assert traces(caplog) == []
    told = [record for record in caplog.records if record.levelno >= logging.INFO]
    assert len(told) == 1
    assert len(told[0].getMessage()) < 300
    assert told[0].getMessage().partition(": ")[2], "why"


@pytest.mark.parametrize("name", REFUSED)
async def test_what_is_not_described_is_refused_in_json(
    path: Path, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    data = await asyncio.to_thread(talk, path, REFUSED[name])
    (status,) = assert_refused_in_json(data)
    assert status in {400, 404, 409, 413, 417}
    assert traces(caplog) == []


async def test_of_many_problems_some_are_told_and_the_others_counted(path: Path) -> None:
    body = json.dumps({f"key{number}": 1 for number in range(MOST_PROBLEMS + 4)}).encode()
    data = await asyncio.to_thread(talk, path, request("POST", "/stop", body))
    assert assert_refused_in_json(data) == [400]
    told = data.decode()
    assert told.count("key") == MOST_PROBLEMS and told.count("; and 4 more") == 1


TEXTS = st.one_of(st.text(max_size=20), st.sampled_from([DIGITS, "1", "%00", "%", "..", "/", "?"]))
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=20)),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=6,
)
KEYS = sorted({key for route in ROUTES if route.body for key in route.body.model_fields})
BODIES = st.one_of(
    st.just(b""),
    st.binary(max_size=50),
    st.dictionaries(st.sampled_from(KEYS), JSON, max_size=3).map(
        lambda one: json.dumps(one).encode()
    ),
)
HEADERS = st.sampled_from(
    [
        *("Expect: 100-continue", "Expect: x", "Transfer-Encoding: chunked", "Upgrade: websocket"),
        *("Transfer-Encoding: gzip", "Content-Encoding: deflate", "Content-Length: 99999999"),
        *(
            "Content-Type: text/plain; charset=none",
            "Host: \x7f",
            "X" * 9_000 + ": 1",
            ": 1",
            "é: é",
        ),
    ]
)


@st.composite
def hostile_requests(draw: st.DrawFn) -> bytes:
    """Nearly a request: of this daemon's own, with something wrong anywhere."""
    target = draw(st.sampled_from(PATHS)).replace("{run}", draw(TEXTS))
    if draw(st.booleans()):
        target += f"?{draw(st.sampled_from(['count', 'camera', 'x']))}={draw(TEXTS)}"
    headers = draw(st.lists(HEADERS, max_size=2))
    whole = request(draw(st.sampled_from(METHODS)), target, draw(BODIES), *headers)
    for _ in range(draw(st.integers(0, 2))):
        at = draw(st.integers(0, len(whole)))
        whole = whole[:at] + draw(st.binary(max_size=3)) + whole[at + draw(st.integers(0, 3)) :]
    return whole


async def assert_bytes_do_no_harm(path: Path, examples: int) -> None:
    """Send many of them; at the end the daemon still answers."""

    @settings(max_examples=examples)
    @given(hostile_requests())
    def check(data: bytes) -> None:
        # What is cut short is waited for; the answer to all else comes at once.
        answer = talk(path, data, patience_s=0.1)
        assert_refused_in_json(answer, is_head=b"HEAD" in data[:10])

    await asyncio.to_thread(check)
    data = await asyncio.to_thread(talk, path, request("GET", "/status"))
    assert assert_refused_in_json(data) == [200]


@pytest.mark.parametrize(
    "examples",
    [300, pytest.param(5_000, marks=[pytest.mark.long, pytest.mark.timeout(1800)])],
)
async def test_any_bytes_are_answered_in_json(
    path: Path, caplog: pytest.LogCaptureFixture, controller: JobController, examples: int
) -> None:
    await assert_bytes_do_no_harm(path, examples)
    await controller.stop()
    assert traces(caplog) == []
