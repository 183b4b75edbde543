"""The Raspberry Pi's process on the kernel's own files, as its service runs it."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from robot.computer.board_family import executable
from robot.link import Link, SerialTransport
from robot.link.actuators import ActuatorSetup
from robot.motion.schedule import MotionProfile, Schedule, TimedTurn
from robot.text.faults import RobotError

NOBODY, GROUP = 65534, 60
"""Whom it runs as, and the group that may use lines and channels."""
FOLDER = Path("/run/board")
PORT = FOLDER / "port"
PATIENCE_S = 60.0
SILENCE_MS = 2000
REAL_TIME = ("prlimit", "--rtprio=20", "--memlock=unlimited:unlimited")
UNPRIVILEGED = ("setpriv", f"--reuid={NOBODY}", f"--regid={GROUP}", "--clear-groups")


@contextmanager
def running(*options: str) -> Iterator[list[str]]:
    """The process for a while; what it complained of is in the list when it has ended."""
    FOLDER.mkdir(exist_ok=True)
    shutil.copy(executable("cubist-firmware-linux"), FOLDER / "firmware")
    shutil.chown(FOLDER, NOBODY, GROUP)
    for device in Path("/dev").glob("gpiochip*"):
        os.chown(device, 0, GROUP)
        device.chmod(0o660)
    command = [*REAL_TIME, *UNPRIVILEGED, FOLDER / "firmware", "--pty-link", PORT, *options]
    complaints: list[str] = []
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            while not PORT.exists():
                assert process.poll() is None, "the board ended at once"
                time.sleep(0.01)
            yield complaints
        finally:
            process.terminate()
            assert process.stderr is not None
            complaints += process.stderr.read().splitlines()
            sys.stderr.write("\n".join(complaints) + "\n")


def link_to(setups: Sequence[ActuatorSetup]) -> Link:
    """A link to the process, closed."""
    return Link(SerialTransport(str(PORT)), setups, silence_hold_ms=SILENCE_MS)


async def configured(link: Link) -> None:
    """Connect, and tell the board its actuators."""
    await link.open(PATIENCE_S)
    await link.configure()


async def fault_of(deed: Coroutine[Any, Any, Any]) -> str:
    """What is told of something that goes wrong."""
    try:
        await asyncio.wait_for(deed, PATIENCE_S)
    except RobotError as fault:
        return str(fault)
    return "nothing"


def at_once(*ways: MotionProfile) -> Schedule:
    """Motions that begin together."""
    turns = tuple(TimedTurn(0, number) for number in range(len(ways)))
    return Schedule(ways, turns, max(way.duration_us for way in ways))


def in_turn(*ways: MotionProfile) -> Schedule:
    """Each as soon as the one before it has ended."""
    turns, at = [], 0
    for number, way in enumerate(ways):
        turns.append(TimedTurn(at, number))
        at += way.duration_us
    return Schedule(ways, tuple(turns), at)
