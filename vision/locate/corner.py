"""Finding a cube in a picture of one of its corners: three faces that share it.

Cube coordinates: the corner in view is the origin; the axes 0, 1, 2 run along its three edges, in
cells, clockwise in the picture. A camera is a matrix ``P`` float64[3, 4] from homogeneous cube
coordinates to pixels. Its columns ``p0 p1 p2 p3`` contain the homographies of all three faces: that
of the face between the axes i and j is ``[pi pj p3]``. So two faces that share an edge determine
the camera without knowing its lens, and a linear fit to the patches of all three makes it exact
(direct transform, as :func:`vision.locate.lattice.fit_homography` for one plane).

If only one face is found, that face determines the camera for each of a few angles of view, because
the third axis is perpendicular to the face and as long as the other two. The evidence in the
picture for the three faces then decides between all candidates.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations, product

import numpy as np

from vision.frame import Floats, Image, Ints
from vision.locate.evidence import MARGIN
from vision.locate.face import FaceGrid, candidate_faces, cell_evidence, shrink
from vision.locate.lattice import Blobs, inverse_of, is_proper, project

CORNER_SIZES = (2, 3, 4, 5)
"""Sizes of cubes to find. On a face seen at an angle, stickers of larger cubes are too small."""

_PLANES = ((0, 1), (1, 2), (2, 0))
"""The axes of the three faces, each face clockwise from its first axis to its second."""

_FLATTEST = 0.3
"""Minimum width of a patch as a share of its length, for a face seen 70 degrees from its normal."""

_SAME_EDGE = 0.45
"""Maximum difference of the ends of an edge that two faces share, in cells."""

_SAME_FACE = 0.15
_MOST_FACES = 14
"""Difference of corners, in cells, below which faces count once, and maximum number of faces of a
size to combine, best first."""

_MOST_ALONE = 3
_VIEWS = (0.7, 1.1, 1.8, 4.0)
"""Number of faces tried alone, and focal lengths tried, in sides of the picture."""

_NEAR = (0.35, 0.25, 0.2)
"""Maximum distance of a sticker's patch from the middle of its cell, in cells, in three rounds."""

_CELL_SHARE = (0.2, 1.5)
"""Limits of the area of a sticker's patch as a share of its cell's."""

_FEW = 4
_PREDICTED = (0.08, 0.02)
"""Weights in the fit of cells without a patch: on faces with fewer patches than ``_FEW``, and on
others."""

_CLOSER = 4
"""Number of cameras of a size to judge by the picture: those with patches in the most cells."""

_HOLDS = 0.4
_WORST = 0.25
"""Fit that ends the search, and minimum fit of a cube."""

_LEAST_PITCH = 4.0
"""Pixels from one cell to the next below which a sticker is smaller than the smallest patch."""


@dataclass(frozen=True, eq=False)
class CornerView:
    """A cube seen from a corner, with the highest face called U.

    ``faces`` has the grids of U R F in Kociemba's orientation; ``fit`` is 0..1.
    """

    faces: Mapping[str, FaceGrid]
    fit: float

    @property
    def size(self) -> int:
        """Layers of the cube."""
        return self.faces["U"].size


def locate_corners(image: Image, sizes: Collection[int] = CORNER_SIZES) -> dict[int, CornerView]:
    """Return the likeliest cube of each size that may be in the picture."""
    work, factor = shrink(image)
    best: dict[int, CornerView] = {}
    for reflections in (False, True):
        faces, levels = candidate_faces(work, sizes, flattest=_FLATTEST, reflections=reflections)
        for alone in (False, True):
            for size in sizes:
                own = _distinct([face for face in faces if face.size == size])
                cameras = list(_from_one(own, work) if alone else _from_two(own))
                for view in _closer(work, cameras, levels, size, 1 if alone else size):
                    if size not in best or view.fit > best[size].fit:
                        best[size] = view
            if any(view.fit >= _HOLDS for view in best.values()):
                return _scale_views(best, factor)
    return _scale_views(best, factor)


def _scale_views(found: Mapping[int, CornerView], factor: float) -> dict[int, CornerView]:
    return {
        size: CornerView({f: grid.scale(factor) for f, grid in view.faces.items()}, view.fit)
        for size, view in found.items()
        if view.fit >= _WORST
    }


def _distinct(faces: Sequence[FaceGrid]) -> list[FaceGrid]:
    """Return the best faces without duplicates."""
    kept: list[FaceGrid] = []
    for face in sorted(faces, key=lambda face: -face.fit)[:_MOST_FACES]:
        limit = _SAME_FACE * face.pitch
        if not any(np.abs(face.corners - other.corners).max() < limit for other in kept):
            kept.append(face)
    return kept


def _from_two(faces: Sequence[FaceGrid]) -> Iterator[Floats]:
    """Yield cameras from pairs of faces that share an edge. Either end may be the corner."""
    for one, two in combinations(faces, 2):
        near = _SAME_EDGE * min(one.pitch, two.pitch)
        gaps = np.linalg.norm(one.corners[:, None] - two.corners, axis=2) < near
        for i, j in product(range(4), repeat=2):
            # Both go clockwise, so they run along a common edge in opposite directions.
            if gaps[i, (j + 1) % 4] and gaps[(i + 1) % 4, j]:
                yield _fit_planes({(1, 2): _from_corner(one, i), (0, 1): _from_corner(two, j + 1)})
                yield _fit_planes({(0, 1): _from_corner(one, i + 1), (1, 2): _from_corner(two, j)})


def _from_one(faces: Sequence[FaceGrid], work: Image) -> Iterator[Floats]:
    """Yield cameras from one face, for each of its corners and a few angles of view."""
    height, width = work.shape[:2]
    for face, corner, view in product(faces[:_MOST_ALONE], range(4), _VIEWS):
        focal = view * max(height, width)
        lens = np.array([[focal, 0, width / 2], [0, focal, height / 2], [0, 0, 1.0]])
        first, second, origin = np.linalg.solve(lens, _from_corner(face, corner).homography).T
        # All three edges lead away from the camera. For a distant face that is hard to determine.
        reach = -0.2 * np.linalg.norm(origin) * np.linalg.norm(first)
        if min(first @ origin, second @ origin) > reach:
            length = (np.linalg.norm(first) * np.linalg.norm(second)) ** 0.5
            third = np.cross(first, second) / length
            yield lens @ np.column_stack([first, second, third, origin])


def _from_corner(face: FaceGrid, corner: int) -> FaceGrid:
    """Return the face with that corner as its top left."""
    return FaceGrid.from_corners(np.roll(face.corners, -corner, axis=0), face.size, face.fit)


def _fit_planes(faces: Mapping[tuple[int, int], FaceGrid]) -> Floats:
    """Return the camera for faces in these planes."""
    places = [_lift(_centres(face.size), axes) for axes, face in faces.items()]
    return _fit_camera(np.concatenate(places), np.concatenate([f.centres for f in faces.values()]))


@cache
def _centres(size: int) -> Floats:
    """Return the middles of a face's cells float64[N * N, 2], row by row."""
    axis = np.arange(size) + 0.5
    return np.asarray(np.stack(np.meshgrid(axis, axis), axis=-1)).reshape(-1, 2)


def _lift(points: Floats, axes: tuple[int, int]) -> Floats:
    """Return points of a face float64[n, 2] in cube coordinates."""
    lifted = np.zeros((len(points), 3))
    lifted[:, axes] = points
    return lifted


def _fit_camera(points: Floats, pixels: Floats, weights: Floats | None = None) -> Floats:
    """Return the least squares camera for points float64[n, 3] that are not all in one plane."""
    middle, scale = points.mean(axis=0), 1.0 / max(float(points.std()), 1e-9)
    centre, zoom = pixels.mean(axis=0), 1.0 / max(float(pixels.std()), 1e-9)
    known = np.column_stack([(points - middle) * scale, np.ones(len(points))])
    seen = (pixels - centre) * zoom
    count = len(points)
    rows = np.zeros((2 * count, 12))
    for axis, part in enumerate((slice(count), slice(count, None))):
        rows[part, 4 * axis : 4 * axis + 4] = known
        rows[part, 8:] = -seen[:, axis, None] * known
    if weights is not None:
        rows *= np.tile(weights, 2)[:, None]
    _, vectors = np.linalg.eigh(rows.T @ rows)
    to_known = np.diag([scale, scale, scale, 1.0])
    to_known[:3, 3] = -scale * middle
    to_pixels = np.array([[1 / zoom, 0, centre[0]], [0, 1 / zoom, centre[1]], [0, 0, 1.0]])
    camera = to_pixels @ vectors[:, 0].reshape(3, 4) @ to_known
    return np.asarray(camera / (camera[2, 3] or 1.0))


def _closer(
    work: Image, cameras: Sequence[Floats], levels: Sequence[Blobs], size: int, depth: int
) -> Iterator[CornerView]:
    """Yield views of the cameras that agree with the most patches, each fitted to its patches.

    The third axis of the cameras is accurate enough for the first ``depth`` layers.
    """
    fitted = [
        result
        for camera, blobs in product(cameras, levels)
        if (result := _refit(camera, blobs, size, depth)) is not None
    ]
    fitted.sort(key=lambda result: -result[1])
    for camera, share in fitted[:_CLOSER]:
        grids = [FaceGrid(size, _plane(camera, axes), 1.0, share) for axes in _PLANES]
        marks = [_judge(work, grid) for grid in grids]
        fit = float(np.prod(marks) ** (1 / 3)) * (0.5 + 0.5 * share)
        if fit > 0.0:
            yield CornerView(_name_faces(grids, fit), fit)


def _plane(camera: Floats, axes: tuple[int, int]) -> Floats:
    """Return the homography from cells of a face to pixels."""
    return np.asarray(camera[:, [*axes, 3]])


def _refit(camera: Floats, blobs: Blobs, size: int, depth: int) -> tuple[Floats, float] | None:
    """Return the camera fitted to the patches in its cells, and the share of cells with a patch.

    Starts with the first ``depth`` layers along the third axis and adds one layer at a time. None
    if a face is flattened or there are no patches.
    """
    places = np.concatenate([_lift(_centres(size), axes) for axes in _PLANES])
    rounds = [(layers, _NEAR[0]) for layers in range(depth, size)]
    share = 0.0
    for layers, near in (*rounds, *((size, near) for near in _NEAR)):
        pixels, weights, found = [], [], 0
        for axes in _PLANES:
            plane = _plane(camera, axes)
            if not is_proper(plane):
                return None
            middles = project(plane, _centres(size))
            cells, patches = _patches_in_cells(plane, blobs, size, near)
            reached = _lift(_centres(size), axes)[cells, 2] < layers
            cells, patches = cells[reached], patches[reached]
            middles[cells] = blobs.centres[patches]
            weight = np.full(size * size, _PREDICTED[len(cells) >= _FEW])
            weight[cells] = 1.0
            pixels.append(middles)
            weights.append(weight)
            found += len(cells)
        if found == 0:
            return None
        share = found / len(places)
        camera = _fit_camera(places, np.concatenate(pixels), np.concatenate(weights))
    return camera, share


def _patches_in_cells(plane: Floats, blobs: Blobs, size: int, near: float) -> tuple[Ints, Ints]:
    """Return the cells of a face with a patch in their middle, and the nearest patch of each."""
    places = project(inverse_of(plane), blobs.centres)
    cells = np.floor(places).astype(int)
    misses = np.abs(places - cells - 0.5).max(axis=1)
    fits = (misses < near) & (cells >= 0).all(axis=1) & (cells < size).all(axis=1)
    sides = np.diff(project(plane, np.array([[0.0, 0], [size, 0], [size, size]])), axis=0)
    area = abs(np.linalg.det(sides)) / size**2
    fits &= (blobs.areas > _CELL_SHARE[0] * area) & (blobs.areas < _CELL_SHARE[1] * area)
    numbers = np.flatnonzero(fits)
    numbers = numbers[np.argsort(-misses[numbers], kind="stable")]
    # Later entries replace earlier ones: the nearest patch of a cell is last.
    nearest = {int(cells[i, 1] * size + cells[i, 0]): int(i) for i in numbers}
    return np.array([*nearest], dtype=np.intp), np.array([*nearest.values()], dtype=np.intp)


def _judge(work: Image, grid: FaceGrid) -> float:
    """Return a mark 0..1 for a face whose first corner is the corner of the cube in view.

    As for a single face, cells must be of one colour and have borders, also in the outermost rows.
    There must be nothing like stickers beyond the two sides that are away from the corner.
    """
    if not _is_in_picture(work, grid):
        return 0.0
    size, last = grid.size, MARGIN + grid.size
    seen = cell_evidence(work, grid)
    own = slice(MARGIN, last)
    upright, level = seen.upright[own, MARGIN : last + 1], seen.level[MARGIN : last + 1, own]
    inner = (upright[:, 1:-1].mean() + level[1:-1].mean()) / 2
    outer = (upright[:, [0, -1]].mean() + level[[0, -1]].mean()) / 2
    even = np.sort(seen.even[own, own].ravel())[size * size // 5 :].mean()
    every = seen.stickers()
    stickers = every[own, own]
    rim = min(stickers[[0, -1]].mean(axis=1).min(), stickers[:, [0, -1]].mean(axis=0).min())
    beyond = (every[last, own], every[own, last])
    goes_on = max(0.75 * side.mean() + 0.25 * side.min() for side in beyond)
    return float(even * inner * (0.4 + 0.6 * outer) * (0.4 + 0.6 * rim) * (1.0 - goes_on))


def _is_in_picture(work: Image, grid: FaceGrid) -> bool:
    """Return True for a face with clockwise corners that is nearly all within the picture and large
    enough to be judged."""
    corners = grid.corners
    height, width = work.shape[:2]
    slack = grid.pitch / 2
    if not np.isfinite(corners).all() or grid.pitch < _LEAST_PITCH:
        return False
    if (corners < -slack).any() or (corners > (width + slack, height + slack)).any():
        return False
    (x, y), (u, v) = (np.roll(corners, -k, axis=0).T - corners.T for k in (1, 3))
    return bool((x * v - y * u > 0).all())


def _name_faces(grids: Sequence[FaceGrid], fit: float) -> dict[str, FaceGrid]:
    """Return the grids as faces U R F in Kociemba's orientation, U being the highest."""
    heights = [project(grid.homography, np.full((1, 2), grid.size / 2))[0, 1] for grid in grids]
    up = int(np.argmin(heights))
    n = float(grids[0].size)
    # Kociemba draws the corner at the bottom right of U, the top left of R and the top right of F.
    drawn = {
        "U": np.array([[-1.0, 0, n], [0, -1.0, n], [0, 0, 1.0]]),
        "R": np.eye(3),
        "F": np.array([[0, 1.0, 0], [-1.0, 0, n], [0, 0, 1.0]]),
    }
    return {
        name: FaceGrid(grid.size, grid.homography @ drawn[name], fit, grid.seen)
        for name, grid in zip("URF", (*grids[up:], *grids[:up]), strict=True)
    }
