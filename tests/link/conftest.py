"""Boards in simulated time as fixtures; tests that are coroutines run in that time."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path

import pytest

from robot.computer.board_family import BuiltFirmware, build, executable
from robot.computer.families.avr import AVR
from robot.link import Link
from robot.twin.pulses import PwmChips
from tests.rig.boards import SERVO_PINS, Rig, program, rig_of, simulated


def pytest_collectstart(collector: pytest.Collector) -> None:
    """Tests here that are coroutines run in the simulated time of their rig."""
    if isinstance(collector, pytest.Module):
        for name, test in list(vars(collector.obj).items()):
            if name.startswith("test_") and inspect.iscoroutinefunction(test):
                setattr(collector.obj, name, simulated(test))


@pytest.fixture
def host_rig() -> Iterator[Rig]:
    """A board with the firmware of this computer."""
    with rig_of(program("cubist-firmware-host")) as rig:
        yield rig


@pytest.fixture
def linux_rig(tmp_path: Path) -> Iterator[Rig]:
    """A Raspberry Pi as a board, that steps as fast as no real one does."""
    options = ("--pwm", tmp_path / "pwm", "--step-rate", "60000")
    with rig_of(program("cubist-firmware-linux"), *options) as rig:
        rig.pins.chips = PwmChips(tmp_path / "pwm", SERVO_PINS, rig.pins.pulse_edge)
        yield rig
        rig.pins.chips.close()


@pytest.fixture(params=["host_rig", "linux_rig"])
def rig(request: pytest.FixtureRequest) -> Rig:
    """A board that makes edges, and one that sets pulses."""
    rig: Rig = request.getfixturevalue(request.param)
    return rig


@pytest.fixture
def link(rig: Rig) -> Link:
    """A link to it: open, configured, homed."""
    return rig.loop.run_until_complete(rig.homed_link())


@pytest.fixture(scope="session")
def avr_program() -> BuiltFirmware:
    """The firmware of the Uno, and what simulates it: both are there, `make test` sees to it."""
    executable("cubist-firmware-avr")
    return build("uno")


@pytest.fixture
def uno(avr_program: BuiltFirmware) -> Iterator[Rig]:
    """An Uno under simavr, whose main loop can be made to hang."""
    main_loop = AVR.address(avr_program.elf, "firmware_poll")
    options = ("--elf", avr_program.elf, "--stack", "--hang-at", hex(main_loop))
    with rig_of(program("cubist-firmware-avr"), *options) as rig:
        yield rig
