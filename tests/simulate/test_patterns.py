"""Robots that make patterns, judged by the simulated robot's own cube."""

import numpy as np
import pytest

from robot.settings import load_profile
from robot.text.outcomes import Outcome
from robot.twin.cube import CubeBody, scrambled
from solver.cube.centres import count_turns, write_turns
from solver.cube.notation import parse_moves
from solver.cube.sticker_cube import StickerCube
from solver.patterns import PATTERNS
from tests.rig.simulated_run import SimulatedRun
from tests.rig.stickers import looks_like, replay_moves


@pytest.mark.parametrize(
    ("robot", "name"),
    [
        ("six-motor", "superflip"),
        pytest.param("cubotino-uno", "checkerboard", marks=pytest.mark.long),
        pytest.param("soltvvo", "cube-in-cube", marks=pytest.mark.long),
    ],
)
def test_a_robot_turns_its_cube_to_a_pattern_and_knows_when_it_is_there(robot, name):
    profile = load_profile(robot)
    size, pattern = profile.cube.size, PATTERNS[name]
    wanted = pattern.facelets(size) if pattern.facelets else ""
    if pattern.moves is not None:
        wanted = str(StickerCube.solved(size).apply(pattern.moves(size)))
    with SimulatedRun(profile, scrambled(size, 3)) as run:
        ended = run.solve(starts=2, to=name)
        assert (ended.record.outcome, ended.violations) == (Outcome.DONE, ())
        assert not ended.record.moves, "the second time it is there before anything turns"
        assert looks_like(run.robot.body.facelets(), wanted, size, in_colours=size > 2)


PICTURES = "".join(chr(0x100 + number) for number in range(6 * 9 * 9))
"""The stickers of a 3x3x3 that has nine letters painted on each of its stickers."""


@pytest.mark.parametrize(
    "seed", [0, 1, 2, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(3, 100))]
)
def test_printed_centres_are_upright_after_a_pattern(seed):
    rng = np.random.default_rng(seed)
    moves = " ".join("URFDLB"[rng.integers(6)] + ("", "2", "'")[rng.integers(3)] for _ in range(40))
    start = str(StickerCube.solved(3).apply(moves))
    turned = write_turns(count_turns(parse_moves(moves)))
    with SimulatedRun(load_profile("six-motor"), CubeBody(start)) as run:
        ended = run.solve(to="checkerboard", centres=True, centres_turned=turned)
        assert (ended.record.outcome, ended.violations) == (Outcome.DONE, ())
        wide = [f"3{move[0]}w{move[1:]}" for move in f"{moves} {ended.record.moves}".split()]
        seen = replay_moves(PICTURES, " ".join(wide), 9).facelets
        grid = np.reshape([list(seen), list(PICTURES)], (2, 6, 9, 9))[:, :, 3:6, 3:6]
        assert (grid[0] == grid[1]).all()
        checked = str(StickerCube.solved(3).apply("M2 E2 S2"))
        assert looks_like(run.robot.body.facelets(), checked, 3)


def test_centres_that_no_turns_can_leave_upright_end_the_job():
    start = str(StickerCube.solved(3).apply("R"))
    with SimulatedRun(load_profile("six-motor"), CubeBody(start)) as run:
        ended = run.solve(centres=True)
        assert (ended.record.outcome, ended.fault) == (Outcome.UNREADABLE, "unreadable")
        assert "centre" in ended.record.reason and not ended.record.moves
