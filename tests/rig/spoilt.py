"""Six photographs of a cube with a known flaw, and the correct report about them.

:data:`FLAWS` alter one picture of a set, or all: a hand, glare, darkness, blur, a face cut off,
another cube, none. :func:`spoil` returns the altered set, :func:`told` the report about it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import cv2
import numpy as np

from tests.rig.pictures import (
    Corners,
    Exposure,
    Picture,
    Rng,
    expose,
    half_side,
    random_room,
    to_linear,
    to_srgb,
    with_hand,
)
from tests.rig.scenes import FACES, RenderedCube, outcome_of, render_cube
from vision.decide.reader import CubeReading, Unreadable
from vision.decide.six_faces import locate_cube, read_located
from vision.locate.face import NoFace
from vision.locate.view_check import OddView


@dataclass(frozen=True, eq=False)
class Flaw:
    """A flaw by its ``name`` and true ``cause``.

    It changes a picture uint8[H, W, 3] with a face of ``size`` layers at these corners. ``every``:
    it is in all pictures.
    """

    name: str
    cause: str
    alter: Callable[[Picture, Corners, int, Rng], Picture]
    every: bool = False


def hand(picture: Picture, corners: Corners, size: int, rng: Rng) -> Picture:
    return with_hand(picture, corners, rng, rng.uniform(0.7, 1.1))


def empty(picture: Picture, corners: Corners, size: int, rng: Rng) -> Picture:
    """Return another place without the cube, or the cube painted over."""
    height, width = picture.shape[:2]
    if rng.random() < 0.5:
        light = Exposure(gains=(0.7, 0.65, 0.6))
        return expose(random_room(rng, (width, height)), light, rng)
    around = corners.mean(axis=0) + 1.6 * (corners - corners.mean(axis=0))
    mask = np.zeros((height, width), np.uint8)
    cv2.fillConvexPoly(mask, np.round(around).astype(np.int32), 255)
    rest = picture[mask == 0] if (mask == 0).any() else picture.reshape(-1, 3)
    tone = np.median(rest, axis=0)
    share = cv2.GaussianBlur(mask, (0, 0), 3).astype(np.float32)[..., None] / 255
    painted = picture * (1 - share) + tone * share + rng.normal(0, 2, picture.shape)
    return np.clip(painted, 0, 255).astype(np.uint8)


def other_size(picture: Picture, corners: Corners, size: int, rng: Rng) -> Picture:
    """Return a cube with one layer less or more in the cube's place."""
    height, width = picture.shape[:2]
    other = 3 if size == 2 else int(rng.choice([2, 4]))
    cube = render_cube(int(rng.integers(10**6)), other, max_tilt=12, faces="F")
    source = cube.corners["F"].astype(np.float32)
    image = cube.frames["F"].image
    about = corners.mean(axis=0) + 1.06 * (corners - corners.mean(axis=0))
    placed = cv2.getPerspectiveTransform(source, corners.astype(np.float32))
    flat = cv2.warpPerspective(image, placed, (width, height), borderMode=cv2.BORDER_REPLICATE)
    cover = np.zeros((height, width), np.uint8)
    hide = corners.mean(axis=0) + 1.5 * (corners - corners.mean(axis=0))
    cv2.fillConvexPoly(cover, np.round(hide).astype(np.int32), 255)
    tone = np.median(picture[cover == 0], axis=0) if (cover == 0).any() else 90
    ground = picture.copy()
    ground[cover > 0] = tone
    cv2.fillConvexPoly(cover, np.round(hide).astype(np.int32), 0)
    cv2.fillConvexPoly(cover, np.round(about).astype(np.int32), 255)
    ground[cover > 0] = flat[cover > 0]
    return ground


def glare(picture: Picture, corners: Corners, size: int, rng: Rng) -> Picture:
    """Return a lamp's reflection in a large part of the face."""
    height, width = picture.shape[:2]
    half = half_side(corners)
    x, y = corners.mean(axis=0) + half * rng.uniform(-0.5, 0.5, 2)
    across = (np.arange(width, dtype=np.float32)[None] - x) / (half * rng.uniform(0.7, 1.1))
    down = (np.arange(height, dtype=np.float32)[:, None] - y) / (half * rng.uniform(0.7, 1.1))
    spot = rng.uniform(1.5, 3.0) * np.exp(-((across**2 + down**2) ** 1.5))
    return to_srgb(to_linear(picture) + spot[..., None].astype(np.float32))


def bright(picture: Picture, corners: Corners, size: int, rng: Rng) -> Picture:
    lit = to_linear(picture)
    return to_srgb(lit * np.float32(rng.uniform(1.5, 4) / max(np.quantile(lit, 0.3), 0.01)))


def white(picture: Picture, corners: Corners, size: int, rng: Rng) -> Picture:
    """Return a face of 255, 255, 255."""
    blown = picture.copy()
    cv2.fillConvexPoly(blown, np.round(corners).astype(np.int32), (255, 255, 255))
    return blown


def dark(picture: Picture, corners: Corners, size: int, rng: Rng) -> Picture:
    lit = to_linear(picture) * np.float32(rng.uniform(0.004, 0.015))
    noise = rng.normal(0, 0.002, picture.shape).astype(np.float32)
    return to_srgb(lit + noise)


def blur(picture: Picture, corners: Corners, size: int, rng: Rng) -> Picture:
    sigma = 2 * half_side(corners) / size * rng.uniform(0.35, 0.6)
    return np.asarray(cv2.GaussianBlur(picture, (0, 0), sigma), np.uint8)


def cut(picture: Picture, corners: Corners, size: int, rng: Rng) -> Picture:
    """Return the picture without a part of the face, on one side."""
    part = rng.uniform(0.3, 0.6)
    low, high = corners.min(axis=0), corners.max(axis=0)
    x, y = (low + part * (high - low)).astype(int)
    right, lower = (high - part * (high - low)).astype(int)
    sides = [picture[:, max(x, 1) :], picture[max(y, 1) :], picture[:, :right], picture[:lower]]
    return np.ascontiguousarray(sides[int(rng.integers(4))])


FLAWS = (
    Flaw("hand", "face-covered", hand),
    Flaw("hand-all", "face-covered", hand, every=True),
    Flaw("empty", "no-cube", empty),
    Flaw("empty-all", "no-cube", empty, every=True),
    Flaw("size", "wrong-size", other_size),
    Flaw("glare", "reflection", glare),
    Flaw("glare-all", "reflection", glare, every=True),
    Flaw("bright", "too-bright", bright),
    Flaw("bright-all", "too-bright", bright, every=True),
    Flaw("white", "too-bright", white),
    Flaw("dark", "too-dark", dark),
    Flaw("dark-all", "too-dark", dark, every=True),
    Flaw("blur", "blurred", blur),
    Flaw("blur-all", "blurred", blur, every=True),
    Flaw("cut", "cut-off", cut),
    Flaw("cut-all", "cut-off", cut, every=True),
)


def spoil(photos: RenderedCube, flaw: Flaw, seed: int) -> tuple[RenderedCube, str]:
    """Return the set with a flaw, and the letters of the flawed faces."""
    rng = np.random.default_rng([seed, FLAWS.index(flaw)])
    faces = FACES if flaw.every else FACES[int(rng.integers(6))]
    frames = dict(photos.frames)
    for face in faces:
        image = flaw.alter(frames[face].image, photos.corners[face], photos.size, rng)
        frames[face] = replace(frames[face], image=image)
    return replace(photos, frames=frames), faces


def told(photos: RenderedCube) -> tuple[str, OddView | None]:
    """Return the outcome of reading a set, and the trouble reported for one of its pictures."""
    found: list[OddView | None] = []

    def read() -> CubeReading:
        try:
            reading = read_located(locate_cube(photos.frames))
        except (NoFace, Unreadable) as error:
            found.append(error if isinstance(error, OddView) else getattr(error, "flaw", None))
            raise
        found.append(reading.flaw)
        return reading

    outcome = outcome_of(read, photos.facelets)
    return outcome, found[0]
