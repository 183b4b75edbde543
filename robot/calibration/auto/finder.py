"""Finders of positions: one or more for each kind of mechanism, in a registry."""

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
"""Maximum error of a corner of a face seen from above, as a fraction of the picture's size."""

MOST_CUT_OFF = 0.01
"""Maximum distance of a corner of the face beyond the picture's border, as a fraction of the
picture's size. The stickers are still whole."""

SCALE_SPREAD = 0.2
"""Maximum relative difference between servos in their turn for a pulse. It is usually half that."""

WIDER_PART = 0.05
"""Extra opening of jaws or of an arm beyond the profile, as a fraction of their travel, within
limits.

It counts from the pulse at which they are firm: soft ones close further, but are clear of the cube
as early. A servo may turn less per pulse by this much. Opening too little touches the cube, while
opening too far only takes a little longer."""


def _do_nothing(_: Bench, __: ApiRequest) -> Nothing:
    return Nothing()


RENEWING = Trial(
    "renew",
    "Rebuild the robot with the values on trial",
    ApiRequest,
    Nothing,
    _do_nothing,
    "GET",
)


@dataclass(frozen=True)
class Finding:
    """A result of one ``stage``.

    ``values``: calibrated values by their keys. ``uncertain``: the error of each, in the unit of
    its value, or the reason why it is unchanged. ``evidence``: measured figures by their names.
    ``slower``: the reason why the robot takes longer than by its profile, if it does, and a remedy.
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

    ``aside``: positions to which other servos go meanwhile, so that they do not hold the cube.
    """

    rotation: FilmedRotation
    aside: Mapping[str, str] = field(default_factory=dict)

    def turn_degrees(self, way: tuple[str, str]) -> float:
        """Return the angle from one position to another."""
        return 90.0 * (self.rotation.quarters[way[1]] - self.rotation.quarters[way[0]])


class Finder(ABC):
    """A finder of the positions of one kind of mechanism. ``watch``: the gauge it measures with."""

    watch: RotationGauge

    @abstractmethod
    def __init__(self, session: Session) -> None:
        """Prepare to find positions. Raise :class:`CalibrationError`."""

    @staticmethod
    @abstractmethod
    def supports(profile: RobotProfile) -> bool:
        """Return whether it supports this robot's actuators and cameras."""

    @staticmethod
    def find_obstacle(profile: RobotProfile) -> str:
        """Return the reason why it does not support a robot of its kind, or "" if there is no
        specific one."""
        del profile
        return ""

    @abstractmethod
    def find(self) -> Iterator[Finding]:
        """Find all positions, in order. Raise ``CalibrationError``."""

    @property
    @abstractmethod
    def seen_moving(self) -> Mapping[str, FilmedServo]:
        """Return the servos, by name, whose motion the camera sees from start to end."""

    @property
    def turning_together(self) -> Sequence[Sequence[str]]:
        """Return the groups of these that turn the cube together, so that none may be faster.
        Usually there are none."""
        return ()

    def _face_in_view(self, prepared: str, session: Session | None = None) -> Finding:
        """Find the face in the picture. ``prepared``: text on how the cube should be put in.

        If there is none, and ``session`` is given and all positions of its robot are confirmed,
        home and try again: parts left in front of the cube by the last motion move away. Nobody
        should force a servo that has power.
        """
        seen, text = self.watch.look(), "the face is in view; nothing has moved yet"
        if seen is None and session is not None and _is_confirmed(session):
            session.perform(HOMING)
            seen, text = self.watch.look(), "the face is in view after homing"
        if seen is None:
            raise CalibrationError(
                f"no whole face of the cube is in view: put a scrambled cube in, {prepared}, and "
                "check light and focus (`cubist calibrate camera --live`). Move a powered servo "
                "with `cubist calibrate servo`, never by hand"
            )
        evidence = {"corners_px": seen.corners.round(1).tolist(), "advice": self.watch.advice}
        return Finding("camera", text, evidence=evidence)

    def _square_place(self, text: str, evidence: JsonObject) -> Finding:
        """Return the position of the square face in the picture, as a finding."""
        camera, view = view_from_above(self.watch.profile)
        corners = self.watch.corners_at(0.0)
        parts = corners / camera.resolution
        if np.any((parts < -MOST_CUT_OFF) | (parts > 1 + MOST_CUT_OFF)):
            raise CalibrationError(
                "the picture cuts off the face when it is square: move the camera farther away, or "
                "point it at the middle of the cube"
            )
        values = face_values(camera, {view.site: corners})
        return Finding("camera", text, values, dict.fromkeys(values, SURE_FROM_ABOVE), evidence)


def _is_confirmed(session: Session) -> bool:
    """Return whether all positions and directions are confirmed, so that the robot may home."""
    return confirmable(session.profile).keys() <= session.calibration.confirmed.keys()


def face_values(camera: CameraSettings, quads: Mapping[Site, Floats]) -> JsonObject:
    """Return the corners of a camera's faces, given in pixels, as calibrated values.

    Corners outside the picture are moved to its border.
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
    """Return the mechanism of a robot, which must be of this kind."""
    assert isinstance(profile.mechanism, kind)
    return profile.mechanism


def blind_steppers(profile: RobotProfile) -> set[str]:
    """Return the names of steppers without a homing sensor."""
    return {name for name, one in profile.actuators_of(Stepper).items() if one.homing is None}


def find_line(rotation: Rotation) -> Finding:
    """Find the line of angles against pulses or steps of a part that holds the cube alone."""
    line = rotation.find_line()
    unit = rotation.actuator.settings.unit
    slack = line.slack_us * abs(line.degrees_per_us)
    evidence: JsonObject = {
        f"{unit}_per_degree": round(1 / line.degrees_per_us, 3),
        "slack_degrees": round(slack, 2),
        "residual_degrees": round(line.residual_degrees, 3),
    }
    text = f"{rotation.name}: {abs(1 / line.degrees_per_us):.2f} {unit} per degree"
    return Finding("rotation", f"{text}, {slack:.1f} degrees of slack", evidence=evidence)


def stops_finding(
    stage: str, rotation: Rotation, places: Mapping[str, int], off: Mapping[str, float]
) -> Finding:
    """Return the pulses of a part's positions, and their distances from its line, as a finding.

    The uncertainty is half the servo's slack, plus twice the scatter about the line, plus 1 us,
    plus the distance by which limits keep the servo from a position. A tilted face scatters several
    times as much as a level one.
    """
    values: JsonObject = {rotation.actuator.key(name): pulse for name, pulse in places.items()}
    line = rotation.line
    scatter_us = line.residual_degrees / abs(line.degrees_per_us)
    uncertain = line.slack_us / 2 + 2 * scatter_us + 1
    listed = ", ".join(f"{name} {pulse} us" for name, pulse in places.items())
    for name, short_us in rotation.short_us.items():
        listed += f" ({name} would need another {short_us:.0f} us, beyond the limits)"
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
    """Return the finder of this robot's positions; None if there is none."""
    return next((one for one in _finders(profile) if one.supports(profile)), None)


def obstacle_for(profile: RobotProfile) -> str:
    """Return the reason why no finder for its kind of mechanism supports it, or "" if unknown."""
    return next(filter(None, (one.find_obstacle(profile) for one in _finders(profile))), "")


def _finders(profile: RobotProfile) -> tuple[type[Finder], ...]:
    found: tuple[type[Finder], ...] = FINDERS.get(profile.mechanism.kind, ())
    return found
