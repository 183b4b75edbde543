"""Scans with their pictures turned, exchanged or mirrored, as people and cameras mix them up."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations

import numpy as np

from solver.cube.cube import from_facelets
from solver.errors import CubistError
from vision.decide.arrangements import Explanation
from vision.decide.reader import CubeReading, Unreadable, read_cube
from vision.decide.schemes import rotations
from vision.measure.sticker_colours import FACES, FaceColours, StickerColours

PLAIN = (0, 1, 2, 3, 4, 5)
STRAIGHT = (0, 0, 0, 0, 0, 0)


def with_look(colours: StickerColours, letter: str, look: FaceColours) -> StickerColours:
    """The same cube with a newer look at one face."""
    return StickerColours.of_faces({face: colours.face(face) for face in FACES} | {letter: look})


def altered(colours: StickerColours, mistake: Explanation) -> StickerColours:
    """The scan that ``mistake`` would put right."""
    back = np.argsort(mistake.stickers(colours.size))
    faces = {}
    for face in FACES:
        of_face = back[colours.face_slice(face)]
        look = colours.face(FACES[of_face[0] // colours.size**2])
        cells = of_face % colours.size**2
        faces[face] = replace(
            look,
            linear_rgb=look.linear_rgb[cells],
            spread=look.spread[cells],
            saturated=look.saturated[cells],
            valid=look.valid[cells],
            positions=None if look.positions is None else look.positions[cells],
        )
    return StickerColours.of_faces(faces)


def turned(face: str, quarters: int) -> Explanation:
    return Explanation(PLAIN, tuple(quarters * (letter == face) for letter in FACES))


def moved(places: dict[int, int]) -> Explanation:
    return Explanation(tuple(places.get(i, i) for i in PLAIN), STRAIGHT)


MIRRORED = Explanation(PLAIN, STRAIGHT, True)


def mistakes() -> Iterator[Explanation]:
    """18 turned pictures, 15 swaps, the mirror, all turned alike, and 40 cycles of three."""
    yield from (turned(face, quarters) for face in FACES for quarters in (1, 2, 3))
    yield from (moved({a: b, b: a}) for a, b in combinations(PLAIN, 2))
    yield MIRRORED
    yield from (Explanation(PLAIN, (quarters,) * 6) for quarters in (1, 2, 3))
    for a, b, c in combinations(PLAIN, 3):
        yield from (moved({a: b, b: c, c: a}), moved({a: c, c: b, b: a}))


def outcome(colours: StickerColours, truth: str, mistake: Explanation) -> str:
    """What a reader makes of an altered scan: ``right``, ``unsure``, ``refused``, ``as scanned``
    where the pictures as they are make another cube without fault, or ``wrong``.
    """
    try:
        reading = read_cube(altered(colours, mistake))
    except Unreadable:
        return "refused"
    if not reading.confident:
        return "unsure"
    if same_facelets(reading, truth):
        return "right"
    return "as scanned" if _faultless(reading, truth, mistake) else "wrong"


def same_facelets(reading: CubeReading, truth: str) -> bool:
    """Whether a reading is right; 4x4x4 and 6x6x6 may be held otherwise."""
    if reading.size % 2 or reading.size == 2:
        return reading.facelets == truth
    held = [str.maketrans(FACES, "".join(FACES[i] for i in way)) for way in rotations()]
    return any(reading.facelets.translate(way) == truth for way in held)


OTHER_SCHEME = str.maketrans("DB", "BD")
"""Between the usual colour scheme and the Japanese one: yellow and blue change places."""


def _faultless(reading: CubeReading, truth: str, mistake: Explanation) -> bool:
    """Whether the altered pictures are those of another cube in the same colours, in one of the two
    schemes that are sold: then nothing in them tells that anything happened, and they must have
    been read as they are.
    """
    size = reading.size
    if (mistake.source != PLAIN and size % 2) or reading.corrections or size == 2:
        return False
    scanned = "".join(truth[i] for i in np.argsort(mistake.stickers(size)))
    schemes = (scanned,) if size % 2 else (scanned, scanned.translate(OTHER_SCHEME))
    return any(_is_cube(shown, size) and same_facelets(reading, shown) for shown in schemes)


def _is_cube(facelets: str, size: int) -> bool:
    try:
        from_facelets(facelets, size)
    except CubistError:
        return False
    return True
