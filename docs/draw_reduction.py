"""Draw docs/pictures/reduction.svg from the example in docs/reduction.md: `make picture`.

The picture shows the kinds of pieces on one face, then the example's unfolded cube after each
phase. Stickers that the reduction has not yet placed are pale.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from solver.cube.facelets import FACES
from solver.cube.notation import Move, parse_moves
from solver.cube.orbits import WING_PAIRS, centre_slots, fixed_slots, wing_slots
from solver.cube.sticker_cube import StickerCube

DOCS = Path(__file__).parent
PAGE = DOCS / "reduction.md"
PICTURE = DOCS / "pictures" / "reduction.svg"

SIZE = 5
X, T = centre_slots(2, 2, SIZE), centre_slots(2, 0, SIZE)
WINGS, MIDDLES = wing_slots(2, SIZE), wing_slots(0, SIZE)
ROW = re.compile(r"^\| [-\d] \| ([\w ]+) \| \d+ \| `([^`]+)`", re.MULTILINE)

CELL, FACE, GAP, TITLE = 8, 5 * 8 + 2, 28, 22
PLACES = {"U": (1, 0), "L": (0, 1), "F": (1, 1), "R": (2, 1), "B": (3, 1), "D": (1, 2)}
COLOURS = dict(
    zip(FACES, ("#f7f7f2", "#c9302c", "#2f9e44", "#f2c811", "#e8772e", "#2b6cb0"), strict=True)
)
KINDS = {
    "corner": "#d9d9d9",
    "wing": "#8fb8de",
    "middle": "#4f81bd",
    "x": "#f0b27a",
    "t": "#a9d18e",
    "fixed": "#ffffff",
}
PALE = 0.18


def example() -> list[tuple[str, tuple[Move, ...]]]:
    """Return the name and moves of the example's rows: the scramble, then each phase."""
    return [(name.strip(), parse_moves(moves)) for name, moves in ROW.findall(PAGE.read_text())]


def cubes() -> Iterator[tuple[str, StickerCube]]:
    """Yield the name of each row and the cube after it."""
    cube = StickerCube.solved(SIZE)
    for name, moves in example():
        cube = cube.apply(moves)
        yield name, cube


def axis_of(face: str) -> int:
    """Return 0 for U and D, 1 for R and L, 2 for F and B."""
    return FACES.index(face) % 3


def has_its_centres(cube: StickerCube, axis: int, *, apart: bool = False) -> bool:
    """Return True if two faces have their own centres, or with ``apart`` each its own colour."""
    shown = [
        (cube.letters[n], cube.letters[fixed_slots(SIZE)[n // SIZE**2]])
        for n in (*X, *T)
        if n // SIZE**2 % 3 == axis
    ]
    if apart:
        return all(letter == own for letter, own in shown)
    return all(axis_of(letter) == axis_of(own) for letter, own in shown)


def whole_edges(cube: StickerCube) -> list[str]:
    """Return the edges whose two wings and middle match, by the names of their faces."""
    letters = np.array(list(cube.letters))
    found = []
    for number, pair in enumerate(WING_PAIRS):
        other = WING_PAIRS.index(pair[::-1])
        pieces = (WINGS[number], WINGS[other][::-1], MIDDLES[number])
        if number < other and len({"".join(letters[piece]) for piece in pieces}) == 1:
            found.append(pair)
    return found


def settled(cube: StickerCube) -> set[int]:
    """Return the stickers of whole edges, and of centres on the faces of their axis."""
    if cube.is_solved:
        return set(range(6 * SIZE**2))
    found = set(map(int, fixed_slots(SIZE)))
    for axis in range(3):
        if has_its_centres(cube, axis):
            found.update(int(n) for n in (*X, *T) if n // SIZE**2 % 3 == axis)
    for pair in whole_edges(cube):
        number, other = WING_PAIRS.index(pair), WING_PAIRS.index(pair[::-1])
        for piece in (WINGS[number], WINGS[other], MIDDLES[number]):
            found.update(map(int, piece))
    return found


def kind_of(sticker: int) -> str:
    """Return the kind of piece that a sticker belongs to."""
    groups: dict[str, NDArray[np.intp]] = {
        "wing": WINGS,
        "middle": MIDDLES,
        "x": X,
        "t": T,
        "fixed": fixed_slots(SIZE),
    }
    return next((kind for kind, group in groups.items() if sticker in group), "corner")


def _cell(x: float, y: float, size: float, fill: str, opacity: float = 1) -> str:
    shade = "" if opacity == 1 else f' fill-opacity="{opacity}"'
    return f'<rect x="{x:g}" y="{y:g}" width="{size}" height="{size}" fill="{fill}"{shade}/>'


def _text(x: float, y: float, text: str, size: int = 13) -> str:
    return f'<text x="{x:g}" y="{y:g}" font-size="{size}">{escape(text)}</text>'


def _legend(x: float, y: float) -> Iterator[str]:
    yield _text(x, y - 8, "pieces of a face")
    for sticker in range(SIZE**2):
        row, column = divmod(sticker, SIZE)
        yield _cell(x + column * 18, y + row * 18, 17, KINDS[kind_of(sticker)])
    for number, (kind, fill) in enumerate(KINDS.items()):
        yield _cell(x + 104, y + number * 15, 11, fill)
        yield _text(x + 121, y + number * 15 + 10, kind, 11)


def _net(x: float, y: float, name: str, cube: StickerCube) -> Iterator[str]:
    yield _text(x, y - 8, name)
    strong = settled(cube)
    for sticker, letter in enumerate(cube.letters):
        face, place = divmod(sticker, SIZE**2)
        right, down = PLACES[FACES[face]]
        row, column = divmod(place, SIZE)
        yield _cell(
            x + right * FACE + column * CELL,
            y + down * FACE + row * CELL,
            CELL - 1,
            COLOURS[letter],
            1 if sticker in strong else PALE,
        )


def draw() -> str:
    """Return the picture as SVG."""
    width, height = 4 * FACE + GAP, 3 * FACE + TITLE + GAP
    parts = list(_legend(GAP, TITLE + 8))
    for number, (name, cube) in enumerate(cubes(), start=1):
        down, right = divmod(number, 4)
        title = "scrambled" if number == 1 else f"{number - 1}. {name}"
        parts += _net(GAP + right * width, TITLE + 8 + down * height, title, cube)
    view = f"0 0 {GAP + 4 * width} {2 * height + TITLE}"
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{view}" font-family="system-ui">'
    ground = '<rect width="100%" height="100%" fill="#8a8f98"/>'
    return "\n".join([head, ground, *parts, "</svg>\n"])


if __name__ == "__main__":
    PICTURE.write_text(draw())
