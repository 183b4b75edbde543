"""A daemon on a robot in simulated time, which stands still at a moment until somebody stops it.

The robot's time passes in the threads of the daemon's trials. At the moment asked for it freezes,
and goes on with the first order that comes from elsewhere: so long as a stop takes to get there,
through processes and sockets, is none of the robot's time.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import threading
from collections.abc import AsyncIterator, Coroutine, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from robot.calibration.store import Calibration, CalibrationStore, apply
from robot.daemon.front_panel import FrontPanel
from robot.daemon.job_control import JobController
from robot.daemon.maintenance import Maintenance
from robot.daemon.server import make_app, serving
from robot.machine.assembly import Machine
from robot.machine.first_contact import FirstContact, confirmable
from robot.machine.scanner import Scanner
from robot.machine.solve_planner import SolvePlanner
from robot.panel.gpio import Gpio
from robot.panel.panel import Input, PanelPins
from robot.planner import build_mechanism
from robot.records.runs import RunStore
from robot.settings import RobotProfile
from tests.rig.virtual.calibrating import CalibratedMotion, VirtualCamera
from tests.rig.virtual.link import VirtualLink
from tests.rig.virtual.loop import VirtualLoop
from tests.rig.virtual.rehearsal import Rehearsal

T = TypeVar("T")

PATIENCE_S = 20.0
"""Of real time: a stop that finds nothing moving gives the board no order."""

LIMIT_S = 240.0
"""Of real time, for what takes a moment."""


class SharedVirtualLink(VirtualLink):
    """A virtual link that several threads may use at once: one of them lets the time pass."""

    freezer: Freezer

    def wait(self, work: Coroutine[object, object, T]) -> T:
        """See :meth:`robot.link.LinkThread.wait`."""
        loop = self._simulated
        done = asyncio.run_coroutine_threadsafe(work, loop)
        self.freezer.thaw()
        while not done.done():
            if not loop.turn.acquire(timeout=0.01):
                continue
            try:
                if not done.done():
                    loop.run_until_complete(asyncio.wrap_future(done, loop=loop))
            finally:
                loop.turn.release()
        return done.result()


class Freezer:
    """Stops the robot's time at a moment, until an order comes from another thread."""

    def __init__(self, loop: VirtualLoop) -> None:
        self._loop = loop
        self._at_s: float | None = None
        self._ordered = threading.Event()
        self.reached = threading.Event()
        self.frozen_at_s: float | None = None
        loop.attach(self._pass)

    def freeze_at(self, at_s: float) -> None:
        """Stand still once so much of the robot's time is over."""
        self._at_s = at_s

    def thaw(self) -> None:
        """Go on, if the time stands still."""
        if self.reached.is_set():
            self._ordered.set()

    def _pass(self, _: int) -> bool:
        if self._at_s is not None and self._loop.time() >= self._at_s:
            self._at_s, self.frozen_at_s = None, self._loop.time()
            self.reached.set()
            self._ordered.wait(PATIENCE_S)
        return False


@dataclass
class Recorder:
    """When the boards told which actuator to be somewhere else, in seconds of the robot's time."""

    rehearsal: Rehearsal
    changes: list[tuple[float, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._told = self._tell()
        self.rehearsal.loop.attach(self._pass)

    def after(self, at_s: float) -> list[tuple[float, str]]:
        """Those after a moment, in seconds from there."""
        return [(at - at_s, name) for at, name in self.changes if at > at_s]

    def moving(self, at_s: float) -> set[str]:
        """What was moving at a moment; a servo is told once in a period of 20 ms."""
        return {name for at, name in self.changes if at_s - 0.05 <= at <= at_s + 0.03}

    def _tell(self) -> dict[str, float | None]:
        motors = self.rehearsal.robot._parts.motors
        return {name: getattr(one, "target", one.position) for name, one in motors.items()}

    def _pass(self, _: int) -> bool:
        told = self._tell()
        if told != self._told:
            now_s = self.rehearsal.loop.time()
            self.changes += [
                (now_s, name)
                for name, at in told.items()
                if at is not None and at != self._told[name]  # without a pulse a servo rests
            ]
            self._told = told
        return False


class VirtualDaemon:
    """The daemon of a rehearsal's robot, which is calibrated; its commands are real processes."""

    def __init__(self, rehearsal: Rehearsal, folder: Path, gpio: Gpio) -> None:
        self.rehearsal = rehearsal
        self.folder = folder
        self.freezer = Freezer(rehearsal.loop)
        self.recorder = Recorder(rehearsal)
        profile = rehearsal.profile
        self.store = CalibrationStore(folder / "state")
        self.store.save(Calibration(robot=profile.name, values=confirmable(profile)))
        self.contact = FirstContact(confirmable(profile), simulated=True)
        turn = threading.Lock()
        self.cameras = {
            one.name: VirtualCamera(rehearsal, one.name, turn) for one in profile.cameras
        }
        self.controller = JobController(
            self._machine(apply(profile, self.store.load(profile))),
            RunStore(folder / "state" / "runs"),
            version="virtual",
        )
        self.maintenance = Maintenance(
            self.controller, profile, self.store, self.contact, self._machine
        )
        self._gpio = gpio

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[FrontPanel]:
        """Serve at the control socket; the panel, whose button may be pressed."""
        await self.controller.open()
        panel = FrontPanel(self.controller, self._gpio, PanelPins(start_button=Input(17)))
        panel.open()
        app = make_app(self.controller, self.maintenance, "virtual")
        async with serving(app, self.folder / "control.sock"):
            yield panel
        await panel.close()
        await self.controller.close()

    async def command(self, *arguments: str) -> asyncio.subprocess.Process:
        """Begin a command of the user's."""
        places = {"CUBIST_RUNTIME_DIR": self.folder, "CUBIST_STATE_DIR": self.folder / "state"}
        return await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "robot.cli.main", *arguments),
            env=os.environ | {name: str(place) for name, place in places.items()},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )

    async def until_nobody_calibrates(self) -> None:
        """Wait for the end of maintenance."""
        async with asyncio.timeout(LIMIT_S):
            while self.controller.is_calibrated:
                await asyncio.sleep(0.01)

    def _machine(self, profile: RobotProfile) -> Machine:
        motion = SharedMotion(
            self.rehearsal, profile, self.contact, [*self.cameras.values()], self.freezer
        )
        return Machine(
            profile.name,
            motion,
            Scanner(profile, dict(self.cameras)),
            SolvePlanner(profile, build_mechanism(profile)),
            profile.policy,
            size=profile.cube.size,
        )


class SharedMotion(CalibratedMotion):
    """Motion whose link several threads may use."""

    def __init__(
        self,
        rehearsal: Rehearsal,
        profile: RobotProfile,
        contact: FirstContact,
        cameras: Sequence[VirtualCamera],
        freezer: Freezer,
    ) -> None:
        super().__init__(rehearsal, profile, contact, cameras)
        self._freezer = freezer

    def _virtual_link(self) -> SharedVirtualLink:
        rehearsal = self._rehearsal
        links = self._links(lambda name: rehearsal.ports[name], rehearsal.draw)
        link = SharedVirtualLink(rehearsal.loop, links)
        link.freezer = self._freezer
        return link
