"""The fault campaign: whatever breaks, each turn is made once and in order, or not at all."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from robot.faults import Fault, LinkFault, RobotFault
from robot.link import Link, SerialTransport
from robot.link.framing import Frame
from robot.link.protocol import MESSAGES, WINDOW, Go, State, Turns
from robot.motion import StepperLimits, stepper_move
from robot.schedule import MotionProfile, Schedule, TimedTurn

Board = Any
LIMITS = StepperLimits(start_speed=500, max_speed=4000, acceleration=40_000)
STEP_PIN, DIRECTION_PIN = 6, 7


def staircase(lengths: list[int]) -> Schedule:
    """The pusher goes forth and back by lengths that tell the turns apart."""
    profiles: list[MotionProfile] = []
    turns: list[TimedTurn] = []
    clock = 0
    for length in lengths:
        for start, steps in ((0, length), (length, -length)):
            profile = stepper_move("pusher", start, steps, LIMITS)
            if profile not in profiles:
                profiles.append(profile)
            turns.append(TimedTurn(clock, profiles.index(profile)))
            clock += profile.duration_us
    return Schedule(tuple(profiles), tuple(turns), clock)


LENGTHS = [5, 9, 14, 5, 7, 9, 11, 5, 14, 7] * 6
PLAN = staircase(LENGTHS)
EXPECTED = [steps for length in LENGTHS for steps in (length, -length)]


def moves_made(board: Board) -> list[int]:
    """Signed numbers of steps between changes of direction, as the pins showed them."""
    moves: list[int] = []
    sign = -1
    for _, pin, level, _ in list(board.pins.records):
        if pin == DIRECTION_PIN:
            sign = 1 if level else -1
        elif pin == STEP_PIN and level:
            if not moves or (moves[-1] > 0) != (sign > 0):
                moves.append(0)
            moves[-1] += sign
    return moves


@pytest.fixture
async def faulty(board: Board, faulty_line: Any) -> AsyncIterator[tuple[Link, Any]]:
    """A homed link on a line that can be damaged, and the line."""
    line = faulty_line.FaultyTransport(str(board.port))
    link = Link(line, board.setups)
    await link.open()
    await link.configure()
    await link.home(["pusher"])
    yield link, line
    await link.close()


@pytest.mark.parametrize("rate", [0.01, 0.05])
@pytest.mark.parametrize("damage", ["drop", "repeat", "insert", "flip", "reorder"])
async def test_a_bad_line_costs_time_but_no_turn(
    faulty: tuple[Link, Any], board: Board, faulty_line: Any, damage: str, rate: float
) -> None:
    link, line = faulty
    line.outwards = getattr(faulty_line, damage)(rate)
    line.inwards = getattr(faulty_line, damage)(rate)
    execution = await link.run(PLAN)
    assert moves_made(board) == EXPECTED
    assert execution.turns_done == len(EXPECTED)
    if not execution.events:
        assert execution.executed_us == PLAN.duration_us
    assert link.statistics.resent > 0


@pytest.mark.long
@pytest.mark.parametrize("rate", [0.1, 0.2, 0.3])
@pytest.mark.parametrize("damage", ["drop", "repeat", "insert", "flip", "reorder"])
async def test_a_hopeless_line_is_given_up_or_carries_the_plan(
    faulty: tuple[Link, Any], board: Board, faulty_line: Any, damage: str, rate: float
) -> None:
    link, line = faulty
    line.outwards = getattr(faulty_line, damage)(rate)
    line.inwards = getattr(faulty_line, damage)(rate)
    try:
        async with asyncio.timeout(60):
            await link.run(PLAN)
    except (LinkFault, RobotFault, TimeoutError):
        pass
    made = moves_made(board)
    assert made == EXPECTED[: len(made)]


async def test_lost_acknowledgements_lead_to_a_named_fault(
    faulty: tuple[Link, Any], board: Board, faulty_line: Any
) -> None:
    link, line = faulty
    line.inwards = faulty_line.silence
    with pytest.raises(LinkFault) as caught:
        await link.run(PLAN)
    assert caught.value.fault == Fault.LINK_LOST
    line.inwards = faulty_line.nothing
    await link.open()
    await link.configure()
    assert moves_made(board) == EXPECTED[: len(moves_made(board))]


@pytest.mark.parametrize("message", list(MESSAGES.values()))
async def test_every_flipped_bit_of_every_frame_is_refused(
    faulty: tuple[Link, Any], message: Any
) -> None:
    link, line = faulty
    before = await link.status()
    session = link._session
    assert session is not None
    block = Frame(session._number, 0, 0, message.TYPE, bytes(message.LAYOUT.size)).encode()
    for bit in range(8 * (len(block) - 1)):
        damaged = bytearray(block)
        damaged[bit // 8] ^= 1 << bit % 8
        line.write(bytes(damaged) + b"\0")
    after = await link.status()
    assert (after.state, after.fault, after.homed) == (before.state, before.fault, before.homed)
    assert after.bad_frames > before.bad_frames


async def test_frames_of_another_session_do_nothing(faulty: tuple[Link, Any], board: Board) -> None:
    link, line = faulty
    session = link._session
    assert session is not None
    other = session._number % 253 + 1
    for seq in range(256):
        line.write(Frame(other, seq, 0, Go.TYPE).encode())
    assert (await link.status()).state == State.IDLE
    await link.run(PLAN)
    assert moves_made(board) == EXPECTED


async def test_more_turns_than_credit_are_refused_and_sent_again(
    faulty: tuple[Link, Any], board: Board
) -> None:
    """The firmware, not the host's arithmetic, has the last word."""
    link, _line = faulty
    session = link._session
    assert session is not None
    turns = Turns(bytes([0, 3] * 24))
    session._window._free = 1_000_000
    many = [turns] * (link.capabilities.queue_bytes // 48 + WINDOW)
    session.put(many)
    await asyncio.sleep(0.3)
    status = await link.status()
    assert status.fault == Fault.NONE and status.free < 48
    session.discard()


async def test_a_dead_host_leaves_the_robot_at_rest(
    boards: Callable[[float], Board], faulty_line: Any
) -> None:
    """Nothing more is heard of the host: hold, then the safe state, latched."""
    board = boards(1.0)
    line = faulty_line.FaultyTransport(str(board.port))
    link = Link(line, board.setups)
    await link.open()
    await link.configure()
    await link.home(["pusher"])
    run = asyncio.create_task(link.run(staircase([200] * 40)))
    while (await link.status()).state != State.RUNNING:
        pass
    line.outwards = faulty_line.silence
    with pytest.raises(RobotFault) as caught:
        await run
    assert caught.value.fault in (Fault.LINK_LOST, Fault.HOST_LOST)
    steps = len(board.pins.rises(STEP_PIN))
    assert all(abs(move) == 200 for move in moves_made(board))
    line.outwards = faulty_line.nothing
    await link.open()
    await link.configure()
    assert len(board.pins.rises(STEP_PIN)) == steps
    await link.close()


async def test_an_emergency_stop_gets_through_a_bad_line(
    faulty: tuple[Link, Any], board: Board, faulty_line: Any
) -> None:
    link, line = faulty
    run = asyncio.create_task(link.run(staircase([200] * 200)))
    while (await link.status()).state != State.RUNNING:
        pass
    line.outwards = faulty_line.flip(0.05)
    line.write(bytes(3000))
    await link.emergency_stop()
    with pytest.raises(RobotFault) as caught:
        await run
    assert caught.value.fault == Fault.EMERGENCY_STOP


async def test_a_pulled_cable_is_noticed_and_found_again(
    faulty: tuple[Link, Any], board: Board
) -> None:
    link, _line = faulty
    run = asyncio.create_task(link.run(staircase([200] * 200)))
    while (await link.status()).state != State.RUNNING:
        pass
    board.process.send_signal(signal.SIGSTOP)
    with pytest.raises(LinkFault) as caught:
        await run
    assert caught.value.fault == Fault.LINK_LOST
    board.process.send_signal(signal.SIGCONT)
    again = Link(SerialTransport(str(board.port)), board.setups)
    await link.close()
    await again.open()
    await again.configure()
    await again.home(["pusher"])
    before = len(moves_made(board))
    await again.run(PLAN)
    await again.close()
    made = moves_made(board)
    assert len(made) - before >= len(EXPECTED) - 1
