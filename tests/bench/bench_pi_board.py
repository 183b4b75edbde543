"""How long after its moment the Raspberry Pi's process sets a pulse, alone and beside others."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from robot.computer.board_family import executable
from robot.link import Link, SerialTransport, ServoSetup
from robot.motion.schedule import Schedule, TimedTurn
from robot.motion.servo import servo_slew
from robot.settings.board_table import FRAME_US
from robot.twin.pulses import PwmChips
from tests.bench.figures import Emit

PINS = (12, 13)
TRAVEL_US = 500_000
TRAVELS = 20
PATIENT_MS = 2000
LOAD = "while True: pass"


@contextlib.contextmanager
def busy(programs: int) -> Iterator[None]:
    """So many ordinary programs that want all the time there is."""
    running = [subprocess.Popen([sys.executable, "-c", LOAD]) for _ in range(programs)]
    try:
        yield
    finally:
        for program in running:
            program.kill()
            program.wait()


async def slew(port: Path) -> tuple[str, ...]:
    """Both servos to and fro; what was out of the ordinary."""
    servos = [ServoSetup(f"servo{pin}", pin, 500, 2500, 1500, home_ms=100) for pin in PINS]
    link = Link(SerialTransport(str(port)), servos, silence_hold_ms=PATIENT_MS)
    while not port.exists():
        await asyncio.sleep(0.01)
    await link.open()
    await link.configure()
    await link.home()
    ways = [
        servo_slew(servo.name, start, end, TRAVEL_US, FRAME_US)
        for servo in servos
        for start, end in ((1500, 2300), (2300, 1500))
    ]
    each_us = TRAVEL_US + FRAME_US
    turns = [
        TimedTurn(number * each_us, 2 * servo + number % 2)
        for number in range(TRAVELS)
        for servo in range(len(servos))
    ]
    execution = await link.run(Schedule(tuple(ways), tuple(turns), TRAVELS * each_us))
    await link.close()
    return execution.events


def measure(programs: int) -> dict[str, Any]:
    """The process's own account, with ``programs`` busy ones beside it."""
    with tempfile.TemporaryDirectory() as folder, busy(programs):
        chips = PwmChips(Path(folder) / "pwm", PINS, lambda *_: None)
        port = Path(folder) / "port"
        program = executable("cubist-firmware-linux")
        board = subprocess.Popen(
            [program, "--pwm", chips.folder, "--pty-link", port, "--timing"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        events = asyncio.run(slew(port))
        board.terminate()
        told, complaints = board.communicate()
        chips.close()
    found: dict[str, Any] = json.loads(told)
    return found | {"events": events, "busy": programs, "real_time": not complaints}


def main(emit: Emit) -> None:
    """Alone, and beside twice as many busy programs as there are processors."""
    for programs in (0, 2 * (os.cpu_count() or 1)):
        found = measure(programs)
        emit("pi-board-pulse-p99", found["p99_us"], "us", found["pulses"], found)
