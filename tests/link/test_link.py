"""The link with the real firmware: home, run, stop, emergencies."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from typing import Any

import pytest

from robot.faults import Fault, LinkFault, RobotFault, Stopped
from robot.link import Link
from robot.link.protocol import State
from robot.motion import StepperLimits, servo_slew, stepper_move
from robot.schedule import MotionProfile, Schedule, TimedTurn

Rig = Any
LIMITS = StepperLimits(start_speed=500, max_speed=4000, acceleration=40_000)
STEP_PIN = 6


def in_turn(*profiles: MotionProfile, times: int = 1) -> Schedule:
    """Profiles one after the other, the whole ``times`` over."""
    turns = []
    clock = 0
    for _ in range(times):
        for number, profile in enumerate(profiles):
            turns.append(TimedTurn(clock, number))
            clock += profile.duration_us
    return Schedule(profiles, tuple(turns), clock)


def to_and_fro(times: int) -> Schedule:
    """The pusher going forth and back."""
    forth = stepper_move("pusher", 0, 100, LIMITS)
    return in_turn(forth, stepper_move("pusher", 100, -100, LIMITS), times=times)


async def running(link: Link, plan: Schedule) -> asyncio.Task[Any]:
    """Start a plan and wait until the firmware plays it."""
    run = asyncio.create_task(link.run(plan))
    while (await link.status()).state != State.RUNNING:
        pass
    return run


async def test_a_flipper_solve_takes_exactly_its_time(link: Link, rig: Rig) -> None:
    flips = [
        servo_slew("lid", 1500, 2000, 500_000),
        servo_slew("lid", 2000, 1200, 600_000, 200_000),
        servo_slew("holder", 1500, 2400, 800_001, 200_000),
        servo_slew("lid", 1200, 1500, 300_000),
        servo_slew("holder", 2400, 1500, 700_000),
    ]
    schedule = in_turn(*flips, times=25)
    assert 75e6 < schedule.duration_us < 90e6
    heard: list[float] = []
    execution = await link.run(schedule, heard.append)
    assert execution.executed_us == schedule.duration_us
    assert execution.turns_done == 125
    assert execution.events == ()
    assert heard == sorted(heard) and heard[-1] == 1.0
    pulses = rig.pins.rises(10)
    assert {after - before for before, after in pairwise(pulses)} == {40_000}


async def test_overlapping_turns_keep_their_times(link: Link, rig: Rig) -> None:
    steps = stepper_move("pusher", 0, 60, LIMITS, settle_us=11)
    slew = servo_slew("lid", 1500, 1000, 400_000)
    schedule = Schedule((slew, steps), (TimedTurn(0, 0), TimedTurn(123_457, 1)), 400_000)
    before = len(rig.pins.rises(STEP_PIN))
    execution = await link.run(schedule)
    assert execution.executed_us == 400_000
    assert len(rig.pins.rises(STEP_PIN)) - before == 60
    assert link.position("pusher") == 60


async def test_homing_ends_at_the_start_position(link: Link, rig: Rig) -> None:
    status = await link.status()
    assert status.homed == 0b1111
    assert link.position("turner") == 0
    assert 36 <= rig.pins.turner_steps <= 40


async def test_nothing_moves_before_homing(rig: Rig) -> None:
    link = rig.link()
    await link.open()
    await link.configure()
    with pytest.raises(RobotFault) as caught:
        await link.run(to_and_fro(1))
    assert caught.value.fault == Fault.NOT_HOMED
    assert rig.pins.rises(STEP_PIN) == []


async def test_stop_finishes_the_turn(link: Link, rig: Rig) -> None:
    run = await running(link, to_and_fro(200))
    await link.stop()
    with pytest.raises(Stopped):
        await run
    status = await link.status()
    assert status.state == State.IDLE and 0 < status.turns_done < 400
    assert len(rig.pins.rises(STEP_PIN)) == 100 * status.turns_done


async def test_a_stop_before_the_plan_begins_is_obeyed(link: Link, rig: Rig) -> None:
    run = asyncio.create_task(link.run(to_and_fro(200)))
    await asyncio.sleep(0)
    await link.stop()
    with pytest.raises(Stopped):
        await run
    assert rig.pins.rises(STEP_PIN) == []


async def test_emergency_stop_is_immediate_and_latched(link: Link, rig: Rig) -> None:
    run = await running(link, to_and_fro(200))
    await link.emergency_stop()
    with pytest.raises(RobotFault) as caught:
        await run
    assert caught.value.fault == Fault.EMERGENCY_STOP
    steps = len(rig.pins.rises(STEP_PIN))
    with pytest.raises(RobotFault):
        await link.run(to_and_fro(1))
    await link.clear()
    with pytest.raises(RobotFault) as caught:
        await link.run(to_and_fro(1))
    assert caught.value.fault == Fault.NOT_HOMED
    assert len(rig.pins.rises(STEP_PIN)) == steps
    await link.clear()
    await link.home()
    await link.run(to_and_fro(1))
    assert len(rig.pins.rises(STEP_PIN)) == steps + 200


async def test_a_reset_is_noticed(link: Link, rig: Rig) -> None:
    run = await running(link, to_and_fro(2000))
    rig.board.reset()
    with pytest.raises(LinkFault) as caught:
        await run
    assert caught.value.fault == Fault.RESET
    await link.open()
    await link.configure()
    await link.home()
    await link.run(to_and_fro(1))
    assert rig.pins.resets == 2


async def test_a_dead_board_is_noticed_and_found_again(link: Link, rig: Rig) -> None:
    run = await running(link, to_and_fro(2000))
    rig.board.running = False
    with pytest.raises(LinkFault) as caught:
        await run
    assert caught.value.fault == Fault.LINK_LOST
    with pytest.raises(LinkFault) as caught:
        await link.open(patience_s=0.3)
    assert caught.value.fault == Fault.NO_ANSWER
    rig.board.running = True
    await link.open()


async def test_silence_of_the_host_holds_and_the_plan_goes_on(link: Link, rig: Rig) -> None:
    schedule = to_and_fro(25)
    run = await running(link, schedule)
    rig.loop.pass_time(0.6)
    execution = await run
    assert execution.events[:1] == ("held",)
    assert execution.turns_done == 50
    assert execution.executed_us > schedule.duration_us
    assert len(rig.pins.rises(STEP_PIN)) == 5000


async def test_a_host_that_slept_too_long_is_told_so(link: Link, rig: Rig) -> None:
    """The board made itself safe meanwhile; the line is as good as ever."""
    run = await running(link, to_and_fro(200))
    rig.loop.pass_time(3.5)
    with pytest.raises(RobotFault) as caught:
        await run
    assert caught.value.fault == Fault.HOST_LOST
    steps = len(rig.pins.rises(STEP_PIN))
    assert steps % 100 == 0
    await link.clear()
    await link.home()
    assert len(rig.pins.rises(STEP_PIN)) == steps + steps % 200
    await link.run(to_and_fro(1))
    assert len(rig.pins.rises(STEP_PIN)) == steps + steps % 200 + 200


async def test_a_plan_from_elsewhere_is_refused(link: Link, rig: Rig) -> None:
    with pytest.raises(RobotFault, match="stands at 0") as caught:
        await link.run(in_turn(stepper_move("pusher", 50, 10, LIMITS)))
    assert caught.value.fault == Fault.BAD_SCHEDULE
    assert rig.pins.rises(STEP_PIN) == []
