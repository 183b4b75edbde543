"""Explanations of a scan: pictures that were turned, exchanged or mirrored.

An :class:`Explanation` puts the pictures in their places. Turning or mirroring the whole cube makes
48 explanations of each, all of which leave equally legal cubes: three faces exchanged in a cycle
and two swapped with four others turned are the same pieces, held differently. No colour decides
between those; only which mistake people and cameras rather make (:func:`priors`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from itertools import permutations, product

import numpy as np
from numpy.typing import NDArray

from solver.cube.facelets import indices_at, places
from vision.frame import Bools, Floats, Ints
from vision.measure.sticker_colours import FACES, StickerColours

_TURNED = 4.0
"""Log odds against a picture having been turned."""
_SWAPPED = 6.0
"""Log odds against two pictures having been swapped."""
_CYCLED = 9.0
"""Log odds against three pictures having changed places."""
_FOUR_MOVED = 14.0
"""Log odds against four pictures having changed places, such as F, R, B, L named one on."""
_SHUFFLED = 30.0
"""Log odds against any other order of the pictures."""
_MOVED = np.array([0.0, 0.0, _SWAPPED, _CYCLED, _FOUR_MOVED, _SHUFFLED, _SHUFFLED])
"""The same by how many pictures are not in their places."""
_ALL_TURNED = 6.0
"""Log odds against all six pictures turned alike, as by a camera that is mounted sideways."""
_MIRRORED = 6.0
"""Log odds against all six pictures mirrored, as a front camera shows them."""
_ANOTHER = 3.0
"""Further log odds against every mistake after the first: one mistake explains most scans."""
_TURNS = ("", "a quarter turn clockwise", "half a turn", "a quarter turn counterclockwise")


@dataclass(frozen=True, eq=False)
class Explanation:
    """The place of each picture: face ``p`` is picture ``source[p]``, corrected.

    ``turns`` int[6] are the quarter turns clockwise by which the picture of face ``p`` was turned;
    ``mirrored`` says that all were mirrored, left to right, before that.
    """

    source: tuple[int, ...]
    turns: tuple[int, ...]
    mirrored: bool = False

    @property
    def mistakes(self) -> tuple[str, ...]:
        """The mistakes in the scan, one sentence each."""
        found = ["all pictures were mirrored"] if self.mirrored else []
        moved = [i for i, origin in enumerate(self.source) if origin != i]
        if len(moved) == 2:
            found.append(f"faces {' and '.join(FACES[i] for i in moved)} were swapped")
        elif moved:
            pairs = ", ".join(f"{FACES[i]} in picture {FACES[self.source[i]]}" for i in moved)
            found.append(f"pictures were exchanged: face {pairs}")
        if len(set(self.turns)) == 1 and self.turns[0]:
            return (*found, f"all faces were seen {_TURNS[self.turns[0]]} from how they should be")
        for face, turn in zip(FACES, self.turns, strict=True):
            if turn:
                found.append(f"face {face} was seen {_TURNS[turn]} from how it should be")
        return tuple(found)

    @property
    def is_plain(self) -> bool:
        """True if nothing happened to the pictures."""
        return self.source == (0, 1, 2, 3, 4, 5) and not any(self.turns) and not self.mirrored

    @property
    def is_mirrored_only(self) -> bool:
        """True if the pictures were mirrored and nothing else happened to them."""
        return self.mirrored and replace(self, mirrored=False).is_plain

    @property
    def prior(self) -> float:
        """Log odds against it before looking."""
        return float(priors(np.array(self.source), np.array(self.turns), np.array(self.mirrored)))

    def stickers(self, size: int) -> Ints:
        """The sticker in the scan that is each sticker of the cube, int[6 * size**2]."""
        cells = _shown_cells(size)
        parts = [
            origin * size * size + cells[turn + 4 * self.mirrored]
            for origin, turn in zip(self.source, self.turns, strict=True)
        ]
        return np.concatenate(parts)

    def correct(self, colours: StickerColours) -> StickerColours:
        """Return the scan with these mistakes corrected."""
        cells = _shown_cells(colours.size)
        faces = {}
        for i, face in enumerate(FACES):
            look = colours.face(FACES[self.source[i]])
            faces[face] = look.reorder(cells[self.turns[i] + 4 * self.mirrored])
        return StickerColours.from_faces(faces)

    def differing_face(self, other: Explanation) -> str:
        """Return the face of a picture that the two correct differently."""
        kinds = (self.source, other.source), (self.turns, other.turns)
        for ours, theirs in kinds:
            for face, one, two in zip(FACES, ours, theirs, strict=True):
                if one != two:
                    return face
        return FACES[0]


@cache
def _shown_cells(size: int) -> Ints:
    """Cell seen in place of each cell of a face, int[8, N * N]: turned 0..3 quarters clockwise,
    then the same of mirrored pictures.
    """
    grid = np.arange(size * size).reshape(size, size)
    # rot90 turns counterclockwise: it undoes what the scan did.
    turned = [np.rot90(grid, turn) for turn in range(4)]
    shown = [way.ravel() for way in turned] + [way[:, ::-1].ravel() for way in turned]
    return np.asarray(np.stack(shown), dtype=np.intp)


def turned_cells(size: int) -> Ints:
    """Cell seen in place of each cell of a face turned 0..3 quarters clockwise, int[4, N * N]."""
    return _shown_cells(size)[:4]


def priors(source: Ints, turns: Ints, mirrored: Bools) -> Floats:
    """Log odds against explanations before looking, float[...].

    ``source`` and ``turns`` int[..., 6], ``mirrored`` bool[...] as in :class:`Explanation`.
    """
    order, faults = _order_priors(source, mirrored)
    return np.asarray(order + _turn_priors(turns, faults))


def _order_priors(source: Ints, mirrored: Bools) -> tuple[Floats, Ints]:
    """Log odds against an order of the pictures, and how many mistakes it takes."""
    moved = (source != np.arange(6)).sum(axis=-1)
    against = _MOVED[moved]
    return against + _MIRRORED * mirrored, (moved > 0) + mirrored.astype(np.intp)


def _turn_priors(turns: Ints, faults: Ints) -> Floats:
    """Log odds against turned pictures, given the number of other mistakes."""
    ways = []
    for alike in range(4):
        single = (turns != alike).sum(axis=-1)
        another = np.maximum(faults + single + (alike > 0) - 1, 0)
        ways.append(_TURNED * single + _ALL_TURNED * (alike > 0) + _ANOTHER * another)
    return np.asarray(np.min(ways, axis=0), dtype=np.float64)


@cache
def all_turns() -> Ints:
    """All ways to turn six pictures, int[4096, 6]; the number of a way has base 4 digits."""
    return np.array(list(product(range(4), repeat=6)), dtype=np.intp)


@cache
def _all_turn_priors() -> Floats:
    """:func:`_turn_priors` of :func:`all_turns` beside 0, 1 and 2 other mistakes, [3, 4096]."""
    return np.stack([_turn_priors(all_turns(), np.array(faults)) for faults in range(3)])


class LeastPriors:
    """Lower bounds of the log odds against pictures in the order ``source``, however the cube is
    held or mirrored; ``against`` float[48] comes on top.
    """

    def __init__(self, source: tuple[int, ...], against: Floats) -> None:
        likely, order, self._faults = _likely_orders(source)
        self._ways = _held_turns()[likely]
        self._order = order + against[likely]
        self._others = float(np.delete(against, likely).min() + _SHUFFLED)

    @property
    def floor(self) -> Floats:
        """Quick lower bounds for all of :func:`all_turns`, float[4096]."""
        return np.asarray(np.minimum(_least_turn_priors() + self._order.min(), self._others))

    def bounds_for(self, turns: Ints) -> Floats:
        """For some rows of :func:`all_turns`, float[n]."""
        turned = _all_turn_priors()[self._faults[:, None], self._ways[:, turns]]
        return np.asarray(np.minimum((turned + self._order[:, None]).min(axis=0), self._others))


@cache
def _least_turn_priors() -> Floats:
    """The log odds against pictures turned in each of :func:`all_turns` and nothing else, held as
    they would be least, float[4096].
    """
    return np.asarray(_all_turn_priors()[0][_held_turns()].min(axis=0))


@cache
def _likely_orders(source: tuple[int, ...]) -> tuple[Ints, Floats, Ints]:
    """The symmetries that leave two pictures or more in place, their priors and numbers of
    mistakes.
    """
    held = np.array(source)[symmetries().face]
    order, faults = _order_priors(held, symmetries().mirrors)
    likely = np.flatnonzero((held != np.arange(6)).sum(axis=1) <= 4)
    return likely, order[likely], faults[likely]


@cache
def _held_turns() -> NDArray[np.uint16]:
    """Numbers of :func:`all_turns` for a cube held in each of the 48 ways, uint16[48, 4096]."""
    places = 4 ** np.arange(5, -1, -1)
    numbers = np.zeros((48, *[4] * 6), dtype=np.uint16)
    for i, (held, way) in enumerate(zip(symmetries().face, symmetries().way, strict=True)):
        # Each picture turns on its own: its digit follows from one of the digits before.
        for face, put, place in zip(held.tolist(), way.tolist(), places.tolist(), strict=True):
            digit = (_compose_ways()[:4, put] % 4 * place).astype(np.uint16)
            numbers[i] += digit.reshape([4 if axis == face else 1 for axis in range(6)])
    return numbers.reshape(48, -1)


@dataclass(frozen=True, eq=False)
class Symmetries:
    """The 48 ways to turn and mirror a cube.

    ``face`` int[48, 6] is the face that comes to each face; ``way`` int[48, 6] how its picture is
    put there (0..3 quarter turns, 4 to 7 of a mirrored one); ``mirrors`` bool[48].
    """

    face: Ints
    way: Ints
    mirrors: Bools

    def equivalents(
        self, source: Ints, turns: Ints, which: Ints | slice = slice(None)
    ) -> tuple[Ints, Ints]:
        """``source`` and ``turns`` int[n, 48, 6] of explanations that leave the same cube held or
        mirrored otherwise; mirrored where :attr:`mirrors` says so. Both given as int[n, 6].
        """
        face = self.face[which]
        ways = _compose_ways()[turns[:, face], self.way[which]]
        return source[:, face], ways % 4


@cache
def _compose_ways() -> Ints:
    """The way int[8, 8] that one way after another makes."""
    cells = _shown_cells(2)
    index = {tuple(way): i for i, way in enumerate(cells.tolist())}
    return np.array([[index[tuple(a[b])] for b in cells] for a in cells], dtype=np.intp)


@cache
def symmetries() -> Symmetries:
    """All 48; the first is the identity."""
    ways = {tuple(way): i for i, way in enumerate(_shown_cells(2).tolist())}
    taken = np.array([_source_stickers(matrix, 2) for matrix in _matrices()]).reshape(48, 6, 4)
    way = [[ways[tuple(cells)] for cells in row] for row in (taken % 4).tolist()]
    mirrors = np.linalg.det(np.array(_matrices())) < 0
    return Symmetries(taken[:, :, 0] // 4, np.array(way, dtype=np.intp), mirrors)


@cache
def held_stickers(size: int) -> Ints:
    """The sticker that comes to each sticker under the 48 symmetries, int[48, 6 * size**2]."""
    return np.array([_source_stickers(matrix, size) for matrix in _matrices()], dtype=np.intp)


def _source_stickers(matrix: NDArray[np.int64], size: int) -> Ints:
    return np.asarray(indices_at(places(size) @ matrix.T, size), dtype=np.intp)


@cache
def _matrices() -> tuple[NDArray[np.int64], ...]:
    """The symmetries of the cube as matrices int64[3, 3], the identity first."""
    axes = np.eye(3, dtype=np.int64)
    found = [
        np.diag(signs) @ axes[list(order)]
        for order in permutations(range(3))
        for signs in product((1, -1), repeat=3)
    ]
    return tuple(found)
