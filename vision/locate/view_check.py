"""Checking a view: find the face at its expected position, or name what is there instead."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import cv2
import numpy as np
from numpy.typing import NDArray

from vision.frame import Bools, Frame, Image, Ints
from vision.locate.face import FaceGrid, NoFace, cell_evidence, locate_grids, patches_in_rows
from vision.measure.sticker_colours import linear_to_srgb
from vision.measure.stickers import measure_face
from vision.reasons import Reason, ViewTrouble

_CLEAR = 0.6
"""Minimum share of cells like stickers for a face to be at its expected position."""

_GONE = 0.26
"""Maximum share of cells that look like stickers in clutter."""

_CERTAIN = 0.6
"""Minimum fit to accept a grid found elsewhere or of another size."""

_MARKED = 0.5
"""Mark from which a border counts as a border and a cell as even."""

_COVERED = 0.15
"""Share of covered cells from which a face is covered."""

_HAND = 0.35
"""Share of skin-coloured cells from which a hand covers a face that does not show at all."""

_SKIN_IN_PICTURE = 0.06
_IN_ROWS = 4
"""Minimum share of skin, and number of patches in rows, to report a hand on a face if no face is
found."""

_GREEN_OF_SKIN = (0.4, 0.9)
_BLUE_OF_SKIN = (0.45, 0.97)
"""Ratios of green to red and of blue to green, in sRGB, of people's skin in lamplight."""

_JOINED = 0.35
"""Maximum distance of the ends of the common edge of two faces of one cube, in sides."""


class OddView(NoFace):
    """A picture does not show one whole face of the expected cube.

    ``trouble`` names what it shows. ``stickers`` are the covered ones (numbers from 1, row by row
    as the face appears in the picture). ``size`` is the number of layers of the cube that is there
    instead. ``faces`` are the letters of the pictures that show it, if they have any. ``where`` has
    the parameters of the text that describe the position.
    """

    def __init__(
        self,
        trouble: ViewTrouble,
        what: str,
        stickers: tuple[int, ...] = (),
        size: int | None = None,
        faces: str = "",
        where: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(what)
        self.trouble = trouble
        self.faces = faces
        self.where = dict(where or {})
        self.stickers = stickers
        self.size = size


def face_in_view(
    image: Image, size: int, place: FaceGrid | None = None, beside: Sequence[FaceGrid] = ()
) -> FaceGrid:
    """Return the one face of a cube of ``size`` layers in a picture uint8[H, W, 3].

    ``place`` is its position before a calibrated camera. The result is that position, or the face
    found near it. Without ``place`` the whole picture is searched. ``beside``: other faces of the
    same cube in view, if the camera points at the cube's edge or corner. A picture that is too poor
    to decide counts as showing the face. Raises :class:`OddView`.
    """
    face = _search(image, size) if place is None else _check_place(image, place)
    if any(not _is_joined(face, other) for other in _others(image, [face, *beside])):
        raise OddView(ViewTrouble.TWO_CUBES, Reason.of("seen-two-cubes"))
    return face


def _search(image: Image, size: int) -> FaceGrid:
    grids = locate_grids(image)
    fitting = [grid for grid in grids if grid.size == size]
    if fitting and (fitting[0].fit >= _CERTAIN / 2 or grids[0].fit < _CERTAIN):
        _check_uncovered(_Cells.from_image(image, fitting[0]))
        return fitting[0]
    if grids and grids[0].fit >= _CERTAIN:
        raise wrong_size(grids[0].size, size)
    if is_skin(image).mean() >= _SKIN_IN_PICTURE and patches_in_rows(image) >= _IN_ROWS:
        raise OddView(ViewTrouble.COVERED, Reason.of("seen-cover"))
    raise wrong_size(grids[0].size, size) if grids else no_cube()


def _check_place(image: Image, place: FaceGrid) -> FaceGrid:
    cells = _Cells.from_image(image, place)
    share = float(cells.stickers.mean())
    if share < _CLEAR:
        found = locate_grids(image, thorough=False)
        near = [grid for grid in found if grid.fit >= _CERTAIN and _overlap(grid, place)]
        for grid in near:
            if grid.size == place.size:
                return grid
        if near:
            raise wrong_size(near[0].size, place.size)
        if share <= _GONE and cells.skin.mean() < _HAND:
            raise no_cube()
    _check_uncovered(cells)
    return place


def _check_uncovered(cells: _Cells) -> None:
    """Raise :class:`OddView` if something hides the borders of many cells."""
    covered = cells.has_cover
    if covered.mean() >= _COVERED:
        stickers = tuple(int(i) + 1 for i in np.flatnonzero(covered))
        raise OddView(
            ViewTrouble.COVERED,
            Reason.of("seen-cover-count", count=len(stickers), total=len(covered)),
            stickers,
        )


def no_cube() -> OddView:
    """Return the error for a picture in which nothing looks like the expected face."""
    return OddView(ViewTrouble.NO_CUBE, Reason.of("seen-no-cube"))


def wrong_size(seen: int, expected: int) -> OddView:
    """Return the error for a cube with another number of layers."""
    return OddView(
        ViewTrouble.WRONG_SIZE,
        Reason.of("seen-other-size", seen=seen, size=expected),
        size=seen,
    )


@dataclass(frozen=True, eq=False)
class _Cells:
    """The cells of a grid, row by row. ``borders`` int[N * N] counts their visible borders (0..4),
    ``even`` bool[N * N] marks cells of one colour, ``skin`` bool[N * N] cells of a skin colour.
    """

    borders: Ints
    even: Bools
    skin: Bools

    @classmethod
    def from_image(cls, image: Image, grid: FaceGrid) -> _Cells:
        evidence = cell_evidence(image, grid)
        size, (column, row) = grid.size, (-evidence.first[0], -evidence.first[1])
        rows, columns = slice(row, row + size), slice(column, column + size)
        upright = evidence.upright[rows, column : column + size + 1] >= _MARKED
        level = evidence.level[row : row + size + 1, columns] >= _MARKED
        borders = upright[:, :-1].astype(np.intp) + upright[:, 1:] + level[:-1] + level[1:]
        colours = measure_face(Frame(image, "", 0), grid.quads).linear_rgb
        even = evidence.even[rows, columns] >= _MARKED
        return cls(borders.ravel(), even.ravel(), is_skin(linear_to_srgb(colours)))

    @property
    def stickers(self) -> Bools:
        """The cells that look like stickers."""
        return np.asarray(self.even & (self.borders >= 3))

    @property
    def has_cover(self) -> Bools:
        """The covered cells: at most one border, or at most two and the colour of skin."""
        return np.asarray((self.borders < 2) | ((self.borders < 3) & self.skin))


def sticker_cells(image: Image, place: FaceGrid) -> Bools:
    """Return the cells at a position that look like stickers, bool[N * N] row by row."""
    return _Cells.from_image(image, place).stickers


def is_skin(srgb: NDArray[np.uint8]) -> Bools:
    """Return True for colours uint8[..., 3] that may be anybody's skin, in any light."""
    red, green, blue = (srgb[..., i].astype(np.float32) for i in range(3))
    tinted = (green > _GREEN_OF_SKIN[0] * red) & (green < _GREEN_OF_SKIN[1] * red)
    warm = (blue > _BLUE_OF_SKIN[0] * green) & (blue < _BLUE_OF_SKIN[1] * green)
    return np.asarray((red > 50) & tinted & warm)


def _others(image: Image, faces: Sequence[FaceGrid]) -> Sequence[FaceGrid]:
    """Return faces of any size in the picture, apart from the known ones."""
    rest = image.copy()
    for face in faces:
        around = face.corners + 0.1 * (face.corners - face.corners.mean(axis=0))
        cv2.fillConvexPoly(rest, np.round(around).astype(np.int32), (0, 0, 0))
    return [grid for grid in locate_grids(rest, thorough=False) if grid.fit >= _CERTAIN]


def _is_joined(face: FaceGrid, other: FaceGrid) -> bool:
    """Return True if two faces share an edge, as faces of one cube do."""
    side = face.pitch * face.size
    return any(
        np.abs(face.corners[[i, (i + 1) % 4]] - other.corners[[(j + 1) % 4, j]]).max()
        < _JOINED * side
        for i, j in product(range(4), repeat=2)
    )


def _overlap(found: FaceGrid, place: FaceGrid) -> bool:
    """Return True if the middle of either face lies in the other."""
    pairs = ((found, place), (place, found))
    return any(
        cv2.pointPolygonTest(a.corners.astype(np.float32), b.corners.mean(axis=0).tolist(), False)
        >= 0
        for a, b in pairs
    )
