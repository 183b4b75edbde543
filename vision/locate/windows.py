"""Finding the face in a lattice: a window of N x N cells like stickers, with none beyond it."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np
from numpy.lib.stride_tricks import as_strided

from vision.frame import Bools, Floats
from vision.locate.evidence import MARGIN, GridEvidence, Pyramid, gather
from vision.locate.lattice import (
    Blobs,
    Lattice,
    fit_homography,
    inverse_of,
    is_proper,
    project,
    spans_plane,
)

_RUNNERS_UP = 0.35
"""Minimum mark of a window to be examined closely, as a share of the best mark on its lattice."""

_LEAST_SHARE = 0.25
"""Minimum share of a lattice's patches in a window. Fewer leave too much unexplained."""

_HOLDS = 0.5
"""Mark of a window from which its parts are not considered."""

_REGULAR = 0.05
"""Mean distance from patch to node, in pitches, at which a window loses two thirds of its mark."""


_NEAR_NODE = 0.15
_SAME_AREA = 0.65
"""A patch beside a window belongs to its grid if its distance from a node, in pitches, is below the
first value and the ratio of its area to the usual one is above the second (and below its inverse).
"""

_PATCH_BEYOND = 0.9
"""Mark of such a patch as a sticker, regardless of its borders."""

_NEAR = 0.3
"""Maximum distance from node to patch, in pitches, for the patch to be a sticker of the hint."""

_SEEN = 0.3
"""Minimum share of a window's cells that have a patch; the others are inferred."""


@dataclass(frozen=True, eq=False)
class Window:
    """``size`` x ``size`` cells from node ``start`` (column, row) of ``lattice``.

    ``mark`` 0..1 rates it as a face; ``seen`` is the share of cells with a patch.
    """

    lattice: Lattice
    size: int
    start: tuple[int, int]
    mark: float
    seen: float


def find_windows(
    pyramid: Pyramid,
    blobs: Blobs,
    lattice: Lattice,
    sizes: Collection[int],
    *,
    reflections: bool = False,
) -> list[Window]:
    """Return the likeliest windows on a lattice, at most one per size, examined closely, best
    first. ``reflections`` allows for reflections on the stickers.
    """
    board = _Board.from_image(pyramid, lattice, *_extent(lattice), reflections=reflections)
    rough: list[Window] = []
    for size in sizes:
        least = _RUNNERS_UP * max((window.mark for window in rough), default=0.0)
        window = _best_of_size(board, size, least)
        if window is not None:
            rough.append(window)
    rough.sort(key=lambda window: -window.mark)
    close: list[Window] = []
    for window in rough:
        if window.mark < _RUNNERS_UP * rough[0].mark or window.mark == 0.0:
            break
        if not any(_is_part(window, other) for other in close):
            close.append(_refit(pyramid, blobs, board, window, reflections))
    return sorted(close, key=lambda window: -window.mark)


def _view_windows(values: Floats, shape: tuple[int, int]) -> Floats:
    """Return a view of all windows of a shape in a table: [down, across, *shape]."""
    starts = [side - own + 1 for side, own in zip(values.shape, shape, strict=True)]
    # The checks of numpy's sliding_window_view take longer than adding up these tables.
    return np.asarray(as_strided(values, (*starts, *shape), values.strides * 2, writeable=False))


def _is_part(window: Window, whole: Window) -> bool:
    """Return True if a window is part of a larger one with a mark of at least ``_HOLDS``."""
    offset = np.subtract(window.start, whole.start)
    return bool(
        whole.mark >= _HOLDS
        and window.size < whole.size
        and (offset >= 0).all()
        and (offset + window.size <= whole.size).all()
    )


def window_at(pyramid: Pyramid, blobs: Blobs, homography: Floats, size: int) -> Window | None:
    """Return the window near the position of a face in another picture of the same camera.

    ``homography`` maps nodes (0..size - 1) to pixels. It is shifted to the patches that are near
    its nodes and as large as its cells. None if there are none, or the window does not look like a
    face at all.
    """
    places = project(inverse_of(homography), blobs.centres)
    nodes = np.round(places)
    near = (np.abs(places - nodes) < _NEAR).all(axis=1) & (nodes >= 0).all(axis=1)
    near &= (nodes < size).all(axis=1) & _fits_cell(blobs.areas, homography, size)
    if not near.any():
        return None
    numbers, found = np.flatnonzero(near), nodes[near].astype(np.int64)
    shift = np.median(blobs.centres[numbers] - project(homography, nodes[near]), axis=0)
    moved = np.array([[1, 0, shift[0]], [0, 1, shift[1]], [0, 0, 1.0]]) @ homography
    lattice = Lattice(found, numbers, moved, 0.0)
    board = _Board.from_image(pyramid, lattice, (0, 0), (size - 1, size - 1))
    return board.window(size, (0, 0), least_seen=0.0)


def _fits_cell(areas: Floats, homography: Floats, size: int) -> Bools:
    corners = np.array([[-0.5, -0.5], [size - 0.5, -0.5], [size - 0.5, size - 0.5]])
    a, b, c = project(homography, corners)
    cell = abs((b[0] - a[0]) * (c[1] - b[1]) - (b[1] - a[1]) * (c[0] - b[0])) / size**2
    return np.asarray((areas > 0.25 * cell) & (areas < 1.2 * cell))


def _extent(lattice: Lattice) -> tuple[tuple[int, int], tuple[int, int]]:
    low, high = lattice.nodes.min(axis=0), lattice.nodes.max(axis=0)
    return (int(low[0]), int(low[1])), (int(high[0]), int(high[1]))


def _best_of_size(board: _Board, size: int, least: float) -> Window | None:
    """Return the likeliest window of a size on a lattice that patches beside the face may distort.

    Ignores cells beyond the window for now, but penalises a window that leaves out many patches.
    None if no window can have a mark above ``least``.
    """
    if len(board.lattice.nodes) < _SEEN * size**2:
        return None
    columns, rows = _starts(board.lattice, size)
    if not columns or not rows:
        return None
    seen = board.share_seen(size, columns, rows)
    share = seen * size**2 / len(board.lattice.nodes)
    share[share < _LEAST_SHARE] = 0.0
    marks = board.marks(size, columns, rows, board.most(seen) * share, least)
    row, column = np.unravel_index(marks.argmax(), marks.shape)
    if marks[row, column] == 0.0:
        return None
    start = (columns[column], rows[row])
    return Window(board.lattice, size, start, float(marks[row, column]), float(seen[row, column]))


def _starts(lattice: Lattice, size: int) -> tuple[range, range]:
    """Return columns and rows of the first nodes of windows that contain all patches, or as many as
    possible.
    """
    ranges: list[range] = []
    for low, high in zip(*_extent(lattice), strict=True):
        first, last = sorted((low, high + 1 - size))
        # There is no evidence for cells beyond the margin.
        ranges.append(range(max(first, low - MARGIN), min(last, high + MARGIN + 1 - size) + 1))
    columns, rows = ranges
    return columns, rows


def _refit(
    pyramid: Pyramid, blobs: Blobs, board: _Board, window: Window, reflections: bool
) -> Window:
    """Return the window fitted only to the patches inside it, and judged again."""
    lattice, (column, row) = window.lattice, window.start
    last = (column + window.size - 1, row + window.size - 1)
    if _extent(lattice) == (window.start, last):
        # The lattice was fitted to these patches, and its board covers these cells.
        return board.window(window.size, window.start) or replace(window, mark=0.0)
    offsets = lattice.nodes - np.array(window.start)
    inside = ((offsets >= 0) & (offsets < window.size)).all(axis=1)
    if not spans_plane(lattice.nodes[inside]):
        return replace(window, mark=0.0)
    nodes, chosen = lattice.nodes[inside], lattice.blobs[inside]
    homography = fit_homography(nodes.astype(np.float64), blobs.centres[chosen])
    if not is_proper(homography):
        return replace(window, mark=0.0)
    to_nodes = inverse_of(homography)
    misses = np.abs(project(to_nodes, blobs.centres[lattice.blobs]) - lattice.nodes).max(axis=1)
    ratio = blobs.areas[lattice.blobs] / np.median(blobs.areas[chosen])
    # Patches beside the face, for example on another face of the cube, no longer fit its grid.
    fits = inside | ((misses < _NEAR_NODE) & (ratio > _SAME_AREA) & (ratio < 1 / _SAME_AREA))
    fitted = Lattice(
        lattice.nodes[fits], lattice.blobs[fits], homography, float(misses[inside].mean())
    )
    closer = _Board.from_image(pyramid, fitted, window.start, last, reflections=reflections)
    return closer.window(window.size, window.start) or replace(window, mark=0.0)


@dataclass(frozen=True, eq=False)
class _Board:
    """A lattice with the evidence about its cells: ``patches`` float64[R, C] is 1 for cells with a
    patch, ``stickers`` is each cell's mark as a sticker.
    """

    lattice: Lattice
    evidence: GridEvidence
    patches: Floats
    stickers: Floats
    regular: float

    @classmethod
    def from_image(
        cls,
        pyramid: Pyramid,
        lattice: Lattice,
        low: tuple[int, int],
        high: tuple[int, int],
        *,
        reflections: bool = False,
    ) -> _Board:
        evidence = gather(pyramid, lattice.homography, low, high, reflections=reflections)
        rows, columns = evidence.even.shape
        patches = np.zeros((rows, columns))
        places = lattice.nodes - np.array(evidence.first)
        looked_at = ((places >= 0) & (places < (columns, rows))).all(axis=1)
        patches[places[looked_at, 1], places[looked_at, 0]] = 1.0
        regular = math.exp(-((lattice.residual / _REGULAR) ** 2))
        return cls(lattice, evidence, patches, evidence.stickers(), regular)

    def window(
        self, size: int, start: tuple[int, int], *, least_seen: float = _SEEN
    ) -> Window | None:
        """Return the window; stickers beyond it lower its mark. None if the mark is 0."""
        columns, rows = (range(first, first + 1) for first in start)
        seen = self.share_seen(size, columns, rows, least_seen)
        marks = self.marks(size, columns, rows, self.most(seen))
        if marks[0, 0] == 0.0:
            return None
        c, r = start[0] - self.evidence.first[0], start[1] - self.evidence.first[1]
        mark = float(marks[0, 0]) * (1.0 - self._continuation(r, c, size))
        return Window(self.lattice, size, start, mark, float(seen[0, 0]))

    def share_seen(self, size: int, columns: range, rows: range, least: float = _SEEN) -> Floats:
        """Return shares of cells with a patch, float64[rows, columns], of windows that start in
        these columns and rows: 0 if they are below ``least`` or the window leaves the picture.
        """
        part = self._part(size, columns, rows)
        inside = np.where(self.evidence.inside[part], self.patches[part], -np.inf)
        seen = _view_windows(inside, (size, size)).sum(axis=(2, 3)) / size**2
        return np.where(seen >= least, seen, 0.0)

    def most(self, seen: Floats) -> Floats:
        """Return upper bounds for the marks of windows with these shares."""
        return np.asarray((seen > 0.0) * self.regular * (0.5 + 0.5 * seen))

    def marks(
        self, size: int, columns: range, rows: range, most: Floats, least: float = 0.0
    ) -> Floats:
        """Return marks of windows that start in these columns and rows, float64[rows, columns]: the
        products of ``most`` and the marks for rims and cells.

        Zeros if no mark can exceed ``least``: the cells are then not examined closely.
        """
        part = self._part(size, columns, rows)
        if float(most.max()) > least:
            most = most * (0.2 + 0.8 * self._rims(part, size))
        if float(most.max()) <= least:
            return np.zeros_like(most)
        return np.asarray(most * self._shapes(part, size))

    def _part(self, size: int, columns: range, rows: range) -> tuple[slice, slice]:
        """Return the cells of all windows of a size that start in these columns and rows."""
        c, r = columns[0] - self.evidence.first[0], rows[0] - self.evidence.first[1]
        return slice(r, r + len(rows) + size - 1), slice(c, c + len(columns) + size - 1)

    def _shapes(self, part: tuple[slice, slice], size: int) -> Floats:
        """Return marks for cells like stickers: each of one colour, with borders all around."""
        down, across = part
        upright = self.evidence.upright[down, across.start : across.stop + 1]
        upright = _view_windows(upright, (size, size + 1)).sum(axis=2)
        level = self.evidence.level[down.start : down.stop + 1, across]
        level = _view_windows(level, (size + 1, size)).sum(axis=3)
        borders = upright + level
        outer = (borders[..., 0] + borders[..., -1]) / (4 * size)
        inner = borders[..., 1:-1].sum(axis=2) / (2 * size * (size - 1))
        # Glare, a logo or a shadow's edge may lie on some of the stickers.
        even = _view_windows(self.evidence.even[part], (size, size))
        even = np.sort(even.reshape(*even.shape[:2], -1), axis=2)
        filled: Floats = even[..., size * size // 5 :].mean(axis=2)
        return np.asarray(filled * inner * (0.5 + 0.5 * outer))

    def _rims(self, part: tuple[slice, slice], size: int) -> Floats:
        """Return marks for the emptiest of the four outermost rows.

        A window one row larger than the face has a row without stickers.
        """
        marks = np.maximum(self.patches[part], self.stickers[part])
        cells = _view_windows(marks, (size, size))
        outermost = cells.sum(axis=3)[..., [0, -1]], cells.sum(axis=2)[..., [0, -1]]
        return np.asarray(np.minimum(*outermost).min(axis=2) / size)

    def _continuation(self, r: int, c: int, size: int) -> float:
        """Return a mark for stickers that continue beyond one of the window's sides."""
        cells = np.maximum(self.stickers, _PATCH_BEYOND * self.patches)
        rows, columns = cells.shape
        across, down = slice(c, c + size), slice(r, r + size)
        sides = [cells[row, across] for row in (r - 1, r + size) if 0 <= row < rows]
        sides += [cells[down, col] for col in (c - 1, c + size) if 0 <= col < columns]
        # Objects beside a face may look like one or two stickers, but not like a whole row.
        marks = [0.75 * float(side.sum()) / size + 0.25 * float(side.min()) for side in sides]
        return max(marks, default=0.0)
