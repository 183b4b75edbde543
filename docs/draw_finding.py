"""Draw the pictures that calibration uses, from simulated robots: `python docs/draw_finding.py`.

Writes docs/pictures/finding.png (a table), finding-grippers.png and finding-corners.png.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from robot.calibration.auto.cube_pose import faces_in_view
from robot.settings import load_profile
from robot.settings.profile import CameraSettings
from robot.twin.cube import NORMALS, Pose, scrambled, turned
from robot.twin.misadjustment import Misadjustment
from robot.twin.render import Image, Painter, StudioLight, moved_camera, place_camera
from vision.locate.view_check import OddView, face_in_view

FOLDER = Path(__file__).parent / "pictures"
SEED = 7
WIDTH = 320
MARK = (80, 255, 120)


def painter_of(camera: CameraSettings) -> Painter:
    """Return the painter of a camera mounted like that of robot 7."""
    truth = Misadjustment(SEED).camera(camera.name)
    return Painter(moved_camera(place_camera(camera), truth), 2.0)


def painted(painter: Painter, pose: Pose, covered: bool = False) -> Image:
    """Return a picture of the cube."""
    return painter.paint(scrambled(3, SEED), pose, StudioLight(), covered).copy()


def panel(image: Image, faces: Iterable[NDArray[np.float64]], text: str) -> Image:
    """Return a picture with marked faces and a line of text."""
    for corners in faces:
        cv2.polylines(image, [np.round(corners).astype(np.int32)], True, MARK, 3, cv2.LINE_AA)
    small = cv2.resize(image, (WIDTH, WIDTH * 3 // 4), interpolation=cv2.INTER_AREA)
    cv2.putText(small, text, (10, 228), cv2.FONT_HERSHEY_SIMPLEX, 0.5, MARK, 1, cv2.LINE_AA)
    return np.asarray(small, dtype=np.uint8)


def from_above(
    painter: Painter, site: str, degrees: float, text: str, covered: bool = False
) -> Image:
    """Return the view from above of a cube turned clockwise, as seen from a site."""
    image = painted(painter, Pose(turned(NORMALS[site], degrees / 90)), covered)
    try:
        return panel(image, [face_in_view(image, 3).corners], text)
    except OddView:
        return panel(image, [], text + ": no face")


def at_corner(camera: CameraSettings, layer: tuple[str, float] | None, text: str) -> Image:
    """Return the view at a corner of the cube, with the faces marked at their first positions."""
    painter = painter_of(camera)
    faces = faces_in_view(camera, painted(painter, Pose(np.eye(3))), 3)
    layers = () if layer is None else ((layer[0], layer[1] / 90),)
    marked = [corners for site, corners in faces.items() if layer is None or site == layer[0]]
    return panel(painted(painter, Pose(np.eye(3), layers)), marked, text)


def draw(name: str, panels: Sequence[Image]) -> None:
    """Write the panels side by side into a file."""
    cv2.imwrite(str(FOLDER / name), cv2.cvtColor(np.hstack(panels), cv2.COLOR_RGB2BGR))


def main() -> None:
    """Draw all pictures."""
    (camera,) = load_profile("cubotino").cameras
    above = painter_of(camera)
    table = [
        from_above(above, "D", 0.0, "nothing moved yet"),
        from_above(above, "D", 33.0, "table 33 degrees on"),
        from_above(above, "D", 0.0, "lid in the way", covered=True),
    ]
    draw("finding.png", table)
    (camera,) = load_profile("two-arm").cameras
    above = painter_of(camera)
    grippers = [
        from_above(above, "D", 33.0, "below: 33 degrees on"),
        from_above(above, "R", 16.0, "beside: 16 degrees on"),
        from_above(above, "R", 74.0, "beside: 74 degrees on"),
    ]
    draw("finding-grippers.png", grippers)
    camera = load_profile("six-motor").cameras[0]
    corners = [
        at_corner(camera, None, "three faces of one cube"),
        at_corner(camera, ("U", 24.0), "motor up: 24 degrees on"),
        at_corner(camera, ("F", -24.0), "front: 24 degrees back"),
    ]
    draw("finding-corners.png", corners)


if __name__ == "__main__":
    main()
