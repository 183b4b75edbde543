"""Light, lens and sensor of rendered photographs, and the surroundings of a cube in them.

An :class:`Exposure` turns a scene of reflectances into a file's pixels; rooms, hands and empty
places are scenes without the cube.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import cv2
import numpy as np
from numpy.typing import NDArray

from vision.locate.face import FaceGrid

Linear = NDArray[np.float32]
Picture = NDArray[np.uint8]
Corners = NDArray[np.float64]
Point = NDArray[np.float64]
Rng = np.random.Generator
Rgb = tuple[int, int, int]


_VALUE = np.arange(256) / 255
LINEAR: Linear = np.where(
    _VALUE <= 0.04045, _VALUE / 12.92, ((_VALUE + 0.055) / 1.055) ** 2.4
).astype(np.float32)
_FINE = np.arange(4096) / 4095
SRGB: Picture = np.round(
    255 * np.where(_FINE <= 0.0031308, 12.92 * _FINE, 1.055 * _FINE ** (1 / 2.4) - 0.055)
).astype(np.uint8)


def to_linear(srgb: NDArray[np.uint8]) -> Linear:
    # OpenCV 4 turns one-dimensional arrays into columns.
    return np.asarray(cv2.LUT(srgb, LINEAR), dtype=np.float32).reshape(srgb.shape)


def to_srgb(linear: Linear) -> Picture:
    level = linear * np.float32(4095)
    level += np.float32(0.5)
    np.clip(level, 0, 4095, out=level)
    return np.take(SRGB, level.astype(np.uint16))


def temperature_rgb(kelvin: float) -> Linear:
    """Return the linear sRGB of a black body, green = 1 (Krystek 1985 for the chromaticity)."""
    t = kelvin
    u = (0.860117757 + 1.54118254e-4 * t + 1.28641212e-7 * t**2) / (
        1 + 8.42420235e-4 * t + 7.08145163e-7 * t**2
    )
    v = (0.317398726 + 4.22806245e-5 * t + 4.20481691e-8 * t**2) / (
        1 - 2.89741816e-5 * t + 1.61456053e-7 * t**2
    )
    x, y = 3 * u / (2 * u - 8 * v + 4), 2 * v / (2 * u - 8 * v + 4)
    xyz = np.array([x / y, 1.0, (1 - x - y) / y])
    matrix = np.array(
        [[3.2406, -1.5372, -0.4986], [-0.9689, 1.8758, 0.0415], [0.0557, -0.2040, 1.0570]]
    )
    rgb = np.maximum(matrix @ xyz, 0.02)
    return (rgb / rgb[1]).astype(np.float32)


@dataclass(frozen=True)
class Exposure:
    """Light, lens and sensor of one photograph; see :func:`expose`.

    ``gains`` multiply linear R G B; ``slope`` is the change of light across the picture to the
    right and down, ``vignette`` the loss in the corners; ``shadow`` (angle, offset in half
    pictures, softness in pixels, light left) darkens a half plane; ``glare`` (x, y, radius in
    pixels, strength) is a reflection; ``blur`` a Gaussian in pixels, ``motion`` (length, angle).
    """

    gains: tuple[float, float, float] = (0.85, 0.85, 0.85)
    slope: tuple[float, float] = (0.0, 0.0)
    vignette: float = 0.0
    shadow: tuple[float, float, float, float] | None = None
    glare: tuple[tuple[float, float, float, float], ...] = ()
    blur: float = 0.5
    motion: tuple[float, float] | None = None
    read_noise: float = 0.002
    shot_noise: float = 0.004
    quality: int | None = 92

    def brighter(self, factor: float) -> Exposure:
        red, green, blue = self.gains
        return replace(self, gains=(red * factor, green * factor, blue * factor))


def expose(scene: Linear, exposure: Exposure, rng: Rng) -> Picture:
    """Return the photograph uint8[H, W, 3] of a scene float32[H, W, 3] of reflectances."""
    light = _light(scene.shape[0], scene.shape[1], exposure)
    linear = scene * light[..., None]
    for x, y, radius, strength in exposure.glare:
        linear += _spot(scene.shape[0], scene.shape[1], x, y, radius, strength)[..., None]
    linear *= np.array(exposure.gains, dtype=np.float32)
    linear = _blurred(linear, exposure)
    linear += _noise(linear, exposure, rng)
    return _compressed(to_srgb(linear), exposure.quality)


def _noise(linear: Linear, exposure: Exposure, rng: Rng) -> Linear:
    """Return read noise, plus shot noise that grows with the square root of the light."""
    deviation = np.maximum(linear, 0)
    deviation *= np.float32(exposure.shot_noise**2)
    deviation += np.float32(exposure.read_noise**2)
    # OpenCV's normal numbers take a third of the time of NumPy's, and dominate a picture's cost.
    cv2.setRNGSeed(int(rng.integers(2**31)))
    noise = np.empty_like(linear)
    cv2.randn(noise, 0.0, 1.0)
    noise *= np.sqrt(deviation, out=deviation)
    return noise


def _light(height: int, width: int, exposure: Exposure) -> Linear:
    x = np.linspace(-1, 1, width, dtype=np.float32)[None, :]
    y = np.linspace(-1, 1, height, dtype=np.float32)[:, None]
    light = np.maximum((1 + exposure.slope[0] * x) + exposure.slope[1] * y, 0.1)
    light *= (1 - exposure.vignette * x**2 / 2) - exposure.vignette * y**2 / 2
    if exposure.shadow is not None:
        angle, offset, softness, left = exposure.shadow
        across = float(np.cos(angle)) * width / (2 * softness)
        down = float(np.sin(angle)) * height / (2 * softness)
        edge = (across * x - offset * height / (2 * softness)) + down * y
        light *= left + (1 - left) / (1 + np.exp(np.clip(edge, -30, 30)))
    return light


def _spot(height: int, width: int, x: float, y: float, radius: float, strength: float) -> Linear:
    across = (np.arange(width, dtype=np.float32)[None, :] - x) / radius
    down = (np.arange(height, dtype=np.float32)[:, None] - y) / (0.7 * radius)
    return (strength * np.exp(-((across**2 + down**2) ** 1.5))).astype(np.float32)


def _blurred(linear: Linear, exposure: Exposure) -> Linear:
    if exposure.motion is not None:
        length, angle = exposure.motion
        side = int(np.ceil(length)) | 1
        kernel = np.zeros((side, side), dtype=np.float32)
        middle = side // 2
        reach = np.array([np.cos(angle), np.sin(angle)]) * length / 2
        start, end = (np.round(middle + sign * reach).astype(int) for sign in (-1, 1))
        cv2.line(kernel, start.tolist(), end.tolist(), 1.0)
        linear = cv2.filter2D(linear, -1, kernel / kernel.sum())
    if exposure.blur > 0.2:
        linear = cv2.GaussianBlur(linear, (0, 0), exposure.blur)
    return np.asarray(linear, dtype=np.float32)


def _compressed(image: Picture, quality: int | None) -> Picture:
    if quality is None:
        return image
    _, data = cv2.imencode(".jpg", image[..., ::-1], [cv2.IMWRITE_JPEG_QUALITY, quality])
    return np.ascontiguousarray(cv2.imdecode(data, cv2.IMREAD_COLOR)[..., ::-1])


def random_exposure(
    rng: Rng, whole: Rng, face: tuple[float, float, float], harsh: float = 1.0
) -> Exposure:
    """Return the exposure of one face.

    ``whole`` is the same for every face of a cube (same room, same camera), ``rng`` differs for
    each; ``face`` is the face's centre and half side in pixels. ``harsh`` multiplies the ranges of
    all disturbances of a picture (jumps of exposure by its square root).
    """
    light = temperature_rgb(whole.uniform(2500, 8000))
    # Automatic white balance removes most of the cast, then drifts a little from face to face.
    cast = light ** min(1.0, harsh * (1 - whole.uniform(0.45, 1.0)))
    jump = 0.18 * harsh**0.5
    level = whole.uniform(0.35, 1.05) * np.exp(jump * np.clip(rng.standard_normal(), -2, 2))
    gains = cast / cast.max() * level * np.exp(0.03 * harsh * rng.standard_normal(3))
    slope = harsh * whole.uniform(-0.35, 0.35, 2)
    shadowed = whole.random() < 0.25
    shadow = (
        rng.uniform(0, 2 * np.pi),
        rng.uniform(-0.4, 0.6),
        rng.uniform(1.5, 12),
        whole.uniform(0.35, 0.75) ** harsh,
    )
    x, y, half = face
    glare = tuple(
        (
            x + half * rng.uniform(-1.1, 1.1),
            y + half * rng.uniform(-1.1, 1.1),
            half * rng.uniform(0.08, 0.35),
            harsh * rng.uniform(0.2, 1.6),
        )
        for _ in range(round(harsh * rng.choice(3, p=(0.6, 0.3, 0.1))))
    )
    moving = rng.random() < 0.12
    return Exposure(
        gains=(float(gains[0]), float(gains[1]), float(gains[2])),
        slope=(float(slope[0]), float(slope[1])),
        vignette=float(min(0.9, harsh * whole.uniform(0, 0.5))),
        shadow=shadow if shadowed else None,
        glare=glare,
        blur=float(harsh * whole.uniform(0.3, 1.4)),
        motion=(harsh * rng.uniform(2, 6), rng.uniform(0, np.pi)) if moving else None,
        read_noise=float(harsh * whole.uniform(0.001, 0.006)),
        shot_noise=float(harsh * whole.uniform(0.004, 0.03)),
        quality=_spoilt(whole.integers(70, 96), harsh) if whole.random() < 0.7 else None,
    )


def _spoilt(quality: int, harsh: float) -> int:
    return max(20, round(100 - harsh * (100 - quality)))


def random_room(rng: Rng, resolution: tuple[int, int]) -> Linear:
    """Return a table, a robot's beams, rails with holes, boxes and cables: anything but a cube."""
    width, height = resolution
    ground = rng.integers(10, 200, 3)
    image: Picture = np.full((height, width, 3), ground, dtype=np.uint8)
    for _ in range(int(rng.integers(0, 14))):
        colour = _clutter_colour(rng)
        start = rng.uniform(0, 1, 2) * resolution
        kind = rng.integers(4)
        if kind == 0:
            _draw_box(image, start, rng, colour)
        elif kind == 1:
            _draw_beam(image, start, rng, colour)
        elif kind == 2:
            axes = tuple(int(v) for v in rng.uniform(0.02, 0.2, 2) * height)
            middle = (int(start[0]), int(start[1]))
            cv2.ellipse(image, middle, axes, rng.uniform(0, 180), 0.0, 360.0, colour, -1)
        else:
            end = rng.uniform(0, 1, 2) * resolution
            thickness = int(rng.integers(1, max(2, height // 24)))
            cv2.line(image, as_pixel(start), as_pixel(end), colour, thickness, cv2.LINE_AA)
    return to_linear(image)


def _clutter_colour(rng: Rng) -> Rgb:
    if rng.random() < 0.6:
        grey = int(rng.integers(5, 220))
        return grey, grey, min(255, grey + int(rng.integers(0, 20)))
    red, green, blue = rng.integers(0, 255, 3).tolist()
    return red, green, blue


def half_side(corners: Corners) -> float:
    """Return half the side of a face with these corners."""
    return float(np.linalg.norm(corners - corners.mean(axis=0), axis=1).mean() / 2**0.5)


def as_pixel(point: Point) -> tuple[int, int]:
    return int(point[0]), int(point[1])


def _draw_box(image: Picture, start: Point, rng: Rng, colour: Rgb) -> None:
    extent = rng.uniform(0.03, 0.4, 2) * image.shape[0]
    box = cv2.boxPoints((start.tolist(), extent.tolist(), rng.uniform(0, 90)))
    cv2.fillConvexPoly(image, np.round(box * 16).astype(np.int32), colour, cv2.LINE_AA, 4)


def _draw_beam(image: Picture, start: Point, rng: Rng, colour: Rgb) -> None:
    """Draw a beam with a row of round holes, as in construction sets."""
    angle = rng.uniform(0, np.pi)
    along = np.array([np.cos(angle), np.sin(angle)])
    pitch = rng.uniform(0.02, 0.06) * image.shape[0]
    count = int(rng.integers(4, 16))
    end = start + along * pitch * count
    cv2.line(image, as_pixel(start), as_pixel(end), colour, int(pitch * 1.1), cv2.LINE_AA)
    hole = tuple(int(c * 0.25) for c in colour)
    for k in range(count):
        middle = as_pixel(start + along * pitch * (k + 0.5))
        cv2.circle(image, middle, max(1, int(pitch * 0.3)), hole, -1, cv2.LINE_AA)


SKIN = ((224, 172, 140), (198, 134, 98), (110, 70, 50))


def with_hand(picture: Picture, corners: Corners, rng: Rng, reach: float) -> Picture:
    """Return the picture with fingers over a face, reaching ``reach`` of its side in."""
    middle = corners.mean(axis=0)
    side = float(np.linalg.norm(corners[0] - corners[1]))
    angle = rng.uniform(0, 2 * np.pi)
    along = np.array([np.cos(angle), np.sin(angle)])
    across = np.array([-along[1], along[0]])
    width = side * rng.uniform(0.17, 0.26)
    fingers = int(rng.integers(3, 6))
    cover = np.zeros(picture.shape[:2], dtype=np.float32)
    for number in range(fingers):
        tip = middle - along * side * (reach - 0.5 + rng.uniform(-0.1, 0.1))
        tip = tip + across * width * 1.05 * (number - (fingers - 1) / 2)
        end = tip + along * 3 * side
        cv2.line(cover, as_pixel(tip), as_pixel(end), 0.8 + 0.05 * number, int(width), cv2.LINE_AA)
    tone = np.array(SKIN[rng.integers(len(SKIN))]) * rng.uniform(0.6, 1.05)
    share = np.clip(1.3 * cv2.GaussianBlur(cover, (0, 0), 1.2), 0, 1)[..., None]
    shade = 0.55 + 0.5 * cv2.GaussianBlur(cover, (0, 0), width / 4)[..., None]
    noisy = picture * (1 - share) + tone * shade * share + rng.normal(0, 2, picture.shape)
    return np.clip(noisy, 0, 255).astype(np.uint8)


def empty_place(seed: int) -> Picture:
    rng = np.random.default_rng(seed)
    exposure = random_exposure(rng, np.random.default_rng(seed), (320.0, 240.0, 100.0))
    return expose(random_room(rng, (640, 480)), exposure, rng)


def side_by_side(left: Picture, right: Picture) -> Picture:
    """Return one picture that shows two side by side, at three quarters of their scale."""
    width, height = (3 * side // 4 for side in left.shape[1::-1])
    parts = [np.asarray(cv2.resize(part, (width, height)), np.uint8) for part in (left, right)]
    return np.ascontiguousarray(np.concatenate(parts, axis=1))


def in_the_left_part(corners: Corners) -> Corners:
    """Return corners of the left picture after :func:`side_by_side`."""
    return (corners + 0.5) * 0.75 - 0.5


def seated(corners: Corners, size: int, rng: Rng, slack: float = 0.06) -> FaceGrid:
    """Return a calibrated place; the cube is off by up to ``slack`` of a sticker, as in reality."""
    grid = FaceGrid.from_corners(corners, size)
    return FaceGrid.from_corners(corners + rng.normal(0, slack * grid.pitch, 2), size)
