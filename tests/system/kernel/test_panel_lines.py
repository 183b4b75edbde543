"""The panel on real GPIO lines: the kernel's gpio-sim in a virtual machine, through rpi-lgpio."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = [pytest.mark.long, pytest.mark.timeout(1800)]


@pytest.fixture
def found(scenarios: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """What the panel was told in the machine."""
    return scenarios["panel"]


def test_presses_are_told_apart_though_the_contact_bounces(found: dict[str, Any]) -> None:
    assert found["presses"] == ["short", "long", "very-long"]


def test_bounce_and_the_mains_are_no_presses(found: dict[str, Any]) -> None:
    assert found["noise"] == []


def test_the_emergency_stop_and_its_broken_wire(found: dict[str, Any]) -> None:
    assert found["emergency"] == ["estop True", "estop False", "estop True"]


def test_light_and_buzzer_drive_their_lines(found: dict[str, Any]) -> None:
    assert found["light"] == [1, [0, 1], 1]


def test_a_pin_that_another_program_uses_is_a_clear_fault(found: dict[str, Any]) -> None:
    assert found["busy"].startswith("GPIO 17: GPIO busy. Check that")
    assert found["after"] == "nothing"
