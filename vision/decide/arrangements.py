"""Explanations of a scan: pictures that were turned, exchanged or mirrored.

An :class:`Explanation` assigns the pictures to faces. Turning or mirroring the whole cube makes 48
explanations of each, and all lead to equally legal cubes. For example, three faces exchanged in a
cycle, and two swapped with four others turned, are the same pieces held differently. Colours cannot
decide between these; only the likelihood of mistakes by people and cameras can (:func:`priors`).
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
"""Log odds against a turned picture."""
_SWAPPED = 6.0
"""Log odds against two swapped pictures."""
_CYCLED = 9.0
"""Log odds against three exchanged pictures."""
_FOUR_MOVED = 14.0
"""Log odds against four exchanged pictures, such as F, R, B, L each named as the next one."""
_SHUFFLED = 30.0
"""Log odds against any other order of the pictures."""
_MOVED = np.array([0.0, 0.0, _SWAPPED, _CYCLED, _FOUR_MOVED, _SHUFFLED, _SHUFFLED])
"""Log odds by the number of pictures that are not at their faces."""
_ALL_TURNED = 6.0
"""Log odds against all six pictures turned alike, for example by a camera mounted sideways."""
_MIRRORED = 6.0
"""Log odds against all six pictures mirrored, for example by a front camera."""
_ANOTHER = 3.0
"""Further log odds against every mistake after the first: one mistake explains most scans."""
_TURNS = ("", "a quarter turn clockwise", "half a turn", "a quarter turn counterclockwise")


@dataclass(frozen=True, eq=False)
class Explanation:
    """An assignment of pictures to faces: face ``p`` is picture ``source[p]``, corrected.

    ``turns`` int[6] are the quarter turns clockwise by which the picture of face ``p`` was turned.
    ``mirrored``: all pictures were mirrored, left to right, before that.
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
            return (*found, f"all faces were seen rotated by {_TURNS[self.turns[0]]}")
        for face, turn in zip(FACES, self.turns, strict=True):
            if turn:
                found.append(f"face {face} was seen rotated by {_TURNS[turn]}")
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
        """The prior log odds against this explanation."""
        return float(priors(np.array(self.source), np.array(self.turns), np.array(self.mirrored)))

    def stickers(self, size: int) -> Ints:
        """Return the scan's sticker for each sticker of the cube, int[6 * size**2]."""
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
        """Return a face whose picture the two explanations correct differently."""
        kinds = (self.source, other.source), (self.turns, other.turns)
        for ours, theirs in kinds:
            for face, one, two in zip(FACES, ours, theirs, strict=True):
                if one != two:
                    return face
        return FACES[0]


@cache
def _shown_cells(size: int) -> Ints:
    """Return the cell seen instead of each cell of a face, int[8, N * N]: for pictures turned 0..3
    quarters clockwise, then for mirrored pictures.
    """
    grid = np.arange(size * size).reshape(size, size)
    # rot90 turns counterclockwise: it undoes what the scan did.
    turned = [np.rot90(grid, turn) for turn in range(4)]
    shown = [way.ravel() for way in turned] + [way[:, ::-1].ravel() for way in turned]
    return np.asarray(np.stack(shown), dtype=np.intp)


def turned_cells(size: int) -> Ints:
    """Return the cell seen instead of each cell of a face turned 0..3 quarters, int[4, N * N].

    Turns are clockwise.
    """
    return _shown_cells(size)[:4]


def priors(source: Ints, turns: Ints, mirrored: Bools) -> Floats:
    """Return prior log odds against explanations, float[...].

    ``source`` and ``turns`` int[..., 6], ``mirrored`` bool[...] as in :class:`Explanation`.
    """
    order, faults = _order_priors(source, mirrored)
    return np.asarray(order + _turn_priors(turns, faults))


def _order_priors(source: Ints, mirrored: Bools) -> tuple[Floats, Ints]:
    """Return log odds against an order of the pictures, and its number of mistakes."""
    moved = (source != np.arange(6)).sum(axis=-1)
    against = _MOVED[moved]
    return against + _MIRRORED * mirrored, (moved > 0) + mirrored.astype(np.intp)


def _turn_priors(turns: Ints, faults: Ints) -> Floats:
    """Return log odds against turned pictures, given the number of other mistakes."""
    ways = []
    for alike in range(4):
        single = (turns != alike).sum(axis=-1)
        another = np.maximum(faults + single + (alike > 0) - 1, 0)
        ways.append(_TURNED * single + _ALL_TURNED * (alike > 0) + _ANOTHER * another)
    return np.asarray(np.min(ways, axis=0), dtype=np.float64)


@cache
def all_turns() -> Ints:
    """Return all ways to turn six pictures, int[4096, 6]: the base 4 digits of their numbers."""
    return np.array(list(product(range(4), repeat=6)), dtype=np.intp)


@cache
def _all_turn_priors() -> Floats:
    """Return :func:`_turn_priors` of :func:`all_turns` for 0, 1 and 2 other mistakes, [3, 4096]."""
    return np.stack([_turn_priors(all_turns(), np.array(faults)) for faults in range(3)])


class LeastPriors:
    """Lower bounds of the log odds against pictures in the order ``source``, for a cube held and
    mirrored in any way; includes ``against`` float[48] for these ways.
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
        """Return lower bounds for some rows of :func:`all_turns`, float[n]."""
        turned = _all_turn_priors()[self._faults[:, None], self._ways[:, turns]]
        return np.asarray(np.minimum((turned + self._order[:, None]).min(axis=0), self._others))


@cache
def _least_turn_priors() -> Floats:
    """Return the log odds against pictures turned in each of :func:`all_turns` without other
    mistakes, at the minimum over all ways to hold the cube, float[4096].
    """
    return np.asarray(_all_turn_priors()[0][_held_turns()].min(axis=0))


@cache
def _likely_orders(source: tuple[int, ...]) -> tuple[Ints, Floats, Ints]:
    """Return the symmetries that leave at least two pictures at their faces, their priors and their
    numbers of mistakes.
    """
    held = np.array(source)[symmetries().face]
    order, faults = _order_priors(held, symmetries().mirrors)
    likely = np.flatnonzero((held != np.arange(6)).sum(axis=1) <= 4)
    return likely, order[likely], faults[likely]


@cache
def _held_turns() -> NDArray[np.uint16]:
    """Return numbers of :func:`all_turns` for a cube held in all 48 ways, uint16[48, 4096]."""
    places = 4 ** np.arange(5, -1, -1)
    numbers = np.zeros((48, *[4] * 6), dtype=np.uint16)
    for i, (held, way) in enumerate(zip(symmetries().face, symmetries().way, strict=True)):
        # Each picture turns independently: its digit depends on one digit of the original number.
        for face, put, place in zip(held.tolist(), way.tolist(), places.tolist(), strict=True):
            digit = (_compose_ways()[:4, put] % 4 * place).astype(np.uint16)
            numbers[i] += digit.reshape([4 if axis == face else 1 for axis in range(6)])
    return numbers.reshape(48, -1)


@dataclass(frozen=True, eq=False)
class Symmetries:
    """The 48 ways to turn and mirror a cube.

    ``face`` int[48, 6] is the face that moves to each face; ``way`` int[48, 6] is the orientation
    of its picture there (0..3 quarter turns, 4..7 if mirrored); ``mirrors`` bool[48].
    """

    face: Ints
    way: Ints
    mirrors: Bools

    def equivalents(
        self, source: Ints, turns: Ints, which: Ints | slice = slice(None)
    ) -> tuple[Ints, Ints]:
        """Return ``source`` and ``turns``, int[n, 48, 6], of explanations that lead to the same
        cube, held differently, or mirrored according to :attr:`mirrors`. Takes both as int[n, 6].
        """
        face = self.face[which]
        ways = _compose_ways()[turns[:, face], self.way[which]]
        return source[:, face], ways % 4


@cache
def _compose_ways() -> Ints:
    """Return the composition of every two ways, int[8, 8]."""
    cells = _shown_cells(2)
    index = {tuple(way): i for i, way in enumerate(cells.tolist())}
    return np.array([[index[tuple(a[b])] for b in cells] for a in cells], dtype=np.intp)


@cache
def symmetries() -> Symmetries:
    """Return all 48 symmetries; the first is the identity."""
    ways = {tuple(way): i for i, way in enumerate(_shown_cells(2).tolist())}
    taken = np.array([_source_stickers(matrix, 2) for matrix in _matrices()]).reshape(48, 6, 4)
    way = [[ways[tuple(cells)] for cells in row] for row in (taken % 4).tolist()]
    mirrors = np.linalg.det(np.array(_matrices())) < 0
    return Symmetries(taken[:, :, 0] // 4, np.array(way, dtype=np.intp), mirrors)


@cache
def held_stickers(size: int) -> Ints:
    """Return the sticker that moves to each sticker by the 48 symmetries, int[48, 6 * size**2]."""
    return np.array([_source_stickers(matrix, size) for matrix in _matrices()], dtype=np.intp)


def _source_stickers(matrix: NDArray[np.int64], size: int) -> Ints:
    return np.asarray(indices_at(places(size) @ matrix.T, size), dtype=np.intp)


@cache
def _matrices() -> tuple[NDArray[np.int64], ...]:
    """Return the symmetries of the cube as matrices int64[3, 3], the identity first."""
    axes = np.eye(3, dtype=np.int64)
    found = [
        np.diag(signs) @ axes[list(order)]
        for order in permutations(range(3))
        for signs in product((1, -1), repeat=3)
    ]
    return tuple(found)
