"""The pictures of the robot's cameras: rendered ones, or photographs of a real cube.

They can also show scenes with a hand, another cube, or a cube of another size.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path

import numpy as np

from robot.settings.profile import CameraSettings, View
from robot.twin.cube import SITES, CubeBody, FloatArray, face_axes, scrambled
from robot.twin.misadjustment import LidTruth, Misadjustment
from robot.twin.render import (
    COLOURS,
    PLASTIC,
    Image,
    Optics,
    Painter,
    Patch,
    StudioLight,
    Veil,
    moved_camera,
    place_camera,
)
from robot.twin.simulated import SimulatedRobot
from vision.cameras.photographs import face_files, load_photo


class OddScene(StrEnum):
    """An unexpected scene that the cameras show."""

    NO_CUBE = "no-cube"
    TWO_CUBES = "two-cubes"
    WRONG_SIZE = "wrong-size"
    HAND = "hand"


SKIN = (206, 148, 116)
FINGERS = 4
FINGER_WIDTH = 0.12

SHADE_DEGREES = 4.0
"""Degrees before it enters the picture at which a lid begins to shade the cube."""

SECOND_SIZE = 0.2
STICKER_PART = 0.86


def hand() -> Iterator[Patch]:
    """Yield four fingers side by side that reach into the picture from its right edge."""
    for number in range(FINGERS):
        top = 0.5 + FINGER_WIDTH * (number - FINGERS / 2)
        tip = 0.44 + 0.03 * abs(number - 1)
        shade = 1 - 0.06 * number
        box = _box(tip, top, 1.1, top + FINGER_WIDTH)
        yield Patch(box, tuple(round(level * shade) for level in SKIN))


def second_cube() -> Iterator[Patch]:
    """Yield another cube of three layers that lies in the corner of the picture."""
    left, top = 0.02, 0.04
    height = SECOND_SIZE * 4 / 3
    yield Patch(_box(left, top, left + SECOND_SIZE, top + height), PLASTIC)
    letters = iter(scrambled(3, 99).facelets()[:9])
    for row in range(3):
        for column in range(3):
            x = left + (column + (1 - STICKER_PART) / 2) * SECOND_SIZE / 3
            y = top + (row + (1 - STICKER_PART) / 2) * height / 3
            wide, high = STICKER_PART * SECOND_SIZE / 3, STICKER_PART * height / 3
            yield Patch(_box(x, y, x + wide, y + high), COLOURS[next(letters)])


def _box(left: float, top: float, right: float, bottom: float) -> FloatArray:
    return np.array([[left, top], [right, top], [right, bottom], [left, bottom]])


@dataclass(frozen=True, eq=False)
class Rendering:
    """A picture; ``calibrated`` is true if the profile's calibrated places hold for it."""

    image: Image
    calibrated: bool


@dataclass
class Disturbances:
    """Injected faults of the light or the cube's stickers, for tests and demonstrations."""

    light: StudioLight = field(default_factory=StudioLight)
    repainted: dict[int, str] = field(default_factory=dict)
    """Apparent letter of each sticker, by its number in the facelets at the start."""
    odd: OddScene | None = None
    """The unexpected scene in view, if any."""


class Studio:
    """All cameras of a robot."""

    def __init__(
        self,
        robot: SimulatedRobot,
        seed: int = 0,
        photographs: Mapping[str, Image] | None = None,
    ) -> None:
        self._light = _light(robot.misadjusted)
        self.disturbances = Disturbances(self._light)
        self._robot = robot
        self._photographs = dict(photographs or {})
        self._faces = _face_letters(robot.body)
        self._cameras = {camera.name: camera for camera in robot.profile.cameras}
        noise = robot.profile.simulation.picture_noise
        colours = _colours(robot.misadjusted)
        self._painters = {
            name: _painter(camera, robot.misadjusted, noise, seed + number, colours)
            for number, (name, camera) in enumerate(self._cameras.items())
        }

    def shoot(self, name: str | None = None) -> Rendering:
        """Return a picture by the camera called ``name`` (None: the first) at this moment."""
        return self.pose_for(name)()

    def warm_up(self) -> None:
        """Take and discard a picture by each camera.

        The first takes ten times as long as any other, since it computes light and noise.
        """
        for name in self._cameras:
            self.shoot(name)

    def pose_for(self, name: str | None = None) -> Callable[[], Rendering]:
        """Return a function that paints the picture of this moment, even if parts move meanwhile.

        It may be called on another thread.
        """
        name = name if name is not None else next(iter(self._cameras))
        camera = self._cameras[name]
        photograph = self._photograph(camera)
        if photograph is not None:
            shot = Rendering(photograph, calibrated=False)
            return lambda: shot
        lid = self._lid_before(camera)
        seen = (self._visible_body(), self._robot.seen_pose(), self.disturbances.light, lid)
        time_us = self._robot.time_us
        painter, props, calibrated = self._painters[name], self._props(), not self._photographs
        return lambda: Rendering(painter.paint(*seen, props, time_us), calibrated)

    def _visible_body(self) -> CubeBody | None:
        """Return a snapshot of the cube that the camera sees, if any."""
        body, odd = self._robot.body, self.disturbances.odd
        if odd is OddScene.NO_CUBE:
            return None
        if odd is OddScene.WRONG_SIZE:
            return scrambled(3 if body.size == 2 else 2, 1)
        return self._disturb(body)

    def _props(self) -> Iterable[Patch]:
        """Return the other things in the picture."""
        props = {OddScene.HAND: hand, OddScene.TWO_CUBES: second_cube}
        odd = self.disturbances.odd
        return props[odd]() if odd in props else ()

    def _lid_before(self, camera: CameraSettings) -> Veil | None:
        """Return the lid as the camera sees it, if it hides or shades every view."""
        beyond = min(
            max(
                (self._robot.degrees_beyond(*of) for of in view.when.items()),
                default=-math.inf,
            )
            for view in camera.views
        )
        truth = LidTruth() if self._robot.misadjusted is None else self._robot.misadjusted.lid
        if beyond <= -SHADE_DEGREES or (beyond <= 0 and not truth.shade):
            return None
        is_whole = beyond >= truth.covers_degrees
        part = 1.0 if is_whole else max(0.0, beyond / truth.covers_degrees)
        shade = truth.shade * min(1.0, 1 + beyond / SHADE_DEGREES)
        return Veil(truth.from_degrees, part, 0.0 if is_whole else shade)

    def _is_in_sight(self, view: View) -> bool:
        """Return true if no part of the robot is in the way."""
        return all(self._robot.place(name) in places for name, places in view.when.items())

    def _photograph(self, camera: CameraSettings) -> Image | None:
        """Return the photograph of the face before the camera, in the face's orientation.

        Return None if there are no photographs, the view is blocked or in motion, or the face no
        longer looks as photographed.
        """
        view = camera.views[0]
        body = self._robot.body
        face = body.face_at(view.site)
        if face not in self._photographs or not self._is_in_sight(view) or self._robot.moving:
            return None
        if _face_letters(body)[face] != self._faces[face]:
            return None
        return np.ascontiguousarray(np.rot90(self._photographs[face], -_turns(body, view.site)))

    def _disturb(self, body: CubeBody) -> CubeBody:
        return body.with_stickers(self.disturbances.repainted)

    def mend(self) -> None:
        """Undo all faults of light, stickers and scene."""
        self.disturbances = Disturbances(self._light)

    def glare(self, strength: float, at: tuple[float, float] = (0.5, 0.45)) -> None:
        """Add a reflection at ``at`` (fractions of the picture); ``strength`` 0 removes it."""
        light = replace(self.disturbances.light, glare=strength, glare_at=at)
        self.disturbances.light = light

    def colour_cast(self, gains: tuple[float, float, float]) -> None:
        """Set the light's colour by factors of linear red, green and blue."""
        self.disturbances.light = replace(self.disturbances.light, gains=gains)


def _light(misadjusted: Misadjustment | None) -> StudioLight:
    usual = StudioLight()
    if misadjusted is None:
        return usual
    truth = misadjusted.light
    red, green, blue = (a * b for a, b in zip(usual.gains, truth.gains, strict=True))
    across, down = (a + b for a, b in zip(usual.slope, truth.slope, strict=True))
    return replace(
        usual,
        gains=(red, green, blue),
        slope=(across, down),
        flicker=truth.flicker,
        glare=truth.glare,
        glare_at=truth.glare_at,
    )


def _colours(misadjusted: Misadjustment | None) -> Mapping[str, tuple[int, int, int]]:
    if misadjusted is None:
        return COLOURS
    return {letter: misadjusted.colour(letter, srgb) for letter, srgb in COLOURS.items()}


def _optics(camera: CameraSettings, misadjusted: Misadjustment | None) -> Optics:
    drawn = place_camera(camera)
    if misadjusted is None:
        return drawn
    moved = moved_camera(drawn, misadjusted.camera(camera.name))
    return replace(moved, distortion=misadjusted.lens(camera.name).distortion)


def _painter(
    camera: CameraSettings,
    misadjusted: Misadjustment | None,
    noise: float,
    seed: int,
    colours: Mapping[str, tuple[int, int, int]],
) -> Painter:
    optics = _optics(camera, misadjusted)
    if misadjusted is None:
        return Painter(optics, noise, seed, colours)
    lens = misadjusted.lens(camera.name)
    grain = noise if lens.noise is None else lens.noise
    return Painter(optics, grain, seed, colours, lens, misadjusted.look)


def load_photographs(folder: Path) -> dict[str, Image]:
    """Return the pictures ``U.* R.* ...`` of a folder, or raise ``solver.files.BadFile``."""
    return {face: load_photo(path) for face, path in face_files(folder).items()}


def _face_letters(body: CubeBody) -> dict[str, str]:
    """Return the letters of each face in the cube's own frame, in any orientation of the cube."""
    per_face = body.size**2
    held = body.held_upright().facelets()
    return {face: held[i * per_face : (i + 1) * per_face] for i, face in enumerate(SITES)}


def _turns(body: CubeBody, site: str) -> int:
    """Return the clockwise quarters of the face at ``site`` from its upright drawing."""
    _, site_right, site_down = face_axes(site)
    _, _, face_down = face_axes(body.face_at(site))
    down_now = body.core @ face_down
    directions = [site_down, -site_right, -site_down, site_right]
    return next(i for i, direction in enumerate(directions) if (down_now == direction).all())
