"""What a scan does at the same time, and what it waits for all the same."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from robot.daemon.job_control import JobController
from robot.daemon.models import StartRequest
from robot.faults import NotReadable
from robot.notes import Note
from robot.records.runs import RunWriter

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


@pytest.mark.parametrize("reading", ["", NotReadable("two stickers contradict each other", "U4")])
async def test_an_odd_view_ends_the_scan_however_the_cube_was_read(
    seeing_all: Any, controller: JobController, reading: Any
) -> None:
    scanner = seeing_all.scanner
    scanner.read_first = threading.Event()
    attempts = 1 + seeing_all.policy.scan_retries
    scanner.readings = [reading or scanner.readings[0]] * attempts
    scanner.odd = [NotReadable(HAND, "U", "face-covered")] * attempts
    run_id = await controller.start(SOLVE)
    await controller.finished()
    record = await controller.run_record(run_id)
    assert (record.outcome, record.reason) == ("face-covered", HAND)
    assert record.moves is None
    assert seeing_all.motion.done.count("perform") == attempts  # the looks


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
