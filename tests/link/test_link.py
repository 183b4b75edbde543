"""The link with the real firmware: home, run, stop, emergencies."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from robot.link import Link, ServoSetup, StepperSetup
from robot.link.actuators import TurnCheckSetup
from robot.link.limits import Capabilities
from robot.link.protocol import (
    HEARTBEAT_AT_REST_MS,
    TICKS_PER_US,
    VERSION,
    BoardState,
    Welcome,
)
from robot.link.session import LOST_AFTER_S, LinkSession
from robot.link.wire import WireFrame
from robot.motion.schedule import MotionProfile, Schedule, TimedTurn
from robot.motion.servo import servo_slew
from robot.motion.stepper import StepperLimits, stepper_move
from robot.text.faults import LinkError, RobotError, Stopped

Rig = Any
LIMITS = StepperLimits(start_speed=500, max_speed=4000, acceleration=40_000)
STEP_PIN = 6
SERVO_PIN = 9


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
    while (await link.status()).state != BoardState.RUNNING:
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


def eased(passed_us: float, travel_us: int, ease_us: int) -> float:
    """Part of the way after some time, with a speed that builds up and falls off evenly."""
    passed_us = min(max(passed_us, 0.0), travel_us)
    if passed_us > travel_us / 2:
        return 1 - eased(travel_us - passed_us, travel_us, ease_us)
    top = 1 / (travel_us - ease_us)
    slow_us = min(passed_us, ease_us)
    return top * slow_us**2 / 2 / ease_us + top * (passed_us - slow_us)


async def test_an_eased_servo_gathers_speed_and_loses_it_again(link: Link, rig: Rig) -> None:
    travel_us, ease_us = 1_000_000, 300_000
    profile = servo_slew("lid", 1500, 2300, travel_us, ease_us=ease_us)
    assert len(profile.segments) > 2
    await link.run(in_turn(profile))
    await asyncio.sleep(0.05)  # a board that sets pulses may show the last one a frame later
    pulses = [(rise / TICKS_PER_US, ticks / TICKS_PER_US) for rise, ticks in rig.pins.pulses(10)]
    moved = next(number for number, (_, us) in enumerate(pulses) if us > 1500)
    whole_us = [us for _, us in pulses[moved - 1 : moved + 50]]
    assert whole_us == sorted(whole_us) and whole_us[-1] == 2300
    # Which frame the slew began in is not known to a frame; all pulses fit the same beginning.
    off_us = min(
        max(
            abs(us - 1500 - 800 * eased(rise - pulses[moved][0] + begun, travel_us, ease_us))
            for rise, us in pulses[moved - 1 : moved + 50]
        )
        for begun in range(0, 100_000, 500)
    )
    assert off_us < 5


async def test_homing_ends_at_the_start_position(link: Link, rig: Rig) -> None:
    status = await link.status()
    assert status.homed == 0b1111
    assert link.ledger.position("turner") == 0
    assert 36 <= rig.pins.turner_steps <= 40


def with_end_stop(rig: Rig, **other: Any) -> tuple[Any, ...]:
    """The usual actuators with another end stop at the turner."""
    actuators = rig.link().actuators
    return tuple(replace(a, **other) if a.name == "turner" else a for a in actuators)


@pytest.mark.parametrize("active_high", [False, True])
async def test_an_index_sensor_is_looked_at_without_homing_too(rig: Rig, active_high: bool) -> None:
    """Active at every hundredth step: there turns may end, and nowhere else."""
    rig.pins.active_high, rig.pins.turner_steps = active_high, 0
    rig.pins.pressed = lambda steps: steps % 100 == 0
    check = TurnCheckSetup(pin=5, every_steps=100, active_high=active_high)
    setups = with_end_stop(rig, homing=None, check=check)
    link = await rig.homed_link("turner", setups=setups)
    turner = next(a for a in setups if isinstance(a, StepperSetup))
    await link.run(in_turn(stepper_move("turner", 0, 100, turner.limits)))
    assert link.ledger.position("turner") == rig.pins.turner_steps == 100
    rig.pins.turner_steps -= 7
    with pytest.raises(RobotError) as caught:
        await link.run(in_turn(stepper_move("turner", 100, 100, turner.limits)))
    assert (caught.value.code, caught.value.detail) == ("not-in-place", "turner")


async def test_a_closed_link_says_so(link: Link, rig: Rig) -> None:
    assert link.ledger.last_positions is not None and rig.board.running
    await link.close()
    assert link.ledger.last_positions is None
    with pytest.raises(RobotError, match="not connected") as caught:
        await link.status()
    assert caught.value.code == "link-lost"


async def test_positions_from_before_a_command_are_no_answer(link: Link, rig: Rig) -> None:
    """An answer to an earlier question may come late, when the actuators stand elsewhere."""
    session = link._session
    assert session is not None and rig.board.running
    old = await session.positions()
    handled = session._window.handled
    await link.run(in_turn(servo_slew("lid", 1500, 1900, 100_000)))
    asking = asyncio.create_task(session.positions())
    await asyncio.sleep(0)
    session._handle(WireFrame(session._number, 0, handled, old.TYPE, old.payload()))
    new = await asking
    assert new.known == old.known and new.positions != old.positions


async def test_nothing_moves_before_homing(rig: Rig) -> None:
    link = rig.link()
    await link.open()
    await link.configure()
    with pytest.raises(RobotError) as caught:
        await link.run(to_and_fro(1))
    assert caught.value.code == "not-homed"
    assert rig.pins.rises(STEP_PIN) == []


async def test_stop_finishes_the_turn(link: Link, rig: Rig) -> None:
    run = await running(link, to_and_fro(200))
    await link.stop()
    with pytest.raises(Stopped):
        await run
    status = await link.status()
    assert status.state == BoardState.IDLE and 0 < status.turns_done < 400
    assert len(rig.pins.rises(STEP_PIN)) == 100 * status.turns_done


async def test_emergency_stop_is_immediate_and_latched(link: Link, rig: Rig) -> None:
    run = await running(link, to_and_fro(200))
    await link.emergency_stop()
    with pytest.raises(RobotError) as caught:
        await run
    assert caught.value.code == "emergency-stop"
    steps = len(rig.pins.rises(STEP_PIN))
    with pytest.raises(RobotError):
        await link.run(to_and_fro(1))
    await link.clear()
    with pytest.raises(RobotError) as caught:
        await link.run(to_and_fro(1))
    assert caught.value.code == "not-homed"
    assert len(rig.pins.rises(STEP_PIN)) == steps
    await link.clear()
    await link.home()
    await link.run(to_and_fro(1))
    assert len(rig.pins.rises(STEP_PIN)) == steps + 200


async def test_a_reset_is_noticed(link: Link, rig: Rig) -> None:
    run = await running(link, to_and_fro(2000))
    rig.board.reset()
    with pytest.raises(LinkError) as caught:
        await run
    assert caught.value.code == "reset"
    await link.open()
    await link.configure()
    await link.home()
    await link.run(to_and_fro(1))
    assert rig.pins.resets == 2


async def test_a_dead_board_is_noticed_and_found_again(link: Link, rig: Rig) -> None:
    run = await running(link, to_and_fro(2000))
    rig.board.running = False
    with pytest.raises(LinkError) as caught:
        await run
    assert caught.value.code == "link-lost"
    with pytest.raises(LinkError) as caught:
        await link.open(patience_s=0.3)
    assert caught.value.code == "no-answer"
    rig.board.running = True
    await link.open()


async def test_a_servo_that_stands_elsewhere_goes_to_its_start_as_slowly_as_it_homes(
    rig: Rig,
) -> None:
    limits = {"minimum_us": 500, "maximum_us": 2500, "start_us": 1500}
    standing = ServoSetup("holder", pin=SERVO_PIN, **limits, home_ms=300, stands_at=1800)
    link = rig.link((standing,))
    await link.open()
    await link.configure()
    loop = asyncio.get_running_loop()
    began = loop.time()
    await link.home()
    assert loop.time() - began == pytest.approx(0.6, abs=0.1), "homed there, then on its way"
    assert link.ledger.homed == {"holder": 1500}


async def test_at_rest_a_slow_heartbeat_keeps_everything(link: Link, rig: Rig) -> None:
    await asyncio.sleep(2)
    heard, pulses = link.statistics.received, len(rig.pins.pulses(SERVO_PIN))
    await asyncio.sleep(10)
    assert link.statistics.received - heard == 20
    assert len(rig.pins.pulses(SERVO_PIN)) - pulses == pytest.approx(500, abs=1)
    execution = await link.run(to_and_fro(5))
    assert execution.turns_done == 10 and execution.events == ()


async def test_a_link_that_is_used_again_beats_quickly_at_once(link: Link, rig: Rig) -> None:
    await asyncio.sleep(2)
    heard = link.statistics.received
    while link.statistics.received == heard:  # until just after a slow beat
        await asyncio.sleep(0.001)
    await asyncio.sleep(0.15)
    await link.status()
    heard = link.statistics.received
    await asyncio.sleep(0.25)
    assert link.statistics.received - heard >= 4


async def test_a_board_that_dies_at_rest_is_noticed(link: Link, rig: Rig) -> None:
    await asyncio.sleep(10)
    rig.board.running = False
    await asyncio.sleep(LOST_AFTER_S + HEARTBEAT_AT_REST_MS / 1000)
    with pytest.raises(LinkError) as caught:
        await link.status()
    assert caught.value.code == "link-lost"


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
    with pytest.raises(RobotError) as caught:
        await run
    assert caught.value.code == "host-lost"
    steps = len(rig.pins.rises(STEP_PIN))
    assert steps % 100 == 0
    await link.clear()
    await link.home()
    assert len(rig.pins.rises(STEP_PIN)) == steps + steps % 200
    await link.run(to_and_fro(1))
    assert len(rig.pins.rises(STEP_PIN)) == steps + steps % 200 + 200


async def test_a_board_of_another_protocol_is_named_with_both(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = LinkSession(rig.port, clock=rig.loop.time, draw=rig.draw)
    greeted = Capabilities.of

    def newer(welcome: Welcome) -> Capabilities:
        return replace(greeted(welcome), protocol_version=VERSION + 1)

    monkeypatch.setattr(Capabilities, "of", newer)
    with pytest.raises(LinkError) as told:
        await session.open(1.0)
    assert told.value.code == "wrong-protocol"
    assert f"{VERSION + 1}, expected {VERSION}" in str(told.value)
    await session.close()
