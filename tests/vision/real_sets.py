"""The real scans and photographs beside the checkout, measured, with the cubes they show."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

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


def _truth(known: dict[str, str]) -> str:
    return known.get("expected_dbl_normalised") or known["expected"]
