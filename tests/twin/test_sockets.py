"""The sockets of the simulated robot, and the pins and time of several boards."""

from __future__ import annotations

import array
import asyncio
import fcntl
import socket
import struct
import subprocess
import termios
import threading
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from robot.computer.board_family import executable
from robot.panel.gpio import PanelError
from robot.settings import RobotProfile, load_profile
from robot.twin.client import TwinCamera, TwinGpio
from robot.twin.cube import scrambled
from robot.twin.render import Image, Painter
from robot.twin.server import SLICE_TICKS, PinPort, SimulatedPanel, TwinServer
from robot.twin.simulated import RECORD, Kind, PinStream, SimulatedRobot
from robot.twin.studio import Studio
from vision.cameras.base import CameraError

LID_PIN, BUTTON = 10, 17

MOST_UNDER_WAY_BYTES = 64 * 1024
LIMIT_S = 20.0
"""For what would wait for ever if it went wrong."""


@pytest.fixture
def robot(cubotino: RobotProfile) -> SimulatedRobot:
    return SimulatedRobot(cubotino, scrambled(3, 1))


@pytest.fixture
async def server(robot: SimulatedRobot, tmp_path: Path) -> AsyncIterator[TwinServer]:
    server = TwinServer(robot, Studio(robot), SimulatedPanel(), tmp_path)
    async with server.running():
        yield server


def record(time_us: float, pin: int, level: bool, kind: Kind) -> bytes:
    return struct.pack("<QHBB", round(2 * time_us), pin, level, kind)


def firmware(server: TwinServer) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.connect(str(server.pins["first"].path))
    return connection


async def test_camera_takes_pictures(server: TwinServer) -> None:
    camera = await asyncio.to_thread(TwinCamera, str(server.daemon_path))
    camera.settle()
    assert camera.calibrated, "nothing else is known yet"
    frame = await asyncio.to_thread(camera.capture)
    assert frame.image.shape == (480, 640, 3)
    assert frame.image.dtype == np.uint8
    assert camera.calibrated
    camera.close()
    camera.close()
    with pytest.raises(CameraError, match="closed"):
        camera.capture()


async def test_a_frame_shows_all_pins_sent_before_it_was_asked_for(
    server: TwinServer, robot: SimulatedRobot
) -> None:
    camera = await asyncio.to_thread(TwinCamera, str(server.daemon_path))
    with firmware(server) as pins:
        pins.sendall(record(0, 0xFFFF, False, Kind.RESET))
        frame = await asyncio.to_thread(camera.capture)
        assert frame.time_us == 0
        for number in range(50):
            begin = number * 20_000
            pins.sendall(record(begin, LID_PIN, True, Kind.LEVEL))
            pins.sendall(record(begin + 1500, LID_PIN, False, Kind.LEVEL))
        pins.sendall(record(1_000_000, 0xFFFF, False, Kind.TIME))
        frame = await asyncio.to_thread(camera.capture)
    assert frame.time_us == 1_000_000
    assert robot.place("lid") == "close"
    camera.close()


async def test_the_clock_goes_on_over_a_reset(server: TwinServer, robot: SimulatedRobot) -> None:
    for time_us in (5_000, 10_000):
        with firmware(server) as pins:
            pins.sendall(record(0, 0xFFFF, False, Kind.RESET))
            pins.sendall(record(5_000, 0xFFFF, False, Kind.TIME))
            # A record cut off by the crash must not confuse the next connection.
            pins.sendall(record(9_000, 0xFFFF, False, Kind.TIME)[:5])
            await until(lambda time_us=time_us: robot.time_us == time_us)


async def test_a_read_is_answered(server: TwinServer) -> None:
    with firmware(server) as pins:
        pins.sendall(record(100, 4, False, Kind.READ))
        answer = await asyncio.to_thread(pins.recv, 12)
    assert struct.unpack("<QHBB", answer) == (200, 4, 1, Kind.READ)


async def test_pins_are_answered_while_a_picture_is_painted(
    server: TwinServer, robot: SimulatedRobot, monkeypatch: pytest.MonkeyPatch
) -> None:
    painting, gone_on = threading.Event(), threading.Event()
    in_time: list[bool] = []
    paint = Painter.paint

    def slowly(self: Painter, *seen: Any) -> Image:
        painting.set()
        in_time.append(gone_on.wait(LIMIT_S))
        return paint(self, *seen)

    monkeypatch.setattr(Painter, "paint", slowly)
    camera = await asyncio.to_thread(TwinCamera, str(server.daemon_path))
    with firmware(server) as pins:
        pins.sendall(record(0, 0xFFFF, False, Kind.RESET))
        picture = asyncio.create_task(asyncio.to_thread(camera.capture))
        await asyncio.to_thread(painting.wait)
        pins.sendall(record(5_000, 4, False, Kind.READ))
        await asyncio.to_thread(pins.recv, 12)
        assert robot.time_us == 5_000
        gone_on.set()
        assert (await picture).time_us == 0  # it shows the moment at which it was asked for
    assert in_time == [True]
    camera.close()


async def test_the_button_is_pressed_with_bounce(server: TwinServer) -> None:
    gpio = await asyncio.to_thread(TwinGpio, str(server.daemon_path))
    await asyncio.to_thread(gpio.setup_input, BUTTON, "up")
    assert gpio.input(BUTTON) is True
    seen: list[bool] = []
    gpio.on_edge(BUTTON, lambda pin: seen.append(gpio.input(pin)))
    await server.panel.press(BUTTON, held_s=0.01)
    await until(lambda: len(seen) >= 10)
    assert seen[0] is False
    assert gpio.input(BUTTON) is True
    await asyncio.to_thread(gpio.cleanup)


async def test_outputs_reach_the_panel(server: TwinServer) -> None:
    gpio = await asyncio.to_thread(TwinGpio, str(server.daemon_path))
    await asyncio.to_thread(gpio.setup_output, 27, True)
    await until(lambda: server.panel.outputs.get(27) is True)
    await asyncio.to_thread(gpio.output, 27, False)
    await until(lambda: server.panel.outputs[27] is False)
    with pytest.raises(PanelError, match="set up"):
        gpio.input(27)
    await asyncio.to_thread(gpio.cleanup)
    await asyncio.to_thread(gpio.cleanup)


@pytest.mark.parametrize("client", [TwinCamera, TwinGpio])
def test_no_robot_is_a_named_fault(tmp_path: Path, client: type) -> None:
    with pytest.raises((CameraError, PanelError), match="no simulated robot"):
        client(str(tmp_path / "nobody.sock"))


async def until(condition: Callable[[], bool]) -> None:
    """Let the event loop work until ``condition()``; fails by the test's time limit."""
    async with asyncio.timeout(10):
        while not condition():
            await asyncio.sleep(0.005)


def stuck_at(connection: socket.socket) -> int:
    """Bytes that wait to be read when no more arrive, because nobody reads."""
    count, same, before = array.array("i", [0]), 0, 0
    while same < 50:
        fcntl.ioctl(connection, termios.FIONREAD, count)
        same, before = (same + 1 if count[0] == before and before else 0), count[0]
        time.sleep(0.01)
    return before


def test_little_is_under_way_to_a_robot_that_is_slower(tmp_path: Path) -> None:
    """While it waits for its robot the firmware does not answer the host."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(str(tmp_path / "pins"))
    listener.listen(1)
    listener.settimeout(LIMIT_S)
    options = ["--pty-link", str(tmp_path / "port"), "--pins", str(tmp_path / "pins")]
    command = [executable("cubist-firmware-host"), *options, "--speed", "1000"]
    with listener, subprocess.Popen(command) as firmware:
        try:
            connection, _ = listener.accept()
            with connection:
                assert 0 < stuck_at(connection) <= MOST_UNDER_WAY_BYTES
        finally:
            firmware.terminate()


JAW_PIN, SENSOR_PIN = 7, 14
OPEN_US, FRAME_US = 1534, 20_000
NO_PIN = 0xFFFF


@pytest.fixture
def pair() -> SimulatedRobot:
    return SimulatedRobot(load_profile("soltvvo"), scrambled(2, 1))


def at_tick(ticks: int, pin: int, level: bool, kind: Kind = Kind.LEVEL) -> bytes:
    return struct.pack("<QHBB", ticks, pin, level, kind)


def opening(frames: int, width_ticks: int = 2 * OPEN_US) -> bytes:
    """Pulses for a servo, by the board's clock."""
    found = b""
    for number in range(frames):
        rise = 2 * FRAME_US * number
        found += at_tick(rise, JAW_PIN, True) + at_tick(rise + width_ticks, JAW_PIN, False)
    return found + at_tick(2 * FRAME_US * frames, NO_PIN, False, Kind.TIME)


def test_the_same_pin_is_another_actuator_at_each_board(pair: SimulatedRobot) -> None:
    PinStream(pair, lambda _: None, board="second").feed(opening(10))
    assert pair.place("left-jaw") == "open"
    assert pair.place("right-jaw") == "closed"


def test_a_reset_is_of_one_board_alone(pair: SimulatedRobot) -> None:
    """The time of the others goes on, and so does a pulse that they have begun."""
    first, second = (PinStream(pair, lambda _: None, board=name) for name in ("first", "second"))
    first.feed(at_tick(0, JAW_PIN, True) + at_tick(2_000, NO_PIN, False, Kind.TIME))
    second.feed(at_tick(0, JAW_PIN, True) + at_tick(0, NO_PIN, False, Kind.RESET))
    second.feed(at_tick(2 * OPEN_US, JAW_PIN, False))
    first.feed(at_tick(2 * OPEN_US, JAW_PIN, False) + at_tick(400_000, NO_PIN, False, Kind.TIME))
    assert pair.place("right-jaw") == "open"
    assert pair.place("left-jaw") == "closed"
    assert pair.time_us == 200_000


def test_sensors_are_read_at_their_own_board(pair: SimulatedRobot) -> None:
    answers: list[bytes] = []
    pair.stick_end_stop("left", active=False)
    for name in ("first", "second"):
        PinStream(pair, answers.append, board=name).feed(at_tick(4, SENSOR_PIN, False, Kind.READ))
    assert [RECORD.itemsize * len(answers), *(answer[10] for answer in answers)] == [24, 0, 1]


@pytest.fixture
async def boards(pair: SimulatedRobot, tmp_path: Path) -> AsyncIterator[TwinServer]:
    server = TwinServer(pair, Studio(pair), SimulatedPanel(), tmp_path)
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
    boards: TwinServer, pair: SimulatedRobot
) -> None:
    with (
        connected(boards.pins["first"]) as first,
        connected(boards.pins["second"]) as second,
    ):
        for number in range(1, 4):
            for board in (first, second):
                assert await asyncio.to_thread(granted, board) == SLICE_TICKS
            for board in (first, second):
                board.sendall(at_tick(number * SLICE_TICKS, NO_PIN, False, Kind.GRANT))
        await asyncio.to_thread(granted, first)
        assert pair.time_us == 3 * SLICE_TICKS / 2


async def test_a_board_that_has_died_holds_nobody_up(boards: TwinServer) -> None:
    with connected(boards.pins["first"]) as first:
        with connected(boards.pins["second"]) as second:
            await asyncio.to_thread(granted, second)
        for number in range(1, 4):
            await asyncio.to_thread(granted, first)
            first.sendall(at_tick(number * SLICE_TICKS, NO_PIN, False, Kind.GRANT))
