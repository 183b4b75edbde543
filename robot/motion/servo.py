"""Servo motions: the pulse slews to its target linearly, or eases in and out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from robot.motion.schedule import DRIVES, MotionProfile, PlacedDrive, ServoSegment, motion_error
from robot.settings.actuators import Servo
from robot.settings.base import microseconds

EASE_PIECES = 4


def servo_slew(
    actuator: str,
    start_pulse_us: int,
    end_pulse_us: int,
    travel_us: int,
    settle_us: int = 0,
    *,
    ease_us: int = 0,
    overshoot: tuple[int, int] = (0, 0),
) -> MotionProfile:
    """Move the pulse from start to end in ``travel_us``, then stay for ``settle_us``.

    ``ease_us`` is the time for the speed to build up, and again to fall off, within ``travel_us``
    (0: constant speed). ``overshoot`` is the pulse in us beyond the end, and the time in us to come
    back. Raise :class:`InvalidRequest` for impossible times.
    """
    way = [(0.0, start_pulse_us), (1.0, end_pulse_us)]
    return slew_along(actuator, way, travel_us, settle_us, ease_us, overshoot)


def slew_along(
    actuator: str,
    way: Sequence[tuple[float, int]],
    travel_us: int,
    settle_us: int,
    ease_us: int,
    overshoot: tuple[int, int],
) -> MotionProfile:
    """Move the pulse like :func:`servo_slew`, but through given pulses at fractions of the way.

    A servo need not be linear: the microseconds for a degree may vary.
    """
    if travel_us <= 0 or ease_us < 0 or 2 * ease_us > travel_us:
        raise motion_error(
            f"{actuator}: a travel of {travel_us} us cannot hold 2 x {ease_us} us of easing"
        )
    beyond_us, back_us = overshoot
    (*_, (_, before_us), (_, end_us)) = way
    turning_us = end_us + (beyond_us if end_us > before_us else -beyond_us)
    path = list(_ease([*way[:-1], (1.0, turning_us)], travel_us, ease_us))
    if beyond_us:
        path.append((end_us, back_us))
    if settle_us:
        path.append((end_us, settle_us))
    return servo_path(actuator, way[0][1], path)


def servo_path(
    actuator: str, start_pulse_us: int, path: Sequence[tuple[int, int]]
) -> MotionProfile:
    """Slew linearly through a sequence of ``(pulse_us, duration_us)``.

    A path past the target and back makes an overshoot: ``[(1540, 400_000), (1500, 100_000)]``.
    Raise :class:`InvalidRequest` for an empty path or a duration that is not positive.
    """
    if not path:
        raise motion_error(f"{actuator}: a servo path needs at least one segment")
    for pulse_us, duration_us in path:
        if duration_us <= 0 or pulse_us <= 0:
            raise motion_error(
                f"{actuator}: pulse {pulse_us} us in {duration_us} us; both must be positive"
            )
    segments = tuple(ServoSegment(pulse_us, duration_us) for pulse_us, duration_us in path)
    return MotionProfile(
        actuator=actuator,
        segments=segments,
        start=start_pulse_us,
        end=segments[-1].pulse_us,
        duration_us=sum(segment.duration_us for segment in segments),
    )


def _ease(
    way: Sequence[tuple[float, int]], travel_us: int, ease_us: int
) -> Iterable[tuple[int, int]]:
    """Yield pieces of a slew: its speed rises over ``ease_us``, is constant, and falls again.

    ``way``: fractions of it, with the pulse at each.
    """
    top_speed = 1 / (travel_us - ease_us)
    parts, pulses = [part for part, _ in way], [pulse_us for _, pulse_us in way]
    edges = [ease_us * piece // EASE_PIECES for piece in range(EASE_PIECES + 1)]
    times = {*edges, *(travel_us - edge for edge in edges)}
    passed = (round(part / top_speed + ease_us / 2) for part in parts[1:-1])
    times |= {time_us for time_us in passed if ease_us < time_us < travel_us - ease_us}
    before = 0
    for time_us in sorted(times - {0}):
        pulse_us = np.interp(_eased_way(time_us, travel_us, ease_us), parts, pulses)
        yield round(float(pulse_us)), time_us - before
        before = time_us


def _eased_way(time_us: int, travel_us: int, ease_us: int) -> float:
    """Return the fraction of the way, 0 to 1, done at a time, for a trapezoid of speed."""
    top_speed = 1 / (travel_us - ease_us)
    if time_us < ease_us:
        return top_speed * time_us**2 / (2 * ease_us)
    if time_us > travel_us - ease_us:
        return 1 - top_speed * (travel_us - time_us) ** 2 / (2 * ease_us)
    return top_speed * (time_us - ease_us / 2)


class ServoDrive(PlacedDrive[Servo]):
    """A calibrated servo: slews between its named positions."""

    def moving_us(self, start: str, end: str, held: bool) -> int:
        """See :meth:`Drive.moving_us`."""
        times = self._settings.transition_us(start, end, held)
        return 0 if times is None else times[0]

    def travel(self, start: str, end: str, held: bool) -> MotionProfile:
        """See :meth:`Drive.travel`."""
        servo = self._settings
        times = servo.transition_us(start, end, held)
        if times is None:
            raise ValueError(f"{self.name} has no travel from {start} to {end}")
        travel, settle = times
        beyond, back = 0, 0
        if held and servo.overshoot is not None:
            beyond, back = servo.overshoot.us, microseconds(servo.overshoot.back_ms)
        ease_us = min(microseconds(servo.ease_ms), travel // 2)
        way = servo.way(start, end)
        return slew_along(self.name, way, travel, settle - back, ease_us, (beyond, back))


DRIVES["servo"] = ServoDrive
