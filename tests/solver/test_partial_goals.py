"""Goals that leave pieces free, judged only by stickers in space."""

from __future__ import annotations

import numpy as np
import pytest

from robot.planner import build_mechanism, plan_solve
from robot.settings import load_profile
from solver.cube.cube import Cube
from solver.cube.metrics import METRICS
from solver.cube.orientation import NAMES
from solver.cube.reading import read_state
from solver.errors import CubistError
from solver.goal import read_goal
from solver.search import solve
from tests.rig.stickers import Stickers
from tests.rig.stickers import replay as replay_plan

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


def fits(facelets: str, drawing: str) -> bool:
    letters = "".join(drawing.split())
    return all(want in (".", seen) for seen, want in zip(facelets, letters, strict=True))


def scramble(seed: int, count: int = 30) -> str:
    rng = np.random.default_rng(seed)
    return " ".join(f"{'URFDLB'[rng.integers(6)]}{rng.integers(1, 4)}" for _ in range(count))


@pytest.mark.parametrize(
    "to",
    [
        pytest.param(to, marks=[] if to in (*SHORTEST, "f2l") else [pytest.mark.long])
        for to in DRAWINGS
    ],
)
def test_a_part_is_reached_and_a_drawing_of_it_means_the_same(replay, to):
    given = read_state(f"--scramble {scramble(1)}")
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
    given = read_state(f"--scramble {scramble(3)}")
    for to, columns in (("oriented", slice(0, 20)), ("eo", slice(8, 20))):
        found = solve(given.cube, goal=read_goal(to, given))
        assert found.optimal
        assert not given.cube.apply(" ".join(found.moves)).states[columns, 1].any()
    found = solve(given.cube, goal=read_goal("domino", given))
    seen = given.cube.apply(" ".join(found.moves)).facelets()
    assert set(seen[:9]) == {"U", "D"} and set(seen[27:36]) == {"U", "D"} and found.optimal


def test_a_part_is_seen_as_the_cube_is_held_and_by_its_colours(replay):
    held = replay(Cube.solved().facelets(), f"{scramble(4)} x y", 3)
    colours = held.translate(str.maketrans("URFDLB", "WRGYOB"))
    given = read_state(colours)
    found = solve(given.cube, goal=read_goal("cross W", given))
    seen = replay(colours, " ".join(found.moves), 3)
    by_place = read_goal(DRAWINGS["cross"].translate(str.maketrans("URFDLB", "WRGYOB")), given)
    shown = replay(colours, " ".join(solve(given.cube, goal=by_place).moves), 3)
    for letters, centre in ((seen, "W"), (shown, "Y")):
        face = next(number for number in range(6) if letters[9 * number + 4] == centre)
        assert {letters[9 * face + edge] for edge in (1, 3, 5, 7)} == {centre}


@pytest.mark.parametrize("robot", ["cubotino", "six-motor"])
def test_a_robot_s_plan_reaches_a_part(robot):
    mechanism = build_mechanism(load_profile(robot))
    given = read_state(f"--scramble {scramble(5)}")
    for to in ("cross", "layer"):
        goal = read_goal(to, given)
        plan = plan_solve(given.cube, mechanism, time_limit=0.3, goal=goal)
        end = replay_plan(plan, given.facelets).facelets
        assert any(fits(Stickers(end, 3, held).facelets, DRAWINGS[to]) for held in NAMES)
        assert 0 < (plan.lower_bound_us or 0) <= plan.duration_us


@pytest.mark.parametrize(
    ("to", "words"),
    [
        ("cross X", "neither a face nor a colour"),
        ("corners U", "no face"),
        ("UUUUUUUUU...R.R...", "54 facelets, not 18"),
        ("......... ....U.... ......... ......... ......... .........", "how the cube is held"),
        ("....U.... ....D.... ......... ......... ......... .........", "no way to hold a cube"),
        ("........U D........ ......... ......... ......... .........", "no corner is coloured"),
        ("UUUUUUUUU RFRRRRRRR FRFFFFFFF DDDDDDDDD LLLLLLLLL BBBBBBB.B", "in these places"),
    ],
)
def test_what_no_cube_can_show_is_refused(to, words):
    given = read_state("--scramble R")
    with pytest.raises(CubistError, match=words):
        read_goal(to, given)
