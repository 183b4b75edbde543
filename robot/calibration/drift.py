"""Drift of a robot's table or grippers since its calibration, as its scans show it.

If a servo's horn slips, its gears wear or a holder works loose, the faces of a scan are no longer
where the first solves found them (:mod:`robot.calibration.sighting`). Each solve gives one angle
for each position. A slow mean of these angles is kept on disk and yields corrections of the
pulses::

    seen in a solve    +0.1  -0.2  +0.1 | +1.2  +0.9  +1.1  +1.0
                       square: 0.0      | moved: 0.4  0.6  0.8  0.9 -> corrected by 0.9 degrees

A camera that was knocked moves all faces, too. Its pictures show how far they are turned and
shifted as a whole (:class:`CameraDrift`). Positions are corrected only if the pictures show that
the camera has not moved.

The estimate starts anew when a person changes positions, or the face's place in the picture.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path
from statistics import mean, median

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from robot.calibration.sighting import BELOW, PoseDeviation, turners
from robot.records.documents import read_document
from robot.records.storage import StorageError, set_aside, write_atomically
from robot.settings import RobotProfile
from robot.settings.actuators import Servo
from robot.text.messages import Note
from solver.files import BadFile, JsonObject, NoSuchFile

log = logging.getLogger(__name__)

FILE_NAME = "drift.json"
LARGEST_BYTES = 4 * 1024 * 1024
FORMAT = 2
"""Files of format 1 lack the turn of the picture: the estimate starts anew."""

FIRST_SOLVES = 3
"""Number of solves that establish where the faces are while the robot is in order."""
WEIGHT = 1 / 3
"""Weight of the latest solve in the slow mean."""
ADJUST_FROM_DEGREES = 0.75
"""Smallest drift that is corrected; anything less is within a servo's dead band."""
WARN_FROM_DEGREES = 2.0
MOST_AT_ONCE_DEGREES = 3.0
MOST_DEGREES = 15.0
"""One tooth of a servo's horn. A part that has moved farther is loose: a person has to fix it."""
CAMERA_MOVED = 0.1
"""Shift of the face's middle, in half widths, above which the camera has moved: turning the cube
does not shift the middle."""


class PositionDrift(BaseModel):
    """The drift of one servo position, as the faces show it.

    ``degrees``: drift ``since`` that day, without the corrections; ``corrected``: their sum.
    ``square``: angle of the faces in the first of the ``solves``. ``turns_face``: drift turns the
    face in the picture, as a turned camera would.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    actuator: str
    position: str
    pulse_us: int
    since: date
    solves: int = 0
    square: float = 0.0
    degrees: float = 0.0
    corrected: float = 0.0
    turns_face: bool = True

    @property
    def moved_degrees(self) -> float:
        """The total drift in degrees, corrections included."""
        return self.degrees + self.corrected

    @property
    def is_known(self) -> bool:
        """Return whether there were enough solves for an estimate."""
        return self.solves > FIRST_SOLVES

    def seen_at(self, degrees: float) -> PositionDrift:
        """Return the estimate after another solve that showed the faces at this angle."""
        solves = self.solves + 1
        if solves <= FIRST_SOLVES:
            square = self.square + (degrees - self.square) / solves
            return self.model_copy(update={"solves": solves, "square": square})
        now = self.degrees + WEIGHT * (degrees - self.square - self.degrees)
        return self.model_copy(update={"solves": solves, "degrees": now})


class CameraDrift(BaseModel):
    """The drift of the camera, as the faces show it.

    ``first``: middle of the face in the first of the ``solves``; ``moved``: its shift since then.
    ``first_turn``: turn of the picture then; ``turned``: degrees it has turned since. ``doubt``:
    uncertainty of ``turned`` in degrees, estimated from its change between solves.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    solves: int = 0
    first: tuple[float, float] = (0.0, 0.0)
    moved: tuple[float, float] = (0.0, 0.0)
    first_turn: float = 0.0
    turned: float = 0.0
    last_turn: float = 0.0
    doubt: float = 0.0

    @property
    def distance(self) -> float:
        """The shift of the face's middle, in half widths."""
        return float(np.hypot(*self.moved))

    def seen_at(self, place: tuple[float, float], picture: float = 0.0) -> CameraDrift:
        """Return the estimate after another solve with this middle and turn of the picture."""
        solves = self.solves + 1
        jump = abs(picture - self.last_turn) if self.solves else 0.0
        doubt = self.doubt + (jump - self.doubt) * max(WEIGHT, 1 / solves)
        update: dict[str, object] = {"solves": solves, "last_turn": picture, "doubt": doubt}
        if solves <= FIRST_SOLVES:
            update["first"] = _moved_to(self.first, place, 1 / solves)
            update["first_turn"] = self.first_turn + (picture - self.first_turn) / solves
        else:
            off = (place[0] - self.first[0], place[1] - self.first[1])
            update["moved"] = _moved_to(self.moved, off, WEIGHT)
            turned = picture - self.first_turn
            update["turned"] = self.turned + WEIGHT * (turned - self.turned)
        return self.model_copy(update=update)

    def part_in(self, degrees: float) -> float | None:
        """Return how many degrees of the faces' turn the camera caused: 0 or all, None if unknown.

        ``turned`` has to be closer to one of them than half the turn, by at least ``doubt``.
        """
        most = abs(degrees) / 2 - self.doubt
        if abs(self.turned) <= most:
            return 0.0
        return degrees if abs(degrees - self.turned) <= most else None


class Correction(BaseModel):
    """A correction the robot made by itself: pulses by position, before and after."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    at: date
    actuator: str
    degrees: float
    before_us: dict[str, int]
    after_us: dict[str, int]


class DriftRecord(BaseModel):
    """The drift of one robot. ``views``: the faces' places in the pictures, as calibrated."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: int = Field(default=FORMAT, ge=FORMAT, le=FORMAT)
    robot: str
    since: date
    views: list[JsonObject] = Field(default_factory=list)
    positions: list[PositionDrift] = Field(default_factory=list)
    camera: CameraDrift = CameraDrift()
    corrections: list[Correction] = Field(default_factory=list)

    @classmethod
    def begin(cls, profile: RobotProfile, today: date) -> DriftRecord:
        """Return the record of a robot that was just calibrated."""
        below = {one.part.motor for one in turners(profile) if one.site == BELOW}
        return cls(
            robot=profile.name,
            since=today,
            views=_views(profile),
            positions=[
                PositionDrift(
                    actuator=name,
                    position=place,
                    pulse_us=pulse,
                    since=today,
                    turns_face=name in below,
                )
                for name, place, pulse in _pulses(profile)
            ],
        )

    def is_of(self, profile: RobotProfile) -> bool:
        """Return whether the robot's calibration is still the one of this record."""
        pulses = [(one.actuator, one.position, one.pulse_us) for one in self.positions]
        same = self.robot == profile.name and self.views == _views(profile)
        return same and pulses == list(_pulses(profile))

    def add_solve(self, seen: Sequence[PoseDeviation]) -> DriftRecord:
        """Return the record after a solve with these deviations."""
        if not seen:
            return self
        middle = (median(one.right for one in seen), median(one.down for one in seen))
        picture = median(one.picture for one in seen)
        return self.model_copy(
            update={
                "positions": [_update_position(one, seen) for one in self.positions],
                "camera": self.camera.seen_at(middle, picture),
            }
        )

    @property
    def has_camera_moved(self) -> bool:
        """Return whether the faces have shifted as only a moved camera can shift them."""
        return self.camera.distance > CAMERA_MOVED

    def camera_part(self, one: PositionDrift) -> float | None:
        """Return how many degrees of a position's drift the camera caused; None if unknown.

        Drift too small to be corrected counts as the position's own.
        """
        if not one.turns_face or abs(one.degrees) < ADJUST_FROM_DEGREES:
            return 0.0
        return self.camera.part_in(one.degrees)

    def known_of(self, actuator: str) -> list[PositionDrift]:
        """Return the positions of an actuator that are known well enough."""
        return [one for one in self.positions if one.actuator == actuator and one.is_known]

    def notes(self) -> Iterator[Note]:
        """Yield warnings for people, in plain words."""
        if self.has_camera_moved:
            percent = f"{50 * self.camera.distance:.0f}"
            yield Note.of("camera-moved", percent=percent, since=self.since)
            return
        far = [
            one for one in self.positions if one.is_known and abs(one.degrees) >= WARN_FROM_DEGREES
        ]
        parts = [self.camera_part(one) for one in far]
        if any(parts):
            turned = f"{abs(self.camera.turned):.1f}"
            yield Note.of("camera-turned", degrees=turned, since=self.since)
        elif None in parts:
            one = far[parts.index(None)]
            degrees = f"{abs(one.degrees):.1f}"
            yield Note.of("turned", actuator=one.actuator, degrees=degrees, since=self.since)
        for one, part in zip(far, parts, strict=True):
            if part != 0.0:
                continue
            code = "moved-too-far" if abs(one.moved_degrees) > MOST_DEGREES else "moved"
            yield Note.of(
                code,
                actuator=one.actuator,
                position=one.position,
                degrees=f"{abs(one.moved_degrees):.1f}",
                since=one.since,
            )

    def correction(
        self, profile: RobotProfile, today: date
    ) -> tuple[DriftRecord, Correction] | None:
        """Return the correction to make, if any, and the record after it. ``profile``: calibrated.

        Positions that no picture shows move with the others of their servo. Nothing is corrected if
        the camera may have moved instead.
        """
        if self.has_camera_moved:
            return None
        for actuator in dict.fromkeys(one.actuator for one in self.positions):
            known = self.known_of(actuator)
            if any(self.camera_part(one) != 0.0 for one in known):
                continue
            if any(abs(one.degrees) >= ADJUST_FROM_DEGREES for one in known):
                made = self._correct(actuator, profile, today)
                if made is not None:
                    return made
        return None

    def _correct(
        self, actuator: str, profile: RobotProfile, today: date
    ) -> tuple[DriftRecord, Correction] | None:
        servo, known = profile.actuators_of(Servo)[actuator], self.known_of(actuator)
        part = profile.mechanism.rotated_by(actuator)
        assert part is not None
        degree_us = part.degree_us(servo)
        usual = mean(one.degrees for one in known)
        before: dict[str, int] = {}
        after: dict[str, int] = {}
        positions: list[PositionDrift] = []
        for one in self.positions:
            if one.actuator != actuator:
                positions.append(one)
                continue
            wanted = one.degrees if one.is_known else usual
            wanted = max(-MOST_AT_ONCE_DEGREES, min(MOST_AT_ONCE_DEGREES, wanted))
            pulse = round(one.pulse_us - wanted * degree_us)
            made = (one.pulse_us - pulse) / degree_us
            low, high = servo.limits_us
            if abs(one.corrected + made) > MOST_DEGREES or not low <= pulse <= high:
                return None
            before[one.position], after[one.position] = one.pulse_us, pulse
            changed = {"pulse_us": pulse, "corrected": one.corrected + made}
            if one.is_known:
                changed["degrees"] = one.degrees - made
            positions.append(one.model_copy(update=changed))
        made_now = Correction(
            at=today, actuator=actuator, degrees=round(usual, 2), before_us=before, after_us=after
        )
        corrections = [*self.corrections, made_now]
        record = self.model_copy(update={"positions": positions, "corrections": corrections})
        return record, made_now


class DriftStore:
    """The drift record in a state directory."""

    def __init__(self, state_dir: Path) -> None:
        self.path = state_dir / FILE_NAME

    def load(self, profile: RobotProfile, today: date) -> DriftRecord:
        """Return the record of a calibrated robot; a new one if its calibration has changed."""
        try:
            found = read_document(self.path, DriftRecord, LARGEST_BYTES)
        except NoSuchFile:
            return DriftRecord.begin(profile, today)
        except BadFile as error:
            log.warning("drift is counted from today, %s: %s", self._kept_apart(), error)
            return DriftRecord.begin(profile, today)
        return found if found.is_of(profile) else DriftRecord.begin(profile, today)

    def _kept_apart(self) -> str:
        try:
            return f"the previous record is kept as {set_aside(self.path).name}"
        except StorageError as error:
            return f"the previous record cannot be set aside ({error})"

    def save(self, record: DriftRecord) -> None:
        """Replace the file, durably; raises :class:`robot.records.storage.StorageError`."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StorageError(
                f"{self.path.parent}: cannot be created: {error.strerror}"
            ) from error
        write_atomically(self.path, (record.model_dump_json(indent=1) + "\n").encode())


def values_of(correction: Correction) -> JsonObject:
    """Return a correction as calibrated values."""
    key = f"actuators.{correction.actuator}.positions_us"
    return {f"{key}.{position}": pulse for position, pulse in correction.after_us.items()}


def _update_position(one: PositionDrift, seen: Sequence[PoseDeviation]) -> PositionDrift:
    here = (one.actuator, one.position)
    angles = [face.degrees for face in seen if (face.actuator, face.position) == here]
    return one.seen_at(median(angles)) if angles else one


def _moved_to(
    before: tuple[float, float], to: tuple[float, float], part: float
) -> tuple[float, float]:
    return before[0] + part * (to[0] - before[0]), before[1] + part * (to[1] - before[1])


def _pulses(profile: RobotProfile) -> Iterator[tuple[str, str, int]]:
    servos = profile.actuators_of(Servo)
    for turner in turners(profile):
        motor = turner.part.motor
        for position in sorted(turner.part.angles):
            yield motor, position, round(servos[motor].positions_us[position])


def _views(profile: RobotProfile) -> list[JsonObject]:
    views = [
        {"camera": camera.name, "site": view.site, "quad": view.model_dump(mode="json")["quad"]}
        for camera in profile.cameras
        for view in camera.views
    ]
    return views if any(True for _ in turners(profile)) else []
