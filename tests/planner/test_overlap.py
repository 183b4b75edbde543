"""Motors that start before those of the axis before have quite finished."""

import numpy as np
import pytest

from robot.mechanism.registry import build_mechanism
from robot.planner import plan_composites, plan_solve, split_at
from robot.settings import parse_profile, profile_path
from robot.twin.cube import scrambled
from solver.cost import composite_index
from solver.cube.cube import Cube
from tests.rig.pins import PinDriver


def overlapping(degrees, name="six-motor"):
    text = profile_path(name).read_text()
    old = "kind: direct"
    return parse_profile(text.replace(old, f"{old}\n  overlap_degrees: {degrees}"))


def test_overlap_saves_the_angle_that_is_left_and_no_more():
    turns = [composite_index(0, 1, 0), composite_index(1, 0, 1), composite_index(2, 2, 3)]
    plain, early = (
        plan_composites(mechanism, mechanism.start, turns)
        for mechanism in (build_mechanism(overlapping(angle)) for angle in (0, 9))
    )
    saved = plain.duration_us - early.duration_us
    # Decelerating at 600000 steps/s^2, the last 9 degrees (20 steps) take sqrt(2 * 20 / 600000) s,
    # and 2 ms to settle; two boundaries are crossed.
    assert saved == pytest.approx(2 * (np.sqrt(2 * 20 / 600_000) * 1e6 + 2_000), rel=0.08)
    assert early.schedule().duration_us == early.duration_us
    assert max(operation.end_us for operation in early.operations) == early.duration_us


def test_the_same_motor_never_moves_twice_at_once():
    mechanism = build_mechanism(overlapping(20))
    cube = Cube.random(np.random.default_rng(8))
    schedule = plan_solve(cube, mechanism, time_limit=0.3).schedule()
    busy = {}
    for turn in schedule.turns:
        motion = schedule.profiles[turn.profile]
        assert turn.start_us >= busy.get(motion.actuator, 0)
        busy[motion.actuator] = turn.start_us + motion.duration_us


def test_the_simulated_robot_bears_a_small_overlap():
    profile = overlapping(6)
    body = scrambled(3, 2)
    mechanism = build_mechanism(profile)
    plan = plan_solve(Cube.from_facelets(body.facelets()), mechanism, time_limit=0.3)
    hand = PinDriver(profile, body)
    hand.play(plan.schedule())
    assert hand.robot.solved and hand.robot.violations == []


def test_a_plan_is_never_cut_while_something_moves():
    mechanism = build_mechanism(overlapping(9))
    turns = [composite_index(i % 3, 1, 0) for i in range(6)]
    assert split_at(plan_composites(mechanism, mechanism.start, turns), 1) is None


@pytest.mark.parametrize(("bears_degrees", "collides"), [(30, False), (24, True), (10, True)])
def test_the_simulated_cube_judges_how_far_corners_are_cut(bears_degrees, collides):
    text = profile_path("six-motor-record").read_text()
    old = "corner_cutting_degrees: 30"
    assert old in text
    profile = parse_profile(text.replace(old, f"corner_cutting_degrees: {bears_degrees}"))
    body = scrambled(3, 2)
    plan = plan_solve(Cube.from_facelets(body.facelets()), build_mechanism(profile), time_limit=0.3)
    hand = PinDriver(profile, body)
    hand.play(plan.schedule())
    assert ("layers-collide" in {v.kind for v in hand.robot.violations}) is collides
    assert plan.schedule().duration_us == plan.duration_us
