"""A robot that is all pretence: motion, cameras and a planner that do what a test tells them."""

from __future__ import annotations

import asyncio
import json
import tempfile
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from robot.calibration.store import CalibrationStore
from robot.cli.main import run
from robot.daemon.job_control import JobController
from robot.daemon.maintenance import Maintenance
from robot.daemon.server import make_app, serving
from robot.machine.interfaces import (
    FaceImage,
    Hear,
    InvalidRequest,
    Machine,
    MotionPlan,
    Parts,
    Policy,
    Reading,
    RunStopped,
    Tour,
    ViewPoint,
)
from robot.motion.schedule import Schedule
from robot.records.runs import LinkRecord, RunStore
from robot.settings import RobotProfile, load_profile
from solver.solution import Progress

Ask = Callable[..., tuple[int, list[dict[str, Any]], str]]

LIMIT_S = 240.0
"""For what takes a moment, on a computer that is busy with everything else."""

MOTION = Schedule((), (), 1000)
SCRAMBLED, SOLVED = "scrambled", "solved"
TURN = {"op": "turn", "site": "D", "quarter_turns": 1, "start_us": 0, "duration_us": 1000}


@dataclass
class FakeMotionController:
    """Counts what is asked; raises the next fault of the list; waits while ``hold`` is set."""

    faults: list[Exception | None] = field(default_factory=list)
    done: list[str] = field(default_factory=list)
    hold: threading.Event | None = None
    moving: threading.Event = field(default_factory=threading.Event)
    open_fault: Exception | None = None
    places: dict[str, int] = field(default_factory=dict)
    line: LinkRecord = field(default_factory=LinkRecord)
    _stopped: threading.Event = field(default_factory=threading.Event)

    def open(self) -> None:
        self.done.append("open")
        if self.open_fault:
            raise self.open_fault

    def home(self, first: Sequence[str] = ()) -> None:
        self._stopped.clear()
        self.done.append("home")

    def perform(self, schedule: Schedule, progress: Callable[[float], None]) -> int:
        self.done.append("perform")
        progress(0.5)
        self.moving.set()
        if self.hold is not None:
            while not self.hold.wait(0.005):
                if self._stopped.is_set():
                    raise RunStopped
        fault = self.faults.pop(0) if self.faults else None
        if fault:
            raise fault
        return schedule.duration_us

    def position(self, actuator: str) -> int | None:
        return self.places.get(actuator)

    def home_alone(self, actuator: str, at: int) -> int:
        self.done.append(f"home-alone {actuator} {at}")
        self.places[actuator] = at
        return at

    def jog(self, actuator: str, target: int) -> int:
        self.done.append(f"jog {actuator} {target}")
        self.places[actuator] = target
        return target

    def reconfigure(self, profile: RobotProfile, fastest: Mapping[str, float]) -> None:
        self.done.append("reconfigure")

    def is_sensor_active(self, actuator: str) -> bool:
        return False

    def distrust_positions(self) -> None:
        self.doubted = True

    def assume_start_positions(self) -> None:
        self.done.append("assume-start")

    def stop(self) -> None:
        self.done.append("stop")
        self._stopped.set()

    def emergency_stop(self) -> None:
        self.done.append("emergency")
        self._stopped.set()

    def link_statistics(self) -> LinkRecord:
        return self.line

    def close(self) -> None:
        self.done.append("close")


class FakeScanner:
    """Sees whatever face is asked for."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def settle(self) -> None:
        pass

    def look(self, view: ViewPoint) -> FaceImage:
        self.seen.append(view.face)
        return FaceImage(view.face, "top", b"jpeg", None, None)

    def glance(self) -> tuple[int, Any]:
        return 0, np.zeros((6, 8), np.float32)

    def picture(self, camera: str | None) -> bytes:
        return b"jpeg"

    def close(self) -> None:
        pass


@dataclass
class FakePlanner:
    """Reads what the list says: a cube, an error to raise, or a doubtful reading as a tuple."""

    readings: list[Any] = field(default_factory=lambda: [SCRAMBLED, SOLVED])
    plans: int = 0
    odd: list[Exception] = field(default_factory=list)
    cuts: list[Parts] = field(default_factory=list)
    better: MotionPlan | None = None
    tables: list[Progress] = field(default_factory=list)
    tables_done: threading.Event = field(default_factory=threading.Event)
    toured_from: list[Any] = field(default_factory=list)
    planned_from: list[Any] = field(default_factory=list)

    def tour(self, state: Any, faces: Sequence[str] | None) -> Tour:
        self.toured_from.append(state)
        wanted = faces or "URFDLB"
        return Tour(
            tuple(ViewPoint(MOTION, face, None, f"at {face}") for face in wanted), "after the tour"
        )

    def recognise(self, look: FaceImage) -> None:
        if self.odd:
            raise self.odd.pop(0)

    def read(self, looks: Sequence[FaceImage]) -> Reading:
        found = self.readings.pop(0)
        if isinstance(found, Exception):
            raise found
        again = found[1:] if isinstance(found, tuple) else ()
        cube = found[0] if isinstance(found, tuple) else found
        return Reading(cube, cube, not again, cube == SOLVED, again, {"margin": 40})

    def explanation(self) -> Callable[[], bytes]:
        return lambda: b"png"

    def know(self, facelets: str) -> Reading:
        return Reading(facelets, facelets, True, False, (), {})

    def prepare(self, cancel: threading.Event, progress: Hear) -> None:
        for report in self.tables:
            progress(report)
        if self.tables:
            assert self.tables_done.wait(LIMIT_S)

    def plan(self, cube: Any, state: Any, cancel: threading.Event, progress: Hear) -> MotionPlan:
        for report in self.tables:
            progress(report)
        if self.tables:
            assert self.tables_done.wait(LIMIT_S)
            progress(replace(self.tables[-1], done=1.0))
        self.plans += 1
        self.planned_from.append(state)
        return MotionPlan("R U", 1000, MOTION, [TURN], "after the plan")

    def split(self, cube: Any, plan: MotionPlan) -> Parts | None:
        return self.cuts.pop(0) if self.cuts else None

    def improved(self, parts: Parts, enough: threading.Event) -> MotionPlan:
        assert enough.wait(LIMIT_S)
        return self.better or parts.tail

    def scrambled(self, moves: str | None) -> Any:
        if moves == "Q":
            raise InvalidRequest("moves: 'Q' is no move")
        return moves or "F"

    def scramble(self, cube: Any, state: Any, progress: Hear) -> MotionPlan:
        return MotionPlan(cube, 1000, MOTION, [], "after the scramble")


@dataclass
class FakeMachine:
    """The parts, and the robot made of them."""

    motion: FakeMotionController = field(default_factory=FakeMotionController)
    scanner: FakeScanner = field(default_factory=FakeScanner)
    planner: FakePlanner = field(default_factory=FakePlanner)
    policy: Policy = field(default_factory=Policy)

    def machine(self) -> Machine:
        return Machine("fake", self.motion, self.scanner, self.planner, self.policy)


@pytest.fixture
def fake() -> FakeMachine:
    return FakeMachine()


@pytest.fixture
async def controller(fake: FakeMachine, tmp_path: Path) -> AsyncIterator[JobController]:
    """A controller of the fake robot, connected."""
    controller = JobController(fake.machine(), RunStore(tmp_path / "runs"), version="1.2.3")
    await controller.open()
    yield controller
    await controller.close()


@pytest.fixture
def profile_name() -> str:
    """The profile that describes the fake robot."""
    return "cubotino"


@pytest.fixture
def maintenance_of(
    tmp_path: Path, profile_name: str
) -> Callable[[JobController, FakeMachine], Maintenance]:
    """Maintenance of a controller whose robot is described by that profile."""

    def make(controller: JobController, fake: FakeMachine) -> Maintenance:
        store = CalibrationStore(tmp_path / "state")
        return Maintenance(controller, load_profile(profile_name), store, lambda _: fake.machine())

    return make


@pytest.fixture
def short_folder() -> Iterator[Path]:
    """A folder whose path is short enough for sockets in it."""
    with tempfile.TemporaryDirectory(prefix="cubistd-") as folder:
        yield Path(folder)


@pytest.fixture
def eventually() -> Callable[[threading.Event], Any]:
    """Waits, in a coroutine, for something that happens on another thread."""

    async def wait(event: threading.Event) -> None:
        assert await asyncio.to_thread(event.wait, LIMIT_S)

    return wait


@pytest.fixture
def daemon(
    fake: Any, maintenance_of: Any, short_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Any]:
    """The fake robot's daemon on a thread; yields the fake."""
    monkeypatch.setenv("CUBIST_RUNTIME_DIR", str(short_folder))
    monkeypatch.setenv("CUBIST_STATE_DIR", str(short_folder / "state"))
    ready = threading.Event()
    ended: list[Callable[[], object]] = []

    async def serve() -> None:
        store = RunStore(short_folder / "state" / "runs")
        controller = JobController(fake.machine(), store, version="1.2.3")
        await controller.open()
        loop = asyncio.get_running_loop()
        ended.append(lambda: loop.call_soon_threadsafe(controller.ended.set))
        async with serving(
            make_app(controller, maintenance_of(controller, fake), "1.2.3"),
            short_folder / "control.sock",
        ):
            ready.set()
            await controller.ended.wait()
        await controller.close()

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    assert ready.wait(LIMIT_S)
    yield fake
    if thread.is_alive():
        ended[0]()
    thread.join(LIMIT_S)
    assert not thread.is_alive()


@pytest.fixture
def ask(capfd: pytest.CaptureFixture[str]) -> Ask:
    def call(*arguments: str) -> tuple[int, list[dict[str, Any]], str]:
        capfd.readouterr()
        code = run([*arguments, "--json"])
        out, err = capfd.readouterr()
        return code, [json.loads(line) for line in out.splitlines()], err

    return call
