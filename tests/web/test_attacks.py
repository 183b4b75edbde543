"""Every attack that the page has a guard against, made with the guard in place and without it."""

from __future__ import annotations

import asyncio
import contextlib
import re
import resource
import socket
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import aiohttp
import pytest

from robot.api.endpoints import MANAGING
from robot.simulate.session import DemoStage
from robot.simulate.simulation import page_served
from robot.web import access, app, hub
from robot.web.access import HEADERS, IDLE_LIMIT_S, MOST_FAILURES, MOST_SESSIONS, Sessions
from robot.web.announcement import FILE_NAME, read_announcement
from robot.web.main import PageOptions
from tests.rig.browser import running_robot
from tests.rig.page_server import TOKEN, PageTab, PageVisitor

ELSEWHERE = "http://elsewhere.example"


@dataclass(frozen=True)
class Attack:
    """A request of an attacker: its path and headers; a WebSocket if it has no ``method``.

    ``guard``: the function that stops it. ``without``: headers of the page that it cannot send.
    """

    method: str
    path: str
    headers: dict[str, str]
    guard: str
    without: tuple[str, ...] = ()

    async def succeeds(self, page: PageVisitor) -> bool:
        headers = {name: text for name, text in page.own.items() if name not in self.without}
        headers |= {name: text.format(port=page.port) for name, text in self.headers.items()}
        if self.method:
            return (await page.ask(self.method, self.path, headers))[0] == 200
        try:
            async with page.visitor.ws_connect(self.path, headers=headers):
                return True
        except aiohttp.WSServerHandshakeError:
            return False


EVIL = {"Host": "evil.example:{port}", "Origin": "http://evil.example:{port}"}
FORM, NEIGHBOUR = {"Content-Type": "text/plain"}, {"Origin": "http://127.0.0.1:9"}
START = ("POST", "/api/start")
ATTACKS = {
    "a stranger's name made to mean this machine": Attack(*START, EVIL, "check_host"),
    # The browser sends the cookie to it.
    "another port of this machine": Attack(*START, NEIGHBOUR, "check_origin"),
    "a WebSocket of another page": Attack("", "/ws", {"Origin": ELSEWHERE}, "check_origin"),
    "a guide of another page": Attack("", "/ws/guide", {"Origin": ELSEWHERE}, "check_origin"),
    "a form, which has no header of its own": Attack(
        *START, FORM, "check_own_header", without=("X-Cubist",)
    ),
    "a record loaded by another page": Attack(
        "GET", "/api/runs", {"Sec-Fetch-Site": "same-site"}, "check_fetch_site"
    ),
    "somebody who knows the address and not the token": Attack(
        *START, {"Cookie": "cubist-{port}=guessed"}, "is_open"
    ),
}


@pytest.mark.parametrize("name", ATTACKS)
async def test_an_attack_fails_and_would_not_without_its_guard(page, name, monkeypatch):
    attack = ATTACKS[name]
    is_stranger = attack.guard == "is_open"
    if not is_stranger:
        assert await page.log_in() == 200
    assert await attack.succeeds(page) is False
    assert page.daemon.posts() == [], "nothing reached the robot"
    monkeypatch.setattr(Sessions if is_stranger else app, attack.guard, lambda *_: True)
    monkeypatch.setattr(Sessions, "is_owner", lambda *_: True)  # without a session it is false, too
    assert await attack.succeeds(page) is True, "the guard is what stops it"


@pytest.mark.parametrize("path", ["/", "/static/main.js", "/api/status", "/nothing", "/login"])
async def test_every_answer_has_the_headers_that_protect_it(page, path):
    async with page.visitor.get(path) as response:
        for name, value in HEADERS.items():
            assert response.headers[name] == value
        kept = "no-cache" if path in {"/", "/static/main.js"} else "no-store"
        assert response.headers["Cache-Control"] == kept
    policy = HEADERS["Content-Security-Policy"]
    assert "unsafe" not in policy
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy


async def test_the_cookie_is_no_token_and_no_script_reads_it(page):
    async with page.visitor.post("/login", headers=page.own, json={"token": TOKEN}) as response:
        cookie = response.headers["Set-Cookie"]
    assert cookie.startswith(f"cubist-{page.port}=")
    assert TOKEN not in cookie
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(cookie.split("; "))


async def test_logging_out_revokes_the_session_and_closes_its_tabs(page):
    await page.log_in()
    kept = {cookie.key: cookie.value for cookie in page.visitor.cookie_jar}
    async with page.tab() as tab:
        assert (await page.ask("POST", "/logout", page.own))[0] == 200
        await tab.closed()
    page.visitor.cookie_jar.update_cookies(kept, aiohttp.client.URL(page.url))
    assert (await page.ask("GET", "/api/status"))[0] == 401, "a copy of the cookie is worth nothing"


async def test_wrong_tokens_are_refused_and_counted(page):
    odd = [b"", b"{", b"[]", b"7", b"{}", b'{"token": [1]}', b'{"token": "\\ud800"}', b"\xff"]
    odd.append(b"[" * 16_000)
    for body in odd:
        code, answer = await page.ask("POST", "/login", page.own, data=body)
        assert code in {400, 401}
        assert set(answer) == {"error", "reason"}
    while (code := await page.log_in("wrong")) != 429:
        assert code == 401
    assert await page.log_in() == 429


def test_a_session_ends_a_week_after_its_last_use():
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


def test_wrong_tokens_lock_their_address_out_for_a_minute():
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


OWN_ADDRESS = ("10.0.0.7", 8421)


@pytest.mark.parametrize(
    ("host", "sockname", "served"),
    [
        ("10.0.0.7:8421", OWN_ADDRESS, True),
        ("10.0.0.7", ("::ffff:10.0.0.7", 8421), True),
        ("10.0.0.8", OWN_ADDRESS, False),
        ("[fd00::7]:8421", ("fd00::7", 8421), True),
        ("127.0.0.2", None, True),
        ("[::1]:8421", None, True),
        ("10.0.0.7", None, False),
        ("ROBOT.example:80", OWN_ADDRESS, True),
        ("robot.example.evil.example", OWN_ADDRESS, False),
        ("", OWN_ADDRESS, False),
        ("[::1", OWN_ADDRESS, False),
        ("a b", OWN_ADDRESS, False),
    ],
)
def test_names_and_addresses_that_the_page_answers_to(host, sockname, served):
    transport = sockname and SimpleNamespace(get_extra_info=lambda _: sockname)
    request = SimpleNamespace(headers={"Host": host}, transport=transport)
    if served:
        access.check_host(request, {"robot.example"})
    else:
        with pytest.raises(access.Refusal) as refused:
            access.check_host(request, {"robot.example"})
        assert (refused.value.status, refused.value.error) == (421, "wrong-host")


def test_this_machine_has_its_own_names_and_those_given(monkeypatch):
    monkeypatch.setattr(access.socket, "gethostname", lambda: "Pi.Example.org")
    names = {"localhost", "pi.example.org", "pi.local"}
    assert access.own_names() == names
    assert access.own_names(["Robot.Example"]) == names | {"robot.example"}


async def test_the_page_never_asks_for_anything_else(page):
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


async def test_what_the_daemon_sends_is_never_a_page_of_its_own(page):
    await page.log_in()
    assert (await page.ask("GET", "/api/runs/1/files/a.jpg")) == (200, b"\xff\xd8")
    assert (await page.ask("GET", "/api/exports/runs.csv")) == (200, b"run,started")
    code, answer = await page.ask("GET", "/api/runs/1/files/a.png")
    assert (code, answer["error"]) == (503, "no-daemon")


async def test_large_bodies_and_messages_are_cut_off(page):
    await page.log_in()
    code, _ = await page.ask("POST", "/api/start", page.own, data=b"x" * (app.MAX_BODY + 1))
    assert code == 413
    async with page.tab() as tab:
        await tab.socket.send_str("x" * (hub.LONGEST_MESSAGE + 1))
        await tab.closed()
    assert page.daemon.posts() == []


FLOODING, WATCHING, VISITING = "127.0.0.66", "127.0.0.2", "127.0.0.3"
"""Hosts of this computer's loopback network."""

IDLE = 1_300
SERVICE_FILES = 1024
"""Descriptors that systemd gives the services."""

LIMIT_S = 240.0
MOVES = "R U F2 L D B R U F2 L D B R U F2"


@dataclass
class FloodScene:
    """A simulated robot and its page, whose programs have as many descriptors as services."""

    stage: DemoStage
    folder: Path
    url: str
    token: str

    def visitor(self, host: str) -> aiohttp.ClientSession:
        return aiohttp.ClientSession(
            self.url,
            connector=aiohttp.TCPConnector(local_addr=(host, 0)),
            cookie_jar=aiohttp.CookieJar(unsafe=True),
            headers={"Origin": self.url, "X-Cubist": "1"},
        )


@pytest.fixture
async def flooded() -> AsyncIterator[FloodScene]:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    async with contextlib.AsyncExitStack() as stack:
        resource.setrlimit(resource.RLIMIT_NOFILE, (SERVICE_FILES, before[1]))
        try:
            started = running_robot("six-motor", speed=0.5)
            stage, folder = await stack.enter_async_context(started)
            url = await stack.enter_async_context(page_served(folder, wanted=True))
        finally:  # the flood needs more
            resource.setrlimit(resource.RLIMIT_NOFILE, before)
        address, _, token = url.partition("/#")
        yield FloodScene(stage, folder, address, token)


async def flood(connect: Callable[[], socket.socket]) -> None:
    """Open connections and keep the latest :data:`IDLE`, until cancelled."""
    opened: list[socket.socket] = []
    try:
        while True:
            opened += [connect() for _ in range(IDLE // 10)]
            for one in opened[:-IDLE]:
                one.close()
            del opened[:-IDLE]
            await asyncio.sleep(0.1)
    finally:
        for one in opened:
            one.close()


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("at", ["page", "control socket"])
async def test_a_flood_takes_neither_the_page_nor_a_stop_from_others(flooded, at):
    def connect() -> socket.socket:
        is_page = at == "page"
        one = socket.socket(socket.AF_INET if is_page else socket.AF_UNIX)
        one.setblocking(False)
        if is_page:
            one.bind((FLOODING, 0))
        page = ("127.0.0.1", int(flooded.url.rpartition(":")[2]))
        one.connect_ex(page if is_page else str(flooded.folder / "run/control.sock"))
        return one

    daemon, robot = flooded.stage.daemon, flooded.stage.scene.robot
    async with flooded.visitor(WATCHING) as watcher, asyncio.timeout(LIMIT_S):
        async with watcher.post("/login", json={"token": flooded.token}) as answer:
            assert answer.status == 200
        async with watcher.ws_connect("/ws") as socket_of_tab:
            tab, flooding = PageTab(socket_of_tab), asyncio.create_task(flood(connect))
            await asyncio.sleep(5)
            async with (
                flooded.visitor(VISITING) as stranger,
                asyncio.timeout(2.0),
                stranger.get("/") as answer,
            ):
                assert answer.status == 200
            order = {"kind": "scramble", "moves": MOVES}
            async with watcher.post("/api/start", json=order) as answer:
                assert answer.status == 200
            while (await daemon.status()).state != "turning" or not robot.moving:
                await asyncio.sleep(0.001)
            asked_us = robot.time_us
            await tab.ask("estop")
            while robot.moving:
                await asyncio.sleep(0.001)
            assert robot.time_us - asked_us < 50_000
            assert await tab.hear("stopped") is True
            assert flooding.cancel(), "it has lasted"
    assert (await daemon.status()).state == "fault", "`cubist status` has its answer"


def routes_for_owners() -> list[tuple[str, str]]:
    """Return every route of the table that changes something, and those that only owners read."""
    table = app.make_app(Mock(), Mock(), Mock(), frozenset(), Mock(), Mock()).router.routes()
    own = {"/login", "/logout"}  # a viewer's own session
    found = {
        (route.method, re.sub(r"{[^}]*}", "1", route.resource.canonical))
        for route in table
        if route.resource is not None and route.method not in {"GET", "HEAD"}
    }
    changing = {(method, path) for method, path in found if path not in own}
    return sorted(changing | {("GET", path) for path in app.OWNERS})


@pytest.fixture
async def viewer(page: PageVisitor, options: PageOptions) -> str:
    """Log a visitor in with the address for viewers, and return their token."""
    token = read_announcement(options.announce / FILE_NAME).viewer_urls[0].rpartition("#")[2]
    assert token != TOKEN and await page.log_in(token) == 200
    return token


def test_the_routes_for_owners_are_those_of_the_daemon_and_more():
    forwarded = {*app.FORWARDED, *MANAGING}
    changing = {(end.method, f"/api{end.path}") for end in forwarded if end.method != "GET"}
    assert len(changing) >= 4 and changing < set(routes_for_owners())


@pytest.mark.parametrize(("method", "path"), routes_for_owners())
async def test_a_viewer_changes_nothing(page, viewer, method, path):
    del viewer
    code, answer = await page.ask(method, path, page.own, json=None if method == "GET" else {})
    assert (code, answer["error"]) == (403, "viewer")
    assert not page.daemon.posts()


async def test_a_viewer_sees_everything_until_the_address_is_withdrawn(page, viewer, options):
    assert (await page.ask("GET", "/api/session"))[1] == {"viewer": True}
    assert (await page.ask("GET", "/api/runs"))[0] == 200
    async with page.tab() as tab:
        for stop in hub.STOPS:
            await tab.ask(stop)
            assert (await tab.hear("stopped")) == stop
        assert not page.daemon.posts()
        async with aiohttp.ClientSession(
            page.url, cookie_jar=aiohttp.CookieJar(unsafe=True)
        ) as own:
            owner = PageVisitor(page.url, page.daemon, own)
            await owner.log_in()
            _, shown = await owner.ask("GET", "/api/viewers")
            assert shown["url"] == f"{page.url}/#{viewer}" and len(shown["code"]) > 20
            assert (await owner.ask("POST", "/api/viewers/withdraw", owner.own))[0] == 200
            assert (await owner.ask("GET", "/api/viewers"))[1]["url"] != shown["url"]
        async with asyncio.timeout(60):
            async for _ in tab.socket:
                pass
    assert (await page.ask("GET", "/api/runs"))[0] == 401
    assert await page.log_in(viewer) == 401
    announced = read_announcement(options.announce / FILE_NAME)
    assert not announced.viewer_urls[0].endswith(viewer)


def test_no_number_of_viewers_ends_an_owner_s_session():
    ended: list[str] = []
    sessions = Sessions("token", ended.append, viewer_token="viewer")
    owner = sessions.open("token", "a")
    used, first = (sessions.open("viewer", "a") for _ in range(2))
    assert sessions.is_open(used)
    viewers = [used, *(sessions.open("viewer", "a") for _ in range(MOST_SESSIONS - 1))]
    assert ended == [first] and sessions.is_owner(owner)
    sessions.withdraw_viewers("another")
    assert not any(map(sessions.is_open, viewers)) and sessions.is_open(owner)
    assert not any(map(sessions.is_owner, [*viewers, "nobody"])), "who has no session may nothing"


async def test_tabs_of_viewers_leave_room_for_an_owner(page, viewer, monkeypatch):
    del viewer
    monkeypatch.setattr(hub, "MOST_TABS", 2)
    async with page.tab(), page.tab():
        with pytest.raises(aiohttp.WSServerHandshakeError):
            async with page.tab():
                pass
        await page.log_in()
        async with page.tab() as owner:
            await owner.ask("stop")
            assert await owner.hear("stopped") is True
