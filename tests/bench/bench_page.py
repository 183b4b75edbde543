"""The page: its weight, the daemon's cost of four viewers, pictures per second while the robot
turns, and the delay of its emergency stop."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from statistics import median, quantiles

import aiohttp

from robot.simulate.session import DemoStage
from robot.simulate.simulation import page_served
from robot.text.languages import LANGUAGES
from robot.web.app import load_assets
from tests.bench.figures import chosen, emit, whole
from tests.rig.browser import running_robot
from tests.rig.footprint import footprint

VIEWERS = 4
FRAMES_A_SECOND = 5
SOLVES = 3
SPEED = 10.0
"""Speed of the robot with four viewers. The one to stop is as fast as a real one."""
ASKED_EVERY_S = 0.09
"""Minimum time between two picture requests of a tab."""
POLL_S = 0.0005
MB = 1000
OWN = {"X-Cubist": "1", "Sec-Fetch-Site": "same-origin"}


def measure_page() -> None:
    """Emit a line for each figure. ``CUBIST_STOPS``: number of stops; ``CUBIST_SOLVES``: number of
    solves whose pictures are counted.
    """
    stops, video_solves = chosen("STOPS", 20, whole), chosen("SOLVES", SOLVES, whole)
    _emit_weight()
    for watching in (0, VIEWERS):
        asyncio.run(_emit_cost(watching))
    for robot in ("six-motor", "cubotino"):
        asyncio.run(_emit_video(robot, video_solves))
    asyncio.run(_emit_stops(stops))


def _emit_weight() -> None:
    """Emit the size of a browser's first load: everything except languages, plus one of these."""
    assets = load_assets()
    languages = {f"/static/{code}.json" for code in LANGUAGES}
    page = sum(len(asset.zipped) for path, asset in assets.items() if path not in languages)
    largest = max(len(assets[path].zipped) for path in languages)
    emit("page-weight", round((page + largest) / MB, 1), "kB", len(assets), {"page": page})


@contextlib.asynccontextmanager
async def _standing(
    robot: str, seed: int, speed: float
) -> AsyncIterator[tuple[DemoStage, aiohttp.ClientSession]]:
    """Run a simulated robot at this speed; yield it and a logged-in visitor of its page."""
    async with (
        running_robot(robot, speed, seed) as (stage, folder),
        page_served(folder, wanted=True) as url,
    ):
        assert url is not None
        while (await stage.daemon.status()).preparation is not None:
            await asyncio.sleep(0.1)
        origin, _, token = url.partition("/#")
        jar = aiohttp.CookieJar(unsafe=True)
        headers = OWN | {"Origin": origin}
        async with aiohttp.ClientSession(origin, cookie_jar=jar, headers=headers) as visitor:
            async with visitor.post("/login", json={"token": token}) as answer:
                answer.raise_for_status()
            yield stage, visitor


async def _watch(visitor: aiohttp.ClientSession) -> None:
    """Request pictures like a tab."""
    async with visitor.ws_connect("/ws", max_msg_size=0) as socket:
        while True:
            await socket.send_str('{"do": "frame"}')
            while (await socket.receive()).type is not aiohttp.WSMsgType.BINARY:
                pass
            await asyncio.sleep(1 / FRAMES_A_SECOND)


async def _start(visitor: aiohttp.ClientSession, kind: str) -> str:
    async with visitor.post("/api/start", json={"kind": kind}) as answer:
        answer.raise_for_status()
        return str((await answer.json())["run"])


async def _ended(stage: DemoStage) -> None:
    while (await stage.daemon.status()).job is not None:
        await asyncio.sleep(0.05)


async def _solve(
    stage: DemoStage,
    visitor: aiohttp.ClientSession,
    count: int,
    accompany: Callable[[], Awaitable[float]],
) -> tuple[list[int], float]:
    """Solve a cube ``count`` times and scramble it in between. Return how many microseconds later
    than planned each solve ended, and the sum of what ``accompany`` returned during each job.
    """
    late, accompanied = [], 0.0
    for number in range(2 * count - 1):
        run = await _start(visitor, "scramble" if number % 2 else "solve")
        accompanied += await accompany()
        await _ended(stage)
        if number % 2 == 0:
            record = await stage.daemon.run(run)
            assert record.executed_us is not None and record.planned_us is not None, record
            late.append(record.executed_us - record.planned_us)
    return late, accompanied


async def _emit_cost(watching: int) -> None:
    async with _standing("cubotino", 1, SPEED) as (stage, visitor):
        tasks = [asyncio.create_task(_watch(visitor)) for _ in range(watching)]
        late_us, _ = await _solve(stage, visitor, SOLVES, lambda: asyncio.sleep(0, 0.0))
        held = footprint(stage.children[-1].process.pid)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    late_ms = [late / 1e3 for late in late_us]
    name = f"page-{watching}-watching"
    emit(f"{name}-daemon", round(held.anonymous_kb / MB, 1), "MB", SOLVES)
    emit(f"{name}-later-than-planned", round(max(late_ms), 2), "ms", SOLVES, {"each": late_ms})


async def _emit_video(robot: str, solves: int) -> None:
    """Emit the new pictures per second in a tab while a robot turns, as fast as a real one."""
    numbers = set[int]()
    async with (
        _standing(robot, 1, 1.0) as (stage, visitor),
        visitor.ws_connect("/ws", max_msg_size=0) as socket,
    ):
        asking = asyncio.create_task(_ask_often(socket))
        note = partial(_note_pictures, socket, numbers)
        late_us, turning_s = await _solve(stage, visitor, solves, note)
        asking.cancel()
    detail = {"turning_s": round(turning_s, 1), "late_us": max(late_us)}
    emit(f"page-video-{robot}", round(len(numbers) / turning_s, 1), "1/s", len(numbers), detail)


async def _note_pictures(socket: aiohttp.ClientWebSocketResponse, numbers: set[int]) -> float:
    """Add the numbers of pictures received while a robot turns. Return how long it turns."""
    began = None
    async for message in socket:
        if message.type is aiohttp.WSMsgType.TEXT:
            state = json.loads(message.data).get("event", {}).get("state")
            if state == "turning" and began is None:
                began = time.perf_counter()
            elif state not in {None, "turning"} and began is not None:
                return time.perf_counter() - began
        elif began is not None:
            numbers.add(int.from_bytes(message.data[:4], "big"))
    raise AssertionError("the page was closed")


async def _ask_often(socket: aiohttp.ClientWebSocketResponse) -> None:
    while True:
        await socket.send_str('{"do": "frame"}')
        await asyncio.sleep(ASKED_EVERY_S)


async def _emit_stops(stops: int) -> None:
    """Emit milliseconds from a tab's emergency stop until no part of the robot moves."""
    took: list[float] = []
    for number in range(stops):  # a new robot each time, because layers are left askew
        async with (
            _standing("six-motor", number, 1.0) as (stage, visitor),
            visitor.ws_connect("/ws", max_msg_size=0) as socket,
        ):
            await _start(visitor, "solve")
            while (await stage.daemon.status()).state != "turning":
                await asyncio.sleep(0.002)
            await asyncio.sleep(0.02 * (number + 1))
            if stage.scene.robot.moving:
                began = time.perf_counter()
                await socket.send_str(json.dumps({"do": "estop"}))
                while stage.scene.robot.moving:
                    await asyncio.sleep(POLL_S)
                took.append((time.perf_counter() - began) * 1e3)
            await _ended(stage)
    worst = quantiles(took, n=100)[98] if len(took) > 1 else took[0]
    detail = {"p50": round(median(took), 1), "most": round(max(took), 1)}
    emit("page-estop-to-rest-p99", round(worst, 1), "ms", len(took), detail)
