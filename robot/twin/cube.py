"""The cube as a physical body, also with layers between quarter turns.

Stickers have a place and a direction, and rotation matrices move them. The body uses only vectors,
so that its verdict is independent of the solver's move tables. Lengths are in half cubies: a cube
of size N spans -N..N on each axis. A :class:`Pose` describes the present places of its stickers,
also in mid-motion, for drawing by a camera.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from robot.twin.violations import Reporter

SITES = "URFDLB"

NORMALS: dict[str, tuple[int, int, int]] = {
    "U": (0, 1, 0),
    "R": (1, 0, 0),
    "F": (0, 0, 1),
    "D": (0, -1, 0),
    "L": (-1, 0, 0),
    "B": (0, 0, -1),
}
"""Outward direction of each site in the robot frame (x right, y up, z towards the viewer)."""

SITE_OF_AXIS = {"x": "R", "y": "U", "z": "F"}
"""The site to which each robot axis points."""

_RIGHT_AND_DOWN: dict[str, tuple[tuple[int, int, int], tuple[int, int, int]]] = {
    "U": ((1, 0, 0), (0, 0, 1)),
    "R": ((0, 0, -1), (0, -1, 0)),
    "F": ((1, 0, 0), (0, -1, 0)),
    "D": ((1, 0, 0), (0, 0, -1)),
    "L": ((0, 0, 1), (0, -1, 0)),
    "B": ((-1, 0, 0), (0, -1, 0)),
}

AT_REST_QUARTERS = 2 / 90
"""Deviation up to which a layer is at rest, since servos settle and creep. Beyond it, a layer has
started to turn."""

OPPOSITE = dict(zip("URFDLB", "DLBURF", strict=True))

HAND_TURNS = 200
"""Number of scramble turns for each number of layers that may be turned together."""

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]


def face_axes(site: str) -> tuple[IntArray, IntArray, IntArray]:
    """Return ``(normal, right, down)`` of a site as Kociemba draws it; int64[3] each."""
    right, down = _RIGHT_AND_DOWN[site]
    return np.array(NORMALS[site]), np.array(right), np.array(down)


def rotation(axis: tuple[int, int, int], quarter_turns: int) -> IntArray:
    """Return int64[3, 3] turning by clockwise quarters as seen from the tip of ``axis``."""
    return np.rint(turned(axis, quarter_turns)).astype(np.int64)


class CubeBody:
    """An NxN cube in the robot; facelets are letters at the robot's sites, in Kociemba's order."""

    def __init__(self, facelets: str) -> None:
        self.size = round((len(facelets) / 6) ** 0.5)
        if not facelets or 6 * self.size**2 != len(facelets) or set(facelets) - set(SITES):
            raise ValueError("a cube has 6 N^2 facelets, letters of URFDLB")
        self.places, self.normals = _drawn_stickers(self.size)
        self.letters = np.array(list(facelets))
        self._hub = _hub_stickers(self.size)

    @property
    def core(self) -> IntArray:
        """The rotation of the hub since the start, int64[3, 3].

        The centres show the hub. Without centres it is the piece that started at D, L, B.
        """
        signs = {"U": 1, "R": 1, "F": 1, "D": -1, "L": -1, "B": -1}
        axes = {"R": 0, "L": 0, "U": 1, "D": 1, "F": 2, "B": 2}
        core = np.zeros((3, 3), dtype=np.int64)
        for face, sticker in self._hub.items():
            core[:, axes[face]] = signs[face] * self.normals[sticker]
        return core

    def facelets(self) -> str:
        """Return the letters at the robot's sites, in Kociemba's order."""
        where = dict(zip(_keys(self.places, self.normals), self.letters.tolist(), strict=True))
        return "".join(where[key] for key in _keys(*_drawn_stickers(self.size)))

    @property
    def solved(self) -> bool:
        """True if every site shows one colour."""
        return all(
            len(set(self.letters[(self.normals == NORMALS[site]).all(axis=1)])) == 1
            for site in SITES
        )

    def rotate(self, axis: tuple[int, int, int], quarter_turns: int) -> None:
        """Turn the whole cube clockwise seen from the tip of ``axis``."""
        if quarter_turns % 4 == 0:
            return
        self._move(np.ones(len(self.letters), dtype=bool), rotation(axis, quarter_turns))

    def turn(self, site: str, quarter_turns: int, layers: int = 1) -> None:
        """Turn the outer ``layers`` at ``site`` clockwise seen from outside."""
        if quarter_turns % 4 == 0:
            return
        self._move(self.layer(site, layers), rotation(NORMALS[site], quarter_turns))

    def layer(self, site: str, layers: int = 1) -> NDArray[np.bool_]:
        """Return bool[6 N^2]: the stickers on the outer ``layers`` at ``site``."""
        height = self.places @ np.array(NORMALS[site])
        return np.asarray(height >= self.size + 1 - 2 * layers)

    def face_at(self, site: str) -> str:
        """Return the cube's face at ``site``, by its hub; faces are named as at the start."""
        return _site_of(self.core.T @ np.array(NORMALS[site]))

    def held_upright(self) -> CubeBody:
        """Return a copy in the orientation of the start, layers unchanged."""
        copy = self._copy()
        copy._move(np.ones(len(self.letters), dtype=bool), self.core.T)
        return copy

    def with_stickers(self, letters: Mapping[int, str]) -> CubeBody:
        """Return a copy with other colours on stickers, numbered as in the first facelets."""
        copy = self._copy()
        for number, letter in letters.items():
            copy.letters[number] = letter
        return copy

    def become(self, other: CubeBody) -> None:
        """Become another cube of the same size, in its orientation."""
        if other.size != self.size:
            raise ValueError(f"a cube of {self.size} layers cannot become one of {other.size}")
        self.places, self.normals = other.places.copy(), other.normals.copy()
        self.letters = other.letters.copy()

    def _copy(self) -> CubeBody:
        copy = CubeBody("".join(self.letters))
        copy.places, copy.normals = self.places.copy(), self.normals.copy()
        return copy

    def _move(self, chosen: NDArray[np.bool_], matrix: IntArray) -> None:
        self.places[chosen] = self.places[chosen] @ matrix.T
        self.normals[chosen] = self.normals[chosen] @ matrix.T


def _hub_stickers(size: int) -> dict[str, int]:
    """Return three stickers that stay together in every turn: their numbers by initial face."""
    if size % 2:
        return {face: SITES.index(face) * size**2 + size**2 // 2 for face in "URF"}
    places, normals = _drawn_stickers(size)
    at_corner = (places @ np.array([1, 1, 1])) == -(3 * size - 2)
    return {
        face: int(np.flatnonzero(at_corner & (normals == NORMALS[face]).all(axis=1))[0])
        for face in "DLB"
    }


def _drawn_stickers(size: int) -> tuple[IntArray, IntArray]:
    """Return places and normals, int64[6 N^2, 3] each, in the order of a facelet string."""
    places, normals = [], []
    for site in SITES:
        normal, right, down = face_axes(site)
        for row in range(size):
            for column in range(size):
                across, along = 2 * column - size + 1, 2 * row - size + 1
                places.append(normal * size + right * across + down * along)
                normals.append(normal)
    return np.array(places), np.array(normals)


def _keys(places: IntArray, normals: IntArray) -> list[tuple[int, ...]]:
    """Return every sticker's place and normal as a dictionary key."""
    return [tuple(row) for row in np.hstack([places, normals]).tolist()]


def scrambled(size: int, seed: int) -> CubeBody:
    """Return a scrambled cube: 200 random turns from solved, of its outer layers only. For larger
    cubes these are 200 for each number of layers that may be turned together."""
    body = CubeBody("".join(letter * size * size for letter in SITES))
    generator = np.random.default_rng(seed)
    deepest = size // 2
    turns = generator.integers((0, 1), (6, 4), size=(HAND_TURNS * deepest, 2))
    depths = generator.integers(1, deepest, size=len(turns), endpoint=True)
    for (face, quarters), layers in zip(turns.tolist(), depths.tolist(), strict=True):
        body.turn(SITES[face], quarters, layers)
    return CubeBody(body.facelets())


ALIKE_AFTER = {2: "B' L D R' B U R' U D' L2 F2 D'", 3: "U' R2 L' U2 F' L2 U D B"}
"""Moves after which two neighbouring faces look alike, except for centres."""


def make_alike_faces(size: int) -> CubeBody:
    """Return a cube of two or three layers with two neighbouring faces that look alike, however
    turned."""
    body = CubeBody("".join(letter * size * size for letter in SITES))
    for move in ALIKE_AFTER[size].split():
        body.turn(move[0], {"": 1, "2": 2, "'": -1}[move[1:]])
    return CubeBody(body.facelets())


def turned(axis: tuple[int, int, int], quarters: float) -> FloatArray:
    """Return float64[3, 3] turning by any clockwise quarters as seen from the tip of ``axis``."""
    angle = -quarters * math.pi / 2
    x, y, z = axis
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]], dtype=float)
    rotation = np.eye(3) + math.sin(angle) * cross + (1 - math.cos(angle)) * cross @ cross
    return np.asarray(rotation)


@dataclass(frozen=True)
class Pose:
    """The cube's deviation from resting squarely in the robot.

    ``whole`` turns the entire cube. ``layers`` are quarters (-0.5..0.5) by which the layer of a
    site has been turned beyond the recorded places of the body's stickers, each ``depth`` layers
    deep. ``covers`` are flat pieces of the robot in front of the cube, float64[4, 3] each (the
    cube's faces are at +-1). ``rise``: the height to which the cube is raised, in the same unit.
    """

    whole: FloatArray = field(default_factory=lambda: np.eye(3))
    layers: tuple[tuple[str, float], ...] = ()
    covers: tuple[FloatArray, ...] = ()
    depth: int = 1
    rise: float = 0.0

    @property
    def layers_open(self) -> bool:
        """True if some layer is visibly off square."""
        return any(abs(quarters) > 0.15 for _, quarters in self.layers)

    def sticker_rotations(self, body: CubeBody) -> FloatArray:
        """Return float64[6 N^2, 3, 3]: rotation of each sticker from its recorded place."""
        rotations = np.tile(self.whole, (len(body.letters), 1, 1))
        for site, quarters in self.layers:
            rotations[body.layer(site, self.depth)] = self.whole @ turned(NORMALS[site], quarters)
        return rotations


class Slipping:
    """Injected slips: each makes the next turning part lose the first quarter of its turn."""

    def __init__(self) -> None:
        self.wanted = 0
        self._left: dict[str, float] = {}

    def carry(self, part: str, quarters: float) -> float:
        """Return the quarters of a turn by ``part`` that reach the cube despite a slip."""
        if self.wanted > 0 and quarters and part not in self._left:
            self.wanted -= 1
            self._left[part] = 1.0
        left = self._left.get(part, 0.0)
        lost = min(left, abs(quarters))
        if not lost:
            return quarters
        self._left[part] = left - lost
        if left == lost:
            del self._left[part]
        return quarters - (lost if quarters > 0 else -lost)


def rest_of_quarter(quarters: float) -> float:
    """Return the deviation of an angle from the nearest quarter, -0.5..0.5."""
    return quarters - round(quarters)


class TwistingCube:
    """The body with the angle of every layer; two layers that cross cannot both be off square.

    ``corner_cutting`` is the deviation in quarters that a layer may have when a crossing one starts
    to turn, and that both may have at once: the rounded pieces push each other square. If one is
    farther off, the other must be square within ``play`` (default: the same). The whole cube may be
    turned about one axis at a time.
    """

    def __init__(
        self,
        body: CubeBody,
        corner_cutting: float,
        report: Reporter,
        play: float | None = None,
    ) -> None:
        self.body = body
        self._corner_cutting = corner_cutting
        self._play = corner_cutting if play is None else play
        self._report = report
        self._twists = dict.fromkeys(SITES, 0.0)
        self._axis = "U"
        self._tilt = 0.0

    def turn_layer(self, site: str, quarters: float) -> None:
        """Turn the layer at ``site`` clockwise seen from outside."""
        before, off = self._twists[site], self.quarters_off_square(site)
        self._twists[site] = before + quarters
        starts = off <= AT_REST_QUARTERS < self.quarters_off_square(site)
        self.body.turn(site, round(before + quarters) - round(before))
        self._check_crossing(site, starts)

    def turn_whole(self, site: str, quarters: float) -> None:
        """Turn the whole cube clockwise as seen from outside ``site``."""
        if site == OPPOSITE[self._axis]:
            site, quarters = self._axis, -quarters
        if site != self._axis:
            self._axis, self._tilt = site, 0.0
        before = self._tilt
        self._tilt = before + quarters
        self._rotate(site, round(before + quarters) - round(before))

    def twist(self, site: str) -> float:
        """Return the quarters by which the layer at ``site`` has been turned."""
        return self._twists[site]

    def quarters_off_square(self, site: str) -> float:
        """Return the quarters by which the layer at ``site`` is off square with the cube."""
        return abs(rest_of_quarter(self._twists[site]))

    @property
    def tilt(self) -> tuple[str, float]:
        """The axis about which the whole cube is off square, and the quarters."""
        return self._axis, rest_of_quarter(self._tilt)

    def settle(self, site: str) -> None:
        """Bring the layer at ``site`` to rest at the nearest quarter."""
        self._twists[site] = 0.0

    def set_square(self) -> None:
        """Set every layer and the cube square by hand, each to the nearest quarter."""
        self._twists = {site: float(round(twist)) for site, twist in self._twists.items()}
        self._tilt = float(round(self._tilt))

    def settle_whole(self) -> None:
        """Bring the cube to rest, square in the robot."""
        self._tilt = 0.0

    def lean(self, site: str, quarters: float) -> None:
        """Set the whole cube off square, like the part at ``site`` that alone holds it."""
        self._axis, self._tilt = site, quarters
        self._twists[site] = 0.0

    def pose(self) -> Pose:
        """Return the positions of cube and layers, for the camera."""
        whole: FloatArray = turned(NORMALS[self._axis], rest_of_quarter(self._tilt))
        off = ((site, rest_of_quarter(twist)) for site, twist in self._twists.items())
        return Pose(whole, tuple((site, twist) for site, twist in off if twist))

    def _rotate(self, site: str, quarters: int) -> None:
        """Move the recorded stickers, and with them the layers that are off square."""
        if not quarters:
            return
        self.body.rotate(NORMALS[site], quarters)
        whole = rotation(NORMALS[site], quarters)
        moved = {old: _site_of(whole @ np.array(NORMALS[old])) for old in SITES}
        self._twists = {moved[old]: twist for old, twist in self._twists.items()}

    def _check_crossing(self, site: str, starts: bool) -> None:
        off = self.quarters_off_square(site)
        if not starts and off <= self._play:
            return
        for other in SITES:
            crosses = other not in {site, OPPOSITE[site]}
            if crosses and self._jams(starts, off, self.quarters_off_square(other)):
                text = f"layers {other} and {site} were turned into each other"
                self._report("layers-collide", text, "".join(sorted(site + other)))

    def _jams(self, starts: bool, off: float, other: float) -> bool:
        """Return true if a layer that ``starts``, or is ``off`` quarters off square, jams with a
        crossing one that is ``other`` quarters off."""
        if starts:
            return other > self._corner_cutting
        return min(off, other) > self._play and max(off, other) > self._corner_cutting


def _site_of(normal: IntArray) -> str:
    return next(site for site, direction in NORMALS.items() if tuple(normal) == direction)
