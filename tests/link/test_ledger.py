"""Positions of actuators after an interrupted motion, also for a board's next host."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest

from robot.link import Link
from robot.link.ledger import LastPositions, PositionLedger
from robot.link.protocol import BoardState
from robot.motion.schedule import Schedule, TimedTurn
from robot.motion.servo import servo_slew
from robot.motion.stepper import stepper_move
from robot.text.faults import Fault, LinkError, RobotError
from tests.rig.boards import LIMITS, Rig, in_turn, is_fault

AWAY = 70
STEP_PIN, DIRECTION_PIN, LID_PIN = 6, 7, 10


def two_turns() -> Schedule:
    """Return a turn of the table from 0 to 400 ms, followed by the lid's from 500 to 1000 ms."""
    table = servo_slew("holder", 1500, 2400, 400_000)
    lid = servo_slew("lid", 1200, 1500, 500_000)
    return Schedule((table, lid), (TimedTurn(0, 0), TimedTurn(500_000, 1)), 1_000_000)


async def test_what_is_known_while_a_plan_is_played_follows_it(link, rig):
    await link.run(in_turn(servo_slew("lid", 1500, 1200, 450_000)))
    run = asyncio.create_task(link.run(two_turns()))
    seen: list[tuple[str, ...]] = []
    reported: set[tuple[str, ...]] = set()
    while not run.done() and rig.board.running:
        await asyncio.sleep(0.01)
        known, progress = link.ledger.last_positions, link.ledger.run
        if progress is not None:
            reported.add(progress.moving_at_last_report())
        if known.moving and known.moving not in seen:
            seen.append(known.moving)
            assert known.positions["holder"] == (1500 if "holder" in known.moving else 2400)
    assert seen == [("holder",), ("lid",)] and reported >= set(seen)
    assert link.ledger.last_positions == LastPositions(
        {"holder": 2400, "lid": 1500, "turner": 0, "pusher": 0}
    )


def push_and_lift() -> Schedule:
    """Return a schedule that moves the pusher (no end stop) and the lid from their starts."""
    push = stepper_move("pusher", 0, AWAY, LIMITS)
    lift = servo_slew("lid", 1500, 1900, 400_000)
    return Schedule((push, lift), (TimedTurn(0, 0), TimedTurn(0, 1)), lift.duration_us)


async def successor(rig: Rig, *names: str) -> Link:
    """Return the link of a new process, after the first was killed, with these actuators or all."""
    setups = tuple(one for one in rig.link().actuators if not names or one.name in names)
    link: Link = rig.link(setups)
    await link.open()
    await link.configure()
    return link


@pytest.mark.parametrize("silent_s", [0.5, 5.0])
async def test_a_successor_learns_where_everything_stands(link, rig, silent_s):
    await link.run(push_and_lift())
    await link.close()
    rig.loop.pass_time(silent_s)
    heir = await successor(rig)
    assert (heir.ledger.known["pusher"], heir.ledger.known["lid"]) == (AWAY, 1900)
    before = len(rig.pins.rises(STEP_PIN))
    await heir.home()
    assert heir.ledger.position("pusher") == 0
    assert len(rig.pins.rises(STEP_PIN)) == before + AWAY
    assert (await heir.status()).homed == 0b1111


async def test_positions_of_another_configuration_are_not_taken_over(link, rig):
    """Check that a servo missing from the new configuration gets no pulses."""
    await link.run(in_turn(servo_slew("lid", 1500, 1900, 100_000)))
    await link.close()
    other = await successor(rig, "lid", "pusher")
    assert other.ledger.known == {}
    assert (await other.status()).homed == 0
    await other.home()
    before = len(rig.pins.records)
    await other.run(push_and_lift())
    since = rig.pins.records[before:]
    assert {pin for _, pin, _ in since} == {STEP_PIN, DIRECTION_PIN, LID_PIN}
    assert sum(pin == STEP_PIN and level for _, pin, level in since) == AWAY


async def test_a_fault_of_the_old_host_is_not_the_new_ones(link, rig):
    with pytest.raises(RobotError, check=is_fault("out-of-range")):
        await link.run(in_turn(servo_slew("lid", 1500, 2600, 100_000)))
    await link.close()
    heir = await successor(rig)
    assert (await heir.status()).state == BoardState.IDLE


@pytest.mark.parametrize(
    ("fraction", "moving"), [(0.0, "holder"), (0.38, "holder"), (0.4, "lid"), (0.6, "lid")]
)
def test_motors_caught_in_motion_by_a_fault_are_noted(fraction, moving):
    ledger = PositionLedger(lambda: 0.0)
    with pytest.raises(RobotError), ledger.performing(longest_silence_s=0.7):
        ledger.board_ledger("first").begin(two_turns())
        ledger.board_ledger("first").note_progress(fraction)
        raise RobotError(Fault.OVERLOAD)
    assert ledger.caught_moving == (moving,)


@pytest.mark.parametrize(
    ("heard", "after_s", "moving"),
    [
        ([], 0.3, ("holder",)),
        ([(0.1, 0.1)], 0.35, ()),
        ([(0.1, 0.1)], 0.6, ("lid",)),
        ([(0.1, 0.1), (0.2, 0.4)], 0.05, ("lid",)),
        ([(0.1, 0.1)], 9.0, ("lid",)),
    ],
)
def test_motors_that_move_when_a_link_is_lost_are_noted(heard, after_s, moving):
    """Estimate at the last reported pace, and ignore the time after other boards were stopped."""
    now = 0.0
    ledger = PositionLedger(lambda: now)
    for name in ("first", "second"):
        ledger.note_boot(name, 1)
    with pytest.raises(LinkError), ledger.performing(longest_silence_s=0.7):
        second = ledger.board_ledger("second")
        second.begin(two_turns())
        for now, fraction in heard:  # noqa: B007  # the ledger's clock
            second.note_progress(fraction)
        now += after_s
        second.note_lost()
        now += 0.2
        raise LinkError(Fault.LINK_LOST)
    ledger.note_boot("first", 2)
    assert ledger.caught_moving == (), "the firmware finishes its turn"
    ledger.note_boot("second", 2)
    assert ledger.caught_moving == moving


def test_a_person_is_asked_once_for_a_motor_that_a_reset_board_left_moving():
    """Learn of the interrupted turns without a fault, from the board's new boot number alone."""
    motor = SimpleNamespace(name="up", way_to_start=lambda at: 0, counts_only=True)
    ledger = PositionLedger()
    for boot, silent in ((1, ()), (1, ("up",)), (2, ())):
        ledger.board_ledger("main").moving_when_silent = silent
        ledger.note_boot("main", boot)
        ledger.require_known([motor])
    ledger.board_ledger("main").moving_when_silent = ("up",)
    ledger.note_boot("main", 3)
    assert ledger.caught_moving == ("up",)
    with pytest.raises(RobotError, match="up may have been moving", check=is_fault("reset")):
        ledger.require_known([motor])
    ledger.require_known([motor])
