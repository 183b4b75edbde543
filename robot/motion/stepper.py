"""Stepper moves: a speed curve, then the times of its steps, then runs of step intervals.

A move from rest to rest accelerates from the start speed to the top speed, cruises, and decelerates
in the same way: a trapezoid of speed, or with a jerk limit an S-curve. The curve gives the time of
every step.

The firmware stores and executes runs of ``interval, count, add``. A run has the intervals
``interval, interval + add, ...``, so the time of its n-th step (from 1) is
``n * interval + add * n (n - 1) / 2``: a parabola through the target times. The search for runs is
greedy: the longest run that keeps every step near its time, then the next. Errors never accumulate,
because each run is fitted to absolute times from the actual end of the one before.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from robot.motion.schedule import DRIVES, Drive, MotionProfile, StepSegment, motion_error
from robot.settings.base import microseconds
from robot.settings.board_table import MAX_INTERVAL_TICKS, TICKS_PER_S, TICKS_PER_US
from robot.settings.stepper import Stepper

BISECTIONS = 60
TOLERANCE_PER_INTERVAL = 1 / 4
"""Allowed error of a step, as a fraction of its interval. It is in microsteps, far below what a
rotor follows."""
SHORTEST_PART = 0.92
"""Minimum interval of a run, as a fraction of the shortest one of the motion. The board rejects
steps that are more than a tenth faster than the motor's limit."""
MAX_COUNT = 32_767
MAX_ADD = 32_767


@dataclass(frozen=True, slots=True)
class StepperLimits:
    """Speeds in steps/s, acceleration in steps/s^2, jerk in steps/s^3 (``None``: trapezoid).

    ``start_speed`` is the speed at which the motor starts and stops dead without losing steps.
    Raises :class:`InvalidRequest` for values that permit no motion.
    """

    start_speed: float
    max_speed: float
    acceleration: float
    jerk: float | None = None

    def __post_init__(self) -> None:
        values = (self.start_speed, self.max_speed, self.acceleration, self.jerk or 1.0)
        if not all(math.isfinite(value) and value > 0 for value in values):
            raise motion_error(f"stepper limits must be positive numbers, got {self}")
        if self.start_speed < TICKS_PER_S / MAX_INTERVAL_TICKS:
            raise motion_error(
                f"start speed {self.start_speed:g} steps/s is below the firmware's slowest, "
                f"{TICKS_PER_S / MAX_INTERVAL_TICKS:.1f} steps/s"
            )
        if self.max_speed < self.start_speed:
            raise motion_error(
                f"maximum speed {self.max_speed:g} steps/s is below the start speed "
                f"{self.start_speed:g} steps/s"
            )


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

    With ``overshoot_steps`` it goes that far beyond the end and comes back (springy layers). With
    play of ``backlash_steps`` between motor and load, the last steps are always forwards, so that
    the load ends at the motor's position if it started there. Raise ``InvalidRequest`` for a move
    of no steps or negative numbers.
    """
    if steps == 0 or settle_us < 0 or overshoot_steps < 0 or backlash_steps < 0:
        raise motion_error(
            f"{actuator}: cannot move {steps} steps with {overshoot_steps} steps of overshoot, "
            f"{backlash_steps} of backlash and {settle_us} us to settle"
        )
    segments: tuple[StepSegment, ...] = ()
    for part in _parts(steps, overshoot_steps, backlash_steps):
        runs = _runs(abs(part), limits)
        segments += runs if part > 0 else tuple(_reverse(run) for run in runs)
    return stepper_path(actuator, start_steps, steps > 0, segments, settle_us)


def _parts(steps: int, overshoot: int, backlash: int) -> list[int]:
    """Return the steps forth and back, signed in the direction of the move; they add up to it."""
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
    """Return a profile of given runs; a negative ``count`` steps against the move's direction."""
    ticks = sum(run_ticks(run) for run in segments)
    steps = sum(run.count for run in segments)
    return MotionProfile(
        actuator=actuator,
        segments=tuple(segments),
        start=start_steps,
        end=start_steps + (steps if forward else -steps),
        duration_us=-(-ticks // TICKS_PER_US) + settle_us,
    )


def _reverse(run: StepSegment) -> StepSegment:
    return StepSegment(run.interval_ticks, -run.count, run.add_ticks)


@lru_cache(maxsize=4096)
def _runs(steps: int, limits: StepperLimits) -> tuple[StepSegment, ...]:
    """Return the runs of a move from rest to rest, cached because the same few moves recur."""
    times_s = step_times(steps, round_to_ticks(limits))
    return compress(np.rint(times_s * TICKS_PER_S).astype(np.int64))


def round_to_ticks(limits: StepperLimits) -> StepperLimits:
    """Lower the top speed to an interval of whole ticks, so that one run plays all of it."""
    top = TICKS_PER_S / math.ceil(TICKS_PER_S / limits.max_speed - 1e-9)
    return replace(limits, max_speed=top, start_speed=min(limits.start_speed, top))


@dataclass(frozen=True, slots=True)
class SpeedRamp:
    """A rise of speed from ``low`` to ``high``: jerk for ``rise_s``, steady, jerk back.

    The acceleration is a trapezoid over ``duration_s`` with edges of ``rise_s`` (0: a rectangle).
    """

    low: float
    high: float
    rise_s: float
    duration_s: float

    @property
    def distance(self) -> float:
        """The number of steps; the speed curve is symmetric about its middle."""
        return (self.low + self.high) / 2 * self.duration_s

    def steps_at(self, times_s: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the steps made at each time in [0, duration_s]."""
        mirrored = times_s > self.duration_s / 2
        early = np.where(mirrored, self.duration_s - times_s, times_s)
        gained = self._steps_above_low(early)
        late = self.distance - (self.high * early - gained)
        return np.where(mirrored, late, self.low * early + gained)

    def _steps_above_low(self, times_s: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the steps beyond those at speed ``low``, in the first half of the ramp."""
        if self.duration_s == 0:
            return np.zeros_like(times_s)
        peak = (self.high - self.low) / (self.duration_s - self.rise_s)
        if self.rise_s == 0:
            return peak * times_s**2 / 2
        jerk = peak / self.rise_s
        steady = np.maximum(times_s - self.rise_s, 0)
        rising = np.minimum(times_s, self.rise_s)
        corner_speed = peak * self.rise_s / 2
        return np.asarray(jerk * rising**3 / 6 + corner_speed * steady + peak * steady**2 / 2)


def ramp_between(low: float, high: float, limits: StepperLimits) -> SpeedRamp:
    """Return the quickest ramp from ``low`` to ``high`` steps/s within acceleration and jerk."""
    gain = high - low
    if limits.jerk is None:
        return SpeedRamp(low, high, 0.0, gain / limits.acceleration)
    rise_s = min(limits.acceleration / limits.jerk, (gain / limits.jerk) ** 0.5)
    steady_s = gain / (limits.jerk * rise_s) - rise_s if rise_s else 0.0
    return SpeedRamp(low, high, rise_s, 2 * rise_s + max(steady_s, 0.0))


def quickest_ramp(steps: int, limits: StepperLimits) -> SpeedRamp:
    """Return the ramp to the highest speed from which a move of ``steps`` can still stop."""
    full = ramp_between(limits.start_speed, limits.max_speed, limits)
    if 2 * full.distance <= steps:
        return full
    low, high = limits.start_speed, limits.max_speed
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        if 2 * ramp_between(limits.start_speed, middle, limits).distance <= steps:
            low = middle
        else:
            high = middle
    return ramp_between(limits.start_speed, low, limits)


def step_times(steps: int, limits: StepperLimits) -> NDArray[np.float64]:
    """Return the time of each of ``steps`` steps in seconds; the last one ends the move."""
    ramp = quickest_ramp(steps, limits)
    cruise = steps - 2 * ramp.distance
    cruise_s = cruise / ramp.high
    total_s = 2 * ramp.duration_s + cruise_s
    numbers = np.arange(1, steps + 1, dtype=np.float64)
    braking = numbers > steps - ramp.distance
    mirrored = np.where(braking, steps - numbers, numbers)
    in_ramp = _times_in(ramp, np.minimum(mirrored, ramp.distance))
    early = in_ramp + np.maximum(mirrored - ramp.distance, 0) / ramp.high
    return np.where(braking, total_s - early, early)


def _times_in(ramp: SpeedRamp, positions: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the times at which the ramp passes positions, by bisection of the monotone curve."""
    low = np.zeros_like(positions)
    high = np.full_like(positions, ramp.duration_s)
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        short = ramp.steps_at(middle) < positions
        low = np.where(short, middle, low)
        high = np.where(short, high, middle)
    return high


def compress(times_ticks: NDArray[np.int64]) -> tuple[StepSegment, ...]:
    """Return runs with steps near the ascending ``times_ticks`` (counted from the start)."""
    intervals = np.diff(times_ticks, prepend=0)
    tolerance = np.maximum(intervals * TOLERANCE_PER_INTERVAL, 1.0)
    shortest = max(1, math.ceil(SHORTEST_PART * int(intervals.min(initial=1 << 30))))
    runs: list[StepSegment] = []
    done, clock = 0, 0
    while done < len(times_ticks):
        run = _longest_run(times_ticks[done:] - clock, tolerance[done:], shortest)
        runs.append(run)
        done += run.count
        clock += run_ticks(run)
    return tuple(runs)


def run_ticks(run: StepSegment) -> int:
    """Return the duration of a run in ticks."""
    count = abs(run.count)
    return count * run.interval_ticks + run.add_ticks * count * (count - 1) // 2


def _longest_run(
    wanted: NDArray[np.int64], tolerance: NDArray[np.float64], shortest: int
) -> StepSegment:
    """Return the longest run that fits.

    Double its length while it fits, then bisect. A single step always fits.
    """
    limit = min(len(wanted), MAX_COUNT)
    best = StepSegment(max(shortest, min(int(wanted[0]), MAX_INTERVAL_TICKS)), 1, 0)
    low, high = 1, 2
    while high <= limit and (run := _fit(wanted[:high], tolerance[:high], shortest)):
        best, low, high = run, high, high * 2
    high = min(high, limit + 1)
    while high - low > 1:
        middle = (low + high) // 2
        run = _fit(wanted[:middle], tolerance[:middle], shortest)
        if run:
            best, low = run, middle
        else:
            high = middle
    return best


def _fit(
    wanted: NDArray[np.int64], tolerance: NDArray[np.float64], shortest: int
) -> StepSegment | None:
    """Return a run through the first, middle and last step, if all steps are near its parabola and
    no interval is below ``shortest``."""
    count = len(wanted)
    numbers = np.arange(1, count + 1, dtype=np.int64)
    sums = numbers * (numbers - 1) // 2
    middle = count // 2
    slope = (wanted[-1] / count - wanted[middle - 1] / middle) * 2 / (count - middle)
    for add in {int(np.floor(slope)), int(np.ceil(slope))}:
        interval = round((int(wanted[-1]) - add * int(sums[-1])) / count)
        last = interval + add * (count - 1)
        if min(interval, last) < shortest or max(interval, last) > MAX_INTERVAL_TICKS:
            continue
        if abs(add) <= MAX_ADD and np.all(
            np.abs(interval * numbers + add * sums - wanted) <= tolerance
        ):
            return StepSegment(interval, count, add)
    return None


class StepperDrive(Drive):
    """A calibrated stepper: moves to named positions, or by any number of quarter turns."""

    def __init__(self, name: str, settings: Stepper) -> None:
        super().__init__(name)
        self._settings = settings

    def travel(self, start: str, end: str, held: bool) -> MotionProfile:
        """See :meth:`Drive.travel`."""
        steps = self._settings.positions_steps
        return self._move(steps[start], steps[end] - steps[start], held)

    def rotation(self, angle: int, quarters: int, held: bool) -> MotionProfile:
        """See :meth:`Drive.rotation`."""
        turn = self._settings.steps_per_turn
        if turn is None:
            return super().rotation(angle, quarters, held)
        return self._move(angle * turn // 4, quarters * turn // 4, held)

    def angle_left_us(self, quarters: int, degrees: float) -> int:
        """See :meth:`Drive.angle_left_us`: its steps give the time, since it slows down at the end.
        The load lags by the play; within that, it counts as square after a backward motion."""
        play = self._settings.backlash_steps
        steps = int(degrees * (self._settings.steps_per_turn or 0) / 360)
        if quarters < 0:
            steps = max(steps, play)
        return _steps_left_us(self.rotation(0, quarters, held=True), steps, play)

    def angle_made_us(self, quarters: int, degrees: float) -> int:
        """See :meth:`Drive.angle_made_us`: its steps give the time, as if it had no play."""
        steps = int(degrees * (self._settings.steps_per_turn or 0) / 360)
        return _steps_made_us(self.rotation(0, quarters, held=True), steps)

    def _move(self, start_steps: int, steps: int, held: bool) -> MotionProfile:
        """Return the motion, at least as long as its reverse, which may take up more play."""
        there, back = (self._one_way(start_steps, way, held) for way in (steps, -steps))
        missing = max(0, back.duration_us - there.duration_us)
        return replace(there, duration_us=there.duration_us + missing)

    def _one_way(self, start_steps: int, steps: int, held: bool) -> MotionProfile:
        stepper = self._settings
        return stepper_move(
            self.name,
            start_steps,
            steps,
            stepper_limits(stepper, held),
            microseconds(stepper.settle_ms),
            overshoot_steps=stepper.overshoot_steps if held else 0,
            backlash_steps=stepper.backlash_steps,
        )


def stepper_limits(stepper: Stepper, held: bool) -> StepperLimits:
    """Return the motor's limits, without load or with a layer of a held cube."""
    loaded = stepper.held if held and stepper.held is not None else stepper
    return StepperLimits(
        start_speed=min(stepper.start_speed_steps_per_s, loaded.max_speed_steps_per_s),
        max_speed=loaded.max_speed_steps_per_s,
        acceleration=loaded.max_acceleration_steps_per_s2,
        jerk=stepper.max_jerk_steps_per_s3,
    )


def _steps_left_us(motion: MotionProfile, steps: int, play: int) -> int:
    """Return the microseconds from when the load comes within ``steps`` of its end for good.

    With overshoot it comes near, swings beyond the end, and comes back: the last time counts.
    """
    forward = 1 if motion.end > motion.start else -1
    rotor = load = motion.start - motion.end
    ticks = near_since = 0
    was_near = abs(load) <= steps
    for run in motion.segments:
        assert isinstance(run, StepSegment)
        for number in range(abs(run.count)):
            ticks += run.interval_ticks + number * run.add_ticks
            rotor += forward if run.count > 0 else -forward
            load = min(max(load, rotor), rotor + play)
            is_near = abs(load) <= steps
            if is_near and not was_near:
                near_since = ticks
            was_near = is_near
    return motion.duration_us - -(-near_since // TICKS_PER_US)


def _steps_made_us(motion: MotionProfile, steps: int) -> int:
    """Return the microseconds until the step after the first ``steps``, or until the end."""
    ticks = made = 0
    for run in motion.segments:
        if isinstance(run, StepSegment):
            for number in range(run.count):
                ticks += run.interval_ticks + number * run.add_ticks
                made += 1
                if made > steps:
                    return ticks // TICKS_PER_US
    return motion.duration_us


DRIVES["stepper"] = StepperDrive
