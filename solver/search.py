"""The way in to every search: ``solve(cube, algorithm=..., metric=..., cost=...)``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType

from solver.cost import CostModel
from solver.cube.cube import Cube
from solver.cube.notation import LAYERED_METRICS, METRICS
from solver.cube.pocket import PocketCube
from solver.cube.sticker_cube import StickerCube
from solver.errors import CubistError
from solver.solution import CancelFlag, Progress, Request, Solution

AnyCube = Cube | PocketCube | StickerCube


class UnknownAlgorithm(CubistError, ValueError):
    """An algorithm that does not exist, or that does not do what it is asked for."""


@dataclass(frozen=True)
class Algorithm:
    """A search by name. ``function`` is ``module:name``, imported when first used.

    ``sizes`` are the cubes it solves (empty: any), ``metrics`` those it counts in, the usual one
    first, ``cost`` whether it minimises the time on a robot.
    """

    function: str
    sizes: Sequence[int]
    metrics: tuple[str, ...]
    about: str
    cost: bool = False

    def load(self) -> Callable[[AnyCube, Request], list[Solution]]:
        """The function behind the name."""
        module, _, name = self.function.partition(":")
        loaded: Callable[[AnyCube, Request], list[Solution]] = getattr(import_module(module), name)
        return loaded


ALGORITHMS: Mapping[str, Algorithm] = MappingProxyType(
    {
        "two-phase": Algorithm(
            "solver.two_phase:search",
            (3,),
            METRICS,
            "Kociemba's two phases; good at once, better with time",
            cost=True,
        ),
        "optimal": Algorithm(
            "solver.optimal:search", (3,), ("htm", "qtm"), "IDA*: a shortest solution, with proof"
        ),
        "thistlethwaite": Algorithm(
            "solver.thistlethwaite:search", (3,), ("htm",), "four phases, each reported separately"
        ),
        "exact": Algorithm(
            "solver.pocket:search_exact",
            (2,),
            ("htm", "qtm"),
            "2x2x2 by complete tables: shortest, or fastest on a robot",
            cost=True,
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
        ),
        "heuristic-db": Algorithm(
            "solver.nxn.shallow:search",
            (),
            ("htm", "qtm"),
            "any size, shallow scrambles: breadth-first database and IDA*",
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
    time_limit: float = 1.0,
    threads: int = 1,
    cancel: CancelFlag | None = None,
    on_better: Callable[[Solution], None] | None = None,
    target: int | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Solution:
    """The best solution found in ``time_limit`` seconds; see :class:`solver.solution.Request`.

    Raises UnknownAlgorithm for a request that no algorithm fits and SearchFailed when time or
    limits ended the search before any solution was found.
    """
    request = Request(
        algorithm=algorithm,
        metric=metric,
        cost=cost,
        time_limit=time_limit,
        threads=threads,
        cancel=cancel,
        on_better=on_better,
        target=target,
        progress=progress,
    )
    return solve_many(cube, request)[0]


def make_ready(size: int, request: Request) -> None:
    """Load or make the tables that searches for ``request.cost`` need; raises as solve does."""
    if size == 2:
        from solver.pocket import ready_kernel

        ready_kernel(request)
    else:
        from solver import two_phase

        two_phase.ready_kernel(request)


def solve_many(cube: AnyCube, request: Request) -> list[Solution]:
    """Up to ``request.solutions`` distinct solutions, best first, never none; raises as solve."""
    return _algorithm_for(cube, request).load()(cube, request)


def _algorithm_for(cube: AnyCube, request: Request) -> Algorithm:
    algorithm = ALGORITHMS.get(request.algorithm)
    if algorithm is None:
        names = ", ".join(ALGORITHMS)
        raise UnknownAlgorithm(f"There is no algorithm {request.algorithm!r}; there are {names}.")
    if algorithm.sizes and cube.size not in algorithm.sizes:
        raise UnknownAlgorithm(
            f"{request.algorithm} does not solve a cube of size {cube.size}; "
            f"these do: {_fitting(cube.size)}."
        )
    if request.metric not in algorithm.metrics:
        raise UnknownAlgorithm(
            f"{request.algorithm} does not count in {request.metric!r} but in "
            f"{', '.join(algorithm.metrics)}."
        )
    if request.cost is not None and not algorithm.cost:
        raise UnknownAlgorithm(f"{request.algorithm} does not search in a robot's time.")
    return algorithm


def _fitting(size: int) -> str:
    names = [name for name, entry in ALGORITHMS.items() if not entry.sizes or size in entry.sizes]
    return ", ".join(names) or "none"
