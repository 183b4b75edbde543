"""A profile's checks: values just allowed, and complaints about wrong ones with their places."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from robot.settings import (
    BadProfile,
    Complaint,
    Servo,
    load_profile,
    parse_profile,
    profile_path,
)
from robot.settings.base import Kinds
from robot.settings.board_table import FRAME_US, MAX_STEPS_PER_S
from robot.settings.profile import UnsupportedSize, for_cube
from solver.errors import InvalidRequest, printable
from tests.rig.profiles import changed, findings

pytestmark = pytest.mark.quick

OWN, UNO, ARMS, SKR = "cubotino", "cubotino-uno", "four-arm", "four-arm-skr-pico"
HOLDER, LID, RIGHT = "actuators.holder", "actuators.lid", "actuators.right"
PULSE = f"{LID}.pins.pulse"
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
ON_THE_PI = {"boards.second.target": "linux"}
TEXT = profile_path(UNO).read_text()


def motors(count: int, **more: Any) -> dict[str, Any]:
    return {f"actuators.motor{number}": STEPPER | more for number in range(count)}


def jaw(**more: Any) -> dict[str, Any]:
    opens_fully = {"mechanism.grippers.R.clear_part": 1.0}
    return {"actuators.right-jaw": JAW_STEPPER | more} | opens_fully


def view(changes: dict[str, Any]) -> dict[str, Any]:
    return {f"cameras.0.views.0.{key}": value for key, value in changes.items()}


def heights(*steps: int) -> dict[str, Any]:
    names = ("down", "row-1", "row-2", "row-3")
    return {
        f"actuators.elevator.positions_steps.{name}": at
        for name, at in zip(names, steps, strict=True)
    }


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
    (OWN, motors(1)),
    ("otvinta", {"panel.buzzer_gpio": 3}),
    ("crane", heights(1140, 760, 380, 0) | {"other_cubes": {}}),
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
        (OWN, motors(1, pins={"step": 5, "direction": pin}), "", f"{pin} makes only servo pulses")
        for pin in ("maestro:23", "pca9685:2")
    ),
    (OWN, motors(1, max_speed_steps_per_s=1001), "", "wakes too irregularly for more than 1000"),
    ("six-motor-pico", {"actuators.up.max_speed_steps_per_s": 500_001}, "", "not 500001"),
    *(
        (SKR, {f"{RIGHT}.{key}": value}, at and f"{RIGHT}.{at}", text)
        for key, value, at, text in (
            ("driver.run_ma", 1900, "", "0.11 ohm sense resistor a TMC2209 gives at most 1767 mA"),
            ("driver.hold_ma", 901, "", "must not exceed run_ma"),
            ("driver.mode", "spreadcycle", "homing.by", "works only in StealthChop"),
            ("driver.stall_threshold", None, "homing.by", "needs driver.stall_threshold"),
            ("homing.slow_speed_steps_per_s", 700, "", "StallGuard needs 800 steps/s"),
            ("homing.backoff_steps", 100, "", "at least 160 steps"),
            ("turn_check", {}, "", "leave it out"),
            ("pins.endstop", 9, "", "pin 9 receives"),
        )
    ),
    *(
        (SKR, {own: value}, key, text)
        for own, value, key, text in (
            (f"{RIGHT}.driver.address", 2, "actuators.left.driver.address", "driver of right"),
            ("firmware.target", "rp2040", f"{RIGHT}.driver.sense_ohm", "give the sense resistor"),
            ("firmware.target", "atmega2560", f"{RIGHT}.driver", "cannot talk to stepper drivers"),
        )
    ),
    (ARMS, {f"{RIGHT}.start_speed_steps_per_s": 49}, "", "49"),
    (ARMS, {f"{RIGHT}.held.max_speed_steps_per_s": FASTEST + 1}, "", f"not {FASTEST + 1}"),
    (ARMS, {f"{RIGHT}.homing": HOMING}, f"{RIGHT}.pins", "homing needs the end stop"),
    (ARMS, {f"{RIGHT}.turn_check": {}}, f"{RIGHT}.pins", "turn_check needs the end stop"),
    (ARMS, {f"{RIGHT}.pins.enable": 24}, "actuators.left.pins.step", "24 is already the enable"),
    *(
        (ARMS, WITH_END_STOP | {f"{RIGHT}.{key}": value}, f"{RIGHT}.{key}", text)
        for key, value, text in (
            ("homing.speed_steps_per_s", FASTEST + 1, f"not {FASTEST + 1}"),
            ("homing.slow_speed_steps_per_s", 49, "not 49"),
            ("homing.slow_speed_steps_per_s", 801, "must not exceed"),
            ("homing.backoff_steps", 3000, "less than max_travel_steps"),
            ("turn_check.endstop_active", "high", "as in homing"),
        )
    ),
    *(
        (ARMS, jaw(positions_steps={"closed": closed, "open": opened}, **play), JAW, text)
        for closed, opened, play, text in (
            (0, 3, {}, "only 3 steps from closed; at least 4"),
            (8, 0, {"backlash_steps": 8}, "closed; at least 9"),
        )
    ),
    ("crane", heights(0, 760, 380, 1140), "mechanism.elevator.rows", "neither rise nor fall"),
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
    # A Pico drives sixteen actuators, of which eight are motors.
    (UNO, motors(8) | {"firmware.target": "atmega2560"}, "firmware", "room for motor6, motor7"),
    (UNO, motors(9) | {"firmware.target": "rp2040"}, "firmware", "no room for motor8"),
    *(
        (UNO, TWO_BOARDS | more, key, text)
        for more, key, text in (
            ({f"{LID}.board": "third"}, f"{LID}.board", "third (further boards: second)"),
            ({PULSE: 20}, PULSE, "has pins 2..19, not 20"),
            ({"link.port": "auto"}, "link.port", "cannot be told apart"),
            ({"boards.second.port": "auto"}, "boards.second.port", "cannot be told apart"),
            ({"boards.second.port": "/dev/ttyUSB0"}, "boards.second.port", "already the first"),
            ({f"{HOLDER}.board": "second"}, "boards", "the first board, that of `firmware`"),
            ({f"{LID}.board": None}, "boards.second", "drives no actuator"),
            (ON_THE_PI | {"firmware.target": "linux"}, "boards.second.target", "are already the"),
            ({"boards.first": SECOND["second"]}, "boards.first", "`firmware` has this name"),
            (
                ON_THE_PI | motors(1, board="second", max_speed_steps_per_s=1001),
                "actuators.motor0.max_speed_steps_per_s",
                "more than 1000",
            ),
            (ON_THE_PI | {"panel.buzzer_gpio": 10}, PULSE, "10 is already panel.buzzer_gpio"),
            (motors(8, board="second"), "boards.second", "not 9: no room for motor7"),
        )
    ),
]


@pytest.mark.parametrize(("robot", "changes", "key", "text"), REFUSED)
def test_values_just_outside_the_bounds_are_refused_by_key(robot, changes, key, text):
    """Check that the complaint names the changed key, or one within it, unless another is given."""
    found, own = findings(robot, changes), next(iter(changes))
    named = [told for at, told in found if (at == key if key else at.startswith(own))]
    assert any(text in told for told in named), found


@pytest.mark.parametrize(
    "name", ["pca9685:16", "pca9685:-1", "pca9685", "maestro:24", "maestro:01", "pwmchip0:1", "12"]
)
def test_wrong_names_of_pulse_channels_are_refused(name):
    with pytest.raises(ValueError, match="pulse"):
        changed(OWN, {PULSE: name})


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


def complaints(robot: str, old: str, new: str) -> tuple[tuple[Complaint, ...], list[str]]:
    """Return the complaints about a robot's changed profile, and its lines."""
    text = profile_path(robot).read_text()
    assert old in text
    wrong = text.replace(old, new, 1)
    with pytest.raises(BadProfile) as caught:
        parse_profile(wrong, "mine.yaml")
    return caught.value.complaints, wrong.splitlines()


HOLDER_PULSE = f"{HOLDER}.pins.pulse"
WRONG = [
    (UNO, "settle_ms: {close: 200}", "settle_s: {close: 0.2}", "actuators.lid.settle_s", "_ms"),
    (UNO, "held_settle_ms", "held_setle_ms", "actuators.holder.held_setle_ms", "did you mean"),
    (UNO, "ms: 300", "ms: 0.3", "actuators.lid.travel[0].ms", "milliseconds"),
    (UNO, "flip: {rolls: x}", "flip: {rolls: q}", "mechanism.arms[0].positions.flip.rolls", "'x2'"),
    (UNO, "close: hold", "close: shut", "mechanism.arms[0].positions.close", "'hold'"),
    (UNO, "open: 1335, close", "open: 1500, close", "actuators.lid.positions_us.close", "differ"),
    (UNO, "home: 1500, cw: 2000", "home: 1500, cw: 1200", "mechanism.turntable.angles", "nor fall"),
    (UNO, "cw: 1}", "cw: 0}", "mechanism.turntable.angles", "same angle"),
    (UNO, "pulse: 10", "pulse: 1", "actuators.lid.pins.pulse", "serial port"),
    (UNO, "pulse: 10", "pulse: 99", "actuators.lid.pins.pulse", "2..87"),
    (UNO, "pulse: 9", "pulse: skr-pico:x-stepp", HOLDER_PULSE, "x-step, x-dir"),
    (UNO, "pulse: 9", "pulse: skrpico:x-step", HOLDER_PULSE, "skr-pico"),
    (UNO, "  lid:\n", "  lid:\n    board: secnd\n", "actuators.lid.board", "no board is called"),
    (UNO, "kind: servo", "kind: motor", "actuators.holder", "'servo'"),
    (UNO, "[open, flip], ms", "[open, flop], ms", "actuators.lid.travel[1].between", "flop"),
    (UNO, "led_gpio: 27", "led_gpio: 17", "panel.led_gpio", "already start_button_gpio"),
    (UNO, "led_gpio: 27", "start_button_pull: down", "panel.start_button_pull", "counts as pre"),
    (UNO, "led_gpio: 27", "pads_pull: up", "panel.pads_pull", "counts as pressed"),
    (UNO, "led_gpio: 27", "estop_pull: down", "panel.estop_pull", "broken wire"),
    (UNO, "when: {lid: [open]}", "when: {lid: [up]}", "cameras[0].views[0].when.lid", "up"),
    (UNO, "when: {lid: [open]}", "hidden: [10]", "cameras[0].views[0].hidden[0]", "9"),
    (UNO, "0.174], [0.712", "0.735], [0.712", "cameras[0].views[0].quad", ""),  # it crosses itself
    (UNO, "name: cubotino-uno\n", "", "name", "missing"),
    (UNO, "format: 1", "format: 1\nformat: 1", "format", "twice"),
    (UNO, "size: 3", "size: 4", "cube.size", "turns only outer layers"),
    ("two-arm", "square_degrees: 5", "square_degrees: 90", "mechanism.square_degrees", "0..10"),
    ("two-arm", "square_degrees: 5", "square_degree: 5", "mechanism.square_degree", "unknown"),
    ("two-arm", "clear_part: 0.8", "clear_part: 0.3", "mechanism.grippers.R.clear_part", "0.5"),
    ("two-arm", "rotation: right, ", "", "mechanism.grippers.R.rotation", "missing"),
    ("six-motor", "name: lower", "name: upper", "cameras[1].name", "already"),
    ("six-motor", "device: 1", "device: 0", "cameras[1].device", "already"),
    ("crane", "  2:\n", "  3:\n", "other_cubes.3", "leave it out"),
    ("crane", "  2:\n", "  8:\n", "other_cubes.8", "less than or equal to 7"),
    ("crane", "row-1, row-2]}", "row-1, row-2, row-3]}", "other_cubes.2", "needs 3 positions"),
    ("crane", "row-1: 500, row-2: 1000", "row-1: 500, row-2: 400", "other_cubes.2", "nor fall"),
    ("crane", "edge_mm: 50.0", "edge_mm: 500.0", "other_cubes.2", "less than or equal to 120"),
    ("crane", "edge_mm: 50.0", "edge: 50.0", "other_cubes.2", "write edge_mm"),
    ("crane", "{edge_mm: 50.0}", "", "other_cubes.2", "cube: "),
    ("crane", "row-2, row-3]}", "row-2, row-9]}", "mechanism.elevator.rows", "no position row-9"),
    ("crane", "{actuator: squisher}", "{actuator: press}", "mechanism.squisher.actuator", "no act"),
]


@pytest.mark.parametrize(("robot", "old", "new", "key", "text"), WRONG)
def test_a_fault_is_named_with_line_key_and_what_is_allowed(robot, old, new, key, text):
    said, lines = complaints(robot, old, new)
    found = next(complaint for complaint in said if complaint.key == key)
    assert text in found.text
    assert str(found).startswith(f"mine.yaml:{found.line}: {key}: ")
    last = key.rsplit(".", 1)[-1].partition("[")[0]
    # Missing keys have the line of their parent.
    assert last in lines[found.line - 1] or new == ""


def test_all_faults_are_listed_at_once():
    text = TEXT.replace("ms: 300", "ms: 0.3").replace("pulse: 9", "pulse: nine")
    with pytest.raises(BadProfile) as caught:
        parse_profile(text, "mine.yaml")
    assert len(caught.value.complaints) == 2


def test_names_that_do_not_exist_list_those_that_do():
    with pytest.raises(BadProfile, match=UNO):
        load_profile("cubotimo")
    with pytest.raises(BadProfile, match="cannot be read"):
        load_profile("nowhere.yaml")
    kinds: Kinds[int] = Kinds("mechanism", built_in=("flipper",))
    kinds["crane"] = 1
    with pytest.raises(InvalidRequest, match="no mechanism lift; available: flipper, crane"):
        kinds["lift"]
    assert "lift" not in kinds


TITLE = "title: CUBOTino with an Arduino, a flipper with two servos\n"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (TITLE, r'title: "\e]0;x\a"' + "\n"),
        (TITLE, r'title: "two\nlines"' + "\n"),
        (TITLE, r'"ti\ntle": x' + "\n"),
        ("pulse: 10", r'"pulse\x9b": 10'),
        ("kind: servo", r'kind: "\u202eservo"'),
        (TITLE, r'<<: {"\e[2J": 1}' + "\n"),
    ],
)
def test_a_text_that_would_steer_a_terminal_is_refused_with_its_place(old, new):
    found, _ = complaints(UNO, old, new)
    line = TEXT[: TEXT.index(old)].count("\n") + 1
    assert any("control characters" in one.text and one.line == line for one in found)
    for complaint in found:
        assert "\n" not in str(complaint) and str(complaint) == printable(str(complaint))


def test_for_another_cube_only_what_is_named_is_different():
    usual = load_profile("crane")
    large = for_cube(usual, 7)
    assert (large.cube.size, large.cube.edge_mm) == (7, 69.0)
    assert large.actuators["elevator"].places["row-7"] == 1380
    assert large.actuators["elevator"].places["down"] == 0
    assert large.actuators["turntable"] == usual.actuators["turntable"]
    assert large.cameras == usual.cameras and large.other_cubes == {}
    assert for_cube(usual, 3) is usual and for_cube(usual, None) is usual
    assert for_cube(load_profile(profile_path("crane")), 7) == large
    for robot, size, sizes in (("cubotino", 4, "3"), ("crane", 9, "2, 3, 4, 5, 6 and 7")):
        with pytest.raises(UnsupportedSize, match=f"{robot} takes cubes of {sizes} layers, not of"):
            for_cube(load_profile(robot), size)
