"""Persistent simulated robots: for ``cubist simulate``, and for practising calibration.

A separate socket replaces the hands of a person at a real robot. Each connection takes a line with
a JSON object: ``{"do": "scramble", "seed": 7}`` or ``"moves"``, ``remove``, ``insert``, ``mend``,
``{"do": "fault", "fault": "jam:lid"}``. The answer is ``{}`` or ``{"error": why}``, with
``"exists": false`` for an invalid request, such as one that names something that does not exist.
``{"do": "list"}`` returns the faults that this robot can have.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from concurrent.futures import Future
from pathlib import Path

from robot.api.client import DaemonError
from robot.api.endpoints import Program
from robot.api.models import WORKING
from robot.api.paths import HAND_NAME, SOCKET_NAME, Simulation, announced
from robot.settings import RobotProfile
from robot.simulate.boards import fastest
from robot.simulate.fault_injection import parse_injected_fault, subjects_of_faults
from robot.simulate.processes import Child, SimulationError, running, workspace
from robot.simulate.progress import SilentDisplay
from robot.simulate.session import Demo, DemoOptions, DemoStage, unless_ended
from robot.twin.cube import CubeBody, scrambled
from robot.twin.misadjustment import BUILT_AS_DRAWN, Misadjustment
from robot.twin.server import listening
from robot.twin.simulated import SimulatedRobot, cube_put_in
from robot.twin.studio import OddScene
from robot.web.announcement import FILE_NAME, read_announcement
from solver.cube.cube import from_scramble
from solver.errors import CubistError, InvalidRequest
from solver.files import BadFile, JsonObject, parse_object

LONGEST_REQUEST = 10_000
ANSWER_LIMIT_S = 30.0


Ready = Callable[[Simulation, str | None], None]
"""Callback when everything is ready, with the simulation and the page's address."""


async def stay(options: DemoOptions, ready: Ready, *, web: bool = True, drift: float = 0.0) -> None:
    """Run a simulated robot until cancelled, or until its daemon is shut down.

    ``web``: also serve its page. ``drift``: degrees by which it drifts with each job. Raise
    ``SimulationError`` if a part of it ends, ``CubistError`` if this user already runs one.
    """
    with workspace() as folder:
        simulation = Simulation(os.getpid(), options.profile.name, folder, options.speed)
        with announced(simulation):
            async with (
                Demo(options, SilentDisplay()).running(folder) as stage,
                page_served(folder, wanted=web) as url,
            ):
                controller = SimulationController(options, stage)
                async with controller.listening(simulation):
                    following = asyncio.create_task(_inject(stage, drift))
                    try:
                        ready(simulation, url)
                        await _wait_for_shutdown(stage)
                    finally:
                        following.cancel()
                        stage.injection.cancel()


async def _inject(stage: DemoStage, drift: float) -> None:
    """Inject the planned faults in their stages, and make the robot drift with each job."""
    while True:
        with contextlib.suppress(DaemonError):  # it is restarting
            async with stage.daemon.events() as events:
                async for event in events:
                    stage.injection.enter(event.state)
                    if event.event == "finished":
                        stage.scene.robot.drift(drift)
        await asyncio.sleep(POLL_S)


async def _wait_for_shutdown(stage: DemoStage) -> None:
    try:
        await unless_ended(asyncio.Event().wait(), stage.children)
    except SimulationError:
        if not _was_shut_down(stage.children[-1]):
            raise


def _was_shut_down(daemon: Child) -> bool:
    return daemon.process.returncode == 0


def cube_after(size: int, moves: str) -> CubeBody:
    """Return the cube of ``size`` layers after moves from solved, or raise ``BadNotation``."""
    return CubeBody(from_scramble(moves, size).facelets())


class SimulationController:
    """A server that changes cube and robot on request, as a person at the robot could."""

    def __init__(self, options: DemoOptions, stage: DemoStage) -> None:
        self._profile = options.profile
        self._speed = options.speed
        self._stage = stage
        self._actions: dict[str, Callable[[JsonObject], Awaitable[JsonObject | None]]] = {
            "scramble": self._scramble,
            "remove": self._remove,
            "insert": self._insert,
            "fault": self._fault,
            "mend": self._mend,
            "list": self._list,
        }

    @contextlib.asynccontextmanager
    async def listening(self, simulation: Simulation) -> AsyncIterator[None]:
        """Serve requests at the socket while the context lasts."""
        path = simulation.hand_socket
        async with listening(path, self._serve, LONGEST_REQUEST):
            path.chmod(0o600)
            yield

    async def perform(self, request: JsonObject) -> JsonObject:
        """Carry out one request and return the answer, or raise
        :class:`solver.errors.CubistError`."""
        action = self._actions.get(str(request.get("do")))
        if action is None:
            raise InvalidRequest(f'"do": choose from {", ".join(self._actions)}')
        return await action(request) or {}

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            answer = await self._answer(reader)
            writer.write(json.dumps(answer).encode() + b"\n")
            await writer.drain()

    async def _answer(self, reader: asyncio.StreamReader) -> JsonObject:
        try:
            request = parse_object(await reader.readline(), "the request")
        except ValueError as error:
            limit = f"one JSON object of at most {LONGEST_REQUEST} bytes on a line"
            return {"error": f"{error}; send {limit}"}
        try:
            return await self.perform(request)
        except CubistError as error:
            return {"error": str(error), "exists": not isinstance(error, ValueError)}

    async def _scramble(self, request: JsonObject) -> None:
        await self._require_rest()
        size = self._profile.cube.size
        moves = request.get("moves")
        seed = request.get("seed", 1)
        if not isinstance(seed, int) or seed < 0:
            raise InvalidRequest("a seed is a whole number from 0")
        self._put_in(scrambled(size, seed) if moves is None else cube_after(size, str(moves)))

    async def _remove(self, _: JsonObject) -> None:
        await self._require_rest()
        self._stage.scene.studio.disturbances.odd = OddScene.NO_CUBE

    async def _insert(self, _: JsonObject) -> None:
        await self._require_rest()
        self._put_in(self._stage.scene.robot.body)

    def _put_in(self, body: CubeBody) -> None:
        scene = self._stage.scene
        scene.robot.insert(body)
        if scene.studio.disturbances.odd is OddScene.NO_CUBE:
            scene.studio.disturbances.odd = None

    async def _fault(self, request: JsonObject) -> None:
        text = str(request.get("fault"))
        fault = parse_injected_fault(text, self._profile)
        if "@" in text:
            self._stage.injection.plan(fault)
        else:
            await fault.inject(self._stage.scene)

    async def _mend(self, _: JsonObject) -> None:
        self._stage.scene.mend()

    async def _list(self, _: JsonObject) -> JsonObject:
        """Return the faults that this robot can have, each with its possible subjects."""
        return {"faults": subjects_of_faults(self._profile), "speed": self._speed}

    async def _require_rest(self) -> None:
        """Raise ``SimulationError`` while the robot works, or is being calibrated with its cube."""
        status = await self._stage.daemon.status()
        if status.calibrator is not None:
            who = status.calibrator.who.text
            raise SimulationError(f"the robot is being calibrated with this cube: {who}")
        if status.job is not None or status.state in WORKING:
            raise SimulationError(
                f"the robot is {status.state}: wait until it ends, or run `cubist stop`"
            )


def ask(simulation: Simulation, request: JsonObject) -> None:
    """Send a request to a simulated robot, from another process.

    Raise :class:`SimulationError` with the reason if it was not carried out, and
    :class:`InvalidRequest` if it names something that does not exist.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(ANSWER_LIMIT_S)
        try:
            connection.connect(str(simulation.hand_socket))
            connection.sendall(json.dumps(request).encode() + b"\n")
            with connection.makefile("rb") as stream:
                answer = parse_object(stream.readline(LONGEST_REQUEST), "its answer")
        except (OSError, BadFile) as error:
            raise SimulationError(f"the simulated robot does not answer: {error}") from error
    if "error" in answer:
        kind = SimulationError if answer.get("exists", True) else InvalidRequest
        raise kind(str(answer["error"]))


SPEED = 20.0
"""Simulated seconds per second: high, so that users need not wait."""

START_LIMIT_S = 60.0
VARIABLE = "CUBIST_RUNTIME_DIR"


@contextlib.contextmanager
def robot_to_practise_on(
    profile: RobotProfile,
    seed: int = 1,
    misadjusted: Misadjustment | None = None,
    speed: float = SPEED,
) -> Iterator[SimulatedRobot]:
    """Yield a simulated robot of ``profile`` that commands of this process find.

    ``misadjusted``: its deviations from the profile. ``speed``: simulated seconds per second,
    limited to :func:`fastest`. Raise :class:`SimulationError` if a part does not start.
    """
    options = DemoOptions(
        profile=profile,
        profile_file=None,
        body=cube_put_in(profile.cube.size, seed, misadjusted),
        title=profile.title,
        speed=min(speed, fastest(profile)),
        seed=seed,
        misadjusted=misadjusted or BUILT_AS_DRAWN,
    )
    demo = Demo(options, SilentDisplay())
    with _run_in_thread(demo) as folder, _environment(folder):
        yield demo.robot


@contextlib.contextmanager
def _run_in_thread(demo: Demo) -> Iterator[str]:
    """Run a demo's robot in a separate thread and yield its daemon's runtime directory."""
    ready, over = Future[str](), threading.Event()

    async def keep() -> None:
        with workspace() as folder:
            async with demo.running(folder):
                ready.set_result(str(folder / "run"))
                await asyncio.to_thread(over.wait)

    def run() -> None:
        try:
            asyncio.run(keep())
        except Exception as error:  # the waiting thread reports it
            if not ready.done():
                ready.set_exception(error)

    thread = threading.Thread(target=run, name="practice")
    thread.start()
    try:
        try:
            folder = ready.result(START_LIMIT_S)
        except Exception as error:
            reason = str(error) or "too slow"
            raise SimulationError(f"the simulated robot did not start: {reason}") from error
        yield folder
    finally:
        over.set()
        thread.join()


@contextlib.contextmanager
def _environment(runtime_dir: str) -> Iterator[None]:
    before = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = runtime_dir
    try:
        yield
    finally:
        del os.environ[VARIABLE]
        if before is not None:
            os.environ[VARIABLE] = before


POLL_S = 0.02


@contextlib.asynccontextmanager
async def page_served(folder: Path, *, wanted: bool) -> AsyncIterator[str | None]:
    """Serve the page of the daemon in ``folder``/run and yield its address.

    Raise ``SimulationError`` if it does not start.
    """
    if not wanted:
        yield None
        return
    run = folder / "run"
    command = [
        *(sys.executable, "-m", "robot.web.main", "--port", "0", "--calibrate", "--manage"),
        *("--simulated-by", str(folder / HAND_NAME)),
        *("--socket", str(Program.PAGE.socket_beside(run / SOCKET_NAME))),
        *("--runtime-dir", str(run)),
    ]
    async with running("cubist-web", command, folder) as child:
        yield await unless_ended(_address(run / FILE_NAME), [child])


async def _address(announcement: Path) -> str:
    while not announcement.exists():
        await asyncio.sleep(POLL_S)
    return read_announcement(announcement).urls[0]
