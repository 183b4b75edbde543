"""Every attack that the page has a guard against, made with the guard in place and without it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any

import aiohttp
import pytest

from robot.web import access, app, hub
from robot.web.access import HEADERS, IDLE_LIMIT_S, MOST_FAILURES, MOST_SESSIONS, Sessions

ELSEWHERE = "http://elsewhere.example"

Attack = Callable[[Any], Awaitable[bool]]
"""Tries something at a page; whether it succeeded."""


async def rebinds_a_name(page: Any) -> bool:
    """A stranger's name that was made to mean this machine: the browser thinks it the same."""
    rebound = {"Host": f"evil.example:{page.port}", "Origin": f"http://evil.example:{page.port}"}
    return (await page.ask("POST", "/api/start", page.own | rebound, json={}))[0] == 200


async def posts_from_another_port(page: Any) -> bool:
    """Another port of this machine is the same site: its page's request carries the cookie."""
    neighbour = page.own | {"Origin": "http://127.0.0.1:9", "Sec-Fetch-Site": "same-origin"}
    return (await page.ask("POST", "/api/start", neighbour, json={}))[0] == 200


async def listens_from_elsewhere(page: Any) -> bool:
    """A WebSocket may be opened by any page, and sends the cookie along."""
    try:
        async with page.visitor.ws_connect("/ws", headers={"Origin": ELSEWHERE}):
            return True
    except aiohttp.WSServerHandshakeError:
        return False


async def calibrates_from_elsewhere(page: Any) -> bool:
    """The same for the guided calibration, whose process would move the robot."""
    try:
        async with page.visitor.ws_connect("/ws/guide", headers={"Origin": ELSEWHERE}):
            return True
    except aiohttp.WSServerHandshakeError:
        return False


async def sends_a_form(page: Any) -> bool:
    """What a form can send: no header of its own."""
    headers = {"Origin": page.url, "Content-Type": "text/plain"}
    return (await page.ask("POST", "/api/start", headers, data="{}"))[0] == 200


async def loads_what_is_ours(page: Any) -> bool:
    """Another page loads a picture of a run, or a record, as if it were its own."""
    return (await page.ask("GET", "/api/runs", {"Sec-Fetch-Site": "same-site"}))[0] == 200


async def has_no_session(page: Any) -> bool:
    """Somebody in the network who knows the address, and not the token."""
    page.visitor.cookie_jar.clear()
    return (await page.ask("POST", "/api/start", page.own, json={}))[0] == 200


def _nothing(*_: object) -> None:
    pass


@pytest.mark.parametrize(
    ("attack", "guard", "broken"),
    [
        (rebinds_a_name, (app, "check_host"), _nothing),
        (posts_from_another_port, (app, "check_origin"), _nothing),
        (listens_from_elsewhere, (app, "check_origin"), _nothing),
        (calibrates_from_elsewhere, (app, "check_origin"), _nothing),
        (sends_a_form, (app, "check_own_header"), _nothing),
        (loads_what_is_ours, (app, "check_fetch_site"), _nothing),
        (has_no_session, (Sessions, "is_open"), lambda *_: True),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
async def test_an_attack_fails_and_would_not_without_its_guard(
    page: Any, attack: Attack, guard: tuple[Any, str], broken: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert await page.log_in() == 200
    cookies = {cookie.key: cookie.value for cookie in page.visitor.cookie_jar}
    assert await attack(page) is False
    assert page.daemon.posts() == [], "nothing reached the robot"
    page.visitor.cookie_jar.update_cookies(cookies, aiohttp.client.URL(page.url))
    monkeypatch.setattr(*guard, broken)
    assert await attack(page) is True, "the guard is what stops it"


async def test_the_page_itself_may(page: Any) -> None:
    assert await page.log_in() == 200
    assert (await page.ask("POST", "/api/start", page.own, json={"kind": "solve"}))[0] == 200
    assert page.daemon.posts() == [("/start", b'{"kind": "solve"}')]


@pytest.mark.parametrize(
    ("host", "served"),
    [
        ("127.0.0.1", True),
        ("localhost", True),
        ("[::1]", True),
        ("my-robot.example", True),
        ("MY-ROBOT.EXAMPLE", True),
        ("192.168.7.7", False),
        ("evil.example", False),
        ("localhost.evil.example", False),
        ("", False),
        ("[::1", False),
        ("a b", False),
    ],
)
async def test_names_that_the_page_answers_to(page: Any, host: str, served: bool) -> None:
    code, _ = await page.ask("GET", "/", {"Host": f"{host}:{page.port}"})
    assert (code == 200) is served
    assert code in {200, 400, 421}


@pytest.mark.parametrize("path", ["/", "/static/main.js", "/api/status", "/nothing", "/login"])
async def test_every_answer_has_the_headers_that_protect_it(page: Any, path: str) -> None:
    async with page.visitor.get(path) as response:
        for name, value in HEADERS.items():
            assert response.headers[name] == value
        kept = "no-cache" if path in {"/", "/static/main.js"} else "no-store"
        assert response.headers["Cache-Control"] == kept
        assert response.headers["Server"] == "cubist-web", "no versions for strangers"
    policy = HEADERS["Content-Security-Policy"]
    assert "unsafe" not in policy
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy


async def test_the_cookie_is_no_token_and_no_script_reads_it(page: Any) -> None:
    async with page.visitor.post("/login", headers=page.own, json={"token": "t" * 43}) as response:
        cookie = response.headers["Set-Cookie"]
    assert cookie.startswith(f"cubist-{page.port}=")
    assert "t" * 43 not in cookie
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(cookie.split("; "))


async def test_logging_out_revokes_the_session_and_closes_its_tabs(page: Any) -> None:
    await page.log_in()
    kept = {cookie.key: cookie.value for cookie in page.visitor.cookie_jar}
    async with page.visitor.ws_connect("/ws", headers={"Origin": page.url}) as socket:
        assert (await page.ask("POST", "/logout", page.own))[0] == 200
        async with asyncio.timeout(60):
            async for _ in socket:
                pass
    page.visitor.cookie_jar.update_cookies(kept, aiohttp.client.URL(page.url))
    assert (await page.ask("GET", "/api/status"))[0] == 401, "a copy of the cookie is worth nothing"


async def test_wrong_tokens_are_counted(page: Any) -> None:
    for _ in range(MOST_FAILURES):
        assert await page.log_in("wrong") == 401
    assert await page.log_in() == 429


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"7", b"{}", b'{"token": [1]}', b'{"token": "\\ud800"}', b"\xff"]
)
async def test_whatever_is_sent_as_a_token_is_refused(page: Any, body: bytes) -> None:
    code, answer = await page.ask("POST", "/login", page.own, data=body)
    assert code in {400, 401}
    assert set(answer) == {"error", "reason"}


def test_a_session_ends_a_week_after_its_last_use() -> None:
    now, ended = 0.0, list[str]()
    sessions = Sessions("token", ended.append, lambda: now)
    session = sessions.open("token", "here")
    for _ in range(2):
        now += IDLE_LIMIT_S
        assert sessions.is_open(session)
    now += IDLE_LIMIT_S + 0.1
    assert not sessions.is_open(session)
    other = sessions.open("token", "here")
    sessions.close(session)
    sessions.close(other)
    assert (ended, sessions.is_open(other)) == ([session, other], False)


def test_of_too_many_sessions_the_one_unused_for_longest_ends() -> None:
    sessions = Sessions("token")
    first, second, *_ = (sessions.open("token", "here") for _ in range(MOST_SESSIONS))
    assert sessions.is_open(first)
    sessions.open("token", "here")
    assert sessions.is_open(first) and not sessions.is_open(second)


def test_wrong_tokens_lock_their_address_out_for_a_minute() -> None:
    now = 100.0
    sessions = Sessions("token", clock=lambda: now)

    def status(token: str, address: str = "here") -> int:
        try:
            sessions.open(token, address)
        except access.Refusal as refusal:
            return refusal.status
        return 200

    assert status("wrong") == 401
    now = 130.0
    assert {status("wrong") for _ in range(MOST_FAILURES - 1)} == {401}
    now = 159.9
    assert (status("token"), status("token", "elsewhere")) == (429, 200)
    now = 160.0
    assert (status("wrong"), status("token")) == (401, 429), "only the first is forgotten"
    now = 190.0
    assert status("token") == 200


def asking(sockname: tuple[str, int] | None, **headers: str) -> Any:
    """A request that came in at an address of this machine."""
    transport = None if sockname is None else SimpleNamespace(get_extra_info=lambda _: sockname)
    return SimpleNamespace(headers=headers, transport=transport)


@pytest.mark.parametrize(
    ("host", "sockname", "served"),
    [
        ("10.0.0.7:8421", ("10.0.0.7", 8421), True),
        ("10.0.0.7", ("::ffff:10.0.0.7", 8421), True),
        ("10.0.0.8", ("10.0.0.7", 8421), False),
        ("[fd00::7]:8421", ("fd00::7", 8421), True),
        ("127.0.0.2", None, True),
        ("10.0.0.7", None, False),
        ("robot.example", ("10.0.0.7", 8421), True),
    ],
)
def test_an_address_of_its_own_is_a_name_of_the_page(
    host: str, sockname: tuple[str, int] | None, served: bool
) -> None:
    request = asking(sockname, Host=host)
    if served:
        access.check_host(request, {"robot.example"})
    else:
        with pytest.raises(access.Refusal) as refused:
            access.check_host(request, {"robot.example"})
        assert (refused.value.status, refused.value.error) == (421, "wrong-host")


@pytest.mark.parametrize(
    ("check", "headers", "error"),
    [
        (access.check_origin, {"Host": "a:1", "Origin": "http://a:1"}, ""),
        (access.check_origin, {"Host": "a:1", "Origin": "https://a:1"}, ""),
        (access.check_origin, {"Host": "a:1", "Origin": "http://a:2"}, "wrong-origin"),
        (access.check_origin, {"Host": "a:1"}, "wrong-origin"),
        (access.check_fetch_site, {}, ""),
        (access.check_fetch_site, {"Sec-Fetch-Site": "none"}, ""),
        (access.check_fetch_site, {"Sec-Fetch-Site": "same-origin"}, ""),
        (access.check_fetch_site, {"Sec-Fetch-Site": "same-site"}, "wrong-site"),
        (access.check_own_header, {"X-Cubist": "1"}, ""),
        (access.check_own_header, {"X-Cubist": "0"}, "no-header"),
        (access.check_own_header, {}, "no-header"),
    ],
)
def test_what_a_request_needs(check: Any, headers: dict[str, str], error: str) -> None:
    if not error:
        check(asking(None, **headers))
        return
    with pytest.raises(access.Refusal) as refused:
        check(asking(None, **headers))
    assert (refused.value.status, refused.value.error) == (403, error)


def test_this_machine_has_its_own_names_and_those_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access.socket, "gethostname", lambda: "Pi.Example.org")
    names = {"localhost", "pi.example.org", "pi.local"}
    assert access.own_names() == names
    assert access.own_names(["Robot.Example"]) == names | {"robot.example"}


LOGIN = "POST /login HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\nX-Cubist: 1\r\n"
HOSTILE = {
    "no method": b"rubbish\r\n\r\n",
    "bad header": b"GET / HTTP/1.1\r\nHost\r\n\r\n",
    "long header": b"GET / HTTP/1.1\r\nX: " + b"a" * 20_000 + b"\r\n\r\n",
    "two hosts": b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
    "odd expectation": b"GET / HTTP/1.1\r\nHost: {host}\r\nExpect: \xff\xff\r\n\r\n",
    "bad chunk": (LOGIN + "Transfer-Encoding: chunked\r\n\r\nzz\r\n{}").encode(),
    "garbage gzip": (LOGIN + "Content-Encoding: gzip\r\nContent-Length: 6\r\n\r\n").encode()
    + b"\x1f\x8b\x08\0\0\0",
    "deep token": (LOGIN + "Content-Length: 16000\r\n\r\n" + "[" * 16_000).encode(),
}
"""What somebody without a session may send."""


@pytest.mark.parametrize("name", HOSTILE)
async def test_what_strangers_send_is_refused_in_json_and_leaves_no_trace(
    page: Any, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", page.port)
    writer.write(HOSTILE[name].replace(b"{host}", f"127.0.0.1:{page.port}".encode()))
    async with asyncio.timeout(60):
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
        answer = json.loads(await reader.readexactly(length))
    writer.close()
    assert head.split(b" ")[1] in {b"400", b"417"}
    assert {"error", "reason"} <= set(answer)
    for header, value in HEADERS.items():
        assert f"{header}: {value}".encode() in head
    assert not [one for one in caplog.records if one.exc_info or "\n" in one.getMessage()]


async def test_the_page_never_asks_for_anything_else(page: Any) -> None:
    await page.log_in()
    for method, path in (
        ("POST", "/api/shutdown"),
        ("POST", "/api/maintenance"),
        ("PUT", "/api/calibration"),
        ("GET", "/api/openapi.json"),
        ("GET", "/api/events"),
        ("GET", "/api/runs/1/files/%2e%2e"),
        ("GET", "/api/runs/..%2f..%2fshutdown"),
        ("GET", "/api/runs/1%3fcount=2"),
        ("GET", "/api/runs/1%0d%0aX:%20y"),
        ("GET", "/static/../sessions.py"),
        ("GET", "/static/..%2fsessions.py"),
    ):
        code, _ = await page.ask(method, path, page.own)
        assert code in {404, 405}, path
    assert page.daemon.asked == []


async def test_what_the_daemon_sends_is_never_a_page_of_its_own(page: Any) -> None:
    await page.log_in()
    assert (await page.ask("GET", "/api/runs/1/files/a.jpg")) == (200, b"\xff\xd8")
    code, answer = await page.ask("GET", "/api/runs/1/files/a.png")
    assert (code, answer["error"]) == (503, "no-daemon")


async def test_large_bodies_and_messages_are_cut_off(page: Any) -> None:
    await page.log_in()
    code, _ = await page.ask("POST", "/api/start", page.own, data=b"x" * 20_000)
    assert code == 413
    async with page.visitor.ws_connect("/ws", headers={"Origin": page.url}) as socket:
        await socket.send_str("x" * (hub.LONGEST_MESSAGE + 1))
        async with asyncio.timeout(60):
            async for _ in socket:
                pass
        assert socket.closed
    assert page.daemon.posts() == []


async def test_no_more_tabs_than_a_small_computer_can_serve(
    page: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub, "MOST_TABS", 2)
    await page.log_in()
    own = {"Origin": page.url}
    async with (
        page.visitor.ws_connect("/ws", headers=own),
        page.visitor.ws_connect("/ws", headers=own),
    ):
        with pytest.raises(aiohttp.WSServerHandshakeError):
            await page.visitor.ws_connect("/ws", headers=own)
