"""Checking a view: the face where it is expected, or the name of what is there instead."""

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
"""Share of the cells that must look like stickers for a face to be where it is expected."""

_GONE = 0.26
"""Share up to which clutter may look like stickers where none are."""

_CERTAIN = 0.6
"""Fit from which a grid found elsewhere or of another size is believed."""

_MARKED = 0.5
"""Mark from which a border or an even cell is one."""

_COVERED = 0.15
"""Share of the cells with something in front of them from which a face is covered."""

_HAND = 0.35
"""Share of skin among the cells from which a hand covers a face that is not seen at all."""

_SKIN_IN_PICTURE = 0.06
_IN_ROWS = 4
"""Without a face, this many patches in rows and this share of skin are a hand on a face."""

_GREEN_OF_SKIN = (0.4, 0.9)
_BLUE_OF_SKIN = (0.45, 0.97)
"""Green against red and blue against green, in sRGB, of people's skin in the light of lamps."""

_JOINED = 0.35
"""Two faces are of one cube if they share an edge: largest distance of its ends, in sides."""


class OddView(NoFace):
    """A picture that does not show one whole face of the cube expected.

    ``trouble`` names what it shows; ``stickers`` are those covered (numbers from 1, row by row as
    the face stands in the picture) and ``size`` the layers of the cube that is there instead.
    ``faces`` are the letters of the pictures that show it, if they have any; ``where`` the place as
    the text has it.
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

    ``place`` is where a calibrated camera has it: the answer is that place, or the face found
    near it. Without ``place`` the whole picture is searched. ``beside``: other faces of the same
    cube, as a camera at the cube's edge or corner sees them. A picture that is too poor to decide
    counts as showing the face. Raises :class:`OddView`.
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
    """Raises :class:`OddView` if something hides the borders of a good part of the cells."""
    covered = cells.has_cover
    if covered.mean() >= _COVERED:
        stickers = tuple(int(i) + 1 for i in np.flatnonzero(covered))
        raise OddView(
            ViewTrouble.COVERED,
            Reason.of("seen-cover-count", count=len(stickers), total=len(covered)),
            stickers,
        )


def no_cube() -> OddView:
    """Nothing that looks like a face where one is expected."""
    return OddView(ViewTrouble.NO_CUBE, Reason.of("seen-no-cube"))


def wrong_size(seen: int, expected: int) -> OddView:
    """A cube with another number of layers."""
    return OddView(
        ViewTrouble.WRONG_SIZE,
        Reason.of("seen-other-size", seen=seen, size=expected),
        size=seen,
    )


@dataclass(frozen=True, eq=False)
class _Cells:
    """The cells of a grid, row by row: ``borders`` int[N * N] of the four, ``even`` and ``skin``
    bool[N * N]: of one colour, of the colour of skin.
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
        """Cells that look like stickers."""
        return np.asarray(self.even & (self.borders >= 3))

    @property
    def has_cover(self) -> Bools:
        """Cells with something in front of them: no borders, or few and the colour of skin."""
        return np.asarray((self.borders < 2) | ((self.borders < 3) & self.skin))


def sticker_cells(image: Image, place: FaceGrid) -> Bools:
    """Return which cells of a place look like stickers, bool[N * N] row by row."""
    return _Cells.from_image(image, place).stickers


def is_skin(srgb: NDArray[np.uint8]) -> Bools:
    """True for colours uint8[..., 3] that may be those of skin, anybody's, in any light."""
    red, green, blue = (srgb[..., i].astype(np.float32) for i in range(3))
    tinted = (green > _GREEN_OF_SKIN[0] * red) & (green < _GREEN_OF_SKIN[1] * red)
    warm = (blue > _BLUE_OF_SKIN[0] * green) & (blue < _BLUE_OF_SKIN[1] * green)
    return np.asarray((red > 50) & tinted & warm)


def _others(image: Image, faces: Sequence[FaceGrid]) -> Sequence[FaceGrid]:
    """Faces of any size that are in the picture beside those that are known."""
    rest = image.copy()
    for face in faces:
        around = face.corners + 0.1 * (face.corners - face.corners.mean(axis=0))
        cv2.fillConvexPoly(rest, np.round(around).astype(np.int32), (0, 0, 0))
    return [grid for grid in locate_grids(rest, thorough=False) if grid.fit >= _CERTAIN]


def _is_joined(face: FaceGrid, other: FaceGrid) -> bool:
    """True if two faces share an edge, as two faces of one cube do."""
    side = face.pitch * face.size
    return any(
        np.abs(face.corners[[i, (i + 1) % 4]] - other.corners[[(j + 1) % 4, j]]).max()
        < _JOINED * side
        for i, j in product(range(4), repeat=2)
    )


def _overlap(found: FaceGrid, place: FaceGrid) -> bool:
    """True if the middle of either face lies in the other."""
    pairs = ((found, place), (place, found))
    return any(
        cv2.pointPolygonTest(a.corners.astype(np.float32), b.corners.mean(axis=0).tolist(), False)
        >= 0
        for a, b in pairs
    )
