"""A gripper that turns the cube while the camera measures by how much."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import cached_property

from robot.calibration.finding.face_watch import FaceWatch, Floats
from robot.calibration.finding.result import CouldNot
from robot.calibration.finding.servo_line import ServoLine, SweepPoint, fit_line
from robot.calibration.finding.tilt import TiltGauge
from robot.calibration.finding.walking import Walker
from robot.mechanism.grippers.settings import GripperSettings
from robot.settings.base import Site

MOST_OFF_DEGREES = 4.0
"""How far the ends of a gripper's way may be from where the line has them."""

STANDS_STILL_PART = 0.25
"""Of the angle that a step should make: less, and the gripper pushes against something."""

OUT_OF_VIEW = (
    "no whole face is in view while {} turns the cube: does something else hold the cube, or is "
    "something before the camera?"
)


class Rotation(ABC):
    """The rotation of one gripper; positions are known by ``quarters``, angles are in degrees.

    ``sweep``: how far to either side its line is measured; ``step_us``: in which steps.
    """

    sweep: float
    step_us: int

    def __init__(self, watch: FaceWatch, walker: Walker, gripper: GripperSettings) -> None:
        self.watch, self.walker = watch, walker
        self.quarters = dict(gripper.angles)
        self._line: ServoLine | None = None

    @property
    def name(self) -> str:
        """Its servo."""
        return self.walker.name

    @property
    def line(self) -> ServoLine:
        """Its angles against pulses."""
        assert self._line is not None, "the line is found before whatever needs it"
        return self._line

    @cached_property
    def degree_us(self) -> float:
        """Pulse microseconds to a degree of a servo of this robot, by the profile."""
        places = self.walker.settings.positions_us
        (low, first), *_, (high, last) = sorted((places[n], q) for n, q in self.quarters.items())
        return (high - low) / (90 * abs(last - first))

    @abstractmethod
    def angle(self) -> float:
        """Degrees by which the cube stands turned; raises :class:`CouldNot` if it is not seen."""

    @abstractmethod
    def expect(self, degrees: float) -> None:
        """The cube is about to stand near there."""

    @abstractmethod
    def shift_zero(self, degrees: float) -> None:
        """Count degrees from there on."""

    def find_line(self) -> ServoLine:
        """Sweep it, then go to zero; raises :class:`CouldNot`."""
        home = next(name for name, quarters in self.quarters.items() if not quarters)
        self.walker.wake(self.walker.settings.positions_us[home])
        points: list[SweepPoint] = []
        for target in (self.sweep, -self.sweep, 0.0):
            points += self._swept(target)
        line = fit_line(self.refined(points))
        if line is None:
            raise CouldNot(
                f"the cube does not turn with {self.name}: is the servo at its pin and powered, "
                "and do only its jaws hold the cube?"
            )
        self._line = line
        self.go(0.0)
        return line

    def refined(self, points: list[SweepPoint]) -> list[SweepPoint]:
        """The points of a sweep, as well as they can be known after it."""
        return points

    def go(self, degrees: float) -> None:
        """Turn to an angle, from whichever side, the slack taken into account."""
        line = self.line
        self.walker.go(line.pulse(degrees, line.pulse(degrees) > self.walker.at))
        self.expect(degrees)

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
        """Zero is where the cube stands while other jaws hold it; how far that was off."""
        self.go(0.0)
        off = self.angle()
        if abs(off) > MOST_OFF_DEGREES:
            raise CouldNot(
                f"the cube turned by {off:+.1f} degrees when the jaws closed on it: put it in "
                "square to both grippers"
            )
        self.shift_zero(off)
        self._line = self.line.about(off)
        self.go(0.0)
        return off

    def find_stops(self) -> tuple[dict[str, int], dict[str, float]]:
        """Pulses of the positions, each looked at, and how far each was off the line."""
        line = self.line
        places: dict[str, int] = {}
        off: dict[str, float] = {}
        for name, quarters in sorted(self.quarters.items(), key=lambda item: abs(item[1])):
            wanted = 90.0 * quarters
            upwards = (quarters > 0) == (line.degrees_per_us > 0) if quarters else None
            self.go(0.0)
            pulse = line.pulse(wanted, upwards)
            if quarters:
                self.walker.go(pulse)
                self.expect(wanted)
                error = self.angle() - wanted
                if abs(error) > MOST_OFF_DEGREES:
                    raise CouldNot(
                        f"{self.name} stands {error:+.1f} degrees off at {pulse:.0f} us, where "
                        f"{name} should be: is something in its way?"
                    )
                pulse = line.pulse(wanted) - error / line.degrees_per_us
                off[name] = round(error, 2)
            places[name] = round(pulse)
        self.go(0.0)
        return places, off

    def _swept(self, target: float) -> Iterator[SweepPoint]:
        """Angles on the way to one, each a step further; ends where the servo goes no further."""
        angle = self.angle()
        rising = target > angle
        step = self._sense * self.step_us * (1 if rising else -1)
        low, high = self.walker.settings.limits_us
        moved = False
        while (target > angle) == rising and low <= self.walker.at + step <= high:
            self.walker.go(self.walker.at + step)
            last, angle = angle, self.angle()
            least = STANDS_STILL_PART * self.step_us / self.degree_us
            if moved and abs(angle - last) < least:
                self.walker.go(self.walker.at - 2 * step)  # it pushes against something: back off
                return
            if moved:  # the first step takes up the slack
                yield SweepPoint(self.walker.at, angle, step > 0)
            moved = True

    @property
    def _sense(self) -> int:
        """1 if longer pulses turn it to larger angles, as in the profile."""
        places = self.walker.settings.positions_us
        ordered = sorted(self.quarters, key=self.quarters.__getitem__)
        return 1 if places[ordered[-1]] > places[ordered[0]] else -1


class SpinningGripper(Rotation):
    """Below the cube: it turns the face in view about the camera's line of sight."""

    sweep = 70.0
    step_us = 40

    def __init__(self, watch: FaceWatch, walker: Walker, gripper: GripperSettings) -> None:
        super().__init__(watch, walker, gripper)
        self._near = 0.0

    def angle(self) -> float:
        """See :meth:`Rotation.angle`."""
        seen = self.watch.look(self._near)
        if seen is None:
            raise CouldNot(OUT_OF_VIEW.format(self.name))
        self._near = seen.degrees
        return seen.degrees

    def expect(self, degrees: float) -> None:
        """See :meth:`Rotation.expect`."""
        self._near = degrees

    def shift_zero(self, degrees: float) -> None:
        """See :meth:`Rotation.shift_zero`."""
        self.watch.zero += degrees
        self._near -= degrees


class TiltingGripper(Rotation):
    """Beside the cube: it tilts the face in view, and after a quarter turn shows another one."""

    sweep = 16.0
    step_us = 20

    def __init__(
        self, watch: FaceWatch, walker: Walker, gripper: GripperSettings, site: Site
    ) -> None:
        super().__init__(watch, walker, gripper)
        self._gauge = TiltGauge(site)
        self._near = self._zero = 0.0
        self._views: dict[float, Floats] = {}

    def angle(self) -> float:
        """See :meth:`Rotation.angle`."""
        corners = self.watch.level_corners()
        if corners is None:
            raise CouldNot(OUT_OF_VIEW.format(self.name))
        tilt = self._gauge.degrees(corners) - self._zero
        if self._line is None:
            self._views[tilt] = corners
        return tilt + 90 * round((self._near - tilt) / 90)

    def expect(self, degrees: float) -> None:
        """See :meth:`Rotation.expect`."""
        self._near = degrees

    def shift_zero(self, degrees: float) -> None:
        """See :meth:`Rotation.shift_zero`."""
        self._zero += degrees

    def refined(self, points: list[SweepPoint]) -> list[SweepPoint]:
        """See :meth:`Rotation.refined`: where the camera stands is known after it."""
        views = [self._views[point.degrees] for point in points]
        if views:
            self._gauge = self._gauge.adapted(views)
        return [
            SweepPoint(point.pulse_us, self._gauge.degrees(corners), point.upwards)
            for point, corners in zip(points, views, strict=True)
        ]
