"""The limits of a profile's checks: values just allowed, and values just refused."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from robot.settings import BadProfile, Servo, load_profile, parse_profile, profile_path
from robot.settings.board_table import FRAME_US, MAX_STEPS_PER_S
from tests.rig.profiles import changed, findings

pytestmark = pytest.mark.quick

OWN, UNO, ARMS = "cubotino", "cubotino-uno", "four-arm"
HOLDER, LID, RIGHT = "actuators.holder", "actuators.lid", "actuators.right"
PULSE = f"{LID}.pins.pulse"
SKR = "four-arm-skr-pico"
FASTEST = MAX_STEPS_PER_S["atmega2560"]
JAW = "actuators.right-jaw.positions_steps.open"
HOMING = {
    "direction": -1,
    "speed_steps_per_s": 800,
    "slow_speed_steps_per_s": 100,
    "backoff_steps": 40,
    "max_travel_steps": 3000,
}
WITH_END_STOP = {f"{RIGHT}.pins.endstop": 40, f"{RIGHT}.homing": HOMING}
JAW_STEPPER = {
    "kind": "stepper",
    "pins": {"step": 50, "direction": 51},
    "max_speed_steps_per_s": 1000,
    "max_acceleration_steps_per_s2": 1000,
}
STEPPER = JAW_STEPPER | {"pins": {"step": 5, "direction": 6}, "steps_per_turn": 800}
SECOND = {"second": {"target": "atmega328p", "port": "/dev/ttyUSB1"}}
TWO_BOARDS = {"link.port": "/dev/ttyUSB0", "boards": SECOND, f"{LID}.board": "second"}
"""An Uno for the holder and one for the lid."""


def motor(**more: Any) -> dict[str, Any]:
    return {"actuators.motor": STEPPER | more}


def jaw(**more: Any) -> dict[str, Any]:
    opens_fully = {"mechanism.grippers.R.clear_part": 1.0}
    return {"actuators.right-jaw": JAW_STEPPER | more} | opens_fully


def view(changes: dict[str, Any]) -> dict[str, Any]:
    return {f"cameras.0.views.0.{key}": value for key, value in changes.items()}


ALLOWED: list[tuple[str, dict[str, Any]]] = [
    (UNO, {f"{LID}.positions_us.open": 1480}),
    (UNO, {f"{HOLDER}.positions_us.ccw": 900, f"{HOLDER}.positions_us.cw": 2100}),
    (UNO, {f"{HOLDER}.overshoot": {"us": 100, "back_ms": 50}}),
    (UNO, {PULSE: 19}),
    (UNO, {PULSE: 2}),
    (UNO, {"panel.buzzer_gpio": 9}),
    (UNO, view({"hidden": [1, 9]})),
    (UNO, TWO_BOARDS | {PULSE: 9}),  # the pin of the holder at the other board
    (OWN, {PULSE: 18, "panel.led_gpio": 12}),
    (OWN, {PULSE: "pca9685:15"}),
    (OWN, {PULSE: 2}),
    (OWN, motor()),
    ("otvinta", {"panel.buzzer_gpio": 3}),
    (ARMS, {f"{RIGHT}.start_speed_steps_per_s": 50}),
    (ARMS, {f"{RIGHT}.max_speed_steps_per_s": FASTEST}),
    (ARMS, WITH_END_STOP),
    (ARMS, WITH_END_STOP | {f"{RIGHT}.homing.slow_speed_steps_per_s": 800}),
    (ARMS, WITH_END_STOP | {f"{RIGHT}.homing.backoff_steps": 2999}),
    (ARMS, WITH_END_STOP | {f"{RIGHT}.turn_check": {"endstop_active": "low"}}),
    (ARMS, jaw(positions_steps={"closed": 0, "open": 4})),
    (ARMS, jaw(positions_steps={"closed": 9, "open": 0}, backlash_steps=8)),
]


@pytest.mark.parametrize(("robot", "changes"), ALLOWED)
def test_values_just_inside_the_bounds_are_accepted(robot, changes):
    assert findings(robot, changes) == []


REFUSED: list[tuple[str, dict[str, Any], str, str]] = [
    (UNO, {f"{LID}.positions_us.open": 1481}, f"{LID}.positions_us.close", "only 19 us"),
    (UNO, {f"{LID}.positions_us.open": 1519}, f"{LID}.positions_us.close", "only 19 us"),
    (UNO, {f"{HOLDER}.positions_us.ccw": 899}, "", "899 us is"),
    (UNO, {f"{HOLDER}.positions_us.cw": 2101}, "", "2101 us is"),
    (UNO, {f"{HOLDER}.limits_us": [900, 900]}, "", "900 must be below"),
    (UNO, {f"{HOLDER}.overshoot": {"us": 101, "back_ms": 50}}, "", "goes beyond ccw"),
    (UNO, {f"{LID}.travel": [{"between": ["open", "open"], "ms": 9}]}, "", "to itself"),
    (UNO, {f"{LID}.travel.2.between": ["flip", "open"]}, "", "flip and open is given twice"),
    (UNO, {f"{LID}.settle_ms": {"up": 3}}, "", "close, flip, open"),
    *(
        (UNO, {"cameras.0.device": device, "cameras.0.kind": "picamera2"}, "", "a number")
        for device in ("/dev/video0", -1)
    ),
    *(
        (UNO, {f"cameras.0.{key}": value, "cameras.0.kind": kind}, "", kind)
        for kind in ("usb", "simulated")
        for key, value in {"lens_position": 4.0, "sensor_size": [640, 480]}.items()
    ),
    (UNO, {"simulation.actuators.hat": {}}, "", "holder, lid"),
    (UNO, view({"when": {"hat": ["on"]}}), "", "no such actuator"),
    (UNO, {PULSE: 9}, "", "already the pulse of holder"),
    (UNO, {PULSE: "pca9685:1"}, "", "not 33"),
    (UNO, {PULSE: "maestro:1"}, "", "not 65"),
    (OWN, {PULSE: 28}, "", "2..27, 32..47, 64..87, not 28: BCM numbers"),
    (OWN, {PULSE: 48}, "", "not 48"),
    (OWN, {PULSE: 19}, "", "13 and 19 share a PWM channel"),
    ("cubotino-pico", {PULSE: 18}, "", "2 and 18 share a PWM channel"),
    (OWN, {PULSE: 26}, "", "already panel.start_button_gpio"),
    (OWN, {"panel.buzzer_gpio": 12}, PULSE, "GPIO 12 is already panel.buzzer_gpio"),
    ("otvinta", {"actuators.left.pins.pulse": "maestro:0"}, "", "pin maestro:0 is already"),
    ("v-arms", {"actuators.down.pins.pulse": "pca9685:0"}, "", "pin pca9685:0 is already"),
    ("v-arms", {"actuators.down.pins.pulse": 3}, "", "GPIO 3 is SCL of the PCA9685"),
    *(
        (OWN, motor(pins={"step": 5, "direction": pin}), "", f"{pin} makes only servo pulses")
        for pin in ("maestro:23", "pca9685:2")
    ),
    (OWN, motor(max_speed_steps_per_s=1001), "", "wakes too irregularly for more than 1000"),
    ("six-motor-pico", {"actuators.up.max_speed_steps_per_s": 500_001}, "", "not 500001"),
    *(
        (SKR, {f"{RIGHT}.{key}": value}, at and f"{RIGHT}.{at}", text)
        for key, value, at, text in (
            ("driver.run_ma", 1900, "", "0.11 ohm sense resistor a TMC2209 gives at most 1767 mA"),
            ("driver.hold_ma", 901, "", "must not exceed run_ma"),
            ("driver.mode", "spreadcycle", "homing.by", "works only in StealthChop"),
            ("driver.stall_threshold", None, "homing.by", "needs driver.stall_threshold"),
            ("homing.slow_speed_steps_per_s", 700, "homing.slow", "StallGuard needs 800 steps/s"),
            ("homing.backoff_steps", 100, "homing.backoff", "at least 160 steps"),
            ("turn_check", {}, "", "leave it out"),
            ("pins.endstop", 9, "", "pin 9 receives"),
        )
    ),
    (
        SKR,
        {f"{RIGHT}.driver.address": 2},
        "actuators.left.driver.address",
        "already the driver of right",
    ),
    (SKR, {"firmware.target": "rp2040"}, f"{RIGHT}.driver.sense_ohm", "give the sense resistor"),
    (
        SKR,
        {"firmware.target": "atmega2560"},
        f"{RIGHT}.driver",
        "cannot talk to stepper drivers",
    ),
    (ARMS, {f"{RIGHT}.start_speed_steps_per_s": 49}, "", "49"),
    (ARMS, {f"{RIGHT}.held.max_speed_steps_per_s": FASTEST + 1}, "", f"not {FASTEST + 1}"),
    (ARMS, {f"{RIGHT}.homing.speed_steps_per_s": FASTEST + 1}, "", f"not {FASTEST + 1}"),
    (ARMS, {f"{RIGHT}.homing.slow_speed_steps_per_s": 49}, "", "not 49"),
    (ARMS, {f"{RIGHT}.homing.slow_speed_steps_per_s": 801}, "", "must not exceed"),
    (ARMS, {f"{RIGHT}.homing.backoff_steps": 3000}, "", "less than max_travel_steps"),
    (ARMS, {f"{RIGHT}.homing": HOMING}, f"{RIGHT}.pins", "homing needs the end stop"),
    (ARMS, {f"{RIGHT}.turn_check": {}}, f"{RIGHT}.pins", "turn_check needs the end stop"),
    (ARMS, {f"{RIGHT}.turn_check.endstop_active": "high"}, "", "as in homing"),
    (ARMS, {f"{RIGHT}.pins.enable": 24}, "actuators.left.pins.step", "24 is already the enable"),
    (
        ARMS,
        jaw(positions_steps={"closed": 0, "open": 3}),
        JAW,
        "only 3 steps from closed; at least 4",
    ),
    (
        ARMS,
        jaw(positions_steps={"closed": 8, "open": 0}, backlash_steps=8),
        JAW,
        "closed; at least 9",
    ),
    *(
        (robot, {"policy.idle": {"release": [name]}}, "policy.idle.release.0", text)
        for robot, name, text in (
            ("two-arm", "right-jaw", "may drop the cube"),
            ("crane", "elevator", "may drop the cube"),
            ("two-arm", "wing", "no such actuator"),
            ("soltvvo", "left", "no enable pin"),
            ("six-motor", "up", "share an enable pin"),
        )
    ),
]


@pytest.mark.parametrize(("robot", "changes", "key", "text"), REFUSED)
def test_values_just_outside_the_bounds_are_refused_by_key(robot, changes, key, text):
    """Check that the complaint names the changed key unless another is given."""
    own = next(iter(changes))
    if key == "" and own.startswith((f"{RIGHT}.homing.", f"{RIGHT}.turn_check.")):
        changes = WITH_END_STOP | changes
    found = findings(robot, changes)
    assert any(at.startswith(key or own) and text in told for at, told in found), found


MANY = {
    f"actuators.motor{number}": STEPPER | {"board": "second", "pins": {"step": 2, "direction": 3}}
    for number in range(8)
}


@pytest.mark.parametrize(
    ("changes", "key", "text"),
    [
        ({f"{LID}.board": "third"}, f"{LID}.board", "is called third (further boards: second)"),
        ({PULSE: 20}, PULSE, "has pins 2..19, not 20"),
        ({"link.port": "auto"}, "link.port", "cannot be told apart"),
        ({"boards.second.port": "auto"}, "boards.second.port", "cannot be told apart"),
        ({"boards.second.port": "/dev/ttyUSB0"}, "boards.second.port", "is already the first"),
        ({f"{HOLDER}.board": "second"}, "boards", "the first board, that of `firmware`"),
        ({f"{LID}.board": None}, "boards.second", "drives no actuator"),
        (
            {"firmware.target": "linux", "boards.second.target": "linux"},
            "boards.second.target",
            "own pins are already the first board",
        ),
        (
            {"boards.first": SECOND["second"] | {"port": "/dev/ttyUSB2"}},
            "boards.first",
            "the board of `firmware` has this name",
        ),
        (
            {"boards.second.target": "linux"} | motor(board="second", max_speed_steps_per_s=1001),
            "actuators.motor.max_speed_steps_per_s",
            "more than 1000",
        ),
        (
            {"boards.second.target": "linux", "panel.buzzer_gpio": 10},
            PULSE,
            "GPIO 10 is already panel.buzzer_gpio",
        ),
        (MANY, "boards.second", "drives at most 8 actuators, not 9: no room for motor7"),
    ],
)
def test_what_several_boards_cannot_do(changes, key, text):
    found = findings(UNO, TWO_BOARDS | changes)
    assert any(at == key and text in told for at, told in found), found


def test_an_unknown_board_is_named_with_its_line():
    wrong = profile_path(UNO).read_text().replace("  lid:\n", "  lid:\n    board: secnd\n", 1)
    with pytest.raises(BadProfile) as told:
        parse_profile(wrong, "mine.yaml")
    line = wrong.splitlines().index("    board: secnd") + 1
    assert f"mine.yaml:{line}" in str(told.value)


@pytest.mark.parametrize(
    ("target", "more", "beyond"), [("atmega2560", 8, "motor6, motor7"), ("rp2040", 9, "motor8")]
)
def test_actuators_and_motors_beyond_a_board_are_named(target, more, beyond):
    """Use a Pico, which drives sixteen actuators, of which eight are motors."""
    motors = {f"actuators.motor{number}": STEPPER for number in range(more)}
    found = findings(UNO, {"firmware.target": target} | motors)
    assert any(key == "firmware" and text.endswith(f"for {beyond}") for key, text in found), found


@pytest.mark.parametrize(
    "name", ["pca9685:16", "pca9685:-1", "pca9685", "maestro:24", "maestro:01", "pwmchip0:1", "12"]
)
def test_wrong_names_of_pulse_channels_are_refused(name):
    with pytest.raises(ValueError, match="pulse"):
        changed(OWN, {PULSE: name})


@pytest.mark.parametrize(
    ("name", "named"), [("skr-pico:x-stepp", "x-step, x-dir"), ("skrpico:x-step", "skr-pico")]
)
def test_an_unknown_plug_or_board_is_answered_with_those_there_are(name, named):
    with pytest.raises(BadProfile, match=named):
        parse_profile(profile_path(UNO).read_text().replace("pulse: 9", f"pulse: {name}", 1))


@pytest.mark.parametrize("held", [False, True])
def test_travels_take_a_frame_longer_where_the_board_repeats_pulses(held):
    own, uno = load_profile(OWN), load_profile(UNO)
    for robot in (own, uno.with_board("linux")):
        for name, servo in uno.actuators_of(Servo).items():
            for start, end in pairwise(servo.positions_us):
                times = robot.actuators_of(Servo)[name].transition_us(start, end, held)
                alone = servo.transition_us(start, end, held)
                assert times is not None and alone is not None
                assert sum(times) == sum(alone) + FRAME_US


@pytest.mark.parametrize(
    ("heights", "complaint"),
    [
        ((0, 380, 760, 1140), None),
        ((1140, 760, 380, 0), None),
        ((0, 760, 380, 1140), "[0, 760, 380, 1140] of elevator neither rise nor fall"),
    ],
)
def test_rows_are_lifted_one_after_the_other(heights, complaint):
    names = ("down", "row-1", "row-2", "row-3")
    places = zip(names, heights, strict=True)
    changes = {f"actuators.elevator.positions_steps.{name}": steps for name, steps in places}
    texts = [text for key, text in findings("crane", changes) if key.endswith("rows")]
    assert len(texts) == (complaint is not None)
    assert complaint is None or complaint in texts[0]
