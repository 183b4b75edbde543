"""Where the checks of a profile begin to complain: what is just allowed, and what just is not."""

from __future__ import annotations

from typing import Any

import pytest

from tests.rig.profiles import changed, findings

UNO, ARMS = "cubotino-uno", "four-arm"
HOLDER, LID, RIGHT = "actuators.holder", "actuators.lid", "actuators.right"
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
    (ARMS, {f"{RIGHT}.start_speed_steps_per_s": 50}),
    (ARMS, {f"{RIGHT}.max_speed_steps_per_s": 83_333}),
    (ARMS, WITH_END_STOP),
    (ARMS, WITH_END_STOP | {f"{RIGHT}.homing.slow_speed_steps_per_s": 800}),
    (ARMS, WITH_END_STOP | {f"{RIGHT}.homing.backoff_steps": 2999}),
    (ARMS, WITH_END_STOP | {f"{RIGHT}.turn_check": {"endstop_active": "low"}}),
    (ARMS, jaw(positions_steps={"closed": 0, "open": 4})),
    (ARMS, jaw(positions_steps={"closed": 9, "open": 0}, backlash_steps=8)),
]


@pytest.mark.parametrize(("robot", "changes"), ALLOWED)
def test_what_is_just_allowed(robot: str, changes: dict[str, Any]) -> None:
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
    (ARMS, {f"{RIGHT}.start_speed_steps_per_s": 49}, "", "49"),
    (ARMS, {f"{RIGHT}.held.max_speed_steps_per_s": 83_334}, "", "not 83334"),
    (ARMS, {f"{RIGHT}.homing.speed_steps_per_s": 83_334}, "", "not 83334"),
    (ARMS, {f"{RIGHT}.homing.slow_speed_steps_per_s": 49}, "", "not 49"),
    (ARMS, {f"{RIGHT}.homing.slow_speed_steps_per_s": 801}, "", "must not exceed"),
    (ARMS, {f"{RIGHT}.homing.backoff_steps": 3000}, "", "less than max_travel_steps"),
    (ARMS, {f"{RIGHT}.homing": HOMING}, f"{RIGHT}.pins", "homing needs the end stop"),
    (ARMS, {f"{RIGHT}.turn_check": {}}, f"{RIGHT}.pins", "turn_check needs the end stop"),
    (ARMS, {f"{RIGHT}.turn_check.endstop_active": "high"}, "", "as in homing"),
    (ARMS, jaw(positions_steps={"closed": 0, "open": 3}), JAW, "only 3 steps from closed; 4"),
    (
        ARMS,
        jaw(positions_steps={"closed": 8, "open": 0}, backlash_steps=8),
        JAW,
        "only 8 steps from closed; 9",
    ),
    (ARMS, {f"{RIGHT}.pins.enable": 24}, "actuators.left.pins.step", "24 is already the enable"),
]


@pytest.mark.parametrize(("robot", "changes", "key", "text"), REFUSED)
def test_what_just_is_not(robot: str, changes: dict[str, Any], key: str, text: str) -> None:
    """The complaint names the changed key unless another is given."""
    own = next(iter(changes))
    if key == "" and own.startswith((f"{RIGHT}.homing.", f"{RIGHT}.turn_check.")):
        changes = WITH_END_STOP | changes
    found = findings(robot, changes)
    assert any(at.startswith(key or own) and text in told for at, told in found), found


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
