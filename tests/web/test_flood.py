"""A host that opens connections and says nothing takes neither the page nor a stop from others.

All traffic stays within this computer: hosts are addresses of its loopback network.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import resource
import socket
import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from robot.api.rights import Program
from robot.settings import load_profile, profile_file
from robot.simulate.processes import running, workspace
from robot.simulate.progress import SilentDisplay
from robot.simulate.session import Demo, DemoOptions, DemoStage
from robot.twin.cube import scrambled
from robot.web.announcement import FILE_NAME, read_announcement

FLOODING, WATCHING, VISITING = "127.0.0.66", "127.0.0.2", "127.0.0.3"
IDLE = 1_300
MOST_OPENED = 6_000
"""Connections that the flood opens in all, those again that were closed."""

SERVICE_FILES = 1024
"""Descriptors that systemd gives the services."""

SPEED = 0.5
LIMIT_S = 240.0
HELD_S = 15.0
MOST_LOGGED = 100_000 * HELD_S / 60
MOVES = "R U F2 L D B R U F2 L D B R U F2"


@contextlib.contextmanager
def descriptors(soft: int) -> Iterator[None]:
    """For what is started inside: as many descriptors as a service has."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


@dataclass
class Scene:
    """A simulated robot, its page, and what both programs have logged."""

    stage: DemoStage
    folder: Path
    port: int
    token: str

    @property
    def robot(self) -> Any:
        return self.stage.scene.robot

    def logged(self) -> int:
        return sum(
            (self.folder / f"{name}.log").stat().st_size for name in ("cubistd", "cubist-web")
        )

    @contextlib.asynccontextmanager
    async def visitor(self, host: str) -> AsyncIterator[aiohttp.ClientSession]:
        """Somebody at a host of their own."""
        connector = aiohttp.TCPConnector(local_addr=(host, 0))
        jar = aiohttp.CookieJar(unsafe=True)
        url = f"http://127.0.0.1:{self.port}"
        headers = {"Origin": url, "X-Cubist": "1"}
        async with aiohttp.ClientSession(
            url, connector=connector, cookie_jar=jar, headers=headers
        ) as session:
            yield session


@pytest.fixture
async def scene() -> AsyncIterator[Scene]:
    profile = load_profile("six-motor")
    options = DemoOptions(
        profile=profile,
        profile_file=profile_file("six-motor").resolve(),
        body=scrambled(3, 5),
        title=profile.title,
        speed=SPEED,
        seed=5,
    )
    with workspace() as folder, descriptors(SERVICE_FILES):
        async with Demo(options, SilentDisplay()).standing(folder) as stage:
            run = folder / "run"
            page = Program.PAGE.socket_beside(run / "control.sock")
            command = [
                *(sys.executable, "-m", "robot.web.main", "--bind", "0.0.0.0", "--port", "0"),
                *("--socket", str(page), "--runtime-dir", str(run)),
            ]
            async with running("cubist-web", command, folder):
                async with asyncio.timeout(LIMIT_S):
                    while not (run / FILE_NAME).exists():
                        await asyncio.sleep(0.05)
                address, _, token = read_announcement(run / FILE_NAME).urls[0].partition("/#")
                yield Scene(stage, folder, int(address.rpartition(":")[2]), token)


async def hold_open(make: Any, count: int) -> None:
    """Keep so many idle connections, and open again what is closed, until cancelled."""
    opened: list[socket.socket] = []
    loop = asyncio.get_running_loop()
    total = 0
    try:
        while True:
            for one in opened[:]:
                with contextlib.suppress(BlockingIOError):
                    with contextlib.suppress(ConnectionError):
                        if one.recv(64):
                            continue
                    one.close()
                    opened.remove(one)
            while len(opened) < count and total < MOST_OPENED:
                one, address = make()
                one.setblocking(False)
                total += 1
                opened.append(one)
                with contextlib.suppress(ConnectionError, TimeoutError, BlockingIOError):
                    await asyncio.wait_for(loop.sock_connect(one, address), 1.0)
            await asyncio.sleep(0.1)
    finally:
        for one in opened:
            one.close()


@pytest.mark.long
@pytest.mark.timeout(600)
async def test_a_flood_of_the_page_takes_neither_it_nor_a_stop_from_others(scene: Scene) -> None:
    def connect() -> tuple[socket.socket, Any]:
        one = socket.socket()
        one.bind((FLOODING, 0))
        return one, ("127.0.0.1", scene.port)

    await assert_usable_during(scene, connect)


@pytest.mark.long
@pytest.mark.timeout(600)
async def test_a_flood_of_a_socket_of_the_daemon_stops_nobody(scene: Scene) -> None:
    def connect() -> tuple[socket.socket, Any]:
        return socket.socket(socket.AF_UNIX), str(scene.folder / "run/control.sock")

    await assert_usable_during(scene, connect)
    assert (await scene.stage.daemon.status()).state == "fault", "`cubist status` has its answer"


async def assert_usable_during(scene: Scene, connect: Any) -> None:
    """With the flood going on, an emergency stop stops the robot, and the page is there."""
    loop = asyncio.get_running_loop()
    async with scene.visitor(WATCHING) as tab, asyncio.timeout(LIMIT_S):
        async with tab.post("/login", json={"token": scene.token}) as answer:
            assert answer.status == 200
        async with tab.ws_connect("/ws") as socket_:
            flood = asyncio.create_task(hold_open(connect, IDLE))
            try:
                await asyncio.sleep(HELD_S / 3)
                before = scene.logged()
                begun = loop.time()
                async with (
                    scene.visitor(VISITING) as stranger,
                    asyncio.timeout(2.0),
                    stranger.get("/") as answer,
                ):
                    assert answer.status == 200
                start = {"kind": "scramble", "moves": MOVES}
                async with tab.post("/api/start", json=start) as answer:
                    assert answer.status == 200
                await until_turning(scene)
                asked_us = scene.robot.time_us
                await socket_.send_json({"do": "estop"})
                while scene.robot.moving:
                    await asyncio.sleep(0.001)
                took_ms = (scene.robot.time_us - asked_us) / 1e3
                print(f"the robot stands {took_ms:.1f} ms of its own time after the click")
                assert took_ms < 50
                async for message in socket_:
                    told = json.loads(message.data)
                    if "stopped" in told:
                        assert told == {"stopped": True} | told, told
                        assert "reason" not in told
                        break
                await asyncio.sleep(max(0.0, HELD_S - (loop.time() - begun)))
                print(f"{scene.logged() - before} bytes logged in {loop.time() - begun:.0f} s")
                assert scene.logged() - before < MOST_LOGGED
            finally:
                flood.cancel()
                await asyncio.gather(flood, return_exceptions=True)


async def until_turning(scene: Scene) -> None:
    while (await scene.stage.daemon.status()).state != "turning":
        await asyncio.sleep(0.05)
    while not scene.robot.moving:
        await asyncio.sleep(0.001)
