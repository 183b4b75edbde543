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
from robot.schedule import MotionProfile, StepSegment


def stepper_move(
    actuator: str,
    start_steps: int,
    steps: int,
    limits: StepperLimits,
    settle_us: int = 0,
    *,
    overshoot_steps: int = 0,
) -> MotionProfile:
    """Move by signed ``steps`` from rest to rest, then stay for ``settle_us``.

    ``overshoot_steps`` goes that much further and comes back (backlash, springy layers).
    Raises :class:`MotionError` for a move of no steps or negative times.
    """
    if steps == 0 or settle_us < 0 or overshoot_steps < 0:
        raise MotionError(
            f"{actuator}: cannot move {steps} steps with {overshoot_steps} steps of overshoot "
            f"and {settle_us} us to settle"
        )
    segments = _runs(abs(steps) + overshoot_steps, limits)
    if overshoot_steps:
        segments += tuple(_reversed(run) for run in _runs(overshoot_steps, limits))
    return stepper_path(actuator, start_steps, steps > 0, segments, settle_us)


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
