"""What to improve about a camera's view of a face, and where the face is in its picture."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from robot.cli.terminal_picture import Image
from vision.calibrate.advice import advise
from vision.frame import Frame
from vision.locate.face import FaceGrid
from vision.locate.view_check import OddView, face_in_view

Corners = NDArray[np.float64]

OFF_PITCHES = 0.15
"""Distance of a corner from the face found, in stickers, from which the frame is called off."""

FRAME, CHOSEN = (255, 255, 0), (255, 0, 255)


def view_advice(image: Image, corners: Corners, size: int) -> list[str]:
    """Lines about what is in view, framing, light and focus; one that says so if all is well.

    ``corners`` float64[4, 2] in pixels are where the face of a cube of ``size`` layers should be.
    """
    grid = FaceGrid.of_corners(corners, size)
    try:
        face_in_view(image, size, grid)
    except OddView as odd:
        return [f"in view: {odd}"]
    lines = [f"{found.matter}: {found.text}" for found in advise(Frame(image, "", 0), grid)]
    off = _distance(image, corners, size)
    if off is not None and off > OFF_PITCHES * grid.pitch:
        lines.insert(0, f"framing: the frame is up to {off:.0f} pixels off the face")
    return lines or ["all is well: one face, in focus, evenly lit"]


def found_quad(image: Image, near: Corners, size: int) -> Corners:
    """Corners float64[4, 2] of the face in a picture, numbered as those of ``near`` are.

    Raises :class:`vision.locate.view_check.OddView`.
    """
    found = face_in_view(image, size).corners
    turns = [np.roll(found, turn, axis=0) for turn in range(4)]
    return np.asarray(min(turns, key=lambda turned: float(np.abs(turned - near).sum())))


def with_quads(image: Image, corners: Corners, chosen: int | None = None) -> Image:
    """The picture with a frame at ``corners``, one of them marked."""
    drawn = image.copy()
    thickness = max(2, image.shape[1] // 160)
    cv2.polylines(drawn, [np.round(corners).astype(np.int32)], True, FRAME, thickness)
    if chosen is not None:
        x, y = np.round(corners[chosen]).astype(int).tolist()
        cv2.circle(drawn, (x, y), 3 * thickness, CHOSEN, -1)
    return drawn


def _distance(image: Image, corners: Corners, size: int) -> float | None:
    """Pixels from the frame to the face, at the worst corner; None where no face is found."""
    try:
        found = found_quad(image, corners, size)
    except OddView:
        return None
    return float(np.linalg.norm(found - corners, axis=1).max())
