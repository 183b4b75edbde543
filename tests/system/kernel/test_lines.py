"""A slow stepper at real GPIO lines: steps are counted, and how late they are is measured."""

from __future__ import annotations

from typing import Any

import pytest

from tests.system.kernel.inside.lines import (
    DIRECTION,
    ENABLE,
    FASTEST,
    SENSED_LATE,
    STEP,
    STEPS,
)
from tests.system.kernel.intervals import errors_us, intervals_us, quantile, times_us

pytestmark = [pytest.mark.long, pytest.mark.timeout(3600)]

INTERVAL_US = 1e6 / FASTEST
WAY_US = 60.0
"""Between steps the way into the kernel differs by so much."""
DRIVER_NEEDS_US = 2.0
Found = dict[str, Any]


@pytest.fixture
def found(scenarios: dict[str, Found]) -> Found:
    """What came of a motor in the machine."""
    return scenarios["lines"]


def test_the_chip_is_told_by_its_label(found: Found) -> None:
    """Not by its number: another one is the first."""
    assert found["chip"] == "gpiochip1"


def test_a_line_that_another_program_has_is_named(found: Found) -> None:
    assert found["taken"].startswith(
        f"a line of the Raspberry Pi cannot be used (GPIO {STEP}): another program"
    )
    assert "`gpioinfo` shows who has it" in found["taken"]
    assert f"cubist-firmware-linux: GPIO {STEP}: Device or resource busy" in found["complaints"]


def test_the_end_stop_is_found(found: Found) -> None:
    """Where the firmware believes three steps in a row that it is active."""
    home = found["home"]
    assert home["told"] == 0
    assert -SENSED_LATE <= home["stands"] <= 0
    assert home["sensor"] == ["turner"]


def test_the_driver_has_power_while_it_is_needed(found: Found) -> None:
    assert found["home"]["enable"] == [1, 0], "active low: off before, on while homed"
    assert found["steps"]["enable"] == 1
    for load in ("alone", "busy"):
        levels = [value for _, pin, value in found["steps"][load]["changes"] if pin == ENABLE]
        assert set(levels) <= {0}, "never without power in between"


@pytest.mark.parametrize("load", ["alone", "busy"])
def test_every_step_is_made_once_and_in_its_direction(found: Found, load: str) -> None:
    run = found["steps"][load]
    at, sign = 0, 0
    places = [0]
    for _, pin, value in run["changes"]:
        if pin == DIRECTION:
            sign = 1 if value else -1
        elif pin == STEP and value:
            at += sign
            places.append(at)
    assert places == [*range(STEPS + 1), *range(STEPS - 1, -1, -1)]
    assert run["executed"] == run["planned"]


@pytest.mark.parametrize("load", ["alone", "busy"])
def test_steps_are_never_twice_as_fast_as_planned(found: Found, load: str) -> None:
    """However late the kernel lets the process run: what is later goes on later."""
    shortest = min(intervals_us(found["steps"][load]["changes"], STEP))
    assert shortest >= INTERVAL_US / 2 - WAY_US


@pytest.mark.parametrize("load", ["alone", "busy"])
def test_steps_are_in_time(found: Found, load: str) -> None:
    """Beside other programs too: 99 in 100 within a tenth of their interval."""
    errors = errors_us(found["steps"][load]["changes"], STEP, INTERVAL_US)
    assert quantile(errors, 0.99) <= INTERVAL_US / 10


@pytest.mark.parametrize("load", ["alone", "busy"])
def test_step_pulses_are_long_enough_for_any_driver(found: Found, load: str) -> None:
    run = found["steps"][load]
    pulses = zip(
        times_us(run["changes"], STEP, 1),
        times_us(run["changes"], STEP, 0)[-2 * STEPS :],
        strict=True,
    )
    assert min(fall - rise for rise, fall in pulses) >= DRIVER_NEEDS_US


def test_the_direction_changes_long_before_the_next_step(found: Found) -> None:
    for load in ("alone", "busy"):
        changes = found["steps"][load]["changes"]
        steps = times_us(changes, STEP, 1)
        for turned in times_us(changes, DIRECTION, 0)[1:]:
            assert min((step - turned for step in steps if step > turned), default=1e6) >= 20


def test_an_index_is_looked_at_after_a_turn(found: Found) -> None:
    right, jammed, again = found["index"]["told"]
    assert (right, again) == ("nothing", "nothing")
    assert jammed.startswith("an actuator is not where its turn should have ended (turner)")


def test_a_chip_that_goes_in_a_turn_is_named(found: Found) -> None:
    assert found["unplugged"][0].startswith(
        f"a line of the Raspberry Pi cannot be used (GPIO {STEP})"
    )
    gone = [text for text in found["complaints"] if text.endswith("No such device")]
    assert len(gone) <= 2, "it is said once"
