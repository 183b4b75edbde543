"""Calibration of a whole robot in simulated time: its session, and a camera whose pictures take
time of the robot's clock."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager

from robot.calibration.plausible import require_plausible
from robot.calibration.step import Session
from robot.calibration.store import Calibration, apply
from robot.calibration.trials.trial import Asked, Bench, Found, Trial
from robot.link.protocol import SILENCE_HOLD_MS
from robot.machine.assembly import Machine
from robot.machine.first_contact import FirstContact, guessed_steps
from robot.machine.motion_controller import MotionController
from robot.machine.scanner import Scanner
from robot.machine.solve_planner import SolvePlanner
from robot.motion.schedule import Schedule
from robot.planner import build_mechanism
from robot.settings import RobotProfile
from robot.twin.render import Image
from robot.twin.studio import Studio
from solver.files import JsonMapping, JsonObject
from tests.rig.virtual.kept import SEEN
from tests.rig.virtual.link import VirtualLink
from tests.rig.virtual.rehearsal import Rehearsal
from vision.frame import Frame

PERIOD_S = 1 / 30
"""Of a Raspberry Pi's camera."""

LONGEST_WAIT_S = 5.0
"""Of real time, for whoever has stopped filming."""


class VirtualCamera:
    """A camera of the simulated robot, a picture each thirtieth of a simulated second.

    While another thread lets the time pass (a motion is filmed), pictures are taken there at their
    times: that thread waits until the next one is asked for. Cameras that are asked at once take
    turns. ``lens``: what it makes of a picture.
    """

    def __init__(self, rehearsal: Rehearsal, name: str, turn: threading.Lock) -> None:
        self.name = name
        self._turn = turn
        self.studio = Studio(rehearsal.robot)
        self.lens: Callable[[Image], Image] = lambda image: image
        self._rehearsal = rehearsal
        self._due: float | None = None
        self._taken: Frame | None = None
        self._filming = False
        self._changed = threading.Condition()
        rehearsal.loop.attach(self._pass)

    def settle(self) -> None:
        """Nothing to adapt."""

    def capture(self) -> Frame:
        """See :meth:`vision.frame.Camera.capture`."""
        loop = self._rehearsal.loop
        with self._changed:
            if self._filming:
                self._taken, self._due = None, loop.time() + PERIOD_S
                self._changed.notify_all()
                self._changed.wait_for(lambda: self._taken is not None or not self._filming)
                self._due = None
                if self._taken is not None:
                    return self._taken
        # Not while holding what other cameras wait for, whose time passes with this one's.
        with self._turn:
            loop.pass_time(PERIOD_S)
            return self._frame()

    def close(self) -> None:
        """Nothing to give back."""

    @contextmanager
    def filming(self) -> Iterator[None]:
        """A motion on the thread of a pool, which waits for another one's pictures; no other does:
        a trial that films begins its motion so."""
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
        return Frame(image, self.name, round(self._rehearsal.robot.time_us))

    def _pass(self, _: int) -> bool:
        with self._changed:
            if self._due is not None and self._rehearsal.loop.time() >= self._due:
                self._taken, self._due = self._frame(), None
                self._changed.notify_all()
                self._changed.wait_for(lambda: self._due is not None, LONGEST_WAIT_S)
        return False


class CalibratingSession(Session):
    """The session of a daemon in maintenance, without the daemon: calls go to the robot itself."""

    def __init__(self, rehearsal: Rehearsal) -> None:
        self._rehearsal = rehearsal
        self._given = rehearsal.profile
        self._kept: JsonObject = {}
        self._imported: JsonObject = {}
        self._tried: JsonObject = {}
        self._undo = []
        self.contact = FirstContact({}, simulated=True)
        self.contact.calibrating = True
        turn = threading.Lock()
        self.cameras = {
            camera.name: VirtualCamera(rehearsal, camera.name, turn)
            for camera in rehearsal.profile.cameras
        }
        self._machine: Machine | None = None
        self.trials: list[str] = []

    @contextmanager
    def maintenance(self) -> Iterator[None]:
        """See :meth:`Session.maintenance`."""
        try:
            yield
        finally:
            if self._machine is not None:
                self._machine.motion.bring_back(guessed_steps(self._tried))
            self.try_out({})
            self._drop()

    @property
    def calibration(self) -> Calibration:
        """See :attr:`Session.calibration`."""
        return self.stored.changed(self._tried)

    @property
    def stored(self) -> Calibration:
        """What is kept, without what is tried out."""
        imported = Calibration(robot=self._rehearsal.profile.name, values=self._imported)
        return imported.changed(self._kept, dict.fromkeys(self._kept, SEEN))

    def perform(self, trial: Trial[Asked, Found], **asked: object) -> Found:
        """See :meth:`Session.perform`."""
        self.trials.append(trial.name)
        if trial.renews and self._machine is not None and self._is_stale:
            self._drop()
        if self._machine is None:
            self._machine = self._made(apply(self.profile, self.calibration))
            self._is_stale = False
        stored = apply(self.profile, self.stored)
        bench = Bench(self._machine, apply(self.profile, self.calibration), self.contact, stored)
        request = trial.request.model_validate(asked)
        with self.contact.vouching(trial.vouches(bench.profile, request)):
            return trial.run(bench, request)

    def keep(
        self, values: JsonMapping, how: str = "person", uncertain: JsonMapping | None = None
    ) -> bool:
        """See :meth:`Session.keep`."""
        self._kept = self._kept | dict(values)
        self._require_plausible(values)
        self._renew()
        return bool(values)

    def import_values(self, values: JsonMapping) -> None:
        """Keep the values of a file, which nobody has confirmed."""
        self._imported = dict(values)
        self._renew()

    def try_out(self, values: JsonMapping) -> None:
        """See :meth:`Session.try_out`."""
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
        rehearsal = self._rehearsal
        motion = CalibratedMotion(rehearsal, profile, self.contact, [*self.cameras.values()])
        return Machine(
            profile.name,
            motion,
            Scanner(profile, self.cameras),
            SolvePlanner(profile, build_mechanism(profile)),
            profile.policy,
            size=profile.cube.size,
        )


class CalibratedMotion(MotionController):
    """Motion of the simulated robot by a calibrated profile; ``cameras`` may film it."""

    def __init__(
        self,
        rehearsal: Rehearsal,
        profile: RobotProfile,
        contact: FirstContact,
        cameras: Sequence[VirtualCamera],
    ) -> None:
        super().__init__(
            profile, contact, None, SILENCE_HOLD_MS, self._virtual_link, rehearsal.loop.time
        )
        self._rehearsal = rehearsal
        self.cameras = cameras

    def perform(self, schedule: Schedule, progress: Callable[[float], None]) -> int:
        """See :meth:`MotionController.perform`."""
        with ExitStack() as stack:
            for camera in self.cameras:
                stack.enter_context(camera.filming())
            return super().perform(schedule, progress)

    def _virtual_link(self) -> VirtualLink:
        rehearsal = self._rehearsal
        links = self._links(lambda name: rehearsal.ports[name], rehearsal.draw)
        return VirtualLink(rehearsal.loop, links)
