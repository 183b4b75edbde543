"""The Raspberry Pi's process: pulses in real time, and steps from the kernel's own trace."""

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
from tests.bench.figures import emit
from tests.system.kernel.inside.lines import FASTEST, STEP, errors_us, intervals_us, quantile
from tests.system.kernel.machine import Unavailable, boot, fetch_kernel

PINS = (12, 13)
TRAVEL_US = 500_000
TRAVELS = 20
PATIENT_MS = 2000


def measure_pi_board() -> None:
    """Emit the delay with which the process sets a pulse: alone, and beside twice as many busy
    programs as processors.
    """
    for programs in (0, 2 * (os.cpu_count() or 1)):
        with tempfile.TemporaryDirectory() as folder, _busy(programs):
            found = _account(Path(folder)) | {"busy": programs}
        emit("pi-board-pulse-p99", found["p99_us"], "us", found["pulses"], found)


@contextlib.contextmanager
def _busy(programs: int) -> Iterator[None]:
    """Run ordinary programs that use all available processor time."""
    command = [sys.executable, "-c", "while True: pass"]
    running = [subprocess.Popen(command) for _ in range(programs)]
    try:
        yield
    finally:
        for program in running:
            program.kill()
            program.wait()


def _account(folder: Path) -> dict[str, Any]:
    """Return the process's own figures for two servos that move back and forth."""
    chips = PwmChips(folder / "pwm", PINS, lambda *_: None)
    port = folder / "port"
    command = [executable("cubist-firmware-linux"), "--pwm", chips.folder, "--pty-link", port]
    pipe = subprocess.PIPE
    board = subprocess.Popen([*command, "--timing"], stdout=pipe, stderr=pipe, text=True)
    events = asyncio.run(_slew(port))
    board.terminate()
    told, complaints = board.communicate()
    chips.close()
    found: dict[str, Any] = json.loads(told)
    return found | {"events": events, "real_time": not complaints}


async def _slew(port: Path) -> tuple[str, ...]:
    """Move both servos back and forth. Return the unusual events."""
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


def measure_pi_steps() -> None:
    """Emit errors of steps at GPIO lines, alone and beside two programs that never wait.

    Uses Debian's kernel in the emulated machine of ``tests/system/kernel``, which runs 250 million
    instructions per second. The figures do not depend on the load of this computer.
    """
    with tempfile.TemporaryDirectory() as folder:
        try:
            kernel = fetch_kernel(Path(folder))
        except Unavailable as reason:
            print(f"[bench] no virtual machine here: {reason}", file=sys.stderr)
            return
        found = boot(kernel, ["lines"])["lines"]["steps"]
    for load in ("alone", "busy"):
        changes = found[load]["changes"]
        errors = errors_us(changes, STEP, 1e6 / FASTEST)
        parts = {"p50": 0.5, "p99": 0.99, "p999": 0.999}
        figures = {name: quantile(errors, part) for name, part in parts.items()}
        figures |= {"max": errors[-1], "shortest": min(intervals_us(changes, STEP))}
        rounded = {name: round(value) for name, value in figures.items()}
        detail = {"beside": load, "kernel": kernel.release, **rounded}
        emit("pi-steps-p99", rounded["p99"], "us", len(errors), detail)
