"""The entry point of all searches: ``solve(cube, algorithm=..., metric=..., cost=...)``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from types import MappingProxyType

from solver import _native
from solver.cost import BlockTurnCosts, CostModel
from solver.cube.centres import CentreTurns
from solver.cube.cube import AnyCube
from solver.cube.metrics import LAYERED_METRICS, METRICS, length
from solver.cube.notation import Move, parse_moves
from solver.cube.sticker_cube import StickerCube
from solver.errors import InvalidRequest, SearchError
from solver.goal import Goal, rename_moves
from solver.mask import Mask
from solver.solution import CancelFlag, Progress, Request, SearchClock, Solution

OPTIONS = ("solutions", "tables", "depth", "centres")
"""Parts of a request that only some algorithms support."""

PATTERN = "pattern"
"""Name of a solution's last phase if the goal's own moves end it."""

SHARE_FOR_GOAL = 0.5
"""Part of the time limit for a search that finds the goal's own moves, before the search itself."""


@dataclass(frozen=True)
class Algorithm:
    """A named search. ``function`` is ``module:name``, imported when first used.

    ``sizes``: the cubes it solves (empty: any). ``metrics``: those it counts in, the default first.
    ``timed``: the function that minimises the time on a robot, if there is one. ``options``: those
    of :data:`OPTIONS` that it supports.
    """

    function: str
    sizes: Sequence[int]
    metrics: tuple[str, ...]
    about: str
    timed: str = ""
    options: tuple[str, ...] = ()

    def load(self, *, timed: bool) -> Callable[[AnyCube, Request], list[Solution]]:
        """Import and return the function."""
        module, _, name = (self.timed if timed else self.function).partition(":")
        loaded: Callable[[AnyCube, Request], list[Solution]] = getattr(import_module(module), name)
        return loaded


ALGORITHMS: Mapping[str, Algorithm] = MappingProxyType(
    {
        "two-phase": Algorithm(
            "solver.two_phase:search",
            (3,),
            METRICS,
            "Kociemba's two phases; good at once, better with time",
            timed="solver.two_phase:search",
            options=("solutions", "centres"),
        ),
        "optimal": Algorithm(
            "solver.optimal:search",
            (3,),
            ("htm", "qtm"),
            "IDA*: a shortest solution, or the fastest on a robot, with proof",
            timed="solver.fastest:search",
            options=("tables",),
        ),
        "thistlethwaite": Algorithm(
            "solver.thistlethwaite:search", (3,), ("htm",), "four phases, each reported separately"
        ),
        "exact": Algorithm(
            "solver.pocket:search_exact",
            (2,),
            ("htm", "qtm"),
            "2x2x2 by complete tables: shortest, or fastest on a robot",
            timed="solver.pocket:search_exact",
        ),
        "ida-star": Algorithm(
            "solver.pocket:search_ida_star",
            (2,),
            ("htm", "qtm"),
            "2x2x2 by IDA* with tables of corner permutation and orientation",
        ),
        "bfs-pruned": Algorithm(
            "solver.pocket:search_bfs_pruned",
            (2,),
            ("htm", "qtm"),
            "2x2x2 breadth-first, pruned by the same tables",
        ),
        "reduction": Algorithm(
            "solver.reduction.search:search",
            range(4, 101),
            LAYERED_METRICS,
            "4 and more layers: centres, edges, then the 3x3x3; solves every cube",
            timed="solver.reduction.search:search",
        ),
        "heuristic-db": Algorithm(
            "solver.nxn.database:search",
            (),
            ("htm", "qtm"),
            "any size, shallow scrambles: breadth-first database and IDA*",
            options=("depth",),
        ),
        "bfs": Algorithm("solver.pocket:search_bfs", (2,), ("htm", "qtm"), "2x2x2 breadth-first"),
    }
)


def solve(  # noqa: PLR0913 - what a person may ask for, all by name
    cube: AnyCube,
    *,
    algorithm: str = "two-phase",
    metric: str = "htm",
    cost: CostModel | None = None,
    block_costs: BlockTurnCosts | None = None,
    time_limit: float = 1.0,
    threads: int = 1,
    cancel: CancelFlag | None = None,
    on_better: Callable[[Solution], None] | None = None,
    target: int | None = None,
    progress: Callable[[Progress], None] | None = None,
    goal: Goal | None = None,
    centres: CentreTurns | None = None,
) -> Solution:
    """Return the best solution found in ``time_limit`` s; see :class:`solver.solution.Request`.

    Raises InvalidRequest for a request that no algorithm fits, and SearchError if time or limits
    ended the search before any solution was found.
    """
    request = Request(
        algorithm=algorithm,
        metric=metric,
        cost=cost,
        block_costs=block_costs,
        time_limit=time_limit,
        threads=threads,
        cancel=cancel,
        on_better=on_better,
        target=target,
        progress=progress,
        goal=goal,
        centres=centres,
    )
    return solve_many(cube, request)[0]


def make_ready(size: int, request: Request) -> None:
    """Load or make the tables that searches for ``request.cost`` need; raises as solve does."""
    from solver import two_phase
    from solver.reduction import phased

    if size == 2:
        from solver.pocket import ready_kernel

        ready_kernel(request)
    else:
        two_phase.ready_kernel(request)
        if size in phased.SIZES:
            two_phase.release_tables()
            phased.load(size, request)


def solve_many(cube: AnyCube, request: Request) -> list[Solution]:
    """Return 1 to ``request.solutions`` distinct solutions, best first; raises as solve does."""
    if request.goal is None:
        return _solve(cube, request)
    if request.goal.mask is not None:
        return _solve(cube, request, request.goal.mask)
    return _GoalSearch(cube, request, request.goal).run()


class _GoalSearch:
    """A search that solves the cube that leads to a goal, and returns solutions for ``cube``."""

    def __init__(self, cube: AnyCube, request: Request, goal: Goal) -> None:
        self._cube, self._request = cube, request
        self._last: tuple[Move, ...] = ()
        self._first: Solution | None = None
        other = goal.cube_to_solve(cube)
        if other is None:
            if goal.moves is None:
                _find_algorithm(cube, request)
                goal = replace(goal, moves=self._search_moves(goal))
            nearest, self._last = goal.take_back()
            other = nearest.cube_to_solve(cube)
        assert other is not None, "the centres of a goal that was taken back are together"
        self._other = other

    def run(self) -> list[Solution]:
        on_better = self._request.on_better

        def report(found: Solution) -> None:
            if on_better is not None:
                on_better(self._complete(found))

        target, limit_s = self._request.target, self._request.time_limit
        if target is not None:
            metric, size = self._request.metric, self._cube.size
            target = max(0, target - length(self._last, metric, size))
        if self._first is not None:
            limit_s = max(0.0, limit_s - self._first.cpu_s / self._request.threads)
        request = replace(
            self._request,
            goal=None,
            on_better=report if on_better else None,
            target=target,
            time_limit=limit_s,
        )
        try:
            return [self._complete(found) for found in _solve(self._other, request)]
        except SearchError as error:
            if self._first is not None:
                error.cpu_s += self._first.cpu_s
                error.cut_by_clock |= self._first.cut_by_clock
            raise

    def _search_moves(self, goal: Goal) -> tuple[Move, ...]:
        """Return moves that turn a solved cube into the goal: the inverse of its solution."""
        assert isinstance(goal.cube, StickerCube)
        request = Request(
            algorithm="reduction",
            metric=LAYERED_METRICS[0],
            time_limit=SHARE_FOR_GOAL * self._request.time_limit,
            threads=self._request.threads,
            cancel=self._request.cancel,
            progress=self._request.progress,
        )
        [self._first] = _solve(goal.cube, request)
        solving = parse_moves(" ".join(self._first.moves))
        return tuple(move.inverse for move in reversed(solving))

    def _complete(self, found: Solution) -> Solution:
        """Return a solution of the other cube as one of the requested cube."""
        if self._first is not None:
            found = replace(
                found,
                search_s=self._first.search_s + found.search_s,
                cpu_s=self._first.cpu_s + found.cpu_s,
                cut_by_clock=self._first.cut_by_clock or found.cut_by_clock,
            )
        if not self._last:
            return replace(found, state=self._cube.facelets())
        metric, moves = found.metric, parse_moves(" ".join(found.moves))
        last = rename_moves(self._last, self._other.apply(moves))
        least = int(bool(moves or last))
        costs = self._request.block_costs
        return replace(
            found,
            state=self._cube.facelets(),
            moves=(*found.moves, *map(str, last)),
            length=length((*moves, *last), metric, self._cube.size),
            optimal=False,
            lower_bound=least,
            phases=(*(found.phases or (found.moves,)), tuple(map(str, last))),
            phase_names=None if found.phase_names is None else (*found.phase_names, PATTERN),
            cost_us=None if costs is None else costs.time_us((*moves, *last)),
        )


def _solve(cube: AnyCube, request: Request, mask: Mask | None = None) -> list[Solution]:
    found = _find_algorithm(cube, request, mask)
    function = found.load(timed=_is_timed(request)) if mask is None else _load_partial(mask)
    cuts_before, watch = _native.clock_cuts(), SearchClock()
    try:
        solutions = function(cube, request)
    except RuntimeError as error:
        if _native.has_lost_table():
            raise _lost_table() from error
        if isinstance(error, SearchError):
            error.cpu_s = round(watch.cpu_s(), 4)
            error.cut_by_clock = _native.clock_cuts() != cuts_before
        raise
    if _native.has_lost_table():
        raise _lost_table()
    if _native.clock_cuts() == cuts_before:
        return solutions
    return [replace(solution, cut_by_clock=True) for solution in solutions]


def _find_algorithm(cube: AnyCube, request: Request, mask: Mask | None = None) -> Algorithm:
    """Return the request's algorithm; raises InvalidRequest if it does not fit cube or request."""
    timed = _is_timed(request)
    found = algorithm_for(request.algorithm, cube.size, metric=request.metric, timed=timed)
    if mask is None:
        _refuse_unheeded(request, request.algorithm, found.options)
    else:
        searcher = "The search for a goal that leaves pieces free"
        _refuse_unheeded(request, searcher, ("solutions", "centres"))
    return found


def _is_timed(request: Request) -> bool:
    return request.cost is not None or request.block_costs is not None


def _refuse_unheeded(request: Request, searcher: str, heeded: Sequence[str]) -> None:
    """Raise InvalidRequest if the request sets an option that would have no effect."""
    for option in OPTIONS:
        value = getattr(request, option)
        if option not in heeded and value != getattr(Request(), option):
            raise InvalidRequest(f"{searcher} has no option {option} ({value})", f"omit {option}")


def _load_partial(mask: Mask) -> Callable[[AnyCube, Request], list[Solution]]:
    from solver import partial

    return lambda cube, request: partial.search(cube, request, mask)


def _lost_table() -> SearchError:
    return SearchError(
        "A table of the search was cut short or cannot be read; start the program again."
    )


def _unknown_algorithm(text: str) -> InvalidRequest:
    return InvalidRequest(text, code="unknown-algorithm")


def algorithm_for(name: str, size: int, *, metric: str, timed: bool) -> Algorithm:
    """Return the search of that name, for cubes of ``size``; raises InvalidRequest if none fits."""
    algorithm = ALGORITHMS.get(name)
    if algorithm is None:
        names = ", ".join(ALGORITHMS)
        raise _unknown_algorithm(f"There is no algorithm {name!r}; use one of {names}.")
    if algorithm.sizes and size not in algorithm.sizes:
        raise _unknown_algorithm(
            f"{name} does not solve a cube of size {size}; these do: {_fitting(size)}."
        )
    if metric not in algorithm.metrics:
        raise _unknown_algorithm(
            f"{name} does not count in {metric!r}, only in {', '.join(algorithm.metrics)}."
        )
    if timed and not algorithm.timed:
        raise _unknown_algorithm(f"{name} does not search in a robot's time.")
    return algorithm


def _fitting(size: int) -> str:
    names = [name for name, entry in ALGORITHMS.items() if not entry.sizes or size in entry.sizes]
    return ", ".join(names)
