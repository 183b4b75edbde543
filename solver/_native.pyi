# The kernel: tables and searches in C++ (solver/native).

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

# control

class CancelFlag:
    def __init__(self) -> None: ...
    def set(self) -> None: ...
    def is_set(self) -> bool: ...

# tables

class Stopped(Exception): ...

def clock_cuts() -> int: ...
def checksum(data: NDArray[np.uint8]) -> int: ...
def watch_table(start: int, size: int, path: str) -> None: ...
def unwatch_table(start: int) -> None: ...
def set_lost_table_signal(number: int) -> None: ...
def has_lost_table() -> bool: ...
def phase1_size(metric: str) -> int: ...
def phase2_size(metric: str) -> int: ...
def make_phase1(
    metric: str, data: NDArray[np.uint8], threads: int, progress: Callable[[float], bool]
) -> bool: ...
def make_phase2(
    metric: str, data: NDArray[np.uint8], threads: int, progress: Callable[[float], bool]
) -> bool: ...

# two-phase

class TurnCosts:
    def __init__(self, following: NDArray[np.uint32], final: NDArray[np.uint32]) -> None: ...

class CostModel:
    def __init__(self, turns: TurnCosts, first: NDArray[np.uint32]) -> None: ...
    def cost(self, composites: Sequence[int]) -> int: ...

class RobotTimes:
    def __init__(self, costs: TurnCosts, metric: str) -> None: ...
    def least_us(self, length: int) -> int: ...

class TimeModels:
    def __init__(self, robot: RobotTimes, model: CostModel) -> None: ...
    def least_us(self, length: int) -> int: ...

class Found:
    @property
    def composites(self) -> list[int]: ...
    @property
    def length(self) -> int: ...
    @property
    def cost(self) -> int: ...

class TwoPhaseResult:
    @property
    def solutions(self) -> list[Found]: ...
    @property
    def nodes(self) -> int: ...
    @property
    def probes(self) -> int: ...
    @property
    def lower_bound(self) -> int: ...
    @property
    def exhausted(self) -> bool: ...
    @property
    def cpu_s(self) -> float: ...

class TwoPhase:
    def __init__(
        self, metric: str, phase1: NDArray[np.uint8], phase2: NDArray[np.uint8]
    ) -> None: ...
    def phase1_distance(self, states: NDArray[np.uint8]) -> int: ...
    def phase2_bound(self, states: NDArray[np.uint8]) -> int: ...
    def solve(
        self,
        states: NDArray[np.uint8],
        *,
        time_limit: float,
        threads: int,
        directions: int,
        solutions: int,
        target: int,
        model: CostModel | None,
        models: TimeModels | None,
        cancel: CancelFlag | None,
        on_better: Callable[[Found], None] | None,
        below: int = ...,
    ) -> TwoPhaseResult: ...

# 2x2x2

class PocketResult:
    @property
    def turns(self) -> list[int]: ...
    @property
    def nodes(self) -> int: ...
    @property
    def bytes(self) -> int: ...

def pocket_bfs(states: NDArray[np.uint8], metric: str) -> PocketResult: ...
def pocket_bfs_pruned(states: NDArray[np.uint8], metric: str) -> PocketResult: ...
def pocket_ida_star(states: NDArray[np.uint8], metric: str) -> PocketResult: ...

class PocketTable:
    def __init__(self, metric: str, progress: Callable[[float], bool]) -> None: ...
    def solve(self, states: NDArray[np.uint8]) -> list[int]: ...
    def distance(self, states: NDArray[np.uint8]) -> int: ...
    def counts(self) -> list[int]: ...
    @property
    def bytes(self) -> int: ...

class FastestResult:
    @property
    def turns(self) -> list[int]: ...
    @property
    def cost(self) -> int | None: ...
    @property
    def proven(self) -> bool: ...
    @property
    def nodes(self) -> int: ...

class PocketRobot:
    def __init__(
        self,
        following: NDArray[np.uint32],
        final: NDArray[np.uint32],
        table_bytes: int,
        progress: Callable[[float], bool],
    ) -> None: ...
    def solve(
        self,
        states: NDArray[np.uint8],
        first: NDArray[np.uint32],
        time_limit: float,
        cancel: CancelFlag | None,
    ) -> FastestResult: ...
    @property
    def bytes(self) -> int: ...
    @property
    def radius(self) -> int: ...

def pocket_steps_size(states: int) -> int: ...
def make_pocket_steps(
    following: NDArray[np.uint32],
    final: NDArray[np.uint32],
    data: NDArray[np.uint8],
    threads: int,
    progress: Callable[[float], bool],
) -> bool: ...

class PocketSteps:
    def __init__(
        self,
        following: NDArray[np.uint32],
        final: NDArray[np.uint32],
        data: NDArray[np.uint8],
    ) -> None: ...
    def solve(self, states: NDArray[np.uint8], first: NDArray[np.uint32]) -> FastestResult: ...
    def left(self, states: NDArray[np.uint8], axis: int, state: int) -> int | None: ...
    @property
    def bytes(self) -> int: ...

# Thistlethwaite

class Thistlethwaite:
    def __init__(self, progress: Callable[[float], bool]) -> None: ...
    def solve(self, states: NDArray[np.uint8], width: int) -> list[list[int]]: ...
    def distances(self, states: NDArray[np.uint8]) -> list[int]: ...
    @property
    def bytes(self) -> int: ...

# optimal

class OptimalShape:
    def __init__(self, kinds: int, far: int) -> None: ...
    @property
    def kinds(self) -> int: ...

class OptimalOptions:
    def __init__(
        self,
        shortest: int,
        longest: int,
        time_limit: float,
        threads: int,
        cancel: CancelFlag | None,
    ) -> None: ...

class OptimalReport:
    @property
    def turns(self) -> list[int] | None: ...
    @property
    def lower_bound(self) -> int: ...
    @property
    def nodes(self) -> int: ...

def optimal_size(shape: OptimalShape) -> int: ...
def make_optimal(
    metric: str,
    shape: OptimalShape,
    data: NDArray[np.uint8],
    threads: int,
    progress: Callable[[float], bool],
) -> bool: ...

class TimeProofOptions:
    def __init__(
        self, below_us: int, time_limit: float, threads: int, cancel: CancelFlag | None
    ) -> None: ...

class TimeProof:
    @property
    def solution(self) -> list[int] | None: ...
    @property
    def proven(self) -> bool: ...
    @property
    def nodes(self) -> int: ...

class OptimalTable:
    def __init__(self, shape: OptimalShape, data: NDArray[np.uint8]) -> None: ...
    def solve(
        self,
        metric: str,
        states: NDArray[np.uint8],
        options: OptimalOptions,
        on_progress: Callable[[int, int, float], None] | None,
    ) -> OptimalReport: ...
    def fastest(
        self,
        states: NDArray[np.uint8],
        models: TimeModels,
        costs: CostModel,
        options: TimeProofOptions,
    ) -> TimeProof: ...
    def bound(self, metric: str, states: NDArray[np.uint8]) -> int: ...

# NxN

class NxnResult:
    @property
    def turns(self) -> list[int] | None: ...
    @property
    def lower_bound(self) -> int: ...
    @property
    def nodes(self) -> int: ...

class NxnDatabase:
    def __init__(
        self,
        permutations: NDArray[np.uint16],
        axis: Sequence[int],
        block: Sequence[int],
        repeats: bool,
        reference: Sequence[int],
    ) -> None: ...
    def deepen(self, most: int, progress: Callable[[int], bool]) -> bool: ...
    def restore(self, keys: NDArray[np.uint64], distances: NDArray[np.uint8]) -> None: ...
    def solve(
        self,
        stickers: NDArray[np.uint8],
        longest: int,
        time_limit: float,
        cancel: CancelFlag | None,
        progress: Callable[[int, int], None],
    ) -> NxnResult: ...
    def distances(self) -> NDArray[np.uint8]: ...
    def keys(self) -> NDArray[np.uint64]: ...
    @property
    def depth(self) -> int: ...
    @property
    def words(self) -> int: ...
    def __len__(self) -> int: ...

# reduction

FEW_TURNS: int

class LayeredGeometry:
    def __init__(self, size: int) -> None: ...
    def turn(
        self, stickers: NDArray[np.uint8], turns: Sequence[tuple[int, int, int, int]]
    ) -> None: ...
    def few_turns(self, stickers: NDArray[np.uint8]) -> list[tuple[int, int, int, int]] | None: ...
    def finish(
        self, stickers: NDArray[np.uint8], progress: Callable[[float], bool]
    ) -> list[list[tuple[int, int, int, int]]] | None: ...

class _Reductions:
    def reductions(
        self,
        stickers: NDArray[np.uint8],
        *,
        time_limit: float,
        threads: int,
        candidates: int,
        count: int,
        cancel: CancelFlag | None,
    ) -> list[list[list[tuple[int, int, int, int]]]]: ...

BLOCK_STATES: int

class BlockTimes:
    def __init__(
        self,
        size: int,
        next: NDArray[np.uint32],  # noqa: A002
        first: NDArray[np.uint32],
    ) -> None: ...
    def time_us(self, up: int, front: int, turns: Sequence[tuple[int, int, int, int]]) -> int: ...

class _Reducer:
    def __init__(self, table: NDArray[np.uint8]) -> None: ...
    def reductions(
        self,
        stickers: NDArray[np.uint8],
        *,
        time_limit: float,
        threads: int,
        candidates: int,
        count: int,
        cancel: CancelFlag | None,
        times: BlockTimes | None,
    ) -> list[list[list[tuple[int, int, int, int]]]]: ...

def four_size() -> int: ...
def make_four(data: NDArray[np.uint8], threads: int, progress: Callable[[float], bool]) -> bool: ...

class FourReducer(_Reducer): ...

def five_size() -> int: ...
def make_five(data: NDArray[np.uint8], threads: int, progress: Callable[[float], bool]) -> bool: ...

class FiveReducer(_Reducer): ...

class SixReducer(_Reductions):
    def __init__(self, four: FourReducer, five: FiveReducer) -> None: ...

class SevenReducer(_Reductions):
    def __init__(self, five: FiveReducer) -> None: ...

# learning

def turn_batch(states: NDArray[np.uint8], turns: NDArray[np.uint8]) -> None: ...

# arrangements

class RankedArrangements:
    def __init__(self, costs: NDArray[np.float64], ranks: int) -> None: ...
    def cost(self, turn_sum: int, parity: int, rank: int) -> float: ...
    def arrangement(
        self,
        turn_sum: int,
        parity: int,
        rank: int,
        pieces: NDArray[np.int64],
        turns: NDArray[np.int64],
    ) -> None: ...

def cheapest_assignment(costs: NDArray[np.float64]) -> list[int]: ...
def ranked_assignments(
    costs: NDArray[np.float64], copies: int, k: int
) -> list[tuple[float, list[int]]]: ...

# colours of a cube

class CubePieces:
    def __init__(
        self, orbits: list[tuple[str, NDArray[np.int64], NDArray[np.int64], int, int]]
    ) -> None: ...
    def shares(
        self, costs: NDArray[np.float64], temperature: float, share: NDArray[np.float64]
    ) -> None: ...
    def relaxed_costs(
        self, costs: NDArray[np.float64], namings: NDArray[np.int64]
    ) -> list[float]: ...
    def cheapest_naming(
        self, costs: NDArray[np.float64], namings: NDArray[np.int64], limit: float
    ) -> tuple[int, float, int]: ...
    def turned_bounds(
        self,
        costs: NDArray[np.float64],
        sources: NDArray[np.int64],
        colours: NDArray[np.int64],
        shown: NDArray[np.int64],
        bounds: NDArray[np.float64],
    ) -> None: ...

class ScanEstimator:
    def __init__(
        self,
        priors: NDArray[np.float64],
        light_precision: NDArray[np.float64],
        values: NDArray[np.float64],
        sensitivity: NDArray[np.float64],
        fading: NDArray[np.float64],
        clipped: NDArray[np.uint8],
        weight: NDArray[np.float64],
        places: NDArray[np.float64],
        floor: float,
    ) -> None: ...
    def evidence(
        self,
        mean: NDArray[np.float64],
        covariance: NDArray[np.float64],
        faces: NDArray[np.float64],
        falloff: float,
        strict: bool,
        cost: NDArray[np.float64],
        inlier: NDArray[np.float64],
    ) -> None: ...
    def estimate(
        self,
        mean: NDArray[np.float64],
        covariance: NDArray[np.float64],
        faces: NDArray[np.float64],
        falloff: float,
        pieces: CubePieces,
        temperatures: NDArray[np.float64],
        least: int,
        still: float,
        patience: int,
        new_mean: NDArray[np.float64],
        new_covariance: NDArray[np.float64],
        new_faces: NDArray[np.float64],
    ) -> float: ...
    def fit(
        self,
        mean: NDArray[np.float64],
        covariance: NDArray[np.float64],
        faces: NDArray[np.float64],
        falloff: float,
        letters: NDArray[np.int64],
        rounds: int,
        new_mean: NDArray[np.float64],
        new_covariance: NDArray[np.float64],
        new_faces: NDArray[np.float64],
    ) -> float: ...
    def total_cost(
        self,
        mean: NDArray[np.float64],
        covariance: NDArray[np.float64],
        faces: NDArray[np.float64],
        falloff: float,
        letters: NDArray[np.int64],
    ) -> float: ...
    def expected(self, mean: NDArray[np.float64], covariance: NDArray[np.float64]) -> None: ...
    def shift(
        self, faces: NDArray[np.float64], falloff: float, out: NDArray[np.float64]
    ) -> None: ...
