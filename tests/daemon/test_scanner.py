"""Looks at painted pictures, from the camera to the cube that is read and how it is explained."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

import cv2
import numpy as np
import pytest

from robot.machine.interfaces import FaceImage, NotReadable
from robot.machine.scanner import SITES, Scanner
from robot.machine.solve_planner import SolvePlanner
from robot.planner import FaceView, build_mechanism
from robot.settings import load_profile
from solver.cube.cube import Cube
from solver.cube.orientation import site_facelets
from vision.frame import Frame
from vision.measure.stickers import face_quads, measure_face

PROFILE = load_profile("cubotino")
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
        return Frame(image, self.name, 5)

    def close(self) -> None:
        pass


def scanned(camera: PaintedCamera, thought: SolvePlanner) -> list[FaceImage]:
    sight = Scanner(PROFILE, {CAMERA.name: camera})
    looks = []
    for view in thought.tour(None, None).views:
        camera.shown = view.step
        looks.append(sight.look(view))
    return looks


@pytest.fixture
def thought() -> SolvePlanner:
    return SolvePlanner(PROFILE, build_mechanism(PROFILE))


def test_a_scan_is_read_and_explained_with_its_pictures(thought: SolvePlanner) -> None:
    cube = Cube.random(np.random.default_rng(4))
    looks = scanned(PaintedCamera(cube.facelets()), thought)
    reading = thought.read(looks)
    assert (reading.facelets, reading.confident) == (cube.facelets(), True)
    with_pictures = decoded(thought.explanation()())
    with pytest.raises(NotReadable):
        thought.read(looks[:2])
    without = decoded(thought.explanation()())
    assert with_pictures.shape[0] > without.shape[0] > 100


def test_five_faces_may_tell_a_cube_and_where_the_robot_is_then(thought: SolvePlanner) -> None:
    cube = Cube.solved().apply("R U F2")
    looks = scanned(PaintedCamera(cube.facelets()), thought)
    reading = thought.read(looks[:5])
    assert (reading.facelets, reading.confident) == (cube.facelets(), True)
    view = thought.tour(None, None).views[4]
    plan = thought.plan(reading.cube, view.state, threading.Event(), lambda _: None)
    assert plan.source.start == view.state
    assert view.state.orientation == view.step.orientation


def decoded(png: bytes) -> np.ndarray:
    return np.asarray(cv2.imdecode(np.frombuffer(png, np.uint8), cv2.IMREAD_COLOR))


def test_stickers_that_clip_are_looked_at_in_less_light(thought: SolvePlanner) -> None:
    cube = Cube.random(np.random.default_rng(5))
    camera = PaintedCamera(cube.facelets(), light=2.2)
    looks = scanned(camera, thought)
    assert set(camera.factors) > {1.0}
    assert not any(look.colours.saturated.any() for look in looks)
    assert thought.read(looks).facelets == cube.facelets()


def test_a_grid_is_turned_with_its_face(thought: SolvePlanner) -> None:
    camera = PaintedCamera(Cube.random(np.random.default_rng(6)).facelets())
    sight = Scanner(PROFILE, {CAMERA.name: camera})
    turns = set()
    for view in thought.tour(None, None).views:
        camera.shown = view.step
        look = sight.look(view)
        frame = camera.capture()
        direct = measure_face(frame, look.grid.quads)
        assert np.allclose(direct.linear_rgb, look.colours.linear_rgb, atol=0.02)
        turns.add(tuple(look.grid.corners[0].round().tolist()))
    assert len(turns) > 1, "faces are seen turned in several ways"
