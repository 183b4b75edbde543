"""``reduction``: centres built, edges paired, then the 3x3x3 that is left by two-phase."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from solver import _native, two_phase
from solver.cost import moves_of
from solver.cube.cube import Cube
from solver.cube.facelets import FACES
from solver.cube.notation import Move, parse_moves
from solver.cube.sticker_cube import StickerCube
from solver.errors import BadNotation, IllegalCube, SearchFailed
from solver.solution import Progress, Request, Solution, Stopwatch, answer

LARGEST = 100
"""Layers of a cube."""

PHASES = ("parity", "centres", "edges", "3x3x3")

LAST_PHASE_S = 1.0
"""The most that two-phase gets, and what nearly always suffices for an answer."""
LEAST_LAST_PHASE_S = 0.02

STOPPED = "The search was stopped before it found a solution."

Stickers = NDArray[np.uint8]
Turns = list[tuple[int, int, int, int]]


@dataclass(frozen=True)
class Reduction:
    """Turns by phase, after which the cube is a 3x3x3."""

    phases: Sequence[Turns]


def search(cube: StickerCube, request: Request) -> list[Solution]:
    """A solution in phases, each told by its name.

    Raises SearchFailed when it is cancelled, BadNotation for more than :data:`LARGEST` layers,
    IllegalCube for stickers of no cube.
    """
    if cube.size > LARGEST:
        raise BadNotation(
            f"A cube of size {cube.size} is too large: up to {LARGEST} can be solved."
        )
    two_phase.kernel("htm", request)
    watch = Stopwatch()
    stickers = np.array([FACES.index(letter) for letter in cube.letters], dtype=np.uint8)
    reduction = _finished(cube.size, stickers, request)
    phases = [moves_from(turns, cube.size) for turns in reduction.phases]
    left_s = min(request.time_limit - watch.clock_s(), LAST_PHASE_S)
    reduced = _turned(cube.size, stickers, reduction)
    last = _last_phase(reduced_cube(reduced, cube.size), request, left_s)
    phases.append(last)
    moves = chain.from_iterable(phases)
    least = int(not cube.is_solved)
    found = answer(cube, request, moves, watch, lower_bound=least, phases=phases)
    return [replace(found, phase_names=PHASES)]


@lru_cache(maxsize=4)
def geometry(size: int) -> _native.LayeredGeometry:
    """How cubes of ``size`` turn, in the kernel."""
    return _native.LayeredGeometry(size)


def moves_from(turns: Turns, size: int) -> tuple[Move, ...]:
    """The kernel's turns in our notation."""
    return tuple(
        Move(FACES[face], quarters, first, 0 if last == size else last)
        for face, first, last, quarters in turns
    )


def reduced_cube(stickers: Stickers, size: int) -> Cube:
    """The 3x3x3 that a reduced cube is, with its centres where they belong."""
    chosen = np.array([0, 1, size - 1])
    faces = stickers.reshape(6, size, size)[:, chosen][:, :, chosen]
    letter_of = dict(zip(faces[:, 1, 1].tolist(), FACES, strict=True))
    return Cube.from_facelets("".join(letter_of.get(one, "?") for one in faces.ravel().tolist()))


def _finished(size: int, stickers: Stickers, request: Request) -> Reduction:
    try:
        phases = geometry(size).finish(stickers, _listener(size, request))
    except ValueError as error:
        raise IllegalCube("no turns reach these stickers", {"kind": "impossible-piece"}) from error
    if phases is None:
        raise SearchFailed(STOPPED)
    return Reduction(phases)


def _listener(size: int, request: Request) -> Callable[[float], bool]:
    def listen(done: float) -> bool:
        if request.progress is not None:
            request.progress(Progress(f"reducing a cube of size {size}", done))
        return request.cancel is None or not request.cancel.is_set()

    return listen


def _turned(size: int, stickers: Stickers, reduction: Reduction) -> Stickers:
    after = stickers.copy()
    for turns in reduction.phases:
        geometry(size).turn(after, turns)
    return after


def _last_phase(cube: Cube, request: Request, seconds: float) -> tuple[Move, ...]:
    """The 3x3x3's solution, for which there is always time; SearchFailed when it is cancelled."""
    given_s = max(seconds, LEAST_LAST_PHASE_S)
    while request.cancel is None or not request.cancel.is_set():
        result = two_phase.kernel("htm").solve(
            cube.states,
            time_limit=given_s,
            threads=request.threads,
            directions=6,
            solutions=1,
            target=-1,
            model=None,
            models=None,
            cancel=request.cancel,
            on_better=None,
        )
        if result.solutions:
            return parse_moves(" ".join(moves_of(result.solutions[0].composites)))
        given_s *= 4
    raise SearchFailed(STOPPED)
