"""Turns of several layers: as runs, on the simulated body, and against an exhaustive search."""

from itertools import product

import numpy as np
import pytest

from robot.mechanism.compile.closure import path_closure
from robot.mechanism.compile.cost_model import compile_mechanism
from robot.planner import PlanningError, build_mechanism
from robot.planner.block_turns import BlockTurns, block_turns
from robot.planner.solve import plan_scramble, plan_solve
from robot.planner.survey import random_cube
from robot.settings import load_profile
from robot.settings.profile import for_cube
from robot.twin.cube import NORMALS, SITE_OF_AXIS, CubeBody
from solver import _native
from solver.cube.facelets import FACES
from solver.cube.notation import parse_moves
from solver.cube.sticker_cube import StickerCube
from solver.reduction.search import moves_from
from tests.rig.timed_turns import in_order_of_cost

HELD = [
    f"{first} {second}".strip()
    for first, second in product(("", "x", "x2", "x'", "z", "z'"), ("", "y", "y2", "y'"))
]


def every_way_held(cube):
    return {cube.apply(turns).facelets() for turns in HELD}


@pytest.fixture(scope="module", params=[4, 5])
def crane(request):
    return build_mechanism(for_cube(load_profile("crane"), request.param))


def performed(operations, facelets):
    """Return the cube's facelets, as held by the robot, after a plan's operations."""
    body = CubeBody(facelets)
    for operation in operations:
        if operation.op == "turn":
            body.turn(operation.site, operation.quarter_turns, operation.layers)
        elif operation.op == "rotate":
            body.rotate(NORMALS[SITE_OF_AXIS[operation.axis]], operation.quarter_turns)
    return body.facelets()


@pytest.mark.parametrize(
    "moves",
    ["Uw", "Dw R", "D' U Uw2 Dw", "x Rw y Fw2 2L 2R", "Rw Fw Uw Lw Bw Dw", "3Rw 3Dw' 3Bw2 U"],
)
def test_a_plan_does_what_the_moves_do(crane, moves):
    cube = StickerCube.solved(crane.size).apply("R Uw' F L2 Dw B'")
    plan = block_turns(crane).start(crane.start).plan(parse_moves(moves))
    wanted = every_way_held(cube.apply(moves))
    assert cube.apply(" ".join(plan.moves)).facelets() in wanted
    assert performed(plan.operations, cube.facelets()) in wanted
    assert plan.duration_us == block_turns(crane).start(crane.start).time_us(parse_moves(moves))


def fastest_of_all_us(mechanism, cube, runs):
    """Return the least time of motions that make the turns of each run, in any order and manner.

    Search everything the mechanism can do with the cube's stickers. On the way, the cube must
    always be the result of some of the turns.
    """
    stages = {}
    progress = (0, ())
    pending = [(progress, cube)]
    while pending:
        (number, done), reached = pending.pop()
        stages.setdefault((number, done), every_way_held(reached))
        if number < len(runs):
            for move in set(runs[number]) - set(done):
                after = (number, tuple(sorted({*done, move})))
                if len(after[1]) == len(runs[number]):
                    after = (number + 1, ())
                pending.append((after, reached.apply(move)))
    start = (mechanism.start.configuration, cube.facelets(), progress)

    def onward(state):
        """Yield each motion from a state, by the stickers that it moves."""
        configuration, facelets, stage = state
        for step in mechanism.steps_from(configuration):
            after = performed(step.operations, facelets)
            for one in stages if step.turns else [stage]:
                if after in stages[one] and (not step.turns or follows(stage, one, runs)):
                    yield step.duration_us, (step.end, after, one)

    return next(cost for cost, state in in_order_of_cost(start, onward) if state[2][0] == len(runs))


def follows(stage, after, runs):
    """Return whether one turn leads from a stage to another."""
    number, done = stage
    if after[0] == number:
        return len(after[1]) == len(done) + 1 and set(done) < set(after[1])
    return after == (number + 1, ()) and len(done) + 1 == len(runs[number])


@pytest.mark.parametrize(
    "runs",
    [
        ["U"],
        ["Dw"],
        pytest.param(["Rw", "U"], marks=pytest.mark.long),
        pytest.param(["U Dw'", "R"], marks=pytest.mark.long),
        pytest.param(["R2", "Uw", "F'"], marks=pytest.mark.long),
        pytest.param(["B Fw2", "Dw", "L"], marks=pytest.mark.long),
    ],
)
def test_no_order_of_the_same_moves_is_faster(runs):
    crane = build_mechanism(for_cube(load_profile("crane"), 4))
    cube = StickerCube.solved(4).apply("R Uw' F L2 Dw B' Rw U2 Fw L D2")
    named = [run.split() for run in runs]
    found = block_turns(crane).start(crane.start).time_us(parse_moves(" ".join(runs)))
    assert found == fastest_of_all_us(crane, cube, named)


def test_a_turn_that_no_motion_makes_is_refused():
    crane = build_mechanism(for_cube(load_profile("crane"), 4))
    lame = type(crane)(
        crane.profile,
        crane.configurations,
        tuple(step for step in crane.transitions if step.layers == 1),
        crane.start,
    )
    wide = BlockTurns(lame, path_closure(lame), compile_mechanism(lame)).start(lame.start)
    assert wide.time_us(parse_moves("R")) > 0
    with pytest.raises(PlanningError, match="crane cannot turn Uw"):
        wide.time_us(parse_moves("Uw"))


def test_a_scramble_makes_the_cube_it_should(crane):
    cube = random_cube(crane.size, np.random.default_rng(3))
    plan = plan_scramble(cube, crane)
    made = StickerCube.solved(crane.size).apply(" ".join(plan.moves))
    assert made.facelets() in every_way_held(cube)
    assert performed(plan.operations, StickerCube.solved(crane.size).facelets()) in every_way_held(
        cube
    )


def near_turns(rng, count):
    """Return turns of one or two layers from U, R or F, and of one from D, L or B."""
    faces = rng.integers(6, size=count).tolist()
    return [
        (face, 1, int(rng.integers(1, 3)) if face < 3 else 1, int(rng.integers(1, 4)))
        for face in faces
    ]


@pytest.mark.parametrize(
    ("scramble", "first_found", "faster"),
    [
        ("R2 L2 U2 D2 F2 B2", "R2 L2 F2 B2 U2 D2", "U2 D2 F2 B2 R2 L2"),
        ("R2 D2 B2 L2 F2 U2 R2 D2", "D2 R2 U2 F2 L2 B2 D2 R2", "D2 F' B U2 F' B' L2 B2 R2"),
    ],
    ids=["other axes first", "one turn more"],
)
def test_a_few_turns_are_planned_only_if_nothing_else_is_faster(
    crane, scramble, first_found, faster
):
    cube = StickerCube.solved(crane.size).apply(scramble)
    turns = block_turns(crane).start(crane.start)
    slow_us, fast_us = (turns.time_us(parse_moves(one)) for one in (first_found, faster))
    assert cube.apply(first_found).is_solved and cube.apply(faster).is_solved
    plan = plan_solve(cube, crane, time_limit=0.5)
    assert plan.duration_us <= fast_us < slow_us
    assert performed(plan.operations, cube.facelets()) in every_way_held(
        StickerCube.solved(crane.size)
    )


def test_one_turn_that_the_crane_can_make_at_once_is_not_searched_for(crane, monkeypatch):
    turns = block_turns(crane).start(crane.start)
    quickest = min((turns.time_us([move]), move) for move in parse_moves("U D R L F B"))[1]
    monkeypatch.setattr("solver.reduction.phased.load", None)  # the tables of a search
    plan = plan_solve(StickerCube.solved(crane.size).move(quickest.inverse), crane)
    assert plan.moves == (str(quickest),)


@pytest.mark.parametrize("held", ["URFDLB", "LFDRBU"])
def test_the_kernel_knows_what_turns_take(crane, held):
    """Check also a cube held otherwise, with L and D as U and F, U as B and so on."""
    rng = np.random.default_rng(16)
    turns = block_turns(crane).start(crane.start)
    kernel = _native.BlockTimes(crane.size, turns.turn_times.next, turns.turn_times.first)
    given_as = [FACES.index(face) for face in held]
    up, front = given_as[0], given_as[2]
    for _ in range(8):
        some = near_turns(rng, 12)
        renamed = moves_from([(given_as[face], *rest) for face, *rest in some], crane.size)
        exact_us = turns.time_us(renamed)
        assert kernel.time_us(up, front, some) == pytest.approx(exact_us, abs=12 * 10_000)
    there_and_back = [(0, 1, 2, 1), (1, 1, 1, 3), (1, 1, 1, 1), (0, 1, 2, 3)]
    assert kernel.time_us(up, front, []) == kernel.time_us(up, front, there_and_back) == 0
