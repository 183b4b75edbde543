"""Kociemba's two-phase algorithm in any metric and for any cost model, by the kernel."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import NamedTuple

from solver import _native, tables
from solver.cost import IMPOSSIBLE, CostModel, TurnCosts, composites_of, moves_of, turns_of
from solver.cube.centres import add_turns, count_turns, require_possible, turn_alone
from solver.cube.cube import Cube
from solver.cube.metrics import length
from solver.errors import SearchError
from solver.processors import processors
from solver.solution import PROVEN, Request, Solution

TABLE_VERSION = 4
"""Version of the tables. It changes whenever the kernel would fill one differently."""

TYPICAL_LENGTHS = {"htm": 18, "axial": 14}
"""Metrics that may guide a search in a robot's time, with the lengths of good solutions."""

IN_QUARTERS = {"htm": "qtm", "axial": "axial-qtm"}
"""Metrics that guide it instead if half turns take at least HEAVY_HALF_TURN quarter turns."""

HEAVY_HALF_TURN = 1.3
"""A limit by measurement: at 1.45 counting quarters is as good or better, at 1.16 much worse."""

_DIRECTIONS = 6

NO_LIMIT = 0xFFFFFFFF
"""A cost above that of any solution."""


def search(cube: Cube, request: Request) -> list[Solution]:
    """Return the best solutions found, at least one, however short the time.

    Raises SearchError if stopped before any, or if the robot can turn too few faces, InvalidRequest
    for turns of the centres that no solution makes.
    """
    if request.centres is not None:
        require_possible(cube, request.centres)
    start = None if request.cost is None else ready_from(request.cost)
    metric = request.metric if start is None else start.metric
    two_phase = kernel(metric, request)
    centre_table = None if request.centres is None else _ready_centres(metric, request)
    started = time.perf_counter()

    def report(found: _AnyFound) -> None:
        if request.on_better is not None:
            spent_s = time.perf_counter() - started
            request.on_better(_solution(cube, request, found, None, spent_s))

    result = two_phase.solve(
        cube.states,
        time_limit=request.time_limit,
        threads=request.threads,
        directions=_DIRECTIONS,
        solutions=request.solutions,
        target=-1 if request.target is None else request.target,
        model=None if start is None else start.model,
        models=None if start is None else start.models,
        cancel=request.cancel,
        on_better=report if request.on_better is not None else None,
        centre_table=centre_table,
        centres=request.centres,
    )
    kept: Sequence[_AnyFound] = result.solutions
    is_stopped = request.cancel is not None and request.cancel.is_set()
    begun_s = time.thread_time()
    if not kept and request.centres is not None and not is_stopped:
        kept = _turn_centres_last(cube, request, two_phase, start)
        for found in kept:
            report(found)
    cpu_s = result.cpu_s + time.thread_time() - begun_s
    spent_s = time.perf_counter() - started
    if not kept:
        if is_stopped:
            raise SearchError("The search was stopped before it found a solution.")
        raise SearchError(
            "This robot cannot solve the cube: it can turn too few of its faces",
            "let its profile turn more faces, or rotate the whole cube",
        )
    figures = _Figures(result, kept[0], cpu_s)
    return [_solution(cube, request, found, figures, spent_s) for found in kept]


@dataclass(frozen=True)
class _Composed:
    """A solution that no search found as a whole, with the kernel's attribute names."""

    composites: tuple[int, ...]
    length: int
    cost: int


_AnyFound = _native.Found | _Composed


def _turn_centres_last(
    cube: Cube, request: Request, two_phase: _native.TwoPhase, start: Start | None
) -> Sequence[_Composed]:
    """Return a solution that turns the centres after all other pieces; empty if impossible.

    It is long, but found at once. If only centres are turned, searches need seconds.
    """
    assert request.centres is not None
    best = find_one(two_phase, cube, request, seconds=0.0, threads=1, start=start)
    if best is None:
        return ()
    moves = turns_of(best.composites)
    left = add_turns(request.centres, tuple(-q % 4 for q in count_turns(moves)))
    moves += turn_alone(left)
    composites = composites_of(moves)
    count = length(turns_of(composites), request.metric)
    cost = count if start is None else start.model.cost(composites)
    return () if cost == IMPOSSIBLE else (_Composed(composites, count, cost),)


def find_one(
    two_phase: _native.TwoPhase,
    cube: Cube,
    request: Request,
    *,
    seconds: float,
    threads: int,
    start: Start | None,
    below: int = NO_LIMIT,
) -> _native.Found | None:
    """Return the best solution found in ``seconds``; None if there is none.

    ``start``: the robot whose time counts; without one, the shortest is the best. ``below``: a cost
    that it must be less than. The request can only cancel the search.
    """
    result = two_phase.solve(
        cube.states,
        time_limit=seconds,
        threads=threads,
        directions=_DIRECTIONS,
        solutions=1,
        target=-1,
        model=None if start is None else start.model,
        models=None if start is None else start.models,
        cancel=request.cancel,
        on_better=None,
        below=below,
    )
    return result.solutions[0] if result.solutions else None


def ready_kernel(request: Request) -> _native.TwoPhase:
    """Return the kernel's search for the request's robot or metric; raises as :func:`kernel`."""
    metric = request.metric if request.cost is None else ready_for(request.cost.turns).metric
    return kernel(metric, request)


kernels: dict[str, _native.TwoPhase] = {}
"""Searches in memory, by metric."""
_tables: list[tables.Bytes] = []


def kernel(metric: str, request: Request | None = None) -> _native.TwoPhase:
    """Return the kernel's search in ``metric``; its tables are made or loaded on the first call.

    Progress goes to ``request``; raises SearchError if it is cancelled meanwhile.
    """
    if metric not in kernels:
        sizes = _native.phase1_size(metric), _native.phase2_size(metric)
        what = f"the pruning tables of two-phase in {metric} ({sum(sizes) / 1e6:.0f} MB)"
        with tables.making(what, request or Request(), shares=sizes) as making:
            if metric not in kernels:  # another thread may have loaded it meanwhile
                kernels[metric] = _load(metric, making)
    return kernels[metric]


_centre_tables: dict[str, _native.CentreTable] = {}


def _ready_centres(metric: str, request: Request) -> _native.CentreTable:
    """Return the distances of corners and centres in phase 2; raises as :func:`kernel` does."""
    if metric not in _centre_tables:
        two_phase, size = kernel(metric, request), _native.CENTRE_TABLE_BYTES
        what = f"the table of centres in {metric} ({size / 1e6:.0f} MB)"
        with tables.making(what, request):
            if metric not in _centre_tables:  # another thread may have loaded it meanwhile
                make = partial(_native.CentreTable.make, two_phase)
                data = tables.load(f"centres-{metric}", TABLE_VERSION, size, make)
                _tables.append(data)
                _centre_tables[metric] = _native.CentreTable(metric, data)
    return _centre_tables[metric]


def _load(metric: str, making: tables.Making) -> _native.TwoPhase:
    threads = processors()
    phase1 = tables.load(
        f"phase1-{metric}",
        TABLE_VERSION,
        _native.phase1_size(metric),
        lambda data, progress: _native.make_phase1(metric, data, threads, progress),
    )
    making.begin_table(1)
    phase2 = tables.load(
        f"phase2-{metric}",
        TABLE_VERSION,
        _native.phase2_size(metric),
        lambda data, progress: _native.make_phase2(metric, data, threads, progress),
    )
    _tables.extend((phase1, phase2))
    return _native.TwoPhase(metric, phase1, phase2)


def release_tables() -> None:
    """Release the memory of all tables until they are read again."""
    for table in tuple(_tables):
        tables.release_pages(table)


def table_bytes(metric: str) -> int:
    """Return the bytes on disk of the tables of ``metric``, without the one of centres."""
    return _native.phase1_size(metric) + _native.phase2_size(metric) + 2 * tables.HEADER_SIZE


@dataclass(frozen=True)
class Robot:
    """A robot's turns in the kernel, with the metric whose distances say most about its time."""

    metric: str
    turns: _native.TurnCosts
    times: _native.RobotTimes


@dataclass(frozen=True)
class Start:
    """A start of a search in a robot's time, prepared for the kernel."""

    metric: str
    model: _native.CostModel
    models: _native.TimeModels


@lru_cache(maxsize=2)
def ready_for(costs: TurnCosts) -> Robot:
    """Prepare a robot's turns for searches from any start."""
    turns = _native.TurnCosts(costs.next, costs.final)
    choices = {metric: _native.RobotTimes(turns, metric) for metric in TYPICAL_LENGTHS}
    metric = max(choices, key=lambda name: choices[name].least_us(TYPICAL_LENGTHS[name]))
    if costs.half_turn_weight() < HEAVY_HALF_TURN:
        return Robot(metric, turns, choices[metric])
    metric = IN_QUARTERS[metric]
    return Robot(metric, turns, _native.RobotTimes(turns, metric))


@lru_cache(maxsize=1)
def ready_from(cost: CostModel) -> Start:
    """Prepare a start; the last one is cached, as many cubes in a row may begin from it."""
    robot = ready_for(cost.turns)
    model = _native.CostModel(robot.turns, cost.first)
    return Start(robot.metric, model, _native.TimeModels(robot.times, model))


def models_in(metric: str, cost: CostModel) -> _native.TimeModels:
    """Prepare a start for a metric of the caller's choice."""
    times = _native.RobotTimes(ready_for(cost.turns).turns, metric)
    return _native.TimeModels(times, ready_from(cost).model)


class _Figures(NamedTuple):
    """The figures of a finished search, and its best solution."""

    result: _native.TwoPhaseResult
    best: _AnyFound
    cpu_s: float


def _solution(
    cube: Cube,
    request: Request,
    found: _AnyFound,
    figures: _Figures | None,
    search_s: float,
) -> Solution:
    """Return a solution found; ``figures`` is None while the search still runs."""
    moves = moves_of(found.composites)
    count = (
        found.length if request.cost is None else length(turns_of(found.composites), request.metric)
    )
    lower_bound = _lower_bound(request, figures)
    return Solution(
        state=cube.facelets(),
        algorithm="two-phase",
        metric=request.metric,
        moves=moves,
        length=count,
        optimal=count == lower_bound,
        lower_bound=lower_bound,
        search_s=search_s,
        cpu_s=0.0 if figures is None else figures.cpu_s,
        cost_us=None if request.cost is None else found.cost,
        composites=tuple(found.composites),
        extra={} if figures is None else _list_extra(request, figures),
    )


def _list_extra(request: Request, figures: _Figures) -> dict[str, object]:
    result, best_us = figures.result, figures.best.cost
    exhausted = result.exhausted or False
    extra: dict[str, object] = {
        "nodes": result.nodes,
        "probes": result.probes,
        "exhausted": exhausted,
    }
    if request.cost is not None:
        least_us = ready_from(request.cost).models.least_us(result.lower_bound)
        extra["lower_bound_us"] = best_us if exhausted == PROVEN else min(least_us, best_us)
    return extra


def _lower_bound(request: Request, figures: _Figures | None) -> int:
    """Return the lower bound in the request's metric; 0 while the search goes on."""
    if figures is None or request.cost is not None:
        return 0
    result, best = figures.result, figures.best.length
    return best if result.exhausted == PROVEN else min(best, max(result.lower_bound, 1))
