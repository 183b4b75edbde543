"""The 3x3x3 for learning: whole batches of cubes turned at once, one-hot states.

Actions are numbered as in the formulation that this follows: ``U u D d F f B b L l R r``, a capital
letter clockwise and a small one counter-clockwise. (Elsewhere in Cubist, small letters are wide
turns.) Its faces are numbered U D F B L R, with the colours yellow white red orange blue green.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from solver import _native
from solver.cube.cube import Cube
from solver.cube.notation import FACE_TURNS, Move
from solver.errors import BadNotation

ACTIONS = ("U", "u", "D", "d", "F", "f", "B", "b", "L", "l", "R", "r")
"""Names of actions by number."""

FACES = ("U", "D", "F", "B", "L", "R")
"""Faces by number, for pictures."""

COLOURS = ("yellow", "white", "red", "orange", "blue", "green")
"""Colours of :data:`FACES`."""

Batch = NDArray[np.uint8]
"""uint8[n, 20, 2]: ``Cube.states`` of n cubes."""


def move_of(action: int) -> Move:
    """Return the face turn of an action, 0..11."""
    name = ACTIONS[action]
    return Move(name.upper(), 1 if name.isupper() else 3)


_TURNS = np.array([FACE_TURNS.index(move_of(a)) for a in range(len(ACTIONS))], dtype=np.uint8)


def turns_of(actions: NDArray[np.integer[Any]]) -> NDArray[np.uint8]:
    """Return the kernel's face turns, uint8[n], of actions 0..11; BadNotation for any other."""
    numbers = np.asarray(actions)
    if numbers.size and (numbers.min() < 0 or numbers.max() >= len(ACTIONS)):
        raise BadNotation(f"Actions are numbers from 0 to {len(ACTIONS) - 1}.")
    return _TURNS.take(numbers)


def reset(count: int) -> Batch:
    """Return ``count`` solved cubes."""
    return np.repeat(Cube.solved().states[None], count, axis=0)


def move(states: Batch, actions: NDArray[np.integer[Any]]) -> None:
    """Turn each cube of ``states`` in place by its own action, integers[n] of 0..11."""
    _native.turn_batch(states, turns_of(actions))


def scramble(states: Batch, turns: int, rng: np.random.Generator) -> None:
    """Turn every cube in place by ``turns`` random actions."""
    for _ in range(turns):
        move(states, rng.integers(0, len(ACTIONS), len(states)))


def one_hot(states: Batch, out: NDArray[np.uint8] | None = None) -> NDArray[np.uint8]:
    """Return uint8[n, 20, 24], ``out`` if given: ``Cube.one_hot`` of every cube.

    Raises ValueError if a cubie or orientation does not exist.
    """
    hot = np.empty((len(states), 20, 24), dtype=np.uint8) if out is None else out
    _native.one_hot(states, hot)
    return hot


def is_solved(states: Batch) -> NDArray[np.bool_]:
    """Return which of the cubes are solved, bool[n]."""
    return np.asarray((states == Cube.solved().states).all(axis=(-2, -1)))
