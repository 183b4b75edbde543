"""Rendered photographs of two opposite corners of a cube, taken from anywhere in front of it.

The cube, its make, the room and the light are those of :mod:`tests.rig.scenes`.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from solver.cube.orientation import all_orientations
from tests.rig.pictures import Linear, Rng, expose, random_exposure
from tests.rig.scenes import (
    FACES,
    ROBOT,
    Make,
    draw_face,
    outcome_of,
    paste_face,
    pixels_of_cell,
    random_facelets,
    random_make,
)
from tests.rig.stickers import DRAWN, NORMALS, Stickers
from vision.decide.reader import CubeReading
from vision.decide.two_corners import assemble, read_corners
from vision.frame import Frame
from vision.locate.two_corners import scan_corners

RESOLUTION = (640, 480)


@dataclass(frozen=True, eq=False)
class RenderedCorners:
    """Two frames and the truth about them.

    ``held`` are the facelets for each orientation with one of the first picture's three faces up.
    """

    size: int
    facelets: str
    held: tuple[str, ...]
    frames: tuple[Frame, Frame]


def render_corners(
    seed: int,
    size: int = 3,
    *,
    facelets: str | None = None,
    harsh: float = 1.0,
    towards: tuple[str, str] | None = None,
) -> RenderedCorners:
    """Photograph the cube of a seed, or ``facelets``, from two opposite corners.

    Each picture is rotated at random around the line of sight, which is up to 14 degrees from the
    cube's diagonal; the cube takes 45 to 85 % of the picture's shorter side. ``towards`` names the
    corners shown by their faces; ``harsh`` multiplies the disturbances of the pictures.
    """
    rng = np.random.default_rng([seed, size, 7])
    state = random_facelets(size, rng)
    state = state if facelets is None else facelets
    make = ROBOT.make(random_make(rng, None), np.random.default_rng([seed, size, 6]))
    room = int(rng.integers(2**32))
    corner = rng.choice([-1.0, 1.0], 3)
    ways = [corner, -corner]
    if towards is not None:
        ways = [np.sum([NORMALS[f] for f in faces], axis=0, dtype=float) for faces in towards]
    taken = []
    for number, way in enumerate(ways):
        own = np.random.default_rng([seed, size, number, 8])
        camera = _Camera.random(own, way)
        scene = ROBOT.background(own, RESOLUTION)
        taken.append(_photograph(state, make, camera, scene, (room, harsh), own))
    (first, faces), (second, _) = taken
    held = tuple(_hold(state, size, face, ways[0]) for face in faces)
    return RenderedCorners(size, state, held, (first, second))


def read_corners_outcome(cube: RenderedCorners) -> str:
    def read() -> CubeReading:
        scans = scan_corners(*cube.frames)
        return read_corners(assemble([scan.colours for scan in scans]))

    return outcome_of(read, cube.held[0], alike=cube.held[1:])


def _photograph(
    state: str, make: Make, camera: _Camera, scene: Linear, light: tuple[int, float], rng: Rng
) -> tuple[Frame, list[str]]:
    """Return a frame of the cube and its three faces in view. ``light``: room and harshness."""
    size = round((len(state) / 6) ** 0.5)
    seen = {}
    for number, face in enumerate(FACES):
        if not camera.sees(face):
            continue
        seen[face] = camera.project(_corners_of(face))
        stickers = state[number * size**2 : (number + 1) * size**2]
        texture = draw_face(stickers, size, make, rng, pixels_of_cell(seen[face], size))
        paste_face(scene, texture * np.float32(rng.uniform(0.5, 1.0)), seen[face])
    faces = np.array(list(seen.values()))
    middle = faces.mean(axis=(0, 1))
    # Sized as for a face photographed alone: a lamp's reflection does not grow with the view.
    half = float(np.linalg.norm(faces - faces.mean(axis=1, keepdims=True), axis=2).mean() / 2**0.5)
    place = (float(middle[0]), float(middle[1]), half)
    exposure = random_exposure(rng, np.random.default_rng(light[0] + 1), place, light[1])
    return Frame(expose(scene, exposure, rng), "rendered", 0), list(seen)


def _corners_of(face: str) -> NDArray[np.float64]:
    """Return the corners of a face, float64[4, 3], clockwise from Kociemba's top left."""
    right, down = (np.array(way, dtype=float) for way in DRAWN[face])
    signs = ((-1, -1), (1, -1), (1, 1), (-1, 1))
    return np.array([np.array(NORMALS[face]) + x * right + y * down for x, y in signs])


def _hold(state: str, size: int, up: str, towards: NDArray[np.float64]) -> str:
    """Return the facelets with a face up and the corner ``towards`` as URF."""
    fronts = [f for f in FACES if np.dot(NORMALS[f], towards) > 0 and f != up]
    held = next(o for o in all_orientations() if o.faces[0] == up and {*o.faces[1:3]} == {*fronts})
    letters = dict(zip(held.faces, FACES, strict=True))
    return "".join(letters[x] for x in Stickers(state, size, held.name).facelets)


@dataclass(frozen=True, eq=False)
class _Camera:
    """A pinhole camera.

    ``rotation`` and ``shift`` lead from the cube [-1, 1]^3, y up, to x right, y down, z ahead;
    ``focal`` and ``middle`` are in pixels.
    """

    rotation: NDArray[np.float64]
    shift: NDArray[np.float64]
    focal: float
    middle: NDArray[np.float64]

    @classmethod
    def random(cls, rng: Rng, towards: NDArray[np.float64]) -> _Camera:
        """Return a camera in direction ``towards`` that has the cube in its picture."""
        shorter = min(RESOLUTION)
        distance = rng.uniform(6.0, 16.0)
        share = rng.uniform(0.45, 0.85)
        focal = share * shorter * distance / 3.3
        away = towards / np.linalg.norm(towards)
        aside = np.cross(away, rng.normal(size=3))
        aside *= np.radians(14.0) * rng.random() ** 0.5 / np.linalg.norm(aside)
        away = cv2.Rodrigues(aside)[0] @ away
        right = np.cross(away, rng.normal(size=3))
        right /= np.linalg.norm(right)
        facing = np.array([right, np.cross(-away, right), -away])
        x, y = rng.uniform(-0.5, 0.5, 2) * (0.95 - share) * shorter / focal
        aim = cv2.Rodrigues(np.array([-np.arctan(y), np.arctan(x), 0.0]))[0]
        return cls(
            aim @ facing, aim @ (0.0, 0.0, distance), focal, np.array(RESOLUTION, dtype=float) / 2
        )

    def sees(self, face: str) -> bool:
        normal = self.rotation @ np.array(NORMALS[face], dtype=float)
        return bool(normal @ (normal + self.shift) < 0)

    def project(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        seen = points @ self.rotation.T + self.shift
        return np.asarray(seen[..., :2] / seen[..., 2:] * self.focal + self.middle)
