"""What simulated robots see is read right, or not surely: the demonstration's way to the cube."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.vision.robot_looks import ROBOTS, Scene, outcome

FEW = [ROBOTS.index(name) for name in ("cubotino", "four-arm", "six-motor", "crane")]


@pytest.mark.parametrize("seeds", [FEW, pytest.param(range(len(ROBOTS)), marks=pytest.mark.long)])
def test_every_robot_reads_its_cube(seeds):
    assert {Scene.of_seed(seed).robot for seed in seeds} == {ROBOTS[seed] for seed in seeds}
    assert [(seed, outcome(seed)) for seed in seeds] == [(seed, "right") for seed in seeds]


def test_some_robots_have_calibrated_places_and_some_search():
    assert {Scene.of_seed(seed).calibrated for seed in range(len(ROBOTS))} == {True, False}


def test_what_is_too_poor_to_read_is_not_read_surely():
    """Cameras far from where they should be, lamps in the picture, noise: hardly a cube is seen."""
    found = Counter(outcome(seed, harsh=6.0) for seed in FEW)
    assert found["wrong"] == 0
    assert found["refused"] > 0


@pytest.mark.parametrize(("seed", "harsh"), [(50_008, 2.0), (70_036, 3.0)])
def test_where_a_lamp_hides_every_centre_the_faces_have_no_sure_names(seed, harsh):
    """The camera sees the lamp in the middle of each face, so that all centres look alike."""
    assert outcome(seed, harsh).startswith("unsure")


def test_wings_that_a_lamp_drowns_are_not_surely_exchanged():
    """A 6x6x6 with an orange and a blue wing in the lamp's reflection."""
    assert outcome(9_911) != "wrong"


@pytest.mark.long
@pytest.mark.parametrize(("harsh", "count"), [(1.0, 10_000), (2.0, 2_000), (3.0, 2_000)])
def test_no_scan_is_surely_wrong(harsh, count):
    found = Counter(outcome(seed, harsh) for seed in range(1_000, 1_000 + count))
    assert found["wrong"] == 0
    assert harsh > 1 or found["right"] > 0.95 * count
