"""A table or gripper that turns the cube while the camera measures by how much."""

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
"""Largest distance of the ends of its way from their place on the line."""

MOST_BEYOND_DEGREES = 12.0
"""Largest distance to the other side: nothing is in its way, and many servos are not straight."""

MOST_SHORT_DEGREES = 2.0
"""Largest distance of a servo's limits from a position: layers may be that far off square."""

STILL_DEGREES = 0.9
"""A servo that a step turns by less pushes against something."""

MOST_PLAY_DEGREES = 4.0
"""Most play of the part that a stepper drives."""

PEEK_DEGREES = 1.5
"""First motion of a stepper, to see how large its steps are."""

PEEKS_LONGER = 16
"""Largest multiple of that motion."""

SHOWS_DEGREES = 2.0
"""Least rotation of the cube that counts as seen."""

FARTHEST_TILT = 38.0
"""Tilt from which a face can hardly be told from the next one."""

OUT_OF_VIEW = (
    "no whole face is in view while {} turns the cube: does something else hold the cube, or is "
    "something before the camera?"
)


EIGHTH = 45.0
LEAST_REACH = 5.0
"""Degrees to either side from which a line is exact enough: the ends of the way are looked at."""
NARROW_REACH = 24.0
"""Degrees to either side below which a line is measured in smaller steps."""

SHOWN_TOO_LITTLE = (
    "the face is too near to the border of the picture, which shows it whole only up to {:.0f} "
    "degrees to either side{}: {}"
)


class Rotation(ABC):
    """A part that turns the cube: a table or a gripper, moved by a servo or a stepper.

    ``quarters``: quarter turns of a servo's positions by their names. Angles are in degrees.
    ``sweep``: how far to either side its line is measured, in steps of ``step_us`` of a servo and
    ``step_degrees`` of a stepper. ``most_off``: how far short of their place on the line its ends
    may be. ``looks_at``: the parts of a quarter turn of a layer at which the camera looks.
    ``short_us``: by how much the limits of a servo keep it from positions.
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
        """Return the cube's angle in degrees; raises :class:`CalibrationError` if it is hidden."""

    @abstractmethod
    def expect(self, degrees: float) -> None:
        """Note the angle near which the cube is about to be."""

    @abstractmethod
    def shift_zero(self, degrees: float) -> None:
        """Count degrees from there on."""

    def find_line(self) -> ServoLine:
        """Sweep it, then go to zero; raises :class:`CalibrationError`."""
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
        """Take the line as known: of a stepper that homes by a sensor."""
        self._line = line

    @property
    def reach(self) -> float:
        """Return the degrees to either side between which its line is measured."""
        return self.sweep

    @property
    def _fineness(self) -> float:
        """Return the size of steps as a part of the usual: a narrow way has as many as it needs."""
        return min(1.0, self.reach / min(self.sweep, NARROW_REACH))

    @property
    def is_stepper(self) -> bool:
        """Return whether a stepper turns it: without end, from wherever it stands."""
        return self.actuator.stepper is not None

    def _profile_stride(self) -> int:
        """Wakes a servo at its home; pulse of a step of the sweep, by the profile."""
        places = self.actuator.settings.places
        ordered = sorted(self.quarters, key=self.quarters.__getitem__)
        home = next(name for name, quarters in self.quarters.items() if not quarters)
        self.actuator.wake(places[home])
        return round(self._fineness * self.step_us) * (
            1 if places[ordered[-1]] > places[ordered[0]] else -1
        )

    def _find_stride(self) -> int:
        """Steps of a step of the sweep, by how far some steps turn a stepper: a few, then twice as
        many, until that shows. A driver may make larger steps than thought, and others hold still
        what is turned too far."""
        stepper = self.actuator.stepper
        assert stepper is not None and stepper.steps_per_turn
        made = max(1, round(stepper.steps_per_turn * PEEK_DEGREES / 360))
        most = PEEKS_LONGER * made
        self.actuator.wake()
        start = self.actuator.at
        self.actuator.go(start + made)  # takes up the play, or a part of it
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
            f"the cube does not turn with {self.name}: is the motor at its pins and powered, and "
            "does nothing else hold the cube?"
        )

    def refine_points(self, points: list[SweepPoint]) -> list[SweepPoint]:
        """Return the points of a sweep with the precision known after it."""
        return points

    def go(self, degrees: float) -> None:
        """Turn to an angle from either side, allowing for the slack."""
        self.turn(degrees)
        self.expect(degrees)

    def turn(self, degrees: float) -> None:
        """Turn to an angle while the cube may stay where it is."""
        line = self.line
        self.actuator.go(line.pulse(degrees, line.pulse(degrees) > self.actuator.at))

    def swing(self, degrees: float) -> float:
        """Turn so far and back; by how much the cube has followed. Another part that holds it keeps
        it where it is: only a layer turns, and comes back."""
        self.go(-degrees / 2)
        before = self.angle()
        self.go(degrees / 2)
        self.expect(0.0)
        moved = self.angle() - before
        self.go(0.0)
        return moved

    def set_square(self) -> float:
        """Set zero to the cube's angle while other jaws hold it. Return how far it was off."""
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
        """Count the angles of face and line from ``degrees`` on."""
        self.shift_zero(degrees)
        self._line = self.line.with_zero_at(degrees)

    def follows_held(self, places: Mapping[str, int]) -> float:
        """Turn a layer to all positions while something holds the cube; return the degrees by which
        the cube has followed at most.

        The angle of a cube that has followed by a quarter turn is the same. So the camera looks on
        the way as well: a cube that slips between two looks slips by less.
        """
        before = self.angle()
        return max(abs(self.angle() - before) for _ in self._turn_by_quarters(places))

    def _turn_by_quarters(self, places: Mapping[str, int]) -> Iterator[None]:
        """Turn to all positions and back, of a stepper by its line; stop where to look."""
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
        """To zero, the last of the way towards larger angles, which takes up any play. No further
        from it than layers may be off square."""
        self.go(-self.step_degrees)
        self.go(0.0)

    def find_stops(self, askew: float = 0.0) -> tuple[dict[str, int], dict[str, float]]:
        """Return the pulses of the positions, each by a look, and their distances from the line.

        A servo stops within its dead band before it is there. It comes to the ends of its way from
        between them, so their pulses allow for that; to the middle it comes from both sides.
        ``askew``: how far the cube stands off what turns it, by the same everywhere.
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
        """Return the pulse of a position, near that by the line, and the degrees the line was off.

        The line of a servo that is not straight may lead beyond its limits, though the position is
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
                    f"{self.name} stands {error:+.1f} degrees off at {at:.0f} us, where "
                    f"{name} should be: is something in its way?"
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
        """Angles on the way to one, each a step further; ends where it goes no further."""
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
        """The most steps of a sweep that take up the slack."""
        step = self._fineness * self.step_degrees
        return math.ceil(MOST_PLAY_DEGREES / step) if self.is_stepper else 1


def _sense(points: list[SweepPoint]) -> int:
    """1 if larger places turn it to larger angles, as seen."""
    first, last = points[0], points[-1]
    return 1 if (last.degrees > first.degrees) == (last.pulse_us > first.pulse_us) else -1


class FilmedRotation(Rotation):
    """A part that turns the whole cube, so that a film shows its motion from start to end."""

    @abstractmethod
    def read_film(self, film: Film, way: float) -> list[tuple[int, float]]:
        """Times of a film's pictures that show the face, and how far the cube has turned since the
        first of them; ``way`` is how far it should turn in all."""


class SpinningPart(FilmedRotation):
    """Below the cube: it turns the face in view about the camera's line of sight."""

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
        """See :attr:`Rotation.reach`: as far as the picture shows the face."""
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
    """Beside the cube: it tilts the face in view, and after a quarter turn shows another one."""

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
        """See :meth:`Rotation.follows_held`: by the part of the face that its layer does not reach.

        Another face there has followed by a quarter turn.
        """
        self._far.begin()
        seen = [abs(self._far.degrees()) for _ in self._turn_by_quarters(places)]
        return min(max(seen), 90.0)

    @contextmanager
    def _following(self) -> Iterator[None]:
        """Other jaws hide a part of the face meanwhile: it is looked for where it was last."""
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

        Every quarter turn another face comes into view, which differs by its stickers.
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
        """See :meth:`Rotation.refine_points`: where the camera stands is known after it."""
        views = [self._views[point.degrees] for point in points]
        if views:
            self._gauge = self._gauge.fit_camera(views)
        return [
            SweepPoint(point.pulse_us, self._gauge.degrees(corners), point.upwards)
            for point, corners in zip(points, views, strict=True)
        ]


class SensedGripper(TiltingGripper):
    """One that homes by a sensor, which says where it is square. Its line is that of the profile.

    Its angle is that of the part of the face that its layer does not reach: on a cube of two layers
    an opposite gripper holds the other half.
    """

    def home(self) -> None:
        """Let it look for its sensor with what it holds; angles count from there."""
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
