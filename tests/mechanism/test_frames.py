"""The robot's frame and the cube's own, and grippers that rotate and show the whole cube."""

from __future__ import annotations

import numpy as np
import pytest

from robot.mechanism.durations import angle_left_us, near_ends_us, rotation_us
from robot.mechanism.frames import (
    ORIENTATIONS,
    between_table,
    compose_table,
    progress_table,
    reframe_table,
    rotate_table,
    seen_table,
)
from robot.mechanism.graph import SITE_AXIS, ActuatorMotion, signed_quarters
from robot.mechanism.registry import build_mechanism
from robot.settings import load_profile
from solver.cost import COMPOSITES, composite_index
from solver.cube.orientation import Orientation, all_orientations


def test_a_site_turns_about_its_axis_one_way_or_the_other() -> None:
    for site, (axis, way) in SITE_AXIS.items():
        assert way in {1, -1}
        held = Orientation(0).rotated(axis, way % 4)
        assert held.face_at(site) == site, "its own face stays"
        opposite = {"U": "D", "D": "U", "R": "L", "L": "R", "F": "B", "B": "F"}[site]
        assert SITE_AXIS[opposite] == (axis, -way)
    assert {site for site, (_, way) in SITE_AXIS.items() if way == 1} == set("URF")
    assert [signed_quarters(quarters) for quarters in range(-1, 6)] == [-1, 0, 1, 2, -1, 0, 1]


def test_tables_hold_all_orientations() -> None:
    assert ORIENTATIONS == len(all_orientations()) == 24
    compose, between = compose_table(), between_table()
    assert compose.shape == between.shape == (24, 24)
    for a in range(24):
        assert (compose[a, between[a]] == np.arange(24)).all()
        assert compose[a, 0] == compose[0, a] == a
    rotate, reframe = rotate_table(), reframe_table()
    assert rotate.shape == reframe.shape == (3, 4, 24)
    assert (rotate[:, 0] == np.arange(24)).all()
    assert (reframe[:, 0] == np.arange(24)).all()
    for axis, name in enumerate("yxz"):
        for quarters in range(4):
            turned = Orientation(0).rotated(name, quarters)
            assert rotate[axis, quarters, 5] == Orientation(5).rotated(name, quarters).index
            assert reframe[axis, quarters, 5] == turned.then(Orientation(5)).index
    with pytest.raises(ValueError, match="read-only"):
        rotate[0, 0, 0] = 1


def test_composites_are_seen_at_the_sites_where_their_faces_are() -> None:
    seen, progress = seen_table(), progress_table()
    assert seen.shape == (24, COMPOSITES)
    assert progress.shape == (24, 6, 2)
    assert (seen[0] == np.arange(COMPOSITES)).all()
    assert progress[0].tolist() == [[0, 4], [1, 4], [2, 4], [0, 1], [1, 1], [2, 1]]
    upside_down = Orientation(0).rotated("x", 2)
    assert seen[upside_down.index, composite_index(0, 1, 2)] == composite_index(0, 2, 1)
    assert progress[upside_down.index, 0].tolist() == [0, 1]


def test_a_rotation_is_near_its_ends_for_a_while() -> None:
    profile = load_profile("cubotino")
    motion = ActuatorMotion("holder", 700_000, start="home", end="cw", quarters=1)
    assert near_ends_us(profile, motion, 0) == (0, 0)
    assert near_ends_us(profile, motion, 9.0) == (70_000, 70_000)
    assert near_ends_us(profile, motion, 45.0) == (350_000, 350_000)
    half = ActuatorMotion("holder", 1_470_000, start="ccw", end="cw", quarters=2)
    assert near_ends_us(profile, half, 9.0) == (73_500, 73_500)


def test_a_motor_is_as_slow_at_its_start_as_at_its_end() -> None:
    profile = load_profile("mindcuber")
    motion = ActuatorMotion("table", 1, quarters=1)
    first, last = near_ends_us(profile, motion, 10.0)
    settle = angle_left_us(profile, "table", 1, 1e-3)
    assert last == angle_left_us(profile, "table", 1, 10.0)
    assert first == last - settle
    assert 50_000 <= settle < 60_000, "what its profile has it settle, more or less"
    assert 0 < first < rotation_us(profile, "table", 1, held=False)
    assert angle_left_us(profile, "table", 1, 0.0) == 0


SENSE = {"U": 1, "R": 1, "F": 1, "D": -1, "L": -1, "B": -1}


@pytest.mark.parametrize("name", ["reference/c", "four-arm", "soltvvo"])
def test_opposite_grippers_carry_the_same_way_round(name):
    mechanism = build_mechanism(load_profile(name))
    site_of = {g.rotation: site for site, g in mechanism.profile.mechanism.grippers.items()}
    carries = [step for step in mechanism.looking.transitions if step.rotation]
    assert carries
    for step in carries:
        held = [motion for motion in step.motions if motion.held]
        ways = {SENSE[site_of[motion.actuator]] * motion.quarters for motion in held}
        assert len(held) == 2 and len(ways) == 1
        assert (ways.pop() - step.rotation[1]) % 4 == 0


def test_jaws_that_let_go_for_a_turn_close_when_it_is_over():
    """A cube without a middle layer, held by the two grippers that turn it alone."""
    mechanism = build_mechanism(load_profile("soltvvo"))
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
    mechanism = build_mechanism(load_profile("four-arm"))
    wider = mechanism.looking
    assert wider.configurations[: len(mechanism.configurations)] == mechanism.configurations
    free = [c for c in wider.configurations if "U" not in c.covered]
    assert free
    for configuration in free:
        places = configuration.positions
        opened = [name for name, place in places.items() if place == "nearly open"]
        assert len(opened) == 2


def test_where_jaws_hide_nothing_there_is_nothing_to_open():
    for name in ("reference/c", "two-arm-2x2x2", "reference/a", "six-motor"):
        mechanism = build_mechanism(load_profile(name))
        assert mechanism.looking is mechanism
