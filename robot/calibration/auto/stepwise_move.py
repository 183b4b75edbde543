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
    """The pulses at which something begins when a servo goes on, and ends when it comes back."""

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
    """One actuator of the robot in maintenance, and how far it has been seen to go: in
    microseconds of pulse, or in steps."""

    session: Session
    name: str
    settings: ActuatorSettings
    at: int = 0
    low: int = 0
    high: int = 0

    @property
    def stepper(self) -> Stepper | None:
        """Return the settings of a stepper, which counts from wherever it stands; else None."""
        return self.settings if isinstance(self.settings, Stepper) else None

    @property
    def limits(self) -> tuple[int, int]:
        """Return the lowest and highest place; a motor that turns round has next to none."""
        return self.settings.limits or FARTHEST

    def wake(self, first: int | None = None) -> None:
        """Send the first pulse, unless it has moved before; a stepper stays where it is."""
        self._note(self.session.perform(MOVING, actuator=self.name, to=None, begin_at=first))

    def go(self, target: float) -> None:
        """Go to a place, stepwise; raises ``CalibrationError`` beyond its limits."""
        low, high = self.limits
        if not low <= round(target) <= high:
            raise self.limits_error(target)
        while self.at != round(target):
            to, step = round(target), largest_step(self.settings)
            if step is not None:
                to = max(self.low - step, min(self.high + step, to))
            self._note(self.session.perform(MOVING, actuator=self.name, to=to))

    def limits_error(self, target: float) -> CalibrationError:
        """Return the error for a place beyond its limits."""
        low, high = self.limits
        return CalibrationError(
            f"{self.name} would have to go to {target:.0f} us, beyond its limits_us {low}..{high}: "
            "put its horn on another tooth, or widen limits_us in the profile"
        )

    def find_edge(
        self, begins: Callable[[], bool], direction: int, most: float | None = None
    ) -> Edge:
        """Find where something begins on the way up (1) or down (-1), and ends on the way back.

        It searches coarsely, then finely, and ends before the edge. Raises ``CalibrationError`` if
        there is none within ``most`` microseconds, by default a quarter of the limits.
        """
        start, (low, high) = self.at, self.limits
        most = (high - low) / 4 if most is None else most
        while not begins():
            if abs(self.at - start) >= most:
                raise CalibrationError(
                    f"{self.name} went {abs(self.at - start)} us from {start} us on and nothing "
                    "changed in the picture: does the servo move, and is its arm mounted?"
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
    """Return an actuator of a profile, to be moved stepwise."""
    return StepwiseMove(session, name, profile.actuators[name])
