"""The real scans and photographs beside the checkout, measured, with the cubes they show."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from altered_scans import same_facelets

from vision.decide.reader import Unreadable, read_cube
from vision.locate.six_faces import look_at_folder
from vision.measure.sticker_colours import StickerColours

SHARED = Path(__file__).parents[2].parent / "shared" / "data"
FOLDERS = tuple(SHARED / name for name in ("vision", "vision_more") if (SHARED / name).is_dir())


@dataclass(frozen=True, eq=False)
class RealSet:
    """``truth`` in the letters a reader should say; ``corrupt`` scans show no cube as they are."""

    name: str
    size: int
    truth: str
    colours: StickerColours
    corrupt: bool = False


def scans(*sizes: int) -> Iterator[RealSet]:
    """Scans of colours whose cube is known."""
    for folder in FOLDERS:
        for size in sizes:
            for path in sorted((folder / "colors" / f"{size}x{size}x{size}").glob("*.json")):
                known = json.loads(path.read_text())
                colours = StickerColours.from_srgb(size, known["rgb"])
                truth = _truth(known) or known["true_state"]
                corrupt = bool(known.get("corrupt"))
                yield RealSet(f"{folder.name}/{path.stem}", size, truth, colours, corrupt)


@cache
def photo_sets(*sizes: int) -> tuple[RealSet, ...]:
    """Sets of six photographs, located and measured."""
    found = []
    for folder in FOLDERS:
        for path in sorted(folder.glob("images/*/expected.json")):
            known = json.loads(path.read_text())
            if known["size"] in sizes:
                colours = look_at_folder(path.parent).colours
                name = f"{folder.name}/{path.parent.name}"
                found.append(RealSet(name, known["size"], _truth(known), colours))
    return tuple(found)


def reading_of(real: RealSet) -> str:
    """What a reader makes of a set as it is."""
    try:
        reading = read_cube(real.colours)
    except Unreadable:
        return "refused"
    if not same_facelets(reading, real.truth):
        return "wrong" if reading.confident else "unsure of another"
    return "right" if reading.confident else "unsure"


def known_sets(size: int) -> list[RealSet]:
    """Scans and photographs whose cube is certain: of larger cubes no one knows the state for
    certain where it was not read right.
    """
    sets = [*scans(size), *photo_sets(size)]
    return [real for real in sets if size < 4 or reading_of(real) == "right"]


def _truth(known: dict[str, str]) -> str:
    return known.get("expected_dbl_normalised") or known["expected"]
