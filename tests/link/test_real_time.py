"""The firmware of this computer as a process in real time, behind a real pseudo-terminal."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from robot.link import Execution, Link, LinkThread, SerialTransport, StepperSetup
from robot.link.protocol import BoardState
from robot.text.faults import LinkError, RobotError
from tests.rig.boards import LIMITS, to_and_fro

PUSHER = StepperSetup("pusher", step_pin=6, direction_pin=7, limits=LIMITS)
LIMIT_S = 60
PATIENT_MS = 2000
"""Silence borne by the board: this process may have to wait for its processor."""


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[[float], tuple[subprocess.Popen[bytes], Path]]]:
    """Starts boards at a speed; process and port. All end with the test."""
    processes: list[subprocess.Popen[bytes]] = []

    def start(speed: float) -> tuple[subprocess.Popen[bytes], Path]:
        port = tmp_path / f"port{len(processes)}"
        program = Path(sys.executable).with_name("cubist-firmware-host")
        process = subprocess.Popen([program, "--pty-link", port, "--speed", str(speed)])
        processes.append(process)
        deadline = time.monotonic() + LIMIT_S
        while not port.exists():
            assert process.poll() is None, "the firmware ended at once"
            assert time.monotonic() < deadline, "no port"
            os.sched_yield()
        return process, port

    yield start
    for process in processes:
        process.kill()
        process.wait(LIMIT_S)


async def homed(port: Path) -> Link:
    """A link to a board: open, configured, homed."""
    link = Link(SerialTransport(str(port)), [PUSHER], silence_hold_ms=PATIENT_MS)
    await link.open(LIMIT_S)
    await link.configure()
    await link.home()
    return link


def test_a_plan_is_played_in_its_time(
    start: Callable[[float], tuple[subprocess.Popen[bytes], Path]],
) -> None:
    _, port = start(1.0)

    async def run() -> None:
        link = await homed(port)
        begun = time.monotonic()
        execution = await link.run(to_and_fro(20))
        assert execution == Execution(to_and_fro(20).duration_us, 40, ())
        assert time.monotonic() - begun >= 0.99e-6 * execution.executed_us, "no sooner"
        await link.close()

    asyncio.run(run())


def test_the_blocking_link_stops_in_an_emergency(
    start: Callable[[float], tuple[subprocess.Popen[bytes], Path]],
) -> None:
    """From another thread than the one that waits for the plan's end."""
    _, port = start(1.0)
    thread = LinkThread(
        lambda: Link(SerialTransport(str(port)), [PUSHER], silence_hold_ms=PATIENT_MS)
    )
    link, wait = thread.link, thread.wait
    try:
        wait(link.open())
        wait(link.configure())
        wait(link.home())
        with ThreadPoolExecutor(1) as pool:
            plan = pool.submit(lambda: wait(link.run(to_and_fro(200))))
            while wait(link.status()).state != BoardState.RUNNING:
                assert not plan.done()
            wait(link.emergency_stop())
            stopped = wait(link.status())
            assert (stopped.state, stopped.homed) == (BoardState.FAULT, 0)
            assert stopped.turns_done < 400
            with pytest.raises(RobotError) as caught:
                plan.result(LIMIT_S)
        assert caught.value.code == "emergency-stop"
    finally:
        thread.close()


def test_a_reset_starts_the_process_anew_behind_the_same_port(
    start: Callable[[float], tuple[subprocess.Popen[bytes], Path]],
) -> None:
    process, port = start(1.0)

    async def run() -> None:
        link = await homed(port)
        plan = asyncio.create_task(link.run(to_and_fro(1000)))
        while (await link.status()).state != BoardState.RUNNING:
            pass
        process.send_signal(signal.SIGUSR1)
        with pytest.raises(LinkError) as caught:
            await plan
        assert caught.value.code == "reset"
        await link.close()
        again = await homed(port)
        await again.run(to_and_fro(1))
        await again.close()

    asyncio.run(run())


def test_closing_the_port_resets_no_board(
    start: Callable[[float], tuple[subprocess.Popen[bytes], Path]],
) -> None:
    _, port = start(1.0)
    onlooker = os.open(port, os.O_RDWR | os.O_NOCTTY)
    attributes = termios.tcgetattr(onlooker)
    attributes[2] |= termios.HUPCL
    termios.tcsetattr(onlooker, termios.TCSANOW, attributes)

    async def run() -> None:
        transport = SerialTransport(str(port))
        await transport.open()
        transport.close()

    asyncio.run(run())
    assert not termios.tcgetattr(onlooker)[2] & termios.HUPCL
    os.close(onlooker)
