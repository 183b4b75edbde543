"""``reduction``: build the centres, pair the edges, then solve the remaining 3x3x3 by two-phase."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from solver import _native, two_phase
from solver.cube.cube import Cube
from solver.cube.facelets import FACES
from solver.cube.notation import Move
from solver.cube.sticker_cube import StickerCube
from solver.errors import BadNotation, IllegalCube, SearchError
from solver.reduction import phased
from solver.reduction.last_phase import Aim, Fastest, Phases, Reduction, Shortest, solve_reductions
from solver.reduction.phased import Turns
from solver.solution import Progress, Request, SearchClock, Solution, answer

LARGEST = 100
"""Maximum layers of a cube."""

PHASES = ("parity", "centres", "edges", "3x3x3")
"""Phases of the finish by exchanges of three pieces."""

FEW_TURNS = "few turns"
"""Name of the only phase of a cube that is hardly scrambled."""

WAYS, LONGER_WAYS = 64, 2
"""Number of solutions of a hardly scrambled cube that are timed on a robot, and the number of turns
that they may have more than the shortest."""

SHARE_OF_GAIN = 0.1
"""Time to search for a faster plan than that of a few turns, as a fraction of the time it could
save. Of cubes 5 to 10 turns from solved, a crane solves one in 70 faster than by any of these."""

FIRST_ANSWERS_S = 1.0
"""Seconds for the first answer of sizes without phases of their own."""

STOPPED = "The search was stopped before it found a solution."

Stickers = NDArray[np.uint8]


def search(cube: StickerCube, request: Request) -> list[Solution]:
    """Return a solution in named phases.

    Raises SearchError if cancelled before there is any, BadNotation for more than :data:`LARGEST`
    layers, IllegalCube for stickers of no cube.
    """
    if cube.size > LARGEST:
        raise BadNotation(
            f"A cube of size {cube.size} is too large: sizes up to {LARGEST} can be solved."
        )
    watch = SearchClock()
    timed, aim = request.block_costs is not None, _aim(cube.size, request)
    best = _solve_few_turns(cube, request, watch)
    if best is not None:
        limit_s = _worth_searching_s(best, request)
        if limit_s <= 0.0:
            return [best]
        request = replace(request, time_limit=limit_s)
    _make_ready(cube, request)
    watch = SearchClock()
    least_cost = best.cost_us if best is not None and best.cost_us is not None else 0
    least = int(not cube.is_solved) if best is None else best.lower_bound
    for names, phases, about in _find_solutions(cube, request, aim, watch):
        if best is not None and about >= least_cost:
            continue
        moves = tuple(chain.from_iterable(phases))
        cost = aim.cost(moves)
        if best is None or cost < least_cost:
            found = answer(cube, request, moves, watch, lower_bound=least, phases=phases)
            cost_us = cost if timed else None
            best, least_cost = replace(found, phase_names=names, cost_us=cost_us), cost
            if request.on_better is not None:
                request.on_better(best)
        if not timed and best.length <= max(least, request.target or 0):
            break
    if best is None:
        raise SearchError(STOPPED)
    return [replace(best, search_s=watch.clock_s(), cpu_s=watch.cpu_s())]


def _aim(size: int, request: Request) -> Aim:
    if request.block_costs is not None:
        return Fastest(request.block_costs)
    return Shortest(request, size)


def _make_ready(cube: StickerCube, request: Request) -> None:
    """Load or make the tables for the 3x3x3, then those for the reduction, which are used first."""
    costs = request.block_costs
    model = None if costs is None else costs.after(())[1]
    two_phase.ready_kernel(replace(request, metric="htm", cost=model))
    if cube.size in phased.SIZES:
        two_phase.release_tables()
        phased.load(cube.size, request)


def _solve_few_turns(cube: StickerCube, request: Request, watch: SearchClock) -> Solution | None:
    """Return a solution of a cube that is hardly scrambled, or not at all; None for others.

    It needs no tables. On a robot it is the fastest of several.
    """
    costs = request.block_costs
    ways, longer = (1, 0) if costs is None else (WAYS, LONGER_WAYS)
    found = geometry(cube.size).few_turns(_stickers(cube), ways, longer)
    if found is None:
        return None
    turns, least = found
    candidates = [moves_from(one, cube.size) for one in turns]
    moves = candidates[0] if costs is None else min(candidates, key=costs.time_us)
    least = least if request.metric == "obtm" else int(bool(moves))
    solution = answer(cube, request, moves, watch, lower_bound=least, phases=(moves,))
    cost_us = None if costs is None else costs.time_us(moves)
    solution = replace(solution, phase_names=(FEW_TURNS,), cost_us=cost_us)
    if request.on_better is not None:
        request.on_better(solution)
    return solution


def _worth_searching_s(short: Solution, request: Request) -> float:
    """Return the seconds to search for a faster solution than ``short``; 0 without a robot."""
    costs = request.block_costs
    if costs is None or short.cost_us is None or not short.moves:
        return 0.0
    least_us = costs.turn_times.least_us(short.lower_bound)
    return min(request.time_limit, SHARE_OF_GAIN * (short.cost_us - least_us) / 1e6)


@lru_cache(maxsize=4)
def geometry(size: int) -> _native.LayeredGeometry:
    """Return the kernel's turns of cubes of ``size``."""
    return _native.LayeredGeometry(size)


def moves_from(turns: Turns, size: int) -> tuple[Move, ...]:
    """Return the kernel's turns as moves."""
    return tuple(
        Move(FACES[face], quarters, first, 0 if last == size else last)
        for face, first, last, quarters in turns
    )


def _stickers(cube: StickerCube) -> Stickers:
    return np.array([FACES.index(letter) for letter in cube.letters], dtype=np.uint8)


def reduced_cube(stickers: Stickers, size: int) -> Cube:
    """Return the 3x3x3 that a reduced cube is equal to, with its centres at home."""
    chosen = np.array([0, 1, size - 1])
    faces = stickers.reshape(6, size, size)[:, chosen][:, :, chosen]
    letter_of = dict(zip(faces[:, 1, 1].tolist(), FACES, strict=True))
    return Cube.from_facelets("".join(letter_of.get(one, "?") for one in faces.ravel().tolist()))


def _find_solutions(
    cube: StickerCube, request: Request, aim: Aim, watch: SearchClock
) -> Iterator[tuple[tuple[str, ...], Phases, int]]:
    """Yield solutions with their phases' names and approximate costs as they are found.

    A quick search comes first, then one with all the remaining time.
    """
    none_yet = True
    for names, find, limit_s in _ways(cube, request):
        if _is_cancelled(request) or (find is _finish and not none_yet):
            return
        part = replace(request, time_limit=limit_s)
        left_s = limit_s - watch.cpu_s() / request.threads
        if not none_yet and left_s < phased.SIZES[cube.size].first_s:
            return
        two_phase.release_tables()
        reductions = _reductions(cube, part, aim, find, left_s)
        if find is phased.reductions:
            phased.release_tables(cube.size)
        for phases, cost in solve_reductions(part, aim, reductions, watch):
            none_yet = False
            yield names, phases, cost


Find = Callable[[int, Stickers, float, Request, int], list[list[Turns]]]


def _ways(cube: StickerCube, request: Request) -> Iterator[tuple[tuple[str, ...], Find, float]]:
    """Yield ways to reduce the cube, quick ones first: phases' names, function, time limit.

    Exchanges, which always succeed, come last.
    """
    limit_s = request.time_limit
    if cube.size in phased.SIZES and not cube.is_solved:
        size = phased.SIZES[cube.size]
        yield size.names, phased.reductions, min(size.first_s, limit_s)
        if limit_s >= 2 * size.first_s:
            yield size.names, phased.reductions, limit_s
            if request.block_costs is not None:
                # If all these were searched before the time is over: others, by fewer candidates.
                yield size.names, phased.reductions, limit_s
    yield PHASES, _finish, min(FIRST_ANSWERS_S, limit_s)


def _reductions(
    cube: StickerCube, request: Request, aim: Aim, find: Find, left_s: float
) -> Iterator[Reduction]:
    """Return reductions to choose from, the best first."""
    stickers = _stickers(cube)
    try:
        found = find(cube.size, stickers, left_s, request, aim.choice)
    except ValueError as error:
        raise IllegalCube("no turns reach these stickers", {"kind": "impossible-piece"}) from error
    reductions = (_reduction(cube.size, stickers, phases) for phases in found)
    if not phased.are_sorted(cube.size, request):
        return iter(sorted(reductions, key=lambda one: aim.cost(one.moves)))
    return _different(reductions)


def _different(reductions: Iterable[Reduction]) -> Iterator[Reduction]:
    """Drop reductions to a 3x3x3 seen before: they differ by turns that commute."""
    seen = set()
    for one in reductions:
        if one.cube not in seen:
            seen.add(one.cube)
            yield one


def _finish(
    size: int, stickers: Stickers, left_s: float, request: Request, choice: int
) -> list[list[Turns]]:
    del left_s, choice
    phases = geometry(size).finish(stickers, _listener(size, request))
    return [] if phases is None else [phases]


def _listener(size: int, request: Request) -> Callable[[float], bool]:
    def listen(done: float) -> bool:
        if request.progress is not None:
            request.progress(Progress(f"reducing a cube of size {size}", done))
        return not _is_cancelled(request)

    return listen


def _reduction(size: int, stickers: Stickers, phases: Sequence[Turns]) -> Reduction:
    after = stickers.copy()
    for turns in phases:
        geometry(size).turn(after, turns)
    moves = tuple(moves_from(turns, size) for turns in phases)
    return Reduction(moves, reduced_cube(after, size))


def _is_cancelled(request: Request) -> bool:
    return request.cancel is not None and request.cancel.is_set()
