"""Robots that make patterns: the simulated robot's own cube is the judge."""

from __future__ import annotations

import pytest

from robot.settings import load_profile
from robot.text.outcomes import Outcome
from robot.twin.cube import scrambled
from solver.cube.sticker_cube import StickerCube
from solver.patterns import PATTERNS
from tests.rig.simulated_run import SimulatedRun
from tests.rig.stickers import looks_like


@pytest.mark.parametrize(
    ("robot", "name"),
    [
        ("six-motor", "superflip"),
        pytest.param("cubotino-uno", "checkerboard", marks=pytest.mark.long),
        pytest.param("soltvvo", "cube-in-cube", marks=pytest.mark.long),
    ],
)
def test_a_robot_turns_its_cube_to_a_pattern_and_knows_when_it_is_there(
    robot: str, name: str
) -> None:
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
