"""Scans at the level of sticker colours: synthetic, altered, and the real ones beside the checkout.

A synthetic scan is the cube's reflectances times the light of its room, then the camera's exposure,
white balance, noise and clipping, face by face, in 8 bit sRGB like a file; all follows from a seed.
Altered scans have pictures turned, exchanged or mirrored, as people and cameras mix them up.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solver.cube.cube import Cube, from_facelets
from solver.cube.pocket import PocketCube
from solver.errors import CubistError
from tests.rig.pictures import Rng, temperature_rgb, to_linear
from tests.rig.scenes import SCHEMES, is_true, outcome_of, random_facelets
from vision.decide.arrangements import Explanation
from vision.decide.reader import CubeReading, read_cube
from vision.locate.face import FaceGrid
from vision.locate.six_faces import scan_folder
from vision.measure.sticker_colours import (
    FACES,
    FaceColours,
    StickerColours,
    linear_to_srgb,
    srgb_to_linear,
)

Linear = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SyntheticScan:
    """Measured colours, and the facelets that a reader should return."""

    colours: StickerColours
    facelets: str


@dataclass(frozen=True)
class Room:
    """Light and camera shared by all six faces of a scan."""

    cast: tuple[float, float, float]
    level: float
    jump: float
    slope: tuple[float, float]
    vignette: float
    reach: float
    shadow: float
    haze: float
    noise: float
    glare: float

    @classmethod
    def random(cls, rng: Rng, harsh: float) -> Room:
        """Return a random room; ``harsh`` multiplies the disturbances of a scan."""
        light = temperature_rgb(rng.uniform(2500, 8000))
        cast = light ** (1 - rng.uniform(0.45, 1.0))
        red, green, blue = (cast / cast.max()).tolist()
        return cls(
            cast=(red, green, blue),
            level=float(np.exp(rng.uniform(np.log(0.06), np.log(1.1)))),
            jump=(0.45 if rng.random() < 0.15 else 0.18) * harsh**0.5,
            slope=(float(rng.uniform(-0.35, 0.35)), float(rng.uniform(-0.35, 0.35))),
            vignette=float(rng.uniform(0, 0.5)),
            reach=float(rng.uniform(0.3, 0.75)),
            shadow=float(rng.uniform(0.35, 0.75)) if rng.random() < 0.25 else 1.0,
            haze=float(rng.uniform(0, 0.02)) * harsh,
            noise=float(rng.uniform(0.0003, 0.002)) * harsh,
            glare=float(rng.choice((0.0, 0.02, 0.05))) * harsh,
        )


def synthetic_scan(
    seed: int, size: int = 3, harsh: float = 1.0, exchanged: int = 0
) -> SyntheticScan:
    """Return the scan of a seed; ``harsh`` multiplies noise, glare, haze and jumps of exposure.

    ``exchanged`` pairs of stickers of different colours have been exchanged on the cube.
    """
    rng = np.random.default_rng([seed, size, 7])
    truth = random_facelets(size, rng)
    shown = _exchanged(truth, size, exchanged, np.random.default_rng([seed, size, 8]))
    scheme = list(SCHEMES)[rng.integers(len(SCHEMES))]
    room = Room.random(rng, harsh)
    palette = {f: to_linear(np.array([c], dtype=np.uint8))[0] for f, c in SCHEMES[scheme].items()}
    looks = {}
    for number, face in enumerate(FACES):
        letters = shown[number * size**2 : (number + 1) * size**2]
        looks[face] = _look(np.array([palette[x] for x in letters]), letters, size, room, rng)
    named = PocketCube.from_facelets(truth).relative.facelets() if size == 2 else truth
    return SyntheticScan(StickerColours.from_faces(looks), named)


def _exchanged(truth: str, size: int, pairs: int, rng: Rng) -> str:
    stickers = list(truth)
    middle = size * size // 2 if size % 2 else -1
    free = [i for i in range(len(stickers)) if i % size**2 != middle]
    done = 0
    while done < pairs:
        first, second = rng.choice(free, 2, replace=False)
        if stickers[first] != stickers[second]:
            stickers[first], stickers[second] = stickers[second], stickers[first]
            done += 1
    return "".join(stickers)


def _look(reflectance: Linear, letters: str, size: int, room: Room, rng: Rng) -> FaceColours:
    count = size * size
    reflectance = reflectance * (1 + 0.03 * rng.standard_normal((count, 1)))
    reflectance = reflectance * (1 + 0.02 * rng.standard_normal((count, 3)))
    if size % 2 and letters[count // 2] == "U" and rng.random() < 0.3:
        # A logo's remains after robust measuring: a darker, tinted middle.
        reflectance[count // 2] *= rng.uniform(0.3, 1.0, 3)
    places = _places(size, room)
    light = _light(places, room, rng)[:, None] * np.array(room.cast) * room.level
    jump = np.exp(room.jump * np.clip(rng.standard_normal(), -2, 2))
    linear = reflectance * light * jump * np.exp(0.03 * rng.standard_normal(3))
    shiny = rng.random(count) < room.glare
    linear += (shiny * rng.uniform(0.02, 0.6, count))[:, None] * room.level
    linear += room.haze * room.level * jump
    linear += room.noise * rng.standard_normal((count, 3))
    measured = FaceColours.from_light(srgb_to_linear(linear_to_srgb(linear)))
    return replace(measured, positions=(places / 2**0.5).astype(np.float32))


def _places(size: int, room: Room) -> Linear:
    """Return the stickers' places in a square picture, -1..1 across and down, float[N * N, 2]."""
    steps = (2 * np.arange(size) - (size - 1)) / size * room.reach
    return np.stack(np.meshgrid(steps, steps), axis=-1).reshape(-1, 2)


def _light(places: Linear, room: Room, rng: Rng) -> Linear:
    """Return the falloff, slope and shadow at the stickers of one face."""
    x, y = places.T
    light = (1 + room.slope[0] * x + room.slope[1] * y) * (1 - room.vignette * (x**2 + y**2) / 2)
    angle, offset = rng.uniform(0, 2 * np.pi), rng.uniform(-0.6, 0.6) * room.reach
    edge = (x * np.cos(angle) + y * np.sin(angle) - offset) / rng.uniform(0.02, 0.2)
    return light * (room.shadow + (1 - room.shadow) / (1 + np.exp(np.clip(edge, -30, 30))))


def permuted(colours: StickerColours, order: NDArray[np.intp]) -> StickerColours:
    """Return the scan with the colours of sticker ``order[i]`` at sticker ``i``'s place."""
    faces = {}
    for face in FACES:
        part = order[colours.face_slice(face)]
        faces[face] = replace(
            colours.face(face),
            linear_rgb=colours.linear_rgb[part],
            spread=colours.spread[part],
            saturated=colours.saturated[part],
            valid=colours.valid[part],
        )
    return StickerColours.from_faces(faces)


PLAIN = (0, 1, 2, 3, 4, 5)
STRAIGHT = (0, 0, 0, 0, 0, 0)


def with_look(colours: StickerColours, letter: str, look: FaceColours) -> StickerColours:
    """Return the same cube with a newer look at one face."""
    return StickerColours.from_faces({face: colours.face(face) for face in FACES} | {letter: look})


def altered(colours: StickerColours, mistake: Explanation) -> StickerColours:
    """Return the scan that ``mistake`` would correct."""
    back = np.argsort(mistake.stickers(colours.size))
    faces = {}
    for face in FACES:
        of_face = back[colours.face_slice(face)]
        look = colours.face(FACES[of_face[0] // colours.size**2])
        faces[face] = look.reorder(of_face % colours.size**2)
    return StickerColours.from_faces(faces)


def turned(face: str, quarters: int) -> Explanation:
    return Explanation(PLAIN, tuple(quarters * (letter == face) for letter in FACES))


def moved(places: dict[int, int]) -> Explanation:
    return Explanation(tuple(places.get(i, i) for i in PLAIN), STRAIGHT)


MIRRORED = Explanation(PLAIN, STRAIGHT, True)


def mistakes() -> Iterator[Explanation]:
    """Yield 18 turned pictures, 15 swaps, the mirror, all turned alike, and 40 cycles of three."""
    yield from (turned(face, quarters) for face in FACES for quarters in (1, 2, 3))
    yield from (moved({a: b, b: a}) for a, b in combinations(PLAIN, 2))
    yield MIRRORED
    yield from (Explanation(PLAIN, (quarters,) * 6) for quarters in (1, 2, 3))
    for a, b, c in combinations(PLAIN, 3):
        yield from (moved({a: b, b: c, c: a}), moved({a: c, c: b, b: a}))


def outcome(colours: StickerColours, truth: str, mistake: Explanation) -> str:
    """Return the outcome of reading an altered scan.

    It is ``as scanned`` if the pictures as they are make another cube without fault, else as for
    :func:`tests.rig.scenes.outcome_of`.
    """
    seen = altered(colours, mistake)
    found = outcome_of(lambda: read_cube(seen), truth)
    if found == "wrong" and _faultless(read_cube(seen), truth, mistake):
        return "as scanned"
    return found


OTHER_SCHEME = str.maketrans("DB", "BD")
"""Exchange of yellow and blue, between the usual colour scheme and the Japanese one."""


def _faultless(reading: CubeReading, truth: str, mistake: Explanation) -> bool:
    """Return whether the altered pictures look like another cube in one of the two schemes sold.

    Then nothing in them reveals a mistake, and they must have been read as they are.
    """
    size = reading.size
    if (mistake.source != PLAIN and size % 2) or reading.corrections or size == 2:
        return False
    scanned = "".join(truth[i] for i in np.argsort(mistake.stickers(size)))
    schemes = (scanned,) if size % 2 else (scanned, scanned.translate(OTHER_SCHEME))
    return any(_is_cube(shown, size) and is_true(reading.facelets, shown) for shown in schemes)


def _is_cube(facelets: str, size: int) -> bool:
    try:
        from_facelets(facelets, size)
    except CubistError:
        return False
    return True


SHARED = Path(__file__).parents[2].parent / "shared" / "data"
FOLDERS = tuple(SHARED / name for name in ("vision", "vision_more") if (SHARED / name).is_dir())


@dataclass(frozen=True, eq=False)
class RealSet:
    """A real scan with ``facelets`` in the letters that a reader should return.

    ``known``: the whole document, with ``peer_resolver_output``, the facelets another program read,
    and ``derived`` if ``facelets`` are those. ``grids``: the faces' places in the photographs.
    """

    name: str
    size: int
    facelets: str
    colours: StickerColours
    known: dict[str, Any]
    grids: Mapping[str, FaceGrid] = field(default_factory=dict)

    @property
    def is_corrupt(self) -> bool:
        """True if the scan as it is shows no cube."""
        return bool(self.known.get("corrupt"))


def scans(*sizes: int) -> Iterator[RealSet]:
    """Yield scans of colours whose cube is known."""
    for folder in FOLDERS:
        for size in sizes:
            for path in sorted((folder / "colors" / f"{size}x{size}x{size}").glob("*.json")):
                known = json.loads(path.read_text())
                colours = StickerColours.from_srgb(size, known["rgb"])
                truth = _truth(known) or known["true_state"]
                yield RealSet(f"{folder.name}/{path.stem}", size, truth, colours, known)


@cache
def photo_sets() -> tuple[RealSet, ...]:
    """Return sets of six photographs of cubes of 2 to 7 layers, located and measured."""
    found = []
    for folder in FOLDERS:
        for path in sorted(folder.glob("images/*/expected.json")):
            known, scan = json.loads(path.read_text()), scan_folder(path.parent)
            name, truth = f"{folder.name}/{path.parent.name}", _truth(known)
            found.append(RealSet(name, known["size"], truth, scan.colours, known, scan.grids))
    return tuple(found)


def reading_of(real: RealSet | SyntheticScan) -> str:
    return outcome_of(lambda: read_cube(real.colours), real.facelets)


def known_sets(size: int) -> list[RealSet]:
    """Return scans and photographs whose cube is certain.

    The state of larger cubes is certain only if it was read correctly.
    """
    sets = [*scans(size), *(real for real in photo_sets() if real.size == size)]
    return [real for real in sets if size < 4 or reading_of(real) == "right"]


def _truth(known: dict[str, str]) -> str:
    return known.get("expected_dbl_normalised") or known["expected"]


def classic(facelets: str) -> StickerColours:
    """Return a clean scan of a 3x3x3 in the usual colours."""
    rgb = np.array([SCHEMES["classic"][letter] for letter in facelets], dtype=np.float64)
    rgb += np.random.default_rng(5).normal(0, 2.0, rgb.shape)
    return StickerColours.from_srgb(3, np.clip(rgb, 0, 255))


def two_turns_from_solved() -> list[tuple[str, str]]:
    """Return the 243 cubes two turns from solved: (turns, facelets)."""
    found: dict[str, str] = {}
    for first, second in product([f + n for f in FACES for n in ("", "2", "'")], repeat=2):
        if first[0] != second[0]:
            moves = f"{first} {second}"
            found.setdefault(Cube.solved().apply(moves).facelets(), moves)
    return [(moves, facelets) for facelets, moves in found.items()]
