"""What somebody who watches gets: cube, motion and clock; pictures; files of a run."""

from __future__ import annotations

import asyncio
import json
import threading
from typing import Any

import aiohttp

from robot.api.endpoints import LIVE_EVENTS, RobotState
from robot.api.models import Event, StartRequest
from robot.daemon.condition import QUEUE_LENGTH, EventBoard
from robot.daemon.job_control import JobController
from robot.daemon.live import CLOCK_PERIOD_S, PICTURE_PERIOD_S, LiveBoard
from robot.planner.stopping import AnyCube
from robot.records.runs import utc_now
from solver.solution import Progress
from tests.rig.fake_robot import SCRAMBLED_CUBE, FakePlan
from vision.measure.sticker_colours import linear_to_srgb

PLANNED = SCRAMBLED_CUBE.apply("R U").facelets()
GREY = "#{0:02x}{0:02x}{0:02x}".format(int(linear_to_srgb(0.5)))


async def watched(controller: JobController, request: StartRequest) -> list[dict[str, Any]]:
    """The live events of a job."""
    with controller.events.listening() as events:
        await controller.start(request)
        await controller.finished()
        controller.events.close()
        told = [json.loads(event.line()) async for event in events]
    return [event for event in told if event["event"] in LIVE_EVENTS]


async def test_a_solve_is_shown_face_by_face_and_move_by_move(controller):
    told = await watched(controller, StartRequest())
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
    cube: AnyCube = SCRAMBLED_CUBE
    await controller.start(StartRequest(facelets=cube.facelets()))
    await eventually(fake.motion.moving)
    await asyncio.sleep(0)
    async with client.get("/live") as response:
        live = await response.json()
    assert live["cube"]["facelets"] == cube.facelets()
    assert (live["motion"]["duration_us"], live["at_us"]) == (1000, 500)
    fake.motion.hold.set()
    await controller.finished()


async def picture(client: aiohttp.ClientSession, tag: str = "") -> tuple[int, bytes, str]:
    async with client.get("/picture", headers={"If-None-Match": tag} if tag else {}) as response:
        return response.status, await response.read(), response.headers.get("ETag", "")


async def test_viewers_share_one_picture_and_none_is_taken_for_them_while_a_job_looks(
    client, controller, fake
):
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
        assert "there is top" in (await response.json())["reason"]
    await controller.leave_maintenance()


def event(number: int) -> Event:
    return Event.model_validate(
        {"event": "step", "time": utc_now(), "state": "idle", "text": f"{number}", "run": None}
    )


async def test_events_reach_every_listener_that_keeps_up_until_the_board_is_closed():
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
    assert heard == [str(number) for number in range(QUEUE_LENGTH)], "then it was cut off"
