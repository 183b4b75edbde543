"""Looks at painted pictures, from the camera to the cube's reading and its explanation."""

from __future__ import annotations

import math
import threading
from typing import Any

import cv2
import numpy as np
import pytest

from robot.machine import scanner as scanning
from robot.machine.scanner import SITES, FaceImage, Scanner
from robot.machine.solve_planner import SolvePlanner
from robot.machine.stillness import alike, cells, still_frame
from robot.planner import FaceView, build_mechanism
from robot.settings import load_profile
from robot.text.faults import ScanError
from solver.cube.cube import Cube
from solver.cube.orientation import site_facelets
from tests.rig.cameras import SceneCamera
from tests.rig.scenes import SCHEMES
from vision.cameras.base import Unsettled
from vision.frame import Frame, Image
from vision.locate.face import FaceGrid
from vision.locate.view_check import OddView, ViewTrouble
from vision.measure.sticker_colours import FaceColours

PROFILE = load_profile("cubotino-uno")
CAMERA = PROFILE.cameras[0]
QUADS = FaceGrid.from_corners(np.array(CAMERA.views[0].quad) * (640, 480), 3).quads


class PaintedCamera(SceneCamera):
    """A camera that shows the stickers of the next look. ``light``: brightness of the room."""

    def __init__(self, facelets: str, light: float = 1.0) -> None:
        super().__init__(self._draw, CAMERA.name)
        self.light = light
        self.shown: FaceView | None = None
        self._facelets = facelets

    def _draw(self, _: int, factor: float) -> Image:
        image = np.full((480, 640, 3), 25, np.uint8)
        site = SITES.index(self.shown.site) * 9
        places = site_facelets(self.shown.orientation, 3)[site : site + 9]
        gain = (self.light * factor) ** (1 / 2.4)
        for quad, place in zip(QUADS, places.tolist(), strict=True):
            rgb = np.clip(np.array(SCHEMES["classic"][self._facelets[place]]) * gain, 0, 255)
            cv2.fillConvexPoly(image, np.round(quad).astype(np.int32), rgb.tolist())
        return image


def scanned(camera: PaintedCamera, scanner: Scanner) -> list[FaceImage]:
    images = []
    for view in views():
        camera.shown = view
        images += scanner.take([view])
    return images


def planner() -> SolvePlanner:
    return SolvePlanner(PROFILE, build_mechanism(PROFILE))


def views() -> list[FaceView]:
    return [view for step in planner().scan(None, None).steps for view in step.looks]


def scanner_of(camera: PaintedCamera) -> Scanner:
    return Scanner(PROFILE, {CAMERA.name: camera})


def test_who_watches_gets_what_the_robot_takes_while_it_is_calibrated():
    """Take its own picture only until the robot has taken one: it delays no look."""
    scanner = scanner_of(camera := PaintedCamera(Cube.solved().facelets()))
    camera.shown = views()[0]
    before = scanner.preview(camera.name)
    with scanner.remembering():
        assert scanner.preview(camera.name) == before, "nothing was taken yet"
        taken = len(camera.factors)
        camera.light *= 0.5
        scanner.frame(camera.name)
        seen = scanner.preview(camera.name)
        assert seen != before
        assert scanner.preview(camera.name) == seen
        assert len(camera.factors) == taken + 1
    scanner.preview(camera.name)
    assert len(camera.factors) == taken + 2, "afterwards it takes its own again"


@pytest.mark.parametrize("light", [1.0, 2.2])
def test_a_scan_is_read_and_explained_with_its_pictures(light):
    """Take darker pictures of stickers that clip. Five faces may determine a cube."""
    cube = Cube.random(np.random.default_rng(4))
    scanner = scanner_of(camera := PaintedCamera(cube.facelets(), light))
    images = scanned(camera, scanner)
    assert (set(camera.factors) > {1.0}) is (light > 1)
    assert not any(image.colours.saturated.any() for image in images)
    reading = scanner.read(images)
    assert (reading.facelets, reading.confident) == (cube.facelets(), True)
    with_pictures = decoded(scanner.take_explanation()())
    assert scanner.read(images[:5]).facelets == cube.facelets()
    with pytest.raises(ScanError):
        scanner.read(images[:2])
    without = decoded(scanner.take_explanation()())
    assert with_pictures.shape[0] > without.shape[0] > 100


def decoded(png: bytes) -> np.ndarray:
    return np.asarray(cv2.imdecode(np.frombuffer(png, np.uint8), cv2.IMREAD_COLOR))


class CornerCamera(SceneCamera):
    """A camera at a corner of the cube. Its picture appears only when the others expose, too."""

    def __init__(self, name: str, all_expose: threading.Barrier, **more: Any) -> None:
        super().__init__(self._wait_for_others, name, **more)
        self._all_expose, self.is_settled = all_expose, False

    def settle(self) -> None:
        self._all_expose.wait(timeout=60)
        self.is_settled = True

    def _wait_for_others(self, *_: float) -> Image:
        self._all_expose.wait(timeout=60)
        return np.full((480, 640, 3), 128, np.uint8)


def test_all_cameras_take_one_picture_at_the_same_time():
    profile = load_profile("six-motor")
    barrier = threading.Barrier(2)
    cameras = {camera.name: CornerCamera(camera.name, barrier) for camera in profile.cameras}
    scanner = Scanner(profile, cameras)
    (step,) = SolvePlanner(profile, build_mechanism(profile)).scan(None, None).steps
    scanner.settle()
    assert all(camera.is_settled for camera in cameras.values())
    images = scanner.take(step.looks)
    assert [image.face for image in images] == [view.face for view in step.looks]
    assert {image.frame.camera for image in images} == set(cameras)
    assert [len(camera.taken) for camera in cameras.values()] == [1, 1]


def test_what_cameras_could_not_find_or_lock_is_told_of_each():
    barrier = threading.Barrier(2)
    one = CornerCamera("one", barrier)
    lacking = frozenset({Unsettled.EXPOSURE, Unsettled.LENS})
    two = CornerCamera("two", barrier, unsettled=lacking)
    notes = Scanner(load_profile("six-motor"), {"one": one, "two": two}).settle()
    assert [note.code for note in notes] == ["exposure-not-locked", "focus-not-found"]
    assert all(note.parameters == {"camera": "two"} for note in notes)


def looked(face: str) -> FaceImage:
    frame = Frame(np.full((48, 64, 3), 128, np.uint8), "top", 0)
    return FaceImage(face, frame, FaceColours.unseen(3), FaceGrid.from_corners(QUADS[0], 3))


def test_a_hand_before_the_second_camera_is_seen_too(monkeypatch):
    hand = OddView(ViewTrouble.COVERED, "a hand")
    monkeypatch.setattr(scanning, "odd_view", lambda image, *_: hand if image.face == "F" else None)
    with pytest.raises(ScanError, match="a hand") as seen:
        scanner_of(PaintedCamera("")).check_view([looked("U"), looked("F")])
    assert (seen.value.code, seen.value.look_again) == ("face-covered", ("F",))


FRAME_US, LIMIT_US = 33_000, 150_000


def face_turned(degrees: float, light: float = 1.0, seed: int = 0) -> Image:
    """Return white stickers on black, turned about the middle of the view, with camera noise."""
    image = np.full((480, 640, 3), 90, np.float32)
    middle = np.mean(np.array(CAMERA.views[0].quad) * (640, 480), axis=0)
    places = [np.add(middle, (90 * (n % 3 - 1), 90 * (n // 3 - 1))) for n in range(9)]
    for place, half, grey in [(middle, 135, 15), *((place, 38, 220) for place in places)]:
        low, high = (np.round(place + side * half).astype(int).tolist() for side in (-1, 1))
        cv2.rectangle(image, low, high, (grey,) * 3, cv2.FILLED)
    turn = cv2.getRotationMatrix2D(middle.tolist(), degrees, 1.0)
    turned = cv2.warpAffine(image, turn, (640, 480), borderMode=cv2.BORDER_REPLICATE)
    noise = np.random.default_rng(seed).normal(0, 4.0, image.shape)
    return np.clip(turned * light + noise, 0, 255).astype(np.uint8)


def swinging(rest_us: float) -> SceneCamera:
    """Return a camera of a face that swings less and less, at most until ``rest_us``."""

    def paint(time_us: int, _: float) -> Image:
        part = max(0.0, 1 - time_us / rest_us) if rest_us else 0.0
        return face_turned(20 * part * math.cos(time_us / 20_000), seed=time_us // FRAME_US)

    return SceneCamera(paint, CAMERA.name, period_us=FRAME_US)


@pytest.mark.parametrize(("rest_us", "pictures"), [(0, 2), (60_000, 4), (90_000, 5)])
def test_the_picture_used_is_one_of_a_cube_at_rest(rest_us, pictures):
    camera = swinging(rest_us)
    frame = still_frame(camera.capture, CAMERA.views, LIMIT_US)
    assert frame is camera.taken[-1]
    assert len(camera.taken) == pictures
    frame = still_frame(swinging(1e9).capture, CAMERA.views, LIMIT_US)
    assert LIMIT_US <= frame.time_us < LIMIT_US + FRAME_US, "it never rests"


@pytest.mark.parametrize("seed", range(5))
def test_noise_and_flicker_are_no_motion_but_half_a_degree_is(seed):
    at_rest, flickering, moved = (
        cells(face_turned(degrees, light, 2 * seed + n), CAMERA.views)
        for n, (degrees, light) in enumerate([(0, 1.0), (0, 1.04), (0.5, 1.0)])
    )
    assert alike(at_rest, flickering)
    assert not alike(at_rest, moved)


@pytest.mark.parametrize(
    ("moved", "live", "settle_ms", "pictures"),
    [
        (False, True, CAMERA.settle_ms, 1),
        (True, True, CAMERA.settle_ms, 4),
        (True, True, 0.0, 1),
        (True, False, CAMERA.settle_ms, 1),  # each photograph is of another face
    ],
)
def test_a_robot_that_moved_waits_for_rest(moved, live, settle_ms, pictures):
    camera = swinging(60_000)
    camera.live = live
    settled = CAMERA.model_copy(update={"settle_ms": settle_ms})
    profile = PROFILE.model_copy(update={"cameras": (settled,)})
    Scanner(profile, {CAMERA.name: camera}).take(views()[1:2], moved=moved)
    assert len(camera.taken) == pictures
