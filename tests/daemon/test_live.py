"""What somebody who watches gets: cube, motion and clock; pictures; files of a run."""

from __future__ import annotations

import asyncio
import json
import threading
from typing import Any

import aiohttp
import numpy as np
import pytest

from robot.api.endpoints import LIVE_EVENTS, RobotState
from robot.api.models import Event, StartRequest
from robot.daemon.condition import QUEUE_LENGTH, EventBoard
from robot.daemon.job_control import JobController
from robot.daemon.live import CLOCK_PERIOD_S, PICTURE_PERIOD_S, JpegCache, LiveBoard
from robot.machine.scanner import FaceImage
from robot.mechanism.graph import ActuatorMotion, Operation
from robot.planner import FaceView, build_mechanism, plan_solve
from robot.planner.stopping import AnyCube
from robot.planner.survey import random_cube
from robot.records.runs import utc_now
from robot.settings import load_profile
from solver.cube.orientation import Orientation
from solver.solution import Progress
from tests.rig.fake_robot import SCRAMBLED_CUBE, FakePlan
from vision.measure.sticker_colours import linear_to_srgb

AS_DRAWN = Orientation(0)
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


def test_every_actuator_is_told_one_part_after_the_other():
    lid = (0, ActuatorMotion("lid", 400, start="open", end="close"))
    table = (400, ActuatorMotion("table", 600, quarters=-1, held=True))
    told: list[dict[str, Any]] = []
    board = LiveBoard(lambda _, __, **more: told.append(more), mechanism={"kind": "flipper"})
    board.forget_cube(3)
    assert (board.view.positions, board.view.mechanism) == (None, {"kind": "flipper"})
    board.home({"lid": "open"})
    assert board.view.positions == {"lid": "open"}
    board.move("turn", [FakePlan(motions=(lid, table)), FakePlan(motions=(lid,))])
    assert [tuple(one.model_dump().values()) for one in told[-1]["motion"].actuators] == [
        ("lid", 0, 400, "close", 0),
        ("table", 400, 600, None, -1),
        ("lid", 1000, 400, "close", 0),
    ]
    assert told[-1]["positions"] == {"table": 0}


@pytest.mark.parametrize("robot", ["cubotino", "two-arm", "six-motor"])
def test_the_actuators_end_where_the_plan_says(robot):
    """Every motion followed from the positions before leads to those after, on every kind."""
    mechanism = build_mechanism(load_profile(robot))
    cube = random_cube(3, np.random.default_rng(4))
    plan = plan_solve(cube, mechanism, time_limit=0.3)
    positions = dict(plan.initial_positions)
    for _, motion in plan.motions:
        if motion.end is not None:
            assert positions[motion.actuator] == motion.start
            positions[motion.actuator] = motion.end
    names = {name: place for name, place in positions.items() if isinstance(place, str)}
    assert names == {n: p for n, p in plan.final_positions.items() if isinstance(p, str)}
    assert max(start + motion.duration_us for start, motion in plan.motions) <= plan.duration_us


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


def test_a_picture_that_is_done_while_the_robot_moves_on_does_not_end_the_motion(fake):
    told: list[str] = []
    board = LiveBoard(lambda event, _, **more: told.append(event))
    board.forget_cube(3)
    view = FaceView("top", "U", "U", AS_DRAWN)
    (image,) = fake.scanner.take([view])
    assert isinstance(image, FaceImage)
    board.move("look", [FakePlan(operations=(Operation("flip", 1000),))])
    board.look(view, image, 1)
    assert board.view.motion.operations == [{"op": "flip", "start_us": 0, "duration_us": 1000}]
    board.advance(0.5)
    assert (told, board.view.at_us) == (["cube", "motion", "look", "clock"], 500)
    board.arrive(FakePlan(final_orientation=Orientation(5)), None)
    assert board.view.motion is None and board.view.look is not None
    assert board.view.cube is not None and board.view.cube.orientation == Orientation(5).name


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


async def test_at_most_five_pictures_a_second():
    now = 0.0
    pictures = JpegCache(lambda: now)
    numbers = []
    for _ in range(40):
        numbers.append((await pictures.fresh("top", lambda: b"x")).number)
        now += PICTURE_PERIOD_S / 4
    assert numbers[-1] == 10
    assert pictures.latest(None) == pictures.latest("top")


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
