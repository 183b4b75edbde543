"""A whole robot in this process and in simulated time.

It consists of job controller, motion controller, planner, firmware, and the simulated robot at its
pins. It depends only on its seed, and takes only the time for computing. The simulated robot tells
its scanner what cameras would see.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from robot.api.endpoints import RobotState
from robot.api.models import StartRequest
from robot.daemon.job_control import JobController
from robot.link import Link
from robot.machine.assembly import Machine
from robot.machine.confirmed_range import ConfirmedRange
from robot.machine.motion_controller import MotionController
from robot.machine.scanner import FaceImage, Scanner, as_cube_face, as_jpeg, small_and_grey
from robot.machine.solve_planner import ProgressListener, SolvePlanner
from robot.motion.schedule import Schedule
from robot.planner import ANY_SOLVED, Aim, FaceView, Plan, build_mechanism, plan_solve
from robot.planner import State as MechanismState
from robot.records.run_record import RunRecord
from robot.records.runs import RunStore
from robot.settings import RobotProfile
from robot.settings.profile import FIRST_BOARD, PolicySettings
from robot.simulate.boards import simulation_of
from robot.text.faults import ScanError
from robot.twin.cube import SITES, CubeBody
from robot.twin.misadjustment import Misadjustment
from robot.twin.simulated import PinStream, SimulatedRobot
from robot.twin.studio import Studio
from robot.twin.violations import Violation
from solver.cube.cube import AnyCube
from solver.solution import CancelFlag
from tests.rig.pictures import to_linear
from tests.rig.scenes import SCHEMES
from tests.rig.simulated_time import VirtualBoard, VirtualLink, VirtualLoop, VirtualPort
from vision.frame import Frame
from vision.locate.face import FaceGrid
from vision.measure.sticker_colours import FaceColours

SPREAD = 0.01
RECONNECT_S = 2.0
"""Real seconds."""
SEARCH_S = 60.0
"""Far more time than a first solution takes."""
NO_FRAME = Frame(np.zeros((8, 8, 3), dtype=np.uint8), "none", 0)

FaultAction = Callable[["SimulatedRun"], None]


@dataclass(frozen=True)
class TimedFault:
    """A fault injected ``after_s`` simulated seconds of motion in a state."""

    action: FaultAction
    stage: RobotState = RobotState.TURNING
    after_s: float = 0.5


@dataclass(frozen=True)
class Verdict:
    """The end of a simulated run according to the simulated robot and the daemon."""

    solved: bool
    violations: tuple[Violation, ...]
    record: RunRecord
    state: RobotState
    fault: str | None

    @property
    def faults(self) -> list[str]:
        """The names of all faults of the run, including those it recovered from."""
        return [fault.code for fault in self.record.faults]


class SimulatedRun:
    """One robot with a cube in it; use as a context manager.

    ``firmware`` is ``host`` or ``avr``. Each of ``faults`` happens once. ``contact``: the range in
    which it may move (default: anywhere, as it is simulated). ``misadjusted``: its deviation from
    the profile. ``skew``: the clock rate of each further board relative to the previous board.
    """

    def __init__(
        self,
        profile: RobotProfile,
        body: CubeBody,
        *,
        seed: int = 1,
        firmware: str = "host",
        faults: Sequence[TimedFault] = (),
        contact: ConfirmedRange | None = None,
        misadjusted: Misadjustment | None = None,
        skew: float = 0.0,
    ) -> None:
        self.profile = profile
        self.contact = contact or ConfirmedRange({}, simulated=True)
        self.robot = SimulatedRobot(profile, body, misadjusted=misadjusted)
        self.state: Callable[[], RobotState] = lambda: RobotState.IDLE
        self.motion: SimulatedRunMotion | None = None
        self._mechanism = build_mechanism(profile)
        self._planner = FirstSolutionPlanner(profile, self._mechanism)
        self._faults = list(faults)
        self._awaited = list(faults)
        with contextlib.ExitStack() as opened:
            self._folder = tempfile.TemporaryDirectory(prefix="cubist-simulated-")
            opened.callback(self._folder.cleanup)
            self.loop = VirtualLoop()
            opened.callback(self.loop.close)
            if profile.boards:
                self.loop.attach(lambda _: True)  # in steps so small that boards stay together
            self.boards: dict[str, VirtualBoard] = {}
            self.ports: dict[str, VirtualPort] = {}
            for number, name in enumerate(profile.every_board):
                drift = number * skew
                process = simulation_of(firmware, profile, name)
                folder = Path(self._folder.name)
                chips = process.pulse_maker(self.robot, folder, name)
                if chips is not None:
                    opened.callback(chips.close)
                command = process.command(profile, folder, name)
                self.boards[name] = board = VirtualBoard(command, drift)
                opened.callback(board.end)
                board.listener = PinStream(self.robot, board.answer, chips, name, drift)
                self.ports[name] = port = VirtualPort(board, self.loop, seed + number)
                opened.callback(port.end)
            self._opened = opened.pop_all()
        self.draw = random.Random(seed).randrange

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        """Switch everything off. Fail for a fault that came too late to happen."""
        self._opened.close()
        assert kind is not None or not self._awaited, f"never happened: {self._awaited}"

    def solve(
        self,
        starts: int = 1,
        *,
        killed: bool = True,
        at_rest: FaultAction | None = None,
        **asked: Any,
    ) -> Verdict:
        """Press the button on a new daemon and wait for the end of its job, ``starts`` times.

        Then the daemon is ``killed`` or ends in order. ``asked``: further keys of a StartRequest.
        ``at_rest`` is called before each start but the first, when the robot has been idle for
        long.
        """
        log = logging.getLogger("cubistd")  # silent about intended faults
        with patch.object(log, "disabled", True), kept_memory():
            return asyncio.run(self._solve(starts, killed, at_rest, asked))

    def calibrate(self, work: Callable[[Machine, RobotProfile], Any]) -> Any:
        """Return the result of ``work`` with the robot of a daemon in maintenance."""
        motion = SimulatedRunMotion(self)
        try:
            return work(self.machine_with(motion), self.profile)
        finally:
            motion.vanish()

    @property
    def folder(self) -> str:
        return self._folder.name

    @property
    def board(self) -> VirtualBoard:
        return self.boards[FIRST_BOARD]

    @property
    def port(self) -> VirtualPort:
        return self.ports[FIRST_BOARD]

    def due(self) -> list[TimedFault]:
        """Return the faults of the motion that starts, each once."""
        due = [fault for fault in self._faults if fault.stage is self.state()]
        self._faults = [fault for fault in self._faults if fault not in due]
        return due

    def inject(self, fault: TimedFault) -> None:
        self._awaited.remove(fault)
        fault.action(self)

    def machine_with(self, motion: MotionController) -> Machine:
        return Machine(
            self.profile.name,
            motion,
            TruthfulScanner(self.profile, self.robot),
            self._planner,
            PolicySettings(
                solve_retries=self.profile.policy.solve_retries,
                improve_while_turning=False,
                time_lapse=False,  # this scanner has no cameras
                idle=self.profile.policy.idle,
            ),
            RECONNECT_S,
            self.profile.cube.size,
        )

    async def _solve(
        self, starts: int, killed: bool, at_rest: FaultAction | None, asked: dict[str, Any]
    ) -> Verdict:
        self.motion = motion = SimulatedRunMotion(self)
        idling = IdleTime()
        controller = JobController(
            self.machine_with(motion),
            RunStore(Path(self._folder.name)),
            version="simulated",
            call_later=idling.call_later,
        )
        self.state = lambda: controller.state
        await controller.open()
        try:
            for number in range(starts):
                if number and at_rest is not None:
                    await idling.end()
                    await asyncio.to_thread(at_rest, self)
                run = await controller.start(StartRequest(kind="solve", **asked))
                await controller.finished()
            status = controller.status()
            fault = status.fault.code if status.fault else None
            record = await controller.library.run_record(run)
            violations = tuple(self.robot.violations)
            return Verdict(self.robot.solved, violations, record, status.state, fault)
        finally:
            if killed:
                await asyncio.to_thread(motion.vanish)
            await controller.close()


class IdleTime:
    """The time until an idle robot rests; a test ends it."""

    def __init__(self) -> None:
        self.seconds: float | None = None
        self._handle: asyncio.TimerHandle | None = None
        self._due: Callable[[], None] = lambda: None

    def call_later(self, seconds: float, due: Callable[[], None]) -> asyncio.TimerHandle:
        self.seconds, self._due = seconds, due
        self._handle = asyncio.get_running_loop().call_later(1e6, due)
        return self._handle

    async def end(self) -> None:
        """End the time if it has started, and wait for the daemon's reaction."""
        if self._handle is not None and not self._handle.cancelled():
            self._due()
        names = {task.get_name(): task for task in asyncio.all_tasks()}
        if (release := names.get("release")) is not None:
            await asyncio.wait({release})


class SimulatedRunMotion(MotionController):
    """The motion controller on the virtual port. Its motions trigger faults."""

    def __init__(self, run: SimulatedRun) -> None:
        super().__init__(
            run.profile,
            run.contact,
            make_link=self._virtual_link,
            clock=run.loop.time,
        )
        self._run = run

    def home(self, first: Sequence[str] = ()) -> None:
        self._schedule_faults()
        super().home(first)

    def perform(self, schedule: Schedule, progress: Callable[[float], None]) -> int:
        self._schedule_faults()
        return super().perform(schedule, progress)

    def vanish(self) -> None:
        """Disconnect without telling the board, like a killed daemon."""
        self._disconnect()
        self._ready = False

    def press_stop(self) -> None:
        """Stop like :meth:`stop`, from the loop that runs the motion."""
        self._cancel.set()
        if self._thread is not None:
            self.stopping = self._run.loop.create_task(self._thread.link.stop())

    def hit_emergency_stop(self) -> None:
        """Stop all boards like :meth:`emergency_stop`, from the loop that runs the motion."""
        self.stopping = self._run.loop.create_task(self._thread.link.emergency_stop())

    @property
    def link(self) -> Link:
        return self._thread.link.links[FIRST_BOARD]

    def _virtual_link(self) -> VirtualLink:
        run = self._run
        links = self._links(lambda name: run.ports[name], run.draw)
        return VirtualLink(run.loop, links)

    def _schedule_faults(self) -> None:
        for fault in self._run.due():
            self._run.loop.call_later(fault.after_s, self._run.inject, fault)


class FirstSolutionPlanner(SolvePlanner):
    """A planner that takes the first solution, which is always the same."""

    def plan(
        self,
        cube: AnyCube,
        state: MechanismState | None,
        cancel: threading.Event,
        progress: ProgressListener,
        aim: Aim = ANY_SOLVED,
    ) -> Plan:
        del cancel
        found = CancelFlag()
        return plan_solve(
            cube,
            self._mechanism,
            state,
            time_limit=SEARCH_S,
            threads=1,
            cancel=found,
            on_better=lambda *_: found.set(),
            progress=progress,
            goal=aim.goal,
            centres=aim.centres_of(cube),
        )


class TruthfulScanner(Scanner):
    """A scanner without cameras: the simulated robot tells it what they would see."""

    def __init__(self, profile: RobotProfile, robot: SimulatedRobot) -> None:
        super().__init__(profile, {})
        self._robot = robot
        self._studio = Studio(robot)

    def check_view(self, taken: Sequence[FaceImage], before: object = ()) -> None:
        """See :meth:`robot.machine.scanner.Scanner.check_view`."""

    def take(self, looks: Sequence[FaceView], *, moved: bool = False) -> list[FaceImage]:
        """See :meth:`robot.machine.scanner.Scanner.take`. Nothing swings."""
        if self._robot.pose().layers_open:
            raise ScanError("a layer stands between two quarter turns")
        return [self._truth(view) for view in looks]

    def _truth(self, view: FaceView) -> FaceImage:
        count = self._size**2
        first = SITES.index(view.site) * count
        letters = self._robot.body.facelets()[first : first + count]
        seen = FaceColours(
            to_linear(np.array([SCHEMES["classic"][x] for x in letters], np.uint8)[None])[0],
            np.full((count, 3), SPREAD, dtype=np.float32),
            np.zeros(count, dtype=bool),
            np.ones(count, dtype=bool),
        )
        square = np.array([[0, 0], [1, 0], [1, 1], [0, 1]], dtype=np.float64)
        grid = FaceGrid.from_corners(square, self._size)
        return FaceImage(view.face, NO_FRAME, as_cube_face(seen, view, self._size), grid)

    def glance(self) -> tuple[int, NDArray[np.float32]]:
        """See :meth:`robot.machine.scanner.Scanner.glance`: this one is a picture."""
        return round(self._robot.time_us), small_and_grey(self._studio.shoot().image)

    def picture(self, camera: str | None) -> bytes:
        del camera
        return as_jpeg(NO_FRAME)


@contextlib.contextmanager
def kept_memory() -> Iterator[None]:
    """Keep jobs from returning memory to the system: searching all of pytest's memory takes 80 ms.

    ``tests/system/service`` watches the memory of daemons in separate processes.
    """
    with patch("robot.daemon.job_control.give_back"):
        yield
