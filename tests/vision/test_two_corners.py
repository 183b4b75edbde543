"""Whole cubes in two photographs of opposite corners."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from solver.cube.cube import Cube
from tests.rig.corner_scenes import RenderedCorners, read_corners_outcome, render_corners
from tests.rig.scenes import NEAR, render_cube
from vision.decide.reader import CubeReading, Unreadable
from vision.decide.two_corners import assemble, read_corners
from vision.frame import Frame
from vision.locate.corner import locate_corners
from vision.locate.face import NoFace
from vision.locate.two_corners import scan_corners


@pytest.mark.parametrize("size", [2, 3, 4, 5])
def test_cubes_are_read_from_two_corners(size):
    """Each picture is taken of another corner and turned as it comes."""
    counts = Counter(read_corners_outcome(render_corners(40_000 + n, size)) for n in range(4))
    assert counts["wrong"] == 0 and counts["right"] >= 3, counts


@pytest.mark.parametrize("size", [2, 3, 4, 5])
def test_the_three_faces_are_found(size):
    cube = render_corners(41_000, size)
    for frame, corners in zip(cube.frames, cube.corners, strict=True):
        found = locate_corners(frame.image)
        view = max(found.values(), key=lambda one: one.fit)
        assert view.size == size
        for grid in view.faces.values():
            gaps = [
                np.abs(grid.corners - np.roll(true, k, axis=0)).max()
                for true in corners.values()
                for k in range(4)
            ]
            assert min(gaps) < NEAR * grid.pitch


@pytest.mark.parametrize("moves", ["U", "R2 L2", "R L' U2"])
def test_colours_tell_how_pictures_of_a_nearly_solved_cube_belong_together(moves):
    """Its pieces alone allow more than one way."""
    state = Cube.solved().apply(moves).facelets()
    assert read_corners_outcome(render_corners(42_003, 3, facelets=state)) in {"right", "unsure"}


def test_the_face_that_both_pictures_show_is_named():
    with pytest.raises(Unreadable, match="both pictures show the same face") as refusal:
        reading_of(render_corners(43_000, 3, towards=("URF", "UFL")))
    assert "turn the cube over" in refusal.value.reason
    same = render_corners(43_001, 3, towards=("DRB", "DRB"))
    with pytest.raises(Unreadable, match="both pictures show the same face"):
        reading_of(same)


def test_a_face_seen_twice_in_two_shades_is_not_taken_for_two():
    """Two corners of a solved cube that share a face, after the white balance has changed."""
    cube = render_corners(43_002, 3, facelets=Cube.solved().facelets(), towards=("URF", "UBR"))
    first, second = cube.frames
    cool = (second.image * [0.5, 0.7, 1.0]).astype(np.uint8)
    found = reading_of(replace(cube, frames=(first, Frame(cool, "cool", 0))))
    assert not found.confident


def test_pictures_of_two_cubes_make_none():
    one, other = (render_corners(seed, 3, towards=("URF", "DBL")) for seed in (44_000, 44_001))
    with pytest.raises(Unreadable):
        reading_of(replace(one, frames=(one.frames[0], other.frames[1])))


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
