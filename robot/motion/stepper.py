"""Stepper moves: trapezoid or S-curve of speed, as runs of step intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np

from robot.motion.limits import TICKS_PER_S, TICKS_PER_US, MotionError, StepperLimits
from robot.motion.ramp import step_times
from robot.motion.runs import compress, run_ticks
from robot.motion.schedule import MotionProfile, StepSegment


def stepper_move(
    actuator: str,
    start_steps: int,
    steps: int,
    limits: StepperLimits,
    settle_us: int = 0,
    *,
    overshoot_steps: int = 0,
    backlash_steps: int = 0,
) -> MotionProfile:
    """Move by signed ``steps`` from rest to rest, then stay for ``settle_us``.

    ``overshoot_steps`` goes that much further and comes back (springy layers). With play of
    ``backlash_steps`` between motor and load the last steps are always forwards, so that the load
    stands where the motor does if it did before. Raises :class:`MotionError` for a move of no steps
    or negative numbers.
    """
    if steps == 0 or settle_us < 0 or overshoot_steps < 0 or backlash_steps < 0:
        raise MotionError(
            f"{actuator}: cannot move {steps} steps with {overshoot_steps} steps of overshoot, "
            f"{backlash_steps} of backlash and {settle_us} us to settle"
        )
    segments: tuple[StepSegment, ...] = ()
    for part in _parts(steps, overshoot_steps, backlash_steps):
        runs = _runs(abs(part), limits)
        segments += runs if part > 0 else tuple(_reversed(run) for run in runs)
    return stepper_path(actuator, start_steps, steps > 0, segments, settle_us)


def _parts(steps: int, overshoot: int, backlash: int) -> list[int]:
    """Steps forth and back, as seen in the direction of the move; their sum is its length."""
    if steps < 0:
        parts = [-steps + overshoot + backlash, -(overshoot + backlash)]
    elif overshoot:
        parts = [steps + overshoot, -(overshoot + backlash), backlash]
    else:
        parts = [steps]
    return [part for part in parts if part]


def stepper_path(
    actuator: str,
    start_steps: int,
    forward: bool,
    segments: Sequence[StepSegment],
    settle_us: int = 0,
) -> MotionProfile:
    """A profile of given runs; a negative ``count`` steps against the direction of the move."""
    ticks = sum(run_ticks(run) for run in segments)
    steps = sum(run.count for run in segments)
    return MotionProfile(
        actuator=actuator,
        segments=tuple(segments),
        start=start_steps,
        end=start_steps + (steps if forward else -steps),
        duration_us=-(-ticks // TICKS_PER_US) + settle_us,
    )


def _reversed(run: StepSegment) -> StepSegment:
    return StepSegment(run.interval_ticks, -run.count, run.add_ticks)


@lru_cache(maxsize=4096)
def _runs(steps: int, limits: StepperLimits) -> tuple[StepSegment, ...]:
    """Runs of a move from rest to rest; the same few moves are asked for again and again."""
    times_s = step_times(steps, on_whole_ticks(limits))
    return compress(np.rint(times_s * TICKS_PER_S).astype(np.int64))


def on_whole_ticks(limits: StepperLimits) -> StepperLimits:
    """The next lower top speed with an interval of whole ticks, so that one run plays all of it."""
    top = TICKS_PER_S / math.ceil(TICKS_PER_S / limits.max_speed - 1e-9)
    return replace(limits, max_speed=top, start_speed=min(limits.start_speed, top))
