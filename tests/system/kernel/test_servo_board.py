"""A PCA9685 by the kernel's own driver: each pulse in its registers, and what can go wrong."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from robot.settings.board_table import FRAME_US

pytestmark = [pytest.mark.long, pytest.mark.timeout(3600)]

COUNTS = 4096
FIRST_REGISTER, LAST_REGISTER = 0x06, 0x45
ON_LOW, ON_HIGH, OFF_LOW, OFF_HIGH = range(4)
"""Registers of a channel, in their order."""
ASLEEP = 0x10
OFF = 0x1000
"""In the two registers that switch a channel off: no pulses, whatever else they say."""
AT_50_HZ = 0x79
DUTY = "duty_cycle="
Found = dict[str, Any]


@pytest.fixture
def found(scenarios: dict[str, Found]) -> Found:
    """What came of eight servos in the machine."""
    return scenarios["servo_board"]


def counts(pulse_us: float) -> float:
    """Of a pulse, in a frame of 20 ms."""
    return pulse_us * COUNTS / FRAME_US


def pulses(found: Found) -> list[tuple[int, int]]:
    """Channel and counts of all pulses that were set, in their order."""
    registers: dict[int, int] = {}
    told = []
    for register, value in found["bytes"]:
        registers[register] = value
        channel, place = divmod(register - FIRST_REGISTER, 4)
        if place == OFF_HIGH and FIRST_REGISTER <= register <= LAST_REGISTER:
            told.append((channel, registers.get(register - 1, 0) | value << 8))
    return told


def duties_ns(found: Found) -> list[int]:
    """What the driver was asked for, in the same order."""
    return [int(text.partition(DUTY)[2].split()[0]) for text in found["applied"]]


def test_channels_are_exported_without_a_complaint(found: Found) -> None:
    """Before the board starts, and again when its service does."""
    assert found["exported"] == [[], []]


def test_a_servo_at_rest_has_its_pulse_at_50_hertz(found: Found) -> None:
    assert found["prescale"] == AT_50_HZ
    assert not found["mode"] & ASLEEP
    for (_, start_us, *_), (on, off) in zip(found["servos"], found["at_start"], strict=True):
        assert (on, pytest.approx(off, abs=1)) == (0, counts(start_us))


def test_every_pulse_is_as_it_was_told_within_a_count(found: Found) -> None:
    told, wanted = pulses(found), duties_ns(found)
    assert len(told) == len(wanted) >= 8 * 40, "eight servos, two slews of twenty frames and more"
    for (_, off), duty_ns in zip(told, wanted, strict=True):
        assert abs(off - counts(duty_ns / 1000)) <= 1


def test_each_servo_goes_straight_from_end_to_end(found: Found) -> None:
    plan = found["plan"]
    assert plan["planned"] == plan["executed"]
    channels = [channel for channel, _ in pulses(found)]
    for channel, start_us, least_us, most_us in found["servos"]:
        both = zip(channels, duties_ns(found), strict=True)
        path = [start_us * 1000, *(duty_ns for at, duty_ns in both if at == channel)]
        least = path.index(least_us * 1000)
        most = path.index(most_us * 1000, least)
        assert path[-1] == start_us * 1000
        stages = path[: least + 1], path[least : most + 1], path[most:]
        for stage, rising in zip(stages, (False, True, False), strict=True):
            assert stage == sorted(set(stage), reverse=not rising)
            steps = [abs(b - a) for a, b in pairwise(stage[1:-1])]
            assert max(steps, default=0) - min(steps, default=0) <= 2_000, "straight"


def test_nothing_comes_between_two_pulses(found: Found) -> None:
    """The driver writes four bytes for a pulse, and a frame may begin between any two of them.

    So the low byte of the new pulse may stand beside the high byte of the old one. It is another
    pulse than either only where the high byte changes, at 1.25 ms: see docs/wiring.md.
    """
    registers: dict[int, int] = {}
    between = 0
    for register, value in found["bytes"]:
        before = registers.get(register)
        registers[register] = value
        place = (register - FIRST_REGISTER) % 4
        if place in (ON_LOW, ON_HIGH):
            assert value == 0, "every pulse begins with its frame"
        if place == OFF_HIGH and before is not None and before != value:
            between += 1
    crossings = 3 * len(found["servos"])
    assert 0 < between <= crossings, "once for each way across 1.25 ms"


def test_a_chip_that_is_unplugged_in_a_slew_is_named_and_overcome(found: Found) -> None:
    fault, (_, off) = found["unplugged"]["fault"], found["unplugged"]["counts"][0]
    assert fault.startswith("a servo's pulse could not be set (white-clamp)")
    assert "check the servo board's cable and power" in fault
    assert abs(off - counts(found["servos"][0][3])) <= 1


def test_a_chip_that_lost_its_power_is_named_and_overcome(found: Found) -> None:
    """Its period is another one then, which its driver notices: but only a channel at a time."""
    fault, (_, off) = found["without_power"]["fault"], found["without_power"]["counts"][0]
    assert fault.startswith("a servo's pulse could not be set (white-clamp)")
    assert abs(off - counts(found["servos"][0][3])) <= 1
    assert any("duty_cycle: Device or resource busy" in text for text in found["complaints"])


def test_released_servos_have_no_pulses(found: Found) -> None:
    assert all(off & OFF for _, off in found["released"])
