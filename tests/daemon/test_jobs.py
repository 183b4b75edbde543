"""One job: its requests to the robot in their order, and its notes."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

from robot.api.endpoints import RobotState
from robot.api.models import StartRequest
from robot.daemon.job import Job
from robot.daemon.job_control import JobController
from robot.daemon.jobs import solve
from robot.daemon.live import LiveBoard
from robot.machine.solve_planner import SplitPlan
from robot.motion.schedule import Schedule
from robot.planner import Aim
from robot.records.run_record import LinkRecord
from robot.records.runs import RunStore, RunWriter, utc_now
from robot.records.storage import StorageError
from robot.settings.profile import PolicySettings
from robot.text.faults import Fault, LinkError, ScanError, Stopped
from robot.text.messages import JobStep
from robot.text.outcomes import Outcome
from solver.solution import Progress
from tests.rig.fake_robot import SCRAMBLED_CUBE, part, run_job
from vision.frame import Frame

HAND = "a hand is in front of U"
HANDS = ScanError(HAND, "U", "face-covered")
LOOKS_OF_A_SCAN = 6


class Watched:
    """A single job with a manual clock, and its reports."""

    def __init__(self, folder: Path) -> None:
        self.now = 100.0
        self.reported: list[tuple[str, str]] = []
        self.progress: list[float] = []
        self.store = RunStore(folder)
        self.job = Job(
            self.store.begin("solve", "fake", utc_now()),
            lambda state, step: self.reported.append((state, step)),
            LinkRecord(),
            lambda: self.now,
            self.progress.append,
            LiveBoard(lambda *_, **__: None),
        )


@pytest.fixture
async def watched(tmp_path: Path) -> Watched:
    return Watched(tmp_path / "alone")


async def test_a_job_notes_its_steps_and_the_times_of_its_stages(watched):
    job = watched.job
    watched.now = 101.2341
    job.progress, job.remaining_s = 0.5, 3.0
    job.enter(RobotState.HOMING, JobStep.of("home"))
    assert (job.progress, job.remaining_s, job.elapsed_s) == (None, None, pytest.approx(1.2341))
    (event,) = job.record.events
    assert (event.at_s, event.step_code) == (1.234, "home")
    assert watched.reported == [("homing", str(job.step))]

    def take(seconds: float) -> None:
        watched.now += seconds
        if seconds == 0.5:
            raise ValueError

    await job.run_blocking("scan", take, 2.0)
    await job.run_blocking("read", take, 1.0)
    with pytest.raises(ValueError):  # its time counts all the same
        await job.run_blocking("scan", take, 0.5)
    assert job.record.timings_s == {"scan": 2.5, "read": 1.0}
    job.cancel.set()
    with pytest.raises(Stopped):
        job.enter(RobotState.SCANNING, JobStep.of("plan-looks"))
    with pytest.raises(Stopped):
        await job.run_blocking("home", lambda: None)
    assert len(watched.reported) == 1


async def test_the_time_left_follows_the_pace_so_far(watched):
    job = watched.job
    job.enter(RobotState.TURNING, JobStep.of("turn", moves=2, seconds="40.0"))
    left = []
    for fraction in (0.0, 0.01, 0.1, 0.25, 0.5, 1.0):
        watched.now = 100.0 + 40 * fraction
        job.advance(fraction)
        await asyncio.sleep(0)
        left.append(job.remaining_s)
    assert left[:2] == [None, None], "the beginning says nothing of the pace"
    assert left[2:] == pytest.approx([36.0, 30.0, 20.0, 0.0])
    job.enter(RobotState.CHECKING, JobStep.of("plan-looks"))
    job.advance_view(0.5)
    await asyncio.sleep(0)
    assert (job.progress, job.remaining_s) == (None, None), "a look is only a part of its step"


async def test_a_search_that_waits_for_tables_says_so_and_goes_on(watched):
    job = watched.job
    job.enter(RobotState.SOLVING, JobStep.of("search"))
    search = job.step
    for progress, expected in (
        (Progress("making tables", 0.1, True, 9.0), ("making tables", 0.1, 9.0)),
        (Progress("making tables", 0.5, True, 4.0), ("making tables", 0.5, 4.0)),
        (Progress("other", 0.2, False, 1.0), ("making tables", 0.5, 4.0)),
        (Progress("making others", 0.3, True, 2.0), ("making others", 0.3, 2.0)),
        (Progress("making others", 1.0, True, 0.0), (search, None, None)),
        (Progress("making others", 1.0, True, 0.0), (search, None, None)),
    ):
        job.hear(progress)
        await asyncio.sleep(0)
        assert (job.step, job.progress, job.remaining_s) == expected
    told = [str(step) for _, step in watched.reported]
    assert told == [str(search), "making tables", "making others", str(search)]


async def test_a_board_that_does_not_answer_is_given_up_by_the_clock(watched, fake):
    """Let each attempt take half of the time that the board has."""

    def wait_in_vain() -> None:
        fake.motion.done.append("open")
        watched.now += 0.01
        raise LinkError(Fault.NO_ANSWER)

    fake.motion.open = wait_in_vain
    fake.motion.home = Mock(side_effect=LinkError(Fault.LINK_LOST))
    with pytest.raises(LinkError, match="does not answer"):
        await solve(watched.job, replace(fake.machine(), reconnect_s=0.02))
    assert fake.motion.done == ["open"] * 2


async def test_pictures_and_the_record_are_kept_at_the_end(watched, caplog, monkeypatch):
    job = watched.job
    watched.now = 102.5
    frame = Frame(np.zeros((8, 8, 3), np.uint8), "top", 0)
    assert await job.save_photo(["a.jpg", "b.jpg"], frame) == 1
    assert await job.save_photo(["c.jpg"], frame) == 2
    job.explanation = lambda: b"png"
    job.note_end(Outcome.SOLVED)
    watched.now = 200.0  # a slow disk is no time of the job
    await job.save()
    await job.finish()
    kept = watched.store.load(job.record.id)
    assert kept.duration_s == 2.5
    assert sorted(kept.photos) == ["a.jpg", "b.jpg", "c.jpg", "reading.png"]
    assert (watched.store.directory_of("1") / "reading.png").read_bytes() == b"png"
    assert job.explanation is None  # it holds the pictures
    shown = job.pictures.latest("top")
    assert shown is not None and shown.number == 2
    job.explanation = fail = Mock(side_effect=StorageError("the disk is full"))
    await job.finish()
    assert "the reading could not be drawn" in caplog.text
    monkeypatch.setattr(job.writer, "save", fail)
    await job.save()
    assert "not recorded: the disk is full" in caplog.text


async def test_a_scramble_is_planned_noted_and_turned_once(controller, fake):
    fake.motion.done.clear()
    record = await run_job(controller, StartRequest(kind="scramble", moves="F R2"))
    assert (record.outcome, fake.motion.done) == ("done", ["home", "perform"])
    assert [event.step_code for event in record.events] == ["home", "plan-scramble", "turn"]
    assert (record.moves, record.planned_us, record.executed_us) == ("F R2", 1000, 1000)
    assert (record.greedy_us, record.orientation, record.facelets) == (2000, "UF", None)
    assert set(record.timings_s) == {"home", "plan", "search", "turn"}


async def test_a_known_cube_is_not_looked_at_before(controller, fake):
    fake.scanner.readings = ["solved"]
    record = await run_job(controller, StartRequest(facelets=SCRAMBLED_CUBE.facelets()))
    assert (record.outcome, record.facelets) == ("solved", SCRAMBLED_CUBE.facelets())
    assert fake.planner.planned_from == [None]
    assert fake.planner.toured_from == ["after the plan"]
    assert record.photos == [f"checking-{n}-{f}.jpg" for n, f in enumerate("URFDLB", 1)]
    assert record.reading == {}, "a check is not the scan"
    assert set(record.timings_s) == {"home", "search", "turn", "check", "read", "view"}


@pytest.mark.parametrize(("retries", "plans"), [(0, 1), (2, 3)])
async def test_what_stays_unsolved_is_given_up(controller, fake, retries, plans):
    fake.scanner.readings = ["scrambled"] * 5
    controller.machine = fake.machine_with(solve_retries=retries)
    record = await run_job(controller)
    assert (record.outcome, fake.planner.plans) == ("not-solved", plans)
    assert fake.planner.planned_from == ["after the tour"] * plans
    assert [note.code for note in record.notes] == ["solved-again"] * (plans > 1)


async def test_a_look_again_is_at_all_faces_or_at_those_in_doubt(controller, fake):
    gone = ScanError("nothing there", "U", "no-cube")
    fake.scanner.readings = [gone, ("scrambled", "F"), "scrambled", "solved"]
    controller.machine = fake.machine_with(scan_retries=2)
    record = await run_job(controller)
    assert "".join(fake.scanner.seen) == "URFDLB" * 2 + "F" + "URFDLB"
    assert fake.planner.toured_from[:3] == [None, "after the tour", "after the tour"]
    assert [note.code for note in record.notes] == ["looked-again", "looked-again-at"]
    looks = [name for name in record.photos if name.startswith("scanning")]
    assert looks == [f"scanning-{n}-{face}.jpg" for n, face in enumerate("URFDLB" * 2 + "F", 1)]
    assert record.facelets == SCRAMBLED_CUBE.facelets()
    assert record.reading == {
        "facelets": SCRAMBLED_CUBE.facelets(),
        "confident": True,
        "margin": 40.0,
        "doubtful": [],
        "runner_up": None,
    }
    steps = [event.step_parameters for event in record.events if event.step_code == "look"]
    assert steps[1] == {"faces": "R", "seen": "2", "count": "6"}
    assert steps[12] == {"faces": "F", "seen": "1", "count": "1"}


@pytest.fixture
def improving(controller: JobController, fake: Any) -> Any:
    """Return the fake robot with the policy to improve a plan while it turns."""
    fake.policy = PolicySettings()
    halves = part("R", 600, "middle"), part("U F", 400, "old end")
    fake.planner.cuts = [SplitPlan(*halves, "in between")]
    controller.machine = fake.machine()
    return fake


async def test_a_faster_rest_is_performed_recorded_and_checked(controller, improving):
    improving.planner.better = part("F", 300, "new end")
    record = await run_job(controller)
    assert record.outcome == "solved"
    assert (record.moves, record.planned_us, record.executed_us) == ("R F", 900, 900)
    assert record.greedy_us == 1800, "of the moves that were performed"
    turns = [event for event in record.events if event.step_code.startswith("turn")]
    assert [event.step_code for event in turns] == ["turn", "turn-faster"]
    assert turns[-1].step_parameters["moves"] == "2"
    assert [operation["start_us"] for operation in record.operations] == [0, 600]
    assert improving.planner.toured_from[-1] == "new end"


@pytest.mark.parametrize(
    ("cuts", "better", "moves", "starts_us"),
    [
        ([("R", 600, "U F", 400)], None, "R U F", [0, 600]),
        ([("R D", 600, "D F", 400)], None, "R D2 F", [0, 600]),
        ([("R", 600, "U F", 400), ("F2", 100, "D B", 200)], "F", "R F'", [0, 600, 700]),
    ],
    ids=["nothing faster", "a turn cut in two stays one move", "cut again"],
)
async def test_parts_are_recorded_as_a_whole(controller, improving, cuts, better, moves, starts_us):
    improving.planner.cuts = [
        SplitPlan(part(head, head_us, "middle"), part(tail, tail_us, "end"), "between")
        for head, head_us, tail, tail_us in cuts
    ]
    improving.planner.better = better and part(better, 300, "end")
    record = await run_job(controller)
    assert (record.moves, record.planned_us, record.executed_us) == (moves, 1000, 1000)
    assert [operation["start_us"] for operation in record.operations] == starts_us
    assert improving.planner.split_again[:3] == [False, *[True] * len(cuts)][:3]


@pytest.mark.parametrize(
    ("fractions", "known"), [([0.84], False), ([0.85], True), ([0.5, 0.99], True), ([], False)]
)
async def test_the_search_ends_in_time(controller, improving, monkeypatch, fractions, known):
    events: list[threading.Event] = []
    searching = threading.Event()

    def improve(parts: SplitPlan, enough: threading.Event, aim: Aim) -> Any:
        events.append(enough)
        searching.set()
        assert enough.wait(60)
        return parts.tail

    seen: list[bool] = []

    def turn(schedule: Schedule, progress: Callable[[float], None]) -> int:
        if schedule.duration_us == 600:  # the head
            assert searching.wait(60)
            for fraction in fractions:
                progress(fraction)
            seen.append(events[0].is_set())
        return 77

    monkeypatch.setattr(improving.planner, "improve", improve)
    monkeypatch.setattr(improving.motion, "perform", turn)
    record = await run_job(controller)
    assert (seen, record.executed_us) == ([known], 2 * 77)


@pytest.mark.parametrize("reading", ["scrambled", ScanError("two stickers contradict", "U4")])
async def test_the_view_has_precedence_over_the_reading(controller, fake, reading):
    """Let the robot see the whole cube at once. The check ends after the reading."""
    fake.planner.faces_at_once = 6
    fake.scanner.read_first = threading.Event()
    fake.scanner.readings, fake.scanner.odd = [reading], [HANDS]
    record = await run_job(controller)
    assert (record.outcome, record.reason, record.moves) == ("face-covered", HAND, None)
    assert fake.motion.done.count("perform") == 1  # the look


@pytest.mark.parametrize(
    ("code", "clear_before", "retries"),
    [
        ("no-cube", 0, 0),
        ("two-cubes", 3, 2),
        ("wrong-size", LOOKS_OF_A_SCAN, 2),
        ("face-covered", LOOKS_OF_A_SCAN + 4, 0),
    ],
)
async def test_what_stays_in_view_is_named(fake, controller, code, clear_before, retries):
    tries = {"scan_retries": retries, "solve_retries": retries}
    controller.machine = fake.machine_with(**tries, wait_for_clear_view_s=0.2)
    fake.scanner.odd = [*[None] * clear_before, *[ScanError("something else", "U", code)] * 1000]
    record = await run_job(controller)
    assert (record.outcome, record.attempts) == (code, 1)
    turned = clear_before >= LOOKS_OF_A_SCAN
    assert fake.motion.done.count("home") == 1
    assert fake.motion.done.count("perform") == clear_before + 1 + turned
    assert record.events[-1].step_code.startswith("wait-for-")


@pytest.mark.parametrize("clear_before", [0, 3, LOOKS_OF_A_SCAN + 4])
async def test_a_hand_is_waited_for(fake, controller, clear_before, monkeypatch):
    """Wait for more than one clear look: the hand may be on its way out."""
    tries = {"scan_retries": 0, "solve_retries": 0}
    controller.machine = fake.machine_with(**tries, wait_for_clear_view_s=60)
    fake.scanner.odd = [*[None] * clear_before, HANDS, HANDS, None, HANDS]
    noted: list[tuple[int, bool]] = []
    check = fake.scanner.check_view

    def note(taken: Any, before: Any = ()) -> None:
        noted.append((len(fake.motion.done), bool(fake.scanner.odd and fake.scanner.odd[0])))
        check(taken)

    monkeypatch.setattr(fake.scanner, "check_view", note)
    record = await run_job(controller)
    assert (record.outcome, record.recoveries) == ("solved", [f"looked again: {HAND}"])
    assert "wait-for-hand" in [event.step_code for event in record.events]
    waited = noted[clear_before : clear_before + 6]
    assert [hand for _, hand in waited] == [True, True, False, True, False, False]
    assert len({motion for motion, _ in waited}) == 1
    after = noted[clear_before + 6 :]
    assert len(after) == (2 if clear_before < LOOKS_OF_A_SCAN else 1) * LOOKS_OF_A_SCAN


async def test_a_robot_that_waits_can_be_stopped(fake, controller):
    controller.machine = fake.machine_with(wait_for_clear_view_s=600)
    fake.scanner.odd = [HANDS] * 100_000
    with controller.events.listening() as events:
        run_id = await controller.start(StartRequest())
        async for event in events:
            if event.text == "waiting: take your hand away":
                break
        job = controller.status().job
        assert job is not None and job.step_code == "wait-for-hand"
        assert await controller.stop()
    assert (await controller.library.run_record(run_id)).outcome == "stopped"
    assert fake.motion.done.count("perform") == 1


async def test_no_motion_waits_for_the_disk(fake, controller, monkeypatch):
    """Check that pictures and plan are written while the robot turns."""
    disk, write = threading.Event(), RunWriter.save_photo

    def slow(writer: RunWriter, name: str, encoded: bytes) -> None:
        assert disk.wait(60)
        write(writer, name, encoded)

    monkeypatch.setattr(RunWriter, "save_photo", slow)
    fake.planner.faces_at_once = 6
    run_id = await controller.start(StartRequest())
    while fake.planner.plans == 0 or fake.motion.done.count("perform") < 2:
        await asyncio.sleep(0.001)
    disk.set()
    await controller.finished()
    record = await controller.library.run_record(run_id)
    assert record.outcome == "solved"
    assert record.photos[:6] == [f"scanning-{i}-{face}.jpg" for i, face in enumerate("URFDLB", 1)]
    kept = controller.store.directory_of(run_id)
    assert all((kept / name).read_bytes() for name in record.photos)
