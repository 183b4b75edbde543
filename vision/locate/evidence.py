"""Evidence for and against a grid: lines between cells, cells of one colour."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from vision.frame import Bools, Floats, Image
from vision.locate.lattice import project

CELL = 16
"""Side of a cell in the rectified picture, in pixels."""

MARGIN = 2
"""Extra cells examined on each side of the given nodes, to find where a face ends."""

_DARK = 8.0
"""Added to brightness before division, so that noise in the dark does not count as contrast."""

_DIP = (0.1, 4.0, 0.22)
"""Darkening against both sides, as a share of brightness, at which a line is certain: the first
value plus the second times the darkening in the middles of the cells beside it, but at most the
third.
"""

_STEP = (0.05, 0.15)
"""Colour step between cells, as a share of brightness: none, certain."""

_RISE = (0.3, 0.5)
"""Lightening of a line against both sides in some channel: none, certain."""

_BASE = 0.12
_BARE = (0.2, 0.45)
_REFLECTING = 0.8
"""Variation of a sticker's colour beside a reflection, as a share of brightness, at most; the share
of a cell that is free of the reflection: none, enough; and the maximum mark of such a cell."""

_UNEVEN = (0.07, 0.25)
"""Deviation inside a cell as a share of brightness: even, not a sticker."""


class Pyramid:
    """A picture uint8[H, W, 3] and its averages over squares of pixels, each computed once."""

    def __init__(self, image: Image) -> None:
        self.image = image
        self._averages = {1: image}

    def average(self, side: int) -> Image:
        """Return the averages over squares of ``side`` pixels, uint8[H // side, W // side, 3]."""
        if side not in self._averages:
            height, width = (whole // side for whole in self.image.shape[:2])
            whole = self.image[: height * side, : width * side]
            small = cv2.resize(whole, (width, height), interpolation=cv2.INTER_AREA)
            self._averages[side] = np.asarray(small, dtype=np.uint8)
        return self._averages[side]


@dataclass(frozen=True, eq=False)
class GridEvidence:
    """Marks 0..1 for R x C cells; cell (0, 0) is node ``first`` (column, row).

    ``even`` float64[R, C]: the cell has one colour. ``upright`` float64[R, C + 1] and ``level``
    float64[R + 1, C]: there is a line or a colour step at the border left of, or above, the cell
    (the last entry: right of, or below, the last cell). ``inside`` bool[R, C]: the cell is within
    the picture.
    """

    first: tuple[int, int]
    even: Floats
    upright: Floats
    level: Floats
    inside: Bools

    def stickers(self) -> Floats:
        """Return marks of the cells as stickers: even, with four borders."""
        borders = np.minimum(
            np.minimum(self.upright[:, :-1], self.upright[:, 1:]),
            np.minimum(self.level[:-1], self.level[1:]),
        )
        return np.asarray(self.even * borders * self.inside)


def gather(
    pyramid: Pyramid,
    homography: Floats,
    low: tuple[int, int],
    high: tuple[int, int],
    *,
    reflections: bool = False,
    weak: bool = True,
) -> GridEvidence:
    """Return the evidence for nodes ``low`` to ``high`` (column, row; inclusive) and around them.

    ``homography`` float64[3, 3] maps nodes (centres of cells) to pixels of the picture. With
    ``reflections``, a cell with a reflection counts as even if the rest of it is. Without ``weak``,
    lines between smooth cells must be as dark as others.
    """
    first = (low[0] - MARGIN, low[1] - MARGIN)
    columns = high[0] - low[0] + 1 + 2 * MARGIN
    rows = high[1] - low[1] + 1 + 2 * MARGIN
    planes = _rectify(pyramid, homography, first, columns, rows)
    across = _bands(planes, rows)
    along = _bands(np.ascontiguousarray(planes.transpose(0, 2, 1)), columns)
    even = _evenness(planes, columns, rows)
    if reflections:
        even = np.maximum(even, _REFLECTING * _bare_share(across, columns))
    return GridEvidence(
        first,
        even,
        _borders(across, columns, weak),
        _borders(along, rows, weak).T,
        _inside(pyramid.image, homography, first, columns, rows),
    )


def _rectify(
    pyramid: Pyramid, homography: Floats, first: tuple[int, int], columns: int, rows: int
) -> NDArray[np.float32]:
    """Return the grid seen straight on, half a cell around it, by channel: float32[3, H, W]."""
    width, height = (columns + 1) * CELL, (rows + 1) * CELL
    # Maps pixel centres of the flat picture to nodes; a node is the centre of its cell.
    to_nodes = np.array(
        [
            [1 / CELL, 0, first[0] - 1.0 + 0.5 / CELL],
            [0, 1 / CELL, first[1] - 1.0 + 0.5 / CELL],
            [0, 0, 1],
        ]
    )
    image, homography = _average(pyramid, homography, first, columns, rows)
    flat = cv2.warpPerspective(
        image,
        homography @ to_nodes,
        (width, height),
        flags=cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP,
        borderMode=cv2.BORDER_REPLICATE,
    )
    return np.ascontiguousarray(np.asarray(flat).transpose(2, 0, 1), dtype=np.float32)


def _average(
    pyramid: Pyramid, homography: Floats, first: tuple[int, int], columns: int, rows: int
) -> tuple[Image, Floats]:
    """Average squares of pixels while cells have at least twice ``CELL`` pixels. Sampling alone
    would lose thin lines but keep the noise.
    """
    centre = np.array([first[0] + columns / 2, first[1] + rows / 2])
    steps = centre + np.array([[0, 0], [1, 0], [0, 1]])
    middle, right, down = project(homography, steps)
    pitch = min(float(np.linalg.norm(beside - middle)) for beside in (right, down))
    part = 1
    while 2 * part * CELL <= pitch and 4 * part * CELL <= min(pyramid.image.shape[:2]):
        part *= 2
    shift = 0.5 / part - 0.5
    scale = np.array([[1 / part, 0, shift], [0, 1 / part, shift], [0, 0, 1.0]])
    return pyramid.average(part), scale @ homography


def _bands(planes: NDArray[np.float32], rows: int) -> NDArray[np.float32]:
    """Return means of two bands in the middle of every row of cells, float32[3, 2 * rows, W]."""
    body = planes[:, CELL // 2 : -CELL // 2].reshape(3, rows, 4, CELL // 4, -1)
    means = body[:, :, 1:3].sum(axis=3) * np.float32(4 / CELL)
    return np.asarray(means.reshape(3, 2 * rows, -1))


def _borders(bands: NDArray[np.float32], count: int, weak: bool) -> Floats:
    """Return marks float64[rows, count + 1] of the borders along rows with ``count`` cells.

    ``bands`` float32[3, 2 * rows, pixels] are the colours along the two bands of each row.
    """
    halves = bands.reshape(3, -1, 2 * (count + 1), CELL // 2)
    stretches = np.concatenate([halves[:, :, :-1], halves[:, :, 1:]], axis=3)
    # Borders and, between them, the middles of cells.
    dip, step, rise = _contrasts(stretches)
    step = (step[:, ::2] - _STEP[0]) / (_STEP[1] - _STEP[0])
    rise = (rise[:, ::2] - _RISE[0]) / (_RISE[1] - _RISE[0])
    dip, middles = dip[:, ::2], dip[:, 1::2]
    certain: NDArray[np.float32] | float = _DIP[2]
    if weak:
        # Between smooth cells a weak line is a border; in wood grain it is not.
        beside = np.zeros_like(dip)
        np.maximum(middles, 0.0, out=beside[:, :-1])
        np.maximum(beside[:, 1:], middles, out=beside[:, 1:])
        certain = np.minimum(_DIP[0] + _DIP[1] * beside, _DIP[2])
    mark = np.minimum(np.maximum(np.maximum(dip / certain, np.maximum(step, rise)), 0.0), 1.0)
    # A border runs the whole length of a cell; anything that only crosses is in one band.
    return np.asarray(mark.reshape(-1, 2, count + 1).min(axis=1), dtype=np.float64)


def _contrasts(around: NDArray[np.float32]) -> tuple[NDArray[np.float32], ...]:
    """Return three contrasts of stretches float32[3, ..., CELL], as shares of brightness: the
    darkening of the middle against both sides, the difference of the sides, and the lightening of
    the middle in some channel.
    """
    half = CELL // 2
    reach, near, far = round(0.19 * CELL), round(0.25 * CELL), round(0.47 * CELL)
    share = np.float32(1 / (far - near))
    before = around[..., half - far : half - near].sum(axis=3) * share
    after = around[..., half + near : half + far].sum(axis=3) * share
    stretch = around[..., half - reach : half + reach]
    line = stretch.max(axis=0).min(axis=2) + _DARK
    bright_before, bright_after = before.max(axis=0) + _DARK, after.max(axis=0) + _DARK
    brighter = np.maximum(bright_before, bright_after)
    dip = 1.0 - line / np.minimum(bright_before, bright_after)
    step = np.abs(before - after).max(axis=0) / brighter
    # White plastic is lighter than coloured stickers in the channels that are dark in them.
    rise = (stretch.max(axis=3) - np.maximum(before, after)).max(axis=0) / brighter
    return dip, step, rise


def _evenness(planes: NDArray[np.float32], columns: int, rows: int) -> Floats:
    """Return marks float64[rows, columns] for evenness in the middles of the cells."""
    edge, inner = CELL // 2, slice(CELL // 4, -CELL // 4)
    body = planes[:, edge:-edge, edge:-edge].reshape(3, rows, CELL, columns, CELL)
    middles = body[:, :, inner, :, inner]
    count = np.float32(middles.shape[2] * middles.shape[4])
    mean = middles.sum(axis=(2, 4)) / count
    # Levels are below 256: squares in single precision are exact enough for a deviation.
    square = np.square(middles).sum(axis=(2, 4)) / count
    deviation = np.sqrt(np.maximum(square - np.square(mean), 0.0)).max(axis=0)
    brightness = mean.max(axis=0) + _DARK
    uneven = (deviation / brightness - _UNEVEN[0]) / (_UNEVEN[1] - _UNEVEN[0])
    return np.asarray(1.0 - np.minimum(np.maximum(uneven, 0.0), 1.0), dtype=np.float64)


def _bare_share(bands: NDArray[np.float32], columns: int) -> Floats:
    """Return marks float64[rows, columns] for the share of a cell with its darkest colour.

    Nothing in the cell is darker than that in any channel, so the rest may be a reflection.
    """
    body = bands[..., CELL // 2 : -CELL // 2].reshape(3, -1, 2, columns, CELL)
    samples = body[..., CELL // 4 : -CELL // 4].transpose(1, 3, 2, 4, 0)
    samples = samples.reshape(*samples.shape[:2], -1, 3)
    darkest = np.sort(samples, axis=2)[:, :, 2, None]
    allowed = _BASE * (darkest.max(axis=3, keepdims=True) + _DARK)
    near = (np.abs(samples - darkest) < allowed).all(axis=3).mean(axis=2)
    share = np.clip((near - _BARE[0]) / (_BARE[1] - _BARE[0]), 0.0, 1.0)
    white = samples.min(axis=3).max(axis=2) - darkest.min(axis=3)[..., 0]
    return np.asarray(np.maximum(share, 0.0) * (white > 0), dtype=np.float64)


def _inside(
    image: Image, homography: Floats, first: tuple[int, int], columns: int, rows: int
) -> Bools:
    grid = np.empty((rows, columns, 2))
    grid[..., 0] = first[0] + np.arange(columns)
    grid[..., 1] = first[1] + np.arange(rows)[:, None]
    x, y = project(homography, grid).transpose(2, 0, 1)
    height, width = image.shape[:2]
    return np.asarray((x >= 0) & (x < width) & (y >= 0) & (y < height))
