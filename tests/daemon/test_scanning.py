"""What a scan does at the same time, what it waits for, and what it says is in view."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from robot.api.models import StartRequest
from robot.daemon.job_control import JobController
from robot.records.runs import RunWriter
from robot.text.faults import ScanError
from robot.text.notes import Note

SOLVE = StartRequest()
HAND = "a hand is in front of U"


@pytest.fixture
def seeing_all(fake: Any) -> Any:
    """A robot whose cameras see the whole cube: it does not move before it has read it."""
    fake.planner.faces_at_once = 6
    return fake


async def test_the_view_is_checked_while_the_cube_is_read(
    seeing_all: Any, controller: JobController
) -> None:
    seeing_all.scanner.read_first = threading.Event()  # the check ends after the reading
    run_id = await controller.start(SOLVE)
    await controller.finished()
    assert (await controller.run_record(run_id)).outcome == "solved"


@pytest.mark.parametrize("reading", ["", ScanError("two stickers contradict each other", "U4")])
async def test_an_odd_view_ends_the_scan_however_the_cube_was_read(
    seeing_all: Any, controller: JobController, reading: Any
) -> None:
    scanner = seeing_all.scanner
    scanner.read_first = threading.Event()
    scanner.readings = [reading or scanner.readings[0]]
    scanner.odd = [ScanError(HAND, "U", "face-covered")]
    run_id = await controller.start(SOLVE)
    await controller.finished()
    record = await controller.run_record(run_id)
    assert (record.outcome, record.reason) == ("face-covered", HAND)
    assert record.moves is None
    assert seeing_all.motion.done.count("perform") == 1  # the look


LOOKS_OF_A_SCAN = 6
HANDS = ScanError(HAND, "U", "face-covered")


def note_motion_at_checks(fake: Any, monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, bool]]:
    """How much had moved at each check of the view, and whether a hand was in it."""
    noted: list[tuple[int, bool]] = []
    check = fake.scanner.check_view

    def note(taken: Any) -> None:
        noted.append((len(fake.motion.done), bool(fake.scanner.odd and fake.scanner.odd[0])))
        check(taken)

    monkeypatch.setattr(fake.scanner, "check_view", note)
    return noted


@pytest.mark.parametrize(
    ("code", "clear_before", "retries"),
    [
        ("no-cube", 0, 0),
        ("two-cubes", 3, 2),
        ("wrong-size", LOOKS_OF_A_SCAN, 2),
        ("face-covered", LOOKS_OF_A_SCAN + 4, 0),
        ("face-covered", 0, 2),
    ],
)
async def test_what_stays_in_view_keeps_its_name_and_nothing_moves(
    fake: Any, controller: JobController, code: str, clear_before: int, retries: int
) -> None:
    """In a scan and in the check, at the first look and at later ones."""
    controller.machine = fake.machine_with(
        scan_retries=retries, solve_retries=retries, wait_for_clear_view_s=0.2
    )
    odd = ScanError("something else", "U", code)
    fake.scanner.odd = [*[None] * clear_before, *[odd] * 1000]
    run_id = await controller.start(SOLVE)
    await controller.finished()
    record = await controller.run_record(run_id)
    assert (record.outcome, record.attempts) == (code, 1)
    turned = clear_before >= LOOKS_OF_A_SCAN
    assert fake.motion.done.count("home") == 1
    assert fake.motion.done.count("perform") == clear_before + 1 + turned
    assert [event.text for event in record.events][-1].startswith("waiting: ")


@pytest.mark.parametrize("clear_before", [0, 3, LOOKS_OF_A_SCAN, LOOKS_OF_A_SCAN + 4])
async def test_a_hand_is_waited_for_and_then_the_cube_is_solved(
    fake: Any, controller: JobController, clear_before: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once clear is not enough: the hand may be on its way out."""
    controller.machine = fake.machine_with(
        scan_retries=0, solve_retries=0, wait_for_clear_view_s=60
    )
    fake.scanner.odd = [*[None] * clear_before, HANDS, HANDS, None, HANDS]
    noted = note_motion_at_checks(fake, monkeypatch)
    run_id = await controller.start(SOLVE)
    await controller.finished()
    record = await controller.run_record(run_id)
    assert (record.outcome, record.recoveries) == ("solved", [f"looked again: {HAND}"])
    assert "waiting: take your hand away" in [event.text for event in record.events]
    waited = noted[clear_before : clear_before + 6]
    assert [hand for _, hand in waited] == [True, True, False, True, False, False]
    assert len({motion for motion, _ in waited}) == 1
    after = noted[clear_before + 6 :]
    assert len(after) == (2 if clear_before < LOOKS_OF_A_SCAN else 1) * LOOKS_OF_A_SCAN


async def test_a_robot_that_waits_can_be_stopped(fake: Any, controller: JobController) -> None:
    controller.machine = fake.machine_with(wait_for_clear_view_s=600)
    fake.scanner.odd = [HANDS] * 100_000
    with controller.events.listening() as events:
        run_id = await controller.start(SOLVE)
        async for event in events:
            if event.text == "waiting: take your hand away":
                break
        assert controller.status().job.step_code == "wait-for-hand"
        assert await controller.stop()
    assert (await controller.run_record(run_id)).outcome == "stopped"
    assert fake.motion.done.count("perform") == 1


async def test_what_a_camera_cannot_lock_is_in_the_record_once(
    fake: Any, controller: JobController
) -> None:
    fake.scanner.notes = [Note.of("exposure-not-locked", camera="top")]
    run_id = await controller.start(SOLVE)
    await controller.finished()
    record = await controller.run_record(run_id)
    assert record.outcome == "solved"  # it looked twice: at the cube, and again after the turns
    assert record.warnings == fake.scanner.notes
    assert [note.code for note in record.notes] == ["exposure-not-locked"]


async def test_no_motion_waits_for_the_disk(
    fake: Any, controller: JobController, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pictures and plan are written while the robot turns."""
    disk, write = threading.Event(), RunWriter.save_photo

    def slow(writer: RunWriter, name: str, encoded: bytes) -> None:
        assert disk.wait(60)
        write(writer, name, encoded)

    monkeypatch.setattr(RunWriter, "save_photo", slow)
    fake.planner.faces_at_once = 6
    run_id = await controller.start(SOLVE)
    while fake.planner.plans == 0 or fake.motion.done.count("perform") < 2:
        await asyncio.sleep(0.001)
    disk.set()
    await controller.finished()
    record = await controller.run_record(run_id)
    assert record.outcome == "solved"
    names = [name for name in record.photos if name.startswith("scanning")]
    assert names == [f"scanning-{i}-{face}.jpg" for i, face in enumerate("URFDLB", 1)]
    kept = controller.store.directory_of(run_id)
    assert all((kept / name).read_bytes() for name in record.photos)


async def test_a_camera_that_finds_no_faces_itself_is_a_view_that_is_not_clear(
    fake: Any, controller: JobController, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the robot waits for the end of what is in view, no picture may show a cube at all."""
    controller.machine = fake.machine_with(wait_for_clear_view_s=60)
    take, hidden = fake.scanner.take, [HANDS]

    def find(looks: Any, *, moved: bool = False) -> Any:
        if fake.scanner.seen and hidden:  # not at the first look
            raise hidden.pop()
        return take(looks, moved=moved)

    monkeypatch.setattr(fake.scanner, "take", find)
    fake.scanner.odd = [HANDS]
    run_id = await controller.start(SOLVE)
    await controller.finished()
    record = await controller.run_record(run_id)
    assert record.outcome == "solved"
    assert record.recoveries == [f"looked again: {HANDS}"]
