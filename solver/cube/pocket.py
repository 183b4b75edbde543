"""The 2x2x2 cube as its eight corners, in whatever way it is held."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from solver.cube import facelets as geometry
from solver.cube import legality
from solver.cube.legality import CORNERS
from solver.cube.notation import Move, parse_moves
from solver.cube.orientation import all_orientations, site_facelets
from solver.cube.pieces import PieceCube, States, states_after
from solver.errors import BadNotation

REFERENCE = CORNERS.index("DLB")
"""Slot and cubie that stay in place if only U, R and F turn; it determines the colour scheme."""


class PocketCube(PieceCube):
    """A legal 2x2x2 cube: ``states`` uint8[8, 2] in the corner slots' order, read-only.

    Without centres, "solved" means every face of one colour, in whatever way the cube is held. The
    corner DLB determines which letters the faces then show. Orientations 0..2 as in ``Cube``.
    """

    __slots__ = ()
    size: ClassVar[int] = 2
    slots: ClassVar[tuple[str, ...]] = CORNERS

    def __init__(self, states: NDArray[np.integer[Any]]) -> None:
        """Take integers[8, 2]; raises IllegalCube with the reason."""
        object.__setattr__(self, "states", _check_states(np.asarray(states)))

    @classmethod
    def from_facelets(cls, facelets: str) -> PocketCube:
        """Read 24 letters URFDLB; BadNotation for other letters, IllegalCube with the reason."""
        legality.check_letters(facelets, 2)
        legality.check_counts(facelets, 2)
        return cls(legality.pieces(legality.words_of(facelets, CORNERS, 2), CORNERS))

    @classmethod
    def from_moves(cls, moves: str | Iterable[Move]) -> PocketCube:
        """Return the solved cube after ``moves``."""
        return cls.solved().apply(moves)

    @classmethod
    def random(cls, rng: np.random.Generator) -> PocketCube:
        """Return a uniformly random legal cube with the corner DLB at home."""
        others = np.delete(np.arange(8), REFERENCE)
        states = np.zeros((8, 2), dtype=np.uint8)
        states[REFERENCE, 0] = REFERENCE
        states[others, 0] = rng.permutation(others)
        states[others, 1] = rng.integers(0, 3, 7)
        states[others[-1], 1] = -states[others[:-1], 1].sum(dtype=np.int64) % 3
        return cls._trusted(states)

    @property
    def is_solved(self) -> bool:
        """True if every face shows one colour."""
        return self.relative == PocketCube.solved()

    @property
    def relative(self) -> PocketCube:
        """The same arrangement with colours named so that the corner DLB is at home.

        Moves that solve the one solve the other.
        """
        reference = self.states[REFERENCE]
        for held in whole_rotations():
            renamed = held * self
            if tuple(renamed.states[REFERENCE]) == (REFERENCE, 0):
                return renamed
        raise AssertionError(f"no rotation brings {reference} home")

    def move(self, move: Move) -> PocketCube:
        """Return the cube after one move."""
        first, last = move.layers(2)
        return self * block_turn(move.face, first, last, move.quarters)

    def apply(self, moves: str | Iterable[Move]) -> PocketCube:
        """Return the cube after ``moves``, a string or parsed moves, rotations included."""
        parsed = parse_moves(moves, 2) if isinstance(moves, str) else moves
        cube = self
        for move in parsed:
            cube = cube.move(move)
        return cube


@cache
def block_turn(face: str, first: int, last: int, quarters: int) -> PocketCube:
    """Return the solved cube after layers ``first``..``last`` from ``face`` turned clockwise."""
    return PocketCube(states_after(CORNERS, 2, geometry.turn(2, face, first, last, quarters)))


@cache
def whole_rotations() -> tuple[PocketCube, ...]:
    """Return the solved cube held in each of the 24 orientations, by their index."""
    return tuple(
        PocketCube(states_after(CORNERS, 2, site_facelets(held, 2))) for held in all_orientations()
    )


def _check_states(states: NDArray[np.integer[Any]]) -> States:
    """Return a read-only copy of ``states``; raises IllegalCube with the reason."""
    if states.shape != (8, 2):
        raise BadNotation(f"The states of a 2x2x2 are [8, 2] integers, not {states.shape}.")
    legality.check_range(states, CORNERS)
    result = states.astype(np.uint8)
    legality.check_once(result[:, 0], CORNERS)
    legality.check_twist(result)
    result.setflags(write=False)
    return result


PLACES = tuple(map(CORNERS.index, ("UBL", "URB", "ULF", "UFR", "DFL", "DRF", "DBR")))
"""Our slot of each of the seven places."""


def from_relative_to_dlb(cp: Sequence[int], co: Sequence[int]) -> PocketCube:
    """Return the cube with these seven corners; BadNotation or IllegalCube if there is none."""
    if len(cp) != len(PLACES) or len(co) != len(PLACES):
        raise BadNotation(f"There are 7 corners and 7 orientations, not {len(cp)} and {len(co)}.")
    if sorted(cp) != list(range(7)) or not set(co) <= {0, 1, 2}:
        raise BadNotation("The corners are the numbers 0 to 6, each once; orientations 0, 1 or 2.")
    states = np.zeros((8, 2), dtype=np.uint8)
    states[REFERENCE, 0] = REFERENCE
    for place, corner, turns in zip(PLACES, cp, co, strict=True):
        states[place] = PLACES[corner], -turns % 3
    return PocketCube(states)


def relative_to_dlb(cube: PocketCube) -> tuple[list[int], list[int]]:
    """Return ``cp`` and ``co`` of the cube, colours named so that the corner DLB is at home."""
    rows = cube.relative.states[list(PLACES)].tolist()
    return [PLACES.index(cubie) for cubie, _ in rows], [-turns % 3 for _, turns in rows]
