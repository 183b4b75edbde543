"""Tilts of a face seen from above, against a camera that is modelled point by point."""

from __future__ import annotations

import numpy as np
import pytest

from robot.calibration.auto.face_watch import UNIT_SQUARE
from robot.calibration.auto.fitting import CENTRE_MOVES, HEIGHTS, USUAL_HEIGHT, TiltGauge

SITES = ["R", "L", "F", "B"]
AXES = {"R": (1.0, 0.0, 0.0), "L": (-1.0, 0.0, 0.0), "F": (0.0, 1.0, 0.0), "B": (0.0, -1.0, 0.0)}
"""Out of the cube at each site: right, down in the picture, up."""


def seen(site: str, degrees: float, foot: tuple[float, float], height: float) -> np.ndarray:
    """The corners of the face on top, on the plane of the level face, of a cube that a gripper
    turns clockwise as seen from outside: rotated about the gripper's axis, then looked at."""
    axis = np.array(AXES[site])
    angle = np.radians(degrees)
    camera = np.array([*foot, 1 + height])
    found = []
    for right, down in UNIT_SQUARE:
        point = np.array([right, down, 1.0])
        # Right, down, up is left-handed: clockwise as seen from outside is mathematically positive.
        turned = (
            point * np.cos(angle)
            + np.cross(axis, point) * np.sin(angle)
            + axis * (axis @ point) * (1 - np.cos(angle))
        )
        ray = turned - camera
        found.append((camera + ray * (1 - camera[2]) / ray[2])[:2])
    return np.array(found)


@pytest.mark.parametrize("site", SITES)
@pytest.mark.parametrize("degrees", [-20.0, -3.0, 0.0, 12.0, 25.0])
def test_corners_are_where_a_camera_sees_them(site: str, degrees: float) -> None:
    for foot, height in (((0.0, 0.0), USUAL_HEIGHT), ((0.4, -0.7), 3.0)):
        gauge = TiltGauge(site, foot, height)  # type: ignore[arg-type]
        expected = seen(site, degrees, foot, height)
        assert gauge.corners(degrees) == pytest.approx(expected, abs=1e-9)
        assert gauge.degrees(expected) == pytest.approx(degrees, abs=1e-3)
        assert gauge.misses(expected, degrees) == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("site", SITES)
def test_the_middle_goes_where_the_gripper_turns_it(site: str) -> None:
    middle = seen(site, 0.5, (0.0, 0.0), 1e6).mean(axis=0)
    assert middle == pytest.approx(np.radians(0.5) * np.array(CENTRE_MOVES[site]), abs=1e-4)  # type: ignore[index]


def test_a_miss_is_the_farthest_corner_s() -> None:
    gauge = TiltGauge("R")
    corners = gauge.corners(5.0)
    corners[2, 1] += 0.25
    corners[0, 0] -= 0.1
    assert gauge.misses(corners, 5.0) == pytest.approx(0.25)


@pytest.mark.parametrize("site", SITES)
def test_a_sweep_shows_where_the_camera_is(site: str) -> None:
    views = [seen(site, degrees, (0.3, -0.4), 6.0) for degrees in (-15.0, -5.0, 0.0, 8.0, 16.0)]
    found = TiltGauge(site).fit_camera(views)  # type: ignore[arg-type]
    assert found.site == site
    assert found.foot == pytest.approx((0.3, -0.4), abs=0.01)
    assert found.height == pytest.approx(6.0, abs=0.05)


def test_heights_that_cannot_be_are_kept_within_bounds() -> None:
    gauge = TiltGauge("F")
    for height, kept in ((0.2, HEIGHTS[0]), (1.5, 1.5), (20.0, 20.0), (50.0, 50.0), (90.0, 50.0)):
        assert gauge._with_camera(np.array([0.1, 0.2, height])) == TiltGauge("F", (0.1, 0.2), kept)
