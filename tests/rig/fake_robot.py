"""A robot for tests of the daemon: its motion, cameras and planner do what a test tells them.

``FakeMachine`` holds the parts, and ``machine()`` the robot made of them. Threads run as in the
daemon, so ``hold`` and ``moving`` let a test stop at one moment of a motion.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from robot.api.models import StartRequest
from robot.calibration.store import CalibrationStore
from robot.daemon.job_control import JobController
from robot.daemon.log_keeper import LogKeeper
from robot.daemon.management import Management, Surroundings
from robot.link import LostPositions
from robot.link.drivers import DriverState
from robot.machine.assembly import Machine
from robot.machine.scanner import FaceImage
from robot.machine.solve_planner import ProgressListener, SplitPlan
from robot.mechanism.graph import ActuatorMotion, Operation
from robot.motion.schedule import Schedule
from robot.planner import ANY_SOLVED, Aim, FaceView, ScanPlan, ScanStep
from robot.records.profile_versions import ProfileVersions
from robot.records.run_record import LinkRecord, RunRecord
from robot.settings import RobotProfile
from robot.settings.profile import PolicySettings
from robot.text.faults import RobotError, Stopped
from robot.text.messages import Note
from solver.cube.cube import Cube
from solver.cube.orientation import Orientation
from solver.cube.reading import SCRAMBLE, read_state
from solver.errors import InvalidRequest
from solver.goal import Goal, read_goal
from solver.solution import Progress
from vision.decide.reader import CubeReading
from vision.frame import Frame
from vision.locate.face import FaceGrid
from vision.measure.sticker_colours import FaceColours

LIMIT_S = 240.0
"""Timeout for short waits on a computer that is busy with everything else."""

MOTION = Schedule((), (), 1000)
SCRAMBLED, SOLVED = "scrambled", "solved"
SCRAMBLED_CUBE = Cube.solved().apply("R U F2")
CUBES = {SCRAMBLED: SCRAMBLED_CUBE, SOLVED: Cube.solved()}
TURN = Operation("turn", 1000, site="D", quarter_turns=1)
GRID = FaceGrid.from_corners(np.array([(0, 0), (6, 0), (6, 6), (0, 6)]), 3)
AS_DRAWN = Orientation(0)
GREY = FaceColours.from_light(np.full((9, 3), 0.5))
PLAIN = Frame(np.full((6, 8, 3), 188, np.uint8), "top", 0)
"""A uniform grey picture in sRGB. A black one would itself be a cause of failures."""


@dataclass
class FakeMotionController:
    """A controller that logs requests, raises the next fault, and waits while ``hold`` is set."""

    faults: list[Exception | None] = field(default_factory=list)
    done: list[str] = field(default_factory=list)
    hold: threading.Event | None = None
    moving: threading.Event = field(default_factory=threading.Event)
    open_fault: Exception | None = None
    places: dict[str, int] = field(default_factory=dict)
    line: LinkRecord = field(default_factory=LinkRecord)
    lost: tuple[str, ...] = ()
    doubted: Collection[str] | None = None
    has_lost_positions: bool = False
    reports: list[float] = field(default_factory=lambda: [0.5])
    """Progress that the board reports of each motion."""
    cancelled: threading.Event = field(default_factory=threading.Event)
    _emergency: bool = False
    _halted: bool = False
    """True if the current motion has to end. A cancel flag alone only holds back the next one."""

    def open(self) -> None:
        self.done.append("open")
        if self._emergency:
            raise RobotError("emergency-stop")
        if self.open_fault:
            raise self.open_fault

    def begin(self, cancel: threading.Event) -> None:
        self.cancelled, self._halted = cancel, False

    def clear_emergency(self) -> None:
        self._emergency = False

    @property
    def is_cancelled(self) -> bool:
        return self.cancelled.is_set()

    def require_confirmed(self) -> None:
        pass

    def _may_move(self) -> None:
        if self._emergency:
            raise RobotError("emergency-stop")
        if self.cancelled.is_set():
            raise Stopped

    def home(self, first: Sequence[str] = ()) -> None:
        self._may_move()
        self.done.append("home")

    def perform(self, schedule: Schedule, progress: Callable[[float], None]) -> int:
        self._may_move()
        self.done.append("perform")
        for fraction in self.reports:
            progress(fraction)
        self.moving.set()
        if self.hold is not None:
            while not self.hold.wait(0.005):
                if self._halted:
                    self._may_move()
        fault = self.faults.pop(0) if self.faults else None
        if fault:
            raise fault
        return schedule.duration_us

    def power_down(self) -> tuple[str, ...]:
        self.done.append("power down")
        if self.open_fault:
            raise self.open_fault
        return ("holder", "lid")

    def position(self, actuator: str) -> int | None:
        return self.places.get(actuator)

    def home_alone(self, actuator: str, at: int) -> int:
        self._may_move()
        self.done.append(f"home-alone {actuator} {at}")
        self.places[actuator] = at
        return at

    def jog(self, actuator: str, target: int) -> int:
        self._may_move()
        self.done.append(f"jog {actuator} {target}")
        self.places[actuator] = target
        return target

    def reconfigure(self, profile: RobotProfile, fastest: Mapping[str, float]) -> None:
        self.done.append("reconfigure")

    def is_sensor_active(self, actuator: str) -> bool:
        return False

    def mark_positions_lost(self, lost: LostPositions) -> None:
        self.doubted, self.has_lost_positions = lost.names, True

    def pass_losses_on(self, heir: FakeMotionController) -> None:
        if self.has_lost_positions and heir is not self:
            heir.doubted, heir.has_lost_positions = self.doubted, True

    def bring_back(self, guessed: Collection[str]) -> tuple[str, ...]:
        self.done.append(f"bring-back {sorted(guessed)}")
        return self.lost

    def assume_start_positions(self) -> None:
        self.done.append("assume-start")

    def stop(self) -> None:
        self.done.append("stop")
        self.cancelled.set()
        self._halted = True

    def emergency_stop(self) -> None:
        self.done.append("emergency")
        self._emergency = self._halted = True

    def drivers(self) -> tuple[DriverState, ...]:
        return ()

    def link_statistics(self) -> LinkRecord:
        return self.line

    def close(self) -> None:
        self.done.append("close")


@dataclass
class FakePlan:
    """The part of a plan that a job needs."""

    moves: tuple[str, ...] = ()
    duration_us: int = 1000
    end: Any = None
    operations: tuple[Operation, ...] = ()
    transitions: tuple[str, ...] = ("some",)

    initial_orientation: Orientation = AS_DRAWN
    final_orientation: Orientation = AS_DRAWN
    initial_positions: Mapping[str, str | int] = field(default_factory=lambda: {"table": 0})
    final_positions: Mapping[str, str | int] = field(default_factory=lambda: {"table": 1})
    motions: tuple[tuple[int, ActuatorMotion], ...] = ()

    def schedule(self) -> Schedule:
        return Schedule((), (), self.duration_us)


def part(moves: str, duration_us: int, end: str) -> Any:
    return FakePlan(tuple(moves.split()), duration_us, end, (TURN,))


@dataclass
class FakeScanner:
    """A scanner that sees the requested face and reads the next item of the list.

    An item is a cube by its name or its facelets, an error to raise, or a tuple for a doubtful
    reading. ``odd``: the view in each look from now on (``None``: only the cube).
    """

    seen: list[str] = field(default_factory=list)
    readings: list[Any] = field(default_factory=lambda: [SCRAMBLED, SOLVED])
    odd: list[Exception | None] = field(default_factory=list)
    read_first: threading.Event | None = None
    previews: int = 0
    moved: list[bool] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)

    def prepare(self) -> None:
        pass

    def settle(self) -> list[Note]:
        return self.notes

    def take(self, looks: Sequence[FaceView], *, moved: bool = False) -> list[FaceImage]:
        self.seen += [view.face for view in looks]
        self.moved.append(moved)
        return [FaceImage(view.face, PLAIN, GREY, GRID) for view in looks]

    def check_view(self, taken: Sequence[FaceImage], before: object = ()) -> None:
        if self.read_first is not None:
            assert self.read_first.wait(LIMIT_S)
        if self.odd and (odd := self.odd.pop(0)) is not None:
            raise odd

    def read(self, images: Sequence[FaceImage]) -> CubeReading:
        found = self.readings.pop(0)
        if self.read_first is not None:
            self.read_first.set()
        if isinstance(found, Exception):
            raise found
        name, again = found if isinstance(found, tuple) else (found, None)
        cube = CUBES[name] if name in CUBES else Cube.from_facelets(name)
        return CubeReading(3, cube.facelets(), cube, 40.0, not again, look_again=again)

    def take_explanation(self) -> Callable[[], bytes]:
        return lambda: b"png"

    def glance(self) -> tuple[int, Any]:
        return 0, np.zeros((6, 8), np.float32)

    def picture(self, camera: str | None) -> bytes:
        return b"jpeg"

    def camera_named(self, camera: str | None) -> str:
        if camera not in {None, "top"}:
            raise InvalidRequest(f"camera: {camera!r} does not exist; the robot has top")
        return "top"

    @contextlib.contextmanager
    def remembering(self) -> Iterator[None]:
        yield

    def preview(self, camera: str) -> bytes:
        self.previews += 1
        return b"preview"

    def close(self) -> None:
        pass


def together(faces: str, count: int) -> list[str]:
    return [faces[first : first + count] for first in range(0, len(faces), count)]


@dataclass
class FakePlanner:
    plans: int = 0
    cuts: list[SplitPlan] = field(default_factory=list)
    split_again: list[bool] = field(default_factory=list)
    better: FakePlan | None = None
    tables: list[Progress] = field(default_factory=list)
    tables_done: threading.Event = field(default_factory=threading.Event)
    is_cancelled: bool = False
    toured_from: list[Any] = field(default_factory=list)
    planned_from: list[Any] = field(default_factory=list)
    faces_at_once: int = 1

    def scan(self, state: Any, faces: str | None) -> ScanPlan:
        self.toured_from.append(state)
        steps = [
            ScanStep(
                FakePlan((), MOTION.duration_us, f"at {seen}"),
                tuple(FaceView("top", "U", face, Orientation(0)) for face in seen),
            )
            for seen in together(faces or "URFDLB", self.faces_at_once)
        ]
        return ScanPlan(tuple(steps), "after the tour", 6 * MOTION.duration_us)

    def parse_cube(self, facelets: str) -> Cube:
        return Cube.from_facelets(facelets)

    def read_goal(self, text: str, facelets: str | None = None) -> Goal:
        return read_goal(text, read_state(facelets or SCRAMBLE, 3))

    def read_aim(self, to: str | None, facelets: str | None = None, **_: Any) -> Aim:
        return Aim(None if to is None else self.read_goal(to, facelets))

    def prepare(self, cancel: threading.Event, progress: ProgressListener) -> None:
        for report in self.tables:
            progress(report)
        if self.tables:
            ends = time.monotonic() + LIMIT_S
            while not (self.tables_done.wait(0.01) or cancel.is_set()):
                assert time.monotonic() < ends
            self.is_cancelled = cancel.is_set()

    def plan(
        self,
        cube: Cube,
        state: Any,
        cancel: threading.Event,
        progress: ProgressListener,
        aim: Aim = ANY_SOLVED,
    ) -> FakePlan:
        self.prepare(cancel, progress)
        if self.tables:
            progress(replace(self.tables[-1], done=1.0))
        self.plans += 1
        self.planned_from.append(state)
        return FakePlan(("R", "U"), 1000, "after the plan", (TURN,))

    @property
    def start_positions(self) -> Mapping[str, str | int]:
        return {"table": 0}

    def greedy_us(self, parts: Sequence[Any]) -> int | None:
        return sum(2 * part.duration_us for part in parts)

    def split(self, cube: Cube, plan: FakePlan, *, again: bool) -> SplitPlan | None:
        self.split_again.append(again)
        return self.cuts.pop(0) if self.cuts else None

    def improve(
        self, parts: SplitPlan, enough: threading.Event, goal: Goal | None = None
    ) -> FakePlan:
        assert enough.wait(LIMIT_S)
        return self.better or parts.tail

    def scramble_cube(self, moves: str | None) -> Any:
        if moves == "Q":
            raise InvalidRequest("moves: 'Q' is no move")
        return moves or "F"

    def plan_scramble(
        self, cube: Any, state: Any, cancel: threading.Event, progress: ProgressListener
    ) -> FakePlan:
        return FakePlan(tuple(cube.split()), 1000, "after the scramble")


@dataclass
class FakeMachine:
    """The parts, and the machine made of them."""

    motion: FakeMotionController = field(default_factory=FakeMotionController)
    scanner: FakeScanner = field(default_factory=FakeScanner)
    planner: FakePlanner = field(default_factory=FakePlanner)
    policy: PolicySettings = field(
        default_factory=lambda: PolicySettings(improve_while_turning=False, wait_for_clear_view_s=0)
    )

    def machine(self) -> Machine:
        return Machine("fake", self.motion, self.scanner, self.planner, self.policy)

    def machine_with(self, **policy: Any) -> Machine:
        values = {"improve_while_turning": False, "wait_for_clear_view_s": 0.0, **policy}
        self.policy = PolicySettings.model_validate(values)
        return self.machine()


async def run_job(controller: JobController, request: StartRequest | None = None) -> RunRecord:
    run_id = await controller.start(request or StartRequest())
    await controller.finished()
    return await controller.library.run_record(run_id)


FINDING = '{"about": "disk", "verdict": "ok", "text": "plenty", "remedy": ""}'
DOCTOR = (sys.executable, "-c", f"print({FINDING!r})")


def management_of(
    controller: JobController,
    folder: Path,
    *,
    profile: str = "cubotino",
    doctor: tuple[str, ...] = DOCTOR,
    is_supervised: bool = False,
) -> Management:
    folder.mkdir(exist_ok=True)
    return Management(
        controller,
        LogKeeper(folder),
        ProfileVersions(folder, profile),
        CalibrationStore(folder),
        Surroundings(is_supervised=is_supervised, doctor=doctor),
    )
