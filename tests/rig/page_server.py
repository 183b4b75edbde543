"""The page's server with a fake daemon, and a visitor that is no browser."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
from aiohttp import web

from robot.api.calibrations import FORMAT
from robot.api.endpoints import AGE_HEADER
from robot.settings import profile_file
from robot.web.main import PageOptions, serving
from tests.rig.documents import live_json, status_json

TOKEN = "t" * 43
STATUS: Any = status_json()
NOTHING: Any = live_json()


@dataclass
class FakePageDaemon:
    """A fake daemon that answers the page's requests and logs them.

    ``frame``: number of the picture, ``None`` if there is none.
    """

    path: Path
    asked: list[tuple[str, str, bytes]] = field(default_factory=list)
    events: asyncio.Queue[dict[str, Any] | None] = field(default_factory=asyncio.Queue)
    pictures: int = 0
    frame: Any = 1
    maintenances: int = 0
    refusal: dict[str, Any] | None = None
    is_broken: bool = False
    """True if answers are internal errors."""

    @contextlib.asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self._answer)
        runner = web.AppRunner(app, shutdown_timeout=0.1, handler_cancellation=True)
        await runner.setup()
        await web.UnixSite(runner, str(self.path)).start()
        try:
            yield
        finally:
            self.events.put_nowait(None)
            await runner.cleanup()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        self.asked.append((request.method, request.path_qs, await request.read()))
        endless = {"/events": self._tell, "/maintenance": self._maintain}
        if request.path in endless:
            return await endless[request.path](request)
        if request.path == "/picture":
            return self._picture(request)
        if request.path.endswith(".jpg"):
            return web.Response(body=b"\xff\xd8", content_type="image/jpeg")
        if request.path.endswith(".csv"):
            return web.Response(body=b"run,started", content_type="text/csv")
        if request.path.endswith(".png"):
            return web.Response(body=b"<script>", content_type="text/html")
        found = {
            "/status": STATUS,
            "/live": NOTHING,
            "/stop": {"stopped": True},
            "/profile/running": {"text": profile_file("cubotino").read_text(encoding="utf-8")},
            "/calibration": {"format": FORMAT, "robot": "cubotino", "values": {}},
        }
        document = found.get(request.path, {"path": request.path})
        return web.json_response(document, status=500 if self.is_broken else 200)

    def _picture(self, request: web.Request) -> web.Response:
        self.pictures += 1
        if self.frame is None:
            return web.json_response({}, status=404)
        tag = f'"{self.frame}"'
        if request.headers.get("If-None-Match") == tag:
            return web.Response(status=304)
        return web.Response(
            body=b"jpeg", content_type="image/jpeg", headers={"ETag": tag, AGE_HEADER: "0"}
        )

    async def _maintain(self, request: web.Request) -> web.StreamResponse:
        """Hold maintenance until the calibrating person leaves."""
        if self.refusal is not None:
            return web.json_response(self.refusal, status=409)
        response = web.StreamResponse()
        await response.prepare(request)
        self.maintenances += 1
        try:
            await response.write(b"{}\n")
            await asyncio.Event().wait()
        finally:
            self.maintenances -= 1
        return response

    async def _tell(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        with contextlib.suppress(ConnectionError):
            while (event := await self.events.get()) is not None:
                await response.write(json.dumps(event).encode() + b"\n")
        return response

    def count(self, path: str) -> int:
        return sum(path == asked for _, asked, _ in self.asked)

    def posts(self) -> list[tuple[str, bytes]]:
        return [(path, body) for method, path, body in self.asked if method == "POST"]


@dataclass
class PageTab:
    socket: aiohttp.ClientWebSocketResponse

    async def ask(self, *does: str) -> None:
        for do in does:
            await self.socket.send_json({"do": do})

    async def hear(self, kind: str = "") -> Any:
        """Return the next message, or the content of the next one of a ``kind``."""
        async with asyncio.timeout(60):
            async for message in self.socket:
                data = message.data
                found = json.loads(data) if isinstance(data, str) else {"picture": data}
                if not kind:
                    return found
                if kind in found:
                    return found[kind]
        raise AssertionError("the tab was closed")

    async def picture(self) -> tuple[int, bytes]:
        data = await self.hear("picture")
        return int.from_bytes(data[:4], "big"), data[8:]

    async def closed(self) -> None:
        async with asyncio.timeout(60):
            async for _ in self.socket:
                pass


@dataclass
class PageVisitor:
    """The page's server, and a visitor who sends any request."""

    url: str
    daemon: FakePageDaemon
    visitor: aiohttp.ClientSession

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    @property
    def own(self) -> dict[str, str]:
        """The headers that the page itself sends with a POST."""
        return {"Origin": self.url, "X-Cubist": "1", "Sec-Fetch-Site": "same-origin"}

    async def ask(
        self, method: str, path: str, headers: dict[str, str] | None = None, **more: Any
    ) -> tuple[int, Any]:
        async with self.visitor.request(method, path, headers=headers, **more) as response:
            is_json = response.content_type == "application/json"
            return response.status, await (response.json() if is_json else response.read())

    @contextlib.asynccontextmanager
    async def tab(self, path: str = "/ws") -> AsyncIterator[PageTab]:
        async with self.visitor.ws_connect(path, headers=self.own) as socket:
            yield PageTab(socket)

    async def log_in(self, token: str = TOKEN) -> int:
        return (await self.ask("POST", "/login", self.own, json={"token": token}))[0]


@contextlib.asynccontextmanager
async def visited(daemon: FakePageDaemon, options: PageOptions) -> AsyncIterator[PageVisitor]:
    jar = aiohttp.CookieJar(unsafe=True)  # also accepts cookies of IP addresses
    async with serving(options, TOKEN) as announced:
        url = announced.urls[0].partition("/#")[0]
        async with aiohttp.ClientSession(url, cookie_jar=jar) as visitor:
            yield PageVisitor(url, daemon, visitor)
