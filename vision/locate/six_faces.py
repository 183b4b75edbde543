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
"""Pitches by which the corners of a face move between the pictures of a fixed camera, at most."""

_WITNESSES = 3
"""Other pictures that are needed to say where the face is."""

_POOR = 0.5
"""Median fit of six faces below which each picture is checked for what else it shows."""

_MISSED = 0.05
"""What a face counts, and fits, on which no grid of the size was found."""

_ELSEWHERE = 0.4
"""Pitches from which on two grids show other stickers."""

_AS_GOOD = 0.4
"""Share of a grid's fit that one where the other pictures have the face needs to replace it."""

_OTHERS = 3
"""Other places of a face, at most, that are worth a reading."""

_Candidates = Mapping[str, Sequence[FaceGrid]]


@dataclass(frozen=True, eq=False)
class LocatedCube:
    """One grid per picture, all of one size.

    ``others`` are places at which the picture may show the face instead, likeliest first.
    ``doubt``: the problem with pictures in which the face hardly shows, or was only assumed where
    the others have it. Unless the cube is then read surely, report that to the person.
    ``searches``: what was found in each picture.
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
        """Return the scan with a face measured at another place of its picture."""
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
    if not _are_near(frames, found):  # too far away for what pictures are usually shrunk to
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
    """Locate and measure one frame per face letter; raises :class:`vision.locate.face.NoFace`.

    ``may_doubt``: pictures in which hardly a face shows are measured at its likeliest place, and
    one without any where the five others have it, if they were taken by one camera in one place.
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
    """Candidates of every size in every picture, likeliest first. Only if the cube seems to be far
    away small faces are looked for.
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
    """Return the searches with faces of all sizes in their pictures, as a cube of another size than
    was asked for shows them.
    """
    found = _find_all({name: own.image for name, own in searches.items()}, SIZES)
    return {name: replace(own, found=found[name]) for name, own in searches.items()}


def _are_near(frames: Mapping[str, Frame], found: _Candidates) -> bool:
    """True if most faces are so large in their pictures that more pixels show nothing new."""
    large = [grids and not is_far(frames[f].image, grids[0]) for f, grids in found.items()]
    return 2 * sum(map(bool, large)) >= len(found)


def _locate(
    pictures: Mapping[str, Image], found: _Candidates, sizes: Collection[int], may_doubt: bool
) -> LocatedCube:
    """Locate one face per picture, all of the size that explains the pictures best together.

    ``may_doubt`` as in :func:`scan_frames`. Raises :class:`vision.locate.face.NoFace` naming the
    pictures without a face of that size, as :class:`vision.locate.view_check.OddView` if it is
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
    """Return a place of the face in every picture, and the problem with one of them, if any.

    ``chosen``: the likeliest grids, poor ones included. Raises as :func:`_locate`.
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
    """True if a grid, however little shows of it, is where the other pictures have the face."""
    return grid is not None and place is not None and _shift(grid, place.corners) < _STEADY


def _join_doubts(doubts: Sequence[OddView]) -> OddView | None:
    """Return the first of the problems, with the faces of all pictures that have one."""
    if len(doubts) < 2:
        return doubts[0] if doubts else None
    first, faces = doubts[0], "".join(odd.faces for odd in doubts)
    return OddView(first.trouble, first.cause, first.stickers, first.size, faces, first.where)


def others_place(searches: Mapping[str, SearchResult], name: str) -> FaceGrid | None:
    """Return the place where the other pictures of the same shape have the face, if they agree."""
    shape = searches[name].image.shape
    return _steady_place(
        [
            own.grid
            for other, own in searches.items()
            if other != name and own.grid is not None and own.image.shape == shape
        ]
    )


def _choose(pictures: Mapping[str, Image], alike: _Candidates) -> dict[str, FaceGrid]:
    """The likeliest grid of each picture that has one; where other pictures have the face, if that
    is known.
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
    """The likeliest of the candidates that show other stickers than a grid and each other."""
    places = [grid]
    for other in candidates:
        if all(_shift(one, other.corners) > _ELSEWHERE for one in places):
            places.append(other)
    return places[1 : 1 + _OTHERS]


def _steady_place(others: Sequence[FaceGrid]) -> FaceGrid | None:
    """Return the place where all pictures of one camera, or all but one, have the face.

    None for fewer than three pictures, and if they differ.

    Of a cube seen from aside one may show another face as clearly.
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
    """The distance of a face from its usual corners, in pitches."""
    return float(np.abs(grid.corners - usual).max()) / grid.pitch


def _is_doubtful(grids: Mapping[str, FaceGrid]) -> bool:
    """True if most faces fit so badly that another cube may be there than the one looked for."""
    return float(np.median([grid.fit for grid in grids.values()])) < _POOR


def _check_view(name: str, image: Image, size: int, place: FaceGrid | None = None) -> FaceGrid:
    """Return the face in a picture; raises :class:`OddView` that names the picture."""
    try:
        return face_in_view(image, size, place)
    except OddView as odd:
        text = Reason.name_pictures(name, odd.cause)
        raise OddView(odd.trouble, text, odd.stickers, odd.size, faces=name) from odd


def _is_odd(grid: FaceGrid, others: Sequence[FaceGrid]) -> bool:
    """True if all other pictures of one camera have the face in one place, and this has not."""
    usual = _steady_place(others)
    return usual is not None and _shift(grid, usual.corners) > _STEADY


def _confirm(
    image: Image, hints: Sequence[FaceGrid], candidates: Sequence[FaceGrid]
) -> FaceGrid | None:
    """The face where other pictures have it: most cameras stand still between pictures."""
    search = HintedSearch(image)
    grids = [grid for hint in hints if (grid := search.near(hint)) is not None]
    steady = [grid for grid in (*grids, *candidates) if not _is_odd(grid, hints)]
    return max(steady, key=lambda grid: grid.fit, default=None)


def _joint_fit(found: Mapping[str, Sequence[FaceGrid]], size: int) -> float:
    """Logarithm of how well a size explains all pictures."""
    fits = [
        max((grid.fit for grid in grids if grid.size == size), default=_MISSED)
        for grids in found.values()
    ]
    return float(np.log(fits).sum())


def describe_missing(missing: Sequence[str], size: int) -> str:
    """Say in which pictures no face was found."""
    names = ", ".join(missing)
    return (
        f"picture {names}: no face of a {size}x{size}x{size} found as in the others; "
        "show the whole face, in focus and evenly lit"
    )
