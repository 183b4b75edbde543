"""The robot's frame and the cube's own, and grippers that rotate and show the whole cube."""

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
from robot.settings import load_profile
from solver.cost import AXES, COMPOSITES, composite_index, composite_of
from solver.cube.orientation import Orientation, all_orientations
from tests.rig.profiles import changed


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
