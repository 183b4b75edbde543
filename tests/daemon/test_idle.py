"""Motors of an idle robot rest without power, and it wakes by itself."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from robot.api.models import StartRequest
from robot.daemon.job_control import JobController
from robot.machine.assembly import Machine
from robot.records.runs import RunStore
from robot.settings import RobotProfile
from robot.text.faults import LinkError
from robot.twin.cube import scrambled
from solver.errors import InvalidRequest
from tests.rig.fault_campaign import assert_solved
from tests.rig.profiles import changed
from tests.rig.simulated_run import IdleTime, SimulatedRun, Verdict

SIX = ["up", "right", "front", "down", "left", "back"]
SERVOS = {"release": ["holder", "lid"], "after_s": 300}


def solve(
    robot: str, changes: dict[str, Any], at_rest: Any, starts: int = 2, firmware: str = "host"
) -> Verdict:
    """Solve with the real firmware in simulated time, resting before each start but the first."""
    profile = changed(robot, changes)
    with SimulatedRun(profile, scrambled(profile.cube.size, 1), firmware=firmware) as run:
        return run.solve(starts, at_rest=at_rest)


def test_servos_rest_without_pulses_and_go_on_where_they_were_left():
    pulses: list[float] = []

    def push(run: SimulatedRun) -> None:
        run.loop.run_until_complete(asyncio.sleep(1))
        edges = run.robot.edges
        run.loop.run_until_complete(asyncio.sleep(3))
        pulses.append(run.robot.edges - edges)
        run.robot.turn_by_hand("holder", 8)

    assert_solved(solve("cubotino", {}, push, firmware="linux"))
    assert pulses == [0]


@pytest.mark.long
def test_a_motor_with_a_sensor_finds_its_place_again():
    changes = {"policy.idle": {"release": ["table"]}}
    assert_solved(solve("cubotone", changes, lambda run: run.robot.turn_by_hand("table", 33)))


@pytest.mark.long
def test_motors_of_two_boards_rest_together_and_home_again():
    arms = ["right", "front", "left", "back"]
    changes = {f"actuators.{arm}.pins.enable": 6 for arm in arms}

    def turn(run: SimulatedRun) -> None:
        assert {run.motion.position(arm) for arm in arms} == {None}
        for arm in ("right", "left"):  # one of each board, not so far that jaws meet
            run.robot.turn_by_hand(arm, 8)

    assert_solved(solve("soltvvo", {**changes, "policy.idle": {"release": arms}}, turn))


@pytest.mark.long
def test_motors_without_a_sensor_are_asked_for_once():
    asked: list[str] = []

    def nothing(run: SimulatedRun) -> None:
        asked.append(str(run.motion and run.motion.has_lost_positions))

    changes = {"policy.idle": {"release": SIX}}
    asking = solve("six-motor", changes, nothing)
    assert asking.fault == "not-homed" and asking.faults == ["not-homed"]
    assert all(name in asking.record.faults[0].remedy for name in SIX)
    assert asked == ["True"] and not asking.violations
    assert_solved(solve("six-motor", changes, nothing, starts=3))


def test_a_motor_that_only_counts_holds_while_it_is_away_from_its_start():
    profile = changed(
        "four-arm", {"policy.idle": {"release": ["right"]}, "actuators.right.pins.enable": 31}
    )

    def rest(machine: Machine, _: RobotProfile) -> tuple[str, ...]:
        machine.motion.home()
        machine.motion.jog("right", 400)
        held = machine.motion.power_down()
        with pytest.raises(InvalidRequest, match="right holds its place"):
            run.robot.turn_by_hand("right", 5)
        machine.motion.jog("right", 0)
        assert machine.motion.power_down() == ("right",)
        run.robot.turn_by_hand("right", 5)
        return held

    with SimulatedRun(profile, scrambled(3, 1)) as run:
        assert run.calibrate(rest) == ()


@pytest.fixture
def idling() -> IdleTime:
    return IdleTime()


@pytest.fixture
async def idle(fake, idling, tmp_path) -> AsyncIterator[JobController]:
    """Yield a controller of a robot whose servos rest after five minutes."""
    machine, store = fake.machine_with(idle=SERVOS), RunStore(tmp_path)
    controller = JobController(machine, store, version="1", call_later=idling.call_later)
    await controller.open()
    yield controller
    await controller.close()


async def test_an_idle_robot_rests_and_a_start_wakes_it(idle, fake, idling):
    await idle.start(StartRequest(kind="home"))
    await idle.finished()
    assert idling.seconds == 300 and idle.status().released == []
    with idle.events.listening() as events:
        await idling.end()
        event = await anext(events)
    assert idle.status().released == ["holder", "lid"] and not idle.status().homed
    assert (event.state, event.text) == ("idle", "at rest: holder, lid without power")
    await idle.start(StartRequest(kind="home"))
    await idle.finished()
    assert fake.motion.done[-3:] == ["home", "power down", "home"]
    assert idle.status().released == [] and idle.status().homed


async def test_a_robot_at_work_or_stopped_or_calibrated_does_not_rest(idle, fake, idling):
    idle.enter_maintenance()
    await idling.end()
    await idle.leave_maintenance()
    await idle.stop(emergency=True)
    await idling.end()
    assert "power down" not in fake.motion.done
    await idle.acknowledge()
    await idling.end()
    assert fake.motion.done[-1] == "power down"
    idle.enter_maintenance()
    assert idle.status().released == []
    await idle.leave_maintenance()


async def test_a_board_that_does_not_answer_is_no_new_fault(idle, fake, idling):
    await idle.start(StartRequest(kind="home"))
    await idle.finished()
    assert idle.status().homed
    fake.motion.open_fault = LinkError("link-lost")
    await idling.end()
    assert fake.motion.done[-1] == "power down"
    status = idle.status()
    assert (status.homed, status.released, status.fault) == (False, [], None)
