"""Scanning a whole cube in two photographs of opposite corners."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import numpy as np

from vision.cameras.photographs import load_photo
from vision.frame import Frame, Image
from vision.locate.corner import CORNER_SIZES, CornerView, locate_corners
from vision.locate.face import FaceGrid, NoFace, locate_grids
from vision.locate.six_faces import CubeScan
from vision.measure.sticker_colours import StickerColours
from vision.measure.stickers import measure_face
from vision.reasons import Reason

_NAMES = ("first", "second")

_MISSED = 0.05
"""Fit assumed for a picture in which no cube of the size was found."""

_ONE_FACE = 0.5
"""Minimum fit of a face to report that it alone is in view."""

_DRAWN_CORNER = {"U": 2, "R": 0, "F": 1, "D": 3, "B": 2, "L": 3}
"""Number of the corner URF or DBL on each face as Kociemba draws it, clockwise from top left."""


def scan_corner_files(paths: Sequence[Path], size: int | None = None) -> list[CubeScan]:
    """Locate and measure two photographs; see :func:`scan_corners`.

    Also raises :class:`solver.files.BadFile`.
    """
    first, second = (Frame(load_photo(path), path.name, 0) for path in paths)
    return scan_corners(first, second, size)


def scan_corners(first: Frame, second: Frame, size: int | None = None) -> list[CubeScan]:
    """Locate and measure two pictures that each show three faces of a cube and their corner.

    Returns one scan for each of the three ways to combine the pictures: the highest face of the
    second may be opposite any of the three faces of the first. U, R and F are the highest, right
    and left faces of the first picture. In the first scan D, B and L are those of the second.
    Raises :class:`vision.locate.face.NoFace`, which names the picture.
    """
    sizes = CORNER_SIZES if size is None else (size,)
    above, below = _locate([first.image, second.image], sizes)
    frames = {face: first if face in "URF" else second for face in "URFDLB"}
    scans = []
    for turned in range(3):
        grids = dict(above.faces) | {
            face: _redraw(below.faces[shown], shown, face)
            for face, shown in zip("DBL", "URFUR"[turned : turned + 3], strict=True)
        }
        looks = {f: measure_face(frames[f], g.quads, fit=g.fit) for f, g in grids.items()}
        scans.append(CubeScan(frames, grids, StickerColours.from_faces(looks)))
    return scans


def _locate(pictures: Sequence[Image], sizes: Collection[int]) -> list[CornerView]:
    """Return the cube in each picture, of the size that explains both best."""
    found = [locate_corners(picture, sizes) for picture in pictures]
    size = max(sizes, key=lambda n: (_joint_fit(found, n), -n))
    for name, picture, views in zip(_NAMES, pictures, found, strict=True):
        if size not in views:
            if len(sizes) == 1 and (seen := locate_corners(picture)):
                other = max(seen.values(), key=lambda view: view.fit).size
                reason = Reason.of("seen-other-size", seen=other, size=size)
                raise NoFace(f"{name} picture: {reason}")
            raise NoFace(_complaint(name, picture, size, any(size in other for other in found)))
    return [views[size] for views in found]


def _joint_fit(found: Sequence[Mapping[int, CornerView]], size: int) -> float:
    return float(np.prod([views[size].fit if size in views else _MISSED for views in found]))


def _complaint(name: str, picture: Image, size: int, other_shows: bool) -> str:
    """Describe what a picture shows instead of a corner, and how to take it again."""
    remedy = (
        "point a corner of the cube at the camera, so that its three faces are whole and alike "
        "in view, in focus and evenly lit"
    )
    faces = [grid for grid in locate_grids(picture) if grid.fit >= _ONE_FACE]
    if faces:
        n = faces[0].size
        where = _describe_place(faces[0], picture)
        return (
            f"{name} picture: a face of a {n}x{n}x{n} is in view {where}, but not the two beside "
            f"it; {remedy}"
        )
    like = f" of a {size}x{size}x{size} as in the other" if other_shows else " of a cube"
    return f"{name} picture: no corner{like} found; {remedy}"


def _describe_place(grid: FaceGrid, picture: Image) -> str:
    """Describe the part of the picture that contains the face's middle, in thirds."""
    height, width = picture.shape[:2]
    x, y = grid.corners.mean(axis=0) / (width, height)
    row, column = (min(2, max(0, int(3 * part))) for part in (y, x))
    words = (("upper ", "", "lower ")[row] + ("left", "middle", "right")[column]).strip()
    return f"at the {words}"


def _redraw(grid: FaceGrid, shown: str, face: str) -> FaceGrid:
    """Return the grid of a face named ``shown`` in its picture, oriented as ``face`` is drawn."""
    turned = np.roll(grid.corners, _DRAWN_CORNER[face] - _DRAWN_CORNER[shown], axis=0)
    return FaceGrid.from_corners(turned, grid.size, grid.fit)
