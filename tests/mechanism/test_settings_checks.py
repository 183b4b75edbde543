"""What is wrong with a mechanism in a profile, each named where it is written."""

from __future__ import annotations

from typing import Any

import pytest

from robot.settings import RobotProfile, load_profile
from robot.settings.checks import check_profile

LEFT_OUT = object()
ARM, TABLE, GRIPPER = "mechanism.arms.0", "mechanism.turntable", "mechanism.grippers.R"
NOT_TWO = "only a 2x2x2 can be held by two opposite grippers alone: write hold"
TWO_FACES = "right cannot drive two faces"


def findings(name: str, key: str, value: object) -> list[tuple[str, str]]:
    """Of a profile in which one key says something else, or is left out."""
    document: Any = load_profile(name).model_dump(mode="json")
    place = document
    *way, last = key.split(".")
    for step in way:
        place = place[int(step) if isinstance(place, list) else step]
    if value is LEFT_OUT:
        del place[last]
    else:
        place[last] = value
    found = check_profile(RobotProfile.model_validate(document))
    return [(".".join(map(str, path)), text) for path, text in found]


@pytest.mark.parametrize(
    ("name", "key", "value", "told"),
    [
        ("cubotino", f"{ARM}.actuator", "hat", "no actuator named hat; there is holder, lid"),
        (
            *("cubotino", f"{ARM}.positions.up", "open"),
            "lid has no such position; it has close, flip, open",
        ),
        ("cubotino", f"{ARM}.start", "up", "must be one of open, close, flip"),
        ("cubotino", f"{ARM}.start", "flip", "must not be a position that rolls the cube"),
        (
            *("cubotino", f"{ARM}.look_part", 0.86),
            "must be less than clear_part, 0.86; leave it out",
        ),
        ("cubotino", f"{TABLE}.actuator", "hat", "no actuator named hat; there is holder, lid"),
        ("cubotino", f"{TABLE}.start", "up", "must be one of the angles' names: ccw, home, cw"),
        ("crane", "mechanism.flipper.rolls", "y", "must be a quarter turn about x or z"),
        ("crane", "mechanism.flipper.rolls", "x2", "must be a quarter turn about x or z"),
        (
            *("crane", "mechanism.flipper.second", "front"),
            "must be another position than the first",
        ),
        (
            *("crane", "mechanism.squisher.open", "wide"),
            "squisher has no position wide; it has closed, open",
        ),
        ("two-arm", f"{GRIPPER}.jaws", "x", "jaws at R lie across its axis, not along x"),
        (
            *("two-arm", f"{GRIPPER}.open", "wide"),
            "right-jaw has no position wide; it has closed, open",
        ),
        (
            *("two-arm", f"{GRIPPER}.jaw", "hat"),
            "no actuator named hat; there is down, down-jaw, right, right-jaw",
        ),
        ("two-arm", "mechanism.others", "release", NOT_TWO),
        ("two-arm-2x2x2", "mechanism.others", "release", NOT_TWO),
        (
            *("two-arm", "mechanism.holders", 2),
            "with 2 of 2 grippers holding still none is left to turn",
        ),
        (
            *("six-motor", "mechanism.motors.U", "hat"),
            "no actuator named hat; there is back, down, front, left, right, up",
        ),
    ],
)
def test_what_is_wrong_is_named_at_its_key(name: str, key: str, value: object, told: str) -> None:
    assert findings(name, key, value) == [(key, told)]


@pytest.mark.parametrize(
    ("name", "key", "value", "told"),
    [
        (
            *("cubotino", f"{ARM}.positions.close", "open"),
            [("mechanism.arms", "no position holds the cube, so no layer can be turned")],
        ),
        (
            *("cubotino", f"{ARM}.positions.flip.rolls", "y"),
            [("mechanism.arms", "no position rolls the cube, so four faces cannot be turned")],
        ),
        (
            *("six-motor", "mechanism.motors.U", "right"),
            [("mechanism.motors.U", TWO_FACES), ("mechanism.motors.R", TWO_FACES)],
        ),
        (
            *("five-motor", "mechanism.motors.L", LEFT_OUT),
            [("mechanism.motors", "nobody can turn U, L; a 3x3x3 needs five motors or more")],
        ),
        ("six-motor", "mechanism.motors.U", LEFT_OUT, []),
        ("cubotino", f"{ARM}.look_part", 0.859, []),
    ],
)
def test_what_a_mechanism_lacks_is_named(
    name: str, key: str, value: object, told: list[tuple[str, str]]
) -> None:
    assert findings(name, key, value) == told


def test_what_is_homed_first_and_holds_the_cube() -> None:
    found = {
        name: (load_profile(name).mechanism.homed_first, load_profile(name).mechanism.holding)
        for name in ("cubotino", "two-arm", "crane", "six-motor")
    }
    assert found == {
        "cubotino": (("lid",), (("lid", "close"),)),
        "two-arm": (("right-jaw", "down-jaw"), ()),
        "crane": (("turntable", "squisher", "elevator"), (("squisher", "closed"),)),
        "six-motor": ((), ()),
    }
    (arm,) = load_profile("cubotino").mechanism.arms  # type: ignore[attr-defined]
    assert (arm.lifts, arm.looks_from) == ("flip", 0.702)
    (arm,) = load_profile("mindcuber").mechanism.arms  # type: ignore[attr-defined]
    assert (arm.lifts, arm.looks_from) == ("pull", 0.86)
    assert [(part.motor, part.looks) for part in load_profile("two-arm").mechanism.rotating] == [
        ("right", 2),
        ("down", 2),
    ]
