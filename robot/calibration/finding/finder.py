"""What finds the positions of one kind of mechanism; each kind registers its own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping

from robot.calibration.finding.face_watch import FaceWatch
from robot.calibration.finding.result import Finding
from robot.calibration.step import Session
from robot.settings import RobotProfile
from robot.settings.kinds import Kinds

HOLD_MARGIN_DEGREES = 3.0
"""How much further than where they begin to hold a lid or jaws go: enough to hold, far from
pressing."""


class Finder(ABC):
    """Finds the positions of one kind of mechanism; ``watch`` is what it measures with."""

    watch: FaceWatch

    @abstractmethod
    def __init__(self, session: Session) -> None:
        """Ready to find; raises :class:`robot.calibration.finding.result.CouldNot`."""

    @staticmethod
    @abstractmethod
    def suits(profile: RobotProfile) -> bool:
        """Whether it can do so with this robot's actuators and cameras."""

    @abstractmethod
    def find(self) -> Iterator[Finding]:
        """All positions, in order; raises ``CouldNot``."""

    @property
    @abstractmethod
    def seen_moving(self) -> Mapping[str, Mapping[str, float]]:
        """Actuators whose motion the camera sees from start to end: degrees of each position."""

    @property
    def out_of_the_way(self) -> Mapping[str, str]:
        """Positions to which others go while those are watched: whatever would hold the cube."""
        return {}


FINDERS: Kinds[type[Finder]] = Kinds(
    "finder of positions", "robot.calibration.finding.{kind}", ("flipper", "grippers")
)
"""By the kind of the mechanism."""
