"""Scans of cubes in every kind of light, made at the level of sticker colours.

Everything follows from a seed. A scan is the cube's reflectances times the light of its room, then
the camera's exposure, white balance, noise and clipping, face by face, in 8 bit sRGB like a file.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from rendered_cubes import SCHEMES, random_facelets
from rendered_light import temperature_rgb, to_linear

from solver.cube.pocket import PocketCube
from vision.measure.sticker_colours import (
    FACES,
    FaceColours,
    StickerColours,
    linear_to_srgb,
    srgb_to_linear,
)

Linear = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SyntheticScan:
    """What was measured, the facelets a reader should say, and a line to find bad cases by."""

    colours: StickerColours
    facelets: str
    about: str


@dataclass(frozen=True)
class Room:
    """Light and camera alike for all six faces of a scan."""

    cast: tuple[float, float, float]
    level: float
    jump: float
    slope: tuple[float, float]
    vignette: float
    reach: float
    shadow: float
    haze: float
    noise: float
    glare: float

    def harsher(self, factor: float) -> Room:
        """The same room with more of what spoils a scan."""
        return replace(
            self,
            noise=self.noise * factor,
            glare=self.glare * factor,
            haze=self.haze * factor,
            jump=self.jump * factor**0.5,
        )

    @classmethod
    def random(cls, rng: np.random.Generator) -> Room:
        light = temperature_rgb(rng.uniform(2500, 8000))
        cast = light ** (1 - rng.uniform(0.45, 1.0))
        red, green, blue = (cast / cast.max()).tolist()
        return cls(
            cast=(red, green, blue),
            level=float(np.exp(rng.uniform(np.log(0.06), np.log(1.1)))),
            jump=0.45 if rng.random() < 0.15 else 0.18,
            slope=(float(rng.uniform(-0.35, 0.35)), float(rng.uniform(-0.35, 0.35))),
            vignette=float(rng.uniform(0, 0.5)),
            reach=float(rng.uniform(0.3, 0.75)),
            shadow=float(rng.uniform(0.35, 0.75)) if rng.random() < 0.25 else 1.0,
            haze=float(rng.uniform(0, 0.02)),
            noise=float(rng.uniform(0.0003, 0.002)),
            glare=float(rng.choice((0.0, 0.02, 0.05))),
        )


def synthetic_scan(
    seed: int, size: int = 3, harsh: float = 1.0, exchanged: int = 0
) -> SyntheticScan:
    """The scan of a seed; ``harsh`` multiplies noise, glare, haze and jumps of exposure.

    ``exchanged`` pairs of stickers of different colours have been exchanged on the cube.
    """
    rng = np.random.default_rng([seed, size, 7])
    truth = random_facelets(size, rng)
    shown = _exchanged(truth, size, exchanged, np.random.default_rng([seed, size, 8]))
    scheme = list(SCHEMES)[rng.integers(len(SCHEMES))]
    room = Room.random(rng).harsher(harsh)
    palette = {f: to_linear(np.array([c], dtype=np.uint8))[0] for f, c in SCHEMES[scheme].items()}
    looks = {}
    for number, face in enumerate(FACES):
        letters = shown[number * size**2 : (number + 1) * size**2]
        looks[face] = _look(np.array([palette[x] for x in letters]), letters, size, room, rng)
    named = PocketCube.from_facelets(truth).relative.facelets() if size == 2 else truth
    return SyntheticScan(StickerColours.of_faces(looks), named, f"{seed} {scheme} {room}")


def _exchanged(truth: str, size: int, pairs: int, rng: np.random.Generator) -> str:
    stickers = list(truth)
    middle = size * size // 2 if size % 2 else -1
    free = [i for i in range(len(stickers)) if i % size**2 != middle]
    done = 0
    while done < pairs:
        first, second = rng.choice(free, 2, replace=False)
        if stickers[first] != stickers[second]:
            stickers[first], stickers[second] = stickers[second], stickers[first]
            done += 1
    return "".join(stickers)


def _look(
    reflectance: Linear, letters: str, size: int, room: Room, rng: np.random.Generator
) -> FaceColours:
    count = size * size
    reflectance = reflectance * (1 + 0.03 * rng.standard_normal((count, 1)))
    reflectance = reflectance * (1 + 0.02 * rng.standard_normal((count, 3)))
    if size % 2 and letters[count // 2] == "U" and rng.random() < 0.3:
        # What is left of a logo after robust measuring: a darker, tinted middle.
        reflectance[count // 2] *= rng.uniform(0.3, 1.0, 3)
    places = _places(size, room)
    light = _light(places, room, rng)[:, None] * np.array(room.cast) * room.level
    jump = np.exp(room.jump * np.clip(rng.standard_normal(), -2, 2))
    linear = reflectance * light * jump * np.exp(0.03 * rng.standard_normal(3))
    shiny = rng.random(count) < room.glare
    linear += (shiny * rng.uniform(0.02, 0.6, count))[:, None] * room.level
    linear += room.haze * room.level * jump
    linear += room.noise * rng.standard_normal((count, 3))
    measured = FaceColours.measured(srgb_to_linear(linear_to_srgb(linear)))
    return replace(measured, positions=(places / 2**0.5).astype(np.float32))


def _places(size: int, room: Room) -> Linear:
    """Where the stickers are in the square picture, -1..1 across and down, float[N * N, 2]."""
    steps = (2 * np.arange(size) - (size - 1)) / size * room.reach
    return np.stack(np.meshgrid(steps, steps), axis=-1).reshape(-1, 2)


def _light(places: Linear, room: Room, rng: np.random.Generator) -> Linear:
    """Falloff, slope and shadow at the stickers of one face."""
    x, y = places.T
    light = (1 + room.slope[0] * x + room.slope[1] * y) * (1 - room.vignette * (x**2 + y**2) / 2)
    angle, offset = rng.uniform(0, 2 * np.pi), rng.uniform(-0.6, 0.6) * room.reach
    edge = (x * np.cos(angle) + y * np.sin(angle) - offset) / rng.uniform(0.02, 0.2)
    return light * (room.shadow + (1 - room.shadow) / (1 + np.exp(np.clip(edge, -30, 30))))
