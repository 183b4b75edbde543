"""Named patterns: arrangements that people like to see, on every size that has them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from solver.cube.facelets import FACES, NORMALS, places
from solver.cube.sticker_cube import StickerCube

Maker = Callable[[int], str]


class NamedPattern(NamedTuple):
    """A pattern: its description, the function that makes or draws it, and the sizes that have it.

    ``moves`` returns moves from the solved cube; without it, ``facelets`` returns the stickers. The
    pattern exists on ``sizes`` or, if that is None, from ``least`` layers on. ``odd_only``: on even
    cubes its corners would not be pieces.
    """

    about: str
    moves: Maker | None = None
    facelets: Maker | None = None
    sizes: tuple[int, ...] | None = None
    least: int = 3
    odd_only: bool = False

    def exists_on(self, size: int) -> bool:
        """Return whether a cube of ``size`` has it."""
        if self.sizes is not None:
            return size in self.sizes
        return size >= self.least and not (self.odd_only and size % 2 == 0)

    def draw(self, size: int) -> str:
        """Return the facelets of a cube of ``size`` that has it."""
        if self.moves is not None:
            return StickerCube.solved(size).apply(self.moves(size)).letters
        assert self.facelets is not None
        return self.facelets(size)

    @property
    def sizes_text(self) -> str:
        """The sizes that have it, as ``3`` or ``3 and more, odd``."""
        if self.sizes is not None:
            return ", ".join(map(str, self.sizes))
        return f"{self.least} and more" + (", odd" if self.odd_only else "")


def _inner(face: str, size: int) -> str:
    """Return the turn of all layers between the outer two, without its number of quarters."""
    return f"2{face}" if size == 3 else f"2-{size - 1}{face}w"


def _make_dots(size: int) -> str:
    across, along = _inner("L", size), _inner("D", size)
    return f"[{along}', {across}]"


def _make_four_dots(size: int) -> str:
    across, along = _inner("L", size), _inner("D", size)
    return f"[{across}2, {along}]"


def _turn_every_second_layer(faces: str, size: int) -> str:
    return " ".join(f"{layer}{face}2" for face in faces for layer in range(2, size + 1, 2))


_CYCLE = dict(zip("URFDLB", "FURBDL", strict=True))
"""Colours after a third of a turn about the diagonal through corner UFR."""


def _draw_cube_in_cube(size: int) -> str:
    """Draw cubes of one layer less in the corners UFR and DLB, turned by a third each."""
    drawn = []
    for number, place in enumerate(places(size).tolist()):
        face = FACES[number // (size * size)]
        side = sum(NORMALS[face])
        in_block = all(side * at > -(size - 1) for at in place)
        drawn.append(_CYCLE[face] if in_block else face)
    return "".join(drawn)


def _make_always(moves: str) -> Maker:
    return lambda _: moves


def _make_for_3(about: str, moves: str) -> NamedPattern:
    return NamedPattern(about, _make_always(moves), sizes=(3,))


PATTERNS: Mapping[str, NamedPattern] = MappingProxyType(
    {
        "checkerboard": NamedPattern(
            "two colours in turn on every face",
            lambda size: _turn_every_second_layer("RUF", size),
            odd_only=True,
        ),
        "stripes": NamedPattern(
            "stripes of two colours on four faces",
            lambda size: _turn_every_second_layer("R", size),
        ),
        "six-spots": NamedPattern("a middle of another colour on every face", _make_dots),
        "four-spots": NamedPattern(
            "a middle of the opposite colour on four faces", _make_four_dots
        ),
        "cube-in-cube": NamedPattern(
            "a smaller cube in two opposite corners", facelets=_draw_cube_in_cube, least=2
        ),
        "superflip": _make_for_3(
            "every edge flipped", "U R2 F B R B2 R U2 L B2 R U' D' R2 F R' L B2 U2 F2"
        ),
        "cube-in-cube-in-cube": _make_for_3(
            "cubes within each other", "U' L' U' F' R2 B' R F U B2 U B' L U' F U R F'"
        ),
        "anaconda": _make_for_3("a snake over six faces", "L U B' U' R L' B R' F B' D R D' F'"),
        "python": _make_for_3("a longer snake", "F2 R' B' U R' L F' L F' B D' R B L2"),
        "tetris": _make_for_3("a stepped block on every face", "L R F B U' D' L' R'"),
        "gift-box": _make_for_3(
            "a ribbon round the cube", "U B2 R2 B2 L2 F2 R2 D' F2 L2 B F' L F2 D U' R2 F' L' R'"
        ),
        "twister": _make_for_3("a twisted ring", "F R' U L F' L' F U' R U L' U' L F'"),
        "spiral": _make_for_3("a spiral", "L' B' D U R U' R' D2 R2 D L D' L' R' F U"),
        "plummer-cross": _make_for_3(
            "crosses of three colours in a ring", "R2 L' D F2 R' D' R' L U' D R D B2 R' U D2"
        ),
        "vertical-stripes": _make_for_3(
            "stripes of three colours on four faces", "F U F R L2 B D' R D2 L D' B R2 L F U F"
        ),
    }
)


def patterns_of(size: int) -> dict[str, NamedPattern]:
    """Return the patterns that a cube of ``size`` has, by name."""
    return {name: one for name, one in PATTERNS.items() if one.exists_on(size)}
