"""Looks at painted pictures, from the camera to the cube that is read and how it is explained."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field

import cv2
import numpy as np
import pytest

from robot.faults import NotReadable
from robot.machine.scanner import SITES, FaceImage, Scanner, odd_view
from robot.machine.solve_planner import SolvePlanner
from robot.planner import FaceView, build_mechanism
from robot.settings import load_profile
from solver.cube.cube import Cube
from solver.cube.orientation import site_facelets
from vision.decide.reader import read_cube
from vision.frame import Frame
from vision.locate.face import FaceGrid, Picture
from vision.measure.stickers import face_quads, measure_face

PROFILE = load_profile("cubotino-uno")
CAMERA = PROFILE.cameras[0]
QUADS = face_quads(np.array(CAMERA.views[0].quad) * (640, 480), 3)
COLOURS = dict(
    zip(
        "URFDLB",
        [
            (230, 230, 225),
            (190, 20, 30),
            (20, 140, 60),
            (225, 205, 30),
            (230, 110, 20),
            (20, 60, 160),
        ],
        strict=True,
    )
)


@dataclass
class PaintedCamera:
    """Shows the stickers of the look asked for next; ``light`` is how bright the room is."""

    facelets: str
    name: str = CAMERA.name
    light: float = 1.0
    shown: FaceView | None = None
    factors: list[float] = field(default_factory=list)
    scale: int = 1

    def settle(self) -> None:
        pass

    def capture(self) -> Frame:
        return self.capture_at(1.0)

    def capture_at(self, factor: float) -> Frame:
        self.factors.append(factor)
        image = np.full((480, 640, 3), 25, np.uint8)
        assert self.shown is not None
        site = SITES.index(self.shown.site) * 9
        places = site_facelets(self.shown.orientation, 3)[site : site + 9]
        gain = (self.light * factor) ** (1 / 2.4)
        for quad, place in zip(QUADS, places.tolist(), strict=True):
            rgb = np.clip(np.array(COLOURS[self.facelets[place]]) * gain, 0, 255)
            cv2.fillConvexPoly(image, np.round(quad).astype(np.int32), rgb.tolist())
        large = np.kron(image, np.ones((self.scale, self.scale, 1), np.uint8))
        return Frame(large, self.name, 5)

    def close(self) -> None:
        pass


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


def test_who_watches_gets_what_the_robot_takes_while_it_is_calibrated() -> None:
    """Its own picture only as long as the robot has taken none: it delays no look."""
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


def test_a_scan_is_read_and_explained_with_its_pictures() -> None:
    cube = Cube.random(np.random.default_rng(4))
    scanner = scanner_of(camera := PaintedCamera(cube.facelets()))
    images = scanned(camera, scanner)
    reading = scanner.read(images)
    assert (reading.facelets, reading.confident) == (cube.facelets(), True)
    with_pictures = decoded(scanner.take_explanation()())
    with pytest.raises(NotReadable):
        scanner.read(images[:2])
    without = decoded(scanner.take_explanation()())
    assert with_pictures.shape[0] > without.shape[0] > 100


@pytest.mark.parametrize("name", ["cubotino-uno", "cubotino-pocket", "crane"])
def test_what_is_read_beforehand_is_a_cube_that_leaves_no_trace(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    profile, read = load_profile(name), []
    monkeypatch.setattr(
        "robot.machine.scanner.read_cube",
        lambda *given: read.append(read_cube(*given)) or read[-1],
    )
    scanner = Scanner(profile, {})
    scanner.prepare()
    (reading,) = read
    assert reading.confident and reading.cube.is_solved
    assert scanner.take_explanation()() == b""


def test_five_faces_may_tell_a_cube_and_where_the_robot_is_then() -> None:
    cube = Cube.solved().apply("R U F2")
    scanner = scanner_of(camera := PaintedCamera(cube.facelets()))
    images = scanned(camera, scanner)
    reading = scanner.read(images[:5])
    assert (reading.facelets, reading.confident) == (cube.facelets(), True)
    steps = planner().scan(None, None).steps
    state, view = next((one.plan.end, v) for one in steps for v in one.looks if v == views()[4])
    plan = planner().plan(reading.cube, state, threading.Event(), lambda _: None)
    assert plan.start == state
    assert state.orientation == view.orientation


def decoded(png: bytes) -> np.ndarray:
    return np.asarray(cv2.imdecode(np.frombuffer(png, np.uint8), cv2.IMREAD_COLOR))


def test_stickers_that_clip_are_looked_at_in_less_light() -> None:
    cube = Cube.random(np.random.default_rng(5))
    scanner = scanner_of(camera := PaintedCamera(cube.facelets(), light=2.2))
    images = scanned(camera, scanner)
    assert set(camera.factors) > {1.0}
    assert not any(image.colours.saturated.any() for image in images)
    assert scanner.read(images).facelets == cube.facelets()


def test_a_grid_is_turned_with_its_face() -> None:
    camera = PaintedCamera(Cube.random(np.random.default_rng(6)).facelets())
    scanner = scanner_of(camera)
    turns = set()
    for view in views():
        camera.shown = view
        (image,) = scanner.take([view])
        direct = measure_face(image.frame, image.grid.quads)
        assert np.allclose(direct.linear_rgb, image.colours.linear_rgb, atol=0.02)
        turns.add(tuple(image.grid.corners[0].round().tolist()))
    assert len(turns) > 1, "faces are seen turned in several ways"


def test_a_large_picture_is_kept_no_larger_than_faces_are_looked_for_in() -> None:
    camera = PaintedCamera(Cube.random(np.random.default_rng(7)).facelets(), scale=3)
    scanner = scanner_of(camera)
    camera.shown = views()[0]
    (image,) = scanner.take([camera.shown])
    kept = image.reduced()
    assert (image.frame.image.shape, kept.frame.image.shape) == ((1440, 1920, 3), (480, 640, 3))
    seen = measure_face(kept.frame, kept.grid.quads)
    assert np.allclose(seen.linear_rgb, image.colours.linear_rgb, atol=0.02)
    assert odd_view(kept, 3) is None
    assert kept.reduced() is kept


@dataclass
class CornerCamera:
    """A camera at a corner of the cube; its picture is only there once the others expose, too."""

    name: str
    all_expose: threading.Barrier
    pictures: int = 0

    def settle(self) -> None:
        self.all_expose.wait(timeout=60)

    def capture(self) -> Frame:
        self.all_expose.wait(timeout=60)
        self.pictures += 1
        return Frame(np.full((480, 640, 3), 128, np.uint8), self.name, 5)

    def close(self) -> None:
        pass


def test_all_cameras_take_one_picture_at_the_same_time() -> None:
    profile = load_profile("six-motor")
    barrier = threading.Barrier(2)
    cameras = {camera.name: CornerCamera(camera.name, barrier) for camera in profile.cameras}
    scanner = Scanner(profile, cameras)
    (step,) = SolvePlanner(profile, build_mechanism(profile)).scan(None, None).steps
    scanner.settle()
    images = scanner.take(step.looks)
    assert [image.face for image in images] == [view.face for view in step.looks]
    assert {image.frame.camera for image in images} == set(cameras)
    assert [camera.pictures for camera in cameras.values()] == [1, 1]


def test_faces_in_the_same_picture_are_not_taken_for_another_cube(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    known: list[tuple[str, int]] = []

    def note(image: Picture, size: int, place: FaceGrid, beside: Sequence[FaceGrid]) -> FaceGrid:
        known.append((str(image.shape), len(beside)))
        return place

    monkeypatch.setattr("robot.machine.scanner.face_in_view", note)
    profile = load_profile("six-motor")
    barrier = threading.Barrier(2)
    cameras = {camera.name: CornerCamera(camera.name, barrier) for camera in profile.cameras}
    scanner = Scanner(profile, cameras)
    (step,) = SolvePlanner(profile, build_mechanism(profile)).scan(None, None).steps
    scanner.check_view(scanner.take(step.looks))
    assert known == [("(480, 640, 3)", 2)]
