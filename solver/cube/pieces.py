"""Cubes as pieces in slots: the common base of the 2x2x2 and the 3x3x3."""

from __future__ import annotations

from functools import cache
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from solver.cube import facelets as geometry

States = NDArray[np.uint8]
"""uint8[n, 2] per slot: column 0 the cubie in it (numbered per kind), column 1 its orientation."""


class PieceCube:
    """An immutable arrangement of pieces; ``states`` is read-only.

    Equal cubes compare and hash equal. ``a * b`` is the solved cube after the moves that make ``a``
    and then those that make ``b``. Subclasses name their slots and check their arguments.
    """

    __slots__ = ("_known_homes", "states")
    size: ClassVar[int]
    slots: ClassVar[tuple[str, ...]]
    states: States
    _known_homes: NDArray[np.int64]

    @classmethod
    def _trusted(cls, states: States) -> Self:
        """Return a cube of ``states`` that are legal by construction; it takes over the array."""
        cube = object.__new__(cls)
        states.setflags(write=False)
        object.__setattr__(cube, "states", states)
        return cube

    @classmethod
    def solved(cls) -> Self:
        """Return the cube with every piece at home, unturned."""
        homes = _numbers(cls.slots)
        return cls._trusted(np.stack([homes, np.zeros_like(homes)], axis=1))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable; cannot set {name}")

    def __reduce__(self) -> tuple[type[Self], tuple[States]]:
        return type(self), (self.states,)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and bool((self.states == other.states).all())

    def __hash__(self) -> int:
        return hash(self.states.tobytes())

    def __repr__(self) -> str:
        return f"{type(self).__name__}.from_facelets('{self.facelets()}')"

    def __mul__(self, later: Self) -> Self:
        moved = self.states[later._homes()]
        moved[:, 1] = (moved[:, 1] + later.states[:, 1]) % _turns(self.slots)
        return self._trusted(moved)

    @property
    def inverse(self) -> Self:
        """The cube that gives the solved one when composed with this one, on either side."""
        homes, turns = self._homes(), _turns(self.slots)
        inverted = np.empty_like(self.states)
        inverted[homes, 0] = _numbers(self.slots)
        inverted[homes, 1] = (turns - self.states[:, 1]) % turns
        return self._trusted(inverted)

    def facelets(self) -> str:
        """Return the letters, faces U R F D L B read as in Kociemba's drawing."""
        solved, spots, words = _drawing(self.slots, self.size)
        drawn = solved.copy()
        drawn[spots] = words[self._homes(), self.states[:, 1]]
        return drawn[:-1].tobytes().decode("ascii")

    def _homes(self) -> NDArray[np.int64]:
        """Return the home slot of the cubie in each slot, int64[n]."""
        try:
            return self._known_homes
        except AttributeError:
            homes = self.states[:, 0] + _starts(self.slots)
            object.__setattr__(self, "_known_homes", homes)
            return homes


def spin(name: str, turns: int) -> str:
    """Return a piece's letters as read in the order of its slot when turned ``turns`` times."""
    return name[-turns:] + name[:-turns] if turns else name


@cache
def _numbers(slots: tuple[str, ...]) -> States:
    """Return the cubie that is at home in each slot: corners and edges each counted from 0."""
    corners = sum(len(slot) == 3 for slot in slots)
    return np.array([i if i < corners else i - corners for i in range(len(slots))], dtype=np.uint8)


@cache
def _starts(slots: tuple[str, ...]) -> NDArray[np.int64]:
    """Return the first slot of each slot's kind."""
    return np.arange(len(slots)) - _numbers(slots)


@cache
def _turns(slots: tuple[str, ...]) -> States:
    """Return the number of orientations of a piece in each slot."""
    return np.array([len(slot) for slot in slots], dtype=np.uint8)


@cache
def _drawing(
    slots: tuple[str, ...], size: int
) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.uint8]]:
    """Return the solved letters, the facelets of each slot, and the letters of each turned piece.

    Edges have a third letter like corners; it is drawn behind the last facelet.
    """
    area = size * size
    letters = "".join(face * area for face in geometry.FACES) + " "
    solved = np.frombuffer(letters.encode(), dtype=np.uint8)
    spots = [(*geometry.slot_facelets(slot, size), 6 * area)[:3] for slot in slots]
    words = [
        [list(f"{spin(slot, turns % len(slot)):<3}".encode()) for turns in range(3)]
        for slot in slots
    ]
    return solved, np.array(spots), np.array(words, dtype=np.uint8)


def states_after(slots: tuple[str, ...], size: int, moved: geometry.Permutation) -> States:
    """Return the states, uint8[len(slots), 2], after a facelet permutation of the solved cube.

    Only the facelets of ``slots`` are used; ``moved`` must carry each slot into a slot.
    """
    place = {
        facelet: (slot, letter)
        for slot, name in enumerate(slots)
        for letter, facelet in enumerate(geometry.slot_facelets(name, size))
    }
    origins = [place[int(moved[geometry.slot_facelets(name, size)[0]])] for name in slots]
    numbers = _numbers(slots)
    rows = [(numbers[slot], -letter % len(slots[slot])) for slot, letter in origins]
    return np.array(rows, dtype=np.uint8)
