"""Slow motion of one actuator on its own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from robot.link import ActuatorSetup, ServoSetup
from robot.motion.schedule import MotionProfile
from robot.motion.servo import servo_slew
from robot.motion.stepper import StepperLimits, stepper_move
from solver.errors import InvalidRequest

GENTLE_SPEED, GENTLE_ACCELERATION = 0.5, 0.25
"""Fractions of a stepper's limits at which it loses no steps, even if its driver makes steps of
another size than its profile says."""

MOST_BACK, MOST_BACK_EXACTLY, MOST_PLAY = 8, 2, 90
"""Divisors of a turn. They give the longest path straight back to the start, the same for a motor
whose steps per turn are unknown, and the largest play."""


def jog_profile(
    setup: ActuatorSetup, start: int, target: int, rest_us: int = 0
) -> MotionProfile | None:
    """Return a slow motion to ``target`` and a rest; None if it is there already.

    Raise ``InvalidRequest`` for a target beyond limits.
    """
    if isinstance(setup, ServoSetup):
        require_within(setup.name, target, setup.minimum_us, setup.maximum_us, "us")
        travel_us = round(abs(target - start) * setup.slow_us)
        return servo_slew(setup.name, start, target, travel_us, rest_us) if travel_us else None
    require_within(setup.name, target, setup.minimum_steps, setup.maximum_steps, "steps")
    steps = target - start
    limits = _gentle(setup.limits)
    return stepper_move(setup.name, start, steps, limits, rest_us) if steps else None


def _gentle(limits: StepperLimits) -> StepperLimits:
    """Return limits at which no working motor loses steps."""
    speed = limits.max_speed * GENTLE_SPEED
    return replace(
        limits,
        start_speed=min(limits.start_speed, speed),
        max_speed=speed,
        acceleration=limits.acceleration * GENTLE_ACCELERATION,
    )


def require_within(name: str, target: int, low: int, high: int, unit: str) -> None:
    """Raise ``InvalidRequest`` for a target beyond limits."""
    if not low <= target <= high:
        raise InvalidRequest(
            f"{name} cannot go to {target} {unit}: its limits are {low} to {high} {unit}"
        )


def paths_to_start(
    setup: ActuatorSetup, at: int | None, turn: int | None, exactly: bool
) -> Iterator[int]:
    """Yield the positions by which a stepper returns to its start from ``at``.

    The last move is forwards, which takes up any play. Yield nothing if it is there already, or too
    far away.

    ``turn``: its steps per turn. ``exactly``: a position that only looks like the start does not
    count.
    """
    if at is None or turn is None:
        return
    way = setup.start - at if exactly else setup.way_to_start(at)
    if 0 < abs(way) <= turn // (MOST_BACK_EXACTLY if exactly else MOST_BACK):
        if way < 0:
            yield at + way - turn // MOST_PLAY
        yield at + way
