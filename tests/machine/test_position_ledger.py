"""What the motion controller make of schedules, positions and ports."""

from __future__ import annotations

import pytest

from robot.link import LastPositions, PositionLedger
from robot.link.group import LinkStatistics
from robot.link.session import SessionStatistics
from robot.machine.confirmed_range import ConfirmedRange
from robot.motion.schedule import Schedule, TimedTurn
from robot.motion.servo import servo_slew
from robot.records.runs import LinkRecord
from robot.text.faults import Fault, LinkError, RobotError

ANYWHERE = ConfirmedRange({}, simulated=True)


def two_turns() -> Schedule:
    """The table from 0 to 400 ms, then the lid from 500 to 1000 ms: soon enough to be next."""
    table = servo_slew("holder", 1500, 2400, 400_000)
    lid = servo_slew("lid", 1200, 1500, 500_000)
    return Schedule((table, lid), (TimedTurn(0, 0), TimedTurn(500_000, 1)), 1_000_000)


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
