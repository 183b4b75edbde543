"""What profiles may ask of each board: its pins, one use of each, speeds that it can make."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from robot.settings import RobotProfile, Servo, load_profile
from robot.settings.board_table import FIRST_CHANNEL, FIRST_MAESTRO, FRAME_US
from robot.settings.boards import BOARD_TARGETS
from robot.settings.checks import check_profile

pytestmark = pytest.mark.quick

STEPPER = {
    "kind": "stepper",
    "pins": {"step": 5, "direction": 6},
    "steps_per_turn": 800,
    "max_speed_steps_per_s": 1000,
    "max_acceleration_steps_per_s2": 1000,
}


def changed(robot: str, changes: dict[str, Any]) -> RobotProfile:
    """A shipped robot with other values, by their dotted keys."""
    document: Any = load_profile(robot).model_dump(mode="json", exclude_unset=True)
    for key, value in changes.items():
        *path, last = key.split(".")
        place = document
        for step in path:
            place = place.setdefault(step, {})
        place[last] = value
    return RobotProfile.model_validate(document)


@pytest.mark.parametrize(
    ("robot", "changes", "key", "text"),
    [
        ("cubotino", {"actuators.lid.pins.pulse": 13}, "lid", "already the pulse of holder"),
        (
            "cubotino",
            {"actuators.lid.pins.pulse": 28},
            "lid",
            "2..27, 32..47, 64..87, not 28: BCM numbers",
        ),
        ("cubotino", {"actuators.lid.pins.pulse": 48}, "lid", "not 48"),
        ("cubotino", {"actuators.lid.pins.pulse": 19}, "lid", "13 and 19 are one channel"),
        ("cubotino", {"actuators.lid.pins.pulse": 26}, "lid", "already panel.start_button_gpio"),
        ("cubotino", {"panel.buzzer_gpio": 12}, "lid", "GPIO 12 is already panel.buzzer_gpio"),
        ("cubotino-uno", {"actuators.lid.pins.pulse": "pca9685:1"}, "lid", "not 33"),
        ("cubotino-uno", {"actuators.lid.pins.pulse": "maestro:1"}, "lid", "not 65"),
        ("otvinta", {"actuators.left.pins.pulse": "maestro:0"}, "left", "pin maestro:0 is already"),
        (
            "cubotino",
            {"actuators.motor": STEPPER | {"pins": {"step": 5, "direction": "maestro:23"}}},
            "motor",
            "maestro:23 makes servo pulses and nothing else",
        ),
        ("v-arms", {"actuators.down.pins.pulse": "pca9685:0"}, "down", "pin pca9685:0 is already"),
        ("v-arms", {"actuators.down.pins.pulse": 3}, "down", "GPIO 3 is SCL of the bus"),
        (
            "cubotino",
            {"actuators.motor": STEPPER | {"pins": {"step": 5, "direction": "pca9685:2"}}},
            "motor",
            "pca9685:2 makes servo pulses and nothing else",
        ),
        (
            "cubotino",
            {"actuators.motor": STEPPER | {"max_speed_steps_per_s": 1001}},
            "motor.max_speed_steps_per_s",
            "wakes too irregularly for more than 1000",
        ),
    ],
)
def test_what_a_board_cannot_do(robot: str, changes: dict[str, Any], key: str, text: str) -> None:
    found = [(".".join(map(str, at)), told) for at, told in check_profile(changed(robot, changes))]
    assert any(f"actuators.{key}" in at and text in told for at, told in found), found


@pytest.mark.parametrize(
    ("robot", "changes"),
    [
        ("cubotino", {"actuators.lid.pins.pulse": 18, "panel.led_gpio": 12}),
        ("cubotino", {"actuators.lid.pins.pulse": "pca9685:15"}),
        ("cubotino", {"actuators.lid.pins.pulse": 2}),
        ("otvinta", {"panel.buzzer_gpio": 3}),
        ("cubotino", {"actuators.motor": STEPPER}),
        ("cubotino-uno", {"panel.buzzer_gpio": 9}),
    ],
)
def test_what_it_can(robot: str, changes: dict[str, Any]) -> None:
    pins = [at for at, _ in check_profile(changed(robot, changes)) if "pins" in at]
    assert pins == []


@pytest.mark.parametrize(
    "name", ["pca9685:16", "pca9685:-1", "pca9685", "maestro:24", "maestro:01", "pwmchip0:1", "12"]
)
def test_no_name_of_a_channel(name: str) -> None:
    with pytest.raises(ValueError, match="pulse"):
        changed("cubotino", {"actuators.lid.pins.pulse": name})


def test_channels_are_numbers_on_the_wire() -> None:
    pulses = [servo.pins.pulse for servo in load_profile("v-arms").actuators_of(Servo).values()]
    assert pulses == [FIRST_CHANNEL + channel for channel in range(4)]
    pulses = [servo.pins.pulse for servo in load_profile("otvinta").actuators_of(Servo).values()]
    assert pulses == [FIRST_MAESTRO + channel for channel in range(8)]


def test_pins_of_a_mega_are_not_named_as_channels() -> None:
    """Though it has some of the same numbers."""
    assert BOARD_TARGETS["atmega2560"].name_of(FIRST_MAESTRO) == "64"
    assert BOARD_TARGETS["linux"].name_of(FIRST_MAESTRO) == "maestro:0"


@pytest.mark.parametrize("held", [False, True])
def test_travels_take_a_frame_longer_where_the_board_repeats_pulses(held: bool) -> None:
    own, uno = (load_profile(name) for name in ("cubotino", "cubotino-uno"))
    assert BOARD_TARGETS["linux"].frame_us == FRAME_US
    for name in ("lid", "holder"):
        servos = own.actuators_of(Servo)[name], uno.actuators_of(Servo)[name]
        places = list(servos[0].positions_us)
        for start, end in pairwise(places):
            times = [servo.transition_us(start, end, held) for servo in servos]
            assert times[0] is not None and times[1] is not None
            assert sum(times[0]) == sum(times[1]) + FRAME_US


def test_a_robot_moved_to_another_board_keeps_what_it_is() -> None:
    uno = load_profile("cubotino-uno")
    moved = uno.on_board("linux")
    assert moved.firmware.target == "linux" and moved.actuators.keys() == uno.actuators.keys()
    times = [
        robot.actuators_of(Servo)["lid"].transition_us("open", "close") for robot in (moved, uno)
    ]
    assert times == [(300_000, 220_000), (300_000, 200_000)]
