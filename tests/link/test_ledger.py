"""Where actuators stand when motion broke off, and what the next host of a board learns of it."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from robot.link import Link
from robot.link.ledger import LastPositions, PositionLedger
from robot.link.link import single
from robot.link.protocol import BoardState, Home
from robot.link.session import SessionStatistics
from robot.link.statistics import LinkStatistics
from robot.motion.schedule import Schedule, TimedTurn
from robot.motion.servo import servo_slew
from robot.motion.stepper import StepperLimits, stepper_move
from robot.records.runs import LinkRecord
from robot.text.faults import Fault, LinkError, RobotError

Rig = Any
LIMITS = StepperLimits(start_speed=500, max_speed=4000, acceleration=40_000)
AWAY = 70
STEP_PIN = 6
DIRECTION_PIN = 7
LID_PIN = 10


def two_turns() -> Schedule:
    """The table from 0 to 400 ms, then the lid from 500 to 1000 ms: soon enough to be next."""
    table = servo_slew("holder", 1500, 2400, 400_000)
    lid = servo_slew("lid", 1200, 1500, 500_000)
    return Schedule((table, lid), (TimedTurn(0, 0), TimedTurn(500_000, 1)), 1_000_000)


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


@pytest.mark.parametrize(
    ("fraction", "moving"),
    [
        (0.0, ("holder",)),
        (0.3, ("holder",)),
        (0.38, ("holder",)),
        (0.4, ("lid",)),
        (0.6, ("lid",)),
    ],
)
def test_what_a_fault_catches_in_motion(fraction: float, moving: tuple[str, ...]) -> None:
    ledger = PositionLedger(lambda: 0.0)
    with pytest.raises(RobotError), ledger.performing(longest_silence_s=0.7):
        ledger.board_ledger("first").begin(two_turns())
        ledger.board_ledger("first").note_progress(fraction)
        raise RobotError(Fault.OVERLOAD)
    assert ledger.caught_moving == moving


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
def test_what_is_moving_by_the_time_a_link_is_found_lost(
    heard: list[tuple[float, float]], after_s: float, moving: tuple[str, ...]
) -> None:
    clock = iter([0.0, *(at for at, _ in heard), after_s + sum(at for at, _ in heard[-1:])])
    ledger = PositionLedger(lambda: next(clock))
    ledger.note_boot("first", 1)
    with pytest.raises(LinkError), ledger.performing(longest_silence_s=0.7):
        ledger.board_ledger("first").begin(two_turns())
        for _, fraction in heard:
            ledger.board_ledger("first").note_progress(fraction)
        raise LinkError(Fault.LINK_LOST)
    assert ledger.caught_moving == (), "the firmware finishes its turn"
    ledger.note_boot("first", 2)
    assert ledger.caught_moving == moving


def test_what_moved_when_the_link_was_lost_is_not_what_would_move_later() -> None:
    """Other boards are stopped before anybody asks."""
    now = 0.0
    ledger = PositionLedger(lambda: now)
    for name in ("first", "second"):
        ledger.note_boot(name, 1)
    with pytest.raises(LinkError), ledger.performing(longest_silence_s=0.7):
        ledger.board_ledger("second").begin(two_turns())
        now = 0.2
        ledger.board_ledger("second").note_lost()
        now = 0.6
        raise LinkError(Fault.LINK_LOST, detail="board second")
    ledger.note_boot("first", 2)
    assert ledger.caught_moving == ()
    ledger.note_boot("second", 2)
    assert ledger.caught_moving == ("holder",)


def test_what_is_known_of_all_boards_is_known_together() -> None:
    ledger = PositionLedger(lambda: 0.0)
    assert ledger.last_positions is None
    ledger.board_ledger("first").note_homed("holder", 1500)
    ledger.board_ledger("second").note_reported({"lid": 1200})
    assert (ledger.known, ledger.position("lid")) == ({"holder": 1500, "lid": 1200}, None)
    ledger.board_ledger("first").begin(two_turns())
    assert ledger.last_positions == LastPositions({"holder": 1500, "lid": 1200}, ("holder",))
    ledger.board_ledger("first").forget_positions()
    assert ledger.last_positions == LastPositions({"lid": 1200})


def test_traffic_is_counted_over_all_links() -> None:
    class Line:
        statistics = SessionStatistics(10, 1, 10, 5, 7, 0)

    line, traffic = Line(), LinkStatistics()
    traffic.note_opened(line)  # type: ignore[arg-type]
    assert traffic.total == LinkRecord()
    line.statistics = SessionStatistics(30, 2, 25, 6, 9, 0)
    traffic.note_events(("held", "late"))
    seen = LinkRecord(sent=20, resent=1, received=15, damaged=3, held=1, late=1)
    assert traffic.total == seen
    traffic.note_closing()
    line.statistics = SessionStatistics(2, 0, 2, 0, 0, 0)
    traffic.note_opened(line)  # type: ignore[arg-type]
    line.statistics = SessionStatistics(5, 0, 4, 0, 3, 0)
    assert traffic.total == seen + LinkRecord(sent=3, received=2, damaged=3)


def test_a_person_is_asked_once_for_a_motor_that_was_moving() -> None:
    motor: Any = SimpleNamespace(name="up", way_to_start=lambda at: 0, counts_only=True)
    ledger = PositionLedger()
    ledger.note_boot("main", 1)
    ledger.board_ledger("main").moving_when_silent = ("up",)
    ledger.note_boot("main", 2)
    with pytest.raises(RobotError, match="up may have been moving"):
        ledger.require_known([motor])
    ledger.require_known([motor])


def test_a_fault_is_kept_without_what_its_traceback_holds() -> None:
    motor: Any = SimpleNamespace(name="up", way_to_start=lambda at: 1, counts_only=True)
    ledger = PositionLedger()
    ledger.board_ledger("main").note_homed("up", 5)
    ledger.keep_last_positions()
    ledger.board_ledger("main").forget_positions()
    with pytest.raises(LinkError) as raised:
        raise LinkError(Fault.LINK_LOST, detail="here")
    ledger.note_fault(raised.value)
    assert raised.tb is not None and ledger._fault is not raised.value
    with pytest.raises(RobotError, match=r"\(here\).*; up may have been moving") as asked:
        ledger.require_known([motor])
    assert asked.value.code == "link-lost" and not asked.value.recoverable
