"""The robot's frame and the cube's own, grippers that show the whole cube, and impossible robots.

The fault of an impossible robot is named where it is written, or when the graph is built."""

from __future__ import annotations

from functools import cache
from itertools import product

import pytest

from robot.mechanism.durations import Rotary, angle_left_us, near_ends_us, rotation_us
from robot.mechanism.frames import (
    ORIENTATIONS,
    between_table,
    compose_table,
    progress_table,
    reframe_table,
    rotate_table,
    seen_table,
)
from robot.mechanism.graph import SITE_AXIS, ActuatorMotion, Mechanism
from robot.mechanism.registry import build_mechanism
from robot.settings import BadProfile, load_profile, parse_profile, profile_path
from solver.cost import AXES, COMPOSITES, composite_index, composite_of
from solver.cube.orientation import Orientation, all_orientations
from tests.rig.profiles import changed, findings


@cache
def built(name: str) -> Mechanism:
    return build_mechanism(load_profile(name))


def test_tables_say_what_orientations_do():
    compose, between = compose_table(), between_table()
    every = all_orientations()
    assert len(every) == ORIENTATIONS
    for a, b in product(every, repeat=2):
        assert compose[a.index, b.index] == a.then(b).index
        assert compose[a.index, between[a.index, b.index]] == b.index
    for (axis, name), quarters, held in product(enumerate("yxz"), range(4), every):
        turned = Orientation(0).rotated(name, quarters)
        assert rotate_table()[axis, quarters, held.index] == held.rotated(name, quarters).index
        assert reframe_table()[axis, quarters, held.index] == turned.then(held).index
    with pytest.raises(ValueError, match="read-only"):
        compose[0, 0] = 1


def test_composites_are_seen_at_the_sites_where_their_faces_are():
    for held, composite in product(all_orientations(), range(COMPOSITES)):
        seen = composite_of(int(seen_table()[held.index, composite]))
        for face, turned in quarters_by_face(composite).items():
            site = held.site_of(face)
            assert quarters_by_face(composite_index(*seen))[site] == turned
            assert SITE_AXIS[site][0] == "yxz"[seen[0]]
    for held, (number, site) in product(all_orientations(), enumerate("URFDLB")):
        axis, weight = progress_table()[held.index, number]
        assert AXES[axis][0 if weight == 4 else 1] == held.face_at(site)


def quarters_by_face(composite: int) -> dict[str, int]:
    axis, *turned = composite_of(composite)
    return dict(zip(AXES[axis], turned, strict=True))


def test_a_rotation_is_near_its_ends_for_a_while():
    profile = load_profile("cubotino")
    motion = ActuatorMotion("holder", 700_000, start="home", end="cw", quarters=1)
    assert near_ends_us(profile, motion, 0) == (0, 0)
    assert near_ends_us(profile, motion, 9.0) == (70_000, 70_000)
    assert near_ends_us(profile, motion, 45.0) == (350_000, 350_000)
    half = ActuatorMotion("holder", 1_470_000, start="ccw", end="cw", quarters=2)
    assert near_ends_us(profile, half, 9.0) == (73_500, 73_500)


def test_a_motor_is_as_slow_at_its_start_as_at_its_end():
    profile = load_profile("mindcuber")
    motion = ActuatorMotion("table", 1, quarters=1)
    first, last = near_ends_us(profile, motion, 10.0)
    settle = angle_left_us(profile, "table", 1, 1e-3)
    assert last == angle_left_us(profile, "table", 1, 10.0)
    assert first == last - settle
    assert 50_000 <= settle < 60_000, "what its profile has it settle, more or less"
    assert 0 < first < rotation_us(profile, "table", 1, held=False)
    assert angle_left_us(profile, "table", 1, 0.0) == 0


@pytest.mark.parametrize("name", ["four-arm", "soltvvo"])
def test_opposite_grippers_carry_the_same_way_round(name):
    mechanism = built(name)
    site_of = {g.rotation: site for site, g in mechanism.profile.mechanism.grippers.items()}
    carries = [step for step in mechanism.looking.transitions if step.rotation]
    assert carries
    for step in carries:
        held = [motion for motion in step.motions if motion.held]
        ways = {SITE_AXIS[site_of[motion.actuator]][1] * motion.quarters for motion in held}
        assert len(held) == 2 and len(ways) == 1
        assert (ways.pop() - step.rotation[1]) % 4 == 0


def test_endless_grippers_turn_back_the_short_way():
    profile = changed("four-arm", {"mechanism.grippers.R.symmetry": 1})
    rotary = Rotary(profile, profile.mechanism.grippers["R"])
    assert sorted(rotary.returns(3)) == [(0, 1), (1, 2), (2, -1)]
    assert sorted(rotary.returns(0)) == [(1, 1), (2, 2), (3, -1)]


def test_jaws_that_let_go_for_a_turn_close_when_it_is_over():
    """Use a cube without a middle layer, held only by the two grippers that turn it."""
    mechanism = built("soltvvo")
    turns = [step for step in mechanism.transitions if step.turns]
    assert turns
    for step in turns:
        turned_us = max(m.offset_us + m.duration_us for m in step.motions if m.held)
        opened_us = [m.offset_us + m.duration_us for m in step.motions if m.end == "open"]
        closing = [motion for motion in step.motions if motion.end == "closed"]
        assert len(closing) == len(opened_us) == 2
        assert all(motion.offset_us >= turned_us for motion in closing)
        assert all(m.offset_us >= max(opened_us) for m in step.motions if m.held)


def test_open_grippers_hide_nothing():
    mechanism = built("four-arm")
    wider = mechanism.looking
    assert wider.configurations[: len(mechanism.configurations)] == mechanism.configurations
    free = [c for c in wider.configurations if "U" not in c.covered]
    assert free
    for configuration in free:
        places = configuration.positions
        opened = [name for name, place in places.items() if place == "nearly open"]
        assert len(opened) == 2
    for name in ("two-arm-2x2x2", "reference/a"):  # jaws that hide nothing need not open
        mechanism = built(name)
        assert mechanism.looking is mechanism


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
    ("reference/b", [("    D: {rotation: down", "    L: {rotation: down")], "all .* on one axis"),
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
        [("between: [open, closed], ms: 200", "between: [closed, open], ms: 200, one_way: true")],
        "cannot get from open to closed",
    ),
    (
        "reference/b",
        [(f"rotation: {name},", f"rotation: {name}, start: 1,") for name in ("right", "down")],
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
    ("reference/c", [("regrip: at-once ", "regrip: clear\n  holders: 3 ")], "nothing can ever"),
]


@pytest.mark.parametrize(("name", "changes", "reason"), STUCK)
def test_robots_that_get_stuck_are_refused(name, changes, reason):
    text = profile_path(name).read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    with pytest.raises(BadProfile, match=reason):
        build_mechanism(parse_profile(text))
