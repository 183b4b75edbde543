"""Boards in simulated time as fixtures. Tests that are coroutines run in that time."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path

import pytest

from robot.computer.board_family import FirmwareError, build, simulations
from robot.computer.families.avr import AVR
from robot.link import Link
from robot.settings import load_profile
from robot.twin.pulses import PwmChips
from tests.rig.boards import SERVO_PINS, Rig, program, rig_of, simulated


def pytest_collectstart(collector: pytest.Collector) -> None:
    if isinstance(collector, pytest.Module):
        for name, test in list(vars(collector.obj).items()):
            if name.startswith("test_") and inspect.iscoroutinefunction(test):
                setattr(collector.obj, name, simulated(test))


@pytest.fixture
def host_rig() -> Iterator[Rig]:
    with rig_of(program("cubist-firmware-host")) as rig:
        yield rig


@pytest.fixture
def linux_rig(tmp_path: Path) -> Iterator[Rig]:
    """Yield a Raspberry Pi as a board that steps faster than any real one."""
    options = ("--pwm", tmp_path / "pwm", "--step-rate", "60000")
    with rig_of(program("cubist-firmware-linux"), *options) as rig:
        rig.pins.chips = PwmChips(tmp_path / "pwm", SERVO_PINS, rig.pins.pulse_edge)
        yield rig
        rig.pins.chips.close()


@pytest.fixture
def uno() -> Iterator[Rig]:
    """Yield an Uno under simavr whose main loop can be made to hang."""
    elf = build("uno").elf
    options = ("--elf", elf, "--stack", "--hang-at", hex(AVR.address(elf, "firmware_poll")))
    with rig_of(program("cubist-firmware-avr"), *options) as rig:
        yield rig


@pytest.fixture
def pico_command(tmp_path: Path) -> list[str]:
    """Return the command that runs a Raspberry Pi Pico under rp2040js; skip if it is missing."""
    try:
        return simulations()["rp2040"].command(load_profile("six-motor-pico"), tmp_path)
    except FirmwareError as missing:
        pytest.skip(str(missing))


@pytest.fixture
def pico(pico_command: list[str]) -> Iterator[Rig]:
    with rig_of(*pico_command) as rig:
        yield rig


@pytest.fixture
def usb_pico(pico_command: list[str]) -> Iterator[Rig]:
    with rig_of(*pico_command, "--usb") as rig:
        yield rig


@pytest.fixture(
    params=[
        "host_rig",
        "linux_rig",
        pytest.param("pico", marks=pytest.mark.long),
        pytest.param("usb_pico", marks=pytest.mark.long),
    ]
)
def rig(request: pytest.FixtureRequest) -> Rig:
    """Return a board that makes edges, one that sets pulses, and a chip at either of its ports."""
    rig: Rig = request.getfixturevalue(request.param)
    return rig


@pytest.fixture
def link(rig: Rig) -> Link:
    """Return a link to the board: open, configured, homed."""
    return rig.loop.run_until_complete(rig.homed_link())
