"""Searches that no clock ends give the same answers as before, after as many positions.

On one thread nothing is left to chance, and tables have the same bytes with any number of threads.

``answers.json`` has a line for each case. If a change intends another order, a weaker bound or
other candidates, rewrite it with ``python -m tests.solver.test_same_answers`` and read the
difference. Otherwise these tests report the change.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterable
from functools import partial
from itertools import chain, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from robot.planner.survey import random_cube
from solver import _native, two_phase
from solver.cube.cube import AnyCube, Cube, from_scramble
from solver.cube.metrics import METRICS
from solver.cube.notation import parse_moves
from solver.cube.pocket import PocketCube
from solver.reduction import phased
from solver.reduction.search import geometry
from solver.search import solve_many
from solver.solution import Request
from tests.rig.stickers import solved_stickers
from tests.rig.timed_turns import NEVER, of_three_faces, random_model

ANSWERS = Path(__file__).with_name("answers.json")
FOR_EVER = 1e6


def go_on(_: object) -> bool:
    return True


def digest(answer: object) -> int:
    return zlib.crc32(repr(answer).encode())


def pocket_cube(seed: int) -> PocketCube:
    return PocketCube.random(np.random.default_rng(seed))


# ---- solutions ----------------------------------------------------------------------------------

NEAR = "U R U' R2 B2 U L D2 R U F2"


def solution(algorithm: str, cube: str, *metric: str, states: int = 0, **options: Any) -> object:
    """Return a search's answers and the number of positions it examined.

    ``cube``: its size and moves, or the number of a random one. With ``states`` the search
    minimizes the time of a robot with that many states.
    """
    cost = random_model(states, states) if states else None
    asked = Request(algorithm, *metric, cost=cost, time_limit=FOR_EVER, **options)
    found = solve_many(cube_of(cube), asked)
    assert all(cube_of(cube).apply(" ".join(one.moves)).is_solved for one in found)
    return [
        (" ".join(one.moves), one.cost_us or one.length, one.lower_bound, one.extra)
        for one in found
    ]


def cube_of(text: str) -> AnyCube:
    size, _, moves = text.partition(" ")
    if moves.isdigit():
        return random_cube(int(size), np.random.default_rng(int(moves)))
    return from_scramble(moves, int(size))


def fastest_pocket() -> object:
    """Return answers of a search with little memory."""
    model = of_three_faces(random_model(3, 3))
    robot = _native.PocketRobot(model.turns.next, model.turns.final, 200_000, go_on)
    found = [robot.solve(pocket_cube(n).states, model.first, FOR_EVER, None) for n in range(3)]
    answers = [(one.turns, one.cost, one.nodes, one.proven) for one in found]
    return answers, robot.bytes, robot.radius


def cut_off_proofs(metric: str, kinds: int) -> object:
    """Return bounds of ever nearer cubes and searches of one, with a table that is cut off."""
    shape = _native.OptimalShape(kinds, {"htm": 7, "qtm": 8}[metric])
    data = np.zeros(_native.optimal_size(shape), np.uint8)
    assert _native.make_optimal(metric, shape, data, 1, go_on)
    table = _native.OptimalTable(shape, data)
    cube = Cube.from_moves(NEAR)
    found = []
    for shortest, longest in ((0, 10), (11, 11), (0, 20)):
        options = _native.OptimalOptions(shortest, longest, FOR_EVER, 1, None)
        one = table.solve(metric, cube.states, options, None)
        found.append((one.turns, one.lower_bound, one.nodes))
    back = [cube := cube.move(move.inverse) for move in reversed(parse_moves(NEAR))]
    return [table.bound(metric, one.states) for one in back], found


def below_limit(metric: str, states: int, cube: str, below_us: int) -> object:
    """Return two-phase's finding in a metric and below a time on a robot, and its proof."""
    model = random_model(states, states)
    found = two_phase.kernel(metric).solve(
        cube_of(cube).states,
        time_limit=FOR_EVER,
        threads=1,
        directions=6,
        solutions=1,
        target=-1,
        model=two_phase.ready_from(model).model,
        models=two_phase.models_in(metric, model),
        cancel=None,
        on_better=None,
        below=below_us,
    )
    solutions = [(one.composites, one.cost) for one in found.solutions]
    return solutions, found.nodes, found.probes, found.lower_bound, found.exhausted


def least_times(metric: str) -> object:
    """Return the least time of solutions of some lengths, from one start and from any."""
    model = random_model(2, 4)
    robot = _native.RobotTimes(_native.TurnCosts(model.turns.next, model.turns.final), metric)
    both = two_phase.models_in(metric, model), robot
    return [[times.least_us(n) for n in (1, 2, 3, 7, 12, 20)] for times in both]


# ---- reductions ----------------------------------------------------------------------------------


def stickers(size: int, seed: int) -> np.ndarray:
    """Return the stickers of a cube after random turns of single layers."""
    found = solved_stickers(size)
    turns = np.random.default_rng(seed).integers(0, (6, size, 3), (20 * size, 3)).tolist()
    geometry(size).turn(found, [(face, at + 1, at + 1, q + 1) for face, at, q in turns])
    return found


def exchanges(size: int) -> object:
    found = [geometry(size).finish(stickers(size, seed), go_on) for seed in range(3)]
    return [[len(part) for part in one or []] for one in found], digest(found)


def block_times(size: int, states: int) -> _native.BlockTimes:
    rng = np.random.default_rng(size)
    ways = rng.integers(100, 900, (3, 3, size - 1, 3, states, states)).astype(np.uint32) * 1000
    ways[rng.random(ways.shape) < 0.2] = NEVER
    ways[..., 0] = 950_000
    ways[range(3), range(3)] = NEVER
    first = rng.integers(100, 900, (36, 3, size - 1, 3, states)).astype(np.uint32) * 1000
    return _native.BlockTimes(size, ways, first)


def reductions(size: int, limit_s: float, timed: bool, seed: int) -> object:
    """Reduce with unlimited time, and with none: then the first reduction is returned."""
    reducer = phased.load(size, Request())
    options: dict[str, Any] = {"threads": 1, "candidates": 4, "count": 4, "cancel": None}
    if size in (4, 5):
        options["times"] = block_times(size, 3) if timed else None
    found = reducer.reductions(stickers(size, seed), time_limit=limit_s, **options)
    lengths = [sum(map(len, phases)) for phases in found]
    return lengths, [len(phase) for phase in found[0]], digest(found)


# ---- bytes of tables ----------------------------------------------------------------------------


def made(size: int, make: Callable[[np.ndarray, Callable[[float], bool]], bool]) -> np.ndarray:
    """Return a table, after checking that the reported share rises from 0 to 1."""
    data = np.zeros(size, np.uint8)
    heard: list[float] = []
    assert make(data, lambda done: heard.append(done) is None)
    assert (heard[0], heard[-1]) == (0.0, 1.0)
    assert heard == sorted(heard)
    assert max(np.diff(heard)) < 0.2
    return data


def two_phase_tables(metric: str, threads: int) -> object:
    found = []
    for phase in (1, 2):
        size = getattr(_native, f"phase{phase}_size")(metric)
        make = partial(getattr(_native, f"make_phase{phase}"), metric)
        found.append(made(size, lambda data, hear, make=make: make(data, threads, hear)))
    return [_native.checksum(table) for table in found]


def optimal_table(metric: str, threads: int) -> object:
    shape = _native.OptimalShape(1, 0)
    size = _native.optimal_size(shape)
    found = made(size, lambda data, hear: _native.make_optimal(metric, shape, data, threads, hear))
    return _native.checksum(found)


def reduction_table(size: int) -> object:
    phased.load(size, Request())
    (loaded,) = phased.SIZES[size].tables
    assert loaded.table is not None
    return _native.checksum(loaded.table)


def pocket_steps(states: int, threads: int) -> object:
    """Return the table of a robot with that many states and many equal turns, and its answers.

    The second state is a dead end after R.
    """
    shape = (3, 45, states, states)
    following = np.random.default_rng(5).integers(1, 5, shape).astype(np.uint32) * 100
    following[1, :, 1:] = NEVER
    final = np.arange(3 * states, dtype=np.uint32).reshape(3, states) * (states - 1) * 50
    data = made(
        _native.pocket_steps_size(states),
        lambda data, hear: _native.make_pocket_steps(following, final, data, threads, hear),
    )
    steps = _native.PocketSteps(following, final, data)
    first = np.repeat(np.arange(45, dtype=np.uint32)[:, None] * 10, states, axis=1)
    found = [steps.solve(pocket_cube(seed).states, first) for seed in range(3)]
    return [
        _native.checksum(data),
        *((one.turns, one.cost, one.nodes, one.proven) for one in found),
        [steps.left(pocket_cube(1).states, a, s) for a in range(3) for s in range(states)],
    ]


# ---- all cases ----------------------------------------------------------------------------------

BOTH = ("htm", "qtm")
SOLUTIONS: list[tuple[tuple[str, ...], dict[str, Any]]] = [
    *(
        ((name, "2 R U' F2 R' U F R2", metric), {})
        for name in ("bfs", "bfs-pruned", "ida-star", "exact")
        for metric in BOTH
    ),
    *((("thistlethwaite", f"3 {seed}"), {}) for seed in range(3)),
    (("heuristic-db", "3 U R' F Uw' R", "htm"), {"depth": 2}),
    (("heuristic-db", "4 U Rw' F Uw R", "qtm"), {"depth": 2}),
    (("two-phase", "3 0", "htm"), {"target": 19, "solutions": 2}),
    (("two-phase", "3 1", "htm"), {"target": 18, "solutions": 2}),
    (("two-phase", "3 1", "qtm"), {"target": 24, "solutions": 2}),
    (("two-phase", "3 1", "axial"), {"target": 15}),
    (("two-phase", "3 1", "axial-qtm"), {"target": 19}),
    *((("two-phase", "3 R U F2 D' L B", metric), {"solutions": 2}) for metric in METRICS),
    (("two-phase", "3 0"), {"states": 4, "target": 60, "solutions": 3}),
    *((("optimal", f"3 {NEAR}", metric), {}) for metric in BOTH),
    *((("optimal", "3 U R"), {"states": states, "target": 60}) for states in (1, 4)),
]
SEARCHES: dict[Callable[..., object], Iterable[tuple[Any, ...]]] = {
    fastest_pocket: [()],
    cut_off_proofs: [("htm", 1), ("htm", 2), ("qtm", 1)],
    least_times: product(METRICS),
    below_limit: [
        *(("htm", 1, "3 R U F2", 1900), ("htm", 4, "3 R U F2", 900), ("qtm", 4, "3 R U F2", 900)),
        *(("axial", 4, "3 R U F2", 900), ("htm", 4, "3 0", 1600), ("axial", 4, "3 0", 1900)),
        *(("qtm", 4, "3 0", 1200), ("axial-qtm", 4, "3 0", 1200)),
    ],
    exchanges: product((4, 5, 6, 7, 8, 9, 12)),
    reduction_table: [(4,), (5,)],
    reductions: [
        *((4, 0.0, False, 0), (4, 0.0, False, 1), (4, 0.0, True, 1), (4, FOR_EVER, False, 0)),
        *((4, FOR_EVER, True, 1), (5, 0.0, False, 0), (5, 0.0, True, 0), (5, FOR_EVER, False, 1)),
        *((5, FOR_EVER, True, 0), (6, 0.0, False, 0), (6, FOR_EVER, False, 0), (7, 0.0, False, 0)),
    ],
}
TABLES: dict[Callable[..., object], Iterable[tuple[Any, ...]]] = {
    two_phase_tables: product(METRICS),
    optimal_table: product(BOTH),
    pocket_steps: [(1,), (2,)],
}
"""Makers that also take a number of threads, which must not matter."""


def key(function: Callable[..., object], arguments: tuple[Any, ...]) -> str:
    return " ".join(map(str, (function.__name__, *arguments)))


def as_stored(answer: object) -> object:
    return json.loads(json.dumps(answer))


CASES = {
    " ".join((*named, *map(str, chain.from_iterable(options.items())))): partial(
        solution, *named, **options
    )
    for named, options in SOLUTIONS
}
CASES |= {key(f, case): partial(f, *case) for f, cases in SEARCHES.items() for case in cases}
MAKERS = {key(f, case): partial(f, *case) for f, cases in TABLES.items() for case in cases}
OFTEN = {("two_phase_tables htm", 3), ("pocket_steps 1", 1)}
"""The tables and numbers of threads of ``make test``; ``make test-long`` makes all."""


@pytest.fixture(scope="module")
def answers() -> dict[str, object]:
    return dict(json.loads(ANSWERS.read_text()))


@pytest.mark.parametrize("case", CASES)
def test_answers_equal_the_stored_ones(case, answers):
    assert as_stored(CASES[case]()) == answers[case]


@pytest.mark.parametrize(
    ("case", "threads"),
    [
        pytest.param(*made, marks=[] if made in OFTEN else [pytest.mark.long])
        for made in product(MAKERS, (1, 2, 3))
    ],
)
def test_a_table_has_the_same_bytes_with_any_number_of_threads(case, threads, answers):
    assert as_stored(MAKERS[case](threads=threads)) == answers[case]


# ---- ends on request ----------------------------------------------------------------------------


@pytest.mark.parametrize("size", [4, 5, 7])
def test_exchanges_report_progress_and_end_when_told(size):
    def finish(most: int) -> tuple[list[float], object]:
        heard: list[float] = []

        def hear(done: float) -> bool:
            heard.append(done)
            return len(heard) < most

        return heard, geometry(size).finish(stickers(size, 1), hear)

    whole, finished = finish(100)
    assert finished
    assert len(whole) > 1 and whole == sorted(whole) and 0.0 < whole[0] < whole[-1] < 1.0
    for most in range(1, len(whole) + 1):
        assert finish(most) == (whole[:most], None)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("enough", [0.0, 0.3])
def test_the_making_ends_on_request(threads, enough):
    heard: list[float] = []

    def hear(done: float) -> bool:
        heard.append(done)
        return done < enough

    data = np.zeros(_native.phase2_size("htm"), np.uint8)
    assert not _native.make_phase2("htm", data, threads, hear)
    assert enough <= heard[-1] < enough + 0.2
    assert all(done < enough for done in heard[:-1])


def main() -> None:
    found = {case: answer() for case, answer in CASES.items()}
    found |= {case: make(threads=2) for case, make in MAKERS.items()}
    rows = [f"{json.dumps(case)}: {json.dumps(answer)}" for case, answer in found.items()]
    ANSWERS.write_text("{\n" + ",\n".join(rows) + "\n}\n")


if __name__ == "__main__":
    main()
