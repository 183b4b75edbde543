"""Cubist's native kernel: tables and searches."""

from collections.abc import Callable, Sequence
from typing import Annotated

import numpy
from numpy.typing import NDArray


class CancelFlag:
    """Stops the searches it was given to; may be set from any thread."""

    def __init__(self) -> None: ...

    def set(self) -> None:
        """Ask the searches to stop; they return their best so far."""

    def is_set(self) -> bool:
        """Return whether a stop was requested."""

class Stopped(Exception):
    pass

def clock_cuts() -> int:
    """Number of times only the wall clock ended a search in this process."""

def checksum(data: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> int:
    """A fast 64-bit checksum."""

def watch_table(start: int, size: int, path: str) -> None:
    """Name the file mapped at an address if it becomes unreadable."""

def unwatch_table(start: int) -> None:
    """Forget a mapped file; it is about to be unmapped."""

def set_lost_table_signal(number: int) -> None:
    """
    Set the signal that a process sends itself when it has lost a table; 0: it ends.
    """

def has_lost_table() -> bool:
    """True if a table was lost: no search is valid."""

def one_hot(states: Annotated[NDArray[numpy.uint8], dict(shape=(None, 20, 2), order='C', device='cpu', writable=False)], hot: Annotated[NDArray[numpy.uint8], dict(shape=(None, 20, 24), order='C', device='cpu')]) -> None:
    """
    Write uint8[n, 20, 24]: a one for the cubie and orientation of every slot.
    """

def turn_batch(states: Annotated[NDArray[numpy.uint8], dict(shape=(None, 20, 2), order='C', device='cpu')], turns: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None:
    """Turn each cube of uint8[n, 20, 2] in place by its own face turn 0..17."""

class RankedArrangements:
    """The cheapest arrangements of pieces under turns and parity."""

    def __init__(self, costs: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], ranks: int) -> None: ...

    def cost(self, turn_sum: int, parity: int, rank: int) -> float:
        """Cost of the rank-th cheapest; infinite if there is none."""

    def arrangement(self, turn_sum: int, parity: int, rank: int, pieces: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], turns: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')]) -> None:
        """Its piece and turn in every slot, into int64[slots] each."""

def cheapest_assignment(costs: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> list[int]:
    """The column of each row of float64[rows, columns], rows <= columns."""

def ranked_assignments(costs: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], copies: int, k: int) -> list[tuple[float, list[int]]]:
    """
    The k cheapest ways to fill the slots of float64[slots, pieces]: cost and pieces of each.
    """

class CubePieces:
    """The pieces of a cube and their costs."""

    def __init__(self, orbits: Sequence[tuple[str, Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)], int, int]]) -> None: ...

    def shares(self, costs: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], temperature: float, share: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> None:
        """
        The probability of each letter on each sticker, into float64[stickers, 6].
        """

    def relaxed_costs(self, costs: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], namings: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> list[float]:
        """A lower bound of the cheapest cube for every naming int64[n, 6]."""

    def cheapest_naming(self, costs: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], namings: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)], limit: float) -> tuple[int, float, int]:
        """
        The naming (-1: none) whose cheapest cube costs least, its cost if that is below the
        limit, and for how many namings the cheapest cube had to be found.
        """

    def turned_bounds(self, costs: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], sources: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)], colours: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)], shown: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)], bounds: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> None:
        """
        Lower bounds for pictures in orders int64[n, 6] and turned, into float64[n, 4096].
        """

class ScanEstimator:
    """Estimates the colours of one scan."""

    def __init__(self, priors: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], light_precision: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], sensitivity: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], fading: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], clipped: Annotated[NDArray[numpy.uint8], dict(order='C', device='cpu', writable=False)], weight: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], places: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], floor: float) -> None: ...

    def evidence(self, mean: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], covariance: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], faces: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], falloff: float, strict: bool, cost: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')], inlier: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> None: ...

    def estimate(self, mean: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], covariance: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], faces: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], falloff: float, pieces: CubePieces, temperatures: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], least: int, still: float, patience: int, new_mean: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')], new_covariance: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')], new_faces: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> float: ...

    def fit(self, mean: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], covariance: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], faces: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], falloff: float, letters: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], rounds: int, new_mean: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')], new_covariance: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')], new_faces: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> float: ...

    def total_cost(self, mean: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], covariance: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], faces: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], falloff: float, letters: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)]) -> float: ...

    def expected(self, mean: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], covariance: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> None: ...

    def shift(self, faces: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], falloff: float, out: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> None: ...

class NxnResult:
    """Result of a search with a database."""

    @property
    def turns(self) -> list[int] | None:
        """Numbers of turns, or None."""

    @property
    def lower_bound(self) -> int:
        """No solution is shorter."""

    @property
    def nodes(self) -> int: ...

class NxnDatabase:
    """Positions near the solved one, by distance."""

    def __init__(self, permutations: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', device='cpu', writable=False)], axis: Sequence[int], block: Sequence[int], repeats: bool, reference: Sequence[int]) -> None: ...

    def deepen(self, most: int, progress: Callable[[int], bool]) -> bool:
        """
        Add one more depth; false when stopped or when it has more than `most` positions.
        """

    def restore(self, keys: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], distances: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def solve(self, stickers: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], longest: int, time_limit: float, cancel: CancelFlag | None, progress: Callable[[int, int], None]) -> NxnResult: ...

    def distances(self) -> Annotated[NDArray[numpy.uint8], dict(shape=(None,))]: ...

    def keys(self) -> Annotated[NDArray[numpy.uint64], dict(shape=(None,))]: ...

    @property
    def depth(self) -> int: ...

    @property
    def words(self) -> int: ...

    def __len__(self) -> int: ...

class OptimalShape:
    """How finely a table distinguishes positions."""

    def __init__(self, kinds: int, far: int) -> None: ...

    @property
    def kinds(self) -> int:
        """Orders of the middle edges: 1, 2, 6 or 24."""

class OptimalOptions:
    """Limits of an optimal search."""

    def __init__(self, shortest: int, longest: int, time_limit: float, threads: int, cancel: CancelFlag | None) -> None: ...

class OptimalReport:
    """Result of an optimal search."""

    @property
    def turns(self) -> list[int] | None:
        """Face turns 0..17, or None."""

    @property
    def lower_bound(self) -> int:
        """No solution is shorter."""

    @property
    def nodes(self) -> int:
        """Positions expanded."""

class TimeProofOptions:
    """Limits of a proof."""

    def __init__(self, below_us: int, time_limit: float, threads: int, cancel: CancelFlag | None) -> None: ...

class TimeProof:
    """The solution found, and whether it is proven."""

    @property
    def solution(self) -> list[int] | None:
        """Numbers of solver.cost's composites, or None."""

    @property
    def proven(self) -> bool:
        """True if none is faster, or as fast as requested."""

    @property
    def nodes(self) -> int:
        """Positions expanded."""

def optimal_size(shape: OptimalShape) -> int:
    """Bytes of a table."""

def make_optimal(metric: str, shape: OptimalShape, data: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu')], threads: int, progress: Callable[[float], bool]) -> bool:
    """Fill a table; false when `progress` stopped it."""

class OptimalTable:
    """Lower bounds of the optimal search."""

    def __init__(self, shape: OptimalShape, data: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def solve(self, metric: str, states: Annotated[NDArray[numpy.uint8], dict(shape=(20, 2), order='C', device='cpu', writable=False)], options: OptimalOptions, on_progress: Callable[[int, int, float], None] | None) -> OptimalReport: ...

    def fastest(self, states: Annotated[NDArray[numpy.uint8], dict(shape=(20, 2), order='C', device='cpu', writable=False)], models: TimeModels, costs: CostModel, options: TimeProofOptions) -> TimeProof:
        """The fastest solution on a robot; table and models of htm."""

    def bound(self, metric: str, states: Annotated[NDArray[numpy.uint8], dict(shape=(20, 2), order='C', device='cpu', writable=False)]) -> int:
        """No solution is shorter than this."""

class PartialResult:
    """Solutions of one length, best first."""

    @property
    def solutions(self) -> list[Found]: ...

    @property
    def nodes(self) -> int: ...

    @property
    def is_complete(self) -> bool:
        """False if the search was stopped."""

class PartialGoal:
    """A goal that leaves pieces free, prepared for one metric."""

    def __init__(self, metric: str, allowed: Sequence[int]) -> None: ...

    def with_joint(self) -> PartialGoal:
        """The same goal with one more table; None if more would not help."""

    def bound(self, states: Annotated[NDArray[numpy.uint8], dict(shape=(20, 2), order='C', device='cpu', writable=False)]) -> int:
        """No solution is shorter."""

    def search(self, states: Annotated[NDArray[numpy.uint8], dict(shape=(20, 2), order='C', device='cpu', writable=False)], *, length: int, time_limit: float, solutions: int, model: CostModel | None, cancel: CancelFlag | None) -> PartialResult: ...

class PocketResult:
    """Result of a textbook search of the 2x2x2."""

    @property
    def turns(self) -> list[int]:
        """U U2 U' R R2 R' F F2 F' as 0..8."""

    @property
    def nodes(self) -> int:
        """Positions expanded."""

    @property
    def bytes(self) -> int:
        """Memory of tables, queue and marks."""

def pocket_bfs(states: Annotated[NDArray[numpy.uint8], dict(shape=(8, 2), order='C', device='cpu', writable=False)], metric: str) -> PocketResult: ...

def pocket_bfs_pruned(states: Annotated[NDArray[numpy.uint8], dict(shape=(8, 2), order='C', device='cpu', writable=False)], metric: str) -> PocketResult: ...

def pocket_ida_star(states: Annotated[NDArray[numpy.uint8], dict(shape=(8, 2), order='C', device='cpu', writable=False)], metric: str) -> PocketResult: ...

class PocketTable:
    """Distances of all 3674160 positions of the 2x2x2 in htm or qtm."""

    def __init__(self, metric: str, progress: Callable[[float], bool]) -> None: ...

    def solve(self, states: Annotated[NDArray[numpy.uint8], dict(shape=(8, 2), order='C', device='cpu', writable=False)]) -> list[int]:
        """A shortest sequence of turns 0..8."""

    def distance(self, states: Annotated[NDArray[numpy.uint8], dict(shape=(8, 2), order='C', device='cpu', writable=False)]) -> int: ...

    def counts(self) -> list[int]:
        """Number of positions at each distance."""

    @property
    def bytes(self) -> int: ...

class FastestResult:
    """The fastest solution found for a robot."""

    @property
    def turns(self) -> list[int]:
        """U U2 U' R R2 R' F F2 F' as 0..8."""

    @property
    def cost(self) -> int | None:
        """Microseconds; None if no solution was found."""

    @property
    def proven(self) -> bool:
        """True if no solution is faster."""

    @property
    def nodes(self) -> int: ...

class PocketRobot:
    """A mechanism that solves the 2x2x2 fastest."""

    def __init__(self, following: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)], final: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)], table_bytes: int, progress: Callable[[float], bool]) -> None: ...

    def solve(self, states: Annotated[NDArray[numpy.uint8], dict(shape=(8, 2), order='C', device='cpu', writable=False)], first: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)], time_limit: float, cancel: CancelFlag | None) -> FastestResult: ...

    @property
    def bytes(self) -> int: ...

    @property
    def radius(self) -> int:
        """Microseconds up to which times are known without search."""

def pocket_steps_size(states: int) -> int:
    """Bytes of the table for that many mechanism states; 0: too many."""

def make_pocket_steps(following: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)], final: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)], data: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu')], threads: int, progress: Callable[[float], bool]) -> bool:
    """Fill a table of steps; false when `progress` stopped it."""

class PocketSteps:
    """The fastest next step from every 2x2x2 and mechanism state."""

    def __init__(self, following: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)], final: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)], data: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def solve(self, states: Annotated[NDArray[numpy.uint8], dict(shape=(8, 2), order='C', device='cpu', writable=False)], first: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)]) -> FastestResult: ...

    def left(self, states: Annotated[NDArray[numpy.uint8], dict(shape=(8, 2), order='C', device='cpu', writable=False)], axis: int, state: int) -> int | None:
        """
        Microseconds left after a turn of `axis` that ends in `state`; None: forever.
        """

    @property
    def bytes(self) -> int: ...

BLOCK_STATES: int = 64

class LayeredGeometry:
    """Turns of a cube of 4 to 100 layers."""

    def __init__(self, size: int) -> None: ...

    def turn(self, stickers: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu')], turns: Sequence[tuple[int, int, int, int]]) -> None:
        """Turn uint8[6 * size**2] in place."""

    def few_turns(self, stickers: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], most: int = 1, longer: int = 0) -> tuple[list[list[tuple[int, int, int, int]]], int] | None:
        """
        Solutions of a cube a few turns from solved, and their minimum number of block turns; the first is a shortest one, `most` in all with up to `longer` turns more. None if it finds none.
        """

    def finish(self, stickers: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], progress: Callable[[float], bool]) -> list[list[tuple[int, int, int, int]]] | None:
        """
        Reduce a legal cube to a 3x3x3 by exchanges of three pieces: turns for parity, centres and edges; None when stopped.
        """

class BlockTimes:
    """solver.cost.BlockTurnTimes for the kernel."""

    def __init__(self, size: int, next: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)], first: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)]) -> None: ...

    def time_us(self, up: int, front: int, turns: Sequence[tuple[int, int, int, int]]) -> int:
        """
        Approximate microseconds for turns of a cube with these faces as its U and F.
        """

def four_size() -> int:
    """Bytes of the table of a 4x4x4."""

def make_four(data: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu')], threads: int, progress: Callable[[float], bool]) -> bool:
    """Fill the table of a 4x4x4; false when stopped."""

class FourReducer:
    """Reduces a 4x4x4 in three phases."""

    def __init__(self, table: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def reductions(self, stickers: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], *, time_limit: float, threads: int, candidates: int, count: int, cancel: CancelFlag | None, times: BlockTimes | None) -> list[list[list[tuple[int, int, int, int]]]]:
        """
        Turns by phase of up to `count` reductions, the shortest first; at least one unless cancelled. With `times`, the fastest on the robot come first.
        """

def five_size() -> int:
    """Bytes of the table of a 5x5x5."""

def make_five(data: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu')], threads: int, progress: Callable[[float], bool]) -> bool:
    """Fill the table of a 5x5x5; false when stopped."""

class FiveReducer:
    """Reduces a 5x5x5 in five phases."""

    def __init__(self, table: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def reductions(self, stickers: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], *, time_limit: float, threads: int, candidates: int, count: int, cancel: CancelFlag | None, times: BlockTimes | None) -> list[list[list[tuple[int, int, int, int]]]]:
        """
        Turns by phase of up to `count` reductions, the shortest first; at least one unless cancelled. With `times`, the fastest on the robot come first.
        """

class SixReducer:
    """Reduces a 6x6x6 by core and outside."""

    def __init__(self, four: FourReducer, five: FiveReducer) -> None: ...

    def reductions(self, stickers: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], *, time_limit: float, threads: int, candidates: int, count: int, cancel: CancelFlag | None) -> list[list[list[tuple[int, int, int, int]]]]:
        """
        Turns by phase of up to `count` reductions, the shortest first; at least one unless cancelled. With `times`, the fastest on the robot come first.
        """

class SevenReducer:
    """Reduces a 7x7x7 by core and outside."""

    def __init__(self, five: FiveReducer) -> None: ...

    def reductions(self, stickers: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], *, time_limit: float, threads: int, candidates: int, count: int, cancel: CancelFlag | None) -> list[list[list[tuple[int, int, int, int]]]]:
        """
        Turns by phase of up to `count` reductions, the shortest first; at least one unless cancelled. With `times`, the fastest on the robot come first.
        """

class Thistlethwaite:
    """Four phases with an exact table each."""

    def __init__(self, progress: Callable[[float], bool]) -> None: ...

    def solve(self, states: Annotated[NDArray[numpy.uint8], dict(shape=(20, 2), order='C', device='cpu', writable=False)], width: int) -> list[list[int]]:
        """Face turns 0..17 of each of the four phases."""

    def distances(self, states: Annotated[NDArray[numpy.uint8], dict(shape=(20, 2), order='C', device='cpu', writable=False)]) -> list[int]:
        """Turns to the next group, up to the first phase that is not done."""

    @property
    def bytes(self) -> int:
        """Memory of the four tables."""

def phase1_size(metric: str) -> int:
    """Bytes of the phase-1 table."""

def phase2_size(metric: str) -> int:
    """Bytes of the phase-2 table."""

def make_phase1(metric: str, data: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu')], threads: int, progress: Callable[[float], bool]) -> bool:
    """Fill a phase-1 table; false when `progress` stopped it."""

def make_phase2(metric: str, data: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu')], threads: int, progress: Callable[[float], bool]) -> bool:
    """Fill a phase-2 table; false when `progress` stopped it."""

class TurnCosts:
    """solver.cost.TurnCosts for the kernel."""

    def __init__(self, following: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)], final: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)]) -> None: ...

class CostModel:
    """solver.cost.CostModel for the kernel."""

    def __init__(self, turns: TurnCosts, first: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)]) -> None: ...

    def cost(self, composites: Sequence[int]) -> int:
        """Microseconds of the cheapest way to perform the composites."""

class RobotTimes:
    """Costs of turns, prepared for searches that minimize time."""

    def __init__(self, costs: TurnCosts, metric: str) -> None: ...

    def least_us(self, length: int) -> int:
        """Lower bound (us) for turns of that length in the metric."""

class TimeModels:
    """The same from one start."""

    def __init__(self, robot: RobotTimes, model: CostModel) -> None: ...

    def least_us(self, length: int) -> int:
        """Lower bound (us) for solutions of that length in the metric."""

class Found:
    """A solution and its cost."""

    @property
    def composites(self) -> list[int]:
        """Numbers of solver.cost's axis composites."""

    @property
    def length(self) -> int:
        """In the search's metric."""

    @property
    def cost(self) -> int:
        """Microseconds, or the length without a cost model."""

class TwoPhaseResult:
    """The solutions a search found, best first."""

    @property
    def solutions(self) -> list[Found]: ...

    @property
    def nodes(self) -> int:
        """Nodes examined."""

    @property
    def probes(self) -> int:
        """Ends of phase 1."""

    @property
    def lower_bound(self) -> int: ...

    @property
    def exhausted(self) -> str:
        """
        `proven`: nothing better exists; `under cut-offs`: everything was examined except what the limits on phase 2 leave out; otherwise empty.
        """

    @property
    def cpu_s(self) -> float: ...

class TwoPhase:
    """The two-phase search in one metric."""

    def __init__(self, metric: str, phase1: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], phase2: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def phase1_distance(self, states: Annotated[NDArray[numpy.uint8], dict(shape=(20, 2), order='C', device='cpu', writable=False)]) -> int: ...

    def phase2_bound(self, states: Annotated[NDArray[numpy.uint8], dict(shape=(20, 2), order='C', device='cpu', writable=False)]) -> int: ...

    def solve(self, states: Annotated[NDArray[numpy.uint8], dict(shape=(20, 2), order='C', device='cpu', writable=False)], *, time_limit: float, threads: int, directions: int, solutions: int, target: int, model: CostModel | None, models: TimeModels | None, cancel: CancelFlag | None, on_better: Callable[[Found], None] | None, below: int = 4294967295, centre_table: CentreTable | None = None, centres: Sequence[int] | None = None) -> TwoPhaseResult: ...

CENTRE_TABLE_BYTES: int = 10321920

class CentreTable:
    """Distances of corners and centres in phase 2 in one metric."""

    def __init__(self, metric: str, bytes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    @staticmethod
    def make(two_phase: TwoPhase, bytes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu')], progress: Callable[[float], bool]) -> bool:
        """Fill a table; false when `progress` stopped it."""
