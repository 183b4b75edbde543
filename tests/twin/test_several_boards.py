"""A simulated robot with two boards: whose pins move what, and how their time passes."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from robot.settings import load_profile
from robot.twin.cube import scrambled
from robot.twin.server import SLICE_TICKS, PinPort, SimulatedPanel, TwinServer, keep_time
from robot.twin.simulated import RECORD, Kind, PinStream, SimulatedRobot
from robot.twin.studio import Studio

JAW_PIN, SENSOR_PIN = 7, 14
OPEN_US, FRAME_US = 1534, 20_000
NO_PIN = 0xFFFF
LIMIT_S = 20.0
"""For what would wait for ever if it went wrong."""


@pytest.fixture
def robot() -> SimulatedRobot:
    return SimulatedRobot(load_profile("soltvvo"), scrambled(2, 1))


def record(ticks: int, pin: int, level: bool, kind: Kind = Kind.LEVEL) -> bytes:
    return struct.pack("<QHBB", ticks, pin, level, kind)


def opening(frames: int, width_ticks: int = 2 * OPEN_US) -> bytes:
    """Pulses for a servo, by the board's clock."""
    found = b""
    for number in range(frames):
        rise = 2 * FRAME_US * number
        found += record(rise, JAW_PIN, True) + record(rise + width_ticks, JAW_PIN, False)
    return found + record(2 * FRAME_US * frames, NO_PIN, False, Kind.TIME)


def test_the_same_pin_is_another_actuator_at_each_board(robot: SimulatedRobot) -> None:
    PinStream(robot, lambda _: None, board="second").feed(opening(10))
    assert robot.place("left-jaw") == "open"
    assert robot.place("right-jaw") == "closed"


def test_pulses_last_as_long_when_another_board_is_ahead(robot: SimulatedRobot) -> None:
    """Boards are told of one after the other: the second's past is the robot's, too."""
    first, second = (PinStream(robot, lambda _: None, board=name) for name in ("first", "second"))
    first.feed(record(2 * 5_000, NO_PIN, False, Kind.TIME))
    second.feed(opening(10))
    assert robot.place("left-jaw") == "open"
    assert robot.violations == []


def test_a_reset_is_of_one_board_alone(robot: SimulatedRobot) -> None:
    """The time of the others goes on, and so does a pulse that they have begun."""
    first, second = (PinStream(robot, lambda _: None, board=name) for name in ("first", "second"))
    first.feed(record(0, JAW_PIN, True) + record(2_000, NO_PIN, False, Kind.TIME))
    second.feed(record(0, JAW_PIN, True) + record(0, NO_PIN, False, Kind.RESET))
    second.feed(record(2 * OPEN_US, JAW_PIN, False))
    first.feed(record(2 * OPEN_US, JAW_PIN, False) + record(400_000, NO_PIN, False, Kind.TIME))
    assert robot.place("right-jaw") == "open"
    assert robot.place("left-jaw") == "closed"
    assert robot.time_us == 200_000


def test_sensors_are_read_at_their_own_board(robot: SimulatedRobot) -> None:
    answers: list[bytes] = []
    robot.stick_end_stop("left", active=False)
    for name in ("first", "second"):
        PinStream(robot, answers.append, board=name).feed(record(4, SENSOR_PIN, False, Kind.READ))
    assert [RECORD.itemsize * len(answers), *(answer[10] for answer in answers)] == [24, 0, 1]


@pytest.fixture
async def server(robot: SimulatedRobot, tmp_path: Path) -> AsyncIterator[TwinServer]:
    server = TwinServer(robot, Studio(robot), SimulatedPanel(), tmp_path)
    async with server.running():
        yield server


def connected(port: PinPort) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(LIMIT_S)
    connection.connect(str(port.path))
    return connection


def granted(board: socket.socket) -> int:
    """How many ticks it is given next."""
    while True:
        ticks, _, _, kind = struct.unpack("<QHBB", board.recv(RECORD.itemsize, socket.MSG_WAITALL))
        if kind == Kind.GRANT:
            return ticks


async def test_all_boards_are_granted_the_same_time(
    server: TwinServer, robot: SimulatedRobot
) -> None:
    with connected(server.pins["first"]) as first, connected(server.pins["second"]) as second:
        for number in range(1, 4):
            for board in (first, second):
                assert await asyncio.to_thread(granted, board) == SLICE_TICKS
            for board in (first, second):
                board.sendall(record(number * SLICE_TICKS, NO_PIN, False, Kind.GRANT))
        await asyncio.to_thread(granted, first)
        assert robot.time_us == 3 * SLICE_TICKS / 2


async def test_no_board_runs_ahead_of_the_other() -> None:
    made = {"quick": 0, "slow": 0}

    class Board:
        def __init__(self, name: str, rounds: int) -> None:
            self._name, self._rounds = name, rounds

        async def grant(self, ticks: int) -> None:
            assert ticks == SLICE_TICKS
            for _ in range(self._rounds):
                await asyncio.sleep(0)
                assert abs(made["quick"] - made["slow"]) <= 1
            made[self._name] += 1
            if made["slow"] == 5:
                raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await keep_time([Board("quick", 0), Board("slow", 7)], speed=1000.0)
    assert made == {"quick": 5, "slow": 5}


async def test_a_board_that_has_died_holds_nobody_up(server: TwinServer) -> None:
    with connected(server.pins["first"]) as first:
        with connected(server.pins["second"]) as second:
            await asyncio.to_thread(granted, second)
        for number in range(1, 4):
            await asyncio.to_thread(granted, first)
            first.sendall(record(number * SLICE_TICKS, NO_PIN, False, Kind.GRANT))


async def test_time_that_the_computer_did_not_have_is_not_made_up_for() -> None:
    """After a second for one slice, a tenth of a second is given at once, not all of it."""
    now, slices = 0.0, 0

    class Slow:
        async def grant(self, ticks: int) -> None:
            nonlocal now, slices
            slices += 1
            now += 1.0 if slices == 1 else 0.0

    async def sleep(seconds: float) -> None:
        nonlocal now
        now += seconds
        if seconds:
            raise asyncio.CancelledError

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(asyncio.get_running_loop(), "time", lambda: now)
        patch.setattr("robot.twin.server.asyncio.sleep", sleep)
        with pytest.raises(asyncio.CancelledError):
            await keep_time([Slow()], speed=1.0)
    assert 99 <= slices <= 103
