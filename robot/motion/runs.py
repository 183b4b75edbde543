"""Step times as few runs of ``interval, count, add``: what the firmware stores and plays.

A run plays intervals ``interval, interval + add, ...``, so the time of its n-th step (from 1) is
``n * interval + add * n (n - 1) / 2``: a parabola through the wanted times. Greedy: the longest run
that keeps every step near its time, then the next; errors never add up, as each run
is fitted to absolute times from where the last one really ended.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from robot.motion.limits import MAX_INTERVAL_TICKS
from robot.motion.schedule import StepSegment

TOLERANCE_PER_INTERVAL = 1 / 4
"""A step may stray by this part of its interval: microsteps, far below what a rotor follows."""
MAX_COUNT = 32_767
MAX_ADD = 32_767


def compress(times_ticks: NDArray[np.int64]) -> tuple[StepSegment, ...]:
    """Runs whose steps fall near the ascending ``times_ticks`` (counted from the start)."""
    intervals = np.diff(times_ticks, prepend=0)
    tolerance = np.maximum(intervals * TOLERANCE_PER_INTERVAL, 1.0)
    runs: list[StepSegment] = []
    done, clock = 0, 0
    while done < len(times_ticks):
        run = _longest_run(times_ticks[done:] - clock, tolerance[done:])
        runs.append(run)
        done += run.count
        clock += run_ticks(run)
    return tuple(runs)


def run_ticks(run: StepSegment) -> int:
    """How long a run takes, in ticks."""
    count = abs(run.count)
    return count * run.interval_ticks + run.add_ticks * count * (count - 1) // 2


def _longest_run(wanted: NDArray[np.int64], tolerance: NDArray[np.float64]) -> StepSegment:
    """Double the length while a run fits, then bisect; a single step always fits."""
    limit = min(len(wanted), MAX_COUNT)
    best = StepSegment(max(1, min(int(wanted[0]), MAX_INTERVAL_TICKS)), 1, 0)
    low, high = 1, 2
    while high <= limit and (run := _fit(wanted[:high], tolerance[:high])):
        best, low, high = run, high, high * 2
    high = min(high, limit + 1)
    while high - low > 1:
        middle = (low + high) // 2
        run = _fit(wanted[:middle], tolerance[:middle])
        if run:
            best, low = run, middle
        else:
            high = middle
    return best


def _fit(wanted: NDArray[np.int64], tolerance: NDArray[np.float64]) -> StepSegment | None:
    """A parabola through first, middle and last step of the stretch, if all steps are near it."""
    count = len(wanted)
    numbers = np.arange(1, count + 1, dtype=np.int64)
    sums = numbers * (numbers - 1) // 2
    middle = count // 2
    slope = (wanted[-1] / count - wanted[middle - 1] / middle) * 2 / (count - middle)
    for add in {int(np.floor(slope)), int(np.ceil(slope))}:
        interval = round((int(wanted[-1]) - add * int(sums[-1])) / count)
        last = interval + add * (count - 1)
        if not (min(interval, last) > 0 and max(interval, last) <= MAX_INTERVAL_TICKS):
            continue
        if abs(add) <= MAX_ADD and np.all(
            np.abs(interval * numbers + add * sums - wanted) <= tolerance
        ):
            return StepSegment(interval, count, add)
    return None
