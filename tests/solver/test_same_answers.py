"""Searches that no clock ends give the answers they gave before, by as many positions.

On one thread nothing is left to chance. Where another order, a weaker bound or other candidates are
meant, the figures here are written anew; where they are not meant, this is what tells.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable

import numpy as np
import pytest

from solver import _native, two_phase
from solver.cost import CostModel, composite_index, moves_of
from solver.cube.cube import Cube
from solver.cube.facelets import FACES
from solver.cube.notation import METRICS
from solver.cube.pocket import PocketCube
from solver.nxn import database
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
    """Of a robot that turns one of three faces at a time."""
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


def test_the_fastest_way_of_a_2x2x2_by_search() -> None:
    model = pocket_model(3, 3)
    robot = _native.PocketRobot(model.turns.next, model.turns.final, 200_000, go_on)
    found = [robot.solve(pocket_cube(n).states, model.first, FOR_EVER, None) for n in range(3)]
    assert all(one.proven for one in found)
    assert [(one.turns, one.cost, one.nodes) for one in found] == FASTEST_2X2X2
    assert (robot.bytes, robot.radius) == FASTEST_2X2X2_ROOM


# ---- Thistlethwaite, databases ------------------------------------------------------------------

FOUR_GROUPS = {
    1: (
        [[4, 8, 8, 7], [5, 5, 9, 9], [6, 6, 10, 10], [4, 9, 7, 7], [5, 7, 6, 8]],
        3914528944,
        408901317,
        2441117,
    ),
    4: (
        [[4, 8, 6, 7], [4, 8, 7, 5], [6, 8, 6, 8], [5, 7, 7, 8], [5, 7, 6, 7]],
        2820382758,
        408901317,
        2441117,
    ),
    50: (
        [[4, 8, 6, 5], [4, 8, 6, 6], [6, 9, 3, 4], [5, 8, 6, 5], [4, 7, 8, 5]],
        4067392549,
        408901317,
        2441117,
    ),
}


@pytest.mark.parametrize("width", FOUR_GROUPS)
def test_thistlethwaite(width: int) -> None:
    kernel = _native.Thistlethwaite(go_on)
    found = [kernel.solve(cube(n).states, width) for n in range(5)]
    lengths = [[len(phase) for phase in phases] for phases in found]
    distances = [kernel.distances(cube(n).states) for n in range(5)]
    assert (lengths, digest(found), digest(distances), kernel.bytes) == FOUR_GROUPS[width]


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
    """Lengths and costs, which solutions, positions, ends of phase 1, and what is proven."""
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
    told = [(one.length, one.cost) for one in found.solutions]
    which = digest([one.composites for one in found.solutions])
    return told, which, found.nodes, found.probes, found.lower_bound, found.exhausted


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
def test_two_phase_in_a_robot_s_time(metric: str, states: int, below: int) -> None:
    """Of a few turns until none is left, of many until there are some, and below a limit."""
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
