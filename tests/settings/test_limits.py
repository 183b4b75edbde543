"""Where the checks of a profile begin to complain: what is just allowed, and what just is not."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from typing import Any

import pytest

from robot.settings import RobotProfile, load_profile
from robot.settings.actuators import Servo
from robot.settings.checks import check_profile
from robot.settings.stepper import Stepper


def changed(robot: str, changes: dict[str, Any]) -> RobotProfile:
    """A shipped robot with other values, by their dotted keys."""
    document: Any = load_profile(robot).model_dump(mode="json", exclude_unset=True)
    for key, value in changes.items():
        *path, last = key.split(".")
        place = document
        for step in path:
            place = place[int(step)] if isinstance(place, list) else place.setdefault(step, {})
        place[last] = copy.deepcopy(value)
    return RobotProfile.model_validate(document)


def findings(robot: str, changes: dict[str, Any]) -> list[tuple[str, str]]:
    return [
        (".".join(map(str, path)), text) for path, text in check_profile(changed(robot, changes))
    ]


UNO = "cubotino-uno"
HOLDER, LID, RIGHT = "actuators.holder", "actuators.lid", "actuators.right"
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


def jaw(**more: Any) -> dict[str, Any]:
    opens_fully = {"mechanism.grippers.R.clear_part": 1.0}
    return {"actuators.right-jaw": JAW_STEPPER | more} | opens_fully


def view(changes: dict[str, Any]) -> dict[str, Any]:
    return {f"cameras.0.views.0.{key}": value for key, value in changes.items()}


ALLOWED: list[tuple[str, dict[str, Any]]] = [
    (UNO, {f"{LID}.positions_us.open": 1480}),
    (UNO, {f"{HOLDER}.positions_us.ccw": 900, f"{HOLDER}.positions_us.cw": 2100}),
    (UNO, {f"{HOLDER}.overshoot": {"us": 100, "back_ms": 50}}),
    (UNO, {f"{LID}.pins.pulse": 19}),
    (UNO, {f"{LID}.pins.pulse": 2}),
    (UNO, view({"hidden": [1, 9]})),
    ("four-arm", {f"{RIGHT}.start_speed_steps_per_s": 50}),
    ("four-arm", {f"{RIGHT}.max_speed_steps_per_s": 83_333}),
    ("four-arm", WITH_END_STOP),
    ("four-arm", WITH_END_STOP | {f"{RIGHT}.homing.slow_speed_steps_per_s": 800}),
    ("four-arm", WITH_END_STOP | {f"{RIGHT}.homing.backoff_steps": 2999}),
    ("four-arm", WITH_END_STOP | {f"{RIGHT}.turn_check": {"endstop_active": "low"}}),
    ("four-arm", jaw(positions_steps={"closed": 0, "open": 4})),
    ("four-arm", jaw(positions_steps={"closed": 9, "open": 0}, backlash_steps=8)),
]


@pytest.mark.parametrize(("robot", "changes"), ALLOWED)
def test_what_is_just_allowed(robot: str, changes: dict[str, Any]) -> None:
    assert findings(robot, changes) == []


REFUSED: list[tuple[str, dict[str, Any], str, str]] = [
    (UNO, {f"{LID}.positions_us.open": 1481}, f"{LID}.positions_us.close", "only 19 us"),
    (UNO, {f"{LID}.positions_us.open": 1519}, f"{LID}.positions_us.close", "only 19 us"),
    (
        UNO,
        {f"{HOLDER}.positions_us.ccw": 899},
        f"{HOLDER}.positions_us.ccw",
        "899 us is",
    ),
    (
        UNO,
        {f"{HOLDER}.positions_us.cw": 2101},
        f"{HOLDER}.positions_us.cw",
        "2101 us is",
    ),
    (
        UNO,
        {f"{HOLDER}.limits_us": [900, 900]},
        f"{HOLDER}.limits_us",
        "900 must be below",
    ),
    (
        UNO,
        {f"{HOLDER}.overshoot": {"us": 101, "back_ms": 50}},
        f"{HOLDER}.overshoot.us",
        "goes beyond ccw",
    ),
    (
        UNO,
        {f"{HOLDER}.positions_us.ccw": 1100, f"{HOLDER}.overshoot": {"us": 101, "back_ms": 50}},
        f"{HOLDER}.overshoot.us",
        "goes beyond cw",
    ),
    (
        UNO,
        {f"{LID}.travel": [{"between": ["open", "open"], "ms": 9}]},
        f"{LID}.travel.0.between",
        "to itself",
    ),
    (
        UNO,
        {f"{LID}.travel.2.between": ["flip", "open"]},
        f"{LID}.travel.2.between",
        "between flip and open is given twice",
    ),
    (UNO, {f"{LID}.settle_ms": {"up": 3}}, f"{LID}.settle_ms.up", "close, flip, open"),
    *(
        (
            UNO,
            {"cameras.0.kind": "picamera2", "cameras.0.device": device},
            "cameras.0.device",
            "a number",
        )
        for device in ("/dev/video0", "imx219", -1)
    ),
    *(
        (UNO, {"cameras.0.kind": kind, f"cameras.0.{key}": value}, f"cameras.0.{key}", kind)
        for kind in ("usb", "simulated")
        for key, value in {"lens_position": 4.0, "sensor_size": [640, 480]}.items()
    ),
    (UNO, {"simulation.actuators.hat": {}}, "simulation.actuators.hat", "holder, lid"),
    (
        UNO,
        view({"when": {"hat": ["on"]}}),
        "cameras.0.views.0.when.hat",
        "no such actuator",
    ),
    (
        "four-arm",
        {f"{RIGHT}.start_speed_steps_per_s": 49},
        f"{RIGHT}.start_speed_steps_per_s",
        "49",
    ),
    (
        "four-arm",
        {f"{RIGHT}.held.max_speed_steps_per_s": 83_334},
        f"{RIGHT}.held.max_speed_st",
        "not 83334",
    ),
    (
        "four-arm",
        WITH_END_STOP | {f"{RIGHT}.homing.speed_steps_per_s": 83_334},
        f"{RIGHT}.homing.speed_steps_per_s",
        "not 83334",
    ),
    (
        "four-arm",
        WITH_END_STOP | {f"{RIGHT}.homing.slow_speed_steps_per_s": 49},
        f"{RIGHT}.homing.slow_speed_steps_per_s",
        "not 49",
    ),
    (
        "four-arm",
        WITH_END_STOP | {f"{RIGHT}.homing.slow_speed_steps_per_s": 801},
        f"{RIGHT}.homing.slow_speed_steps_per_s",
        "must not exceed",
    ),
    (
        "four-arm",
        WITH_END_STOP | {f"{RIGHT}.homing.backoff_steps": 3000},
        f"{RIGHT}.homing.backoff_steps",
        "less than max_travel_steps",
    ),
    ("four-arm", {f"{RIGHT}.homing": HOMING}, f"{RIGHT}.pins", "homing needs the end stop"),
    ("four-arm", {f"{RIGHT}.turn_check": {}}, f"{RIGHT}.pins", "turn_check needs the end stop"),
    (
        "four-arm",
        WITH_END_STOP | {f"{RIGHT}.turn_check": {"endstop_active": "high"}},
        f"{RIGHT}.turn_check.endstop_active",
        "as in homing",
    ),
    (
        "four-arm",
        jaw(positions_steps={"closed": 0, "open": 3}),
        "actuators.right-jaw.positions_steps.open",
        "only 3 steps from closed; 4 at the least",
    ),
    (
        "four-arm",
        jaw(positions_steps={"closed": 8, "open": 0}, backlash_steps=8),
        "actuators.right-jaw.positions_steps.open",
        "only 8 steps from closed; 9 at the least",
    ),
    (
        "four-arm",
        {f"{RIGHT}.pins.enable": 24},
        "actuators.left.pins.step",
        "pin 24 is already the enable of right",
    ),
]


@pytest.mark.parametrize(("robot", "changes", "key", "text"), REFUSED)
def test_what_just_is_not(robot: str, changes: dict[str, Any], key: str, text: str) -> None:
    found = findings(robot, changes)
    assert any(at.startswith(key) and text in told for at, told in found), found


def test_ways_in_one_direction_each_are_two() -> None:
    rows = [
        {"between": ["open", "close"], "ms": 300, "one_way": True},
        {"between": ["close", "open"], "ms": 200, "one_way": True},
        {"between": ["open", "flip"], "ms": 500},
        {"between": ["close", "flip"], "ms": 600},
    ]
    assert findings(UNO, {f"{LID}.travel": rows}) == []
    lid = changed(UNO, {f"{LID}.travel": rows}).actuators["lid"]
    times = [lid.transition_us(*way) for way in (("open", "close"), ("close", "open"))]
    assert [way and way[0] for way in times] == [300_000, 200_000]


def test_a_servo_without_rows_goes_by_its_speed() -> None:
    changes = {f"{LID}.travel": [], f"{LID}.speed_us_per_s": 1000.0}
    lid = changed(UNO, changes).actuators["lid"]
    assert lid.transition_us("open", "close") == (165_000, 200_000)
    assert lid.transition_us("close", "open") == (165_000, 0)


def ranges(schema: Any) -> Iterator[tuple[str, float, float]]:
    """Of every number: what is said of it, and its least and largest value."""
    if isinstance(schema, dict):
        if "minimum" in schema and "maximum" in schema:
            yield schema.get("description", ""), schema["minimum"], schema["maximum"]
        schema = list(schema.values())
    if isinstance(schema, list):
        for part in schema:
            yield from ranges(part)


def test_what_is_said_of_a_number_is_what_is_allowed() -> None:
    documents = [RobotProfile, Stepper, Servo]
    told = {found for one in documents for found in ranges(one.model_json_schema())}
    said = {text: (low, high) for text, low, high in told if ".." in text}
    assert len(said) >= 10
    for text, limits in said.items():
        named = re.search(r"(-?[\d.]+?)\.\.(-?[\d.]*\d)", text)
        assert named is not None and tuple(map(float, named.groups())) == limits, text


@pytest.mark.parametrize(
    ("heights", "complaint"),
    [
        ((0, 380, 760, 1140), None),
        ((1140, 760, 380, 0), None),
        ((0, 760, 380, 1140), "[0, 760, 380, 1140] of elevator neither rise nor fall"),
    ],
)
def test_rows_are_lifted_one_after_the_other(
    heights: tuple[int, ...], complaint: str | None
) -> None:
    """To places that rise or fall from row to row."""
    names = ("down", "row-1", "row-2", "row-3")
    changes = {
        f"actuators.elevator.positions_steps.{name}": steps
        for name, steps in zip(names, heights, strict=True)
    }
    texts = [text for key, text in findings("crane", changes) if key.endswith("rows")]
    assert len(texts) == (complaint is not None)
    assert complaint is None or complaint in texts[0]
