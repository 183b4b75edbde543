"""The sockets of the simulated robot, and the pins and time of several boards."""

from __future__ import annotations

import asyncio
import select
import socket
import struct
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from robot.panel.gpio import PanelError
from robot.settings import load_profile
from robot.twin.client import TwinCamera, TwinGpio
from robot.twin.cube import scrambled
from robot.twin.pulses import FILES, PwmChips
from robot.twin.render import Image, Painter
from robot.twin.server import SLICE_TICKS, SimulatedPanel, TwinServer
from robot.twin.simulated import NO_PIN, RECORD, Kind, PinStream, SimulatedRobot
from robot.twin.studio import Studio
from solver.errors import InvalidRequest
from vision.cameras.base import CameraError

LID_PIN, BUTTON, LIGHT = 10, 17, 27
JAW_PIN, SENSOR_PIN = 7, 14
OPEN_US, FRAME_US = 1534, 20_000
MANY_FRAMES = 4_000
"""Number of frames whose edges are read in several pieces."""

LIMIT_S = 20.0
"""Limit for operations that would wait for ever on a failure."""


@pytest.fixture
def robot() -> SimulatedRobot:
    return SimulatedRobot(load_profile("cubotino-uno"), scrambled(3, 1))


@pytest.fixture
def pair() -> SimulatedRobot:
    return SimulatedRobot(load_profile("soltvvo"), scrambled(2, 1))


@pytest.fixture(params=["robot"])
async def server(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[TwinServer]:
    """Yield the sockets of a robot, given the name of its fixture."""
    robot = request.getfixturevalue(request.param)
    server = TwinServer(robot, Studio(robot), SimulatedPanel(), tmp_path)
    async with server.running():
        yield server


def record(time_us: float, pin: int, level: bool, kind: Kind = Kind.LEVEL) -> bytes:
    return struct.pack("<QHBB", round(2 * time_us), pin, level, kind)


def about_no_pin(kind: Kind, time_us: float = 0) -> bytes:
    return record(time_us, NO_PIN, False, kind)


def pulses(pin: int, width_us: float, frames: int) -> bytes:
    """Return pulses for a servo, by the board's clock."""
    edges = (
        record(FRAME_US * number + after_us, pin, level)
        for number in range(frames)
        for after_us, level in ((0, True), (width_us, False))
    )
    return b"".join(edges) + about_no_pin(Kind.TIME, FRAME_US * frames)


@contextmanager
def firmware(server: TwinServer, board: str = "first") -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(LIMIT_S)
        connection.connect(str(server.pins[board].path))
        yield connection


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(LIMIT_S):
        while not condition():
            await asyncio.sleep(0.005)


async def test_a_frame_shows_all_pins_sent_before_it_was_asked_for(server, robot):
    camera = await asyncio.to_thread(TwinCamera, str(server.daemon_path))
    camera.settle()
    assert camera.calibrated, "nothing else is known yet"
    with firmware(server) as pins:
        pins.sendall(about_no_pin(Kind.RESET))
        frame = await asyncio.to_thread(camera.capture)
        assert frame.time_us == 0
        pins.sendall(pulses(LID_PIN, 1500, MANY_FRAMES))
        frame = await asyncio.to_thread(camera.capture)
    assert frame.time_us == MANY_FRAMES * FRAME_US
    assert (frame.image.shape, frame.image.dtype) == ((480, 640, 3), np.uint8)
    assert robot.place("lid") == "close" and camera.calibrated
    camera.close()
    camera.close()
    with pytest.raises(CameraError, match="closed"):
        camera.capture()


async def test_the_clock_goes_on_over_a_reset(server, robot):
    for time_us in (5_000, 10_000):
        with firmware(server) as pins:
            pins.sendall(about_no_pin(Kind.RESET) + about_no_pin(Kind.TIME, 5_000))
            # A record cut off by the crash must not confuse the next connection.
            pins.sendall(about_no_pin(Kind.TIME, 9_000)[:5])
            await until(lambda time_us=time_us: robot.time_us == time_us)


async def test_pins_are_answered_while_a_picture_is_painted(server, robot, monkeypatch):
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
        pins.sendall(about_no_pin(Kind.RESET))
        picture = asyncio.create_task(asyncio.to_thread(camera.capture))
        await asyncio.to_thread(painting.wait)
        pins.sendall(record(5_000, 4, False, Kind.READ))
        answer = await asyncio.to_thread(pins.recv, RECORD.itemsize)
        assert answer == record(5_000, 4, True, Kind.READ)
        assert robot.time_us == 5_000
        gone_on.set()
        assert (await picture).time_us == 0  # it shows the moment of the request
    assert in_time == [True]
    camera.close()


async def test_the_panel_bounces_and_lights_up(server):
    gpio = await asyncio.to_thread(TwinGpio, str(server.daemon_path))
    await asyncio.to_thread(gpio.setup_input, BUTTON, "up")
    assert gpio.input(BUTTON) is True
    seen: list[bool] = []
    gpio.on_edge(BUTTON, lambda pin: seen.append(gpio.input(pin)))
    await server.panel.press(BUTTON, held_s=0.01)
    await until(lambda: len(seen) >= 10)
    assert seen[0] is False
    assert gpio.input(BUTTON) is True
    await asyncio.to_thread(gpio.setup_output, LIGHT, True)
    await until(lambda: server.panel.outputs.get(LIGHT) is True)
    await asyncio.to_thread(gpio.output, LIGHT, False)
    await until(lambda: server.panel.outputs[LIGHT] is False)
    with pytest.raises(PanelError, match="set up"):
        gpio.input(LIGHT)
    await asyncio.to_thread(gpio.cleanup)
    await asyncio.to_thread(gpio.cleanup)


@pytest.mark.parametrize("client", [TwinCamera, TwinGpio])
def test_no_robot_is_a_named_fault(tmp_path, client):
    with pytest.raises((CameraError, PanelError), match="no simulated robot"):
        client(str(tmp_path / "nobody.sock"))


def test_the_same_pin_is_another_actuator_at_each_board(pair):
    PinStream(pair, lambda _: None, board="second").feed(pulses(JAW_PIN, OPEN_US, 10))
    assert pair.place("left-jaw") == "open"
    assert pair.place("right-jaw") == "closed"
    answers: list[bytes] = []
    pair.stick_end_stop("left", active=False)
    for name in ("first", "second"):
        PinStream(pair, answers.append, board=name).feed(record(2, SENSOR_PIN, False, Kind.READ))
    assert [answer[10] for answer in answers] == [0, 1], "sensors are read at their own board"


def test_a_reset_is_of_one_board_alone(pair):
    """Check that the others' time goes on, and that a pulse they have begun continues."""
    first, second = (PinStream(pair, lambda _: None, board=name) for name in ("first", "second"))
    first.feed(record(0, JAW_PIN, True) + about_no_pin(Kind.TIME, 1_000))
    second.feed(record(0, JAW_PIN, True) + about_no_pin(Kind.RESET))
    second.feed(record(OPEN_US, JAW_PIN, False))
    first.feed(record(OPEN_US, JAW_PIN, False) + about_no_pin(Kind.TIME, 200_000))
    assert pair.place("right-jaw") == "open"
    assert pair.place("left-jaw") == "closed"
    assert pair.time_us == 200_000


def granted(board: socket.socket) -> int:
    while True:
        ticks, _, _, kind = struct.unpack("<QHBB", board.recv(RECORD.itemsize, socket.MSG_WAITALL))
        if kind == Kind.GRANT:
            return ticks


@pytest.mark.parametrize("server", ["pair"], indirect=True)
async def test_all_boards_are_granted_the_same_time_and_a_dead_one_holds_nobody_up(server, pair):
    slice_us = SLICE_TICKS / 2
    with firmware(server) as first:
        with firmware(server, "second") as second:
            for number in range(1, 4):
                for board in (first, second):
                    assert await asyncio.to_thread(granted, board) == SLICE_TICKS
                more = await asyncio.to_thread(select.select, [first, second], [], [], 0.02)
                assert more == ([], [], []), "no more time until both have made this"
                for board in (first, second):
                    board.sendall(about_no_pin(Kind.GRANT, number * slice_us))
            await asyncio.to_thread(granted, first)
            assert pair.time_us == 3 * slice_us
        for number in range(4, 7):
            first.sendall(about_no_pin(Kind.GRANT, number * slice_us))
            await asyncio.to_thread(granted, first)


@pytest.mark.parametrize(
    ("file", "text", "complaint"),
    [
        ("period", "-5", "'-5'"),
        ("duty_cycle", "5", "a duty of 5"),
        ("enable", "1", "without a period"),
    ],
)
def test_a_chip_takes_only_what_the_kernel_does(file, text, complaint, tmp_path):
    with closing(PwmChips(tmp_path / "pwm", [12], lambda *_: None)) as chips:
        next(tmp_path.glob(f"pwm/pwmchip*/pwm*/{file}")).write_text(f"{text}\n")
        with pytest.raises(InvalidRequest, match=complaint):
            chips.write(0.0, 12, FILES.index(file))
