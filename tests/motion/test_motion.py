"""Motions of servos and steppers: where and when they end, within limits, and quick."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from robot.mechanism.durations import angle_left_us, rotation_profile
from robot.motion.schedule import Drive, MotionProfile, ServoSegment, StepSegment, drive_of
from robot.motion.servo import servo_slew
from robot.motion.stepper import (
    StepperLimits,
    compress,
    round_to_ticks,
    run_ticks,
    step_times,
    stepper_move,
)
from robot.settings import load_profile
from robot.settings.actuators import Servo, Timed
from robot.settings.board_table import TICKS_PER_US
from robot.settings.stepper import Stepper
from solver.errors import InvalidRequest
from tests.rig.profiles import changed

PULSES = st.integers(500, 2500)
TIMES = {"quarter_ms": 100, "half_ms": 160}
SLOWER = {"quarter_ms": 200, "half_ms": 300}


def pieces(profile: MotionProfile) -> list[tuple[int, int]]:
    segments = [one for one in profile.segments if isinstance(one, ServoSegment)]
    return [(one.pulse_us, one.duration_us) for one in segments]


@given(PULSES, PULSES, st.integers(1, 3_000_000), st.integers(0, 1_000_000), st.floats(0, 0.5))
def test_slew_takes_travel_and_settling(start, end, travel_us, settle_us, ease):
    profile = servo_slew("lid", start, end, travel_us, settle_us, ease_us=int(travel_us * ease))
    assert profile.start == start and profile.end == end
    assert profile.duration_us == travel_us + settle_us
    assert profile.duration_us == sum(segment.duration_us for segment in profile.segments)


def test_an_eased_slew_follows_its_parabolas():
    """Build up speed in 200 ms, keep it for 100 ms and let it fall in 200 ms."""
    profile = servo_slew("lid", 1000, 2200, 500_000, ease_us=200_000)
    up, down = [1025, 1100, 1225, 1400], [1975, 2100, 2175, 2200]
    assert pieces(profile) == [*((pulse, 50_000) for pulse in up), (1800, 100_000)] + [
        (pulse, 50_000) for pulse in down
    ]


@pytest.mark.parametrize("ease_ms", [0, 100])
def test_a_half_turn_is_midway_at_the_position_between(ease_ms):
    """Use blue's home, which is 742 us from ccw and 825 us from cw."""
    blue = changed("rubpyx", {"actuators.blue.ease_ms": ease_ms}).actuators_of(Servo)["blue"]
    for start, end in (("ccw", "cw"), ("cw", "ccw")):
        profile, at_us = drive_of("blue", blue).travel(start, end, held=False), {}
        time_us = 0
        for pulse_us, duration_us in pieces(profile):
            time_us += duration_us
            at_us.setdefault(pulse_us, time_us)
        travel_us = at_us[blue.positions_us[end]]
        assert at_us[blue.positions_us["home"]] == travel_us / 2
        assert profile.end == blue.positions_us[end]


def test_a_slew_may_go_beyond_its_end_and_back():
    profile = servo_slew("holder", 1500, 600, 400_000, 50_000, overshoot=(40, 80_000))
    assert pieces(profile) == [(560, 400_000), (600, 80_000), (600, 50_000)]
    assert (profile.end, profile.duration_us) == (600, 530_000)
    upwards = servo_slew("holder", 600, 1500, 400_000, overshoot=(40, 80_000))
    assert [pulse for pulse, _ in pieces(upwards)] == [1540, 1500]


def timed(**more: object) -> Drive:
    return drive_of("jaw", Timed.model_validate({"kind": "timed"} | more))


@pytest.mark.parametrize(
    ("quarters", "held", "takes_ms"),
    [
        *((1, False, 100), (-1, False, 100), (2, False, 160), (-3, False, 220)),
        *((1, True, 212), (2, True, 312), (3, True, 412)),
    ],
)
def test_longer_rotations_go_on_as_from_a_quarter_to_a_half(quarters, held, takes_ms):
    drive = timed(free=TIMES, held=SLOWER, held_settle_ms=12)
    assert drive.rotation_us(quarters, held) == 1_000 * takes_ms


def test_a_way_takes_its_travel_and_its_rest():
    drive = timed(
        positions=("open", "hold", "closed"),
        travel=[
            {"between": ["open", "closed"], "ms": 100, "held_ms": 150},
            {"between": ["closed", "hold"], "ms": 40, "one_way": True},
        ],
        settle_ms={"closed": 20},
        held_settle_ms=5,
    )
    assert drive.travel_us("open", "closed", held=False) == 120_000
    assert drive.travel_us("closed", "open", held=False) == 100_000
    assert drive.travel_us("open", "closed", held=True) == 175_000
    assert drive.travel_us("closed", "hold", held=True) == 45_000
    assert drive.travel_us("hold", "closed", held=False) is None


@pytest.mark.parametrize(
    ("held", "farthest_us", "takes_us"), [(True, 560, 530_000), (False, 600, 450_000)]
)
def test_a_servo_goes_beyond_where_it_turns_a_layer(held, farthest_us, takes_us):
    settings = {
        "kind": "servo",
        "pins": {"pulse": 9},
        "positions_us": {"home": 1500, "left": 600},
        "travel": [{"between": ["home", "left"], "ms": 400}],
        "settle_ms": {"left": 50},
        "overshoot": {"us": 40, "back_ms": 80},
    }
    drive = drive_of("holder", Servo.model_validate(settings))
    profile = drive.travel("home", "left", held)
    pulses = [pulse for pulse, _ in pieces(profile)]
    assert (min(pulses), pulses[-1]) == (farthest_us, 600)
    assert profile.duration_us == drive.travel_us("home", "left", held) == takes_us
    with pytest.raises(ValueError, match="no travel from home to up"):
        drive.travel("home", "up", held)


@pytest.mark.parametrize(
    ("angle", "quarters", "start", "end"),
    [(0, 1, 0, 400), (5, 1, 2000, 2400), (-1, 2, -400, 400), (2, -1, 800, 400)],
)
def test_a_rotation_starts_at_its_angle_also_of_another_turn(angle, quarters, start, end):
    right = load_profile("four-arm").actuators_of(Stepper)["right"]
    profile = drive_of("right", right).rotation(angle, quarters, False)
    assert (profile.start, profile.end) == (start, end)


@pytest.mark.parametrize("quarters", [1, -1, 2])
@pytest.mark.parametrize("play", [0, 10])
@pytest.mark.parametrize("overshoot", [0, 40])
def test_what_a_motor_drives_is_as_near_square_as_jaws_count_on(quarters, play, overshoot):
    """Check also backwards: the load is behind the motor by the play until the last steps."""
    profile = load_profile("four-arm")
    more = {"backlash_steps": play, "overshoot_steps": overshoot}
    right = profile.actuators_of(Stepper)["right"].model_copy(update=more)
    profile = profile.model_copy(update={"actuators": {**profile.actuators, "right": right}})
    motion = rotation_profile(profile, "right", 0, quarters, held=True)
    left_us = angle_left_us(profile, "right", quarters, 4.0)
    way = 1 if quarters > 0 else -1
    rotor, load, ticks = -400 * quarters, -400 * quarters, 0
    farthest = 0
    for run in motion.segments:
        assert isinstance(run, StepSegment)
        for number in range(abs(run.count)):
            ticks += run.interval_ticks + number * run.add_ticks
            rotor += way if run.count > 0 else -way
            load = min(max(load, rotor), rotor + play)
            if ticks / TICKS_PER_US >= motion.duration_us - left_us:
                farthest = max(farthest, abs(load))
    assert 0 < farthest * 360 / 1600 <= 4.0 + 360 / 1600


TICKS_PER_S = 2_000_000
USUAL = StepperLimits(start_speed=500, max_speed=4000, acceleration=40_000)

LIMITS = st.builds(
    StepperLimits,
    start_speed=st.floats(60, 1000),
    max_speed=st.floats(1000, 20_000),
    acceleration=st.floats(5_000, 400_000),
    jerk=st.one_of(st.none(), st.floats(1e5, 1e8)),
)


@settings(max_examples=80)
@given(LIMITS, st.integers(2, 3000))
@example(USUAL, 1)
@example(StepperLimits(400, 3000, 150_000), 400)
def test_moves_make_their_steps_near_the_curve_and_none_too_fast(limits, steps):
    """Stay within the board's limit: it refuses speeds over the motor's by more than a tenth."""
    profile = stepper_move("turner", 100, -steps, limits, settle_us=50)
    runs = [run for run in profile.segments if isinstance(run, StepSegment)]
    ticks = np.concatenate(
        [run.interval_ticks + run.add_ticks * np.arange(abs(run.count)) for run in runs]
    )
    assert len(ticks) == steps and profile.end == 100 - steps
    assert ticks.min() >= int(0.9 * TICKS_PER_S / limits.max_speed) and ticks.max() <= 40_000
    assert profile.duration_us == math.ceil(ticks.sum() / 2) + 50
    wanted = step_times(steps, round_to_ticks(limits)) * TICKS_PER_S
    allowed = np.maximum(np.diff(wanted, prepend=0.0) / 4, 1.0) + 1.5
    assert np.all(np.abs(np.cumsum(ticks) - wanted) <= allowed)


@settings(max_examples=60)
@given(LIMITS, st.integers(2, 3000))
def test_curve_keeps_speed_and_acceleration(limits, steps):
    times = step_times(steps, limits)
    middle_times = np.concatenate([[times[0] / 2], (times[1:] + times[:-1]) / 2])
    speeds = 1 / np.diff(times, prepend=0.0)
    assert speeds.max() <= limits.max_speed * (1 + 1e-6)
    gains = np.diff(speeds) / np.diff(middle_times)
    assert np.abs(gains).max() <= limits.acceleration * 1.1 + 1e-6
    assert times[::-1] == pytest.approx(times[-1] - np.concatenate([[0.0], times])[:-1], abs=1e-9)


def test_trapezoid_takes_the_time_of_the_formula_and_jerk_makes_it_longer():
    ramp_s = (4000 - 500) / 40_000
    ramp_steps = (4000 + 500) / 2 * ramp_s
    expected_s = 2 * ramp_s + (800 - 2 * ramp_steps) / 4000
    assert step_times(800, USUAL)[-1] == pytest.approx(expected_s, rel=1e-9)
    curve, gentle = (StepperLimits(500, 4000, 40_000, jerk=jerk) for jerk in (2e6, 1e12))
    assert step_times(400, curve)[-1] > step_times(400, USUAL)[-1]
    assert step_times(400, gentle) == pytest.approx(step_times(400, USUAL), rel=1e-4)
    assert len(stepper_move("turner", 0, 400, USUAL).segments) <= 12


@pytest.mark.parametrize(
    ("intervals_ticks", "runs"),
    [
        ([], []),
        ([700], [(700, 1, 0)]),
        ([40_001], [(40_000, 1, 0)]),
        ([2000, 34_767], [(2000, 2, 32_767)]),
        ([2000, 34_768], [(2000, 1, 0), (34_768, 1, 0)]),
        ([34_767, 2000], [(34_767, 2, -32_767)]),
        ([34_768, 2000], [(34_768, 1, 0), (2000, 1, 0)]),
        ([40_000, 40_000], [(40_000, 2, 0)]),
        ([1000, 1010, 1020], [(1000, 3, 10)]),
        ([500] * 32_767, [(500, 32_767, 0)]),
        ([500] * 32_769, [(500, 32_767, 0), (500, 2, 0)]),
    ],
)
def test_runs_are_as_long_as_their_numbers_allow(intervals_ticks, runs):
    found = compress(np.cumsum(np.array(intervals_ticks, dtype=np.int64)))
    assert [(run.interval_ticks, run.count, run.add_ticks) for run in found] == runs
    ticks = sum(min(ticks, 40_000) for ticks in intervals_ticks)
    assert sum(run_ticks(run) for run in found) == ticks


@pytest.mark.parametrize(
    "values", [(10, 100, 100), (500, 400, 100), (500, 4000, 0), (500, 4000, 100, -1)]
)
def test_impossible_limits_are_refused(values):
    with pytest.raises(InvalidRequest):
        StepperLimits(*values)
    with pytest.raises(InvalidRequest, match="turner"):
        stepper_move("turner", 0, 0, USUAL)


@pytest.mark.parametrize(
    ("steps", "overshoot", "backlash", "parts"),
    [
        (100, 0, 0, [100]),
        (100, 7, 0, [107, -7]),
        (100, 0, 5, [100]),
        (-100, 0, 5, [-105, 5]),
        (100, 7, 5, [107, -12, 5]),
        (-100, 7, 5, [-112, 12]),
    ],
)
def test_play_is_taken_up_so_that_every_motion_ends_forwards(steps, overshoot, backlash, parts):
    profile = stepper_move(
        "table", 0, steps, USUAL, overshoot_steps=overshoot, backlash_steps=backlash
    )
    found: list[int] = []
    for run in profile.segments:
        assert isinstance(run, StepSegment)
        count = run.count if steps > 0 else -run.count
        if found and (found[-1] > 0) == (count > 0):
            found[-1] += count
        else:
            found.append(count)
    assert found == parts and profile.end == steps
