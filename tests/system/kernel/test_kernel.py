"""Linux's own GPIO, PWM and cameras, as on a Raspberry Pi, in virtual machines.

``inside/`` has the scenarios: a slow stepper at GPIO lines, the panel through rpi-lgpio, and a
PCA9685 with eight servos through the kernel's driver, all in one boot; and the table of camera
behaviour with the real libraries, in another.
"""

from __future__ import annotations

from dataclasses import fields
from itertools import pairwise
from typing import Any

import pytest

from robot.settings.board_table import FRAME_US
from tests.rig.camera_table import TABLE, Seen, judge
from tests.system.kernel.inside.lines import (
    DIRECTION,
    ENABLE,
    FASTEST,
    SENSED_LATE,
    STEP,
    STEPS,
    errors_us,
    intervals_us,
    quantile,
    times_us,
)
from tests.system.kernel.machine import boot, boot_cameras, fetch_kernel, fetch_system, or_skip

pytestmark = [pytest.mark.long, pytest.mark.timeout(3600)]

Found = dict[str, Any]


@pytest.fixture(scope="session")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Found]:
    kernel = or_skip(fetch_kernel, tmp_path_factory.mktemp("kernel"))
    return boot(kernel, ("panel", "lines", "servo_board"))


def test_the_panel_hears_fingers_and_wires_and_no_noise(found):
    panel = found["panel"]
    assert panel["presses"] == ["short", "long", "very-long"]
    assert panel["noise"] == [], "contact bounce, and the mains in a long wire"
    assert panel["emergency"] == ["estop True", "estop False", "estop True"]
    assert panel["light"] == [1, [0, 1], 1]
    assert panel["busy"].startswith("GPIO 17: GPIO busy. Check that")
    assert panel["after"] == "nothing"


@pytest.fixture
def lines(found: dict[str, Found]) -> Found:
    return found["lines"]


@pytest.fixture(params=["alone", "busy"])
def run(lines: Found, request: pytest.FixtureRequest) -> Found:
    """Return the steps forwards and back, alone and beside other programs."""
    steps: Found = lines["steps"][request.param]
    return steps


INTERVAL_US = 1e6 / FASTEST
WAY_US = 60.0
"""Largest difference in time between two steps on their way through the kernel."""
DRIVER_NEEDS_US = 2.0


def test_lines_are_found_by_the_chip_s_label_and_named_if_they_are_taken_or_gone(lines):
    assert lines["chip"] == "gpiochip1", "another chip is the first"
    cannot_be_used = f"a line of the Raspberry Pi cannot be used (GPIO {STEP})"
    assert lines["taken"].startswith(f"{cannot_be_used}: another program")
    assert "`gpioinfo` shows what uses it" in lines["taken"]
    assert f"cubist-firmware-linux: GPIO {STEP}: Device or resource busy" in lines["complaints"]
    assert lines["unplugged"][0].startswith(cannot_be_used)
    gone = [text for text in lines["complaints"] if text.endswith("No such device")]
    assert len(gone) <= 2, "it is said once"


def test_switches_are_found_and_the_driver_has_power_while_it_is_needed(lines):
    home = lines["home"]
    assert (home["told"], home["sensor"]) == (0, ["turner"])
    assert -SENSED_LATE <= home["stands"] <= 0, "believed three steps in a row"
    assert home["enable"] == [1, 0], "active low: off before, on while homed"
    assert lines["steps"]["enable"] == 1
    right, jammed, again = lines["index"]["told"]
    assert (right, again) == ("nothing", "nothing")
    assert jammed.startswith("an actuator is not where its turn should have ended (turner)")


def test_every_step_is_made_once_and_in_its_direction(run):
    at, sign = 0, 0
    places = [0]
    for _, pin, value in run["changes"]:
        assert (pin, value) != (ENABLE, 1), "never without power in between"
        if pin == DIRECTION:
            sign = 1 if value else -1
        elif pin == STEP and value:
            at += sign
            places.append(at)
    assert places == [*range(STEPS + 1), *range(STEPS - 1, -1, -1)]
    assert run["executed"] == run["planned"]


def test_steps_are_in_time_for_the_motor_and_its_driver(run):
    """Check the timing however late the kernel schedules the process: late steps stay late."""
    changes = run["changes"]
    assert min(intervals_us(changes, STEP)) >= INTERVAL_US / 2 - WAY_US
    assert quantile(errors_us(changes, STEP, INTERVAL_US), 0.99) <= INTERVAL_US / 10
    rises, falls = times_us(changes, STEP, 1), times_us(changes, STEP, 0)[-2 * STEPS :]
    pulses = (fall - rise for rise, fall in zip(rises, falls, strict=True))
    assert min(pulses) >= DRIVER_NEEDS_US
    for turned in times_us(changes, DIRECTION, 0)[1:]:
        assert min((rise - turned for rise in rises if rise > turned), default=1e6) >= 20


@pytest.fixture
def servos(found: dict[str, Found]) -> Found:
    return found["servo_board"]


COUNTS = 4096
FIRST_REGISTER, LAST_REGISTER = 0x06, 0x45
ON_LOW, ON_HIGH, OFF_LOW, OFF_HIGH = range(4)
"""Registers of a channel, in order."""
ASLEEP = 0x10
OFF = 0x1000
"""Register bit that switches a channel off: no pulses at all."""
AT_50_HZ = 0x79


def counts(pulse_us: float) -> float:
    """Return the counts of a pulse in a frame of 20 ms."""
    return pulse_us * COUNTS / FRAME_US


def pulses(servos: Found) -> list[tuple[int, int]]:
    """Return channel and counts of all pulses that were set, in order."""
    registers: dict[int, int] = {}
    told = []
    for register, value in servos["bytes"]:
        registers[register] = value
        channel, place = divmod(register - FIRST_REGISTER, 4)
        if place == OFF_HIGH and FIRST_REGISTER <= register <= LAST_REGISTER:
            told.append((channel, registers.get(register - 1, 0) | value << 8))
    return told


def duties_ns(servos: Found) -> list[int]:
    """Return the pulses that the driver was asked for, in the same order."""
    return [int(text.partition("duty_cycle=")[2].split()[0]) for text in servos["applied"]]


def test_servos_have_pulses_at_50_hertz_until_they_are_released(servos):
    assert servos["exported"] == [[], []], "before the board starts, and again with its service"
    assert servos["prescale"] == AT_50_HZ
    assert not servos["mode"] & ASLEEP
    for (_, start_us, *_), (on, off) in zip(servos["servos"], servos["at_start"], strict=True):
        assert (on, pytest.approx(off, abs=1)) == (0, counts(start_us))
    assert all(off & OFF for _, off in servos["released"])


def test_every_pulse_is_as_it_was_told_within_a_count(servos):
    told, wanted = pulses(servos), duties_ns(servos)
    assert len(told) == len(wanted) >= 8 * 40, "eight servos, two slews of twenty frames and more"
    for (_, off), duty_ns in zip(told, wanted, strict=True):
        assert abs(off - counts(duty_ns / 1000)) <= 1


def test_each_servo_goes_straight_from_end_to_end(servos):
    assert servos["plan"]["planned"] == servos["plan"]["executed"]
    channels = [channel for channel, _ in pulses(servos)]
    for channel, start_us, least_us, most_us in servos["servos"]:
        both = zip(channels, duties_ns(servos), strict=True)
        path = [start_us * 1000, *(duty_ns for at, duty_ns in both if at == channel)]
        least = path.index(least_us * 1000)
        most = path.index(most_us * 1000, least)
        assert path[-1] == start_us * 1000
        stages = path[: least + 1], path[least : most + 1], path[most:]
        for stage, rising in zip(stages, (False, True, False), strict=True):
            assert stage == sorted(set(stage), reverse=not rising)
            steps = [abs(b - a) for a, b in pairwise(stage[1:-1])]
            assert max(steps, default=0) - min(steps, default=0) <= 2_000, "straight"


def test_nothing_comes_between_two_pulses(servos):
    """Check the pulses between two writes of the driver, which writes four bytes for each pulse.

    A frame may begin between any two of them, so the low byte of the new pulse may stand beside the
    high byte of the old one. That pulse differs from both only where the high byte changes, at 1.25
    ms: see docs/wiring.md.
    """
    registers: dict[int, int] = {}
    between = 0
    for register, value in servos["bytes"]:
        before = registers.get(register)
        registers[register] = value
        place = (register - FIRST_REGISTER) % 4
        if place in (ON_LOW, ON_HIGH):
            assert value == 0, "every pulse begins with its frame"
        if place == OFF_HIGH and before is not None and before != value:
            between += 1
    crossings = 3 * len(servos["servos"])
    assert 0 < between <= crossings, "once for each way across 1.25 ms"


@pytest.mark.parametrize("fault", ["unplugged", "without_power"])
def test_a_chip_that_fails_in_a_slew_is_named_and_overcome(servos, fault):
    told, (_, off) = servos[fault]["fault"], servos[fault]["counts"][0]
    assert told.startswith("a servo's pulse could not be set (white-clamp)")
    assert "check the servo board's cable and power" in told
    assert abs(off - counts(servos["servos"][0][3])) <= 1
    # After a power loss the chip's period is wrong, which its driver notices one channel at a time.
    assert any("duty_cycle: Device or resource busy" in text for text in servos["complaints"])


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Found]:
    system = or_skip(fetch_system, tmp_path_factory.mktemp("made"))
    return boot_cameras(system, tmp_path_factory.mktemp("guest"))


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.name)
def test_a_real_camera_behaves_as_in_the_table(row, rows):
    seen = rows[row.name]
    assert "error" not in seen, seen["error"]
    observed = Seen(**{field.name: seen[field.name] for field in fields(Seen)})
    assert judge(row, observed) == {}, seen
