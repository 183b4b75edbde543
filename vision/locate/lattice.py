"""Finding sticker-like patches in a photograph, and the square lattices that they form.

A patch is a compact region without an edge inside. Lattices are rows and columns of patches.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from vision.frame import Bools, Floats, Image

EDGE_LEVELS = (28, 14, 56)
"""Steps of the strongest channel (0..255 within three pixels) that count as an edge, best first.

The search uses one after the other and adds the candidates of each. The fit of a grid does not
depend on the level at which its patches were found.
"""

_MIN_SIDE = 5.0
"""Minimum side of a patch in pixels. Smaller ones are noise."""

_LARGEST_SHARE = 0.3
"""Maximum area of a patch as a share of the picture's. No sticker of a whole face is larger."""

_SOLIDITY = (0.25, 0.86)
"""Area as a share of the convex hull's: too ragged below the first, whole above the second."""

_FACE_AREA = 9.2
"""Ratio of areas from which the larger patch is a face around the smaller one, not a sticker around
a logo."""

_PAIRS = 2**17
"""Maximum number of pairs of patches in a table. A picture full of texture has thousands of
patches, and tables of all their pairs would take gigabytes."""

_FLATTEST = 0.5
"""Minimum width of a patch as a share of its length. Faces seen at a steep angle have less."""

_PARALLELOGRAM = (0.88, 1.09)
"""Limits of the ratio of a patch's area to that of the parallelogram with the same moments: above a
triangle's (0.87), and up to an ellipse's (1.05) plus the noise of small patches."""


@dataclass(frozen=True, eq=False)
class Blobs:
    """Patches: ``centres`` float64[n, 2] (x, y), ``areas`` float64[n], ``shapes`` float64[n, 2, 2].

    ``shapes`` are covariances of the patches' pixels: ``A @ A.T / 12`` for a parallelogram with
    the columns of ``A`` as sides.
    """

    centres: Floats
    areas: Floats
    shapes: Floats

    def __len__(self) -> int:
        return len(self.areas)

    def join_with(self, other: Blobs) -> Blobs:
        """Return the patches of both."""
        return Blobs(
            np.concatenate([self.centres, other.centres]),
            np.concatenate([self.areas, other.areas]),
            np.concatenate([self.shapes, other.shapes]),
        )

    def distinct(self) -> Blobs:
        """Keep the largest of the patches that share a centre.

        The outline of a whole face does not replace the face's middle patch.
        """
        order = np.argsort(-self.areas, kind="stable")
        centres, areas = self.centres[order], self.areas[order]
        x, y = centres.T
        shadowed = np.zeros(len(order), dtype=bool)
        for part in _parts(len(order), len(order)):
            gaps = np.square(x[part, None] - x) + np.square(y[part, None] - y)
            near = gaps < 0.3**2 * np.minimum(areas[part, None], areas)
            near &= areas[part, None] < _FACE_AREA * areas
            shadowed |= np.triu(near, 1 + part.start).any(axis=0)
        chosen = order[~shadowed]
        return Blobs(self.centres[chosen], self.areas[chosen], self.shapes[chosen])


def _parts(rows: int, columns: int) -> Iterator[slice]:
    """Yield slices of a table's rows with at most ``_PAIRS`` entries, or else a single row."""
    height = max(1, _PAIRS // max(1, columns))
    return (slice(first, min(first + height, rows)) for first in range(0, rows, height))


def edge_strength(image: Image) -> Image:
    """Return the largest step of any channel around every pixel, uint8[H, W]."""
    # One channel at a time takes half the time that OpenCV needs for all at once. split() is slow,
    # and so is allocating memory for every step.
    strongest = np.zeros(image.shape[:2], np.uint8)
    channel, smooth, steps = (np.empty_like(strongest) for _ in range(3))
    for number in range(3):
        cv2.extractChannel(image, number, channel)
        cv2.GaussianBlur(channel, (3, 3), 0, smooth)
        cv2.morphologyEx(smooth, cv2.MORPH_GRADIENT, np.ones((3, 3), np.uint8), steps)
        cv2.max(strongest, steps, strongest)
    return strongest


def find_blobs(edges: Image, level: int, flattest: float = _FLATTEST) -> Blobs:
    """Return the compact parallelogram-like patches in which no step reaches ``level``.

    Omits patches whose width is less than ``flattest`` times their length.
    """
    _, flat = cv2.threshold(edges, level - 1, 255, cv2.THRESH_BINARY_INV)
    contours, _ = cv2.findContours(flat, cv2.RETR_LIST, cv2.CHAIN_APPROX_SIMPLE)
    largest = _LARGEST_SHARE * edges.size
    found = [blob for contour in contours if (blob := _blob(contour, largest, flattest))]
    if not found:
        return Blobs(np.empty((0, 2)), np.empty(0), np.empty((0, 2, 2)))
    table = np.array(found)
    shapes = table[:, [3, 4, 4, 5]].reshape(-1, 2, 2)
    return Blobs(table[:, :2], table[:, 2], shapes)


def _blob(contour: cv2.typing.MatLike, largest: float, flattest: float) -> tuple[float, ...] | None:
    """Return centre, area and covariance of a contour's interior, if it may be a sticker.

    Fills a notch in a patch, for example from glare at its edge.
    """
    if len(contour) < 4:
        return None
    area = cv2.contourArea(contour)
    if not _MIN_SIDE**2 <= area <= largest:
        return None
    hull = cv2.convexHull(contour)
    solidity = area / cv2.contourArea(hull)
    if solidity < _SOLIDITY[0]:
        return None
    whole = _describe(contour, flattest) if solidity >= _SOLIDITY[1] else None
    return whole or _describe(hull, flattest)


def _describe(contour: cv2.typing.MatLike, flattest: float) -> tuple[float, ...] | None:
    """Return centre (x, y), area and covariance (xx, xy, yy) of a parallelogram, else None."""
    moments = cv2.moments(contour)
    area = moments["m00"]
    xx, xy, yy = (moments[key] / area for key in ("mu20", "mu11", "mu02"))
    spread = max(xx * yy - xy * xy, 0.0) ** 0.5
    # Affine invariant: 1 for every parallelogram, 1.05 for an ellipse, less with notches and tails.
    if not _PARALLELOGRAM[0] <= area / (12.0 * spread + 1e-9) <= _PARALLELOGRAM[1]:
        return None
    half = 0.5 * (xx + yy)
    reach = max(half * half - spread * spread, 0.0) ** 0.5
    if (half - reach) < flattest**2 * (half + reach):
        return None
    return moments["m10"] / area, moments["m01"] / area, area, xx, xy, yy


Ints = NDArray[np.int64]

_PITCH = (0.92, 2.1)
"""Distance of neighbouring stickers in units of the patch side."""

_TWO_PITCHES = (1.84, 2.6)
"""Distance of stickers with one between them, in units of the patch side."""

_SAME_SIZE = 2.2
"""Maximum ratio of areas within one face, because of perspective, blur or a logo."""

_ON_NODE = 0.2
"""Maximum distance of a patch from its node, in pitches."""

_REACH = 6
"""Number of nodes to search on either side of the seed, enough for seven layers."""

_UPRIGHT = 0.25
"""Maximum cosine of the angle between the two steps of a frame, in the metric of the patch."""

_EQUAL = 0.35
"""Maximum logarithm of the ratio of their squared lengths."""

_FLAT = 1e-12
"""Determinant, with the largest entry scaled to 1, below which a homography flattens the plane. The
smallest faces in question have 1e-7.
"""

_NEIGHBOURS = 10
_SEEDS = 400
_KEPT = 8
"""Maximum numbers of neighbours, seeds and lattices, for pictures full of texture. A patch has four
neighbours on its face and as many others nearby, a face of seven layers has fewer than 400 frames,
and few pictures have eight lattices.
"""


@dataclass(frozen=True, eq=False)
class Lattice:
    """Patches on integer nodes.

    ``nodes`` are int64[k, 2] (column, row) and ``blobs`` the numbers of the patches there.
    ``homography`` float64[3, 3] maps node coordinates to pixels. ``residual`` is the mean distance
    from patch to node in pitches.
    """

    nodes: Ints
    blobs: Ints
    homography: Floats
    residual: float


def project(homography: Floats, points: Floats) -> Floats:
    """Map points float64[..., 2] through a homography."""
    x, y = points[..., 0], points[..., 1]
    (a, b, c), (d, e, f), (g, h, i) = homography.tolist()
    w = np.asarray(g * x + h * y + i)
    w[np.abs(w) < 1e-9] = 1e-9
    found = np.empty(points.shape)
    found[..., 0] = (a * x + b * y + c) / w
    found[..., 1] = (d * x + e * y + f) / w
    return found


def inverse_of(homography: Floats) -> Floats:
    """Return the inverse of a homography."""
    (a, b, c), (d, e, f), (g, h, i) = homography.tolist()
    rest = np.array(
        [
            [e * i - f * h, c * h - b * i, b * f - c * e],
            [f * g - d * i, a * i - c * g, c * d - a * f],
            [d * h - e * g, b * g - a * h, a * e - b * d],
        ]
    )
    return np.asarray(rest / _determinant(homography))


def _determinant(homography: Floats) -> float:
    (a, b, c), (d, e, f), (g, h, i) = homography.tolist()
    return float(a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g))


def _invert_pairs(matrices: Floats) -> Floats:
    """Return the inverses of matrices float64[..., 2, 2]."""
    a, b, c, d = (matrices[..., i, j] for i, j in ((0, 0), (0, 1), (1, 0), (1, 1)))
    found = np.empty(matrices.shape)
    determinant = a * d - b * c
    found[..., 0, 0], found[..., 0, 1] = d / determinant, -b / determinant
    found[..., 1, 0], found[..., 1, 1] = -c / determinant, a / determinant
    return found


def is_proper(homography: Floats) -> bool:
    """Return True if a homography has an inverse.

    If the patches only seem to be in rows, the fitted homography may flatten the plane into a line.
    """
    if not np.isfinite(homography).all():
        return False
    return abs(_determinant(homography / np.abs(homography).max())) > _FLAT


def spans_plane(nodes: Ints) -> bool:
    """Return True if nodes int64[k, 2] are not all on one line, so that they define a frame."""
    steps = nodes - nodes[:1]
    (xx, xy), (_, yy) = (steps.T @ steps).tolist()
    return bool(xx * yy > xy * xy)


def fit_homography(sources: Floats, targets: Floats) -> Floats:
    """Return the least squares homography (direct linear transform on normalised points, Hartley
    1997), or an affine map for fewer than six points, which do not determine the perspective.
    """
    if len(sources) < 6:
        return _fit_affine(sources, targets)
    (p, normal_source), (q, normal_target) = _normalise(sources), _normalise(targets)
    count = len(p)
    rows = np.zeros((2, count, 9))
    rows[0, :, 0:2] = rows[1, :, 3:5] = p
    rows[0, :, 2] = rows[1, :, 5] = 1.0
    rows[:, :, 6:8] = -q.T[:, :, None] * p
    rows[:, :, 8] = -q.T
    rows = rows.reshape(-1, 9)
    _, vectors = np.linalg.eigh(rows.T @ rows)
    matrix = vectors[:, 0].reshape(3, 3)
    whole = inverse_of(normal_target) @ matrix @ normal_source
    return np.asarray(whole / (whole[2, 2] or 1.0))


def _fit_affine(sources: Floats, targets: Floats) -> Floats:
    """Return the affine map by normal equations for sources that :func:`spans_plane` accepts."""
    source, target = (points.sum(axis=0) / len(points) for points in (sources, targets))
    own = sources - source
    linear = (targets - target).T @ own @ _invert_pairs(own.T @ own)
    fitted = np.eye(3)
    fitted[:2, :2], fitted[:2, 2] = linear, target - linear @ source
    return fitted


def _normalise(points: Floats) -> tuple[Floats, Floats]:
    """Return points around the origin at a mean distance of sqrt(2), and the map to them."""
    x, y = (points.sum(axis=0) / len(points)).tolist()
    offsets = points - (x, y)
    distance = float(np.sqrt(np.square(offsets).sum(axis=1)).sum()) / len(points)
    scale = 2.0**0.5 / max(distance, 1e-9)
    return offsets * scale, np.array([[scale, 0, -scale * x], [0, scale, -scale * y], [0, 0, 1.0]])


def find_lattices(blobs: Blobs, *, gaps: bool = False) -> list[Lattice]:
    """Return lattices of at least three patches, the most populated first, all different.

    ``gaps`` includes lattices in which a reflection covers a row between patches.
    """
    if len(blobs) < 3:
        return []
    anchors, frames = _seeds(blobs, gaps)
    if not len(anchors):
        return []
    counts = _support(blobs, anchors, frames)
    lattices: list[Lattice] = []
    taken = np.zeros(len(blobs), dtype=np.int64)
    for seed in np.argsort(-counts, kind="stable"):
        if taken[anchors[seed]] >= counts[seed]:
            continue
        lattice = _grow(blobs, int(anchors[seed]), frames[seed], 1 + gaps)
        if lattice is None:
            continue
        lattices.append(lattice)
        taken[lattice.blobs] = np.maximum(taken[lattice.blobs], len(lattice.blobs))
        if len(lattices) == _KEPT:
            break
    return sorted(lattices, key=lambda lattice: -len(lattice.blobs))


def _seeds(blobs: Blobs, gaps: bool) -> tuple[Ints, Floats]:
    """Return patches with a neighbour on each axis: numbers int64[s] and frames float64[s, 2, 2],
    whose columns are the two steps. Distances are measured in the metric of the patch's shape, so
    that a tilted face is square.
    """
    inverse = _invert_pairs(blobs.shapes)
    found = [_seeds_of(blobs, inverse, part, gaps) for part in _parts(len(blobs), len(blobs))]
    anchors = np.concatenate([numbers for numbers, _ in found])
    frames = np.concatenate([columns for _, columns in found])
    largest = np.argsort(-blobs.areas[anchors], kind="stable")[:_SEEDS]
    return anchors[largest], frames[largest]


def _seeds_of(blobs: Blobs, inverse: Floats, part: slice, gaps: bool) -> tuple[Ints, Floats]:
    """Return the seeds in ``part``; ``inverse`` float64[n, 2, 2] has the inverses of all shapes."""
    steps = blobs.centres - blobs.centres[part, None]
    x, y = steps[..., 0], steps[..., 1]
    xx, xy, yy = (inverse[part, i, j, None] for i, j in ((0, 0), (0, 1), (1, 1)))
    metric = (xx * x * x + 2.0 * xy * x * y + yy * y * y) / 12.0
    ratio = blobs.areas / blobs.areas[part, None]
    near = (metric > _PITCH[0] ** 2) & (metric < (_TWO_PITCHES[1] if gaps else _PITCH[1]) ** 2)
    near &= (ratio < _SAME_SIZE) & (ratio > 1 / _SAME_SIZE)
    count = min(_NEIGHBOURS, len(blobs) - 1)
    order = np.argsort(np.where(near, metric, np.inf), axis=1, kind="stable")[:, :count]
    taken = np.take_along_axis(near, order, axis=1)
    steps = np.take_along_axis(steps, order[..., None], axis=1)
    if gaps:
        far = np.take_along_axis(metric, order, axis=1) > _TWO_PITCHES[0] ** 2
        steps = np.concatenate([steps, steps / 2], axis=1)
        taken = np.concatenate([taken, taken & far], axis=1)
    anchors, frames = _frames(steps, taken, inverse[part])
    return anchors + part.start, frames


def _frames(steps: Floats, taken: Bools, inverse: Floats) -> tuple[Ints, Floats]:
    """Return the patches, and frames with pairs of perpendicular, equally long steps as columns.

    ``steps`` float64[n, k, 2] lead to the neighbours of each patch; ``taken`` selects some. Signs
    are chosen so that the first step points right and the second down. A frame then has the
    orientation of the face in the picture, for any position of the patch on it.
    """
    metric = steps @ inverse @ steps.transpose(0, 2, 1) / 12.0
    lengths = np.maximum(np.diagonal(metric, axis1=1, axis2=2), 1e-12)
    product = lengths[:, :, None] * lengths[:, None, :]
    upright = np.square(metric) < _UPRIGHT**2 * product
    equal = np.abs(np.log(lengths[:, :, None] / lengths[:, None, :])) < _EQUAL
    level = np.abs(steps[..., 0]) - np.abs(steps[..., 1])
    chosen = upright & equal & (level[:, :, None] > level[:, None, :])
    anchors, first, second = np.nonzero(chosen & taken[:, :, None] & taken[:, None, :])
    right, down = steps[anchors, first], steps[anchors, second]
    right = right * np.where(right[:, :1] < 0, -1.0, 1.0)
    across = right[:, 0] * down[:, 1] - right[:, 1] * down[:, 0]
    down = down * np.where(across < 0, -1.0, 1.0)[:, None]
    return anchors, np.stack([right, down], axis=-1)


def _support(blobs: Blobs, anchors: Ints, frames: Floats) -> Ints:
    """Count the patches near nodes of each frame, at most two steps from its anchor."""
    counts = [
        _support_of(blobs, anchors[part], frames[part]) for part in _parts(len(anchors), len(blobs))
    ]
    return np.concatenate(counts)


def _support_of(blobs: Blobs, anchors: Ints, frames: Floats) -> Ints:
    offsets = blobs.centres[None, :] - blobs.centres[anchors][:, None]
    to_nodes = _invert_pairs(frames)
    on_node = np.ones(offsets.shape[:2], dtype=bool)
    for axis in (0, 1):
        row = to_nodes[:, axis, :, None]
        places = row[:, 0] * offsets[..., 0] + row[:, 1] * offsets[..., 1]
        nodes = np.round(places)
        on_node &= (np.abs(places - nodes) < _ON_NODE) & (np.abs(nodes) <= 2)
    ratio = blobs.areas[None, :] / blobs.areas[anchors][:, None]
    similar = (ratio < _SAME_SIZE) & (ratio > 1 / _SAME_SIZE)
    return np.asarray((on_node & similar).sum(axis=1))


def _grow(blobs: Blobs, anchor: int, frame: Floats, nearest: int) -> Lattice | None:
    """Return the lattice grown from a frame: match patches in ever larger rings and fit again after
    each. The first ring extends ``nearest`` nodes, to the first possible patches.
    """
    homography = np.eye(3)
    homography[:2, :2], homography[:2, 2] = frame, blobs.centres[anchor]
    ratio = blobs.areas / blobs.areas[anchor]
    similar = np.flatnonzero((ratio < _SAME_SIZE) & (ratio > 1 / _SAME_SIZE))
    nodes = chosen = np.empty(0, dtype=np.int64)
    for reach in (nearest, nearest, 2, 3, _REACH, _REACH):
        fitted = nodes, chosen
        nodes, chosen = _match(blobs, similar, homography, reach)
        if len(chosen) < 3:
            return None
        if all(map(np.array_equal, fitted, (nodes, chosen))):
            if reach == _REACH:
                break
            continue
        if not spans_plane(nodes):
            return None
        homography = fit_homography(nodes.astype(np.float64), blobs.centres[chosen])
        if not is_proper(homography):
            return None
    return Lattice(nodes, chosen, homography, _residual(blobs, nodes, chosen, homography))


def _match(blobs: Blobs, candidates: Ints, homography: Floats, reach: int) -> tuple[Ints, Ints]:
    """Return the nearest patch for every node within reach of the origin that has one."""
    inverse = inverse_of(homography)
    places = project(inverse, blobs.centres[candidates])
    nodes = np.round(places)
    misses = np.abs(places - nodes).max(axis=1)
    good = (misses < _ON_NODE) & (np.abs(nodes).max(axis=1) <= reach)
    nodes, misses, chosen = nodes[good].astype(np.int64), misses[good], candidates[good]
    keys = 64 * nodes[:, 0] + nodes[:, 1]
    order = np.lexsort((misses, keys))
    keys = keys[order]
    best = order[np.concatenate([[True], keys[1:] != keys[:-1]])[: len(order)]]
    return nodes[best], chosen[best]


def _residual(blobs: Blobs, nodes: Ints, chosen: Ints, homography: Floats) -> float:
    places = project(inverse_of(homography), blobs.centres[chosen])
    return float(np.abs(places - nodes).max(axis=1).mean())
