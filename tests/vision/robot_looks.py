"""Scans as the demonstration makes them, without its processes and without waiting.

The simulated robot moves along the tour that the planner made for it, its cameras take their
pictures, and the scanner locates, measures and reads them. A seed selects robot, cube, position of
the cameras, light and quality of the pictures.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from functools import cache

import cv2
import numpy as np

from robot.machine.scanner import FaceImage, Scanner
from robot.mechanism.graph import Mechanism
from robot.mechanism.registry import build_mechanism
from robot.planner.scan import ScanPlan, plan_scan
from robot.settings import load_profile
from robot.settings.profile import for_cube, sizes_of
from robot.text.faults import RobotError, ScanError
from robot.twin.cube import scrambled
from robot.twin.misadjustment import Misadjustment
from robot.twin.studio import Studio
from tests.rig.cameras import SceneCamera
from tests.rig.pins import PinDriver
from tests.rig.scenes import outcome_of
from vision.frame import Image

ROBOTS = (
    *("cubotino", "mindcuber", "two-arm", "two-arm-2x2x2"),
    *("four-arm", "six-motor", "cubotone", "crane"),
)


@dataclass(frozen=True)
class Scene:
    """The room that a seed produces. ``jpeg``: quality of the pictures (None: as taken).

    ``calibrated``: the faces are where the profile says, if the cameras stand as drawn. Otherwise
    the scanner searches for them, which does not work with cameras that see several faces.
    """

    robot: str
    size: int
    calibrated: bool
    misadjusted: Misadjustment
    noise: float
    jpeg: int | None
    glare: float
    glare_at: tuple[float, float]
    gains: tuple[float, float, float]

    @classmethod
    def of_seed(cls, seed: int, harsh: float = 1.0) -> Scene:
        """Return a seed's scene. ``harsh`` multiplies everything that spoils the pictures."""
        rng = np.random.default_rng([seed, 19])
        robot = ROBOTS[seed % len(ROBOTS)]
        several = any(len(camera.views) > 1 for camera in load_profile(robot).cameras)
        calibrated = bool(rng.integers(2)) or several
        shared = rng.uniform(0.4, 1.0) ** harsh
        gains = shared * rng.uniform(0.75, 1.0, 3)
        return cls(
            robot=robot,
            size=int(rng.choice(sizes_of(load_profile(robot)))),
            calibrated=calibrated,
            misadjusted=Misadjustment(
                seed, harsh * float(rng.uniform(0, 0.4 if calibrated else 1.5))
            ),
            noise=harsh * float(rng.uniform(0, 8)),
            jpeg=int(rng.integers(50, 96)) if rng.integers(2) else None,
            glare=harsh * float(rng.uniform(0, 0.8)) if rng.random() < 0.4 else 0.0,
            glare_at=(float(rng.uniform(0.2, 0.8)), float(rng.uniform(0.2, 0.8))),
            gains=(float(gains[0]), float(gains[1]), float(gains[2])),
        )


@cache
def _mechanism(robot: str, size: int) -> Mechanism:
    return build_mechanism(for_cube(load_profile(robot), size))


@cache
def _tour(robot: str, size: int) -> ScanPlan:
    return plan_scan(_mechanism(robot, size))


class StudioCamera(SceneCamera):
    """One camera of the simulated robot, with its pictures compressed as cameras may do."""

    def __init__(self, studio: Studio, name: str, scene: Scene) -> None:
        super().__init__(self._shoot, name, period_us=100_000)
        self.calibrated = scene.calibrated
        self._studio, self._jpeg = studio, scene.jpeg

    def _shoot(self, _time_us: int, _factor: float) -> Image:
        image = self._studio.shoot(self.name).image
        if self._jpeg is not None:
            quality = [cv2.IMWRITE_JPEG_QUALITY, self._jpeg]
            packed = cv2.imencode(".jpg", cv2.cvtColor(image, cv2.COLOR_RGB2BGR), quality)[1]
            image = cv2.cvtColor(cv2.imdecode(packed, cv2.IMREAD_COLOR), cv2.COLOR_BGR2RGB)
        return image.astype(np.uint8, copy=False)


def outcome(seed: int, harsh: float = 1.0) -> str:
    """Return the outcome of a seed's scan, see :func:`tests.rig.scenes.outcome_of`."""
    scene = Scene.of_seed(seed, harsh)
    mechanism, tour = _mechanism(scene.robot, scene.size), _tour(scene.robot, scene.size)
    profile = mechanism.profile
    simulation = profile.simulation.model_copy(update={"picture_noise": min(50.0, scene.noise)})
    profile = profile.model_copy(update={"simulation": simulation})
    body = scrambled(scene.size, seed)
    pins = PinDriver(profile, body)
    # The mechanism is as drawn, but its cameras, the light and the cube's colours are not.
    pins.robot.misadjusted = scene.misadjusted
    studio = Studio(pins.robot, seed)
    studio.colour_cast(scene.gains)
    studio.glare(scene.glare, scene.glare_at)
    cameras = {camera.name: StudioCamera(studio, camera.name, scene) for camera in profile.cameras}
    scanner = Scanner(profile, cameras)
    with contextlib.closing(scanner):
        found = outcome_of(
            lambda: scanner.read(_looked_around(pins, scanner, tour)),
            body.facelets(),
            (ScanError, RobotError),
        )
    assert not pins.robot.violations, pins.robot.violations
    return found


def _looked_around(pins: PinDriver, scanner: Scanner, tour: ScanPlan) -> list[FaceImage]:
    images: list[FaceImage] = []
    for number, step in enumerate(tour.steps):
        if step.moves:
            pins.play(step.plan.schedule())
        taken = scanner.take(step.looks)
        if number == 0:
            scanner.check_view(taken)
        images += [image.reduce() for image in taken]
    return images
