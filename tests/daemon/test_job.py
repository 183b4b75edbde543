"""One job by itself: what it notes, how far it is, and who hears of it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from robot.api.endpoints import RobotState
from robot.api.models import Event
from robot.daemon.condition import QUEUE_LENGTH, EventBoard
from robot.daemon.job import Job
from robot.daemon.job_control import utc_now
from robot.daemon.live import LiveBoard
from robot.records.runs import LinkRecord, RunStore
from robot.records.storage import StorageError
from robot.text.faults import Stopped
from robot.text.steps import JobStep
from solver.solution import Progress
from vision.frame import Frame


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


class Watched:
    """A job, with what it told."""

    def __init__(self, folder: Path) -> None:
        self.clock = Clock()
        self.reported: list[tuple[str, str]] = []
        self.progress: list[float] = []
        self.shown: list[Any] = []
        self.store = RunStore(folder)
        self.job = Job(
            self.store.begin("solve", "fake", utc_now()),
            lambda state, step: self.reported.append((state, step)),
            LinkRecord(sent=10, received=10, damaged=1),
            self.clock,
            self.progress.append,
            LiveBoard(lambda event, text, **more: self.shown.append((event, more))),
        )


@pytest.fixture
async def watched(tmp_path: Path) -> Watched:
    return Watched(tmp_path / "runs")


async def test_a_job_notes_its_steps_with_their_times(watched: Watched) -> None:
    job = watched.job
    assert job.elapsed_s == 0
    watched.clock.now = 101.2341
    job.progress, job.remaining_s = 0.5, 3.0
    job.enter(RobotState.HOMING, JobStep.of("home"))
    assert (job.progress, job.remaining_s, job.elapsed_s) == (None, None, pytest.approx(1.2341))
    (event,) = job.record.events
    assert (event.at_s, event.step_code) == (1.234, "home")
    assert watched.reported == [("homing", str(job.step))]
    job.cancel.set()
    with pytest.raises(Stopped):
        job.enter(RobotState.SCANNING, JobStep.of("plan-looks"))
    with pytest.raises(Stopped):
        await job.run_blocking("home", lambda: None)
    assert len(watched.reported) == 1


async def test_times_of_a_stage_add_up_also_of_what_fails(watched: Watched) -> None:
    job, clock = watched.job, watched.clock

    def takes(seconds: float, fails: bool = False) -> float:
        clock.now += seconds
        if fails:
            raise ValueError
        return seconds

    assert await job.run_blocking("scan", takes, 2.0) == 2.0
    assert await job.run_blocking("read", takes, 1.0) == 1.0
    with pytest.raises(ValueError):  # nothing is said
        await job.run_blocking("scan", takes, 0.5, fails=True)
    assert job.record.timings_s == {"scan": 2.5, "read": 1.0}


async def test_progress_is_told_each_tenth(watched: Watched) -> None:
    job = watched.job
    for fraction in (0.05, 0.12, 0.15, 0.19, 0.23, 0.55, 0.58, 0.65, 1.0, 1.7, -1.0):
        job.advance(fraction)
        await asyncio.sleep(0)
    assert watched.progress == [0.12, 0.23, 0.55, 0.65, 1.0]
    assert job.progress == 0.0
    job.enter(RobotState.TURNING, JobStep.of("home"))
    watched.progress.clear()
    job.advance(0.12)
    await asyncio.sleep(0)
    assert watched.progress == [0.12]


async def test_the_time_left_is_that_of_the_pace_so_far(watched: Watched) -> None:
    job, clock = watched.job, watched.clock
    job.enter(RobotState.TURNING, JobStep.of("turn", moves=2, seconds="40.0"))
    left = []
    for fraction in (0.0, 0.01, 0.1, 0.25, 0.5, 1.0):
        clock.now = 100.0 + 40 * fraction  # a robot that takes 40 s of this computer's time
        job.advance(fraction)
        await asyncio.sleep(0)
        left.append(job.remaining_s)
    assert left[:2] == [None, None], "the beginning says nothing of the pace"
    assert left[2:] == pytest.approx([36.0, 30.0, 20.0, 0.0])
    job.enter(RobotState.CHECKING, JobStep.of("plan-looks"))
    job.advance_view(0.5)
    await asyncio.sleep(0)
    assert (job.progress, job.remaining_s) == (None, None), "a look is only a part of its step"


async def test_a_search_that_waits_for_tables_says_so_and_goes_on(watched: Watched) -> None:
    job = watched.job
    job.enter(RobotState.SOLVING, JobStep.of("search"))
    search = job.step
    for done, remaining in ((0.1, 9.0), (0.5, 4.0)):
        job.hear(Progress("making tables", done, True, remaining))
    job.hear(Progress("other", 0.2, False, 1.0))
    await asyncio.sleep(0)
    assert (str(job.step), job.progress, job.remaining_s) == ("making tables", 0.5, 4.0)
    assert len(watched.reported) == 2
    job.hear(Progress("making others", 0.3, True, 2.0))
    await asyncio.sleep(0)
    job.hear(Progress("making others", 1.0, True, 0.0))
    await asyncio.sleep(0)
    assert (job.step, job.progress, job.remaining_s) == (search, None, None)
    told = [str(step) for _, step in watched.reported]
    assert told == [str(search), "making tables", "making others", str(search)]
    job.hear(Progress("making others", 1.0, True, 0.0))
    await asyncio.sleep(0)
    assert len(watched.reported) == 4, "it goes on once"


async def test_pictures_and_the_record_are_kept_at_the_end(watched: Watched) -> None:
    job = watched.job
    watched.clock.now = 102.5
    frame = Frame(np.zeros((8, 8, 3), np.uint8), "top", 0)
    assert await job.save_photo(["a.jpg", "b.jpg"], frame) == 1
    assert await job.save_photo(["c.jpg"], frame) == 2
    job.save_meanwhile()
    job.explanation = lambda: b"png"
    await job.finish()
    kept = watched.store.load(job.record.id)
    assert kept.duration_s == 2.5
    assert sorted(kept.photos) == ["a.jpg", "b.jpg", "c.jpg", "reading.png"]
    folder = watched.store.directory_of(job.record.id)
    assert (folder / "reading.png").read_bytes() == b"png"
    shown = job.pictures.latest("top")
    assert shown is not None and shown.number == 2


async def test_a_drawing_that_fails_and_a_full_disk_end_nothing(
    watched: Watched, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = watched.job

    def fails() -> bytes:
        raise ValueError("nothing to draw")

    job.explanation = fails
    await job.finish()
    assert f"run {job.record.id}: the reading could not be drawn" in caplog.text

    def full(*_: object) -> None:
        raise StorageError("the disk is full")

    monkeypatch.setattr(job.writer, "save", full)
    await job.save()
    assert "not recorded: the disk is full" in caplog.text


def event(number: int) -> Event:
    return Event.model_validate(
        {"event": "step", "time": utc_now(), "state": "idle", "text": f"{number}", "run": None}
    )


async def test_events_reach_every_listener_until_the_board_is_closed() -> None:
    board = EventBoard()
    board.publish(event(0))
    with board.listening() as first:
        board.publish(event(1))
        with board.listening() as second:
            board.publish(event(2))
            board.close()
            assert [one.text async for one in second] == ["2"]
        assert [one.text async for one in first] == ["1", "2"]


async def test_who_does_not_keep_up_is_cut_off() -> None:
    assert QUEUE_LENGTH == 256
    board = EventBoard()
    with board.listening() as slow:
        for number in range(QUEUE_LENGTH):
            board.publish(event(number))
        with board.listening() as other:
            board.publish(event(256))
            board.publish(event(257))
            board.close()
            assert [one.text async for one in other] == ["256", "257"]
        heard = [one.text async for one in slow]
    assert heard == [str(number) for number in range(QUEUE_LENGTH)]
