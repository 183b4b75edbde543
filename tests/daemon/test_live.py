"""The live view: cube, motion, clock, and pictures, taken only while no look can need the camera.

Also the time-lapse and other files of a run.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator
from typing import Any
from unittest.mock import Mock

import aiohttp
import pytest

from robot.api.endpoints import LIVE_EVENTS, RobotState
from robot.api.models import Event, StartRequest
from robot.daemon import live
from robot.daemon.condition import QUEUE_LENGTH, EventBoard
from robot.daemon.job import Job
from robot.daemon.job_control import JobController
from robot.daemon.live import CLOCK_PERIOD_S, PICTURE_PERIOD_S, JpegCache, LiveBoard
from robot.daemon.video import JobVideo
from robot.records import time_lapse
from robot.records.run_record import LinkRecord
from robot.records.runs import unrecorded, utc_now
from robot.records.time_lapse import TimeLapse
from robot.text.faults import Conflict
from solver.cube.cube import Cube
from solver.errors import InvalidRequest
from solver.solution import Progress
from tests.rig.fake_robot import LIMIT_S, SCRAMBLED_CUBE, FakeMachine, FakePlan
from vision.measure.sticker_colours import linear_to_srgb

PLANNED = SCRAMBLED_CUBE.apply("R U").facelets()
GREY = "#{0:02x}{0:02x}{0:02x}".format(int(linear_to_srgb(0.5)))


async def test_a_solve_is_shown_face_by_face_and_move_by_move(controller):
    with controller.events.listening() as events:
        await controller.start(StartRequest())
        await controller.finished()
        controller.events.close()
        heard = [json.loads(event.line()) async for event in events]
    told = [event for event in heard if event["event"] in LIVE_EVENTS]
    turning = next(n for n, e in enumerate(told) if e.get("motion", {}).get("purpose") == "turn")
    assert all(e["motion"]["greedy_us"] is None for e in told[:turning] if "motion" in e)
    unknown, homed, *looks, read, motion = told[: turning + 1]
    clock, after = told[turning + 1 : turning + 3]
    assert unknown["cube"] == {
        "size": 3,
        "facelets": "?" * 54,
        "seen": [None] * 54,
        "palette": {},
        "orientation": "UF",
    }
    assert "positions" not in unknown
    assert homed == unknown | {"positions": {"table": 0}, "time": homed["time"]}
    # The fake robot's tour has motions between its looks.
    assert [e["motion"]["purpose"] for e in looks if "motion" in e] == ["look"] * 6
    looked = [event for event in looks if event["event"] == "look"]
    assert [event["look"]["face"] for event in looked] == list("URFDLB")
    assert [sum(c is not None for c in e["cube"]["seen"]) for e in looked] == [
        9 * count for count in range(1, 7)
    ]
    assert looked[0]["cube"]["seen"][:9] == [GREY] * 9
    assert looked[0]["look"]["corners"] == [[0, 0], [0.75, 0], [0.75, 1], [0, 1]]
    assert read["cube"]["facelets"] == SCRAMBLED_CUBE.facelets()
    assert read["cube"]["palette"] == dict.fromkeys("URFDLB", GREY)
    assert motion["motion"]["operations"] == [
        {"op": "turn", "site": "D", "quarter_turns": 1, "start_us": 0, "duration_us": 1000}
    ]
    assert (motion["motion"]["purpose"], motion["motion"]["moves"]) == ("turn", "R U")
    assert (motion["motion"]["duration_us"], motion["motion"]["greedy_us"]) == (1000, 2000)
    assert motion["at_us"] == 0
    assert (motion["positions"], after["positions"]) == ({"table": 0}, {"table": 1})
    assert (clock["event"], clock["at_us"]) == ("clock", 500)
    assert (after["event"], after["cube"]["facelets"]) == ("cube", PLANNED)


def test_the_clock_is_told_five_times_a_second():
    now, told = 0.0, []
    board = LiveBoard(lambda event, _, **more: told.append((event, more.get("at_us"))), lambda: now)
    board.forget_cube(3)
    board.move("turn", [FakePlan()])
    for percent in range(0, 100, 10):
        board.advance(percent / 100)
        now += 0.6 * CLOCK_PERIOD_S
    assert [at for event, at in told if event == "clock"] == [0, 200, 400, 600, 800]
    assert board.view.at_us == 900, "who asks gets the last"


async def test_a_late_listener_gets_the_whole_state(client, controller, fake, eventually):
    nothing = dict.fromkeys(("cube", "motion", "at_us", "look", "positions", "mechanism"))
    async with client.get("/live") as response:
        assert await response.json() == nothing
    fake.motion.hold = threading.Event()
    await controller.start(StartRequest(facelets=SCRAMBLED_CUBE.facelets()))
    await eventually(fake.motion.moving)
    await asyncio.sleep(0)
    async with client.get("/live") as response:
        live = await response.json()
    assert live["cube"]["facelets"] == SCRAMBLED_CUBE.facelets()
    assert (live["motion"]["duration_us"], live["at_us"]) == (1000, 500)
    fake.motion.hold.set()
    await controller.finished()


async def picture(client: aiohttp.ClientSession, tag: str = "") -> tuple[int, bytes, str]:
    async with client.get("/picture", headers={"If-None-Match": tag} if tag else {}) as response:
        return response.status, await response.read(), response.headers.get("ETag", "")


async def test_viewers_share_pictures_and_get_none_while_a_job_looks(client, controller, fake):
    await controller.start(StartRequest(kind="home"))
    assert (await picture(client))[0] == 409, "no picture yet, and none taken for a viewer"
    await controller.finished()
    fake.planner.tables = [Progress("making tables", 0.5, 1.0)]
    with controller.events.listening() as events:
        await controller.start(StartRequest())
        async for event in events:
            if event.state is RobotState.SOLVING:
                break
    code, data, _ = await picture(client)
    assert (code, data[:2]) == (200, b"\xff\xd8"), "the job's own picture"
    assert fake.scanner.previews == 0
    fake.planner.tables_done.set()
    await controller.finished()
    await asyncio.sleep(PICTURE_PERIOD_S)
    found = await asyncio.gather(*(picture(client) for _ in range(8)))
    assert {(code, data) for code, data, _ in found} == {(200, b"preview")}
    assert fake.scanner.previews <= 2, "and two only if 0.2 s passed between them"
    code, data, _ = await picture(client, found[-1][2])
    assert (code, data) in {(304, b""), (200, b"preview")}
    controller.enter_maintenance()
    assert (await picture(client))[0] == 200, "who calibrates is seen"
    async with client.get("/picture?camera=moon") as response:
        assert response.status == 400
        assert "the robot has top" in (await response.json())["reason"]
    await controller.leave_maintenance()


async def test_events_reach_every_listener_that_keeps_up_until_the_board_is_closed():
    event = Event(event="step", time=utc_now(), state=RobotState.IDLE, text="", run=None)
    events = [event.model_copy(update={"text": f"{number}"}) for number in range(QUEUE_LENGTH + 2)]
    board = EventBoard()
    with board.listening() as slow:
        for event in events[:QUEUE_LENGTH]:
            board.publish(event)
        with board.listening() as other:
            for event in events[QUEUE_LENGTH:]:
                board.publish(event)
            board.close()
            assert [one async for one in other] == events[QUEUE_LENGTH:]
        assert [one async for one in slow] == events[:QUEUE_LENGTH], "then it was cut off"


class Turning:
    """A job in the middle of its turns, with a manual clock."""

    def __init__(self, fake: FakeMachine) -> None:
        self.now = 100.0
        self.fake = fake
        self.is_turning = True
        self.pictures = JpegCache(lambda: self.now)
        writer = unrecorded("solve", "toy", utc_now())
        self.job = Job(writer, lambda *_: None, LinkRecord(), clock=lambda: self.now)
        self.video = JobVideo(self.job, fake.machine(), self.pictures, lambda: self.is_turning)

    async def reach(self, fraction: float, after_s: float) -> None:
        """Let the board report this fraction of the motion."""
        self.now += after_s
        self.job.advance(fraction)
        await asyncio.sleep(0)

    async def count(self) -> int:
        """Let a viewer ask for a picture; return the number taken so far."""
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
    """Return a robot that turns until the test goes on, with motions long enough for pictures."""
    fake.motion.hold = threading.Event()
    fake.motion.reports = [0.1, 0.2, 0.3]
    monkeypatch.setattr(live, "LEAST_MARGIN_S", -3600.0)  # any time left is enough
    monkeypatch.setattr(time_lapse, "FIRST_INTERVAL_S", 0.0)
    return fake


async def turn(controller: JobController, fake: FakeMachine, eventually: Any) -> str:
    """Start a scramble and return its number once the robot turns."""
    run = await controller.start(StartRequest(kind="scramble", moves="R U F2"))
    await eventually(fake.motion.moving)
    while controller.state is not RobotState.TURNING:
        await asyncio.sleep(0.001)
    return run


async def test_a_job_without_viewers_takes_no_other_pictures(long_motions, controller, eventually):
    controller.machine = long_motions.machine_with(time_lapse=False)
    await turn(controller, long_motions, eventually)
    for _ in range(100):
        await asyncio.sleep(0)
    long_motions.motion.hold.set()
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
    refuse = Mock(side_effect=InvalidRequest("there is none"))
    monkeypatch.setattr(fake.scanner, "camera_named", refuse)
    run = await controller.start(StartRequest(kind="scramble", moves="R U F2"))
    await controller.finished()
    assert controller.store.load(run).outcome == "done"


@pytest.mark.parametrize("wanted", [True, False])
async def test_viewers_see_the_turns_if_they_may(long_motions, controller, eventually, wanted):
    controller.machine = long_motions.machine_with(time_lapse=False, live_video=wanted)
    await turn(controller, long_motions, eventually)
    if wanted:
        assert (await controller.picture(None)).jpeg == b"preview"
    else:
        with pytest.raises(Conflict):
            await controller.picture(None)
    assert long_motions.scanner.previews == wanted
    long_motions.motion.hold.set()
    await controller.finished()
    if not wanted:
        with pytest.raises(Conflict):
            await controller.picture(None)
        controller.enter_maintenance()
        assert (await controller.picture(None)).jpeg == b"preview", "who calibrates has to see"


async def test_the_time_lapse_joins_the_record(fake, controller, eventually, monkeypatch):
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
