"""Rendered pictures and photographs: the daemon's view."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from robot.settings import load_profile
from robot.twin.cube import NORMALS, SITES, CubeBody, Pose, scrambled
from robot.twin.misadjustment import LensTruth, LookTruth
from robot.twin.render import COLOURS, Image, Painter, StudioLight, place_camera
from robot.twin.simulated import SimulatedRobot
from robot.twin.studio import Studio, load_photographs

CUBOTINO = load_profile("cubotino-uno")
HOLDER_PIN = 9

UPRIGHT = {
    "U": [],
    "F": [("R", 1)],
    "D": [("R", 2)],
    "B": [("D", 2), ("R", 1)],
    "R": [("U", 1), ("R", 1)],
    "L": [("U", -1), ("R", 1)],
}
"""Turns of the cube that bring a face upright to the site U, as Kociemba draws it."""


def studio(body: CubeBody, photographs: dict[str, Image] | None = None) -> Studio:
    return Studio(SimulatedRobot(CUBOTINO, body), 0, photographs)


def show(body: CubeBody, face: str) -> None:
    for axis, quarters in UPRIGHT[face]:
        body.rotate(NORMALS[axis], quarters)


def test_a_camera_that_was_not_built_as_drawn_sees_otherwise():
    """Check each deviation alone: lens, noise, blur, shaking, exposure, light, and cube."""
    body = scrambled(3, 1)

    def shown(lens: LensTruth | None = None, look: LookTruth | None = None, **how: Any) -> Image:
        optics = replace(place_camera(CUBOTINO.cameras[0]), distortion=how.get("distortion", 0.0))
        painter = Painter(optics, (lens and lens.noise) or 0.0, 1, COLOURS, lens, look)
        light = replace(StudioLight(), flicker=how.get("flicker", 0.0))
        return painter.paint(body, Pose(), light, time_us=how.get("time_us", 0.0))

    usual = shown()
    assert (shown() == usual).all()
    bent = shown(distortion=-0.1)
    blurred = shown(LensTruth(blur_px=2.0))
    for other in (
        bent,
        blurred,
        shown(LensTruth(noise=5.0)),
        shown(LensTruth(wobble_px=3.0), time_us=30_000),
        shown(flicker=0.2),
        shown(LensTruth(reexposed=0.4)),
        shown(look=LookTruth(is_stickerless=True)),
        shown(look=LookTruth(has_logo=True)),
    ):
        assert np.abs(other.astype(int) - usual).max() > 1

    def width(image: Image) -> int:
        """Return the number of sticker-bright pixels in the row of the face's upper edge."""
        return int((image[100].max(axis=1) > 100).sum())

    def steepest(image: Image) -> int:
        return int(np.abs(np.diff(image.astype(int), axis=1)).max())

    assert width(bent) < width(usual), "a barrel draws corners in"
    assert steepest(blurred) < steepest(usual) / 2


def letters_seen(image: Image) -> str:
    """Return the letters at site U by the direction of colour: light may change the brightness."""
    camera = CUBOTINO.cameras[0]
    quad = np.array(camera.views[0].quad, dtype=np.float32)
    corners = quad * np.array(camera.resolution, dtype=np.float32)
    square = np.array([[0, 0], [90, 0], [90, 90], [0, 90]], dtype=np.float32)
    flat = cv2.warpPerspective(image, cv2.getPerspectiveTransform(corners, square), (90, 90))
    cells = flat.reshape(3, 30, 3, 30, 3)[:, 10:20, :, 10:20]
    means = cells.mean(axis=(1, 3)).reshape(9, 1, 3)
    distances = np.linalg.norm(means - np.array([*COLOURS.values()], dtype=float), axis=2)
    return "".join(list(COLOURS)[i] for i in distances.argmin(axis=1))


def test_a_picture_shows_the_moment_at_which_it_was_asked_for():
    """Change the robot before the picture is painted."""
    shown = studio(scrambled(3, 1)).shoot().image
    robot = SimulatedRobot(CUBOTINO, scrambled(3, 1))
    later = Studio(robot)
    paint = later.pose_for()
    robot.insert(scrambled(3, 2))
    robot.body.turn("U", 1)
    later.colour_cast((0.2, 0.2, 0.2))
    assert np.array_equal(shown, paint().image)


@pytest.mark.parametrize("face", SITES)
def test_every_face_is_seen_as_it_is_but_for_a_wrong_sticker(face):
    body = scrambled(3, 5)
    first = SITES.index(face) * 9
    letters = body.facelets()[first : first + 9]
    show(body, face)
    scene = studio(body)
    image = scene.shoot().image
    assert (image.shape, image.dtype) == ((480, 640, 3), np.uint8)
    assert letters_seen(image) == letters
    wrong = next(letter for letter in SITES if letter != letters[0])
    scene.disturbances.repainted[first] = wrong
    assert letters_seen(scene.shoot().image) == wrong + letters[1:]
    assert body.facelets()[0] == letters[0], "it is seen, but not there"


def test_a_cube_in_motion_is_seen_in_motion():
    robot = SimulatedRobot(CUBOTINO, scrambled(3, 5))
    scene = Studio(robot)
    rest, again = (scene.shoot().image.astype(int) for _ in range(2))
    for start_us in range(0, 9 * 20_000, 20_000):
        robot.pin_changed(start_us, HOLDER_PIN, True)
        robot.pin_changed(start_us + 2400, HOLDER_PIN, False)
    moved = scene.shoot().image.astype(int)
    assert np.abs(moved - rest).mean() > 4 * np.abs(again - rest).mean()


CORNERS = ((0, 0), (0, -1), (-1, -1), (-1, 0))


def numbered(face: str) -> list[int]:
    """Return the numbers in a face's corners, which show its orientation."""
    return [10 * SITES.index(face) + corner for corner in (1, 2, 3, 4)]


@pytest.fixture
def photographs(tmp_path: Path) -> dict[str, Image]:
    for face in SITES:
        picture = np.zeros((20, 30, 3), dtype=np.uint8)
        for corner, number in zip(CORNERS, numbered(face), strict=True):
            picture[corner] = (number, number + 100, number + 200)
        cv2.imwrite(str(tmp_path / f"{face}.png"), picture[:, :, ::-1])
    return load_photographs(tmp_path)


@pytest.mark.parametrize("face", SITES)
@pytest.mark.parametrize("quarters", [0, 1, 2, 3])
def test_photographs_are_turned_as_the_cube_is_held(photographs, face, quarters):
    body = scrambled(3, 5)
    scene = studio(body, photographs)
    show(body, face)
    body.rotate(NORMALS["U"], quarters)
    shot = scene.shoot()
    assert not shot.calibrated
    # Clockwise in the picture: after a quarter, the top left corner is at the top right.
    upright = numbered(face)
    seen = [int(shot.image[corner][0]) for corner in CORNERS]
    assert seen == upright[4 - quarters :] + upright[: 4 - quarters]
    body.turn("R", 1)
    assert scene.shoot().image.shape == (480, 640, 3), "it is no longer as photographed"
