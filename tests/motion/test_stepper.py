"""Stepper moves: within limits, symmetric, and as quick as physics allows."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from robot.motion.schedule import StepSegment
from robot.motion.stepper import (
    StepperLimits,
    compress,
    round_to_ticks,
    run_ticks,
    step_times,
    stepper_move,
)
from solver.errors import InvalidRequest

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
    """Check that a run's interval, count and change of interval each fit the board's numbers."""
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
