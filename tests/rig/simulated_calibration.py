"""Calibration of a whole robot in simulated time: its session, its cameras, its daemon."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from robot.api.calibrations import Calibration
from robot.calibration.step import Asked, Bench, Found, Session, Trial
from robot.calibration.store import CalibrationStore
from robot.calibration.values import apply, require_plausible
from robot.daemon.front_panel import FrontPanel
from robot.daemon.job_control import JobController
from robot.daemon.maintenance import Maintenance
from robot.daemon.server import make_app, serving
from robot.link import LinkGroup
from robot.link.protocol import SILENCE_HOLD_MS
from robot.machine.assembly import Machine
from robot.machine.confirmed_range import ConfirmedRange, confirmable, guessed_steps
from robot.machine.motion_controller import MotionController
from robot.machine.scanner import Scanner
from robot.machine.solve_planner import SolvePlanner
from robot.motion.schedule import Schedule
from robot.panel.gpio import Gpio
from robot.panel.panel import Input, PanelPins
from robot.planner import build_mechanism
from robot.records.runs import RunStore
from robot.settings import RobotProfile
from robot.twin.render import Image
from robot.twin.studio import Studio
from solver.files import JsonMapping, JsonObject
from tests.rig.fake_robot import management_of
from tests.rig.profiles import SEEN
from tests.rig.simulated_run import SimulatedRun
from tests.rig.simulated_time import VirtualLink, VirtualLoop
from tests.rig.workbench import spawn
from vision.frame import Frame

PERIOD_S = 1 / 30
"""The period of a Raspberry Pi's camera."""

LONGEST_WAIT_S = 5.0
"""Real time to wait for a thread that has stopped filming."""


class VirtualCamera:
    """A camera of the simulated robot that takes a picture every thirtieth of a simulated second.

    While another thread lets the time pass (a filmed motion), pictures are taken there at their
    times: that thread waits until somebody requests the next one. Cameras requested at once take
    turns. ``lens``: a function that changes each picture.
    """

    def __init__(self, run: SimulatedRun, name: str, turn: threading.Lock) -> None:
        self.name = name
        self._turn = turn
        self.studio = Studio(run.robot)
        self.lens: Callable[[Image], Image] = lambda image: image
        self._run = run
        self._due: float | None = None
        self._taken: Frame | None = None
        self._filming = False
        self._changed = threading.Condition()
        run.loop.attach(self._pass)

    def settle(self) -> None:
        """Do nothing: there is nothing to adjust."""

    def capture(self) -> Frame:
        loop = self._run.loop
        with self._changed:
            if self._filming:
                self._taken, self._due = None, loop.time() + PERIOD_S
                self._changed.notify_all()
                self._changed.wait_for(lambda: self._taken is not None or not self._filming)
                self._due = None
                if self._taken is not None:
                    return self._taken
        # Not while holding the lock of other cameras, whose time passes with this one's.
        with self._turn, loop.turn:
            if loop.is_running():  # on this very thread
                loop.pass_time(PERIOD_S)
            else:
                loop.run_until_complete(asyncio.sleep(PERIOD_S))  # the heartbeat continues
            return self._frame()

    def close(self) -> None:
        """Do nothing: there is nothing to release."""

    @contextmanager
    def filming(self) -> Iterator[None]:
        """Run a trial's motion, on a pool thread, that waits for another thread's pictures."""
        if not threading.current_thread().name.startswith("ThreadPoolExecutor"):
            yield
            return
        with self._changed:
            self._filming = True
            self._changed.wait_for(lambda: self._due is not None, LONGEST_WAIT_S)
        try:
            yield
        finally:
            with self._changed:
                self._filming = False
                self._changed.notify_all()

    def _frame(self) -> Frame:
        image = self.lens(self.studio.shoot(self.name).image)
        return Frame(image, self.name, round(self._run.robot.time_us))

    def _pass(self, _: int) -> bool:
        with self._changed:
            if self._due is not None and self._run.loop.time() >= self._due:
                self._taken, self._due = self._frame(), None
                self._changed.notify_all()
                self._changed.wait_for(lambda: self._due is not None, LONGEST_WAIT_S)
        return False


def cameras_of(run: SimulatedRun) -> dict[str, VirtualCamera]:
    turn = threading.Lock()
    return {one.name: VirtualCamera(run, one.name, turn) for one in run.profile.cameras}


def machine_of(
    profile: RobotProfile,
    motion: MotionController,
    cameras: dict[str, VirtualCamera],
    planner: type[SolvePlanner] = SolvePlanner,
) -> Machine:
    return Machine(
        profile.name,
        motion,
        Scanner(profile, dict(cameras)),
        planner(profile, build_mechanism(profile)),
        profile.policy,
        size=profile.cube.size,
    )


class SimulatedCalibration(Session):
    """The session of a daemon in maintenance, without the daemon: calls go to the robot itself."""

    def __init__(self, run: SimulatedRun) -> None:
        self._run = run
        self._given = run.profile
        self._kept: JsonObject = {}
        self._imported: JsonObject = {}
        self._tried: JsonObject = {}
        self._undo = []
        self.contact = ConfirmedRange({}, simulated=True)
        self.contact.calibrating = True
        self.cameras = cameras_of(run)
        self._machine: Machine | None = None
        self.trials: list[str] = []

    @contextmanager
    def maintenance(self) -> Iterator[None]:
        try:
            yield
        finally:
            if self._machine is not None:
                self._machine.motion.bring_back(guessed_steps(self._tried))
            self.try_out({})
            self._drop()

    @property
    def motion(self) -> MotionController:
        assert self._machine is not None, "a trial comes first"
        return self._machine.motion

    @property
    def calibration(self) -> Calibration:
        return self.stored.changed(self._tried)

    @property
    def stored(self) -> Calibration:
        """The kept values, without those being tried out."""
        imported = Calibration(robot=self._run.profile.name, values=self._imported)
        return imported.changed(self._kept, dict.fromkeys(self._kept, SEEN))

    def perform(self, trial: Trial[Asked, Found], **asked: object) -> Found:
        self.trials.append(trial.name)
        if trial.renews and self._machine is not None and self._is_stale:
            self._drop()
        if self._machine is None:
            self._machine = self._made(apply(self.profile, self.calibration))
            self._is_stale = False
        stored = apply(self.profile, self.stored)
        bench = Bench(self._machine, apply(self.profile, self.calibration), self.contact, stored)
        request = trial.request.model_validate(asked)
        with self.contact.trusting(trial.trusted(bench.profile, request)):
            return trial.run(bench, request)

    def keep(
        self, values: JsonMapping, how: str = "person", uncertain: JsonMapping | None = None
    ) -> bool:
        self._kept = self._kept | dict(values)
        self._require_plausible(values)
        self._renew()
        return bool(values)

    def import_values(self, values: JsonMapping) -> None:
        """Keep the values of a file; they are unconfirmed."""
        self._imported = dict(values)
        self._renew()

    def try_out(self, values: JsonMapping) -> None:
        self._tried = dict(values)
        self._require_plausible(values)
        self._renew()

    def _require_plausible(self, values: JsonMapping) -> None:
        require_plausible(self.profile, apply(self.profile, self.calibration), values)

    def _renew(self) -> None:
        self.contact.confirmed = self.stored.confirmed | self._tried
        self._is_stale = True

    def _drop(self) -> None:
        if self._machine is not None:
            self._machine.motion.close()
            self._machine = None

    def _made(self, profile: RobotProfile) -> Machine:
        run = self._run
        motion = SimulatedMotion(run, profile, self.contact, [*self.cameras.values()])
        return machine_of(profile, motion, self.cameras)


class SimulatedMotion(MotionController):
    """Motion that ``cameras`` may film. With a ``freezer`` several threads may use its link."""

    def __init__(
        self,
        run: SimulatedRun,
        profile: RobotProfile,
        contact: ConfirmedRange,
        cameras: Sequence[VirtualCamera],
        freezer: Freezer | None = None,
    ) -> None:
        super().__init__(profile, contact, None, SILENCE_HOLD_MS, self._virtual_link, run.loop.time)
        self._run = run
        self.cameras, self._freezer = cameras, freezer

    def perform(self, schedule: Schedule, progress: Callable[[float], None]) -> int:
        with ExitStack() as stack:
            for camera in self.cameras:
                stack.enter_context(camera.filming())
            return super().perform(schedule, progress)

    def _virtual_link(self) -> VirtualLink:
        run = self._run
        links = self._links(lambda name: run.ports[name], run.draw)
        if self._freezer is None:
            return VirtualLink(run.loop, links)
        return SharedVirtualLink(run.loop, links, self._freezer)


PATIENCE_S = 20.0
"""Real seconds. A stop while nothing moves sends no order to the board."""

LIMIT_S = 240.0
"""Timeout in real seconds for short waits."""


class SharedVirtualLink(VirtualLink):
    """A virtual link for several threads at once; one of them lets the time pass."""

    def __init__(self, loop: VirtualLoop, links: LinkGroup, freezer: Freezer) -> None:
        super().__init__(loop, links)
        self._freezer = freezer

    def wait(self, work: Coroutine[object, object, Any]) -> Any:
        loop = self._simulated
        done = asyncio.run_coroutine_threadsafe(work, loop)
        self._freezer.thaw()
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
    """Stops the robot's time at one moment until another thread sends an order."""

    def __init__(self, loop: VirtualLoop) -> None:
        self._loop = loop
        self._at_s: float | None = None
        self._ordered = threading.Event()
        self.reached = threading.Event()
        self.frozen_at_s: float | None = None
        loop.attach(self._pass)

    def freeze_at(self, at_s: float) -> None:
        """Stand still after ``at_s`` seconds of the robot's time."""
        self._at_s = at_s

    def thaw(self) -> None:
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
    """A log of the times, in robot seconds, at which boards sent an actuator elsewhere."""

    run: SimulatedRun
    changes: list[tuple[float, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._told = self._tell()
        self.run.loop.attach(self._pass)

    def after(self, at_s: float) -> list[tuple[float, str]]:
        """Return the entries after a moment, in seconds from there."""
        return [(at - at_s, name) for at, name in self.changes if at > at_s]

    def moving(self, at_s: float) -> set[str]:
        """Return the actuators moving at a moment; a servo gets one pulse per period of 20 ms."""
        return {name for at, name in self.changes if at_s - 0.05 <= at <= at_s + 0.03}

    def _tell(self) -> dict[str, float | None]:
        motors = self.run.robot.motors.items()
        return {name: getattr(one, "target", one.position) for name, one in motors}

    def _pass(self, _: int) -> bool:
        told = self._tell()
        if told != self._told:
            now_s = self.run.loop.time()
            self.changes += [
                (now_s, name)
                for name, at in told.items()
                if at is not None and at != self._told[name]  # a servo without pulses is at rest
            ]
            self._told = told
        return False


class VirtualDaemon:
    """The daemon of a simulated run; real command processes calibrate its robot."""

    def __init__(self, run: SimulatedRun, folder: Path, gpio: Gpio) -> None:
        self.run = run
        self.folder = folder
        self.freezer = Freezer(run.loop)
        self.recorder = Recorder(run)
        profile = run.profile
        self.store = CalibrationStore(folder / "state")
        self.store.save(Calibration(robot=profile.name, values=confirmable(profile)))
        self.contact = ConfirmedRange(confirmable(profile), simulated=True)
        self.cameras = cameras_of(run)
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
        """Serve at the control socket and yield the panel, whose button may be pressed."""
        await self.controller.open()
        panel = FrontPanel(self.controller, self._gpio, PanelPins(start_button=Input(17)))
        panel.open()
        management = management_of(
            self.controller, self.folder / "state", profile=self.run.profile.name
        )
        app = make_app(self.controller, self.maintenance, management, "virtual")
        async with serving(app, self.folder / "control.sock"):
            yield panel
        await panel.close()
        await self.controller.close()

    async def command(self, *arguments: str) -> asyncio.subprocess.Process:
        return await spawn(self.folder, *arguments)

    async def until_nobody_calibrates(self) -> None:
        async with asyncio.timeout(LIMIT_S):
            while self.controller.is_calibrated:
                await asyncio.sleep(0.01)

    def _machine(self, profile: RobotProfile) -> Machine:
        cameras = [*self.cameras.values()]
        motion = SimulatedMotion(self.run, profile, self.contact, cameras, self.freezer)
        return machine_of(profile, motion, self.cameras)
