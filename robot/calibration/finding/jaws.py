"""The jaws of grippers: where they hold the cube, by what another gripper does to it.

A gripper that turns a few degrees and back takes the whole cube along while it holds it alone, and
only its own layer while other jaws hold the rest. The camera sees which.
"""

from __future__ import annotations

from collections.abc import Callable

from robot.calibration.finding.finder import HOLD_MARGIN_DEGREES, SCALE_SPREAD
from robot.calibration.finding.result import CouldNot, Finding
from robot.calibration.finding.rotations import Rotation
from robot.calibration.finding.servo_line import servo_degree_us
from robot.calibration.finding.walking import FINE_US, walker_of
from robot.calibration.step import Session
from robot.mechanism.grippers.settings import GripperSettings
from robot.settings import RobotProfile

CLOSING_US = 30
"""A step of jaws that close: less than the margin from where they begin to hold to where they
should be."""

BEYOND_CLOSED_DEGREES = 40.0
"""Jaws that do not hold so far beyond where the profile has them closed never will."""

WIDER_DEGREES = 20.0
"""How much further than the profile says jaws open before anything of them is known: more than a
horn may be off."""

CLEAR_PART = 0.1
"""The part of their way by which jaws are less open than they will be while the cube turns past
them."""

WIDER_PART = 0.05
"""By which part of their way jaws open further than in the profile, as far as their limits allow:
a servo may turn by so much less for a pulse, and jaws that open too little touch the cube or other
jaws, while those that open too far only take a little longer."""

SWING_DEGREES = 4.0
"""How far a gripper turns to see whether the cube follows."""

FOLLOWED_PART = 0.6
"""The part of a swing from which the cube has followed."""


class JawFinder:
    """The jaws of one gripper; ``towards_closed`` is 1 where longer pulses close them."""

    def __init__(self, session: Session, profile: RobotProfile, gripper: GripperSettings) -> None:
        self.walker = walker_of(session, profile, gripper.jaw)
        self.closed_name, self.open_name = gripper.closed, gripper.open
        places = self.walker.settings.places
        self.closed, self.open = float(places[gripper.closed]), float(places[gripper.open])
        self.towards_closed = 1 if self.closed > self.open else -1
        self.slack_us = 0.0
        self._degree_us = servo_degree_us(profile)

    def find_edge(self, holds: Callable[[], bool], farthest: float) -> float:
        """The pulse at which they begin to hold, for a servo without slack; they end there or
        closed a little further. Raises :class:`CouldNot`."""
        walker, step = self.walker, self.towards_closed * CLOSING_US
        while not holds():
            if (farthest - walker.at - step) * step < 0:
                raise CouldNot(
                    f"{walker.name} does not hold the cube even at {walker.at} us: do the jaws "
                    "reach it?"
                )
            walker.go(walker.at + step)
        held, free = float(walker.at), float(walker.at - step)
        begins = self._edge_between(free, held, free - step, holds)
        free = held - 2 * step
        walker.go(free)
        if holds():
            raise CouldNot(f"{walker.name} holds the cube at {free:.0f} us, and before it did not")
        ends = self._edge_between(free, held, held, holds)
        self.slack_us = abs(ends - begins)
        walker.go(held)
        return (begins + ends) / 2

    def _edge_between(
        self, free: float, held: float, start: float, holds: Callable[[], bool]
    ) -> float:
        """The edge between two pulses, always reached from ``start``."""
        while abs(held - free) > FINE_US:
            middle = (held + free) / 2
            self.walker.go(start)
            self.walker.go(middle)
            if holds():
                held = middle
            else:
                free = middle
        return (held + free) / 2

    def open_wide(self) -> None:
        """Open them with their first pulse, when only the profile says how far."""
        low, high = self.walker.limits
        wide = self.open - self.towards_closed * WIDER_DEGREES * self._degree_us
        self.walker.wake(round(max(low, min(high, wide))))

    def go_open(self) -> None:
        """Open them."""
        self.walker.go(self.open)

    def go_just_clear(self) -> None:
        """Open them less than they will be."""
        self.walker.go(self._just_clear)

    @property
    def _just_clear(self) -> float:
        return self.open + CLEAR_PART * (self.closed - self.open)

    def cleared(self, other: Rotation) -> Finding:
        """The cube has turned past them, by quarters, while they were less open."""
        less_us = abs(self.open - self._just_clear)
        return Finding(
            "jaws",
            f"{self.walker.name} {self.open_name}: {other.name} has turned the cube past the jaws "
            f"while they were {less_us:.0f} us less open",
            evidence={"clear_at_us": round(self._just_clear)},
        )

    def go_closed(self) -> None:
        """Close them."""
        self.walker.go(self.closed)

    def find_by(self, other: Rotation) -> Finding:
        """The first pulse at which they hold the cube against the other gripper, and a margin."""
        towards, degree_us = self.towards_closed, self._degree_us
        distance = self.open - self.closed

        def holds() -> bool:
            return abs(other.swing(SWING_DEGREES)) < FOLLOWED_PART * SWING_DEGREES

        low, high = self.walker.limits
        farthest = self.closed + towards * BEYOND_CLOSED_DEGREES * degree_us
        farthest = max(low, min(high, farthest))
        self.walker.go(self.open)
        edge = self.find_edge(holds, farthest)
        self.closed = edge + towards * HOLD_MARGIN_DEGREES * degree_us
        self.open = max(low, min(high, self.closed + (1 + WIDER_PART) * distance))
        self.go_closed()
        walker, sure_us = self.walker, FINE_US + self.slack_us / 2
        closed, opened = walker.key(self.closed_name), walker.key(self.open_name)
        return Finding(
            "jaws",
            f"{walker.name} {self.closed_name}: {self.closed:.0f} us (they hold from "
            f"{edge:.0f} us on); {self.open_name}: {self.open:.0f} us",
            {closed: round(self.closed), opened: round(self.open)},
            {
                closed: round(sure_us, 1),
                opened: round(sure_us + SCALE_SPREAD * abs(distance), 1),
            },
            {"holds_from_us": round(edge, 1), "slack_us": round(self.slack_us, 1)},
        )
