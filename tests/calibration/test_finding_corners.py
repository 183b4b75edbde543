"""Cameras at a cube's corners: where its faces are, how far one of them is turned."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from robot.calibration.auto.cube_pose import CubePose, faces_in_view, site_corners
from robot.calibration.auto.direct import Unrolled
from robot.calibration.steps.camera import take_picture
from robot.settings import load_profile
from robot.settings.base import Site
from robot.text.faults import CalibrationError
from robot.twin.cube import CubeBody, Pose, scrambled
from robot.twin.misadjustment import Misadjustment
from robot.twin.render import Optics, Painter, StudioLight, moved_camera, place_camera
from robot.twin.render import site_corners as true_corners
from tests.rig.simulated_calibration import SimulatedCalibration
from tests.rig.simulated_run import SimulatedRun
from vision.locate.face import FaceGrid, HintedSearch

PROFILE = load_profile("six-motor")
CAMERA = PROFILE.cameras[0]
SITES: tuple[Site, ...] = ("U", "R", "F")

Image = NDArray[np.uint8]


STRAIGHT = place_camera(CAMERA)
PAINTER = Painter(STRAIGHT, 2.0)
"""Its first picture takes ten times as long as any other."""


def picture(optics: Optics, body: CubeBody | None, *layers: tuple[str, float]) -> Image:
    """What a camera sees; ``layers``: degrees by which they are turned."""
    twists = tuple((site, degrees / 90) for site, degrees in layers)
    one = PAINTER if optics is STRAIGHT else Painter(optics, 2.0)
    return one.paint(body, Pose(np.eye(3), twists), StudioLight())


@pytest.mark.parametrize("seed", [None, 4, 9])
def test_faces_are_found_that_are_each_seen_too_much_from_the_side(seed: int | None) -> None:
    """As the camera of the profile sees them: none of the three can be told by itself."""
    truth = None if seed is None else Misadjustment(seed).camera(CAMERA.name)
    optics = STRAIGHT if truth is None else moved_camera(STRAIGHT, truth)
    image = picture(optics, scrambled(3, 1))
    found = faces_in_view(CAMERA, image, 3)
    for view in CAMERA.views:
        assert np.abs(found[view.site] - optics.project(true_corners(view.site))).max() < 8


@pytest.mark.parametrize("seed", [1, 2])
def test_faces_are_found_before_a_camera_that_was_mounted_askew(seed: int) -> None:
    optics = moved_camera(place_camera(CAMERA), Misadjustment(seed).camera(CAMERA.name))
    found = faces_in_view(CAMERA, picture(optics, scrambled(3, seed)), 3)
    for view in CAMERA.views:
        truth = optics.project(true_corners(view.site))
        assert np.abs(np.array(view.quad) * CAMERA.resolution - truth).max() > 20
        assert np.abs(found[view.site] - truth).max() < 6


@pytest.mark.parametrize("seed", [17, 18])
def test_two_faces_tell_where_a_third_is_that_is_too_dark_to_be_found(seed: int) -> None:
    truth, camera = Misadjustment(seed), PROFILE.cameras[1]
    optics = moved_camera(place_camera(camera), truth.camera(camera.name))
    with SimulatedRun(PROFILE, scrambled(3, seed), misadjusted=truth) as run:
        session = SimulatedCalibration(run)
        with session.maintenance():
            _, image = take_picture(session, camera.name)
    left = FaceGrid.from_corners(optics.project(true_corners("L")), 3)
    assert HintedSearch(image).near(left) is None
    found = faces_in_view(camera, image, 3)
    for site, corners in found.items():
        assert np.abs(corners - optics.project(true_corners(site))).max() < 0.15 * left.pitch


def test_without_a_cube_no_faces_are_guessed() -> None:
    with pytest.raises(CalibrationError, match="camera upper sees no face"):
        faces_in_view(CAMERA, picture(STRAIGHT, None), 3)


def test_a_cube_that_is_cut_off_is_named() -> None:
    optics = place_camera(CAMERA)
    near = replace(optics, focal=1.5 * optics.focal)
    with pytest.raises(CalibrationError, match="upper"):
        faces_in_view(CAMERA, picture(near, scrambled(3, 1)), 3)


@given(st.integers(0, 9999))
@settings(max_examples=10)
def test_a_pose_is_found_by_the_corners_of_three_faces(seed: int) -> None:
    optics = moved_camera(place_camera(CAMERA), Misadjustment(seed).camera(CAMERA.name))
    quads = {site: optics.project(site_corners(site)) for site in SITES}
    pose = CubePose.fit(quads, CAMERA.resolution, None)
    assert pose.focal == pytest.approx(optics.focal, rel=0.01)
    for site, quad in quads.items():
        assert pose.corners(site) == pytest.approx(quad, abs=0.1)


@given(st.sampled_from(SITES), st.floats(-35, 35), st.integers(1, 99))
@settings(max_examples=6, deadline=None)
def test_a_turned_layer_shows_by_how_much(site: Site, degrees: float, seed: int) -> None:
    optics, body = STRAIGHT, scrambled(3, seed)
    corners = optics.project(true_corners(site))
    first = Unrolled.from_picture(picture(optics, body), corners)
    turned = Unrolled.from_picture(picture(optics, body, (site, degrees)), corners)
    found, agreement = turned.turned_from(first, 0.8 * degrees)
    assert found == pytest.approx(degrees, abs=0.3)
    assert agreement > 0.8


def test_a_face_that_is_covered_does_not_agree() -> None:
    optics, body = STRAIGHT, scrambled(3, 1)
    corners = optics.project(true_corners("U"))
    first = Unrolled.from_picture(picture(optics, body), corners)
    other = Unrolled.from_picture(picture(optics, scrambled(3, 2)), corners)
    gone = Unrolled.from_picture(picture(optics, None), corners)
    assert gone.turned_from(first, 0.0)[1] < 0.5
    assert other.turned_from(first, 0.0)[1] < 0.7
