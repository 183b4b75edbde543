"""The 3x3x3 cube as cubies, and cubes of any size by facelets or moves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from solver.cube import facelets as geometry
from solver.cube import legality
from solver.cube.legality import CORNERS, EDGES
from solver.cube.notation import Move, face_turns, parse_moves
from solver.cube.orientation import upright
from solver.cube.pieces import PieceCube, States, states_after
from solver.cube.pocket import PocketCube
from solver.cube.sticker_cube import StickerCube
from solver.errors import BadNotation

SLOTS = CORNERS + EDGES
"""The 20 slots of ``states`` by number; cubies have the same names."""

SINGMASTER_SLOTS = (
    *("UF", "UR", "UB", "UL", "DF", "DR", "DB", "DL", "FR", "FL", "BR", "BL"),
    *("UFR", "URB", "UBL", "ULF", "DRF", "DFL", "DLB", "DBR"),
)
"""Order of the 20 words of Singmaster's notation."""

_PIECES = frozenset(map(frozenset, SINGMASTER_SLOTS))


class Cube(PieceCube):
    """A legal 3x3x3 cube: ``states`` uint8[20, 2] in :data:`SLOTS` order, read-only.

    Corners are turned 0..2 times counter-clockwise, edges 0 or 1. Centres stay at home: rotations
    of the whole cube change nothing.
    """

    __slots__ = ()
    size: ClassVar[int] = 3
    slots: ClassVar[tuple[str, ...]] = SLOTS

    def __init__(self, states: NDArray[np.integer[Any]]) -> None:
        """Take integers[20, 2] in :data:`SLOTS` order; raises IllegalCube with the reason."""
        object.__setattr__(self, "states", _check_states(np.asarray(states)))

    @classmethod
    def from_facelets(cls, facelets: str) -> Cube:
        """Read 54 letters URFDLB of a cube held in any way; faces are named by their centres.

        Raises BadNotation for other letters, IllegalCube with the reason.
        """
        legality.check_letters(facelets, 3)
        legality.check_counts(facelets, 3)
        letters = upright(facelets, legality.held_by_centres(facelets, 3), 3)
        return cls._from_words(dict(zip(SLOTS, legality.words_of(letters, SLOTS, 3), strict=True)))

    @classmethod
    def from_singmaster(cls, text: str) -> Cube:
        """Read 20 words: the pieces in :data:`SINGMASTER_SLOTS`, turned as written."""
        words = text.split()
        if len(words) != len(SINGMASTER_SLOTS):
            raise BadNotation(
                f"Singmaster's notation of a 3x3x3 has 20 words, not {len(words)}"
                f"{_lost_and_double(words)}."
            )
        return cls._from_words(dict(zip(SINGMASTER_SLOTS, words, strict=True)))

    @classmethod
    def _from_words(cls, placed: dict[str, str]) -> Cube:
        corners = legality.pieces([placed[slot] for slot in CORNERS], CORNERS)
        edges = legality.pieces([placed[slot] for slot in EDGES], EDGES)
        return cls(np.concatenate([corners, edges]))

    @classmethod
    def from_moves(cls, moves: str | Iterable[Move]) -> Cube:
        """Return the solved cube after ``moves``."""
        return cls.solved().apply(moves)

    @classmethod
    def random(cls, rng: np.random.Generator) -> Cube:
        """Return a uniformly random legal cube."""
        corners, edges = rng.permutation(8), rng.permutation(12)
        if legality.permutation_parity(corners) != legality.permutation_parity(edges):
            edges[[0, 1]] = edges[[1, 0]]
        twists, flips = rng.integers(0, 3, 8), rng.integers(0, 2, 12)
        twists[-1] = -twists[:-1].sum() % 3
        flips[-1] = flips[:-1].sum() % 2
        columns = (np.concatenate([corners, edges]), np.concatenate([twists, flips]))
        return cls._trusted(np.stack(columns, axis=1).astype(np.uint8))

    @property
    def corners(self) -> States:
        """uint8[8, 2], the corner slots of ``states``."""
        return self.states[:8]

    @property
    def edges(self) -> States:
        """uint8[12, 2], the edge slots of ``states``."""
        return self.states[8:]

    @property
    def is_solved(self) -> bool:
        """True if every piece is at home, unturned."""
        return self == Cube.solved()

    def move(self, move: Move) -> Cube:
        """Return the cube after one move."""
        return self.apply((move,))

    def apply(self, moves: str | Iterable[Move]) -> Cube:
        """Return the cube after ``moves``, a string or parsed moves."""
        parsed = parse_moves(moves) if isinstance(moves, str) else moves
        cube = self
        for turn in face_turns(parsed):
            cube = cube * face_turn(turn.face, turn.quarters)
        return cube

    def one_hot(self) -> NDArray[np.uint8]:
        """Return uint8[20, 24]: 1 at ``cubie + 8 * orientation``, for edges ``+ 12 *``."""
        return _HOT_ROWS[self.states[:, 0] + self.states[:, 1] * _HOT_COLUMNS]


def _lost_and_double(words: list[str]) -> str:
    """Name the pieces that the words leave out or repeat, for the end of a message."""
    named = Counter(frozenset(word) for word in words)
    times = {slot: named[frozenset(slot)] for slot in SINGMASTER_SLOTS}
    lost = ", ".join(slot for slot, count in times.items() if count == 0)
    double = ", ".join(slot for slot, count in times.items() if count > 1)
    strange = ", ".join(word for word in words if frozenset(word) not in _PIECES)
    told = [("missing", lost), ("more than once", double), ("no piece", strange)]
    return "".join(f"; {what}: {which}" for what, which in told if which)


_HOT_ROWS = np.eye(24, dtype=np.uint8)
_HOT_COLUMNS = np.repeat([8, 12], (8, 12)).astype(np.uint8)


@cache
def face_turn(face: str, quarters: int) -> Cube:
    """Return the solved cube after ``quarters`` clockwise quarter turns of ``face``."""
    return Cube(states_after(SLOTS, 3, geometry.turn(3, face, 1, 1, quarters)))


def _check_states(states: NDArray[np.integer[Any]]) -> States:
    """Return a read-only copy of ``states``; raises IllegalCube with the reason."""
    if states.shape != (20, 2):
        raise BadNotation(f"The states of a 3x3x3 are [20, 2] integers, not {states.shape}.")
    legality.check_range(states[:8], CORNERS)
    legality.check_range(states[8:], EDGES)
    result = states.astype(np.uint8)
    corners, edges = result[:8], result[8:]
    legality.check_once(corners[:, 0], CORNERS)
    legality.check_once(edges[:, 0], EDGES)
    legality.check_twist(corners)
    legality.check_flip(edges)
    legality.check_parity(corners, edges)
    result.setflags(write=False)
    return result


AnyCube = Cube | PocketCube | StickerCube


def from_facelets(letters: str, size: int) -> AnyCube:
    """Return the cube that looks like ``letters``; BadNotation or IllegalCube if none does."""
    if size == 3:
        return Cube.from_facelets(letters)
    if size == 2:
        return PocketCube.from_facelets(letters)
    return StickerCube.from_facelets(letters, size)


def from_scramble(moves: str, size: int) -> AnyCube:
    """Return the solved cube of ``size`` after ``moves``; BadNotation names a wrong move."""
    if size == 3:
        return Cube.from_moves(moves)
    if size == 2:
        return PocketCube.from_moves(moves)
    return StickerCube.solved(size).apply(moves)
