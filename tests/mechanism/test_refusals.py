"""Impossible robots: the fault is named where it is written, or when the graph is built."""

from __future__ import annotations

import pytest

from robot.mechanism.registry import build_mechanism
from robot.settings import BadProfile, parse_profile, profile_path
from tests.rig.profiles import findings

ARM, TABLE, GRIPPER = "mechanism.arms.0", "mechanism.turntable", "mechanism.grippers.R"
NOT_TWO = "only a 2x2x2 can be held by two opposite grippers alone: write hold"
MOTORS = {"R": "right", "F": "front", "D": "down"}
TWO_FACES = "right cannot drive two faces"


LID = "no such position; it has close, flip, open"
NO_HAT = "no actuator named hat; the profile has"


@pytest.mark.parametrize(
    ("name", "key", "value", "told"),
    [
        ("cubotino", f"{ARM}.actuator", "hat", f"{NO_HAT} holder, lid"),
        ("cubotino", f"{ARM}.positions.up", "open", f"lid has {LID}"),
        ("cubotino", f"{ARM}.start", "up", "must be one of open, close, flip"),
        ("cubotino", f"{ARM}.start", "flip", "must not be a position that rolls the cube"),
        ("cubotino", f"{ARM}.look_part", 0.86, "must be less than clear_part, 0.86; leave it out"),
        ("cubotino", f"{TABLE}.actuator", "hat", f"{NO_HAT} holder, lid"),
        ("cubotino", f"{TABLE}.start", "up", "must be one of the angles' names: ccw, home, cw"),
        ("reference/a", f"{ARM}.clear_part", 0.8, "only a servo can stop partway"),
        ("crane", "mechanism.flipper.rolls", "x2", "must be a quarter turn about x or z"),
        ("crane", "mechanism.flipper.second", "front", "must be another position than the first"),
        ("crane", "mechanism.squisher.open", "wide", "squisher has no position wide; it has"),
        ("two-arm", f"{GRIPPER}.jaws", "x", "jaws at R lie across its axis, not along x"),
        ("two-arm", f"{GRIPPER}.open", "wide", "right-jaw has no position wide; it has closed"),
        ("two-arm", f"{GRIPPER}.jaw", "hat", f"{NO_HAT} down, down-jaw, right, right-jaw"),
        ("two-arm", f"{GRIPPER}.angles", {"home": 0}, "right is a servo: name two or more"),
        ("reference/b", f"{GRIPPER}.range_quarters", [0, 0], "cannot reach a second angle"),
        ("reference/b", f"{GRIPPER}.rotation", "right-jaw", "right-jaw does not rotate"),
        ("two-arm", "mechanism.others", "release", NOT_TWO),
        ("two-arm-2x2x2", "mechanism.others", "release", NOT_TWO),
        ("two-arm", "mechanism.holders", 2, "with 2 of 2 grippers holding still, none is left"),
        ("six-motor", "mechanism.motors.U", "hat", f"{NO_HAT} back, down, front, left, right, up"),
    ],
)
def test_wrong_values_are_named_at_their_key(name, key, value, told):
    ((place, text),) = findings(name, {key: value})
    assert place == key
    assert told in text


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
            *("five-motor", "mechanism.motors", MOTORS | {"B": "back"}),
            [("mechanism.motors", "no motor can turn U, L; a 3x3x3 needs five motors or more")],
        ),
        ("six-motor", "mechanism.motors", MOTORS | {"L": "left", "B": "back"}, []),
        ("cubotino", f"{ARM}.look_part", 0.859, []),
    ],
)
def test_missing_actuators_are_named(name, key, value, told):
    assert findings(name, {key: value}) == told


STUCK = [
    (
        "reference/b",
        [("    D: {rotation: down", "    L: {rotation: down")],
        "all grippers are on one axis",
    ),
    # The table's only path leads from home to cw: it never returns.
    (
        "cubotino-uno",
        [
            ("- {between: [ccw, home], ms: 700, held_ms: 800}\n", ""),
            ("{between: [home, cw], ms: 700", "{between: [home, cw], one_way: true, ms: 700"),
            ("      - {between: [ccw, cw], ms: 1470, held_ms: 1680}\n", ""),
        ],
        "can no longer be turned",
    ),
    (
        "cubotino-uno",
        [("- {between: [open, flip], ms: 500}", ""), ("- {between: [close, flip], ms: 600}", "")],
        "nothing can ever turn",
    ),
    (
        "reference/b",
        [
            (
                "- {between: [open, closed], ms: 200}",
                "- {between: [closed, open], ms: 200, one_way: true}",
            )
        ],
        "cannot get from open to closed",
    ),
    (
        "reference/b",
        [
            ("rotation: right,", "rotation: right, start: 1,"),
            ("rotation: down,", "rotation: down, start: 1,"),
        ],
        "jaws collide",
    ),
    # No path leads to cw.
    (
        "cubotino-uno",
        [
            ("      - {between: [home, cw], ms: 700, held_ms: 800}\n", ""),
            ("      - {between: [ccw, cw], ms: 1470, held_ms: 1680}\n", ""),
        ],
        "holder can never reach cw; a travel row to it is missing",
    ),
    # While a layer turns, only the two grippers beside its axis can hold the cube.
    (
        "reference/c",
        [("regrip: at-once ", "regrip: clear\n  holders: 3 ")],
        "nothing can ever turn",
    ),
]


@pytest.mark.parametrize(("name", "changes", "reason"), STUCK)
def test_robots_that_get_stuck_are_refused(name, changes, reason):
    text = profile_path(name).read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    with pytest.raises(BadProfile, match=reason):
        build_mechanism(parse_profile(text))
