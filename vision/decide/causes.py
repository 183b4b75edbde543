"""Finding the cause if photographs show no readable cube, by the evidence in all pictures.

A picture without a face may show a hand, another cube or none, or a face that reflects a lamp, is
too bright, dark, blurred or cut off. Each of these causes has a measurable sign. The signs are
compared with those in the good pictures of the same cube: a table may have the colour of skin, a
wall may be white. Each sign counts as log odds against a picture without it. The cause with the
highest log odds over all failing pictures is reported with its position. Contradictions by the
other pictures count against a cause: a picture that looks like a 2x2x2 among good ones of a 3x3x3
may show a part of a face.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from itertools import combinations

import cv2
import numpy as np
from cv2.typing import MatLike
from numpy.typing import NDArray

from vision.decide.reader import CubeReading, Unreadable
from vision.frame import Bools, Floats, Image, Ints
from vision.locate.face import FaceGrid, NoFace, SearchResult, shrink
from vision.locate.lattice import (
    EDGE_LEVELS,
    Blobs,
    edge_strength,
    find_blobs,
    find_lattices,
    project,
)
from vision.locate.six_faces import describe_missing, others_place
from vision.locate.view_check import OddView, face_in_view, is_skin, sticker_cells
from vision.reasons import Reason, ViewTrouble

_FULL, _WHITE = 253, 245
"""sRGB value from which a channel is clipped, and from which a pixel is white in all channels."""

_NAMED = 3.0
"""Minimum log odds to report a cause: 20 to 1."""

FLAWS = frozenset(ViewTrouble) - {
    ViewTrouble.NO_CUBE,
    ViewTrouble.TWO_CUBES,
    ViewTrouble.WRONG_SIZE,
}
"""Causes that affect a face in the picture."""

_OVERRULES = 5.0
"""Minimum log odds of a flaw in a picture that explains why colours make no sure cube."""

_ALONE = 4.5
"""Log odds of the trouble seen in a single picture at a calibrated position."""

_GOOD = 0.5
"""Minimum fit of a picture that serves as a good example."""

_SURELY_OTHER = 0.6
"""Minimum fit of a grid of another size that determines the position of the cube. Its white
stickers are then not taken for reflections on the borders of the expected cube."""

_SHOWN = 0.3
"""Share of a cell from which the cell counts as hidden."""

_MIXED = 3.0
"""Log odds against pictures of two cubes in one set."""

_LARGE_PITCH = 80.0
"""Sticker size in pixels above which edges may be wider: the middles still show the colours."""

_UNPLACED = 0.5
"""Scale, relative to the working size, at which edges must be sharp if the size of the stickers is
unknown. Faces are searched for at that scale as well."""

_NOISE = 0.3
"""Slope of noise, in grey levels per pixel."""

_FLAT = 25
"""Minimum range of sRGB values if there is more than one colour."""

_LARGE = 0.003
"""Minimum square of a sticker's length along the edge of the picture, as a share of the picture's
area."""

_EXCUSED = (0.1, 0.25)
"""Maximum shares of white and of skin that are ignored because good pictures have them, too."""


def explain_search(error: NoFace) -> NoFace:
    """Return the error with the likeliest cause, judged by all pictures, if there is one."""
    searches = error.searches
    failing = [name for name, own in searches.items() if own.grid is None] or list(searches)
    has_two = isinstance(error, OddView) and error.trouble is ViewTrouble.TWO_CUBES
    if has_two or not searches:
        return error
    found = likeliest_cause(searches, failing)
    return found or NoFace(describe_missing(failing, searches[failing[0]].size))


def explain_reading(
    outcome: CubeReading | Unreadable, searches: Mapping[str, SearchResult]
) -> OddView | None:
    """Return the flaw of a picture that explains why a cube was not read with certainty, if any.

    If there are doubtful stickers, only their pictures are considered.
    """
    return find_common_flaw(searches, {name[0] for name in outcome.doubtful})


def find_common_flaw(
    searches: Mapping[str, SearchResult], names: Collection[str] = ()
) -> OddView | None:
    """Return the most common flaw in pictures of one cube, naming all that have it, or None.

    ``names``: the pictures to examine, compared with the others (default: all).
    """
    alone = [
        found
        for name in searches
        if not names or name in names
        if (found := likeliest_cause(searches, [name], FLAWS, _OVERRULES)) is not None
    ]
    troubles = [one.trouble for one in alone]
    common = [one for one in alone if one.trouble == max(troubles, key=troubles.count)]
    if len(common) < 2:
        return common[0] if common else None
    faces = [one.faces for one in common]
    return likeliest_cause(searches, faces, {common[0].trouble}) or common[0]


def require_face(
    image: Image, size: int, place: FaceGrid | None = None, beside: Sequence[FaceGrid] = ()
) -> FaceGrid:
    """Return the face as :func:`vision.locate.view_check.face_in_view` does.

    Raises :class:`OddView` with the likeliest cause, including poor focus or light.
    """
    try:
        return face_in_view(image, size, place, beside)
    except OddView as odd:
        raise explain_views({"": SearchResult(image, size, place)}, {"": odd}) or odd from odd


def find_flaw(
    image: Image, size: int, place: FaceGrid | None = None, before: Image | None = None
) -> OddView | None:
    """Return the flaw of one picture of a face of ``size`` layers, if it has any.

    ``before``: an earlier picture of the same camera with the face at the same position. The face
    was lit and in focus then, so if it is dark or blurred now, something unknown hides it. Darkness
    and blur are not reported as flaws.
    """
    searches = {"": SearchResult(image, size, place)}
    if before is None:
        return likeliest_cause(searches, [""], FLAWS, _OVERRULES)
    searches["before"] = SearchResult(before, size, place)
    among = FLAWS - {ViewTrouble.TOO_DARK, ViewTrouble.BLURRED}
    return likeliest_cause(searches, [""], among, _OVERRULES)


def explain_views(
    searches: Mapping[str, SearchResult], odd: Mapping[str, OddView]
) -> OddView | None:
    """Return the error for pictures of one cube by calibrated cameras, some of which show no face.

    ``odd``: the errors of these pictures, each examined alone. A cube cannot have another size in
    some of its pictures: None if nothing else explains such pictures.
    """
    usual = max((one.trouble for one in odd.values()), key=[o.trouble for o in odd.values()].count)
    first = next(one for one in odd.values() if one.trouble is usual)
    if usual in (ViewTrouble.TWO_CUBES, ViewTrouble.WRONG_SIZE) and 2 * len(odd) > len(searches):
        return first
    among = set(ViewTrouble) - {ViewTrouble.WRONG_SIZE}
    found = likeliest_cause(searches, list(odd), among, alone=odd)
    if found is None or found.trouble is usual:
        return None if usual is ViewTrouble.WRONG_SIZE else first
    return found


def likeliest_cause(
    searches: Mapping[str, SearchResult],
    failing: Sequence[str],
    among: Collection[ViewTrouble] = tuple(ViewTrouble),
    least: float = _NAMED,
    alone: Mapping[str, OddView] | None = None,
) -> OddView | None:
    """Return the likeliest reason why pictures of ``failing`` show no face, or None if unknown.

    ``among``: the possible causes; ``least``: the log odds needed to report one. ``alone``: errors
    of pictures by calibrated cameras, each examined alone.
    """
    good = [
        _Signs(own.image, own.grid)
        for name, own in searches.items()
        if name not in failing and own.grid is not None and own.grid.fit >= _GOOD
    ]
    signs = {}
    for name in failing:
        own = searches[name]
        other = _other_size(own)
        surely = other if other is not None and other.fit >= _SURELY_OTHER else None
        signs[name] = _Signs(own.image, own.grid or surely or others_place(searches, name))
    odds = {name: _odds(signs[name], searches[name], good) for name in failing}
    for name, view in (alone or {}).items():
        odds[name][view.trouble] = max(odds[name][view.trouble], _ALONE)
    possible = [cause for cause in ViewTrouble if cause in among]
    total = {cause: sum(own[cause] for own in odds.values()) / len(odds) for cause in possible}
    best = max(total, key=lambda cause: total[cause])
    showing = [name for name in failing if odds[name][best] >= least]
    if total[best] < least / 2 or not showing:
        return None
    worst = max(showing, key=lambda name: odds[name][best])
    faces = "".join(showing)
    single = (alone or {}).get(worst)
    if single is not None and single.trouble is best:
        text = Reason.name_pictures(faces, single.cause) if faces else single.cause
        return OddView(best, text, single.stickers, single.size, faces, single.where)
    what, stickers = _describe(best, signs[worst], searches[worst], is_alone=bool(good))
    other = _other_size(searches[worst])
    size = other.size if other is not None and best is ViewTrouble.WRONG_SIZE else None
    named = Reason.name_pictures(faces, what) if faces else what
    return OddView(best, named, stickers, size, faces, what.parameters)


class _Signs:
    """Measures of a picture uint8[H, W, 3] with a face, or the expected face, at ``place``."""

    def __init__(self, image: Image, place: FaceGrid | None) -> None:
        self.work, factor = shrink(image)
        self.place = None if place is None else place.scale(1.0 / factor)
        height, width = self.work.shape[:2]
        inside = np.zeros((height, width), np.uint8)
        if self.place is not None:
            cv2.fillConvexPoly(inside, np.round(self.place.corners).astype(np.int32), (1,))
        self.inside = inside.astype(bool) if inside.any() else np.ones((height, width), dtype=bool)
        self.white = np.asarray(self.work.min(axis=2) >= _WHITE)
        self.full = np.asarray(self.work.max(axis=2) >= _FULL)
        self.skin = is_skin(self.work)

    def share(self, where: Bools, placed: bool = True) -> float:
        """Return the share of the face, or of the picture if its position is unknown or not
        ``placed``.
        """
        return float(where[self.inside].mean() if placed else where.mean())

    @cached_property
    def white_borders(self) -> float:
        """The share of white on the borders between cells."""
        if self.place is None:
            return 0.0
        flat = self._straighten(self.white)
        across, down = flat[:, :, [0, -1], :], flat[:, :, :, [0, -1]]
        return float((across.mean() + down.mean()) / 2)

    @property
    def skin_share(self) -> float:
        """The share of skin on the face, except on stickers: orange ones may look like skin."""
        return float(np.where(self._stickers, 0.0, self.cells(self.skin).ravel()).mean())

    @property
    def share_beside(self) -> float:
        """The share of skin beside the face, or along the picture's edges if it is not located."""
        edges = np.concatenate([self.skin[[0, -1]].ravel(), self.skin[:, [0, -1]].ravel()])
        outside = self.skin[~self.inside] if self.place is not None else edges
        return float(outside.mean()) if outside.size else 0.0

    @cached_property
    def outlined_skin(self) -> float:
        """The share of the outline of skin, in the face, with an edge. Uneven light may give a wall
        the colour of skin, but never abruptly.
        """
        skin = cv2.medianBlur(self.skin.astype(np.uint8), 5)
        ends = cv2.morphologyEx(skin, cv2.MORPH_GRADIENT, np.ones((3, 3), np.uint8)) > 0
        ends &= self.inside
        if not ends.any():
            return 1.0
        near = cv2.dilate(self._edges, np.ones((5, 5), np.uint8))
        return float((near[ends] >= min(EDGE_LEVELS)).mean())

    @cached_property
    def brightest(self) -> float:
        """The brightness of the brightest object in the picture, 0..255."""
        return float(np.quantile(self.work.max(axis=2), 0.999))

    @cached_property
    def level(self) -> float:
        """The brightness of the brighter parts, 0..255."""
        return float(np.quantile(self.work.max(axis=2)[self.inside], 0.95))

    @cached_property
    def sharpness(self) -> float:
        """The ratio of the steepest edges' slopes before and after a blur; 1: no steeper."""
        grey: MatLike = cv2.cvtColor(self.work, cv2.COLOR_RGB2GRAY).astype(np.float32)
        inside: MatLike = self.inside.astype(np.uint8)
        far = _UNPLACED if self.place is None else min(_LARGE_PITCH / self.place.pitch, 1.0)
        if far < 1.0:
            grey = cv2.resize(grey, None, fx=far, fy=far, interpolation=cv2.INTER_AREA)
            inside = cv2.resize(inside, grey.shape[::-1], interpolation=cv2.INTER_NEAREST)
        own, soft = (_slopes(cv2.GaussianBlur(grey, (0, 0), sigma)) for sigma in (0.8, 2.5))
        around = cv2.dilate(inside, np.ones((9, 9), np.uint8)) > 0
        steep = around & (own >= np.quantile(own[around], 0.97))
        return float((own[steep].mean() + _NOISE) / (soft[steep].mean() + _NOISE))

    @cached_property
    def is_flat(self) -> bool:
        """True if there is only one colour, and so no edge that could be blurred."""
        low, high = np.quantile(self.work[self.inside], (0.05, 0.95), axis=0)
        return bool((high - low).max() < _FLAT)

    @cached_property
    def _patches(self) -> list[Blobs]:
        return [find_blobs(self._edges, level).distinct() for level in EDGE_LEVELS]

    @cached_property
    def _edges(self) -> Image:
        return edge_strength(self.work)

    @cached_property
    def rows(self) -> tuple[int, int, int, str]:
        """The number of patches in the largest lattice, its columns and rows, and the side of the
        picture that cuts it off, if any.
        """
        found = [(0, 0, 0, "")]
        for blobs in self._patches:
            for lattice in find_lattices(blobs)[:2]:
                low, high = lattice.nodes.min(axis=0), lattice.nodes.max(axis=0)
                columns, rows = (high - low + 1).tolist()
                side = self._side_beyond(lattice.homography, low, high)
                found.append((len(lattice.blobs), columns, rows, side))
        return max(found)

    @cached_property
    def side_of_pairs(self) -> str:
        """The side of the picture along which two patches are like stickers of one row."""
        height, width = self.work.shape[:2]
        least = (_LARGE * height * width) ** 0.5
        for blobs in self._patches:
            x, y = blobs.centres.T
            # The sides of upright parallelograms with these covariances.
            wide, tall = (np.sqrt(12 * blobs.shapes[:, i, i]) for i in (0, 1))
            rooms = {
                "left": (x, tall),
                "right": (width - 1 - x, tall),
                "top": (y, wide),
                "bottom": (height - 1 - y, wide),
            }
            for side, (room, along) in rooms.items():
                near = np.flatnonzero((along >= least) & (room < 1.8 * along))
                for a, b in combinations(near.tolist(), 2):
                    mean = (along[a] + along[b]) / 2
                    pitch = np.linalg.norm(blobs.centres[a] - blobs.centres[b])
                    level = abs(room[a] - room[b]) / mean
                    alike = abs(along[a] - along[b]) < 0.3 * mean
                    beside = max(room[a], room[b]) < 1.2 * pitch
                    if 0.95 < pitch / mean < 1.5 and level < 0.4 and alike and beside:
                        return side
        return ""

    def _side_beyond(self, homography: Floats, low: Floats, high: Floats) -> str:
        """Return the side of the picture that cuts off the next row of a lattice, if any."""
        height, width = self.work.shape[:2]
        middle = (low + high) / 2
        for axis, last, step in ((0, low, -1), (0, high, 1), (1, low, -1), (1, high, 1)):
            end = middle.astype(np.float64)
            end[axis] = last[axis] + 1.4 * step
            x, y = project(homography, end)
            room = {"left": x, "right": width - 1 - x, "top": y, "bottom": height - 1 - y}
            side = min(room, key=lambda one: room[one])
            if room[side] < 0:
                return side
        return ""

    @cached_property
    def _stickers(self) -> Bools:
        assert self.place is not None
        return sticker_cells(self.work, self.place)

    @property
    def sticker_share(self) -> float:
        """A mark for the share of cells that look like stickers: 0 clutter, 1 a face."""
        return _ramp(float(self._stickers.mean()), 0.26, 0.6)

    def cells(self, where: Bools) -> Floats:
        """Return the share of each cell of the face, float[N, N]."""
        return np.asarray(self._straighten(where).mean(axis=(2, 3)))

    def _straighten(self, where: Bools) -> Floats:
        """Return the cells of the face seen straight on, float[N, N, 12, 12]."""
        assert self.place is not None
        n, cell = self.place.size, 12
        to_face = np.array([[1 / cell, 0, 0.5 / cell], [0, 1 / cell, 0.5 / cell], [0, 0, 1.0]])
        flags = cv2.INTER_NEAREST | cv2.WARP_INVERSE_MAP
        extent = (n * cell, n * cell)
        flat = cv2.warpPerspective(
            where.astype(np.float32), self.place.homography @ to_face, extent, flags=flags
        )
        return np.asarray(flat.reshape(n, cell, n, cell).transpose(0, 2, 1, 3), dtype=np.float64)


def _slopes(grey: MatLike) -> NDArray[np.float32]:
    across, down = (cv2.Sobel(grey, cv2.CV_32F, i, 1 - i, scale=0.125) for i in (1, 0))
    return np.asarray(cv2.magnitude(across, down), dtype=np.float32)


def _ramp(value: float, none: float, certain: float) -> float:
    return float(np.clip((value - none) / (certain - none), 0.0, 1.0))


def _odds(signs: _Signs, search: SearchResult, good: Sequence[_Signs]) -> dict[ViewTrouble, float]:
    """Return log odds for each cause against a picture without its sign."""
    placed = signs.place is not None
    usual_white = min(_median([one.share(one.white, placed) for one in good]), _EXCUSED[0])
    if placed:
        skin = signs.skin_share - min(_median([one.skin_share for one in good]), _EXCUSED[1])
    else:
        skin = signs.share(signs.skin) - _median([float(one.skin.mean()) for one in good])
    white, full = signs.share(signs.white), min(signs.share(signs.full), float(signs.full.mean()))
    # If anything is bright, a dark object, such as a wall, is the cause, not the light.
    dark = _ramp(signs.level, 60, 36) * (1 - _ramp(signs.brightest, 100, 160))
    bright = max(_ramp(full, 0.3, 0.5), _ramp(white, 0.7, 0.85))
    blurred = _ramp(signs.sharpness, 1.4, 1.2) * (1 - dark) * (not signs.is_flat)
    certain, skinny = (0.12, (0.06, 0.25)) if placed else (0.05, (0.04, 0.15))
    shining = _ramp(white - usual_white, certain / 6, certain) * (1 - bright)
    if placed:
        # A bright white sticker ends at its border; a reflection does not.
        on_borders = signs.white_borders - _median([one.white_borders for one in good])
        shining *= 0.5 + 0.5 * _ramp(on_borders, 0.01, 0.06)
    covered = _ramp(skin, *skinny)
    # A hand does not fill the space around the face, and it has an outline.
    beside = signs.share_beside
    beside -= _median([one.share_beside for one in good]) if placed else 0.0
    covered *= (1 - _ramp(beside, 0.45, 0.75)) * _ramp(signs.outlined_skin, 0.2, 0.5)
    patches, columns, rows, side = signs.rows
    like_stickers = signs.sticker_share if placed else _ramp(patches, 2, 5)
    short, long = sorted((columns, rows))
    other = _other_size(search)
    in_rows = side and short < long <= 7 and 1.4 * patches >= short * long
    is_cut = search.grid is None and bool(in_rows or signs.side_of_pairs)
    if placed and like_stickers > 0.5:
        is_cut = False  # Most of the face is at its position in the other pictures.
    hidden = max(dark, bright, blurred, shining)
    another = 0.0 if other is None else 8 * _ramp(other.fit, 0.3, 0.6) - _MIXED * bool(good)
    return {
        ViewTrouble.TOO_DARK: 9 * dark,
        ViewTrouble.TOO_BRIGHT: 9 * bright,
        ViewTrouble.BLURRED: 9 * blurred,
        ViewTrouble.REFLECTION: 8 * shining,
        ViewTrouble.COVERED: 7 * covered * (1 - max(dark, bright, blurred)),
        # A fixed camera shows the whole face at its position in the other pictures.
        ViewTrouble.CUT_OFF: (3.0 if placed else 6.0) * is_cut * (1 - hidden),
        ViewTrouble.WRONG_SIZE: another,
        ViewTrouble.NO_CUBE: 4 * (1 - like_stickers) * (1 - hidden),
        ViewTrouble.TWO_CUBES: 0.0,
    }


def _median(values: Sequence[float]) -> float:
    return float(np.median(values)) if values else 0.0


def _other_size(search: SearchResult) -> FaceGrid | None:
    """Return the likeliest grid of another size, if it fits better than any of the cube's."""
    own = max((grid.fit for grid in search.found if grid.size == search.size), default=0.0)
    others = [grid for grid in search.found if grid.size != search.size and grid.fit > own + 0.15]
    return max(others, key=lambda grid: grid.fit, default=None)


def _describe(
    cause: ViewTrouble, signs: _Signs, search: SearchResult, *, is_alone: bool
) -> tuple[Reason, tuple[int, ...]]:
    """Return the trouble in a picture with its position, and the numbers of the hidden stickers."""
    if cause is ViewTrouble.NO_CUBE:
        return Reason.of("seen-no-cube-alone" if is_alone else "seen-no-cube"), ()
    if cause is ViewTrouble.WRONG_SIZE:
        other = _other_size(search)
        assert other is not None
        code = "seen-other-size-alone" if is_alone else "seen-other-size"
        return Reason.of(code, seen=other.size, size=search.size), ()
    if cause is ViewTrouble.CUT_OFF:
        return Reason.of(f"seen-cut-{signs.side_of_pairs or signs.rows[3]}"), ()
    if cause in (ViewTrouble.TOO_DARK, ViewTrouble.BLURRED):
        return Reason.of("seen-dark" if cause is ViewTrouble.TOO_DARK else "seen-blur"), ()
    where = signs.skin if cause is ViewTrouble.COVERED else signs.white | signs.full
    code = {
        ViewTrouble.COVERED: "seen-cover",
        ViewTrouble.TOO_BRIGHT: "seen-bright",
        ViewTrouble.REFLECTION: "seen-reflection",
    }[cause]
    if signs.place is not None:
        hidden = signs.cells(where) >= _SHOWN
        if hidden.any():
            rows, columns = (_numbers(np.flatnonzero(hidden.any(axis=i))) for i in (1, 0))
            stickers = tuple(int(i) + 1 for i in np.flatnonzero(hidden))
            return Reason.of(f"{code}-at", rows=rows, columns=columns), stickers
    down, across = np.nonzero(where)
    height, width = where.shape
    x, y = (round(100 * float(np.mean(v)) / n) for v, n in ((across, width), (down, height)))
    return Reason.of(code, x=x, y=y), ()


def _numbers(chosen: Ints) -> str:
    """Format indices as numbers from 1: ``1-2``, ``1, 3``."""
    found = (chosen + 1).tolist()
    if len(found) > 1 and found[-1] - found[0] == len(found) - 1:
        return f"{found[0]}-{found[-1]}"
    return ", ".join(map(str, found))
