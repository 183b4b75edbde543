"""Whole cubes in two photographs of opposite corners."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from solver.cube.cube import Cube
from tests.rig.corner_scenes import RenderedCorners, read_corners_outcome, render_corners
from tests.rig.scenes import render_cube
from vision.decide.reader import CubeReading, Unreadable
from vision.decide.two_corners import assemble, read_corners
from vision.frame import Frame
from vision.locate.face import NoFace
from vision.locate.two_corners import scan_corners


@pytest.mark.parametrize("size", [2, 3, 4, 5])
def test_cubes_are_read_from_two_corners(size):
    """Take each picture of another corner, in any rotation."""
    counts = Counter(read_corners_outcome(render_corners(40_000 + n, size)) for n in range(4))
    assert counts["wrong"] == 0 and counts["right"] >= 3, counts


@pytest.mark.parametrize("moves", ["U", "R2 L2", "R L' U2"])
def test_colours_tell_how_pictures_of_a_nearly_solved_cube_belong_together(moves):
    """Use a cube whose pieces alone allow more than one arrangement."""
    state = Cube.solved().apply(moves).facelets()
    assert read_corners_outcome(render_corners(42_003, 3, facelets=state)) in {"right", "unsure"}


def test_the_face_that_both_pictures_show_is_named():
    with pytest.raises(Unreadable, match="both pictures show the same face") as refusal:
        reading_of(render_corners(43_000, 3, towards=("URF", "UFL")))
    assert "turn the cube over" in refusal.value.reason
    same = render_corners(43_001, 3, towards=("DRB", "DRB"))
    with pytest.raises(Unreadable, match="both pictures show the same face"):
        reading_of(same)


def test_a_picture_without_a_corner_is_named_with_the_remedy():
    cube = render_corners(45_000, 3)
    face = render_cube(45_000, 3, max_tilt=5).frames["F"]
    with pytest.raises(NoFace, match="second picture: a face of a 3x3x3 is in view at the") as odd:
        scan_corners(cube.frames[0], face)
    assert "point a corner of the cube at the camera" in str(odd.value)
    grey = Frame(np.full((480, 640, 3), 90, np.uint8), "grey", 0)
    with pytest.raises(NoFace, match="first picture: no corner of a 3x3x3"):
        scan_corners(grey, cube.frames[1])


def reading_of(cube: RenderedCorners) -> CubeReading:
    return read_corners(assemble([scan.colours for scan in scan_corners(*cube.frames)]))
