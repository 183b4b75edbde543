"""Draws docs/pictures/finding.png from the simulated robot: `python docs/draw_finding.py`."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np

from robot.settings import load_profile
from robot.twin.cube import NORMALS, Pose, scrambled, turned
from robot.twin.misadjustment import Misadjustment
from robot.twin.render import Image, Painter, StudioLight, moved_camera, place_camera
from vision.locate.view_check import OddView, face_in_view

PICTURE = Path(__file__).parent / "pictures" / "finding.png"
WIDTH = 320
MARK = (80, 255, 120)


def panel(painter: Painter, degrees: float, covered: bool, text: str) -> Image:
    """What the camera sees, with the corners of the face where one is found."""
    pose = Pose(turned(NORMALS["D"], degrees / 90))
    image = painter.paint(scrambled(3, 7), pose, StudioLight(), covered).copy()
    try:
        corners = face_in_view(image, 3).corners
        cv2.polylines(image, [np.round(corners).astype(np.int32)], True, MARK, 3, cv2.LINE_AA)
    except OddView:
        text += ": no face"
    small = cv2.resize(image, (WIDTH, WIDTH * 3 // 4), interpolation=cv2.INTER_AREA)
    cv2.putText(small, text, (10, 228), cv2.FONT_HERSHEY_SIMPLEX, 0.5, MARK, 1, cv2.LINE_AA)
    return np.asarray(small, dtype=np.uint8)


def main() -> None:
    """Draw it."""
    (camera,) = load_profile("cubotino").cameras
    optics = moved_camera(place_camera(camera), Misadjustment(7).camera(camera.name))
    painter = Painter(optics, 2.0)
    panels = [
        panel(painter, 0.0, False, "nothing moved yet"),
        panel(painter, 33.0, False, "table 33 degrees on"),
        panel(painter, 0.0, True, "lid in the way"),
    ]
    cv2.imwrite(str(PICTURE), cv2.cvtColor(np.hstack(panels), cv2.COLOR_RGB2BGR))


if __name__ == "__main__":
    main()
