"""The panel's pins as a profile names them: levels, and the resistors that hold them at rest."""

from __future__ import annotations

from typing import Any

import pytest

from robot.machine.assembly import panel_pins
from robot.panel.panel import Input, Output, PanelPins
from robot.settings.profile import PanelSettings

ALL = {
    "start_button_gpio": 1,
    "led_gpio": 2,
    "buzzer_gpio": 3,
    "estop_gpio": 4,
    "left_pad_gpio": 5,
    "right_pad_gpio": 6,
}
OTHER = {
    "start_button_active": "high",
    "led_active": "low",
    "buzzer_active": "low",
    "estop_active": "low",
    "pads_active": "low",
}


@pytest.mark.parametrize(
    ("settings", "pins"),
    [
        (
            ALL,
            PanelPins(
                start_button=Input(1, active=False, pull="up"),
                led=Output(2, active=True),
                buzzer=Output(3, active=True),
                # A broken wire stops, too.
                estop=Input(4, active=True, pull="up"),
                pads=(Input(5, active=True, pull="down"), Input(6, active=True, pull="down")),
            ),
        ),
        (
            ALL | OTHER,
            PanelPins(
                start_button=Input(1, active=True, pull="down"),
                led=Output(2, active=False),
                buzzer=Output(3, active=False),
                estop=Input(4, active=False, pull="down"),
                pads=(Input(5, active=False, pull="up"), Input(6, active=False, pull="up")),
            ),
        ),
        ({}, PanelPins(start_button=None, led=None, buzzer=None, estop=None, pads=())),
    ],
)
def test_pins_rest_where_they_do_not_act(settings: dict[str, Any], pins: PanelPins) -> None:
    assert panel_pins(PanelSettings(**settings)) == pins
