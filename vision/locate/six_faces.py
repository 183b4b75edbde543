"""Scanning a whole cube in photographs: one size for all six faces, then the colours."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from vision.cameras.photographs import MAX_SIDE, face_files, load_photo
from vision.frame import Floats, Frame, Image
from vision.locate.face import SIZES, FaceGrid, NoFace, confirm_grid, locate_grids
from vision.locate.view_check import OddView, face_in_view
from vision.measure.sticker_colours import FACES, StickerColours
from vision.measure.stickers import measure_face

_STEADY = 0.4
"""Pitches by which the corners of a face move between the pictures of a fixed camera, at most."""

_WITNESSES = 3
"""Other pictures that are needed to say where the face is."""

_POOR = 0.5
"""Median fit of six faces below which each picture is checked for what else it shows."""

_MISSED = 0.05
"""What a face counts, and fits, on which no grid of the size was found."""


@dataclass(frozen=True, eq=False)
class CubeScan:
    """Six photographs, the grid found in each, and the colours measured, by face letter.

    ``doubt``: the problem with a picture in which the face was only assumed where the others have
    it. Unless the cube is then read surely, report that to the person.
    """

    frames: Mapping[str, Frame]
    grids: Mapping[str, FaceGrid]
    colours: StickerColours
    doubt: OddView | None = None


def scan_folder(folder: Path, size: int | None = None, *, may_doubt: bool = False) -> CubeScan:
    """Locate and measure the photographs ``U.*`` .. ``B.*`` of a folder.

    ``may_doubt`` as in :func:`scan_frames`. Raises
    :class:`solver.files.BadFile` and :class:`vision.locate.face.NoFace`.
    """
    files = face_files(folder)
    frames = {f: Frame(load_photo(path), path.name, 0) for f, path in files.items()}
    try:
        return scan_frames(frames, size, may_doubt=may_doubt)
    except NoFace:  # too far away for what pictures are usually shrunk to
        whole = {f: Frame(load_photo(path, MAX_SIDE), path.name, 0) for f, path in files.items()}
        if all(whole[f].image.shape == frames[f].image.shape for f in files):
            raise
    return scan_frames(whole, size, may_doubt=may_doubt)


def scan_frames(
    frames: Mapping[str, Frame], size: int | None = None, *, may_doubt: bool = False
) -> CubeScan:
    """Locate and measure one frame per face letter; raises :class:`vision.locate.face.NoFace`.

    ``may_doubt``: one picture in which nothing like a face shows is measured where the five others
    have it, if they were taken by one camera in one place.
    """
    sizes = SIZES if size is None else (size,)
    pictures = {f: frames[f].image for f in FACES}
    grids, doubt = locate_cube(pictures, sizes, may_doubt=may_doubt)
    looks = {f: measure_face(frames[f], grids[f].quads, fit=grids[f].fit) for f in FACES}
    return CubeScan(frames, grids, StickerColours.from_faces(looks), doubt)


def locate_cube(
    pictures: Mapping[str, Image], sizes: Collection[int] = SIZES, *, may_doubt: bool = False
) -> tuple[dict[str, FaceGrid], OddView | None]:
    """One grid per picture, all of the size that explains the pictures best together, and the
    doubt as in :class:`CubeScan`.

    ``may_doubt`` as in :func:`scan_frames`. Raises :class:`vision.locate.face.NoFace` naming the
    pictures without a face of that size, as :class:`vision.locate.view_check.OddView` if it is
    known what they show instead.
    """
    grids, size = _find(pictures, sizes)
    missing = [name for name in pictures if name not in grids]
    doubt = None
    for name in missing:
        seen = [g for n, g in grids.items() if pictures[n].shape == pictures[name].shape]
        place = _steady_place(seen)
        try:
            face = _check_view(name, pictures[name], size, place)
        except OddView as odd:
            if not may_doubt or place is None or len(grids) < len(pictures) - 1:
                raise
            face, doubt = place, odd
        grids |= {name: face} if place is not None else {}
    if len(grids) < len(pictures):
        raise NoFace(_complaint([name for name in missing if name not in grids], size))
    if not missing and _is_doubtful(grids):
        for name, image in pictures.items():
            _check_view(name, image, size)
    return grids, doubt


def _find(pictures: Mapping[str, Image], sizes: Collection[int]) -> tuple[dict[str, FaceGrid], int]:
    """Grids by name of those pictures in which one was found, all of the likeliest size."""
    found = {name: locate_grids(image, sizes) for name, image in pictures.items()}
    size = max(sizes, key=lambda n: (_joint_fit(found, n), -n))
    alike = {name: [g for g in grids if g.size == size] for name, grids in found.items()}
    grids = {name: candidates[0] for name, candidates in alike.items() if candidates}
    for name, image in pictures.items():
        hints = [g for n, g in grids.items() if n != name and pictures[n].shape == image.shape]
        if name not in grids or _is_odd(grids[name], hints):
            better = _confirm(image, hints, alike[name])
            grids |= {name: better} if better is not None else {}
    return grids, size


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
        text = f"picture {name}: {odd}"
        raise OddView(odd.trouble, text, odd.stickers, odd.size) from odd


def _is_odd(grid: FaceGrid, others: Sequence[FaceGrid]) -> bool:
    """True if all other pictures of one camera have the face in one place, and this has not."""
    usual = _steady_place(others)
    return usual is not None and _shift(grid, usual.corners) > _STEADY


def _confirm(
    image: Image, hints: Sequence[FaceGrid], candidates: Sequence[FaceGrid]
) -> FaceGrid | None:
    """The face where other pictures have it: most cameras stand still between pictures."""
    grids = [grid for hint in hints if (grid := confirm_grid(image, hint)) is not None]
    steady = [grid for grid in (*grids, *candidates) if not _is_odd(grid, hints)]
    return max(steady, key=lambda grid: grid.fit, default=None)


def _joint_fit(found: Mapping[str, Sequence[FaceGrid]], size: int) -> float:
    """Logarithm of how well a size explains all pictures."""
    fits = [
        max((grid.fit for grid in grids if grid.size == size), default=_MISSED)
        for grids in found.values()
    ]
    return float(np.log(fits).sum())


def _complaint(missing: Sequence[str], size: int) -> str:
    names = ", ".join(missing)
    return (
        f"picture {names}: no face of a {size}x{size}x{size} found as in the others; "
        "show the whole face, in focus and evenly lit"
    )
