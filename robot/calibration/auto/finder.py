"""Finders of positions, one or more for each kind of mechanism, which registers them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from robot.calibration.auto.face_watch import Floats, RotationGauge, view_from_above
from robot.calibration.auto.rotations import FilmedRotation, Rotation
from robot.calibration.step import Bench, Row, Session, Trial
from robot.calibration.steps.home import HOMING
from robot.machine.confirmed_range import confirmable
from robot.records.documents import ApiRequest, Nothing
from robot.settings import RobotProfile
from robot.settings.base import Kinds, Site
from robot.settings.mechanisms import MechanismSettings
from robot.settings.profile import CameraSettings
from robot.settings.stepper import Stepper
from robot.text.faults import CalibrationError
from solver.files import JsonMapping, JsonObject

SURE_FROM_ABOVE = 0.003
"""Largest error of a corner of a face that was looked at from above, as a part of the picture."""

MOST_CUT_OFF = 0.01
"""Largest part of the picture by which a corner of the face may lie beyond the border. The stickers
are still whole."""

SCALE_SPREAD = 0.2
"""Largest difference between servos in their turn for a pulse: usually half of it."""

WIDER_PART = 0.05
"""Extra opening of jaws or of an arm beyond the profile, as a part of their way, within limits.

It counts from where they are firm: what is soft closes further, but is clear of the cube as early.
A servo may turn that much less for a pulse, and what opens too little touches the cube, while what
opens too far only takes a little longer."""


def _do_nothing(_: Bench, __: ApiRequest) -> Nothing:
    return Nothing()


RENEWING = Trial(
    "renew",
    "Put the robot together with what is tried out",
    ApiRequest,
    Nothing,
    _do_nothing,
    "GET",
)


@dataclass(frozen=True)
class Finding:
    """Something found in a ``stage``.

    ``values`` are calibrated values by their keys. ``uncertain``: by how much each may be off, in
    the unit of its value, or why it is as it was. ``evidence``: measured figures by their names.
    ``slower``: why the robot takes longer than by its profile, if it does, and what to do about it.
    """

    stage: str
    text: str
    values: JsonMapping = field(default_factory=dict)
    uncertain: JsonMapping = field(default_factory=dict)
    evidence: JsonMapping = field(default_factory=dict)
    slower: str = ""

    @property
    def row(self) -> Row:
        """Return the finding as a line of the result."""
        document: JsonObject = {
            "stage": self.stage,
            "text": self.text,
            "values": dict(self.values),
            "uncertain": dict(self.uncertain),
            "evidence": dict(self.evidence),
        }
        return Row((self.stage, self.text), document)


@dataclass(frozen=True)
class FilmedServo:
    """A servo whose motion the camera sees from start to end, by the cube that ``rotation`` turns.

    ``aside``: positions to which others go meanwhile, because they would hold the cube.
    """

    rotation: FilmedRotation
    aside: Mapping[str, str] = field(default_factory=dict)

    def turn_degrees(self, way: tuple[str, str]) -> float:
        """Return the angle from one position to another."""
        return 90.0 * (self.rotation.quarters[way[1]] - self.rotation.quarters[way[0]])


class Finder(ABC):
    """Finds the positions of one kind of mechanism; ``watch`` is what it measures with."""

    watch: RotationGauge

    @abstractmethod
    def __init__(self, session: Session) -> None:
        """Ready to find; raises :class:`CalibrationError`."""

    @staticmethod
    @abstractmethod
    def supports(profile: RobotProfile) -> bool:
        """Return whether it can find them with this robot's actuators and cameras."""

    @staticmethod
    def find_obstacle(profile: RobotProfile) -> str:
        """Return why it cannot find them with a robot of its kind; empty if there is no more to say
        than that."""
        del profile
        return ""

    @abstractmethod
    def find(self) -> Iterator[Finding]:
        """All positions, in order; raises ``CalibrationError``."""

    @property
    @abstractmethod
    def seen_moving(self) -> Mapping[str, FilmedServo]:
        """Actuators whose motion the camera sees from start to end."""

    @property
    def turning_together(self) -> Sequence[Sequence[str]]:
        """Return those of them that turn the cube at the same time, so that one must not be faster:
        usually none."""
        return ()

    def _face_in_view(self, prepared: str, session: Session | None = None) -> Finding:
        """Find the face in the picture; ``prepared``: how it should be.

        Given a ``session``, a robot whose positions are all confirmed homes where it sees none:
        what stands before the cube since the last motion goes away by itself. Nobody should force
        a servo that has power.
        """
        seen, text = self.watch.look(), "the face is in view; nothing has moved yet"
        if seen is None and session is not None and _is_confirmed(session):
            session.perform(HOMING)
            seen, text = self.watch.look(), "the face is in view once the robot is homed"
        if seen is None:
            raise CalibrationError(
                f"no whole face of the cube is in view: put a scrambled cube in, {prepared}, and "
                "see that light and focus are right (`cubist calibrate camera --live`). Move a "
                "servo that has power with `cubist calibrate servo`, never by hand"
            )
        evidence = {"corners_px": seen.corners.round(1).tolist(), "advice": self.watch.advice}
        return Finding("camera", text, evidence=evidence)

    def _square_place(self, text: str, evidence: JsonObject) -> Finding:
        """Return the place of the face in the picture when it stands square, as a finding."""
        camera, view = view_from_above(self.watch.profile)
        corners = self.watch.corners_at(0.0)
        parts = corners / camera.resolution
        if np.any((parts < -MOST_CUT_OFF) | (parts > 1 + MOST_CUT_OFF)):
            raise CalibrationError(
                "the picture cuts the face off where the robot holds it square: move the camera "
                "away, or turn it so that the cube is in the middle"
            )
        values = face_values(camera, {view.site: corners})
        return Finding("camera", text, values, dict.fromkeys(values, SURE_FROM_ABOVE), evidence)


def _is_confirmed(session: Session) -> bool:
    """Return whether all positions and directions are confirmed, so that the robot may home."""
    return confirmable(session.profile).keys() <= session.calibration.confirmed.keys()


def face_values(camera: CameraSettings, quads: Mapping[Site, Floats]) -> JsonObject:
    """Return the corners of a camera's faces, in pixels, as calibrated values.

    A corner that is cut off is taken at the border.
    """
    return {
        f"cameras.{camera.name}.views.{site}.quad": (corners / camera.resolution)
        .clip(0, 1)
        .round(5)
        .tolist()
        for site, corners in quads.items()
    }


Own = TypeVar("Own", bound=MechanismSettings)


def mechanism_of(profile: RobotProfile, kind: type[Own]) -> Own:
    """Return the mechanism of a robot, which is of this kind: a finder is asked for no other."""
    assert isinstance(profile.mechanism, kind)
    return profile.mechanism


def blind_steppers(profile: RobotProfile) -> set[str]:
    """Return the names of steppers that find no place by a sensor."""
    return {name for name, one in profile.actuators_of(Stepper).items() if one.homing is None}


def find_line(rotation: Rotation) -> Finding:
    """Find the line of a part: the angle for a pulse or a step, by the cube that only it holds."""
    line = rotation.find_line()
    unit = rotation.actuator.settings.unit
    slack = line.slack_us * abs(line.degrees_per_us)
    evidence: JsonObject = {
        f"{unit}_per_degree": round(1 / line.degrees_per_us, 3),
        "slack_degrees": round(slack, 2),
        "residual_degrees": round(line.residual_degrees, 3),
    }
    text = f"{rotation.name}: {abs(1 / line.degrees_per_us):.2f} {unit} to the degree"
    return Finding("rotation", f"{text}, {slack:.1f} degrees of slack", evidence=evidence)


def stops_finding(
    stage: str, rotation: Rotation, places: Mapping[str, int], off: Mapping[str, float]
) -> Finding:
    """Return the pulses of a part's positions, and how far each was off its line, as a finding.

    A servo may stop half its slack away, and a look is off by up to twice what looks scatter about
    the line: those at a tilted face by several times what those at a level one are. One that its
    limits keep from a position is off by as much more.
    """
    values: JsonObject = {rotation.actuator.key(name): pulse for name, pulse in places.items()}
    line = rotation.line
    scatter_us = line.residual_degrees / abs(line.degrees_per_us)
    uncertain = line.slack_us / 2 + 2 * scatter_us + 1
    listed = ", ".join(f"{name} {pulse} us" for name, pulse in places.items())
    for name, short_us in rotation.short_us.items():
        listed += f" ({name} would be {short_us:.0f} us further, beyond the limits)"
    return Finding(
        stage,
        f"{rotation.name}: {listed}",
        values,
        {
            rotation.actuator.key(name): round(uncertain + rotation.short_us.get(name, 0.0), 1)
            for name in places
        },
        {"off_the_line_degrees": dict(off)},
    )


FINDERS: Kinds[tuple[type[Finder], ...]] = Kinds(
    "finder of positions",
    {
        "flipper": "robot.calibration.auto.lifter",
        "grippers": "robot.calibration.auto.sensed_ring",
        "direct": "robot.calibration.auto.direct",
        "layered-flipper": "robot.calibration.auto.layered_flipper",
    },
)
"""Finders for the robots of each kind of mechanism."""


def finder_for(profile: RobotProfile) -> type[Finder] | None:
    """Return what finds this robot's positions, if there is something."""
    return next((one for one in _finders(profile) if one.supports(profile)), None)


def obstacle_for(profile: RobotProfile) -> str:
    """Return why none of the finders for its kind of mechanism can do it, if one of them can say;
    else empty."""
    return next(filter(None, (one.find_obstacle(profile) for one in _finders(profile))), "")


def _finders(profile: RobotProfile) -> tuple[type[Finder], ...]:
    found: tuple[type[Finder], ...] = FINDERS.get(profile.mechanism.kind, ())
    return found
