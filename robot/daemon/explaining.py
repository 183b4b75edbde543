"""The picture in a run's record that shows how the cube was read."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import cv2
import numpy as np

from robot.daemon.ports import Look
from vision.drawing import png
from vision.explain import PHOTO_ROOM, explain
from vision.frame import Frame
from vision.locate import FaceGrid
from vision.looks import CubeLooks
from vision.photos import decode_photo
from vision.reader import CubeReading, Unreadable
from vision.sticker_colours import FACES, StickerColours


def explanation(
    looks: Sequence[Look], colours: StickerColours, outcome: CubeReading | Unreadable
) -> bytes:
    """A PNG of a reading or refusal; with the pictures, the last of each face, if all are there."""
    last = {look.face: look for look in looks}
    seen = _seen(last.values(), colours) if set(last) == set(FACES) else None
    return png(explain(colours, outcome, seen))


def _seen(looks: Collection[Look], colours: StickerColours) -> CubeLooks:
    small = {look.face: _as_drawn(look) for look in looks}
    frames = {face: frame for face, (frame, _) in small.items()}
    return CubeLooks(frames, {face: grid for face, (_, grid) in small.items()}, colours)


def _as_drawn(look: Look) -> tuple[Frame, FaceGrid]:
    """A picture and its grid no larger than they are drawn: six whole ones would take 40 MB."""
    image, grid = decode_photo(look.picture, f"look at {look.face}"), look.grid
    height, width = image.shape[:2]
    scale = min(1.0, PHOTO_ROOM[0] / width, PHOTO_ROOM[1] / height)
    if scale < 1:
        size = (round(width * scale), round(height * scale))
        image = np.asarray(cv2.resize(image, size, interpolation=cv2.INTER_AREA), dtype=np.uint8)
        corners = grid.corners * (size[0] / width, size[1] / height)
        grid = FaceGrid.of_corners(corners, grid.size, grid.fit)
    return Frame(image, look.camera, look.colours.time_us), grid
