"""A demo, from the first process to the verdict."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

import yaml

from robot.api.client import DaemonError
from robot.api.endpoints import LIVE_EVENTS, RobotState
from robot.api.models import Event
from robot.daemon.service import RESTART_CODE
from robot.machine.scanner import from_jpeg
from robot.planner import move_ends_us
from robot.records.run_record import RunRecord
from robot.settings import RobotProfile
from robot.settings.profile import FIRST_BOARD
from robot.simulate.boards import (
    Cable,
    own_simulation,
    require_pace,
    simulation_of,
    wire_to_board,
)
from robot.simulate.fault_injection import (
    CABLE_FAULTS,
    BoardInScene,
    FaultInjection,
    InjectedFault,
    Scene,
)
from robot.simulate.processes import Child, SimulationError, running, wait_for_path, workspace
from robot.simulate.progress import DaemonFollower, DemoProgress, Display
from robot.text.outcomes import is_success
from robot.twin.cube import CubeBody
from robot.twin.misadjustment import Misadjustment
from robot.twin.pulses import PulseMaker
from robot.twin.render import Image
from robot.twin.server import PinPort, SimulatedPanel, TwinServer
from robot.twin.simulated import SimulatedRobot
from robot.twin.studio import Studio
from robot.twin.violations import Violation
from solver.files import JsonObject


@dataclass(frozen=True)
class DemoOutcome:
    """The simulated robot's verdict beside the daemon's own record of the run."""

    solved: bool
    violations: tuple[Violation, ...]
    record: RunRecord
    scan_s: float
    turn_s: float
    facelets: str

    @property
    def good(self) -> bool:
        """True if the robot solved the cube, reports it, and violated nothing."""
        return self.solved and not self.violations and is_success(self.record.outcome)

    @property
    def troubles(self) -> list[str]:
        """The problems from which the robot recovered."""
        link = self.record.link
        again = [f"{link.resent} messages were sent again"] if link.resent else []
        return [*self.record.recoveries, *(self.record.warnings or again)]

    def as_dict(self) -> JsonObject:
        """Return the last line of ``cubist demo``; times of the robot are in its own seconds."""
        record = self.record
        return {
            "solved": self.solved,
            "violations": [violation.as_dict() for violation in self.violations],
            "moves": record.moves,
            "length": record.move_count,
            "scan_s": round(self.scan_s, 3),
            "solve_s": round(record.timings_s.get("search", 0.0), 3),
            "turn_s": round(self.turn_s, 3),
            "planned_us": record.planned_us,
            "executed_us": record.executed_us,
            "outcome": record.outcome,
            "reason": record.reason,
            "recoveries": self.troubles,
            "robot": record.robot,
            "facelets": self.facelets,
        }


REFRESH_S = 0.1
PRESS_S = 0.15
PRESS_ANSWERS = 50
"""Number of daemon answers without a job after which a press was missed. On a busy computer they
take as long as the press does."""
PRESSES = 6
NOTICE_S = 60.0
FAULT_DELAY_S = 3.0
"""Simulated seconds from the start of a stage to its injected fault."""

T = TypeVar("T")


@dataclass(frozen=True)
class DemoOptions:
    """Options of a demo; ``photographs`` by face.

    The daemon gets ``profile_file``, or the profile. ``firmware`` is one of
    :func:`robot.computer.board_family.simulations` (default: the profile's own board).
    ``misadjusted``: deviations of the simulated robot from the profile.
    """

    profile: RobotProfile
    profile_file: Path | None
    body: CubeBody
    title: str
    speed: float = 1.0
    seed: int = 0
    photographs: Mapping[str, Image] = field(default_factory=dict)
    firmware: str | None = None
    faults: Sequence[InjectedFault] = ()
    misadjusted: Misadjustment | None = None
    cable: bool = False
    """True for a cable that can be unplugged, even if no fault needs it."""


@dataclass(frozen=True)
class DemoStage:
    """The parts of a running demo."""

    children: Sequence[Child]
    daemon: DaemonFollower
    scene: Scene
    injection: FaultInjection


Beside = Callable[[Path], contextlib.AbstractAsyncContextManager[object]]
"""A function that returns an additional context of a demo, from the demo's folder."""


def nothing_beside(folder: Path) -> contextlib.AbstractAsyncContextManager[None]:
    """Return a context that adds nothing to the demo."""
    del folder
    return contextlib.nullcontext()


class Demo:
    """A simulated ``robot``, its firmware and its daemon, in their own folder."""

    def __init__(self, options: DemoOptions, display: Display) -> None:
        options.profile.require_drivable()
        self._firmware = options.firmware or own_simulation(options.profile)
        require_pace(options.profile, options.speed)
        profile = wire_to_board(self._firmware, options.profile)
        if profile is not options.profile:
            options = replace(options, profile=profile, profile_file=None)
        self._options = options
        self._display = display
        self._facelets = options.body.facelets()
        self.robot = SimulatedRobot(options.profile, options.body, misadjusted=options.misadjusted)
        self._panel = SimulatedPanel()
        self._panel.connect(options.profile.panel)
        self._progress = DemoProgress(options.title)

    async def run(self, beside: Beside = nothing_beside) -> DemoOutcome:
        """Press the button and wait for the end; raise :class:`SimulationError` if a process dies.

        The context ``beside`` is entered before the button is pressed and lasts until the end.
        """
        with workspace() as folder:
            async with self._everything(folder) as stage, beside(folder):
                refresh = asyncio.create_task(self._refresh())
                try:
                    return await unless_ended(self.solve(stage), stage.children)
                finally:
                    refresh.cancel()
                    stage.injection.cancel()
                    self._display.close()

    @contextlib.asynccontextmanager
    async def running(self, folder: Path) -> AsyncIterator[DemoStage]:
        """Yield the robot with its daemon ready and idle; its processes work in ``folder``."""
        async with self._everything(folder) as stage:
            await unless_ended(stage.daemon.ready(), stage.children)
            yield stage

    @contextlib.asynccontextmanager
    async def _everything(self, folder: Path) -> AsyncIterator[DemoStage]:
        """Start robot, firmware, cable, daemon and its client; stop them in reverse order."""
        options = self._options
        studio = Studio(self.robot, options.seed, options.photographs)
        await asyncio.to_thread(studio.warm_up)
        async with contextlib.AsyncExitStack() as stack:
            chips = self._pulse_makers(folder)
            for maker in chips.values():
                stack.callback(maker.close)
            speed = options.speed
            server = TwinServer(self.robot, studio, self._panel, folder, chips, speed)
            await stack.enter_async_context(server.running())
            children: list[Child] = []
            boards: dict[str, BoardInScene] = {}
            for name, pins in server.pins.items():
                child, boards[name] = await self._board(stack, name, pins, folder)
                children.append(child)
            command = self.daemon_command(folder, server.daemon_path)
            cubistd = await stack.enter_async_context(
                running("cubistd", command, folder, 10.0, again_at=RESTART_CODE)
            )
            daemon = await stack.enter_async_context(
                DaemonFollower(folder / "run" / "control.sock")
            )
            scene = Scene(self.robot, studio, boards)
            injection = FaultInjection(options.faults, scene, FAULT_DELAY_S / speed)
            yield DemoStage([*children, cubistd], daemon, scene, injection)

    async def _board(
        self, stack: contextlib.AsyncExitStack, name: str, pins: PinPort, folder: Path
    ) -> tuple[Child, BoardInScene]:
        """Start the firmware of a board, with a cable if needed."""
        link = _port(folder, name)
        inner = folder / f"board-{name}"
        cable = Cable(inner, link, self._options.seed) if self._cable_wanted else None
        port = link if cable is None else inner
        command = self._firmware_command(name, port, pins.path, folder)
        title = "firmware" if name == FIRST_BOARD else f"firmware-{name}"
        child = await stack.enter_async_context(running(title, command, folder))
        await unless_ended(wait_for_path(port), [child])
        if cable is not None:
            stack.enter_context(cable.plug_in())
        pid = child.process.pid
        alone = not self._options.profile.boards
        reset = (lambda: os.kill(pid, signal.SIGUSR1)) if alone else pins.press_reset
        return child, BoardInScene(reset, cable)

    @property
    def _cable_wanted(self) -> bool:
        """True if an option or a fault needs a cable, which slows down a fast simulation."""
        options = self._options
        return options.cable or any(fault.name in CABLE_FAULTS for fault in options.faults)

    def _pulse_makers(self, folder: Path) -> dict[str, PulseMaker]:
        """Return the makers of servo pulses, for boards that only state their widths."""
        profile = self._options.profile
        makers = {
            name: simulation_of(self._firmware, profile, name).pulse_maker(self.robot, folder, name)
            for name in profile.every_board
        }
        return {name: maker for name, maker in makers.items() if maker is not None}

    def _firmware_command(self, name: str, link: Path, pins: Path, folder: Path) -> list[str]:
        process = simulation_of(self._firmware, self._options.profile, name)
        program = process.command(self._options.profile, folder, name)
        shared = ["--granted"] if self._options.profile.boards else []
        pace = shared or ["--speed", f"{self._options.speed:g}"]
        return [*program, "--pty-link", str(link), "--pins", str(pins), *pace]

    def daemon_command(self, folder: Path, twin: Path) -> list[str]:
        """Return the daemon's command, with a profile that names the ports of all boards."""
        for name in ("run", "state"):
            (folder / name).mkdir()
        alone = not self._options.profile.boards
        given = self._options.profile_file if alone else None
        return [
            *(sys.executable, "-m", "robot.daemon.main"),
            *("--profile", str(given or self._written_profile(folder))),
            *("--size", str(self._options.profile.cube.size)),
            *("--runtime-dir", str(folder / "run"), "--state-dir", str(folder / "state")),
            *("--page-calibrates", "--page-manages", "--supervised"),
            *("--port", str(_port(folder, FIRST_BOARD)), "--twin", str(twin)),
        ]

    def _written_profile(self, folder: Path) -> Path:
        """Write the profile with the simulated ports of additional boards; return its path."""
        document = self._options.profile.model_dump(mode="json", exclude_unset=True)
        for name, board in document.get("boards", {}).items():
            board["port"] = str(_port(folder, name))
        path = folder / "robot.yaml"
        path.write_text(yaml.safe_dump(document), encoding="utf-8")
        return path

    async def solve(self, stage: DemoStage) -> DemoOutcome:
        """Press the button and follow the job to its end."""
        daemon = stage.daemon
        status = await daemon.ready()
        if status.state is not RobotState.IDLE:
            text = status.fault.cause if status.fault else f"it is {status.state}"
            raise SimulationError(f"the daemon is not ready: {text}")
        await self._wait_for_tables(daemon)
        async with daemon.events() as events:
            listener = asyncio.create_task(self._listen(events, daemon, stage.injection))
            try:
                await self._press_start(daemon)
                return self._verdict(await self._finished_run(daemon))
            finally:
                listener.cancel()

    async def _wait_for_tables(self, daemon: DaemonFollower) -> None:
        """Wait until the daemon has its tables: the first demo makes them."""
        while (preparation := (await daemon.status()).preparation) is not None:
            self._progress.step = preparation.step
            self._progress.fraction = preparation.progress
            self._progress.remaining_s = preparation.remaining_s
            await asyncio.sleep(REFRESH_S)
        self._progress.fraction = self._progress.remaining_s = None

    async def _press_start(self, daemon: DaemonFollower) -> None:
        """Press the button until a job starts, since a busy computer may miss a press."""
        pin = self._options.profile.panel.start_button_gpio
        if pin is None:
            raise SimulationError(
                "this robot has no start button: set panel.start_button_gpio in its profile"
            )
        for _ in range(PRESSES):
            await self._panel.press(pin, PRESS_S)
            if await _has_begun(daemon):
                return
        raise SimulationError("the start button was pressed, but nothing happened")

    async def _listen(
        self, events: AsyncIterator[Event], daemon: DaemonFollower, injection: FaultInjection
    ) -> None:
        async for event in events:
            injection.enter(event.state)
            self._progress.clock_s = self.robot.time_us / 1e6
            self._progress.enter(event.state)
            if event.event == "look" and self._display.shows_pictures:
                await self._fetch_picture(daemon)
            if event.event == "progress" or event.event in LIVE_EVENTS:
                continue  # the display polls these itself
            self._progress.step = event.text or self._progress.step
            if event.state is RobotState.TURNING and event.run is not None:
                record = await daemon.run(event.run)
                self._progress.moves = record.moves or ""
                self._progress.operations = record.operations
                self._progress.move_ends_us = move_ends_us(
                    record.operations, record.orientation or "UF", (record.moves or "").split()
                )
                self._progress.planned_us = record.planned_us
            self._show()

    async def _fetch_picture(self, daemon: DaemonFollower) -> None:
        """Fetch the robot's picture for the display; ignore a failure."""
        with contextlib.suppress(DaemonError, ValueError):
            if (jpeg := await daemon.picture()) is not None:
                self._progress.picture = from_jpeg(jpeg)

    async def _finished_run(self, daemon: DaemonFollower) -> RunRecord:
        """Wait for the end of the job that the button started, and return its record.

        Raise :class:`SimulationError` if no job started.
        """
        while True:
            status = await daemon.status()
            self._progress.fraction = status.job.progress if status.job else None
            self._progress.remaining_s = status.job.remaining_s if status.job else None
            if status.job is None and not status.starting:
                if status.last_run is not None:
                    return await daemon.run(status.last_run.id)
                text = status.fault.cause if status.fault else f"it is {status.state}"
                raise SimulationError(f"the start button was pressed, but no job began: {text}")
            await asyncio.sleep(REFRESH_S)

    def _verdict(self, record: RunRecord) -> DemoOutcome:
        self._progress.clock_s = self.robot.time_us / 1e6
        self._progress.enter(RobotState.IDLE)
        return DemoOutcome(
            solved=self.robot.solved,
            violations=tuple(self.robot.violations),
            record=record,
            scan_s=self._progress.took_s(RobotState.SCANNING),
            turn_s=self._progress.took_s(RobotState.TURNING),
            facelets=self._facelets,
        )

    async def _refresh(self) -> None:
        """Refresh the display while nothing else happens."""
        while True:
            self._show()
            await asyncio.sleep(REFRESH_S)

    def _show(self) -> None:
        progress = self._progress
        progress.clock_s = self.robot.time_us / 1e6
        progress.facelets = self.robot.body.facelets()
        progress.edges = self.robot.edges
        progress.violations = len(self.robot.violations)
        self._display.show(progress)


async def unless_ended(work: Coroutine[object, object, T], children: Sequence[Child]) -> T:
    """Return the result of ``work``; raise the error of the first child that ends before it."""
    main = asyncio.create_task(work)
    watches = [asyncio.create_task(child.wait_for_end()) for child in children]
    try:
        await asyncio.wait({main, *watches}, return_when=asyncio.FIRST_COMPLETED)
        if main.done() and isinstance(main.exception(), OSError | DaemonError):
            # The client of a process may notice its end before its watch does.
            await asyncio.wait(watches, timeout=NOTICE_S, return_when=asyncio.FIRST_COMPLETED)
        for watch in watches:
            if watch.done() and not _has_succeeded(main):
                raise watch.result()
        return await main
    finally:
        for task in (main, *watches):
            task.cancel()
        await asyncio.gather(main, *watches, return_exceptions=True)


def _has_succeeded(task: asyncio.Task[T]) -> bool:
    return task.done() and not task.cancelled() and task.exception() is None


async def _has_begun(daemon: DaemonFollower) -> bool:
    """Return true if the daemon reports that a job starts, runs or has ended."""
    for _ in range(PRESS_ANSWERS):
        status = await daemon.status()
        if status.starting or status.job is not None or status.last_run is not None:
            return True
        await asyncio.sleep(REFRESH_S)
    return False


def _port(folder: Path, board: str) -> Path:
    """Return the path of a board's serial port for the daemon."""
    return folder / ("link" if board == FIRST_BOARD else f"link-{board}")
