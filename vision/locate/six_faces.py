"""Scanning a whole cube in photographs: one size for all six faces, then the colours."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from vision.cameras.photographs import MAX_SIDE, face_files, load_photo
from vision.frame import Floats, Frame, Image
from vision.locate.face import (
    SIZES,
    WORST,
    FaceGrid,
    HintedSearch,
    NoFace,
    SearchResult,
    holds,
    is_far,
    locate_candidates,
    locate_far,
)
from vision.locate.view_check import OddView, face_in_view
from vision.measure.sticker_colours import FACES, StickerColours
from vision.measure.stickers import measure_face
from vision.reasons import Reason

_STEADY = 0.4
"""Maximum movement of a face's corners between pictures of a fixed camera, in pitches."""

_WITNESSES = 3
"""Minimum number of other pictures that determine the position of the face."""

_POOR = 0.5
"""Median fit of six faces below which each picture is checked for an obstacle or another cube."""

_MISSED = 0.05
"""Fit assumed for a face if no grid of the size was found."""

_ELSEWHERE = 0.4
"""Distance in pitches above which two grids show different stickers."""

_AS_GOOD = 0.4
"""Minimum ratio of fits for a grid at the position of the face in other pictures to replace a
grid elsewhere."""

_OTHERS = 3
"""Maximum number of other positions of a face to read."""

_Candidates = Mapping[str, Sequence[FaceGrid]]


@dataclass(frozen=True, eq=False)
class LocatedCube:
    """One grid per picture, all of one size.

    ``others`` are other possible positions of the face in each picture, likeliest first.
    ``doubt``: the problem with pictures in which the face hardly shows, or was only assumed at its
    position in the others. Report it to the person unless the cube is read with certainty.
    ``searches``: the results of the search in each picture.
    """

    grids: Mapping[str, FaceGrid]
    others: _Candidates
    searches: Mapping[str, SearchResult]
    doubt: OddView | None = None


@dataclass(frozen=True, eq=False)
class CubeScan:
    """Six photographs, the grid found in each, and the colours measured, by face letter.

    ``others``, ``doubt`` and ``searches`` as in :class:`LocatedCube`.
    """

    frames: Mapping[str, Frame]
    grids: Mapping[str, FaceGrid]
    colours: StickerColours
    doubt: OddView | None = None
    others: _Candidates = field(default_factory=dict)
    searches: Mapping[str, SearchResult] = field(default_factory=dict)

    def replace_grid(self, face: str, grid: FaceGrid) -> CubeScan:
        """Return the scan with a face measured at another position in its picture."""
        grids = {**self.grids, face: grid}
        return replace(self, grids=grids, colours=_measure(self.frames, grids))


def scan_folder(folder: Path, size: int | None = None, *, may_doubt: bool = False) -> CubeScan:
    """Locate and measure the photographs ``U.*`` .. ``B.*`` of a folder.

    ``may_doubt`` as in :func:`scan_frames`. Raises
    :class:`solver.files.BadFile` and :class:`vision.locate.face.NoFace`.
    """
    files = face_files(folder)
    frames = {f: Frame(load_photo(path), path.name, 0) for f, path in files.items()}
    sizes = SIZES if size is None else (size,)
    found = _find_all(_pictures(frames), sizes)
    if not _are_near(frames, found):  # too far away for the size to which pictures are shrunk
        whole = {f: Frame(load_photo(path, MAX_SIDE), path.name, 0) for f, path in files.items()}
        if any(whole[f].image.shape != frames[f].image.shape for f in files):
            try:
                return _scan(frames, found, sizes, may_doubt)
            except NoFace:
                return scan_frames(whole, size, may_doubt=may_doubt)
    return _scan(frames, found, sizes, may_doubt)


def scan_frames(
    frames: Mapping[str, Frame], size: int | None = None, *, may_doubt: bool = False
) -> CubeScan:
    """Locate and measure one frame per face letter. Raise :class:`vision.locate.face.NoFace`.

    ``may_doubt``: measure a picture in which the face hardly shows at its likeliest position. If
    the picture has no face, use the position in the five others, provided that one camera took them
    all from one position.
    """
    sizes = SIZES if size is None else (size,)
    return _scan(frames, _find_all(_pictures(frames), sizes), sizes, may_doubt)


def _pictures(frames: Mapping[str, Frame]) -> dict[str, Image]:
    return {f: frames[f].image for f in FACES}


def _scan(
    frames: Mapping[str, Frame], found: _Candidates, sizes: Collection[int], may_doubt: bool
) -> CubeScan:
    cube = _locate(_pictures(frames), found, sizes, may_doubt)
    colours = _measure(frames, cube.grids)
    return CubeScan(frames, cube.grids, colours, cube.doubt, cube.others, cube.searches)


def _measure(frames: Mapping[str, Frame], grids: Mapping[str, FaceGrid]) -> StickerColours:
    looks = {f: measure_face(frames[f], grids[f].quads, fit=grids[f].fit) for f in FACES}
    return StickerColours.from_faces(looks)


def _find_all(pictures: Mapping[str, Image], sizes: Collection[int]) -> dict[str, list[FaceGrid]]:
    """Return candidates of every size in every picture, likeliest first. Search for small faces
    only if the cube seems to be far away.
    """
    found = {name: locate_candidates(image, sizes) for name, image in pictures.items()}
    seen = [(pictures[name], grids[0]) for name, grids in found.items() if holds(grids)]
    if 2 * sum(not is_far(image, grid) for image, grid in seen) < len(pictures):
        for name, image in pictures.items():
            if not holds(found[name]):
                grids = found[name] + locate_far(image, sizes)
                found[name] = sorted(grids, key=lambda grid: -grid.fit)
    return found


def search_every_size(searches: Mapping[str, SearchResult]) -> dict[str, SearchResult]:
    """Return the searches with candidates of all sizes, in case the cube has another size than
    requested.
    """
    found = _find_all({name: own.image for name, own in searches.items()}, SIZES)
    return {name: replace(own, found=found[name]) for name, own in searches.items()}


def _are_near(frames: Mapping[str, Frame], found: _Candidates) -> bool:
    """Return True if most faces are so large in their pictures that more pixels would not help."""
    large = [grids and not is_far(frames[f].image, grids[0]) for f, grids in found.items()]
    return 2 * sum(map(bool, large)) >= len(found)


def _locate(
    pictures: Mapping[str, Image], found: _Candidates, sizes: Collection[int], may_doubt: bool
) -> LocatedCube:
    """Locate one face per picture, all of the size that explains the pictures best together.

    ``may_doubt`` as in :func:`scan_frames`. Raises :class:`vision.locate.face.NoFace` naming the
    pictures without a face of that size, or :class:`vision.locate.view_check.OddView` if it is
    known what they show instead.
    """
    size = max(sizes, key=lambda n: (_joint_fit(found, n), -n))
    alike = {name: [g for g in grids if g.size == size] for name, grids in found.items()}
    chosen = _choose(pictures, alike)
    grids = {name: grid for name, grid in chosen.items() if grid.fit >= WORST}
    searches = {
        name: SearchResult(image, size, grids.get(name), own)
        for (name, image), own in zip(pictures.items(), found.values(), strict=True)
    }
    try:
        places, doubt = _complete(searches, chosen, may_doubt)
    except NoFace as error:
        error.searches = searches
        raise
    others = {name: _elsewhere(places[name], candidates) for name, candidates in alike.items()}
    return LocatedCube(places, others, searches, doubt)


def _complete(
    searches: Mapping[str, SearchResult], chosen: Mapping[str, FaceGrid], may_doubt: bool
) -> tuple[dict[str, FaceGrid], OddView | None]:
    """Return the position of the face in every picture, and the problem with one of them, if any.

    ``chosen``: the likeliest grids, including poor ones. Raises as :func:`_locate`.
    """
    grids = {name: own.grid for name, own in searches.items() if own.grid is not None}
    missing = [name for name in searches if name not in grids]
    size = next(iter(searches.values())).size
    expected = {name: others_place(searches, name) for name in missing}
    unseen = [name for name in missing if not _is_at(chosen.get(name), expected[name])]
    doubts: list[OddView] = []
    for name, place in expected.items():
        try:
            face: FaceGrid | None = _check_view(name, searches[name].image, size, place)
        except OddView as odd:
            face = chosen.get(name, place)
            if not may_doubt or face is None or len(unseen) > 1:
                raise
            doubts.append(odd)
        if place is not None or name in chosen:
            grids |= {name: face} if face is not None else {}
    if len(grids) < len(searches):
        raise NoFace(describe_missing([name for name in missing if name not in grids], size))
    if not missing and _is_doubtful(grids):
        for name, search in searches.items():
            try:
                _check_view(name, search.image, size)
            except OddView as odd:
                if not may_doubt:
                    raise
                doubts = doubts or [odd]
    return grids, _join_doubts(doubts)


def _is_at(grid: FaceGrid | None, place: FaceGrid | None) -> bool:
    """Return True if a grid, however poor, is at the position of the face in the others."""
    return grid is not None and place is not None and _shift(grid, place.corners) < _STEADY


def _join_doubts(doubts: Sequence[OddView]) -> OddView | None:
    """Return the first problem, with the faces of all pictures that have one."""
    if len(doubts) < 2:
        return doubts[0] if doubts else None
    first, faces = doubts[0], "".join(odd.faces for odd in doubts)
    return OddView(first.trouble, first.cause, first.stickers, first.size, faces, first.where)


def others_place(searches: Mapping[str, SearchResult], name: str) -> FaceGrid | None:
    """Return the position of the face in the other pictures of the same shape, if they agree."""
    shape = searches[name].image.shape
    return _steady_place(
        [
            own.grid
            for other, own in searches.items()
            if other != name and own.grid is not None and own.image.shape == shape
        ]
    )


def _choose(pictures: Mapping[str, Image], alike: _Candidates) -> dict[str, FaceGrid]:
    """Return the likeliest grid of each picture that has one, preferably at the position of the
    face in the other pictures.
    """
    grids = {name: candidates[0] for name, candidates in alike.items() if candidates}
    for name, image in pictures.items():
        hints = [
            g
            for n, g in grids.items()
            if n != name and pictures[n].shape == image.shape and g.fit >= WORST
        ]
        if name not in grids or _is_odd(grids[name], hints):
            better = _confirm(image, hints, alike[name])
            least = _AS_GOOD * grids[name].fit if name in grids else 0.0
            if better is not None and better.fit >= least:
                grids[name] = better
            elif name in grids and grids[name].fit < WORST:
                del grids[name]
    return grids


def _elsewhere(grid: FaceGrid, candidates: Sequence[FaceGrid]) -> list[FaceGrid]:
    """Return the likeliest candidates that show other stickers than ``grid`` and each other."""
    places = [grid]
    for other in candidates:
        if all(_shift(one, other.corners) > _ELSEWHERE for one in places):
            places.append(other)
    return places[1 : 1 + _OTHERS]


def _steady_place(others: Sequence[FaceGrid]) -> FaceGrid | None:
    """Return the position of the face in all pictures of one camera, or all but one.

    None for fewer than three pictures, or if they differ. One picture may differ: if the camera
    sees the cube at an angle, another face may show as clearly.
    """
    alike = max(
        ([other for other in others if _shift(other, one.corners) < _STEADY] for one in others),
        key=len,
        default=[],
    )
    if len(alike) < max(_WITNESSES, len(others) - 1):
        return None
    usual = np.median([other.corners for other in alike], axis=0)
    if max(_shift(other, usual) for other in alike) >= _STEADY:
        return None
    return FaceGrid.from_corners(usual, others[0].size, fit=_MISSED)


def _shift(grid: FaceGrid, usual: Floats) -> float:
    """Return the distance of a face from its usual corners, in pitches."""
    return float(np.abs(grid.corners - usual).max()) / grid.pitch


def _is_doubtful(grids: Mapping[str, FaceGrid]) -> bool:
    """Return True if most faces fit so badly that this may be another cube than expected."""
    return float(np.median([grid.fit for grid in grids.values()])) < _POOR


def _check_view(name: str, image: Image, size: int, place: FaceGrid | None = None) -> FaceGrid:
    """Return the face in a picture. Raise :class:`OddView` that names the picture."""
    try:
        return face_in_view(image, size, place)
    except OddView as odd:
        text = Reason.name_pictures(name, odd.cause)
        raise OddView(odd.trouble, text, odd.stickers, odd.size, faces=name) from odd


def _is_odd(grid: FaceGrid, others: Sequence[FaceGrid]) -> bool:
    """Return True if all other pictures of one camera agree on a position and ``grid`` differs."""
    usual = _steady_place(others)
    return usual is not None and _shift(grid, usual.corners) > _STEADY


def _confirm(
    image: Image, hints: Sequence[FaceGrid], candidates: Sequence[FaceGrid]
) -> FaceGrid | None:
    """Return the face at its position in other pictures: most cameras do not move between them."""
    search = HintedSearch(image)
    grids = [grid for hint in hints if (grid := search.near(hint)) is not None]
    steady = [grid for grid in (*grids, *candidates) if not _is_odd(grid, hints)]
    return max(steady, key=lambda grid: grid.fit, default=None)


def _joint_fit(found: Mapping[str, Sequence[FaceGrid]], size: int) -> float:
    """Return the logarithm of the product of the best fits of a size in all pictures."""
    fits = [
        max((grid.fit for grid in grids if grid.size == size), default=_MISSED)
        for grids in found.values()
    ]
    return float(np.log(fits).sum())


def describe_missing(missing: Sequence[str], size: int) -> str:
    """Return a message that names the pictures without a face."""
    names = ", ".join(missing)
    return (
        f"picture {names}: no face of a {size}x{size}x{size} found as in the others; "
        "show the whole face, in focus and evenly lit"
    )
