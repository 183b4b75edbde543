"""A Pololu Maestro: what it is told, what it makes of that, and what can go wrong."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from robot.link import ServoSetup
from robot.motion.schedule import Schedule, TimedTurn
from robot.motion.servo import servo_slew
from robot.settings.board_table import FIRST_MAESTRO, FRAME_US
from robot.text.faults import Fault, RobotError
from robot.twin.maestro import SET_TARGET, ChannelLimits, Maestro
from tests.rig.boards import program, rig_of

Rig = Any
FIRST = ServoSetup(
    "first", pin=FIRST_MAESTRO, minimum_us=500, maximum_us=2500, start_us=1500, home_ms=100
)
LAST = replace(FIRST, name="last", pin=FIRST_MAESTRO + 23)
SERVOS = (FIRST, LAST)
PINS = [servo.pin for servo in SERVOS]
BEYOND = 2300
"""Microseconds beyond the limits of a new Maestro's channels."""


@pytest.fixture
def device() -> tuple[str, ...]:
    """Further options of the board's program."""
    return ()


@pytest.fixture
def said(tmp_path: Path) -> Path:
    """What the board's program writes to its standard error."""
    return tmp_path / "said"


@pytest.fixture
def pi(tmp_path: Path, said: Path, device: tuple[str, ...]) -> Iterator[Rig]:
    """A Raspberry Pi with a Maestro that drives a servo at its first channel and at its last."""
    shell = ("sh", "-c", f'exec "$0" "$@" 2>{said}')
    options = ("--maestro", tmp_path / "maestro", *device)
    with rig_of(*shell, program("cubist-firmware-linux"), *options) as rig:
        rig.pins.chips = Maestro(tmp_path / "maestro", PINS, rig.pins.pulse_edge)
        yield rig
        rig.pins.chips.close()


def slew(servo: ServoSetup, to_us: int = BEYOND, duration_us: int = 400_000) -> Schedule:
    profile = servo_slew(servo.name, 1500, to_us, duration_us, FRAME_US)
    return Schedule((profile,), (TimedTurn(0, 0),), profile.duration_us)


def targets(rig: Rig, servo: ServoSetup) -> list[tuple[float, float]]:
    """When a servo's channel was told which pulse, in microseconds."""
    return [
        (one.time_us, (one.data[1] | one.data[2] << 7) / 4)
        for one in rig.pins.chips.commands
        if one.command == SET_TARGET and one.data[0] == servo.pin - FIRST_MAESTRO
    ]


async def test_every_target_is_exact_and_one_in_each_frame(pi: Rig) -> None:
    link = await pi.homed_link(setups=SERVOS)
    for servo in SERVOS:
        pi.pins.chips.commands.clear()
        plan = slew(servo)
        execution = await link.run(plan)
        assert (execution.executed_us, execution.events) == (plan.duration_us, ())
        told = targets(pi, servo)
        widths = [width for _, width in told]
        assert widths == sorted(set(widths)) and widths[-1] == BEYOND
        assert len(widths) in (20, 21), "one in every frame of 20 ms"
        assert {round(b - a) % FRAME_US for (a, _), (b, _) in pairwise(told)} == {0}
        assert pi.pins.pulses(servo.pin)[-1][1] == BEYOND * 2, "the servo got it"


async def test_limits_of_its_own_are_found_and_named(said: Path, pi: Rig) -> None:
    """As every channel of a new one has: the servo would stop short without a word."""
    pi.pins.chips.faults.limits[23] = ChannelLimits(992, 2000)
    link = await pi.homed_link(setups=SERVOS)
    await link.run(slew(FIRST))
    await link.run(slew(LAST))
    await asyncio.sleep(3.0)
    status = await link.status()
    assert (status.fault, status.fault_detail) == (Fault.PULSE_LIMITED, 1)
    assert not status.homed & 2, "where it stands is not known"
    assert "channel 23 makes pulses of 2000.00 us instead of 2300.00" in said.read_text()


async def test_one_that_does_not_answer_is_named(pi: Rig) -> None:
    """In another serial mode than USB Dual Port nobody hears the commands."""
    pi.pins.chips.faults.silent = True
    link = pi.link(SERVOS)
    await link.open()
    with pytest.raises(RobotError) as caught:
        await link.configure()
        await link.home()
        await asyncio.sleep(5.0)
        await link.run(slew(FIRST))
    assert (caught.value.code, caught.value.detail) == ("pulse-silent", "first")
    assert "USB Dual Port" in caught.value.remedy


async def test_one_unplugged_in_mid_turn_is_named_and_overcome(tmp_path: Path, pi: Rig) -> None:
    link = await pi.homed_link(setups=SERVOS)
    descriptors = Path(f"/proc/{pi.board.process.pid}/fd")
    open_before = len(list(descriptors.iterdir()))
    run = asyncio.create_task(link.run(slew(FIRST, duration_us=2_000_000)))
    await asyncio.sleep(0.5)
    pi.pins.chips.close()
    with pytest.raises(RobotError) as caught:
        await run
    assert (caught.value.code, caught.value.detail) == ("pulse-failed", "first")
    assert not (await link.status()).homed & 1, "where it stands is not known"
    pi.pins.chips = Maestro(tmp_path / "maestro", PINS, pi.pins.pulse_edge)
    await link.open()
    await link.configure()
    await link.home()
    await link.run(slew(FIRST))
    assert pi.pins.pulses(FIRST.pin)[-1][1] == BEYOND * 2
    assert len(list(descriptors.iterdir())) == open_before, "the port that is gone is closed"
