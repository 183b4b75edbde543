"""Pictures of the turning robot, taken only when no look can need the camera; the time-lapse."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from robot.api.endpoints import RobotState
from robot.api.models import StartRequest
from robot.daemon import live
from robot.daemon.job import Job
from robot.daemon.job_control import JobController
from robot.daemon.live import JpegCache
from robot.daemon.video import JobVideo
from robot.records import time_lapse
from robot.records.run_record import LinkRecord
from robot.records.runs import unrecorded, utc_now
from robot.records.time_lapse import TimeLapse
from robot.text.faults import Conflict
from solver.cube.cube import Cube
from solver.errors import InvalidRequest
from solver.solution import Progress
from tests.rig.fake_robot import LIMIT_S, FakeMachine


class Turning:
    """A job in the middle of its turns, by a clock that stands still until it is moved on."""

    def __init__(self, fake: FakeMachine) -> None:
        self.now = 100.0
        self.fake = fake
        self.is_turning = True
        self.pictures = JpegCache(lambda: self.now)
        writer = unrecorded("solve", "toy", utc_now())
        self.job = Job(writer, lambda *_: None, LinkRecord(), clock=lambda: self.now)
        self.video = JobVideo(self.job, fake.machine(), self.pictures, lambda: self.is_turning)

    async def reach(self, fraction: float, after_s: float) -> None:
        """The board reports so much of the motion."""
        self.now += after_s
        self.job.advance(fraction)
        await asyncio.sleep(0)

    async def count(self) -> int:
        """Let a viewer ask for a picture; return how many were taken so far."""
        await self.video.take("top")
        return int(self.fake.scanner.previews)


@pytest.fixture
async def turning(fake: FakeMachine) -> AsyncIterator[Turning]:
    yield Turning(fake)


async def test_the_camera_is_free_only_while_the_motion_is_certain_to_last(turning):
    assert await turning.count() == 0, "nobody knows yet how long it takes"
    await turning.reach(0.1, 0.0)
    await turning.reach(0.2, 1.0)
    assert await turning.count() == 1
    assert await turning.count() == 1, "the last one is new enough"
    turning.now += 0.2
    assert await turning.count() == 2
    await turning.reach(0.9, 6.8)
    turning.now += 0.9
    assert await turning.count() == 2, "the first look of the check is near"
    turning.now -= 0.9
    turning.is_turning = False
    assert await turning.count() == 2


@pytest.fixture
def long_motions(fake: FakeMachine, monkeypatch: pytest.MonkeyPatch) -> FakeMachine:
    """A robot that turns until the test goes on, and whose motions are long enough for pictures."""
    fake.motion.hold = threading.Event()
    fake.motion.reports = [0.1, 0.2, 0.3]
    monkeypatch.setattr(live, "LEAST_MARGIN_S", -3600.0)  # what is left is too little at any pace
    monkeypatch.setattr(time_lapse, "FIRST_INTERVAL_S", 0.0)
    return fake


async def turn(controller: JobController, fake: FakeMachine, eventually: Any) -> str:
    """Start a scramble and return its number once the robot turns."""
    run = await controller.start(StartRequest(kind="scramble", moves="R U F2"))
    await eventually(fake.motion.moving)
    while controller.state is not RobotState.TURNING:
        await asyncio.sleep(0.001)
    return run


def go_on(fake: FakeMachine) -> None:
    fake.motion.hold.set()


async def test_a_job_of_no_interest_to_anybody_takes_no_picture_beside_its_looks(
    long_motions, controller, eventually
):
    policy = controller.machine.policy.model_copy(update={"time_lapse": False})
    controller.machine = replace(controller.machine, policy=policy)
    await turn(controller, long_motions, eventually)
    for _ in range(100):
        await asyncio.sleep(0)
    go_on(long_motions)
    await controller.finished()
    assert long_motions.scanner.previews == 0


@pytest.mark.parametrize("emergency", [False, True])
async def test_a_stop_does_not_wait_for_a_picture_under_way(
    long_motions, controller, eventually, monkeypatch, emergency
):
    begun, done = threading.Event(), threading.Event()

    def hang(_: str) -> bytes:
        begun.set()
        done.wait(LIMIT_S)
        return b"preview"

    monkeypatch.setattr(long_motions.scanner, "preview", hang)
    run = await turn(controller, long_motions, eventually)
    await eventually(begun)
    try:
        await controller.stop(emergency=emergency)
        assert not done.is_set()
        assert controller.store.load(run).outcome == "stopped"
    finally:
        done.set()


async def test_a_collage_shows_what_is_known_of_the_run_by_now(controller):
    run = await controller.start(StartRequest())
    await controller.finished()
    record = await controller.library.run_record(run)
    record.facelets = None
    before = await controller.library.collage(run)
    record.facelets = Cube.solved().facelets()
    assert await controller.library.collage(run) != before


async def test_a_robot_without_a_camera_works_all_the_same(fake, controller, monkeypatch):
    def refuse(_: str | None) -> str:
        raise InvalidRequest("there is none")

    monkeypatch.setattr(fake.scanner, "camera_named", refuse)
    run = await controller.start(StartRequest(kind="scramble", moves="R U F2"))
    await controller.finished()
    assert controller.store.load(run).outcome == "done"


@pytest.mark.parametrize("wanted", [True, False])
async def test_viewers_see_the_turns_unless_the_profile_forbids_it(
    long_motions, controller, eventually, wanted
):
    update = {"time_lapse": False, "live_video": wanted}
    policy = controller.machine.policy.model_copy(update=update)
    controller.machine = replace(controller.machine, policy=policy)
    await turn(controller, long_motions, eventually)
    if wanted:
        assert (await controller.picture(None)).jpeg == b"preview"
    else:
        with pytest.raises(Conflict):
            await controller.picture(None)
    assert long_motions.scanner.previews == wanted
    go_on(long_motions)
    await controller.finished()
    if not wanted:
        with pytest.raises(Conflict):
            await controller.picture(None)
        controller.enter_maintenance()
        assert (await controller.picture(None)).jpeg == b"preview", "who calibrates has to see"


async def test_the_time_lapse_joins_the_record_after_the_run(
    fake, controller, eventually, monkeypatch
):
    add, was_added = TimeLapse.add, threading.Event()

    def note(*of_add: Any) -> None:
        add(*of_add)
        was_added.set()

    monkeypatch.setattr(TimeLapse, "add", note)
    fake.planner.tables = [Progress("making tables", 0.5, 1.0)]
    with controller.events.listening() as events:
        run = await controller.start(StartRequest())
        kinds = []
        async for event in events:
            if event.state is RobotState.SOLVING and not fake.planner.tables_done.is_set():
                await eventually(was_added)  # a look of the scan; those of the check follow
                fake.planner.tables_done.set()
            kinds.append(event.event)
            if event.event == "record":
                break
    assert kinds.index("finished") < kinds.index("record")
    kept = controller.store.load(run)
    assert "time-lapse.webp" in kept.photos
    assert controller.store.file(run, "time-lapse.webp")[0] == "image/webp"
    looks = {name for name in kept.photos if name.startswith(("scanning", "checking"))}
    assert set(kept.corners) == looks
