"""A simulated robot that stays until it is ended, with its daemon and a person's hands.

What a person does with a real robot and its cube is asked for at a socket of its own, a JSON object
per line: ``{"do": "scramble", "seed": 7}`` or ``"moves"``, ``remove``, ``insert``, ``mend``,
``{"do": "fault", "fault": "jam:lid"}``. The answer is ``{}`` or ``{"error": why}``, with
``"exists": false`` where something was named that does not exist.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
from collections.abc import AsyncIterator, Awaitable, Callable

from robot.api.models import WORKING
from robot.api.paths import Simulation, announced
from robot.simulate.fault_injection import parse_injected_fault
from robot.simulate.page import page_served
from robot.simulate.processes import Child, DemoFault, workspace
from robot.simulate.progress import SilentDisplay
from robot.simulate.session import Demo, DemoOptions, DemoStage, unless_ended
from robot.twin.cube import CubeBody, scrambled
from robot.twin.streams import listening
from robot.twin.studio import OddScene
from solver.cube.cube import from_scramble
from solver.errors import CubistError, ExitCode
from solver.files import BadFile, JsonObject, parse_object

LONGEST_REQUEST = 10_000
ANSWER_LIMIT_S = 30.0


class HandRefused(CubistError, RuntimeError):
    """What a person wanted to do cannot be done; the robot is as it was."""

    code = "hand-refused"


class UnknownToHand(CubistError, ValueError):
    """Something was named that does not exist; the robot is as it was."""

    code = "unknown-to-hand"
    exit_code = ExitCode.USAGE


Ready = Callable[[Simulation, str | None], None]
"""Hears when all is there, and the address of the page."""


async def stay(options: DemoOptions, ready: Ready, *, web: bool = True, drift: float = 0.0) -> None:
    """Keep a simulated robot until cancelled, or until its daemon is shut down.

    ``web``: whether its page is served, too. ``drift``: degrees by which it drifts with each job.

    Raises :class:`DemoFault` when a part of it ends, :class:`robot.api.paths.SimulationRuns` when
    this user has one already.
    """
    with workspace() as folder:
        simulation = Simulation(os.getpid(), options.profile.name, folder, options.speed)
        with announced(simulation):
            async with (
                Demo(options, SilentDisplay()).standing(folder) as stage,
                page_served(folder, wanted=web) as url,
            ):
                attendant = SimulationController(options, stage)
                async with attendant.listening(simulation):
                    following = asyncio.create_task(_inject(stage, drift))
                    try:
                        ready(simulation, url)
                        await _until_shut_down(stage)
                    finally:
                        following.cancel()
                        stage.injection.cancel()


async def _inject(stage: DemoStage, drift: float) -> None:
    """Let the faults asked for happen in their stages, and the robot drift with each job."""
    async with stage.daemon.events() as events:
        async for event in events:
            stage.injection.enter(event.state)
            if event.event == "finished":
                stage.scene.robot.drift(drift)


async def _until_shut_down(stage: DemoStage) -> None:
    try:
        await unless_ended(asyncio.Event().wait(), stage.children)
    except DemoFault:
        if not _was_shut_down(stage.children[-1]):
            raise


def _was_shut_down(daemon: Child) -> bool:
    return daemon.process.returncode == 0


def cube_after(size: int, moves: str) -> CubeBody:
    """The cube of ``size`` layers after moves from solved; raises ``BadNotation``."""
    return CubeBody(from_scramble(moves, size).facelets())


class SimulationController:
    """Does what a person can do with the robot while it stands there."""

    def __init__(self, options: DemoOptions, stage: DemoStage) -> None:
        self._profile = options.profile
        self._stage = stage
        self._doing: dict[str, Callable[[JsonObject], Awaitable[None]]] = {
            "scramble": self._scramble,
            "remove": self._remove,
            "insert": self._insert,
            "fault": self._fault,
            "mend": self._mend,
        }

    @contextlib.asynccontextmanager
    async def listening(self, simulation: Simulation) -> AsyncIterator[None]:
        """Do what is asked for at the socket while the context lasts."""
        path = simulation.hand_socket
        async with listening(path, self._serve, LONGEST_REQUEST):
            path.chmod(0o600)
            yield

    async def do(self, request: JsonObject) -> None:
        """One action; raises :class:`solver.errors.CubistError` when it cannot be done."""
        action = self._doing.get(str(request.get("do")))
        if action is None:
            raise UnknownToHand(f"choose from {', '.join(self._doing)}")
        await action(request)

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
            await self.do(request)
        except CubistError as error:
            return {"error": str(error), "exists": not isinstance(error, ValueError)}
        return {}

    async def _scramble(self, request: JsonObject) -> None:
        await self._require_rest()
        size = self._profile.cube.size
        moves = request.get("moves")
        seed = request.get("seed", 1)
        if not isinstance(seed, int) or seed < 0:
            raise UnknownToHand("a seed is a whole number from 0")
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

    async def _require_rest(self) -> None:
        """Nobody reaches into a robot that works, or that measures itself by the cube it holds."""
        status = await self._stage.daemon.status()
        if status.calibrating:
            raise HandRefused("the robot is being calibrated with this cube: end that first")
        if status.job is not None or status.state in WORKING:
            raise HandRefused(
                f"the robot is {status.state}: wait for its end, or stop it with `cubist stop`"
            )


def ask(simulation: Simulation, request: JsonObject) -> None:
    """Have a simulated robot's hands do something, from another process.

    Raises :class:`HandRefused` with the reason when it was not done, :class:`UnknownToHand` when
    something was named that does not exist.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(ANSWER_LIMIT_S)
        try:
            connection.connect(str(simulation.hand_socket))
            connection.sendall(json.dumps(request).encode() + b"\n")
            with connection.makefile("rb") as stream:
                answer = parse_object(stream.readline(LONGEST_REQUEST), "its answer")
        except (OSError, BadFile) as error:
            raise HandRefused(f"the simulated robot does not answer: {error}") from error
    if "error" in answer:
        kind = HandRefused if answer.get("exists", True) else UnknownToHand
        raise kind(str(answer["error"]))
