"""Scan tours: what the cameras are shown, and arms and jaws that open no further than they must."""

import numpy as np
import pytest

from robot.mechanism.clearance import clear_place, with_clear_place
from robot.mechanism.durations import Rotary, near_ends_us, travel_profile
from robot.planner import build_mechanism, plan_scan, plan_solve, scan
from robot.planner.retrace import PlanningError
from robot.settings import load_profile, parse_profile, profile_path
from robot.settings.board_table import FRAME_US
from robot.twin.flipper import ZONE_PART
from robot.twin.misadjustment import (
    CREEP_DEGREES,
    GAIN,
    SLACK_DEGREES,
    SOFTNESS_DEGREES,
    SPEED,
    TOLERANCE_DEGREES,
    ServoTruth,
)
from robot.twin.registry import degree_us, parts_of
from robot.twin.servo import ServoMotor
from solver.cube.cube import Cube
from tests.rig.stickers import replay


@pytest.fixture(scope="module")
def mechanism():
    return build_mechanism(load_profile("cubotino-uno"))


def test_the_tour_is_as_short_as_it_can_be(mechanism):
    # Six faces past one camera: three flips show four faces, the other two cost three flips and a
    # spin more (or two and two); after the first way to a flip the lid only comes back so far that
    # the cube is seen, 200 of 285 us, or may be spun, 245; six looks of 200 ms.
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
    """Each of the six faces is seen whole: one part each."""
    monkeypatch.setattr(scan, "MAX_BITS", 6)
    assert plan_scan(mechanism).steps
    monkeypatch.setattr(scan, "MAX_BITS", 5)
    with pytest.raises(PlanningError, match="cubotino-uno: the grippers hide the cube in too many"):
        plan_scan(mechanism)


@pytest.mark.parametrize(
    ("name", "degrees", "both_ends"), [("two-arm", 5, True), ("four-arm", 4, False)]
)
def test_jaws_still_move_while_the_cube_is_nearly_square(name, degrees, both_ends):
    """And never while it is further off than that."""
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


@pytest.mark.parametrize("speed", [1 - SPEED, 1 + SPEED])
@pytest.mark.parametrize("name", ["two-arm", "four-arm", "four-arm-skr-pico"])
def test_jaws_of_the_worst_servo_are_past_the_cube_before_anything_turns(name, speed):
    """The servo turns less for a pulse, stops early and creeps; soft jaws close further."""
    profile = load_profile(name)
    gripper = profile.mechanism.grippers["R"]
    servo = profile.actuators[gripper.jaw]
    per_degree = degree_us(profile, parts_of(profile).rotations)
    closed, opened = servo.positions_us["closed"], servo.positions_us["open"]
    soft_us = round(SOFTNESS_DEGREES["foam"][1] * per_degree)
    found = {"positions_us": {"closed": closed - soft_us, "open": opened}}
    actuators = profile.actuators | {gripper.jaw: servo.model_copy(update=found)}
    looking = with_clear_place(
        profile.model_copy(update={"actuators": actuators}),
        gripper.jaw,
        "closed",
        "open",
        gripper.clear_part,
    )
    motion = travel_profile(looking, gripper.jaw, "closed", clear_place("open"), held=False)
    turning = Rotary(profile, gripper).motion(0, 1, 1, held=False)
    begun_us, _ = near_ends_us(profile, turning, TOLERANCE_DEGREES)
    truth = ServoTruth(
        middle_us=closed,
        gain=1 - GAIN,
        slack_us=SLACK_DEGREES[1] * per_degree,
        speed=speed,
        creep_us=CREEP_DEGREES * per_degree,
    )
    fastest = profile.simulation.actuators[gripper.jaw].max_speed_us_per_s
    (ramp,) = (one for one in motion.segments if one.pulse_us != motion.start)
    end = float(motion.duration_us + begun_us)
    for phase_us in range(0, FRAME_US, 2_000):
        shaft = truth.shaft(motion.start)
        jaws = ServoMotor(gripper.jaw, shaft, servo.limits_us, fastest, pytest.fail, truth)
        now = 0.0
        for frame in np.arange(phase_us, end, FRAME_US).tolist():
            jaws.advance(now, frame)
            now = frame
            part = min(1.0, frame / ramp.duration_us)
            pulse_us = motion.start + part * (ramp.pulse_us - motion.start)
            jaws.pulse_edge(frame - pulse_us, True)
            jaws.pulse_edge(frame, False)
        jaws.advance(now, end)
        assert jaws.position >= opened - ZONE_PART * (opened - closed), phase_us
