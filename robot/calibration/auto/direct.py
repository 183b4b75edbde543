"""Calibrates motors that turn the faces of a cube directly, while the cube itself stays in place.

Cameras at the cube's corners see three faces each. Their corners in the picture are found before
anything moves. Each motor then turns its face a little to either side, and a camera that sees the
face measures the angle. The line of angles against steps gives direction, steps per turn and play.
A motor has no positions: its angle at power-up is square.

No face turns further than an eighth of a turn before its motor is known, and only one at a time is
off square, so that nothing can jam.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from robot.calibration.auto.cube_pose import Quads, faces_in_view
from robot.calibration.auto.finder import (
    FINDERS,
    FilmedServo,
    Finder,
    Finding,
    blind_steppers,
    face_values,
    find_line,
    mechanism_of,
)
from robot.calibration.auto.motors import let_turn, motor_finding
from robot.calibration.auto.rotations import Rotation
from robot.calibration.auto.stepwise_move import StepwiseMove, stepwise_move
from robot.calibration.step import Session
from robot.calibration.steps.camera import Corners, Image, take_picture
from robot.mechanism.direct import DirectSettings
from robot.settings import RobotProfile
from robot.settings.profile import CameraSettings
from robot.settings.stepper import Stepper
from robot.text.faults import CalibrationError

MOST_LOOKS = 12
"""Maximum number of pictures to take while waiting for two equal ones in a row."""

SAME_DEGREES = 0.15

LEAST_AGREEMENT = 0.5
"""Minimum correlation of a face with its first picture. Below it the face is hidden, or another
one."""

QUAD_SURE = 0.008
"""Maximum error of a corner of a face, as a fraction of the picture's size."""


class DirectRotation(Rotation):
    """A face that a motor turns, seen by a camera; degrees clockwise as seen from outside."""

    sweep = 24.0
    step_us, step_degrees = 0, 3.0

    def __init__(
        self, session: Session, actuator: StepwiseMove, camera: str, corners: Corners, image: Image
    ) -> None:
        super().__init__(actuator, {})
        self._session, self._camera, self._corners = session, camera, corners
        self._first = Unrolled.from_picture(image, corners)
        self._near = self._zero = 0.0

    def angle(self) -> float:
        """See :meth:`Rotation.angle`."""
        before = self._glance()
        for _ in range(MOST_LOOKS):
            after = self._glance()
            if abs(after - before) < SAME_DEGREES:
                self._near = after
                return after - self._zero
            before = after
        raise CalibrationError(f"the face of {self.name} keeps moving in the picture")

    def expect(self, degrees: float) -> None:
        """See :meth:`Rotation.expect`."""
        self._near = degrees + self._zero

    def shift_zero(self, degrees: float) -> None:
        """See :meth:`Rotation.shift_zero`."""
        self._zero += degrees

    def _glance(self) -> float:
        _, image = take_picture(self._session, self._camera)
        seen = Unrolled.from_picture(image, self._corners)
        degrees, agreement = seen.turned_from(self._first, self._near)
        if agreement < LEAST_AGREEMENT:
            raise CalibrationError(
                f"the face of {self.name} is no longer in view: is something in front of camera "
                f"{self._camera}, or did another face turn?"
            )
        return degrees


class DirectFinder(Finder):
    """A finder for steppers on five or six faces, and cameras that see the faces they turn."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._profile = session.calibrated

    @staticmethod
    def supports(profile: RobotProfile) -> bool:
        """See :meth:`Finder.supports`."""
        motors = mechanism_of(profile, DirectSettings).motors
        seen = {view.site for camera in profile.cameras for view in camera.views}
        steppers = profile.actuators_of(Stepper)
        checked = {name for name, one in steppers.items() if one.turn_check is not None}
        blind = blind_steppers(profile) - checked
        return motors.keys() <= seen and set(motors.values()) <= blind

    @property
    def seen_moving(self) -> Mapping[str, FilmedServo]:
        """Return no servos: this mechanism has only steppers."""
        return {}

    def find(self) -> Iterator[Finding]:
        """See :meth:`Finder.find`."""
        mechanism = mechanism_of(self._profile, DirectSettings)
        faces: dict[str, tuple[CameraSettings, Corners, Image]] = {}
        for camera in self._profile.cameras:
            _, image = take_picture(self._session, camera.name)
            quads = faces_in_view(camera, image, self._profile.cube.size)
            faces |= {site: (camera, corners, image) for site, corners in quads.items()}
            yield _places(camera, quads)
        let_turn(self._session, mechanism.motors.values())
        for site, name in mechanism.motors.items():
            camera, corners, _ = faces[site]
            # Neighbouring faces have moved by their play since the first picture.
            _, image = take_picture(self._session, camera.name)
            actuator = stepwise_move(self._session, self._profile, name)
            face = DirectRotation(self._session, actuator, camera.name, corners, image)
            yield find_line(face)
            yield motor_finding(face)
            face.settle()


def _places(camera: CameraSettings, quads: Quads) -> Finding:
    """Return the corners of a camera's faces as a finding."""
    values = face_values(camera, quads)
    sites = ", ".join(quads)
    text = f"{camera.name} sees faces {sites}; nothing has moved yet"
    return Finding("camera", text, values, dict.fromkeys(values, QUAD_SURE))


FINDERS["direct"] = (DirectFinder,)

Floats = NDArray[np.float64]

BINS = 720
"""Number of bins in a whole turn."""

RADII = np.linspace(0.2, 0.92, 24)
"""Radii as fractions of half an edge: outside the axle, inside the circle."""

REACH_DEGREES = 40.0
"""Search range around the expected angle of a face: less than half a quarter turn, because the grid
of its stickers looks the same after a quarter turn."""

SHADOW = 0.5
"""Exponent that makes dark colours count as much as bright ones."""


@dataclass(frozen=True, eq=False)
class Unrolled:
    """A face in polar coordinates, float64[radii, angles, 3], minus its mean over each circle.

    The corners of a turning layer leave the outline of the square face, and may be hidden by other
    faces. The circle that touches the edges stays in view. In polar coordinates a turned face is
    the same picture shifted along the angle. The shift is where the two correlate best.
    """

    picture: Floats

    @classmethod
    def from_picture(cls, image: Image, corners: Corners) -> Unrolled:
        """Unroll a face in a picture uint8[H, W, 3], given its corners in the order drawn."""
        square = np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)], dtype=np.float32)
        to_pixels = cv2.getPerspectiveTransform(square, np.asarray(corners, dtype=np.float32))
        angles = np.arange(BINS) * (2 * np.pi / BINS)
        circle = np.stack([np.cos(angles), np.sin(angles)], axis=-1)
        places = (RADII[:, None, None] * circle).reshape(1, -1, 2)
        pixels = cv2.perspectiveTransform(places, to_pixels).reshape(len(RADII), BINS, 2)
        seen = cv2.remap(
            image,
            pixels[..., 0].astype(np.float32),
            pixels[..., 1].astype(np.float32),
            cv2.INTER_LINEAR,
        )
        even = (seen.astype(np.float64) / 255) ** SHADOW
        return cls(even - even.mean(axis=1, keepdims=True))

    def turned_from(self, first: Unrolled, near: float) -> tuple[float, float]:
        """Return the degrees clockwise by which the face has turned since ``first``, nearest to
        ``near``, and the correlation of the two there, up to 1."""
        spectrum = np.fft.rfft(self.picture, axis=1) * np.fft.rfft(first.picture, axis=1).conj()
        weights = RADII[:, None]
        agreement = (np.fft.irfft(spectrum, BINS, axis=1).sum(axis=2) * weights).sum(axis=0)
        scale = np.sqrt(self._power * first._power)
        agreement = agreement / max(scale, 1e-9)
        degrees = np.arange(BINS) * 360 / BINS
        away = (degrees - near + 180) % 360 - 180
        best = int(np.argmax(np.where(np.abs(away) <= REACH_DEGREES, agreement, -np.inf)))
        left, middle, right = (float(agreement[(best + off) % BINS]) for off in (-1, 0, 1))
        bend = left - 2 * middle + right
        finer = 0.5 * (left - right) / bend if bend < 0 else 0.0
        return float(near + away[best] + finer * 360 / BINS), middle

    @property
    def _power(self) -> float:
        return float(((self.picture**2).sum(axis=(1, 2)) * RADII).sum())
