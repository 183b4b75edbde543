"""Finds what motors on the faces of a cube need to know: nothing of it moves as a whole.

Cameras at the cube's corners see three faces each. Where a face is in the picture is found before
anything moves. Each motor then turns its face a little to either side, and the camera that looks at
that face measures how far: a line of angles against steps, which tells direction, steps of a turn
and play. A motor has no positions: how its face stands when switched on is square.

No face is turned further than an eighth of a turn until its motor is known, and only one at a time
is off square, so that nothing can jam.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from robot.calibration.camera import Corners, Image, take_picture
from robot.calibration.finding.cube_pose import Quads, faces_in_view
from robot.calibration.finding.finder import FINDERS, FilmedServo, Finder, find_line
from robot.calibration.finding.motors import let_turn, motor_finding
from robot.calibration.finding.result import CouldNot, Finding
from robot.calibration.finding.rotations import Rotation
from robot.calibration.finding.spin import Unrolled
from robot.calibration.finding.walking import Walker, walker_of
from robot.calibration.step import Session
from robot.mechanism.direct.settings import DirectSettings
from robot.settings import RobotProfile
from robot.settings.profile import CameraSettings
from robot.settings.stepper import Stepper
from solver.files import JsonObject

MOST_LOOKS = 12
"""Pictures until two in a row show the same."""

SAME_DEGREES = 0.15

LEAST_AGREEMENT = 0.5
"""A face that looks less like itself than this is hidden, or another one."""

QUAD_SURE = 0.008
"""By which part of the picture a corner of a face may be off."""


class DirectRotation(Rotation):
    """A face that a motor turns, before a camera; degrees clockwise as seen from outside."""

    sweep = 24.0
    step_us, step_degrees = 0, 3.0

    def __init__(
        self, session: Session, walker: Walker, camera: str, corners: Corners, image: Image
    ) -> None:
        super().__init__(walker, {})
        self._session, self._camera, self._corners = session, camera, corners
        self._first = Unrolled.of(image, corners)
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
        raise CouldNot(f"the face of {self.name} does not come to rest in the picture")

    def expect(self, degrees: float) -> None:
        """See :meth:`Rotation.expect`."""
        self._near = degrees + self._zero

    def shift_zero(self, degrees: float) -> None:
        """See :meth:`Rotation.shift_zero`."""
        self._zero += degrees

    def _glance(self) -> float:
        _, image = take_picture(self._session, self._camera)
        seen = Unrolled.of(image, self._corners)
        degrees, agreement = seen.turned_from(self._first, self._near)
        if agreement < LEAST_AGREEMENT:
            raise CouldNot(
                f"the face of {self.name} is not in view any more: is something before camera "
                f"{self._camera}, or did another face turn?"
            )
        return degrees


class DirectFinder(Finder):
    """A stepper on each of five or six faces, and cameras that see the faces they turn."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._profile = session.calibrated

    @staticmethod
    def suits(profile: RobotProfile) -> bool:
        """See :meth:`Finder.suits`."""
        mechanism = profile.mechanism
        if not isinstance(mechanism, DirectSettings):
            return False
        seen = {view.site for camera in profile.cameras for view in camera.views}
        motors = [profile.actuators[name] for name in mechanism.motors.values()]
        return mechanism.motors.keys() <= seen and all(
            isinstance(one, Stepper) and one.homing is None and one.turn_check is None
            for one in motors
        )

    @property
    def seen_moving(self) -> Mapping[str, FilmedServo]:
        """No servo is."""
        return {}

    def find(self) -> Iterator[Finding]:
        """See :meth:`Finder.find`."""
        mechanism = self._profile.mechanism
        assert isinstance(mechanism, DirectSettings)
        faces: dict[str, tuple[CameraSettings, Corners, Image]] = {}
        for camera in self._profile.cameras:
            _, image = take_picture(self._session, camera.name)
            quads = faces_in_view(camera, image, self._profile.cube.size)
            faces |= {site: (camera, corners, image) for site, corners in quads.items()}
            yield _places(camera, quads)
        let_turn(self._session, mechanism.motors.values())
        for site, name in mechanism.motors.items():
            camera, corners, _ = faces[site]
            # Neighbours have moved by their play since the first picture.
            _, image = take_picture(self._session, camera.name)
            walker = walker_of(self._session, self._profile, name)
            face = DirectRotation(self._session, walker, camera.name, corners, image)
            yield find_line(face)
            yield motor_finding(face)
            face.settle()


def _parts(corners: Corners, camera: CameraSettings) -> Corners:
    """Parts of the picture's width and height; a corner that is cut off is taken at the border."""
    return np.asarray((corners / camera.resolution).clip(0, 1).round(5))


def _places(camera: CameraSettings, quads: Quads) -> Finding:
    """Where a camera has its faces."""
    values: JsonObject = {
        f"cameras.{camera.name}.views.{site}.quad": _parts(corners, camera).tolist()
        for site, corners in quads.items()
    }
    sites = ", ".join(quads)
    text = f"{camera.name} has the faces {sites} in view; nothing has moved yet"
    return Finding("camera", text, values, dict.fromkeys(values, QUAD_SURE))


FINDERS["direct"] = (DirectFinder,)
