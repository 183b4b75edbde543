"""Tables and grippers that turn the cube while the camera measures the angle."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import numpy as np

from robot.calibration.auto.face_watch import LIFTED, Floats, RotationGauge, are_two_faces
from robot.calibration.auto.far_part import FarPart
from robot.calibration.auto.film import Film, angles
from robot.calibration.auto.fitting import ServoLine, SweepPoint, TiltGauge, fit_line
from robot.calibration.auto.stepwise_move import StepwiseMove
from robot.settings.base import Site
from robot.text.faults import CalibrationError

MOST_OFF_DEGREES = 4.0
"""Maximum error of an end position against the line."""

MOST_BEYOND_DEGREES = 12.0
"""Maximum error beyond the end: nothing blocks the servo there, and many servos are not linear."""

MOST_SHORT_DEGREES = 2.0
"""Maximum distance of a servo's limits from a position: layers may be that far off square."""

STILL_DEGREES = 0.9
"""Minimum rotation for a sweep step of 40 us. A part that turns less pushes against something."""

MOST_PLAY_DEGREES = 4.0
"""Maximum play of the part that a stepper drives."""

PEEK_DEGREES = 1.5
"""First motion of a stepper, to measure the size of its steps."""

PEEKS_LONGER = 16
"""Maximum multiple of that motion."""

SHOWS_DEGREES = 2.0
"""Minimum rotation of the cube that counts as seen."""

FARTHEST_TILT = 38.0
"""Tilt above which a face can hardly be told from the next one."""

OUT_OF_VIEW = (
    "no whole face is in view while {} turns the cube: does something else hold the cube, or is "
    "something in front of the camera?"
)


EIGHTH = 45.0
LEAST_REACH = 5.0
"""Minimum sweep to either side for an exact line. The end positions are measured separately."""
NARROW_REACH = 24.0
"""Sweep to either side, in degrees, below which a line is measured in smaller steps."""

SHOWN_TOO_LITTLE = (
    "the face is too close to the edge of the picture, which shows all of it only up to {:.0f} "
    "degrees to either side{}: {}"
)


class Rotation(ABC):
    """A part that turns the cube: a table or a gripper, moved by a servo or a stepper.

    ``quarters``: quarter turns of a servo's positions by their names. Angles are in degrees.
    ``sweep``: angle to either side over which its line is measured, in steps of ``step_us`` for a
    servo and ``step_degrees`` for a stepper. ``most_off``: maximum distance by which its end
    positions may fall short of the line. ``looks_at``: fractions of a layer's quarter turn at which
    the camera takes a picture. ``short_us``: distances by which a servo's limits keep it from
    positions.
    """

    sweep: float
    step_us: int
    step_degrees: float
    most_off = MOST_OFF_DEGREES
    looks_at: tuple[float, ...] = (1 / 3, 1.0)

    def __init__(self, actuator: StepwiseMove, quarters: Mapping[str, int]) -> None:
        self.actuator = actuator
        self.quarters = dict(quarters)
        self._line: ServoLine | None = None
        self._stride = 0
        self.short_us: dict[str, float] = {}

    @property
    def name(self) -> str:
        """Name of the motor."""
        return self.actuator.name

    @property
    def line(self) -> ServoLine:
        """Angles against pulses."""
        assert self._line is not None, "the line is found before whatever needs it"
        return self._line

    @abstractmethod
    def angle(self) -> float:
        """Return the cube's angle in degrees. Raise :class:`CalibrationError` if it is hidden."""

    @abstractmethod
    def expect(self, degrees: float) -> None:
        """Note the angle near which the cube will be next."""

    @abstractmethod
    def shift_zero(self, degrees: float) -> None:
        """Move the zero of the cube's angle to ``degrees``."""

    def find_line(self) -> ServoLine:
        """Sweep, fit the line, and go to zero. Raise :class:`CalibrationError`."""
        self._stride = self._find_stride() if self.is_stepper else self._profile_stride()
        points: list[SweepPoint] = []
        sweep = self.reach
        for target in (sweep, -sweep, 0.0):
            points += self._swept(target)
            if len(points) > 1 and not self.is_stepper:
                self._stride = _sense(points) * round(self._fineness * self.step_us)
        line = fit_line(self.refine_points(points))
        if line is None:
            raise self._not_turning()
        self._line = line
        self.go(0.0)
        return line

    def assume_line(self, line: ServoLine) -> None:
        """Take the line as known, for a stepper that homes by a sensor."""
        self._line = line

    @property
    def reach(self) -> float:
        """Return the degrees to either side over which its line is measured."""
        return self.sweep

    @property
    def _fineness(self) -> float:
        """Return the size of steps relative to the usual, so that a narrow sweep has enough."""
        return min(1.0, self.reach / min(self.sweep, NARROW_REACH))

    @property
    def is_stepper(self) -> bool:
        """Return whether a stepper turns it: endlessly, and from any position."""
        return self.actuator.stepper is not None

    def _profile_stride(self) -> int:
        """Wake a servo at its home. Return a sweep step in microseconds, signed by the profile."""
        places = self.actuator.settings.places
        ordered = sorted(self.quarters, key=self.quarters.__getitem__)
        home = next(name for name, quarters in self.quarters.items() if not quarters)
        self.actuator.wake(places[home])
        return round(self._fineness * self.step_us) * (
            1 if places[ordered[-1]] > places[ordered[0]] else -1
        )

    def _find_stride(self) -> int:
        """Return a sweep step in steps of the motor, by measuring how far some steps turn the cube.

        Start with a few and double them until the cube visibly turns: a driver may make larger
        steps than expected, and other parts block what is turned too far.
        """
        stepper = self.actuator.stepper
        assert stepper is not None and stepper.steps_per_turn
        made = max(1, round(stepper.steps_per_turn * PEEK_DEGREES / 360))
        most = PEEKS_LONGER * made
        self.actuator.wake()
        start = self.actuator.at
        self.actuator.go(start + made)  # takes up at least some of the play
        seen, turned = self.angle(), 0.0
        while abs(turned) < SHOWS_DEGREES and made < most:
            self.actuator.go(start + 2 * made)
            before, seen = seen, self.angle()
            turned, made = seen - before, 2 * made
        if abs(turned) < SHOWS_DEGREES / 3:
            raise self._not_turning()
        return round(made / 2 * self._fineness * self.step_degrees / turned)

    def _not_turning(self) -> CalibrationError:
        return CalibrationError(
            f"{self.name} does not turn the cube: is the motor connected to its pins and powered, "
            "and does nothing else hold the cube?"
        )

    def refine_points(self, points: list[SweepPoint]) -> list[SweepPoint]:
        """Return the points of a sweep, improved by what the whole sweep has shown."""
        return points

    def go(self, degrees: float) -> None:
        """Turn to an angle from either side, allowing for the slack."""
        self.turn(degrees)
        self.expect(degrees)

    def turn(self, degrees: float) -> None:
        """Turn to an angle when the cube may not follow."""
        line = self.line
        self.actuator.go(line.pulse(degrees, line.pulse(degrees) > self.actuator.at))

    def swing(self, degrees: float) -> float:
        """Turn by an angle and back, and return the degrees by which the cube has followed.

        If another part holds the cube, only a layer turns and comes back.
        """
        self.go(-degrees / 2)
        before = self.angle()
        self.go(degrees / 2)
        self.expect(0.0)
        moved = self.angle() - before
        self.go(0.0)
        return moved

    def set_square(self) -> float:
        """Set zero to the cube's angle while other jaws hold it. Return its previous error."""
        self.go(0.0)
        off = self.angle()
        if abs(off) > MOST_OFF_DEGREES:
            raise CalibrationError(
                f"the cube turned by {off:+.1f} degrees when the jaws closed on it: put it in "
                "square to both grippers"
            )
        self.recentre(off)
        self.go(0.0)
        return off

    def recentre(self, degrees: float) -> None:
        """Move the zero of both face and line to ``degrees``."""
        self.shift_zero(degrees)
        self._line = self.line.with_zero_at(degrees)

    def follows_held(self, places: Mapping[str, int]) -> float:
        """Turn a layer to all positions while something holds the cube. Return the maximum angle by
        which the cube has followed.

        A cube that has followed by a quarter turn shows the same angle. So the camera also looks
        during the turn, because a cube slips by less than that between two looks.
        """
        before = self.angle()
        return max(abs(self.angle() - before) for _ in self._turn_by_quarters(places))

    def _turn_by_quarters(self, places: Mapping[str, int]) -> Iterator[None]:
        """Turn to all positions and back, by the line for a stepper. Yield where to look."""
        home, ends = self.line.pulse(0.0), [self.line.pulse(90.0), self.line.pulse(-90.0)]
        if places:
            home = next(float(places[name]) for name, at in self.quarters.items() if not at)
            ends = [float(places[name]) for name, at in self.quarters.items() if at]
        for target in (place for end in ends for place in (end, home)):
            begin = self.actuator.at
            for part in self.looks_at:
                self.actuator.go(begin + part * (target - begin))
                yield

    def settle(self) -> None:
        """Go to zero, approaching it from below to take up any play. Back off no further than
        layers may be off square."""
        self.go(-self.step_degrees)
        self.go(0.0)

    def find_stops(self, askew: float = 0.0) -> tuple[dict[str, int], dict[str, float]]:
        """Return the pulses of the positions, the ends measured, and the line's errors at the ends.

        A servo stops short of its target, within its dead band. It always reaches its end positions
        from between them, so their pulses allow for that. It reaches the middle from both sides.
        ``askew``: constant angle between the cube and the part that turns it.
        """
        line = self.line
        self.short_us = {}
        places: dict[str, int] = {}
        off: dict[str, float] = {}
        for name, quarters in sorted(self.quarters.items(), key=lambda item: abs(item[1])):
            wanted = 90.0 * quarters
            upwards = (quarters > 0) == (line.degrees_per_us > 0) if quarters else None
            self.go(0.0)
            pulse = line.pulse(wanted, upwards)
            if quarters:
                pulse, off[name] = self._find_stop(name, wanted + askew, pulse)
            places[name] = round(pulse)
        self.go(0.0)
        return places, off

    def _find_stop(self, name: str, wanted: float, pulse: float) -> tuple[float, float]:
        """Return the pulse of a position, near the line's ``pulse``, and the line's error there.

        The line of a servo that is not linear may lead beyond its limits although the position is
        within them.
        """
        slope, (low, high) = self.line.degrees_per_us, self.actuator.limits
        first = None
        while True:
            at = max(low, min(high, pulse))
            self.actuator.go(at)
            self.expect(wanted)
            error = self.angle() - wanted
            most = MOST_OFF_DEGREES if first is not None else self.most_off
            if first is None and error * wanted > 0:
                most = MOST_BEYOND_DEGREES
            if abs(error) > most and at != pulse:
                raise self.actuator.limits_error(pulse)
            if abs(error) > most:
                raise CalibrationError(
                    f"{self.name} is {error:+.1f} degrees off at {at:.0f} us, where {name} should "
                    "be: is something in its way?"
                )
            pulse = at - error / slope
            first = error if first is None else first
            if abs(error) <= MOST_OFF_DEGREES:
                break
            self.go(0.0)
        found = max(low, min(high, pulse))
        if abs(pulse - found) * abs(slope) > MOST_SHORT_DEGREES:
            raise self.actuator.limits_error(pulse)
        if found != pulse:
            self.short_us[name] = abs(pulse - found)
        return found, round(first, 2)

    def _swept(self, target: float) -> Iterator[SweepPoint]:
        """Sweep to an angle, yielding a point for each step. Stop at an obstacle or a limit."""
        angle = self.angle()
        rising = target > angle
        step = self._stride * (1 if rising else -1)
        low, high = self.actuator.limits
        lead = self._lead
        while (target > angle) == rising and low <= self.actuator.at + step <= high:
            self.actuator.go(self.actuator.at + step)
            last, angle = angle, self.angle()
            lead -= 1
            if lead >= 0:  # the first steps take up the slack
                continue
            if abs(angle - last) < self._fineness * self.step_us / 40 * STILL_DEGREES:
                self.actuator.go(
                    self.actuator.at - 2 * step
                )  # it pushes against something: back off
                return
            yield SweepPoint(self.actuator.at, angle, step > 0)

    @property
    def _lead(self) -> int:
        """Return the maximum number of sweep steps that take up the slack."""
        step = self._fineness * self.step_degrees
        return math.ceil(MOST_PLAY_DEGREES / step) if self.is_stepper else 1


def _sense(points: list[SweepPoint]) -> int:
    """Return 1 if larger pulses turned it to larger angles, else -1."""
    first, last = points[0], points[-1]
    return 1 if (last.degrees > first.degrees) == (last.pulse_us > first.pulse_us) else -1


class FilmedRotation(Rotation):
    """A part that turns the whole cube, so that a film shows its motion from start to end."""

    @abstractmethod
    def read_film(self, film: Film, way: float) -> list[tuple[int, float]]:
        """Return the times of the pictures that show the face, and the cube's angles since the
        first of them. ``way``: expected angle of the whole motion."""


class SpinningPart(FilmedRotation):
    """A part below or above the cube, which turns the face in view about the line of sight."""

    sweep = 70.0
    step_us, step_degrees = 40, 6.0

    def __init__(
        self, watch: RotationGauge, actuator: StepwiseMove, quarters: Mapping[str, int]
    ) -> None:
        super().__init__(actuator, quarters)
        self.watch = watch
        self.expected = 0.0

    @property
    def reach(self) -> float:
        """See :attr:`Rotation.reach`; limited to angles at which the picture shows the face."""
        shown = self.watch.turn_in_view
        if shown < LEAST_REACH:
            needed = f", and {LEAST_REACH:.0f} are needed"
            raise CalibrationError(SHOWN_TOO_LITTLE.format(shown, needed, self.watch.remedy))
        return self.sweep if shown >= EIGHTH else shown

    def angle(self) -> float:
        """See :meth:`Rotation.angle`."""
        seen = self.watch.look(self.expected)
        if seen is None:
            shown = self.watch.turn_in_view
            if shown < EIGHTH:
                raise CalibrationError(SHOWN_TOO_LITTLE.format(shown, "", self.watch.remedy))
            raise self.watch.lost_face_error(OUT_OF_VIEW.format(self.name))
        self.expected = seen.degrees
        return seen.degrees

    def expect(self, degrees: float) -> None:
        """See :meth:`Rotation.expect`."""
        self.expected = degrees

    def shift_zero(self, degrees: float) -> None:
        """See :meth:`Rotation.shift_zero`."""
        self.watch.zero += degrees
        self.expected -= degrees

    def read_film(self, film: Film, way: float) -> list[tuple[int, float]]:
        """See :meth:`FilmedRotation.read_film`."""
        return angles(self.watch, film, way)


class TiltingGripper(FilmedRotation):
    """A gripper beside the cube, which tilts the face in view. A quarter turn shows another one."""

    sweep = 16.0
    step_us, step_degrees = 20, 1.8
    most_off = 2 * MOST_OFF_DEGREES

    def __init__(
        self, watch: RotationGauge, actuator: StepwiseMove, quarters: Mapping[str, int], site: Site
    ) -> None:
        super().__init__(actuator, quarters)
        self.watch = watch
        self._far = FarPart(watch, site)
        self._gauge = TiltGauge(site)
        self._follows = False
        self._near = self._zero = 0.0
        self._views: dict[float, Floats] = {}

    def angle(self) -> float:
        """See :meth:`Rotation.angle`."""
        corners = self.watch.level_corners(self._follows)
        if corners is None:
            raise self.watch.lost_face_error(OUT_OF_VIEW.format(self.name))
        tilt = self._gauge.degrees(corners) - self._zero
        if self._line is None:
            self._views[tilt] = corners
        return tilt + 90 * round((self._near - tilt) / 90)

    def swing(self, degrees: float) -> float:
        """See :meth:`Rotation.swing`."""
        with self._following():
            return super().swing(degrees)

    def set_square(self) -> float:
        """See :meth:`Rotation.set_square`."""
        with self._following():
            return super().set_square()

    def follows_held(self, places: Mapping[str, int]) -> float:
        """See :meth:`Rotation.follows_held`; measured on the part of the face outside its layer.

        If another face appears there, the cube has followed by a quarter turn.
        """
        self._far.begin()
        seen = [abs(self._far.degrees()) for _ in self._turn_by_quarters(places)]
        return min(max(seen), 90.0)

    @contextmanager
    def _following(self) -> Iterator[None]:
        """Look for the face at its last position, because other jaws hide a part of it."""
        self._follows = True
        try:
            yield
        finally:
            self._follows = False

    def expect(self, degrees: float) -> None:
        """See :meth:`Rotation.expect`."""
        self._near = degrees

    def shift_zero(self, degrees: float) -> None:
        """See :meth:`Rotation.shift_zero`."""
        self._zero += degrees

    def read_film(self, film: Film, way: float) -> list[tuple[int, float]]:
        """See :meth:`FilmedRotation.read_film`.

        After every quarter turn another face comes into view, recognized by its stickers.
        """
        seen = [
            (one.time_us, self.watch.level(np.array(one.corners)), np.array(one.colours))
            for one in film.pictures
            if one.corners
        ]
        gauge = self._gauge
        if self._line is None and seen:
            gauge = gauge.fit_camera([corners for _, corners, _ in seen][:: 1 + len(seen) // 12])
        found: list[tuple[int, float]] = []
        quarters = 0
        face = seen[0][2] if seen else np.empty(0)
        for time_us, corners, colours in seen:
            tilt = gauge.degrees(corners)
            if abs(tilt) > FARTHEST_TILT or gauge.misses(corners, tilt) > LIFTED:
                continue
            if are_two_faces(face, colours):
                quarters, face = quarters + (1 if way > 0 else -1), colours
            found.append((time_us, 90.0 * quarters + tilt))
        return [(time_us, degrees - found[0][1]) for time_us, degrees in found]

    def refine_points(self, points: list[SweepPoint]) -> list[SweepPoint]:
        """See :meth:`Rotation.refine_points`; the sweep also gives the camera's position."""
        views = [self._views[point.degrees] for point in points]
        if views:
            self._gauge = self._gauge.fit_camera(views)
        return [
            SweepPoint(point.pulse_us, self._gauge.degrees(corners), point.upwards)
            for point, corners in zip(points, views, strict=True)
        ]


class SensedGripper(TiltingGripper):
    """A gripper that homes by a sensor, which defines square. Its line comes from the profile.

    Its angle is that of the part of the face outside its layer: on a cube of two layers the
    opposite gripper holds the other half.
    """

    def home(self) -> None:
        """Home it by its sensor, with whatever it holds, and count angles from there."""
        self.actuator.wake()
        stepper = self.actuator.stepper
        assert stepper is not None and stepper.steps_per_turn
        self.assume_line(ServoLine(360 / stepper.steps_per_turn, self.actuator.at, 0.0, 0.0))
        self._zero = 0.0
        self._far.begin()

    def angle(self) -> float:
        """See :meth:`Rotation.angle`."""
        degrees = self._far.degrees()
        if math.isinf(degrees):
            raise self.watch.lost_face_error(OUT_OF_VIEW.format(self.name))
        return degrees - self._zero
