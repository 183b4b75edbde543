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
    VERSION,
    BoardState,
    Welcome,
)
from robot.link.session import LOST_AFTER_S, LinkSession
from robot.motion.servo import servo_slew
from robot.motion.stepper import stepper_move
from robot.text.faults import LinkError, RobotError, Stopped
from tests.rig.boards import Rig, in_turn, running, to_and_fro

STEP_PIN = 6
SERVO_PIN = 9

every_board = pytest.mark.parametrize("rig", ["host_rig", "linux_rig", "uno"], indirect=True)
"""The firmware of this computer, of a Raspberry Pi, and that of the Uno under simavr."""


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


@every_board
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


@every_board
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
