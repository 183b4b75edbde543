"""Finding the face of a cube in a photograph: its position, its number of layers and the fit."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from types import MappingProxyType

import cv2
import numpy as np
from numpy.typing import ArrayLike, NDArray

from solver.errors import CubistError, ExitCode
from vision.frame import Floats, Image
from vision.locate.evidence import GridEvidence, Pyramid, gather
from vision.locate.lattice import (
    EDGE_LEVELS,
    Blobs,
    edge_strength,
    find_blobs,
    find_lattices,
    inverse_of,
    project,
)
from vision.locate.windows import Window, find_windows, window_at

SIZES = (2, 3, 4, 5, 6, 7)
"""Layers of the cubes that the solver solves."""

_WORK_SIDE = 640
"""Longer side of the picture that is searched. Larger photographs are shrunk first."""

_WEAK_LEVELS = (10, 7, 5)
"""Levels of weak edges, which stand out from the noise in pictures averaged to coarse sizes."""

_COARSE_LOOKS = ((320, EDGE_LEVELS), (320, _WEAK_LEVELS), (160, (*EDGE_LEVELS, *_WEAK_LEVELS)))
"""Sizes and edge levels of further searches if no grid holds. Reflections, texture, noise and the
rounded edges of stickers without borders vanish, so that weak steps count as edges in the end. That
finds the gaps between pieces of one colour.
"""

_FINE_SIDE = 1920
_TILE = 640
_FAR_FACE = 200
"""Size of the picture for a final search, side of the squares searched and their overlap. At the
working size, the stickers of a face smaller than the overlap have too few pixels.
"""

_FINER = 1.5
"""Minimum ratio of a picture's size to the working size for that search to be worthwhile."""

_FAR_PITCH = 20.0
"""Pixels from one cell to the next, at the working size, below which a finer scale helps."""

_CLEAR_PITCH = 16.0
"""Pixels from one cell to the next at which its borders can be judged."""

_SURE = 0.75
WORST = 0.3
_WORST_HINTED = 0.15
_LEAST = 0.1
"""Fit that ends a search, and minimum fits of a face: usually, at an expected position, and if
other pictures of the cube decide as well.
"""

_HOLDS = 0.5
"""Fit from which further searches are not worth their time. All grids found remain candidates; six
pictures or a cube weigh them by their fit.
"""

_SAME_PLACE = 0.2
"""Difference of corners, in stickers, below which two grids that hold are the same face."""


class NoFace(CubistError):
    """No face of a cube was found in a picture.

    ``searches``: if six pictures were searched, the results for each, by face letter.
    """

    code = "no-face"
    exit_code = ExitCode.NO
    searches: Mapping[str, SearchResult] = MappingProxyType({})


@dataclass(frozen=True, eq=False)
class FaceGrid:
    """A face in a picture.

    ``size`` is its number of layers. ``homography`` float64[3, 3] maps face coordinates (column and
    row, 0..size, with the corners at the ends) to pixels. ``fit`` is 0..1. ``seen`` is the share of
    stickers found individually; the others are inferred from the grid.
    """

    size: int
    homography: Floats
    fit: float
    seen: float

    @classmethod
    def from_corners(cls, corners: ArrayLike, size: int, fit: float = 1.0) -> FaceGrid:
        """Return the face with these four corners: pixels, clockwise from the top left."""
        n = float(size)
        face = np.array([[0, 0], [n, 0], [n, n], [0, n]], dtype=np.float32)
        pixels = np.asarray(corners, dtype=np.float32)
        homography = np.asarray(cv2.getPerspectiveTransform(face, pixels), dtype=np.float64)
        return cls(size, homography, fit, 1.0)

    @property
    def quads(self) -> NDArray[np.float32]:
        """Corners of the cells float32[N*N, 4, 2], row by row, clockwise from the top left."""
        axis = np.arange(self.size, dtype=np.float64)
        cells = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 1, 2)
        corners = cells + np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
        return project(self.homography, corners).astype(np.float32)

    @cached_property
    def corners(self) -> Floats:
        """The face's corners float64[4, 2]: top left, top right, bottom right, bottom left."""
        n = float(self.size)
        return project(self.homography, np.array([[0.0, 0.0], [n, 0.0], [n, n], [0.0, n]]))

    @property
    def centres(self) -> Floats:
        """Centres of the cells float64[N*N, 2], row by row."""
        axis = np.arange(self.size) + 0.5
        cells = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
        return project(self.homography, cells)

    @cached_property
    def pitch(self) -> float:
        """Mean side of a cell in pixels."""
        sides = np.linalg.norm(self.corners - np.roll(self.corners, 1, axis=0), axis=1)
        return float(sides.mean()) / self.size

    def scale(self, factor: float) -> FaceGrid:
        """Return the same face in a picture ``factor`` times as large."""
        # Pixel centres are at whole numbers, so scaling also shifts the origin.
        shift = 0.5 * (factor - 1.0)
        scale = np.array([[factor, 0, shift], [0, factor, shift], [0, 0, 1.0]])
        return FaceGrid(self.size, scale @ self.homography, self.fit, self.seen)

    def shift_by(self, right: float, down: float) -> FaceGrid:
        """Return the same face moved to the right and down, in pixels."""
        shift = np.array([[1, 0, right], [0, 1, down], [0, 0, 1.0]])
        return FaceGrid(self.size, shift @ self.homography, self.fit, self.seen)


@dataclass(frozen=True, eq=False)
class SearchResult:
    """The result of searching a picture uint8[H, W, 3] for a face.

    ``size``: layers of the cube according to all pictures; ``grid``: its face, if one was found;
    ``found``: grids of any size that may be faces, likeliest first.
    """

    image: Image
    size: int
    grid: FaceGrid | None = None
    found: Sequence[FaceGrid] = ()


def locate_face(image: Image, sizes: Collection[int] = SIZES) -> FaceGrid:
    """Return the likeliest face in a picture uint8[H, W, 3]. Raise :class:`NoFace`."""
    grids = locate_grids(image, sizes)
    if not grids:
        raise NoFace(
            "no face of a cube found in the picture: show the whole face, in focus, "
            "without a hand over it"
        )
    return grids[0]


def locate_grids(
    image: Image, sizes: Collection[int] = SIZES, *, thorough: bool = True
) -> list[FaceGrid]:
    """Return faces that may be in the picture, likeliest first, without parts of larger ones.

    If no grid holds, a ``thorough`` search continues at coarser and finer scales.
    """
    if thorough:
        grids = locate_candidates(image, sizes)
        if not holds(grids):
            grids += locate_far(image, sizes)
    else:
        grids = _Search(image, _WORK_SIDE).find_grids(sizes)
    return [grid for grid in _drop_parts(grids) if grid.fit >= WORST]


def locate_candidates(image: Image, sizes: Collection[int] = SIZES) -> list[FaceGrid]:
    """Return all grids that may be a face, likeliest first, for several pictures of a cube to
    decide together. :func:`locate_far` finds small faces.
    """
    usual = _Search(image, _WORK_SIDE)
    grids = usual.find_grids(sizes)
    coarse: dict[int, _Search] = {}
    for side, levels in _COARSE_LOOKS:
        if not holds(grids) and _longer(image) > side:
            if side not in coarse:
                coarse[side] = _Search(image, side)
            grids += coarse[side].find_grids(sizes, levels=levels)
    if not holds(grids):
        grids += usual.find_grids(sizes, reflections=True)
    return sorted(grids, key=lambda grid: -grid.fit)


def is_far(image: Image, grid: FaceGrid) -> bool:
    """Return True if a face is so small that :func:`locate_far` may see more of it."""
    return grid.pitch < _FAR_PITCH * max(_longer(image) / _WORK_SIDE, 1.0)


def holds(grids: Collection[FaceGrid]) -> bool:
    """Return True if one of the grids is more likely a face than not."""
    return any(grid.fit >= _HOLDS for grid in grids)


def _longer(image: Image) -> int:
    return int(max(image.shape[:2]))


def locate_far(image: Image, sizes: Collection[int] = SIZES) -> list[FaceGrid]:
    """Return small faces that may be in a large picture, searched square by square."""
    if _longer(image) <= _FINER * _WORK_SIDE:
        return []
    work, factor = shrink(image, _FINE_SIDE)
    step = _TILE - _FAR_FACE
    grids: list[FaceGrid] = []
    starts = (range(0, max(side - _FAR_FACE, 1), step) for side in work.shape[:2])
    for top, left in product(*starts):
        tile = np.ascontiguousarray(work[top : top + _TILE, left : left + _TILE])
        found = _Search(tile, _TILE).find_grids(sizes)
        grids += [grid.shift_by(left, top).scale(factor) for grid in found]
        if holds(grids):
            break
    return grids


class _Search:
    """A picture shrunk to a longer side of at most ``side``, with its edges and patches at each
    edge level, for use by several searches.
    """

    def __init__(self, image: Image, side: int) -> None:
        work, self.factor = shrink(image, side)
        self.pyramid = Pyramid(work)
        self._edges = edge_strength(work)
        self._patches: dict[int, Blobs] = {}

    def patches(self, level: int) -> Blobs:
        """Return the patches at an edge level."""
        if level not in self._patches:
            self._patches[level] = find_blobs(self._edges, level).distinct()
        return self._patches[level]

    def find_grids(
        self,
        sizes: Collection[int],
        *,
        levels: Sequence[int] = (),
        reflections: bool = False,
    ) -> list[FaceGrid]:
        """Return faces that may be in the picture, in pixels of the full size.

        ``levels``: edge levels (default: the usual ones).
        """
        every: Blobs | None = None
        grids: list[FaceGrid] = []
        for level in levels or EDGE_LEVELS:
            blobs = self.patches(level)
            grids += _grids_of(self.pyramid, blobs, sizes, reflections)
            if _is_settled(grids):
                return [grid.scale(self.factor) for grid in grids]
            every = blobs if every is None else every.join_with(blobs)
        assert every is not None
        grids += _grids_of(self.pyramid, every.distinct(), sizes, reflections)
        return [grid.scale(self.factor) for grid in grids]


def _is_settled(grids: list[FaceGrid]) -> bool:
    """Return True if one grid is sure, or the best two, from different edge levels, agree."""
    best = sorted(grids, key=lambda grid: -grid.fit)[:2]
    if best and best[0].fit >= _SURE:
        return True
    if len(best) < 2 or best[1].fit < _HOLDS or best[0].size != best[1].size:
        return False
    return bool(np.abs(best[0].corners - best[1].corners).max() < _SAME_PLACE * best[0].pitch)


class HintedSearch:
    """A search of a picture uint8[H, W, 3] near the positions in hints, for faces that show too
    little to be found otherwise."""

    def __init__(self, image: Image) -> None:
        self._work = _Search(image, _WORK_SIDE)

    def near(self, hint: FaceGrid) -> FaceGrid | None:
        """Return the face of the hint's size near it, or None."""
        placed = _node_homography(hint.scale(1.0 / self._work.factor))
        windows = [
            window
            for level in EDGE_LEVELS
            if (
                window := window_at(
                    self._work.pyramid, self._work.patches(level), placed, hint.size
                )
            )
        ]
        best = max(windows, key=lambda window: window.mark, default=None)
        if best is None or best.mark < _WORST_HINTED:
            return None
        return _face_grid(best).scale(self._work.factor)


def confirm_grid(image: Image, hint: FaceGrid) -> FaceGrid | None:
    """Return the face near a hint, or None. The hint's picture is of the same camera and size."""
    return HintedSearch(image).near(hint)


def cell_evidence(image: Image, grid: FaceGrid) -> GridEvidence:
    """Return the evidence in a picture for and against each cell of a grid."""
    work, factor = shrink_to_cells(image, grid)
    last = (grid.size - 1, grid.size - 1)
    nodes = _node_homography(grid.scale(1.0 / factor))
    return gather(Pyramid(work), nodes, (0, 0), last, weak=False)


def shrink_to_cells(image: Image, grid: FaceGrid) -> tuple[Image, float]:
    """Shrink a picture to the size at which its cells are judged. Return it and the factor.

    A picture of a small face keeps more of its pixels.
    """
    clear = _CLEAR_PITCH * _longer(image) / grid.pitch
    return shrink(image, max(_WORK_SIDE, round(clear)))


def patches_in_rows(image: Image) -> int:
    """Count the sticker-like patches that form rows and columns together."""
    work, _ = shrink(image)
    lattices = find_lattices(find_blobs(edge_strength(work), EDGE_LEVELS[0]).distinct())
    return max((len(lattice.blobs) for lattice in lattices), default=0)


def _node_homography(grid: FaceGrid) -> Floats:
    """Return the homography from nodes (the centres of cells) to pixels."""
    return np.asarray(grid.homography @ np.array([[1, 0, 0.5], [0, 1, 0.5], [0, 0, 1]]))


def _drop_parts(grids: list[FaceGrid]) -> list[FaceGrid]:
    """Return the grids, likeliest first, without those that are part of a larger one."""
    return [
        grid
        for grid in sorted(grids, key=lambda grid: -grid.fit)
        if not any(_is_part(grid, other) for other in grids)
    ]


def _is_part(grid: FaceGrid, whole: FaceGrid) -> bool:
    """Return True if all cells of a grid belong to a larger one that is at least half as good."""
    if whole.size <= grid.size or whole.fit < _HOLDS * grid.fit:
        return False
    places = project(inverse_of(whole.homography), grid.centres)
    misses = np.abs(places - np.floor(places) - 0.5).max()
    return bool(misses < 0.25 and (places > 0).all() and (places < whole.size).all())


def shrink(image: Image, side: int = _WORK_SIDE) -> tuple[Image, float]:
    """Shrink a picture to a longer side of at most ``side``. Return it and the factor."""
    factor = _longer(image) / side
    if factor <= 1.0:
        return image, 1.0
    height, width = (max(round(side / factor), 1) for side in image.shape[:2])
    small = cv2.resize(image, (width, height), interpolation=cv2.INTER_AREA)
    return np.asarray(small, dtype=np.uint8), factor


def candidate_faces(
    work: Image, sizes: Collection[int], *, flattest: float, reflections: bool = False
) -> tuple[list[FaceGrid], list[Blobs]]:
    """Return all grids that may be a face in a picture of working size, and the patches at every
    edge level.

    ``flattest`` as for :func:`vision.locate.lattice.find_blobs`. A good face does not end the
    search, so that several faces in one picture are found.
    """
    edges, pyramid = edge_strength(work), Pyramid(work)
    levels = [find_blobs(edges, level, flattest).distinct() for level in EDGE_LEVELS]
    windows = [
        window
        for blobs in levels
        for lattice in find_lattices(blobs, gaps=reflections)
        for window in find_windows(pyramid, blobs, lattice, sizes, reflections=reflections)
    ]
    return [_face_grid(window) for window in windows if window.mark >= _WORST_HINTED], levels


def _grids_of(
    pyramid: Pyramid, blobs: Blobs, sizes: Collection[int], reflections: bool
) -> list[FaceGrid]:
    """Search for faces among the patches, in the largest lattices first, until one is sure.

    With ``reflections``, a whole row of a face with at least three rows may lack patches.
    """
    searches = [(find_lattices(blobs), sizes)]
    if reflections and (larger := [size for size in sizes if size > 2]):
        searches.append((find_lattices(blobs, gaps=True), larger))
    grids: list[FaceGrid] = []
    for lattices, own in searches:
        for lattice in lattices:
            windows = find_windows(pyramid, blobs, lattice, own, reflections=reflections)
            grids += [_face_grid(window) for window in windows if window.mark >= _LEAST]
            if windows and windows[0].mark >= _SURE:
                return grids
    return grids


def _face_grid(window: Window) -> FaceGrid:
    column, row = window.start
    to_nodes = np.array([[1, 0, column - 0.5], [0, 1, row - 0.5], [0, 0, 1.0]])
    return FaceGrid(window.size, window.lattice.homography @ to_nodes, window.mark, window.seen)
