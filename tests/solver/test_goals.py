"""Goals: the solved cube, another one, or a part of it.

Models that share no code with the product replay the moves, and stickers in space judge the parts.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from robot.machine.solve_planner import SolvePlanner
from robot.planner import build_mechanism, plan_solve
from robot.settings import load_profile
from robot.settings.profile import for_cube
from solver.cube.cube import AnyCube, Cube
from solver.cube.metrics import METRICS
from solver.cube.notation import Move
from solver.cube.orientation import NAMES, all_orientations
from solver.cube.pocket import PocketCube
from solver.cube.reading import read_state
from solver.cube.sticker_cube import StickerCube
from solver.errors import CubistError
from solver.goal import Goal, read_goal
from solver.patterns import PATTERNS, patterns_of
from solver.search import ALGORITHMS, make_ready, solve, solve_many
from solver.solution import Request, SearchClock, Solution
from tests.rig.stickers import Stickers, looks_like
from tests.rig.stickers import replay as replay_plan

Replay = Callable[[str, str, int], str]

PUBLISHED = [
    (int(line[0]), line[2:])
    for line in Path(__file__).with_name("published_scrambles.txt").read_text().splitlines()
]
"""Size and scramble of 30 rounds of competitions and of timers' own lists."""
COLOURS = str.maketrans("URFDLB", "WRGYOB")


def random_moves(size: int, count: int, rng: np.random.Generator) -> str:
    turns = [
        Move("URFDLB"[rng.integers(6)], int(rng.integers(1, 4)), 1, int(rng.integers(1, size)))
        for _ in range(count)
    ]
    return " ".join(map(str, turns))


def solve_by_size(cube: AnyCube, size: int, goal: Goal | None = None) -> Solution:
    algorithm = {2: "exact", 3: "two-phase"}.get(size, "reduction")
    metric = "htm" if size < 4 else "obtm"
    return solve(cube, algorithm=algorithm, metric=metric, time_limit=0.2, goal=goal)


def bring(text: str, to: str, size: int, replay: Replay) -> str:
    """Return the cube's facelets after the moves of Cubist's solution."""
    given = read_state(text, size)
    found = solve_by_size(given.cube, size, read_goal(to, given))
    assert found.state == given.cube.facelets()
    return replay(given.facelets, " ".join(found.moves), size)


@pytest.mark.parametrize(
    ("size", "scramble"),
    [
        pytest.param(size, moves, marks=[pytest.mark.long] if size > 5 or number % 5 else [])
        for number, (size, moves) in enumerate(PUBLISHED)
    ],
)
def test_published_scrambles_are_solved(replay, solves, size, scramble):
    letters = replay(str(StickerCube.solved(size)), scramble, size)
    given = read_state(f"--scramble {scramble}", size)
    assert given.facelets == letters
    assert solves(letters, " ".join(solve_by_size(given.cube, size).moves), size)


@pytest.mark.parametrize(
    "seed", [7, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(50))]
)
@pytest.mark.parametrize("size", [2, 3, 4, 5])
def test_any_state_becomes_any_other_in_its_own_colours(replay, size, seed):
    rng = np.random.default_rng(seed)
    start = replay(str(StickerCube.solved(size)), random_moves(size, 40, rng) + " x y2", size)
    wanted_moves = random_moves(size, int(rng.integers(1, 40)), rng)
    wanted = replay(str(StickerCube.solved(size)), wanted_moves, size)
    assert looks_like(bring(start, wanted, size, replay), wanted, size)


@pytest.mark.parametrize(
    ("name", "size"),
    [
        pytest.param(name, size, marks=[pytest.mark.long] if size > 3 and name != "stripes" else [])
        for size in (2, 3, 4, 5)
        for name in patterns_of(size)
    ],
)
def test_a_named_pattern_is_made_on_every_size_that_has_it(replay, name, size):
    solved, wanted = str(StickerCube.solved(size)), PATTERNS[name].draw(size)
    scrambled = replay(solved, "R U2 F' L D B2 U R'", size)
    for text in (scrambled, solved):
        assert looks_like(bring(text, name, size, replay), wanted, size, in_colours=size % 2 == 1)
    assert bring(wanted, name, size, replay) == wanted


@pytest.mark.parametrize("size", [2, 3, 4, 5])
def test_moves_are_seen_from_the_side_from_which_the_cube_is_given(replay, size):
    held = replay(str(StickerCube.solved(size)), "x y", size)
    colours = held.translate(COLOURS)
    for text in (held, colours):
        given = read_state(text, size)
        shown = bring(text, "R U F2", size, replay)
        assert looks_like(shown, replay(given.facelets, "R U F2", size), size)


def test_a_cube_at_its_goal_needs_no_turn_and_others_are_not_there():
    striped = PATTERNS["stripes"].moves
    assert striped is not None
    for size, moves in ((2, "R U F2"), (3, "R U F2"), (4, striped(4)), (5, "R U F2")):
        given = read_state(f"--scramble {moves}", size)
        for goal in (read_goal(moves, given), read_goal(given.facelets, given)):
            assert goal.is_reached(given.cube)
            assert not goal.is_reached(given.cube.apply("D"))
            assert solve_by_size(given.cube, size, goal).moves == ()


@pytest.mark.parametrize("size", [2, 3, 4, 5])
def test_a_state_is_reached_in_its_own_colours_alone(size):
    given = read_state("--scramble R U2 F'", size)
    for held in all_orientations():
        state = given.facelets.translate(str.maketrans("URFDLB", held.faces))
        is_there = looks_like(given.facelets, state, size)
        assert read_goal(state, given).is_reached(given.cube) is is_there


@pytest.mark.parametrize(
    ("algorithm", "scramble", "goal"),
    [
        ("reduction", "Rw U 2F D2 Lw B Uw 2R F", "R 2U F 2R D Lw B2 2F U 2L D2 Fw R2 2B U'"),
        ("heuristic-db", "", "R 2U"),
    ],
)
def test_two_searches_for_a_scattered_goal_share_the_limit(algorithm, scramble, goal):
    given = read_state(f"--scramble {scramble}", 4)
    request = Request(
        algorithm=algorithm,
        metric=ALGORITHMS[algorithm].metrics[0],
        time_limit=1.0,
        depth=1 if algorithm == "heuristic-db" else None,
        goal=read_goal(str(StickerCube.solved(4).apply(goal)), given),
    )
    make_ready(4, Request())
    watch = SearchClock()
    [found] = solve_many(given.cube, request)
    assert found.cpu_s <= 1.1
    assert found.cpu_s == pytest.approx(watch.cpu_s(), abs=0.3)


@pytest.mark.parametrize(
    ("robot", "size", "to"),
    [
        *(("cubotino", 3, "superflip"), ("soltvvo", 2, "cube-in-cube")),
        # The state itself, in other colours.
        *(("soltvvo", 2, ""), ("cubotino", 3, ""), ("crane", 4, "")),
        *(
            pytest.param(*robot, str(seed), marks=pytest.mark.long)
            for robot in (("cubotino", 3), ("six-motor", 3), ("crane", 4), ("crane", 5))
            for seed in range(20)
        ),
    ],
)
def test_a_robot_s_plan_ends_at_the_goal(robot, size, to):
    """Use a number as the seed of random moves."""
    start = StickerCube.solved(size).apply("R U2 F'").letters
    given = read_state(start)
    if to.isdigit():
        rng = np.random.default_rng(int(to))
        to = random_moves(size, int(rng.integers(1, 30)), rng)
    goal = read_goal(to or start.translate(str.maketrans("URFDLB", "RDFLUB")), given)
    mechanism = build_mechanism(for_cube(load_profile(robot), size))
    plan = plan_solve(given.cube, mechanism, time_limit=0.2, goal=goal)
    end = replay_plan(plan, given.cube.facelets(), size).facelets
    assert looks_like(end, goal.cube.facelets(), size)


def test_the_goal_of_a_known_cube_is_seen_from_the_side_from_which_that_is_given():
    profile = for_cube(load_profile("crane"), 5)
    held = StickerCube.solved(5).apply("x y").letters
    goal = SolvePlanner(profile, build_mechanism(profile)).read_goal("R U F2", held)
    assert goal.cube == StickerCube(held, 5).apply("R U F2")


def test_a_2x2x2_is_at_its_goal_whatever_a_look_calls_its_colours(replay):
    profile = load_profile("soltvvo")
    state = replay(str(StickerCube.solved(2)), "R U2 F' x y", 2)
    goal = SolvePlanner(profile, build_mechanism(profile)).read_goal(state)
    assert goal.is_reached(PocketCube.from_facelets(state).relative)


# ---- parts of the cube ---------------------------------------------------------------------------

DRAWINGS = {
    "cross": "....U.... ....R..R. ....F..F. .D.DDD.D. ....L..L. ....B..B.",
    "cross U": ".U.UUU.U. .R..R.... .F..F.... ....D.... .L..L.... .B..B....",
    "face R": "....U.... RRRRRRRRR ....F.... ....D.... ....L.... ....B....",
    "layer": "....U.... ....R.RRR ....F.FFF DDDDDDDDD ....L.LLL ....B.BBB",
    "f2l": "....U.... ...RRRRRR ...FFFFFF DDDDDDDDD ...LLLLLL ...BBBBBB",
    "oll": "UUUUUUUUU ...RRRRRR ...FFFFFF DDDDDDDDD ...LLLLLL ...BBBBBB",
    "last-edges": ".U.UUU.U. ...RRRRRR ...FFFFFF DDDDDDDDD ...LLLLLL ...BBBBBB",
    "corners": "U.U.U.U.U R.R.R.R.R F.F.F.F.F D.D.D.D.D L.L.L.L.L B.B.B.B.B",
    "edges": ".U.UUU.U. .R.RRR.R. .F.FFF.F. .D.DDD.D. .L.LLL.L. .B.BBB.B.",
}
SHORTEST = {"cross", "cross U", "face R", "layer", "corners"}
"""Parts whose shortest solutions are proven at once."""


def thirty_moves(seed: int) -> str:
    return random_moves(2, 30, np.random.default_rng(seed))


def fits(facelets: str, drawing: str) -> bool:
    letters = "".join(drawing.split())
    return all(want in (".", seen) for seen, want in zip(facelets, letters, strict=True))


@pytest.mark.parametrize(
    "to",
    [
        pytest.param(to, marks=[] if to in (*SHORTEST, "f2l") else [pytest.mark.long])
        for to in DRAWINGS
    ],
)
def test_a_part_is_reached_and_a_drawing_of_it_means_the_same(replay, to):
    given = read_state(f"--scramble {thirty_moves(1)}")
    found = solve(given.cube, goal=read_goal(to, given), time_limit=0.5)
    assert fits(replay(given.facelets, " ".join(found.moves), 3), DRAWINGS[to])
    if to in SHORTEST:
        drawn = solve(given.cube, goal=read_goal(DRAWINGS[to], given), time_limit=2.0)
        assert found.optimal and drawn.length == found.length


@pytest.mark.parametrize("metric", METRICS)
def test_every_metric_counts_its_own_turns(metric):
    given = read_state("--scramble R L U2 D2 F")
    found = solve(given.cube, metric=metric, goal=read_goal("cross F", given))
    wanted = {"htm": 4, "qtm": 6, "axial": 2, "axial-qtm": 3}
    assert (found.length, found.optimal) == (wanted[metric], True)


def test_orientation_alone_is_all_orientations():
    given = read_state(f"--scramble {thirty_moves(3)}")
    for to, columns in (("oriented", slice(0, 20)), ("eo", slice(8, 20))):
        found = solve(given.cube, goal=read_goal(to, given))
        assert found.optimal
        assert not given.cube.apply(" ".join(found.moves)).states[columns, 1].any()
    found = solve(given.cube, goal=read_goal("domino", given))
    seen = given.cube.apply(" ".join(found.moves)).facelets()
    assert set(seen[:9]) == {"U", "D"} and set(seen[27:36]) == {"U", "D"} and found.optimal


def test_a_part_is_seen_as_the_cube_is_held_and_by_its_colours(replay):
    held = replay(Cube.solved().facelets(), f"{thirty_moves(4)} x y", 3)
    colours = held.translate(COLOURS)
    given = read_state(colours)
    found = solve(given.cube, goal=read_goal("cross W", given))
    seen = replay(colours, " ".join(found.moves), 3)
    by_place = read_goal(DRAWINGS["cross"].translate(COLOURS), given)
    shown = replay(colours, " ".join(solve(given.cube, goal=by_place).moves), 3)
    for letters, centre in ((seen, "W"), (shown, "Y")):
        face = next(number for number in range(6) if letters[9 * number + 4] == centre)
        assert {letters[9 * face + edge] for edge in (1, 3, 5, 7)} == {centre}


@pytest.mark.parametrize("robot", ["cubotino", "six-motor"])
def test_a_robot_s_plan_reaches_a_part(robot):
    mechanism = build_mechanism(load_profile(robot))
    given = read_state(f"--scramble {thirty_moves(5)}")
    for to in ("cross", "layer"):
        goal = read_goal(to, given)
        plan = plan_solve(given.cube, mechanism, time_limit=0.3, goal=goal)
        end = replay_plan(plan, given.facelets).facelets
        assert any(fits(Stickers(end, 3, held).facelets, DRAWINGS[to]) for held in NAMES)
        assert 0 < (plan.lower_bound_us or 0) <= plan.duration_us


@pytest.mark.parametrize(
    ("text", "size", "reason"),
    [
        ("chekerboard", 3, "no pattern 'chekerboard'.*Name one of checkerboard"),
        ("superflip", 4, "no pattern 'superflip'.*stripes"),
        ("R Q", 3, "'Q' at character 3"),
        ("U" * 54, 3, "colour"),
        ("cross X", 3, "neither a face nor a colour"),
        ("corners U", 3, "no face"),
        ("UUUUUUUUU...R.R...", 3, "54 facelets, not 18"),
        ("......... ....U.... " + "......... " * 4, 3, "how the cube is held"),
        ("....U.... ....D.... " + "......... " * 4, 3, "no way to hold a cube"),
        ("........U D........ " + "......... " * 4, 3, "no corner is coloured"),
        ("UUUUUUUUU RFRRRRRRR FRFFFFFFF DDDDDDDDD LLLLLLLLL BBBBBBB.B", 3, "in these places"),
    ],
)
def test_what_is_no_goal_or_no_cube_can_show_is_refused(text, size, reason):
    with pytest.raises(CubistError, match=reason):
        read_goal(text, read_state("--scramble R", size))
