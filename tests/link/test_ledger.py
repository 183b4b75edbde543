"""Where actuators stand when motion broke off, and what the next host of a board learns of it."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from robot.link import Link
from robot.link.ledger import (
    LastPositions,
    PositionLedger,
    ScheduleProgress,
)
from robot.link.link import single
from robot.link.protocol import BoardState, Home
from robot.motion.schedule import Schedule, TimedTurn
from robot.motion.servo import servo_slew
from robot.motion.stepper import StepperLimits, stepper_move
from robot.text.faults import RobotError

Rig = Any
LIMITS = StepperLimits(start_speed=500, max_speed=4000, acceleration=40_000)
AWAY = 70
STEP_PIN = 6
DIRECTION_PIN = 7
LID_PIN = 10


def two_turns() -> Schedule:
    """The table from 0 to 400 ms, then the lid from 500 to 1000 ms."""
    table = servo_slew("holder", 1500, 2400, 400_000)
    lid = servo_slew("lid", 1200, 1500, 500_000)
    return Schedule((table, lid), (TimedTurn(0, 0), TimedTurn(500_000, 1)), 1_000_000)


def test_what_moved_when_the_link_was_lost_is_what_moves_however_late_one_asks() -> None:
    now = [10.0]
    progress = ScheduleProgress(two_turns(), lambda: now[0])
    now[0] = 10.1
    assert progress.moving_now(5.0) == ("holder",)
    now[0] = 10.3
    progress.note_lost()
    now[0] = 10.7
    assert progress.moving_now(5.0) == ("holder",)


async def test_what_is_known_while_a_plan_is_played_follows_it(link: Link, rig: Rig) -> None:
    await link.run(single(servo_slew("lid", 1500, 1200, 450_000)))
    run = asyncio.create_task(link.run(two_turns()))
    seen: list[tuple[str, ...]] = []
    while not run.done() and rig.board.running:
        await asyncio.sleep(0.01)
        known = link.ledger.last_positions
        assert known is not None
        if known.moving and known.moving not in seen:
            seen.append(known.moving)
            assert known.positions["holder"] == (1500 if "holder" in known.moving else 2400)
    assert seen == [("holder",), ("lid",)]
    assert link.ledger.last_positions == LastPositions(
        {"holder": 2400, "lid": 1500, "turner": 0, "pusher": 0}
    )


async def go_away(link: Link) -> None:
    """Leave the pusher, which has no end stop, and the lid where they are not at home."""
    push = stepper_move("pusher", 0, AWAY, LIMITS)
    lift = servo_slew("lid", 1500, 1900, 100_000)
    turns = (TimedTurn(0, 0), TimedTurn(push.duration_us, 1))
    await link.run(Schedule((push, lift), turns, push.duration_us + lift.duration_us))


async def successor(rig: Rig) -> Link:
    """The link of another process, after the first was killed."""
    link: Link = rig.link()
    await link.open()
    await link.configure()
    return link


@pytest.mark.parametrize("silent_s", [0.5, 5.0])
async def test_a_successor_learns_where_everything_stands(
    link: Link, rig: Rig, silent_s: float
) -> None:
    await go_away(link)
    await link.close()
    rig.loop.pass_time(silent_s)
    heir = await successor(rig)
    assert (heir.ledger.known["pusher"], heir.ledger.known["lid"]) == (AWAY, 1900)
    before = len(rig.pins.rises(STEP_PIN))
    await heir.home()
    assert heir.ledger.position("pusher") == 0
    assert len(rig.pins.rises(STEP_PIN)) == before + AWAY
    assert (await heir.status()).homed == 0b1111


async def test_another_configuration_knows_of_nothing(link: Link, rig: Rig) -> None:
    await go_away(link)
    await link.close()
    fewer = rig.link(link.actuators[1:])
    await fewer.open()
    await fewer.configure()
    assert fewer.ledger.known == {}
    assert (await fewer.status()).homed == 0


async def test_a_servo_that_another_configuration_lacks_gets_no_pulses(
    link: Link, rig: Rig
) -> None:
    """In its place in the frame there is a stepper now."""
    pusher, lid = link.actuators[3], link.actuators[1]
    await link.close()
    other = await rig.homed_link(setups=(pusher, lid))
    before = len(rig.pins.records)
    push = stepper_move("pusher", 0, AWAY, LIMITS)
    lift = servo_slew("lid", 1500, 1900, 400_000)
    turns = (TimedTurn(0, 0), TimedTurn(0, 1))
    await other.run(Schedule((push, lift), turns, max(push.duration_us, lift.duration_us)))
    since = rig.pins.records[before:]
    assert {pin for _, pin, _ in since} == {STEP_PIN, DIRECTION_PIN, LID_PIN}
    assert sum(pin == STEP_PIN and level for _, pin, level in since) == AWAY


async def test_what_was_stopped_in_motion_is_not_told(link: Link, rig: Rig) -> None:
    """The silence ends a homing in its middle; turns in a plan would end by themselves."""
    rig.pins.turner_steps = 900
    session = link._session
    assert session is not None
    session.put([Home(0b0100)])
    while (await link.status()).state != BoardState.HOMING:
        pass
    await link.close()
    rig.loop.pass_time(1.0)
    heir = await successor(rig)
    assert sorted(heir.ledger.known) == ["holder", "lid", "pusher"]


async def test_a_fault_of_the_old_host_is_not_the_new_ones(link: Link, rig: Rig) -> None:
    with pytest.raises(RobotError) as caught:
        await link.run(
            Schedule(
                (p := servo_slew("lid", 1500, 2600, 100_000),), (TimedTurn(0, 0),), p.duration_us
            )
        )
    assert caught.value.code == "out-of-range"
    await link.close()
    heir = await successor(rig)
    assert (await heir.status()).state == BoardState.IDLE


def test_a_motor_that_a_reset_board_left_unheard_is_lost() -> None:
    """Nobody has told of a fault: the board's new number alone tells that its turns broke off."""
    motor: Any = SimpleNamespace(name="up", way_to_start=lambda at: 0)
    ledger = PositionLedger()
    for boot, caught in ((1, ()), (1, ("up",)), (2, ())):
        ledger.board_ledger("main").moving_when_silent = caught
        ledger.note_boot("main", boot)
        ledger.require_nothing_moved([motor])
    ledger.board_ledger("main").moving_when_silent = ("up",)
    ledger.note_boot("main", 3)
    assert ledger.caught_moving == ("up",)
    with pytest.raises(RobotError) as told:
        ledger.require_nothing_moved([motor])
    assert told.value.code == "reset" and "up may have been moving" in told.value.cause
