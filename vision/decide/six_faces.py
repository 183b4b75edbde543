"""Reading six photographs: the cube determines the positions of the faces in them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from vision.decide.causes import explain_reading, explain_search
from vision.decide.reader import CubeReading, Unreadable, read_cube
from vision.frame import Frame
from vision.locate.face import NoFace
from vision.locate.six_faces import CubeScan, scan_folder, scan_frames, search_every_size
from vision.measure.sticker_colours import FACES, StickerColours


def locate_cube(source: Path | Mapping[str, Frame], size: int | None = None) -> CubeScan:
    """Locate and measure the photographs of a folder, or one frame per face letter, at positions
    that make a cube.

    Raises :class:`solver.files.BadFile`, and :class:`vision.locate.face.NoFace` with the likeliest
    cause, judged by all pictures.
    """
    scan = scan_folder if isinstance(source, Path) else scan_frames
    try:
        return choose_places(scan(source, size, may_doubt=True))  # type: ignore[arg-type]
    except NoFace as error:
        if size is not None:
            error.searches = search_every_size(error.searches)
        raise explain_search(error) from error


def read_located(scan: CubeScan) -> CubeReading:
    """Return the cube in photographs.

    A picture that hardly shows its face is accepted if all six make a sure cube. Otherwise that
    picture is reported as the cause. Raises :class:`vision.locate.face.NoFace` and
    :class:`vision.decide.reader.Unreadable`.
    """
    try:
        reading = read_cube(scan.colours)
    except Unreadable as error:
        if scan.doubt is not None:
            raise _explain_doubt(scan, scan.doubt) from error
        found = explain_reading(error, scan.searches)
        if found is None:
            raise
        raise Unreadable(found.cause, error.doubtful, found.faces[0], flaw=found) from error
    if scan.doubt is not None and not (reading.confident and _agrees(scan, reading)):
        raise _explain_doubt(scan, scan.doubt)
    if reading.confident:
        return reading
    found = explain_reading(reading, scan.searches)
    return reading if found is None else replace(reading, reason=found.cause, flaw=found)


_OWN = 1.5
"""Minimum margin for the other faces alone to determine a cube."""


def _agrees(scan: CubeScan, reading: CubeReading) -> bool:
    """Return False if the pictures that do show their faces make another cube.

    Another object, measured as a face, may happen to fit a wrong cube.
    """
    assert scan.doubt is not None
    rest = {face: scan.colours.face(face) for face in FACES if face not in scan.doubt.faces}
    try:
        without = read_cube(StickerColours.from_faces(rest))
    except Unreadable:
        return True
    return without.facelets == reading.facelets or without.margin < _OWN


def _explain_doubt(scan: CubeScan, doubt: NoFace) -> NoFace:
    doubt.searches = scan.searches
    return explain_search(doubt)


def choose_places(scan: CubeScan) -> CubeScan:
    """Return the scan with its faces at positions that make a sure cube.

    If the likeliest positions make none, each face in turn is measured at its other positions. A
    grid that is a row off makes no legal cube, so a sure cube identifies the right position.
    Returns the scan unchanged if there is none, or if several positions make different cubes.
    """
    if not any(scan.others.values()) or _read_surely(scan.colours) is not None:
        return scan
    found = list(_sure_scans(scan))
    if len({reading.facelets for reading, _ in found}) != 1:
        return scan
    return max(found, key=lambda pair: pair[0].margin)[1]


def _sure_scans(scan: CubeScan) -> Iterator[tuple[CubeReading, CubeScan]]:
    for face, others in scan.others.items():
        for grid in others:
            changed = scan.replace_grid(face, grid)
            reading = _read_surely(changed.colours)
            # A cube that also needs turned or exchanged pictures is no evidence.
            if reading is not None and not reading.corrections:
                yield reading, changed


def _read_surely(colours: StickerColours) -> CubeReading | None:
    try:
        reading = read_cube(colours)
    except Unreadable:
        return None
    return reading if reading.confident else None
