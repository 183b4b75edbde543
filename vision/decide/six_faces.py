"""Choosing among the places where six photographs may show their faces: the cube decides."""

from __future__ import annotations

from collections.abc import Iterator

from vision.decide.reader import CubeReading, Unreadable, read_cube
from vision.locate.six_faces import CubeScan
from vision.measure.sticker_colours import StickerColours


def choose_places(scan: CubeScan) -> CubeScan:
    """Return the scan at those places of the faces that make a sure cube.

    If the likeliest places make none, one face after the other is measured at its other places. A
    grid that is a row off shows no legal cube, so a sure one names the right place. Without one,
    or if two places make different cubes, the scan is returned as it is.
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
            # Pictures that would have to be turned or exchanged as well are no evidence.
            if reading is not None and not reading.corrections:
                yield reading, changed


def _read_surely(colours: StickerColours) -> CubeReading | None:
    try:
        reading = read_cube(colours)
    except Unreadable:
        return None
    return reading if reading.confident else None
