"""Rendered pictures and photographs: what the daemon gets to see."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest

from robot.settings import RobotProfile, load_profile
from robot.twin.cube import NORMALS, SITES, CubeBody, scrambled
from robot.twin.render import (
    COLOURS,
    Image,
    place_camera,
    site_corners,
)
from robot.twin.simulated import SimulatedRobot
from robot.twin.studio import Studio, load_photographs

# How to turn the cube so that a face stands at the site U upright, as Kociemba draws it.
UPRIGHT = {
    "U": [],
    "F": [("R", 1)],
    "D": [("R", 2)],
    "B": [("D", 2), ("R", 1)],
    "R": [("U", 1), ("R", 1)],
    "L": [("U", -1), ("R", 1)],
}


def studio(
    profile: RobotProfile, body: CubeBody, photographs: dict[str, Image] | None = None
) -> Studio:
    return Studio(SimulatedRobot(profile, body), 0, photographs)


def flattened(image: Image, profile: RobotProfile) -> np.ndarray:
    """uint8[90, 90, 3]: what is seen where the profile says that site U is."""
    quad = np.array(profile.cameras[0].views[0].quad, dtype=np.float32)
    corners = quad * np.array(profile.cameras[0].resolution, dtype=np.float32)
    square = np.array([[0, 0], [90, 0], [90, 90], [0, 90]], dtype=np.float32)
    return cv2.warpPerspective(image, cv2.getPerspectiveTransform(corners, square), (90, 90))


def sticker_means(image: Image, profile: RobotProfile) -> np.ndarray:
    """float64[9, 3]: mean colours where the profile says the stickers of site U are."""
    cells = flattened(image, profile).reshape(3, 30, 3, 30, 3)[:, 10:20, :, 10:20]
    return cells.mean(axis=(1, 3)).reshape(9, 3)


def nearest_letters(means: np.ndarray) -> str:
    """Letters by direction of colour: light may change how bright things are."""
    names = list(COLOURS)
    references = np.array([COLOURS[name] for name in names], dtype=float)
    distances = np.linalg.norm(means[:, None] - references[None], axis=2)
    return "".join(names[i] for i in distances.argmin(axis=1))


def test_a_picture_shows_the_moment_at_which_it_was_asked_for(cubotino: RobotProfile) -> None:
    """Whatever happens until it is painted."""
    shown = [studio(cubotino, scrambled(3, 1)).shoot().image]
    later = studio(cubotino, scrambled(3, 1))
    paint = later.pose_for()
    later._robot.insert(scrambled(3, 2))
    later._robot.body.turn("U", 1)
    later.colour_cast((0.2, 0.2, 0.2))
    shown.append(paint().image)
    assert np.array_equal(*shown)


def test_the_camera_stands_where_the_profile_says(cubotino: RobotProfile) -> None:
    for camera in cubotino.cameras:
        optics = place_camera(camera)
        for view in camera.views:
            pixels = np.array(view.quad) * camera.resolution
            assert optics.project(site_corners(view.site)) == pytest.approx(pixels, abs=2.0)
        outside = optics.position @ np.array(NORMALS[camera.views[0].site])
        assert outside > 1.0


@pytest.mark.parametrize("face", SITES)
def test_every_face_is_seen_as_it_is(cubotino: RobotProfile, face: str) -> None:
    body = scrambled(3, 5)
    first = SITES.index(face) * 9
    letters = body.facelets()[first : first + 9]
    for axis, quarters in UPRIGHT[face]:
        body.rotate(NORMALS[axis], quarters)
    image = studio(cubotino, body).shoot().image
    assert image.shape == (480, 640, 3)
    assert image.dtype == np.uint8
    assert nearest_letters(sticker_means(image, cubotino)) == letters


def test_the_lid_hides_the_cube(cubotino: RobotProfile) -> None:
    robot = SimulatedRobot(cubotino, scrambled(3, 5))
    scene = Studio(robot)
    seen = sticker_means(scene.shoot().image, cubotino)
    for frame in range(40):
        robot.pin_changed(frame * 20_000, 10, True)
        robot.pin_changed(frame * 20_000 + 1200, 10, False)
    covered = sticker_means(scene.shoot().image, cubotino)
    assert seen.std(axis=0).min() > 30
    assert covered.std(axis=0).max() < 15


def test_a_cube_in_motion_is_seen_in_motion(cubotino: RobotProfile) -> None:
    robot = SimulatedRobot(cubotino, scrambled(3, 5))
    scene = Studio(robot)
    rest = scene.shoot().image.astype(int)
    again = scene.shoot().image.astype(int)
    for frame in range(9):
        robot.pin_changed(frame * 20_000, 9, True)
        robot.pin_changed(frame * 20_000 + 2400, 9, False)
    moved = scene.shoot().image.astype(int)
    assert np.abs(moved - rest).mean() > 4 * np.abs(again - rest).mean()


def test_glare_and_colour_cast_change_the_picture(cubotino: RobotProfile) -> None:
    scene = studio(cubotino, scrambled(3, 5))
    plain = scene.shoot().image.astype(int)
    scene.glare(0.9, (0.5, 0.45))
    glaring = scene.shoot().image.astype(int)
    assert (glaring[200:230, 305:335].mean() - plain[200:230, 305:335].mean()) > 30
    scene.glare(0.0)
    scene.colour_cast((1.0, 0.8, 0.4))
    cast = scene.shoot().image.astype(int)
    assert cast[..., 2].mean() < 0.85 * plain[..., 2].mean()


def test_a_wrong_sticker_is_seen_but_not_there(cubotino: RobotProfile) -> None:
    body = scrambled(3, 5)
    wrong = next(letter for letter in SITES if letter != body.facelets()[0])
    scene = studio(cubotino, body)
    scene.disturbances.repainted[0] = wrong
    seen = nearest_letters(sticker_means(scene.shoot().image, cubotino))
    assert seen[0] == wrong
    assert seen[1:] == body.facelets()[1:9]
    assert body.facelets()[0] != wrong


def test_closed_jaws_cover_what_the_profile_says() -> None:
    profile = load_profile("four-arm")
    robot = SimulatedRobot(profile, scrambled(3, 5))
    means = sticker_means(Studio(robot).shoot().image, profile)
    colours = means.max(axis=1) - means.min(axis=1)
    plain = [number for number in range(9) if colours[number] < 20 and means[number].max() < 100]
    # The jaws of R, L, F and B lie along y at first and reach over the middles of the rows.
    assert plain == [1, 3, 5, 7]


def numbered() -> dict[str, Image]:
    """A picture per face whose corners tell which way up it is."""
    pictures = {}
    for number, face in enumerate(SITES):
        picture = np.zeros((20, 30, 3), dtype=np.uint8)
        picture[0, 0], picture[0, -1] = (10 * number + 1,) * 3, (10 * number + 2,) * 3
        picture[-1, -1], picture[-1, 0] = (10 * number + 3,) * 3, (10 * number + 4,) * 3
        pictures[face] = picture
    return pictures


def corners(image: Image) -> list[int]:
    return [int(image[y, x, 0]) for y, x in ((0, 0), (0, -1), (-1, -1), (-1, 0))]


@pytest.mark.parametrize("face", SITES)
@pytest.mark.parametrize("quarters", [0, 1, 2, 3])
def test_photographs_are_turned_as_the_cube_is_held(
    cubotino: RobotProfile, face: str, quarters: int
) -> None:
    body = scrambled(3, 5)
    scene = studio(cubotino, body, numbered())
    for axis, count in UPRIGHT[face]:
        body.rotate(NORMALS[axis], count)
    body.rotate(NORMALS["U"], quarters)
    shot = scene.shoot()
    assert not shot.calibrated
    upright = [10 * SITES.index(face) + corner for corner in (1, 2, 3, 4)]
    # Clockwise as seen: what was at the top left is at the top right after a quarter.
    assert corners(shot.image) == upright[4 - quarters :] + upright[: 4 - quarters]


def test_a_face_that_has_been_turned_is_no_longer_its_photograph(cubotino: RobotProfile) -> None:
    body = scrambled(3, 5)
    scene = studio(cubotino, body, numbered())
    assert scene.shoot().image.shape == (20, 30, 3)
    body.turn("R", 1)
    assert scene.shoot().image.shape == (480, 640, 3)


def test_photographs_come_from_a_folder(tmp_path: Path) -> None:
    for number, face in enumerate(SITES):
        picture = np.full((40, 60, 3), (20 * number, 90, 200), dtype=np.uint8)
        cv2.imwrite(str(tmp_path / f"{face}.png"), picture[:, :, ::-1])
    loaded = load_photographs(tmp_path)
    assert [int(loaded[face][0, 0, 0]) for face in SITES] == [0, 20, 40, 60, 80, 100]
