"""The jobs by themselves: what is asked of the robot, in which order, what is told and noted."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from robot.api.endpoints import RobotState
from robot.daemon import jobs, scanning
from robot.daemon.job import Job
from robot.daemon.job_control import utc_now
from robot.daemon.live import LiveBoard
from robot.machine.assembly import Machine
from robot.machine.solve_planner import SplitPlan
from robot.motion.schedule import Schedule
from robot.records.runs import LinkRecord, RunStore
from robot.settings.profile import PolicySettings
from robot.text.faults import ScanError
from robot.text.outcomes import Outcome
from solver.cube.cube import Cube
from tests.rig.fake_robot import part

SCRAMBLED = Cube.solved().apply("R U F2")
GONE = ScanError("nothing there", "U", "no-cube")


class Board(LiveBoard):
    """It also lists what it is told."""

    def __init__(self) -> None:
        super().__init__(lambda *_, **__: None)
        self.calls: list[tuple[Any, ...]] = []

    def forget_cube(self, size: int) -> None:
        self.calls.append(("forget", size))
        super().forget_cube(size)

    def home(self, positions: Any) -> None:
        self.calls.append(("home", dict(positions)))
        super().home(positions)

    def move(self, purpose: Any, parts: Any, at_us: int = 0, greedy_us: int | None = None) -> None:
        moves = [" ".join(part.moves) for part in parts]
        self.calls.append(("move", purpose, moves, at_us, greedy_us))
        super().move(purpose, parts, at_us, greedy_us)

    def arrive(self, moved: Any, facelets: str | None) -> None:
        self.calls.append(("arrive", moved.end, facelets))
        super().arrive(moved, facelets)

    def read(self, facelets: str) -> None:
        self.calls.append(("read", facelets))
        super().read(facelets)


class Worked:
    """A job with the machine it is done with."""

    def __init__(self, fake: Any, folder: Path) -> None:
        self.fake, self.live = fake, Board()
        self.reported: list[tuple[str, str]] = []
        self.job = Job(
            RunStore(folder).begin("solve", "fake", utc_now()),
            lambda state, step: self.reported.append((state, step)),
            LinkRecord(),
            live=self.live,
        )

    def machine(self, reconnect_s: float = 10.0, **policy: Any) -> Machine:
        values = {"improve_while_turning": False, **policy}
        made = (self.fake.motion, self.fake.scanner, self.fake.planner, PolicySettings(**values))
        return Machine("fake", *made, reconnect_s=reconnect_s, size=3)

    @property
    def calls(self) -> list[tuple[Any, ...]]:
        return self.live.calls

    @property
    def steps(self) -> list[tuple[str, str]]:
        return [(str(state), step) for state, step in self.reported]


@pytest.fixture
async def worked(fake: Any, tmp_path: Path) -> Worked:
    return Worked(fake, tmp_path / "runs")


async def test_a_scramble_is_planned_noted_and_turned_once(worked: Worked) -> None:
    assert await jobs.scramble(worked.job, worked.machine(), "F R2") is Outcome.DONE
    record = worked.job.record
    assert worked.steps[1:] == [
        ("solving", "planning the scramble"),
        ("turning", "turning: 2 moves in 0.0 s"),
    ]
    assert (record.moves, record.planned_us, record.executed_us) == ("F R2", 1000, 1000)
    assert (record.greedy_us, record.orientation, record.facelets) == (2000, "UF", None)
    assert worked.fake.motion.done == ["home", "perform"]
    assert worked.calls[2:] == [
        ("move", "turn", ["F R2"], 0, 2000),
        ("arrive", "after the scramble", None),
    ]
    assert set(record.timings_s) == {"home", "plan", "search", "turn"}


async def test_a_known_cube_is_not_looked_at_before(worked: Worked) -> None:
    worked.fake.scanner.readings = ["solved"]
    assert await jobs.solve_known(worked.job, worked.machine(), SCRAMBLED) is Outcome.SOLVED
    facelets = SCRAMBLED.facelets()
    assert worked.job.record.facelets == facelets
    assert worked.calls[:3] == [("forget", 3), ("home", {"table": 0}), ("read", facelets)]
    assert [state for state, _ in worked.steps] == [
        *("homing", "solving", "turning"),
        *["checking"] * 7,
    ]
    assert ("arrive", "after the plan", SCRAMBLED.apply("R U").facelets()) in worked.calls
    assert worked.fake.planner.planned_from == [None]
    assert worked.fake.planner.toured_from == ["after the plan"]
    await worked.job.finish()
    assert worked.job.record.photos


@pytest.mark.parametrize(("retries", "plans"), [(0, 1), (1, 2), (2, 3)])
async def test_what_stays_unsolved_is_given_up_after_so_many_plans(
    worked: Worked, retries: int, plans: int
) -> None:
    worked.fake.scanner.readings = ["scrambled"] * 4
    machine = worked.machine(solve_retries=retries)
    assert await jobs.solve_known(worked.job, machine, SCRAMBLED) is Outcome.NOT_SOLVED
    assert worked.fake.planner.plans == plans
    assert worked.fake.planner.planned_from == [None, *["after the tour"] * (plans - 1)]
    again = "the cube was not solved after the turns: solved again from there"
    assert worked.job.record.recoveries == [again] * (plans > 1)
    assert [note.code for note in worked.job.record.notes] == ["solved-again"] * (plans > 1)


@pytest.mark.parametrize(
    ("fractions", "known"),
    [([0.84], False), ([0.85], True), ([0.9], True), ([0.5, 0.99], True), ([], False)],
)
async def test_the_search_ends_before_the_head_does(
    worked: Worked, monkeypatch: pytest.MonkeyPatch, fractions: Sequence[float], known: bool
) -> None:
    events: list[threading.Event] = []
    searching = threading.Event()

    def improve(parts: SplitPlan, enough: threading.Event) -> Any:
        events.append(enough)
        searching.set()
        assert enough.wait(60)
        return parts.tail

    seen: list[bool] = []

    def turn(schedule: Schedule, progress: Callable[[float], None]) -> int:
        assert searching.wait(60)
        for fraction in fractions:
            progress(fraction)
        seen.append(events[0].is_set())
        return 77

    monkeypatch.setattr(worked.fake.planner, "improve", improve)
    monkeypatch.setattr(worked.fake.motion, "perform", turn)
    parts = SplitPlan(part("R", 600, "a"), part("U", 400, "b"), SCRAMBLED)  # type: ignore[arg-type]
    told: list[float] = []
    found = await jobs._turn_and_improve(worked.job, worked.machine(), parts, told.append)
    assert (found, told, seen) == ((77, parts.tail), list(fractions), [known])


async def test_a_look_again_is_at_all_faces_or_at_those_in_doubt(worked: Worked) -> None:
    worked.fake.scanner.readings = [GONE, ("scrambled", "F"), "scrambled"]
    machine = worked.machine(scan_retries=2)
    await jobs.home(worked.job, machine)
    cube, state = await scanning.scan(worked.job, machine, RobotState.SCANNING, None)
    assert (cube, state) == (SCRAMBLED, "after the tour")
    assert "".join(worked.fake.scanner.seen) == "URFDLB" * 2 + "F"
    assert worked.fake.planner.toured_from == [None, "after the tour", "after the tour"]
    record = worked.job.record
    assert [note.code for note in record.notes] == ["looked-again", "looked-again-at"]
    assert record.facelets == SCRAMBLED.facelets()
    assert record.reading == {
        "facelets": SCRAMBLED.facelets(),
        "confident": True,
        "margin": 40.0,
        "doubtful": [],
        "runner_up": None,
    }
    looks = [step for _, step in worked.steps if step.startswith("looking")]
    assert looks[:7] == [
        *[f"looking at {face} ({seen} of 6)" for seen, face in enumerate("URFDLB", 1)],
        "looking at U (1 of 6)",
    ]
    assert looks[-1] == "looking at F (1 of 1)"


async def test_a_check_leaves_what_was_scanned_in_the_record(worked: Worked) -> None:
    worked.fake.scanner.readings = ["solved"]
    await jobs.home(worked.job, worked.machine())
    worked.job.looks = looks = [object()]  # type: ignore[list-item]
    await scanning.scan(worked.job, worked.machine(), RobotState.CHECKING, "turned")
    assert (worked.job.record.facelets, worked.job.record.reading) == (None, {})
    assert worked.job.looks is looks
    assert worked.job.explanation is None
    assert set(worked.job.record.timings_s) == {"home", "check", "read", "view"}
    assert worked.calls[-1] == ("read", Cube.solved().facelets())
    await worked.job.finish()
    assert worked.job.record.photos == [f"checking-{n}-{f}.jpg" for n, f in enumerate("URFDLB", 1)]


async def test_looks_after_the_first_motion_tell_where_the_faces_stand(worked: Worked) -> None:
    worked.fake.planner.faces_at_once = 2
    worked.fake.scanner.readings = ["scrambled"]
    await jobs.home(worked.job, worked.machine())
    await scanning.scan(worked.job, worked.machine(), RobotState.SCANNING, None)
    assert [look.image.face for look in worked.job.looks] == list("FDLB")
    assert {look.site for look in worked.job.looks} == {"U"}
    assert [dict(look.positions) for look in worked.job.looks] == [{"table": 1}] * 4
    assert set(worked.job.record.timings_s) == {"home", "scan", "read", "view"}
