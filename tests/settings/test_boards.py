"""What profiles may ask of each board: its pins, one use of each, speeds that it can make."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from robot.machine.board_configuration import actuator_setups
from robot.planner import build_mechanism
from robot.settings import BadProfile, Servo, load_profile, parse_profile
from robot.settings.board_table import FRAME_US
from robot.settings.boards import BOARD_TARGETS
from robot.settings.checks import check_profile
from robot.settings.kinds import Kinds
from robot.settings.loader import profile_path
from solver.errors import InvalidRequest
from tests.rig.profiles import changed, findings

pytestmark = pytest.mark.quick

STEPPER = {
    "kind": "stepper",
    "pins": {"step": 5, "direction": 6},
    "steps_per_turn": 800,
    "max_speed_steps_per_s": 1000,
    "max_acceleration_steps_per_s2": 1000,
}


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
    found = findings(robot, changes)
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
    pins = [at for at, _ in findings(robot, changes) if "pins" in at]
    assert pins == []


@pytest.mark.parametrize(
    "name", ["pca9685:16", "pca9685:-1", "pca9685", "maestro:24", "maestro:01", "pwmchip0:1", "12"]
)
def test_no_name_of_a_channel(name: str) -> None:
    with pytest.raises(ValueError, match="pulse"):
        changed("cubotino", {"actuators.lid.pins.pulse": name})


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
    moved = uno.with_board("linux")
    assert moved.firmware.target == "linux" and moved.actuators.keys() == uno.actuators.keys()
    times = [
        robot.actuators_of(Servo)["lid"].transition_us("open", "close") for robot in (moved, uno)
    ]
    assert times == [(300_000, 220_000), (300_000, 200_000)]


SECOND = {"second": {"target": "atmega328p", "port": "/dev/ttyUSB1"}}
TWO_BOARDS: dict[str, Any] = {
    "link.port": "/dev/ttyUSB0",
    "boards": SECOND,
    "actuators.lid.board": "second",
}
"""An Uno for the holder and one for the lid."""
MOTORS = {
    f"motor{number}": STEPPER | {"board": "second", "pins": {"step": 2, "direction": 3}}
    for number in range(8)
}


def test_pins_are_counted_at_each_board() -> None:
    same_pin = changed("cubotino-uno", TWO_BOARDS | {"actuators.lid.pins.pulse": 9})
    assert check_profile(same_pin) == []
    assert same_pin.actuators["holder"].connections == same_pin.actuators["lid"].connections
    assert same_pin.board_of(same_pin.actuators["lid"]) is same_pin.boards["second"]
    assert same_pin.board_of(same_pin.actuators["holder"]) is same_pin.firmware


@pytest.mark.parametrize(
    ("changes", "key", "text"),
    [
        ({"actuators.lid.board": "third"}, "actuators.lid.board", "no board is called third"),
        ({"actuators.lid.pins.pulse": 20}, "actuators.lid.pins.pulse", "has pins 2..19, not 20"),
        ({"link.port": "auto"}, "link.port", "nobody can tell them apart"),
        ({"boards.second.port": "auto"}, "boards.second.port", "nobody can tell boards apart"),
        ({"boards.second.port": "/dev/ttyUSB0"}, "boards.second.port", "is the first board alr"),
        ({"actuators.holder.board": "second"}, "boards", "the first board, that of `firmware`"),
        ({"actuators.lid.board": None}, "boards.second", "drives no actuator"),
        (
            {"firmware.target": "linux", "boards.second.target": "linux"},
            "boards.second.target",
            "own pins are the first board already",
        ),
        (
            {"boards.first": SECOND["second"] | {"port": "/dev/ttyUSB2"}},
            "boards.first",
            "what the board of `firmware` is called",
        ),
        ({"actuators.lid.pins.pulse": "maestro:1"}, "actuators.lid.pins.pulse", "not 65"),
        (
            {
                "boards.second.target": "linux",
                "actuators.motor": STEPPER | {"board": "second", "max_speed_steps_per_s": 1001},
            },
            "actuators.motor.max_speed_steps_per_s",
            "more than 1000",
        ),
        (
            {"boards.second.target": "linux", "panel.buzzer_gpio": 10},
            "actuators.lid.pins.pulse",
            "GPIO 10 is already panel.buzzer_gpio",
        ),
        (
            {f"actuators.{name}": motor for name, motor in MOTORS.items()},
            "boards.second",
            "9 actuators at one board, which drives 8",
        ),
    ],
)
def test_what_several_boards_cannot_do(changes: dict[str, Any], key: str, text: str) -> None:
    found = findings("cubotino-uno", TWO_BOARDS | changes)
    assert any(at == key and text in told for at, told in found), found


def test_an_unknown_board_is_named_with_its_line() -> None:
    text = profile_path("cubotino-uno").read_text()
    wrong = text.replace("  lid:\n", "  lid:\n    board: secnd\n", 1)
    with pytest.raises(BadProfile) as told:
        parse_profile(wrong, "mine.yaml")
    line = wrong.splitlines().index("    board: secnd") + 1
    assert f"mine.yaml:{line}" in str(told.value)
    assert "no board is called secnd (further boards: none)" in str(told.value)


def test_several_boards_can_be_planned_for_and_driven() -> None:
    profile = changed("cubotino-uno", TWO_BOARDS)
    assert build_mechanism(profile).configurations
    assert profile.is_drivable
    assert [setup.name for setup in actuator_setups(profile)] == list(profile.actuators)
    boards = {name: profile.board_name_of(name) for name in profile.actuators}
    assert boards == {"holder": "first", "lid": "second"}
    ports = {name: board.port for name, board in profile.every_board.items()}
    assert ports == {"first": "/dev/ttyUSB0", "second": "/dev/ttyUSB1"}


def test_an_unknown_kind_is_told_with_those_there_are() -> None:
    kinds: Kinds[int] = Kinds("mechanism", built_in=("flipper",))
    kinds["crane"] = 1
    with pytest.raises(InvalidRequest, match="no mechanism lift; there is flipper, crane"):
        kinds["lift"]
    assert "lift" not in kinds
