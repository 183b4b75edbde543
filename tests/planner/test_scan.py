"""Scan tours: the pictures they take, and arms and jaws that open no further than necessary."""

import numpy as np
import pytest

from robot.planner import build_mechanism, plan_scan, plan_solve, scan
from robot.planner.retrace import PlanningError
from robot.settings import load_profile, parse_profile, profile_path
from solver.cube.cube import Cube
from tests.rig.stickers import replay


@pytest.fixture(scope="module")
def mechanism():
    return build_mechanism(load_profile("cubotino-uno"))


def test_the_tour_is_as_short_as_it_can_be(mechanism):
    # Six faces pass one camera. Three flips show four faces; the other two cost three flips and a
    # spin more (or two and two). After the first flip the lid returns only until the camera sees
    # the cube, 200 of 285 us, or until it may spin, 245. Six looks take 200 ms each.
    seen_us, free_us = (round(500_000 * part / 285) for part in (200, 245))
    lid_us = 500_000 + 9 * seen_us + 2 * free_us
    assert plan_scan(mechanism).duration_us == lid_us + 700_000 + 6 * 200_000


@pytest.mark.parametrize("name", ["cubotino-uno", "two-arm"])
def test_a_tour_may_be_left_after_any_look(name):
    mechanism = build_mechanism(load_profile(name))
    cube = Cube.random(np.random.default_rng(9))
    for step in plan_scan(mechanism).steps:
        plan = plan_solve(cube, mechanism, step.plan.end, time_limit=0.03)
        assert plan.start == step.plan.end
        assert plan.initial_orientation == step.looks[0].orientation
        assert replay(plan, cube.facelets()).is_solved
        assert plan.schedule().duration_us == plan.duration_us
        again = plan_scan(mechanism, plan.end, faces="DB")
        assert {look.face for other in again.steps for look in other.looks} >= {"D", "B"}


def test_more_parts_than_fit_the_tables_are_refused_with_a_reason(mechanism, monkeypatch):
    """Show each of the six faces whole: one part each."""
    monkeypatch.setattr(scan, "MAX_BITS", 6)
    assert plan_scan(mechanism).steps
    monkeypatch.setattr(scan, "MAX_BITS", 5)
    with pytest.raises(PlanningError, match="cubotino-uno: the grippers hide the cube in too many"):
        plan_scan(mechanism)


@pytest.mark.parametrize(
    ("name", "degrees", "both_ends"), [("two-arm", 5, True), ("four-arm", 4, False)]
)
def test_jaws_still_move_while_the_cube_is_nearly_square(name, degrees, both_ends):
    """Check also that they never move while it is further off."""
    mechanism = build_mechanism(load_profile(name))
    jaws = {one.jaw for one in mechanism.profile.mechanism.grippers.values()}
    overlaps = set()
    for step in plan_scan(mechanism).steps:
        for transition in step.plan.transitions:
            if transition.rotation is None:
                continue
            held = [m for m in transition.motions if m.held]
            begin, end = held[0].offset_us, held[0].end_us
            middle = (0.25 * end + 0.75 * begin, 0.75 * end + 0.25 * begin)
            for motion in (m for m in transition.motions if m.actuator in jaws):
                assert motion.end_us < middle[0] or motion.offset_us > middle[1]
                if begin < motion.end_us and motion.offset_us < end:
                    overlaps.add(motion.end == "closed")
    assert overlaps == ({True, False} if both_ends else {False})
    key = f"square_degrees: {degrees}"
    text = profile_path(name).read_text()
    assert key in text
    slower = plan_scan(build_mechanism(parse_profile(text.replace(key, ""))))
    assert plan_scan(mechanism).duration_us < slower.duration_us
