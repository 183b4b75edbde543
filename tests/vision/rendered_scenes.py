"""Cubes as people photograph them: in the hand, on white, shining, far away, without borders."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import cv2
import numpy as np
from numpy.typing import NDArray
from rendered_cubes import (
    FACES,
    Corners,
    Make,
    RenderedCube,
    Surroundings,
    random_facelets,
    render_cube,
)
from rendered_light import Exposure, Linear, to_linear
from rendered_rooms import random_room
from rendered_views import SKIN


def borderless(make: Make, rng: np.random.Generator, *schemes: str) -> Make:
    """A stickerless cube whose pieces nearly touch: hardly a line between two of one colour."""
    return replace(
        make,
        stickerless=True,
        part=float(rng.uniform(0.97, 0.99)),
        corner=float(rng.uniform(0.08, 0.2)),
        bevel=float(rng.uniform(0.03, 0.1)),
        body=int(rng.integers(15, 60)),
        scheme=schemes[rng.integers(len(schemes))] if schemes else make.scheme,
    )


def white_bodied(make: Make, rng: np.random.Generator) -> Make:
    """Stickers on white plastic."""
    return replace(
        make,
        stickerless=False,
        part=float(rng.uniform(0.78, 0.92)),
        corner=float(rng.uniform(0.04, 0.25)),
        bevel=0.0,
        body=int(rng.integers(170, 235)),
    )


def white_wall(rng: np.random.Generator, resolution: tuple[int, int]) -> Linear:
    """A wall or a sheet of paper as white as a white sticker, hardly structured."""
    width, height = resolution
    level = rng.integers(222, 250, 3).min() + rng.integers(-3, 4, 3)
    wall = to_linear(np.full((height, width, 3), np.clip(level, 0, 255), dtype=np.uint8))
    coarse = rng.normal(1.0, 0.02, (6, 8)).astype(np.float32)
    return np.asarray(wall * cv2.resize(coarse, (width, height))[..., None], dtype=np.float32)


def room_with_skin(rng: np.random.Generator, resolution: tuple[int, int]) -> Linear:
    """A room with a palm and an arm in it, where the cube will be."""
    scene = random_room(rng, resolution)
    width, height = resolution
    palm = rng.uniform(0.35, 0.65, 2) * resolution
    cover = np.zeros((height, width), dtype=np.float32)
    axes = tuple(int(v) for v in rng.uniform(0.3, 0.55, 2) * height)
    cv2.ellipse(cover, _pixel(palm), axes, rng.uniform(0, 180), 0.0, 360.0, 1.0, -1)
    arm = palm + np.array([rng.uniform(-0.5, 0.5) * width, height])
    cv2.line(cover, _pixel(palm), _pixel(arm), 1.0, int(0.35 * height), cv2.LINE_AA)
    _lay_skin(scene, cover, 0.1 * height, rng)
    return scene


def fingers(scene: Linear, corners: Corners, rng: np.random.Generator) -> None:
    """Fingers from two opposite sides that reach a little over the face's edge."""
    middle = corners.mean(axis=0)
    side = float(np.linalg.norm(corners[0] - corners[1]))
    first = int(rng.integers(2))
    cover = np.zeros(scene.shape[:2], dtype=np.float32)
    for edge in (first, first + 2):
        a, b = corners[edge], corners[(edge + 1) % 4]
        count = int(rng.integers(1, 4))
        start = rng.uniform(0.1, 0.5)
        out = (a + b) / 2 - middle
        out = out / np.linalg.norm(out)
        width = side * rng.uniform(0.16, 0.24)
        for number in range(count):
            place = a + (b - a) * min(0.95, start + 1.1 * number * width / side)
            # A finger's round end reaches half its width farther in than its line.
            tip = place + out * (width / 2 - side * rng.uniform(-0.02, 0.09))
            lean = out + rng.uniform(-0.25, 0.25) * (b - a) / side
            cv2.line(
                cover, _pixel(tip), _pixel(tip + lean * 2 * side), 1.0, int(width), cv2.LINE_AA
            )
    _lay_skin(scene, cover, 0.06 * side, rng)


def _lay_skin(scene: Linear, cover: Linear, roundness: float, rng: np.random.Generator) -> None:
    """Skin where ``cover`` is 1, darker towards its edges."""
    tone = to_linear(np.array(SKIN[rng.integers(len(SKIN))], dtype=np.uint8))
    share = np.clip(cv2.GaussianBlur(cover, (0, 0), 0.8), 0, 1)[..., None]
    shade = 0.3 + 0.7 * cv2.GaussianBlur(cover, (0, 0), roundness)[..., None] ** 2
    grain = 1 + 0.04 * rng.standard_normal(scene.shape[:2], dtype=np.float32)
    scene[:] = scene * (1 - share) + tone.reshape(3) * shade * grain[..., None] * share


def shining(
    exposure: Exposure, corners: Corners, rng: np.random.Generator, least: int = 1
) -> Exposure:
    """Lamps that mirror themselves broadly in the face."""
    middle = corners.mean(axis=0)
    half = float(np.linalg.norm(corners - middle, axis=1).mean() / 2**0.5)
    places = middle + half * rng.uniform(-0.9, 0.9, (int(rng.integers(least, 4)), 2))
    spots = tuple(
        (float(x), float(y), half * rng.uniform(0.25, 0.6), rng.uniform(0.35, 1.3))
        for x, y in places
    )
    return replace(exposure, glare=exposure.glare + spots)


def overexposed(exposure: Exposure, corners: Corners, rng: np.random.Generator) -> Exposure:
    """So much light that orange and yellow come near each other, with a reflection at times."""
    shone = shining(exposure, corners, rng, least=0)
    return shone.brighter(rng.uniform(1.0, 1.9) / max(exposure.gains))


def usual_borderless(make: Make, rng: np.random.Generator) -> Make:
    """Borderless with orange and yellow among its colours."""
    return borderless(make, rng, "classic", "bright")


SCENES: dict[str, Surroundings] = {
    "shine": Surroundings(make=borderless, light=shining, hand_held=True),
    "hand": Surroundings(
        make=borderless, background=room_with_skin, hold=fingers, light=shining, hand_held=True
    ),
    "white-wall": Surroundings(make=borderless, background=white_wall, hand_held=True),
    "orange-yellow": Surroundings(make=usual_borderless, light=overexposed, hand_held=True),
    "far": Surroundings(share=(60 / 1080, 120 / 1080), hand_held=True),
    "white-body": Surroundings(make=white_bodied, hand_held=True),
}


def render_scene(kind: str, seed: int, size: int = 3, faces: str = FACES) -> RenderedCube:
    """A cube of a seed, of 2 or 3 layers, in one of :data:`SCENES`."""
    if kind == "orange-yellow":
        seed = max(range(40 * seed, 40 * seed + 40), key=partial(_orange_beside_yellow, size=size))
    resolution = (1920, 1080) if kind == "far" else (640, 480)
    return render_cube(seed, size, resolution=resolution, at=SCENES[kind], faces=faces)


def _orange_beside_yellow(seed: int, size: int) -> int:
    """How often the two stand beside each other on the cube that :func:`render_cube` draws."""
    facelets = random_facelets(size, np.random.default_rng([seed, size]))
    faces = np.array(list(facelets)).reshape(6, size, size)
    pairs = np.concatenate(
        [
            np.char.add(faces[:, :, :-1], faces[:, :, 1:]).ravel(),
            np.char.add(faces[:, :-1], faces[:, 1:]).ravel(),
        ]
    )
    return int(np.isin(pairs, ["DL", "LD"]).sum())


def _pixel(point: NDArray[np.float64]) -> tuple[int, int]:
    return int(point[0]), int(point[1])
