"""An actuator that moves in small steps while the camera watches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from robot.calibration.step import Session
from robot.calibration.steps.positions import FARTHEST, MOVING, Moved
from robot.machine.confirmed_range import largest_step, position_key
from robot.settings import RobotProfile
from robot.settings.actuators import ActuatorSettings
from robot.settings.stepper import Stepper
from robot.text.faults import CalibrationError

COARSE_US, FINE_US = 10, 2


@dataclass(frozen=True)
class Edge:
    """The pulses at which something begins as a servo moves on, and ends as it comes back."""

    forwards: float
    backwards: float

    @property
    def middle(self) -> float:
        """The edge for a servo without slack."""
        return (self.forwards + self.backwards) / 2

    @property
    def slack_us(self) -> float:
        """The distance between the two."""
        return abs(self.forwards - self.backwards)


@dataclass
class StepwiseMove:
    """One actuator of the robot in maintenance, its position ``at``, and its confirmed range, in
    microseconds of pulse or in steps."""

    session: Session
    name: str
    settings: ActuatorSettings
    at: int = 0
    low: int = 0
    high: int = 0

    @property
    def stepper(self) -> Stepper | None:
        """Return the settings of a stepper, whose zero is arbitrary; None for a servo."""
        return self.settings if isinstance(self.settings, Stepper) else None

    @property
    def limits(self) -> tuple[int, int]:
        """Return the lowest and highest place. An endless motor has virtually no limits."""
        return self.settings.limits or FARTHEST

    def wake(self, first: int | None = None) -> None:
        """Send the first pulse, unless it has moved before. A stepper does not move."""
        self._note(self.session.perform(MOVING, actuator=self.name, to=None, begin_at=first))

    def go(self, target: float) -> None:
        """Go to a place, in small steps beyond the confirmed range.

        Raise ``CalibrationError`` if it is beyond the limits.
        """
        low, high = self.limits
        if not low <= round(target) <= high:
            raise self.limits_error(target)
        while self.at != round(target):
            to, step = round(target), largest_step(self.settings)
            if step is not None:
                to = max(self.low - step, min(self.high + step, to))
            self._note(self.session.perform(MOVING, actuator=self.name, to=to))

    def limits_error(self, target: float) -> CalibrationError:
        """Return the error for a place beyond the limits."""
        low, high = self.limits
        return CalibrationError(
            f"{self.name} would need {target:.0f} us, beyond its limits_us {low}..{high}: put its "
            "horn on another tooth, or widen limits_us in the profile"
        )

    def find_edge(
        self, begins: Callable[[], bool], direction: int, most: float | None = None
    ) -> Edge:
        """Find the pulses at which something begins going up (1) or down (-1), and ends coming
        back.

        Search coarsely, then finely, and stop before the edge. Raise ``CalibrationError`` if there
        is none within ``most`` microseconds (default: a quarter of the limits' range).
        """
        start, (low, high) = self.at, self.limits
        most = (high - low) / 4 if most is None else most
        while not begins():
            if abs(self.at - start) >= most:
                raise CalibrationError(
                    f"{self.name} moved {abs(self.at - start)} us from {start} us and nothing "
                    "changed in the picture: does the servo turn, and is its arm mounted?"
                )
            self.go(self.at + direction * COARSE_US)
        while begins():
            self.go(self.at - direction * COARSE_US)
        while not begins():
            self.go(self.at + direction * FINE_US)
        forwards = self.at - direction * FINE_US / 2
        while begins():
            self.go(self.at - direction * FINE_US)
        return Edge(forwards, self.at + direction * FINE_US / 2)

    def key(self, position: str) -> str:
        """Return the key of a position in the calibration."""
        return position_key(self.name, self.settings, position)

    def _note(self, moved: Moved) -> None:
        self.at, self.low, self.high = moved.position, moved.low, moved.high


def stepwise_move(session: Session, profile: RobotProfile, name: str) -> StepwiseMove:
    """Return a :class:`StepwiseMove` for an actuator of a profile."""
    return StepwiseMove(session, name, profile.actuators[name])
