"""Turns of the cube in the robot's frame and in its own, and how near motions are to their ends."""

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
