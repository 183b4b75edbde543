"""Searches that no clock ends give the answers they gave before, after as many positions.

On one thread nothing is left to chance. If a change intends another order, a weaker bound or other
candidates, rewrite the figures here. If it does not, these tests notice it.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable

import numpy as np
import pytest

from solver import _native, optimal, two_phase
from solver.cost import CostModel, composite_index, moves_of
from solver.cube.cube import Cube
from solver.cube.facelets import FACES
from solver.cube.notation import METRICS
from solver.cube.pocket import PocketCube
from solver.nxn import database
from solver.reduction import phased
from solver.reduction.search import geometry
from solver.solution import Request
from tests.rig.timed_turns import random_model

FOR_EVER = 1e6
NEVER = 0xFFFFFFFF
SHORT = Cube.from_moves("R U F2 D' L B")


def go_on(_: object) -> bool:
    return True


def digest(answer: object) -> int:
    return zlib.crc32(repr(answer).encode())


def cube(seed: int) -> Cube:
    return Cube.random(np.random.default_rng(seed))


def pocket_cube(seed: int) -> PocketCube:
    return PocketCube.random(np.random.default_rng(seed))


# ---- 2x2x2 --------------------------------------------------------------------------------------

TEXTBOOK = {
    ("bfs", "htm"): (62360, 4784848, [4, 8, 2, 3, 7, 0, 5]),
    ("bfs", "qtm"): (11913, 3842268, [5, 6, 3, 6, 0, 8, 3]),
    ("bfs_pruned", "htm"): (48339, 3972125, [4, 8, 2, 3, 7, 0, 5]),
    ("bfs_pruned", "qtm"): (11913, 3838625, [5, 6, 3, 6, 0, 8, 3]),
    ("ida_star", "htm"): (90, 5797, [4, 8, 2, 3, 7, 0, 5]),
    ("ida_star", "qtm"): (17, 5797, [5, 6, 3, 6, 0, 8, 3]),
}


@pytest.mark.parametrize(("name", "metric"), TEXTBOOK)
def test_textbook_searches_of_the_2x2x2(name: str, metric: str) -> None:
    search: Callable[..., _native.PocketResult] = getattr(_native, f"pocket_{name}")
    found = search(PocketCube.from_moves("R U' F2 R' U F R2").states, metric)
    assert (found.nodes, found.bytes, found.turns) == TEXTBOOK[name, metric]


def pocket_model(seed: int, states: int) -> CostModel:
    """Return the costs of a robot that turns one of three faces at a time."""
    model = random_model(seed, states)
    of_one_face = np.zeros(45, bool)
    of_one_face[[composite_index(a, q, 0) for a in range(3) for q in (1, 2, 3)]] = True
    model.first[~of_one_face] = NEVER
    model.turns.next[:, ~of_one_face] = NEVER
    return model


FASTEST_2X2X2 = [
    ([3, 2, 6, 2, 5, 6, 5, 7, 4, 0], 2734, 946),
    ([8, 4, 2, 5, 0, 5, 0, 5, 6, 5, 2, 5, 6, 5, 2], 2971, 5117),
    ([7, 5, 2, 6, 1, 4, 2, 5, 0], 2437, 334),
]
FASTEST_2X2X2_ROOM = (15023574, 1260)


def test_the_fastest_solution_of_a_2x2x2() -> None:
    model = pocket_model(3, 3)
    robot = _native.PocketRobot(model.turns.next, model.turns.final, 200_000, go_on)
    found = [robot.solve(pocket_cube(n).states, model.first, FOR_EVER, None) for n in range(3)]
    assert all(one.proven for one in found)
    assert [(one.turns, one.cost, one.nodes) for one in found] == FASTEST_2X2X2
    assert (robot.bytes, robot.radius) == FASTEST_2X2X2_ROOM


# ---- Thistlethwaite, databases ------------------------------------------------------------------

FOUR_GROUPS = {
    1: ([[4, 8, 8, 7], [5, 5, 9, 9], [6, 6, 10, 10], [4, 9, 7, 7], [5, 7, 6, 8]], 3914528944),
    4: ([[4, 8, 6, 7], [4, 8, 7, 5], [6, 8, 6, 8], [5, 7, 7, 8], [5, 7, 6, 7]], 2820382758),
    50: ([[4, 8, 6, 5], [4, 8, 6, 6], [6, 9, 3, 4], [5, 8, 6, 5], [4, 7, 8, 5]], 4067392549),
}


def test_thistlethwaite() -> None:
    kernel = _native.Thistlethwaite(go_on)
    for width, (lengths, which) in FOUR_GROUPS.items():
        found = [kernel.solve(cube(n).states, width) for n in range(5)]
        assert [[len(phase) for phase in phases] for phases in found] == lengths
        assert digest(found) == which
    distances = [kernel.distances(cube(n).states) for n in range(5)]
    assert (digest(distances), kernel.bytes) == (408901317, 2441117)


DATABASES = {
    (3, "htm"): ((262, 3, 2875940995, 1394764217), [8, 3, 8, 12, 8], 5, 147),
    (2, "qtm"): ((34, 1, 1172974449, 136065179), [3, 0, 5, 2, 1], 5, 31),
    (4, "qtm"): ((718, 4, 1137137183, 68234748), [11, 4, 21, 14, 1], 5, 331),
}


@pytest.mark.parametrize(("size", "metric"), DATABASES)
def test_databases_of_near_positions(size: int, metric: str) -> None:
    near = database.empty(size, metric)
    assert all(near.deepen(10**6, go_on) for _ in range(2))
    held = (len(near), near.words, digest(near.keys().tolist()), digest(near.distances().tolist()))
    shown = np.repeat(np.arange(6, dtype=np.uint8), size * size)
    wide = min(2, size - 1)
    turns = [(0, 1, 1, 1), (1, 1, wide, 3), (2, 1, 1, 1), (0, 1, wide, 3), (1, 1, 1, 1)]
    for face, *layers, quarters in turns:
        shown = shown[database.turn(size, FACES[face], *layers, quarters)]
    found = near.solve(shown, 20, FOR_EVER, None, lambda *_: None)
    assert (held, found.turns, found.lower_bound, found.nodes) == DATABASES[size, metric]


# ---- Two-phase ----------------------------------------------------------------------------------


def two_phases(
    metric: str,
    given: Cube,
    *,
    target: int = -1,
    solutions: int = 1,
    start: two_phase.Start | None = None,
    below: int = NEVER,
) -> tuple[object, ...]:
    """Return lengths and costs, a digest, positions, ends of phase 1, and what is proven."""
    found = two_phase.kernel(metric).solve(
        given.states,
        time_limit=FOR_EVER,
        threads=1,
        directions=6,
        solutions=solutions,
        target=target,
        model=None if start is None else start.model,
        models=None if start is None else start.models,
        cancel=None,
        on_better=None,
        below=below,
    )
    assert all(given.apply(" ".join(moves_of(one.composites))).is_solved for one in found.solutions)
    costs = [(one.length, one.cost) for one in found.solutions]
    which = digest([one.composites for one in found.solutions])
    return costs, which, found.nodes, found.probes, found.lower_bound, found.exhausted


UNTIL_SHORT = {
    ("htm", 19): [
        ([(16, 16), (18, 18)], 3395016435, 1819, 70, 9, False),
        ([(18, 18), (19, 19)], 4064921933, 17097, 633, 10, False),
    ],
    ("htm", 18): [
        ([(16, 16), (18, 18)], 3395016435, 1819, 70, 9, False),
        ([(18, 18), (18, 18)], 2529376347, 17166, 673, 10, False),
    ],
    ("qtm", 24): [
        ([(22, 22), (24, 24)], 144874921, 54033, 1746, 11, False),
        ([(22, 22), (24, 24)], 1426052550, 6193, 56, 12, False),
    ],
    ("axial", 15): [
        ([(15, 15), (15, 15)], 1861110044, 7302536, 257357, 8, False),
        ([(15, 15), (15, 15)], 3790816646, 422844, 28003, 8, False),
    ],
    ("axial-qtm", 19): [
        ([(18, 18), (19, 19)], 3076492010, 9859790, 372616, 10, False),
        ([(19, 19), (19, 19)], 624394332, 2095959, 96102, 10, False),
    ],
}


@pytest.mark.parametrize(("metric", "target"), UNTIL_SHORT)
def test_two_phase_until_a_solution_is_short_enough(metric: str, target: int) -> None:
    found = [two_phases(metric, cube(n), target=target, solutions=2) for n in range(2)]
    assert found == UNTIL_SHORT[metric, target]


UNTIL_PROVEN = {
    "htm": ([(6, 6), (10, 10)], 1077238187, 36071, 1847, 6, True),
    "qtm": ([(7, 7), (11, 11)], 3744670317, 17262, 343, 7, True),
    "axial": ([(6, 6), (8, 8)], 2662231344, 9412, 730, 6, True),
    "axial-qtm": ([(7, 7), (11, 11)], 635558345, 246032, 11996, 7, True),
}


@pytest.mark.parametrize("metric", METRICS)
def test_two_phase_until_nothing_shorter_is_left(metric: str) -> None:
    assert two_phases(metric, SHORT, solutions=2) == UNTIL_PROVEN[metric]


LEAST_TIMES = {
    "htm": [[110, 110, 220, 456, 675, 1113], [102, 102, 213, 432, 656, 1094]],
    "qtm": [[110, 110, 110, 300, 509, 830], [102, 102, 102, 271, 489, 806]],
    "axial": [[110, 220, 348, 786, 1332, 2208], [102, 213, 319, 757, 1308, 2184]],
    "axial-qtm": [[110, 110, 220, 502, 820, 1388], [102, 102, 214, 463, 782, 1350]],
}


@pytest.mark.parametrize("metric", METRICS)
def test_what_turns_of_a_length_take_at_least(metric: str) -> None:
    model = random_model(2, 4)
    models = two_phase.models_in(metric, model)
    robot = _native.RobotTimes(_native.TurnCosts(model.turns.next, model.turns.final), metric)
    least = [[times.least_us(n) for n in (1, 2, 3, 7, 12, 20)] for times in (models, robot)]
    assert least == LEAST_TIMES[metric]


IN_TIME = {
    ("htm", 1, 5500): [
        ([(3, 1758)], 1953131239, 14781, 2044, 3, False),
        ([(22, 20377), (23, 20587), (22, 21509)], 1284504656, 3051, 2, 9, False),
        ([], 223132457, 309125, 0, 9, False),
    ],
    ("htm", 4, 1600): [
        ([(3, 801)], 1953131239, 15294, 2044, 3, False),
        ([(23, 6211), (22, 6245), (23, 6318)], 2734279276, 3044, 2, 9, False),
        ([], 223132457, 2244792, 0, 9, False),
    ],
    ("qtm", 4, 1200): [
        ([(4, 801)], 1953131239, 227741, 12912, 4, False),
        ([(26, 4533), (26, 5000), (28, 6280)], 2973316830, 11866, 66, 11, False),
        ([], 223132457, 328888, 2, 11, False),
    ],
    ("axial", 1, 8000): [
        ([(3, 1758)], 1953131239, 451150, 396884, 3, False),
        ([(18, 14921), (18, 15689), (18, 15783)], 86465369, 3284, 16, 8, False),
        ([], 223132457, 363958, 20, 8, False),
    ],
    ("axial", 4, 1900): [
        ([(3, 801)], 1953131239, 451612, 396884, 3, False),
        ([(18, 4589), (18, 4598), (18, 4660)], 1985202027, 3291, 16, 8, False),
        ([], 223132457, 507590, 0, 8, False),
    ],
    ("axial-qtm", 4, 1200): [
        ([(4, 801)], 1953131239, 22243321, 25058940, 4, False),
        ([(25, 4533), (25, 5000), (27, 6614)], 339226948, 13548, 42, 10, False),
        ([], 223132457, 47564, 176, 10, False),
    ],
}


@pytest.mark.parametrize(("metric", "states", "below"), IN_TIME)
def test_two_phase_in_time_of_a_robot(metric: str, states: int, below: int) -> None:
    """Search a near cube to the end, a random one for three solutions, and one below a limit."""
    model = random_model(states, states)
    start = two_phase.Start(
        metric, two_phase.ready_from(model).model, two_phase.models_in(metric, model)
    )
    near = Cube.from_moves("R U F2")
    found = [
        two_phases(metric, near, start=start, below=1900 if states == 1 else 900),
        two_phases(metric, cube(0), start=start, target=60, solutions=3),
        two_phases(metric, cube(0), start=start, target=60, below=below),
    ]
    assert found == IN_TIME[metric, states, below]


# ---- proofs --------------------------------------------------------------------------------------

ELEVEN = Cube.from_moves("U R U' R2 B2 U L D2 R U F2")
FAR = {"htm": 7, "qtm": 8}


def optimal_table(metric: str, kinds: int, far: int) -> _native.OptimalTable:
    shape = _native.OptimalShape(kinds, far)
    data = np.zeros(_native.optimal_size(shape), np.uint8)
    assert _native.make_optimal(metric, shape, data, 1, go_on)
    return _native.OptimalTable(shape, data)


SOLUTION = [7, 2, 5, 10, 14, 2, 16, 4, 0, 5, 2]
QTM_SOLUTION = [6, 6, 2, 5, 9, 9, 14, 2, 15, 15, 3, 3, 0, 5, 2]
HTM_CUT = (
    [8, 8, 8, 8, 7, 6, 5, 4, 3, 2, 1, 0],
    [(None, 11, 331), (SOLUTION, 11, 4532), (SOLUTION, 11, 4863)],
)
OPTIMAL = {
    ("htm", 1): HTM_CUT,
    ("htm", 2): HTM_CUT,
    ("qtm", 1): (
        [9, 9, 9, 9, 9, 8, 7, 5, 3, 2, 1, 0],
        [(None, 11, 0), (None, 12, 116), (QTM_SOLUTION, 15, 557443)],
    ),
}


@pytest.mark.parametrize(("metric", "kinds"), OPTIMAL)
def test_bounds_and_proofs_with_tables_that_are_cut_off(metric: str, kinds: int) -> None:
    table = optimal_table(metric, kinds, FAR[metric])
    assert bounds_and_proofs(table, metric) == OPTIMAL[metric, kinds]


WHOLE = {
    "htm": (
        [9, 9, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0],
        [(None, 11, 13), (SOLUTION, 11, 321), (SOLUTION, 11, 334)],
    ),
    "qtm": (
        [11, 10, 10, 11, 9, 8, 7, 5, 3, 2, 1, 0],
        [(None, 11, 0), (None, 12, 1), (QTM_SOLUTION, 15, 23507)],
    ),
}


@pytest.mark.parametrize("metric", WHOLE)
def test_bounds_and_proofs_with_whole_tables(metric: str) -> None:
    assert bounds_and_proofs(optimal.kernel(Request(metric=metric)), metric) == WHOLE[metric]


def bounds_and_proofs(table: _native.OptimalTable, metric: str) -> tuple[object, ...]:
    """Return bounds of ever nearer cubes, and searches of one with and without success."""
    walk = [ELEVEN]
    for move in ("F2", "U'", "R'", "D2", "L'", "U'", "B2", "R2", "U", "R'", "U'"):
        walk.append(walk[-1].apply(move))
    bounds = [table.bound(metric, one.states) for one in walk]
    found = []
    for shortest, longest in ((0, 10), (11, 11), (0, 20)):
        options = _native.OptimalOptions(shortest, longest, FOR_EVER, 1, None)
        one = table.solve(metric, ELEVEN.states, options, None)
        found.append((one.turns, one.lower_bound, one.nodes))
    return bounds, found


FASTEST = {
    1: [
        ("U R U' R2 B2", 2000, (None, True, 102)),
        ("U R U' R2 B2 U L", 3000, (None, True, 916)),
        ("U R", 2200, ([26, 11], True, 1060)),
    ],
    4: [
        ("U R U' R2 B2", 1000, (None, True, 8578)),
        ("U R U' R2 B2 U L", 1100, (None, True, 23384)),
        ("U R", 1300, ([26, 11], True, 179221)),
    ],
}


@pytest.mark.parametrize("states", FASTEST)
def test_proofs_that_nothing_is_faster(states: int) -> None:
    model = random_model(states, states)
    models, costs = two_phase.models_in("htm", model), two_phase.ready_from(model).model
    table = optimal_table("htm", 1, FAR["htm"])
    for moves, below_us, expected in FASTEST[states]:
        options = _native.TimeProofOptions(below_us, FOR_EVER, 1, None)
        proof = table.fastest(Cube.from_moves(moves).states, models, costs, options)
        assert (proof.solution, proof.proven, proof.nodes) == expected


# ---- reductions ----------------------------------------------------------------------------------


def stickers(size: int, seed: int) -> np.ndarray:
    """Return those of a cube after random turns of single layers."""
    rng = np.random.default_rng(seed)
    found = np.repeat(np.arange(6, dtype=np.uint8), size * size)
    turns = rng.integers(0, (6, size, 3), (20 * size, 3)).tolist()
    geometry(size).turn(found, [(face, at + 1, at + 1, q + 1) for face, at, q in turns])
    return found


Phases = list[list[tuple[int, int, int, int]]]
FINISHES = {
    4: ([[0, 74, 84], [0, 74, 64], [0, 76, 55]], 1833974023),
    5: ([[0, 200, 101], [0, 214, 117], [2, 221, 113]], 1085427152),
    6: ([[2, 383, 204], [2, 405, 180], [2, 379, 189]], 3313610157),
    7: ([[0, 638, 224], [2, 617, 225], [2, 641, 232]], 3631651285),
    8: ([[4, 869, 304], [2, 875, 302], [2, 915, 319]], 2694100369),
    9: ([[2, 1248, 340], [2, 1297, 343], [2, 1198, 352]], 2488574913),
    12: ([[2, 2496, 562], [2, 2510, 493], [2, 2499, 542]], 3222796992),
}


@pytest.mark.parametrize("size", FINISHES)
def test_exchanges_of_three_pieces(size: int) -> None:
    found = [geometry(size).finish(stickers(size, seed), go_on) for seed in range(3)]
    lengths = [[len(part) for part in one or []] for one in found]
    assert (lengths, digest(found)) == FINISHES[size]


FEW = [
    [(3, 1, 1, 3), (2, 1, 2, 2), (1, 1, 1, 3), (1, 1, 2, 1), (0, 1, 1, 3)],
    [(4, 1, 2, 3), (4, 1, 1, 1)],
    [],
]


@pytest.mark.parametrize("size", [4, 5, 6, 7])
def test_few_turns(size: int) -> None:
    found = []
    for turns in ((0, 1, 1, 1), (1, 2, 2, 3), (2, 1, 2, 2), (3, 1, 1, 1)), ((4, 2, 2, 1),), ():
        shown = np.repeat(np.arange(6, dtype=np.uint8), size * size)
        geometry(size).turn(shown, list(turns))
        found.append(geometry(size).few_turns(shown))
    assert found == FEW


def block_times(size: int, states: int) -> _native.BlockTimes:
    rng = np.random.default_rng(size)
    ways = rng.integers(100, 900, (3, 3, size - 1, 3, states, states)).astype(np.uint32) * 1000
    ways[rng.random(ways.shape) < 0.2] = NEVER
    ways[..., 0] = 950_000
    ways[range(3), range(3)] = NEVER
    first = rng.integers(100, 900, (36, 3, size - 1, 3, states)).astype(np.uint32) * 1000
    return _native.BlockTimes(size, ways, first)


NO_WAY_MS = 327_660
BLOCK_TIMES_MS = [
    *(120, 320, NO_WAY_MS, NO_WAY_MS),
    *(300, 500, NO_WAY_MS, NO_WAY_MS),
    *(160, 420, NO_WAY_MS, NO_WAY_MS),
]


def test_what_turns_of_blocks_take() -> None:
    rng = np.random.default_rng(9)
    turns = [(int(f), 1, int(w), int(q)) for f, w, q in rng.integers((0, 1, 1), (6, 4, 4), (12, 3))]
    times = block_times(5, 3)
    found = [
        times.time_us(up, front, turns[:n]) / 1000
        for up, front in ((0, 2), (1, 3), (5, 4))
        for n in (1, 2, 5, 12)
    ]
    assert found == BLOCK_TIMES_MS


def summary(reductions: list[Phases]) -> tuple[object, ...]:
    lengths = [sum(len(phase) for phase in phases) for phases in reductions]
    return lengths, [len(phase) for phase in reductions[0]], digest(reductions)


REDUCED = {
    (4, 0.0, False, 0): ([26, 26], [6, 5, 15], 940475070),
    (4, 0.0, False, 1): ([26, 26, 26, 26], [7, 4, 15], 2115014685),
    (4, 0.0, True, 1): ([29, 29], [7, 6, 16], 3825484349),
    (4, FOR_EVER, False, 0): ([25, 25, 25, 25], [6, 5, 14], 429034379),
    (4, FOR_EVER, True, 1): ([28, 28, 28, 28], [7, 7, 14], 770665099),
    (5, 0.0, False, 0): ([64, 64, 64, 64], [12, 9, 7, 17, 19], 36043479),
    (5, 0.0, True, 0): ([63, 63, 63, 63], [12, 9, 8, 16, 18], 3437707510),
    (5, FOR_EVER, False, 1): ([54, 54, 54, 54], [10, 9, 7, 13, 15], 1547470417),
    (5, FOR_EVER, True, 0): ([55, 56, 56, 56], [10, 9, 8, 14, 14], 2988912348),
    (6, 0.0, False, 0): ([121, 121, 121, 121], [57, 11, 12, 6, 16, 19], 587446716),
    (6, FOR_EVER, False, 0): ([98, 99, 99, 99], [41, 10, 10, 7, 15, 15], 1076223983),
    (7, 0.0, False, 0): ([191, 191, 191, 191], [125, 11, 13, 7, 17, 18], 3835282342),
}


@pytest.mark.parametrize(("size", "limit_s", "timed", "seed"), REDUCED)
def test_reductions_in_phases(size: int, limit_s: float, timed: bool, seed: int) -> None:
    """With all the time in the world, and with none: then the first that is found will do."""
    reducer = phased.load(size, Request())
    options = {"time_limit": limit_s, "threads": 1, "candidates": 4, "count": 4, "cancel": None}
    if size in (4, 5):
        options["times"] = block_times(size, 3) if timed else None
    found = summary(reducer.reductions(stickers(size, seed), **options))
    assert found == REDUCED[size, limit_s, timed, seed]


FINISHING = {
    4: [0.675, 0.975],
    5: [0.36, 0.72, 0.96],
    7: [0.25714, 0.51429, 0.77143, 0.94286, 0.97143],
}


@pytest.mark.parametrize("size", FINISHING)
def test_exchanges_report_progress_and_end_when_told(size: int) -> None:
    def finish(most: int) -> tuple[list[float], object]:
        heard: list[float] = []

        def hear(done: float) -> bool:
            heard.append(done)
            return len(heard) < most

        return heard, geometry(size).finish(stickers(size, 1), hear)

    whole, finished = finish(100)
    assert finished and whole == pytest.approx(FINISHING[size], abs=1e-5)
    for most in range(1, len(whole) + 1):
        assert finish(most) == (whole[:most], None)
