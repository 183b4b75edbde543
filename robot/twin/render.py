"""Pictures of the cube in the robot: perspective, stickers on black, uneven light, noise.

The position of a camera is computed from its views of the robot's sites in the profile.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import cv2
import numpy as np
from numpy.typing import NDArray

from robot.settings.profile import CameraSettings
from robot.twin.cube import NORMALS, SITES, CubeBody, FloatArray, Pose, face_axes, turned
from robot.twin.misadjustment import CameraTruth, LensTruth, LookTruth

FOCAL_TRIALS = np.geomspace(0.6, 4.0, 40)
"""Focal lengths to try, in picture widths: from a wide angle to a long lens."""


@dataclass(frozen=True, eq=False)
class Optics:
    """A pinhole camera; the cube's faces are at +-1 in the robot frame.

    ``distortion``: that of its lens, barrel if negative; ``shift_px``: displacement by shaking.
    """

    width: int
    height: int
    focal: float
    rotation: FloatArray
    translation: FloatArray
    distortion: float = 0.0
    shift_px: tuple[float, float] = (0.0, 0.0)

    def raise_scene(self, rise: float) -> Optics:
        """Return the optics that see an unraised scene as if raised by ``rise``."""
        up = np.array([0.0, rise, 0.0])
        return replace(self, translation=self.translation + self.rotation @ up)

    @property
    def position(self) -> FloatArray:
        """The position of the lens in the robot frame, float64[3]."""
        return np.asarray(-self.rotation.T @ self.translation)

    def project(self, points: FloatArray) -> FloatArray:
        """Return pixel coordinates (x right, y down) of points in robot frame. float64[..., 2]."""
        seen = points @ self.rotation.T + self.translation
        centre = np.array([self.width / 2, self.height / 2]) + self.shift_px
        flat = seen[..., :2] / seen[..., 2:]
        if self.distortion:
            flat = flat * (1 + self.distortion * (flat**2).sum(axis=-1, keepdims=True))
        return np.asarray(flat * self.focal + centre)


def site_corners(site: str) -> FloatArray:
    """Return the corners of a face at the site, in the order of its drawing. float64[4, 3]."""
    normal, right, down = face_axes(site)
    signs = ((-1, -1), (1, -1), (1, 1), (-1, 1))
    return np.array([normal + right * x + down * y for x, y in signs], dtype=float)


def place_camera(camera: CameraSettings) -> Optics:
    """Return the pinhole camera that fits the views' quadrilaterals best."""
    width, height = camera.resolution
    corners = np.concatenate([site_corners(view.site) for view in camera.views])
    pixels = np.concatenate([np.array(view.quad) * (width, height) for view in camera.views])
    trials = [_fit(corners, pixels, width, height, part * width) for part in FOCAL_TRIALS]
    return min(trials, key=lambda optics: _miss(optics, corners, pixels))


def moved_camera(optics: Optics, truth: CameraTruth) -> Optics:
    """Return the camera in its true pose: tilted around the cube, then rotated in its picture,
    farther away and shifted."""
    about_x, about_z = (degrees / 90 for degrees in truth.tilted_degrees)
    tilt = turned(NORMALS["R"], about_x) @ turned(NORMALS["F"], about_z)
    roll = turned(NORMALS["F"], truth.rotated_degrees / 90)
    shift = roll @ optics.translation * truth.distance
    shift[:2] += np.array(truth.shift) * optics.width * shift[2] / optics.focal
    return replace(optics, rotation=roll @ optics.rotation @ tilt, translation=shift)


def _fit(corners: FloatArray, pixels: FloatArray, width: int, height: int, focal: float) -> Optics:
    matrix = np.array([[focal, 0, width / 2], [0, focal, height / 2], [0, 0, 1]], np.float64)
    flag = cv2.SOLVEPNP_IPPE if len(corners) == 4 else cv2.SOLVEPNP_SQPNP
    _, vectors, shifts, _ = cv2.solvePnPGeneric(corners, pixels, matrix, np.empty(0), flags=flag)
    found = [
        Optics(width, height, focal, np.asarray(cv2.Rodrigues(vector)[0]), np.ravel(shift))
        for vector, shift in zip(vectors, shifts, strict=True)
    ]
    return min(found, key=lambda optics: _miss(optics, corners, pixels))


def _miss(optics: Optics, corners: FloatArray, pixels: FloatArray) -> float:
    """Return the maximum distance in pixels of calibrated and seen corners; infinite if invalid."""
    miss = float(np.abs(optics.project(corners) - pixels).max())
    return miss if math.isfinite(miss) else math.inf


Image = NDArray[np.uint8]

COLOURS: dict[str, tuple[int, int, int]] = {
    "U": (236, 238, 232),
    "R": (178, 24, 32),
    "F": (16, 138, 62),
    "D": (232, 208, 32),
    "L": (232, 98, 16),
    "B": (20, 66, 156),
}
"""sRGB of the stickers in white light: white, red, green, yellow, orange, blue."""

PLASTIC = (18, 18, 20)
TABLE = (92, 96, 98)
LID = (58, 62, 66)
LID_BOX = np.array([[0.12, 0.08], [0.88, 0.08], [0.86, 0.94], [0.14, 0.94]])
"""Corners of a lid that hides the cube, as fractions of the picture."""
LID_WAY = 0.9
"""Distance from there to outside the picture, as a fraction of the picture."""
SHADOW_PART, SHADOW_SOFT = 1.3, 0.03
"""Size of its shadow relative to the lid, and blur of its edge as a fraction of the width."""
STICKER_PART = 0.84
"""Fraction of a cubie's edge that its sticker covers; the rest is black plastic."""
STICKERLESS_PART = 0.95
"""Coloured fraction of a cubie's edge on a stickerless cube, which has rounded cubies."""
LOGO_PART, LOGO = 0.42, (40, 44, 90)
WOBBLE_HERTZ = (7.3, 9.1)
BREATHING_HERTZ = 0.4
LEAST_BLUR_PX = 0.3
USUAL_LEVEL = 90.0
"""Mean grey of a picture with a cube."""
MOST_GAIN = 1.25
SUBPIXEL_BITS = 4
GAMMA = np.float32(2.2)
GLARE_SIZE = (0.16, 0.11)
"""Width and height of a reflection, in half pictures."""
LEAST_GLARE = 1e-5
"""Fraction of the brightest glare below which it changes no level."""
SPARE_GRAIN = 1 << 16
"""Number of noise values in excess of a picture's, and so of pictures with different noise."""


@dataclass(frozen=True)
class StudioLight:
    """The light of the scene. ``gains`` multiply linear R, G, B: a colour cast.

    ``slope`` is the change of light from one edge of the picture to the other; ``vignette`` the
    loss in the corners; ``glare`` the strength of a reflection near ``glare_at`` (fractions);
    ``flicker`` the relative variation of brightness from picture to picture.
    """

    gains: tuple[float, float, float] = (1.0, 0.97, 0.9)
    slope: tuple[float, float] = (0.22, -0.14)
    vignette: float = 0.22
    glare: float = 0.0
    glare_at: tuple[float, float] = (0.5, 0.45)
    flicker: float = 0.0


@dataclass(frozen=True, eq=False)
class Patch:
    """A convex polygon in front of the scene: float64[n, 2] in fractions of the picture, sRGB."""

    corners: FloatArray
    colour: tuple[int, ...]


@dataclass(frozen=True)
class Veil:
    """A lid that enters the picture from a side, in degrees clockwise from the top.

    ``part``: its progress, 0..1; ``shade``: the fraction of light that it takes from the scene
    beside its edge.
    """

    from_degrees: float = 0.0
    part: float = 1.0
    shade: float = 0.0


class Painter:
    """A painter of frames for one camera; ``noise`` is the standard deviation in sRGB levels.

    ``colours``: sRGB of the stickers by letter. A lock exposes one frame at a time for all threads.
    """

    def __init__(
        self,
        optics: Optics,
        noise: float,
        seed: int = 0,
        colours: Mapping[str, tuple[int, int, int]] = COLOURS,
        lens: LensTruth | None = None,
        look: LookTruth | None = None,
    ) -> None:
        self._optics = optics
        self._lens, self._look = lens or LensTruth(), look or LookTruth()
        self._colours = colours
        self._noise = noise
        self._random = np.random.default_rng(seed)
        self._free = threading.Lock()
        self._to_linear = (np.arange(256, dtype=np.float32) / 255) ** GAMMA
        self._light: StudioLight | None = None
        self._field: NDArray[np.float32] = np.zeros(0, dtype=np.float32)
        self._brightness: NDArray[np.float32] = self._field
        self._glare_at = slice(0), slice(0)
        self._glare: NDArray[np.float32] = self._field
        self._grain = np.zeros(0, dtype=np.float32)
        self._empty = self._background()

    def paint(
        self,
        body: CubeBody | None,
        pose: Pose,
        light: StudioLight,
        lid: Veil | None = None,
        props: Iterable[Patch] = (),
        time_us: float = 0.0,
    ) -> Image:
        """Return a picture, uint8[H, W, 3] RGB, of the cube, if there is one, in its pose.

        ``lid`` is in front of it; ``props`` are in front of everything.
        """
        scene = self._empty.copy()
        if body is not None:
            self._draw_cube(scene, body, pose, self._moving_optics(time_us).raise_scene(pose.rise))
        self._draw_covers(scene, pose)
        if lid is not None:
            self._draw_lid(scene, lid)
        for patch in props:
            size = (self._optics.width, self._optics.height)
            self._fill(scene, patch.corners * size, patch.colour)
        with self._free:
            return self._expose(scene, light)

    def _background(self) -> Image:
        optics = self._optics
        scene = np.full((optics.height, optics.width, 3), TABLE, dtype=np.uint8)
        rim = np.array([[x, -1.05, z] for x, z in ((-2, -2), (2, -2), (2, 2), (-2, 2))])
        self._fill(scene, optics.project(rim.astype(float)), (70, 72, 78))
        return scene

    def _moving_optics(self, time_us: float) -> Optics:
        """Return the optics at a time, for a camera on a shaking arm with a hunting autofocus."""
        far, breath = self._lens.wobble_px, self._lens.breathing
        if not far and not breath:
            return self._optics
        cycles = 2 * math.pi * time_us / 1e6
        across, down = (far * math.sin(hertz * cycles) for hertz in WOBBLE_HERTZ)
        focal = self._optics.focal * (1 + breath * math.sin(BREATHING_HERTZ * cycles))
        return replace(self._optics, shift_px=(across, down), focal=focal)

    def _draw_cube(self, scene: Image, body: CubeBody, pose: Pose, optics: Optics) -> None:
        """Draw cubie faces from far to near, each a black square with its sticker in it."""
        rotations = pose.sticker_rotations(body)
        cells = np.einsum("nij,nkj->nki", rotations, _squares(body, 1.0))
        part = STICKERLESS_PART if self._look.is_stickerless else STICKER_PART
        stickers = np.einsum("nij,nkj->nki", rotations, _squares(body, part))
        logos = np.einsum("nij,nkj->nki", rotations, _squares(body, LOGO_PART))
        logo = self._logo_of(body)
        outward = np.einsum("nij,nj->ni", rotations, body.normals.astype(float))
        self._draw_innards(scene, body, pose, optics)
        towards = optics.position - cells.mean(axis=1)
        for number in np.argsort(-np.linalg.norm(towards, axis=1)):
            if outward[number] @ towards[number] > 0:
                self._fill(scene, optics.project(cells[number]), PLASTIC)
                colour = self._colours[str(body.letters[number])]
                self._fill(scene, optics.project(stickers[number]), colour)
                if number == logo:
                    self._fill(scene, optics.project(logos[number]), LOGO)

    def _logo_of(self, body: CubeBody) -> int | None:
        """Return the white sticker in the middle, which bears the logo, if there is one."""
        if not self._look.has_logo:
            return None
        white = np.flatnonzero(body.letters == "U")
        return int(white[len(white) // 2])

    def _draw_innards(self, scene: Image, body: CubeBody, pose: Pose, optics: Optics) -> None:
        """Draw the plastic seen inside a cube with a layer in mid-turn."""
        for site, quarters in pose.layers:
            normal, right, down = face_axes(site)
            inner = normal * (1 - 2 * pose.depth / body.size)
            square = np.array(
                [inner + right * x + down * y for x, y in ((-1, -1), (1, -1), (1, 1), (-1, 1))]
            )
            for turn in (pose.whole, pose.whole @ turned(NORMALS[site], quarters)):
                self._fill(scene, optics.project(square @ turn.T), PLASTIC)

    def _draw_covers(self, scene: Image, pose: Pose) -> None:
        """Draw the pieces of the robot that lie on faces turned towards the camera."""
        for cover in pose.covers:
            middle = cover.mean(axis=0)
            outward = middle * (np.abs(middle) > 1.0)
            if outward @ (self._optics.position - middle) > 0:
                self._fill(scene, self._optics.project(cover), LID)

    def _draw_lid(self, scene: Image, lid: Veil) -> None:
        """Draw the lid, as far as it is in the picture, and its shadow beside it."""
        height, width = scene.shape[:2]
        angle = math.radians(lid.from_degrees)
        away = (1 - lid.part) * LID_WAY * np.array([math.sin(angle), -math.cos(angle)])
        if lid.shade:
            grown = (LID_BOX - 0.5) * SHADOW_PART + 0.5 + away
            lit = np.full((height, width), 255, dtype=np.uint8)
            self._fill(lit, np.asarray(grown * (width, height)), (round(255 * (1 - lid.shade)),))
            soft = cv2.GaussianBlur(lit, (0, 0), SHADOW_SOFT * width)
            scene[:] = (scene * (soft[..., None] / 255.0)).astype(np.uint8)
        self._fill(scene, np.asarray((LID_BOX + away) * (width, height)), LID)

    def _expose(self, scene: Image, light: StudioLight) -> Image:
        """Apply the light to the scene, the lens's blur, and the sensor's noise and clipping."""
        if self._lens.blur_px >= LEAST_BLUR_PX:
            scene = np.asarray(cv2.GaussianBlur(scene, (0, 0), self._lens.blur_px), dtype=np.uint8)
        gain = self._gain(scene, light)
        if light != self._light:
            self._light, self._field = light, self._illumination(light)
            self._brightness = np.asarray(self._field ** (1 / GAMMA), dtype=np.float32)
            self._glare_at, self._glare = self._find_glare(light)
        # (scene^g * field)^(1/g), without powers of every pixel.
        levels = scene * self._brightness
        if light.glare:
            at = self._glare_at
            linear = self._to_linear[scene[at]] * self._field[at] + self._glare
            levels[at] = 255 * np.clip(linear, 0, 1) ** (1 / GAMMA)
        if gain != 1:
            levels *= np.float32(gain)
        levels += 0.5
        if self._noise:
            np.minimum(levels, 255.5, out=levels)
            levels += self._sensor_noise(levels.shape)
        return np.clip(levels, 0, 255, out=levels).astype(np.uint8)

    def _gain(self, scene: Image, light: StudioLight) -> float:
        """Return the gain of automatic exposure and of flickering light."""
        gain = 1.0
        if self._lens.reexposed:
            level = max(float(scene[::16, ::16].mean()), 1.0)
            gain *= (USUAL_LEVEL / level) ** self._lens.reexposed
        if light.flicker:
            gain *= 1 + light.flicker * float(self._random.uniform(-1, 1))
        return min(gain, MOST_GAIN)

    def _sensor_noise(self, shape: tuple[int, ...]) -> NDArray[np.float32]:
        """Return a random slice of noise drawn once: drawing it takes longer than all the rest."""
        count = math.prod(shape)
        if len(self._grain) < count:
            drawn = self._random.standard_normal(count + SPARE_GRAIN, dtype=np.float32)
            self._grain = drawn * np.float32(self._noise)
        first = int(self._random.integers(SPARE_GRAIN))
        return self._grain[first : first + count].reshape(shape)

    def _illumination(self, light: StudioLight) -> NDArray[np.float32]:
        x, y = self._grid()
        level = 0.82 * (1 + light.slope[0] * x + light.slope[1] * y)
        level = level * (1 - light.vignette * (x**2 + y**2) / 2)
        field = np.maximum(level, 0.0)[..., None] * np.array(light.gains)
        return np.asarray(field, dtype=np.float32)

    def _find_glare(self, light: StudioLight) -> tuple[tuple[slice, slice], NDArray[np.float32]]:
        """Return the part of the picture with visible glare, and the light it adds there."""
        along, spots = [], []
        for line, at, width in zip(self._grid(), light.glare_at, GLARE_SIZE, strict=True):
            off = (line.ravel() - (2 * at - 1)) / width
            within = np.flatnonzero(off**2 <= -math.log(LEAST_GLARE))
            part = slice(int(within[0]), int(within[-1]) + 1) if len(within) else slice(0, 0)
            along.append(part)
            spots.append(np.exp(-(off[part] ** 2)))
        spot = light.glare * spots[1][:, None, None] * spots[0][None, :, None]
        return (along[1], along[0]), np.asarray(spot, dtype=np.float32)

    def _grid(self) -> tuple[FloatArray, FloatArray]:
        """Return x and y from -1 to 1 over the picture; broadcastable."""
        x = np.linspace(-1, 1, self._optics.width)[None, :]
        y = np.linspace(-1, 1, self._optics.height)[:, None]
        return x, y

    def _fill(self, scene: Image, corners: FloatArray, colour: tuple[int, ...]) -> None:
        """Fill a convex polygon given in pixels, with smooth edges."""
        fixed = np.round(corners * (1 << SUBPIXEL_BITS)).astype(np.int32)
        cv2.fillConvexPoly(scene, fixed, colour, cv2.LINE_AA, SUBPIXEL_BITS)


def _squares(body: CubeBody, part: float) -> FloatArray:
    """Return the corners of every cubie face, shrunk to ``part``. float64[6 N^2, 4, 3]."""
    middles = body.places / body.size
    sides = np.zeros((len(middles), 2, 3))
    for site in SITES:
        normal, right, down = face_axes(site)
        chosen = (body.normals == normal).all(axis=1)
        sides[chosen] = np.stack([right, down]) * (part / body.size)
    signs = np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)])
    return np.asarray(middles[:, None, :] + np.einsum("ks,nsi->nki", signs, sides))
