"""Pictures of a cube that swings after the robot has moved it."""

from __future__ import annotations

import math

import cv2
import numpy as np
import pytest

from robot.machine.scanner import Scanner
from robot.machine.solve_planner import SolvePlanner
from robot.machine.stillness import alike, cells, still_frame
from robot.planner import build_mechanism
from robot.settings import load_profile
from tests.rig.cameras import SceneCamera

PROFILE = load_profile("cubotino-uno")
CAMERA = PROFILE.cameras[0]
VIEWS = CAMERA.views
FRAME_US = 33_000
LIMIT_US = 150_000
NOISE = 4.0
SIDE = 270.0


def face_turned(degrees: float, light: float = 1.0, seed: int = 0) -> np.ndarray:
    """White stickers on black, turned about the middle of the view, with a camera's noise."""
    image = np.full((480, 640, 3), 90, np.float32)
    middle = np.mean(np.array(VIEWS[0].quad) * (640, 480), axis=0)
    angle = math.radians(degrees)
    turn = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    _fill(image, middle, turn, np.zeros(2), SIDE / 2, 15)
    for row in (-1, 0, 1):
        for column in (-1, 0, 1):
            at = np.array([column, row]) * SIDE / 3
            _fill(image, middle, turn, at, 0.84 * SIDE / 6, 220)
    noise = np.random.default_rng(seed).normal(0, NOISE, image.shape)
    return np.clip(image * light + noise, 0, 255).astype(np.uint8)


def _fill(
    image: np.ndarray, middle: np.ndarray, turn: np.ndarray, at: np.ndarray, half: float, grey: int
) -> None:
    square = np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)]) * half + at
    fixed = np.round((square @ turn.T + middle) * 16).astype(np.int32)
    cv2.fillConvexPoly(image, fixed, (grey,) * 3, cv2.LINE_AA, 4)


def swinging(rest_us: float, degrees: float = 4.0) -> SceneCamera:
    """A camera of a face that swings less and less, at most until ``rest_us``."""

    def paint(time_us: int, _: float) -> np.ndarray:
        part = max(0.0, 1 - time_us / rest_us) if rest_us else 0.0
        swing = degrees * part * math.cos(time_us / 20_000)
        return face_turned(swing, seed=time_us // FRAME_US)

    return SceneCamera(paint, CAMERA.name, period_us=FRAME_US)


@pytest.mark.parametrize(("rest_us", "pictures"), [(0, 2), (60_000, 4), (90_000, 5)])
def test_the_picture_used_is_one_of_a_cube_at_rest(rest_us: int, pictures: int) -> None:
    camera = swinging(rest_us)
    frame = still_frame(camera.capture, VIEWS, LIMIT_US)
    assert frame is camera.taken[-1]
    assert len(camera.taken) == pictures


def test_what_never_rests_is_taken_as_it_is_when_the_time_is_over() -> None:
    camera = swinging(1e9, degrees=8.0)
    frame = still_frame(camera.capture, VIEWS, LIMIT_US)
    assert LIMIT_US <= frame.time_us < LIMIT_US + FRAME_US


@pytest.mark.parametrize("seed", range(20))
def test_noise_and_flicker_are_no_motion_but_half_a_degree_is(seed: int) -> None:
    at_rest = cells(face_turned(0, seed=2 * seed), VIEWS)
    assert alike(at_rest, cells(face_turned(0, light=1.04, seed=2 * seed + 1), VIEWS))
    assert not alike(at_rest, cells(face_turned(0.5, seed=2 * seed + 1), VIEWS))


def test_a_robot_that_moved_waits_for_rest_and_one_that_did_not_does_not() -> None:
    looks = [
        (step.moves, step.looks)
        for step in SolvePlanner(PROFILE, build_mechanism(PROFILE)).scan(None, None).steps
    ]
    assert [moves for moves, _ in looks] == [False] + [True] * 5
    for moved, pictures in ((False, 1), (True, 4)):
        camera = swinging(60_000)
        Scanner(PROFILE, {CAMERA.name: camera}).take(looks[1][1], moved=moved)
        assert len(camera.taken) == pictures
    photographs = swinging(60_000)
    photographs.live = False  # each picture is of another face
    Scanner(PROFILE, {CAMERA.name: photographs}).take(looks[1][1], moved=True)
    assert len(photographs.taken) == 1
    unsettled = CAMERA.model_copy(update={"settle_ms": 0.0})
    profile = PROFILE.model_copy(update={"cameras": (unsettled,)})
    camera = swinging(60_000)
    Scanner(profile, {CAMERA.name: camera}).take(looks[1][1], moved=True)
    assert len(camera.taken) == 1
