"""Rendered photographs of cubes with known state and place in the picture.

Everything follows from a seed: :func:`render_cube` draws the cube, its make, the camera, the room
and the light, and returns six frames in Kociemba's orientation with the truth. :func:`render_scene`
does so for photographs as people take them: in the hand, on white, shining, far away.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import cv2
import numpy as np
from numpy.typing import NDArray

from solver.cube.cube import Cube
from solver.cube.notation import parse_moves
from solver.cube.pocket import PocketCube
from solver.cube.sticker_cube import StickerCube
from tests.rig.pictures import (
    SKIN,
    Corners,
    Exposure,
    Linear,
    Rng,
    as_pixel,
    expose,
    half_side,
    random_exposure,
    random_room,
    temperature_rgb,
    to_linear,
)
from vision.decide.reader import CubeReading, Unreadable, read_cube
from vision.frame import Frame
from vision.locate.face import FaceGrid, NoFace
from vision.locate.six_faces import scan_frames

FACES = "URFDLB"

SCHEMES = {
    scheme: dict(zip(FACES, (tuple(bytes.fromhex(one)) for one in colours.split()), strict=True))
    for scheme, colours in {
        "classic": "ecece8 b21622 0c8a3e f0d418 ee6212 0e46a8",
        "bright": "f6f6f6 de2430 46c84c f4ec34 ff8624 1874de",
        "japanese": "e2e4dc 96121e 00683c 102c76 d65416 dcbe18",
        "violet": "f0f0f0 c41a28 1ea050 f6da28 703492 3c96e2",
    }.items()
}
"""sRGB of the stickers of four makes, by the faces they are on."""


@dataclass(frozen=True)
class Make:
    """The construction of a cube.

    ``part`` is the coloured fraction of a cell's side, ``corner`` radius and ``bevel`` width are
    fractions of the cell, ``body`` is the sRGB grey of the plastic in between.
    """

    stickerless: bool
    part: float
    corner: float
    bevel: float
    body: int
    scheme: str
    logo: bool


@dataclass(frozen=True)
class Surroundings:
    """The place of a photograph, as far as it differs from a robot's camera in a room.

    ``share``: minimum and maximum fraction of the picture's shorter side that a face takes.
    ``hand_held`` cubes lie differently in every picture. ``background`` is behind the cube,
    ``hold`` draws the holder over it, ``light`` changes the exposure; both receive the face's
    corners.
    """

    make: Callable[[Make, Rng], Make] = lambda make, rng: make
    share: tuple[float, float] = (0.3, 0.75)
    hand_held: bool = False
    background: Callable[[Rng, tuple[int, int]], Linear] = random_room
    hold: Callable[[Linear, Corners, Rng], None] = lambda *_: None
    light: Callable[[Exposure, Corners, Rng], Exposure] = lambda lit, *_: lit


ROBOT = Surroundings()


@dataclass(frozen=True, eq=False)
class RenderedCube:
    """Six frames and the truth about them.

    ``facelets`` are the cube's own state; ``corners`` float64[4, 2] those of each face in pixels,
    clockwise from the top left; ``about``: a line for finding the worst cases.
    """

    size: int
    facelets: str
    frames: dict[str, Frame]
    corners: dict[str, Corners]
    about: str = ""


def render_cube(
    seed: int,
    size: int = 3,
    *,
    resolution: tuple[int, int] = (640, 480),
    max_tilt: float = 35.0,
    stickerless: bool | None = None,
    harsh: float = 1.0,
    at: Surroundings = ROBOT,
    faces: str = FACES,
    facelets: str | None = None,
) -> RenderedCube:
    """Photograph the cube of a seed, or ``facelets``: each of ``faces`` at ``resolution`` (width,
    height).

    ``max_tilt`` in degrees is the largest angle between camera axis and face normal; ``harsh``
    multiplies the ranges of the disturbances.
    """
    rng = np.random.default_rng([seed, size])
    facelets = facelets or random_facelets(size, rng)
    make = at.make(random_make(rng, stickerless), np.random.default_rng([seed, size, 6]))
    room = int(rng.integers(2**32))
    frames: dict[str, Frame] = {}
    corners: dict[str, Corners] = {}
    for face in faces:
        number = FACES.index(face)
        own = np.random.default_rng([seed, size, number])
        place = np.random.default_rng([room, number] if at.hand_held else room)
        camera = _Camera.random(place, resolution, max_tilt, at.share)
        pose = camera.jittered(own)
        scene = at.background(own, resolution)
        _draw_cube(scene, pose, facelets, face, size, make, own)
        corners[face] = pose.project(_corners_of("front"))
        at.hold(scene, corners[face], own)
        x, y = corners[face].mean(axis=0).tolist()
        half = half_side(corners[face])
        exposure = random_exposure(own, np.random.default_rng(room + 1), (x, y, half), harsh)
        exposure = at.light(exposure, corners[face], own)
        frames[face] = Frame(expose(scene, exposure, own), "rendered", number)
    about = f"seed {seed} size {size} tilt {np.degrees(camera.tilt):.0f} {make}"
    return RenderedCube(size, facelets, frames, corners, about)


def random_facelets(size: int, rng: Rng) -> str:
    """Return a random legal state; even sizes have a random orientation."""
    if size == 2:
        return PocketCube.random(rng).facelets()
    if size == 3:
        return Cube.random(rng).facelets()
    return _scrambled(size, rng).facelets()


def _scrambled(size: int, rng: Rng) -> StickerCube:
    cube = StickerCube.solved(size)
    words = []
    for _ in range(20 * size):
        depth = int(rng.integers(1, size // 2 + 1))
        face = "URFDLB"[rng.integers(6)]
        turn = ("", "2", "'")[rng.integers(3)]
        words.append(f"{face}{turn}" if depth == 1 else f"{depth}{face}w{turn}")
    return cube.apply(parse_moves(" ".join(words)))


def random_make(rng: Rng, stickerless: bool | None) -> Make:
    plain = bool(rng.random() < 0.4) if stickerless is None else stickerless
    scheme = list(SCHEMES)[rng.integers(len(SCHEMES))]
    white = not plain and rng.random() < 0.12
    return Make(
        stickerless=plain,
        part=float(rng.uniform(0.945, 0.975) if plain else rng.uniform(0.8, 0.91)),
        corner=float(rng.uniform(0.08, 0.2) if plain else rng.uniform(0.04, 0.25)),
        bevel=float(rng.uniform(0.03, 0.1)) if plain else 0.0,
        body=int(rng.integers(*((15, 50) if plain else (150, 215) if white else (8, 36)))),
        scheme=scheme,
        logo=bool(rng.random() < (0.2 if plain else 0.35)),
    )


_SIDES = {
    # Outward normal, directions right and down in the side's drawing; the camera looks
    # along +z at the front, y is down.
    "front": ((0, 0, -1), (1, 0, 0), (0, 1, 0)),
    "right": ((1, 0, 0), (0, 0, 1), (0, 1, 0)),
    "left": ((-1, 0, 0), (0, 0, -1), (0, 1, 0)),
    "top": ((0, -1, 0), (1, 0, 0), (0, 0, -1)),
    "bottom": ((0, 1, 0), (1, 0, 0), (0, 0, 1)),
}


def _corners_of(side: str) -> Corners:
    """Return the corners of a side of the cube [-1, 1]^3, clockwise from its top left."""
    normal, right, down = (np.array(axis, dtype=float) for axis in _SIDES[side])
    signs = ((-1, -1), (1, -1), (1, 1), (-1, 1))
    return np.array([normal + x * right + y * down for x, y in signs])


@dataclass(frozen=True, eq=False)
class _Camera:
    resolution: tuple[int, int]
    tilt: float
    azimuth: float
    roll: float
    distance: float
    focal: float
    aim: tuple[float, float]

    @classmethod
    def random(
        cls, rng: Rng, resolution: tuple[int, int], max_tilt: float, shares: tuple[float, float]
    ) -> _Camera:
        width, height = resolution
        distance = rng.uniform(5.0, 14.0)
        share = rng.uniform(*shares)
        focal = share * min(width, height) * (distance - 1) / 2
        room = 0.5 * (0.9 - share)
        aim = (
            width / 2 + rng.uniform(-room, room) * min(width, height),
            height / 2 + rng.uniform(-room, room) * min(width, height),
        )
        tilt = np.radians(max_tilt) * rng.random() ** 0.7
        roll = np.radians(np.clip(rng.normal(0, 6), -15, 15))
        return cls(resolution, tilt, rng.uniform(0, 2 * np.pi), roll, distance, focal, aim)

    def jittered(self, rng: Rng) -> _Camera:
        """Return a slightly changed camera: a cube never lies in quite the same way twice."""
        shift = rng.normal(0, 0.008 * self.resolution[1], 2)
        aim = (self.aim[0] + shift[0], self.aim[1] + shift[1])
        return replace(self, roll=self.roll + np.radians(rng.normal(0, 0.8)), aim=aim)

    @property
    def rotation(self) -> NDArray[np.float64]:
        axis = np.array([np.cos(self.azimuth), np.sin(self.azimuth), 0.0]) * self.tilt
        tilted = np.asarray(cv2.Rodrigues(axis)[0])
        rolled = np.asarray(cv2.Rodrigues(np.array([0.0, 0.0, self.roll]))[0])
        return rolled @ tilted

    def project(self, points: Corners) -> Corners:
        seen = points @ self.rotation.T + (0.0, 0.0, self.distance)
        # The camera aims at the middle of the front face.
        front = self.rotation @ np.array([0.0, 0.0, -1.0]) + (0.0, 0.0, self.distance)
        offset = np.array(self.aim) - self.focal * front[:2] / front[2]
        return np.asarray(seen[..., :2] / seen[..., 2:] * self.focal + offset)

    def sees(self, side: str) -> bool:
        normal = self.rotation @ np.array(_SIDES[side][0], dtype=float)
        place = normal + np.array([0.0, 0.0, self.distance])
        return bool(normal @ place < 0)


def _draw_cube(
    scene: Linear, pose: _Camera, facelets: str, face: str, size: int, make: Make, rng: Rng
) -> None:
    """Draw the front face and the sides of the cube that show past its edges."""
    others = [f for f in FACES if f != face]
    letters = {side: others[i] for i, side in enumerate(("right", "left", "top", "bottom"))}
    for side in ("right", "left", "top", "bottom", "front"):
        if not pose.sees(side):
            continue
        shown = FACES.index(letters.get(side, face))
        stickers = facelets[shown * size**2 : (shown + 1) * size**2]
        corners = pose.project(_corners_of(side))
        texture = draw_face(stickers, size, make, rng, pixels_of_cell(corners, size))
        # Sides are turned away from the light on the front.
        shade = 1.0 if side == "front" else rng.uniform(0.35, 1.0)
        paste_face(scene, texture * np.float32(shade), corners)


def pixels_of_cell(corners: Corners, size: int) -> int:
    """Return the side at which a cell is drawn, for a face with these corners in the picture."""
    longest = np.linalg.norm(corners - np.roll(corners, 1, axis=0), axis=1).max()
    return int(np.clip(np.ceil(longest / size), 8, 200))


def draw_face(stickers: str, size: int, make: Make, rng: Rng, cell: int) -> Linear:
    """Return reflectances float32[size * cell, size * cell, 3] of a face seen straight on."""
    palette = SCHEMES[make.scheme]
    colours = to_linear(np.array([palette[s] for s in stickers], dtype=np.uint8))
    # Pieces differ slightly in shade.
    colours = colours * (1 + 0.03 * rng.standard_normal((size**2, 1), dtype=np.float32))
    mask, shade = _cell_mask(make, cell)
    body = to_linear(np.full(3, make.body, dtype=np.uint8))
    cells = colours.reshape(size, 1, size, 1, 3) * shade[None, :, None, :, None]
    share = mask[None, :, None, :, None]
    flat = (cells * share + body * (1 - share)).reshape(size * cell, size * cell, 3)
    if make.logo:
        _print_logo(flat, stickers, size, cell, rng)
    return np.ascontiguousarray(flat, dtype=np.float32)


def _cell_mask(make: Make, cell: int) -> tuple[Linear, Linear]:
    """Return the share of colour and its shading, float32[cell, cell], in one cell."""
    axis = (np.arange(cell, dtype=np.float32) + 0.5) / cell - 0.5
    x, y = np.meshgrid(axis, axis)
    half = make.part / 2
    outside_x = np.maximum(np.abs(x) - (half - make.corner), 0)
    outside_y = np.maximum(np.abs(y) - (half - make.corner), 0)
    inner = np.minimum(np.maximum(np.abs(x), np.abs(y)) - half, 0)
    round_gap = np.hypot(outside_x, outside_y) - make.corner
    gap = np.where((outside_x > 0) & (outside_y > 0), round_gap, np.maximum(inner, -1))
    gap = np.where((outside_x > 0) | (outside_y > 0), round_gap, gap)
    mask = np.clip(0.5 - gap * cell, 0, 1)
    if make.bevel == 0:
        return mask.astype(np.float32), np.ones_like(mask, dtype=np.float32)
    depth = np.clip((gap + make.bevel) / make.bevel, 0, 1)
    # The rounded rim faces the light above on one side and faces away from it on the other.
    shade = 1 - depth * (0.25 + 0.35 * (y + 0.3 * x) / half)
    return mask.astype(np.float32), shade.astype(np.float32)


def _print_logo(flat: Linear, stickers: str, size: int, cell: int, rng: Rng) -> None:
    """Print a maker's logo on a white sticker of the face, if any, preferably the middle one."""
    white = [i for i, s in enumerate(stickers) if s == "U"]
    if not white:
        return
    place = size * size // 2 if size * size // 2 in white else white[int(rng.integers(len(white)))]
    row, column = divmod(place, size)
    patch = flat[row * cell : (row + 1) * cell, column * cell : (column + 1) * cell]
    ink = to_linear(rng.integers(0, 150, 3).astype(np.uint8))
    radius = rng.uniform(0.14, 0.27) * cell
    mask = np.zeros((cell, cell), dtype=np.uint8)
    middle = (cell // 2, cell // 2)
    cv2.ellipse(mask, middle, (int(radius * 1.2), int(radius)), 0.0, 0.0, 360.0, 255, -1)
    for k in range(3):
        level = int(middle[1] - radius / 2 + k * radius / 2)
        cv2.line(mask, (int(middle[0] - radius / 2), level), (middle[0], level), 0, 1)
    patch[mask > 0] = ink


def paste_face(scene: Linear, texture: Linear, corners: Corners) -> None:
    side = float(len(texture))
    source = np.array([[0, 0], [side, 0], [side, side], [0, side]], dtype=np.float32) - 0.5
    homography = cv2.getPerspectiveTransform(source, corners.astype(np.float32))
    height, width = scene.shape[:2]
    low = np.maximum(np.floor(corners.min(axis=0)).astype(int) - 2, 0)
    high = np.minimum(np.ceil(corners.max(axis=0)).astype(int) + 3, (width, height))
    if (high <= low).any():
        return
    shift = np.array([[1, 0, -low[0]], [0, 1, -low[1]], [0, 0, 1.0]])
    extent = (int(high[0] - low[0]), int(high[1] - low[1]))
    placed = cv2.warpPerspective(
        texture, shift @ homography, extent, borderMode=cv2.BORDER_REPLICATE
    )
    cover = np.zeros((extent[1], extent[0]), dtype=np.uint8)
    fixed = np.round((corners - low) * 16).astype(np.int32)
    cv2.fillConvexPoly(cover, fixed, 255, cv2.LINE_AA, 4)
    share = (cover.astype(np.float32) / 255)[..., None]
    area = scene[low[1] : high[1], low[0] : high[0]]
    area[:] = area * (1 - share) + placed * share


def borderless(make: Make, rng: Rng, schemes: Sequence[str] = ()) -> Make:
    """Return a stickerless cube with hardly a line between equal colours."""
    return replace(
        make,
        stickerless=True,
        part=float(rng.uniform(0.97, 0.99)),
        corner=float(rng.uniform(0.08, 0.2)),
        bevel=float(rng.uniform(0.03, 0.1)),
        body=int(rng.integers(15, 60)),
        scheme=schemes[rng.integers(len(schemes))] if schemes else make.scheme,
    )


def white_bodied(make: Make, rng: Rng) -> Make:
    return replace(
        make,
        stickerless=False,
        part=float(rng.uniform(0.78, 0.92)),
        corner=float(rng.uniform(0.04, 0.25)),
        bevel=0.0,
        body=int(rng.integers(170, 235)),
    )


def white_wall(rng: Rng, resolution: tuple[int, int]) -> Linear:
    """Return a wall or a sheet of paper as white as a white sticker, with little structure."""
    width, height = resolution
    level = rng.integers(222, 250, 3).min() + rng.integers(-3, 4, 3)
    wall = to_linear(np.full((height, width, 3), np.clip(level, 0, 255), dtype=np.uint8))
    coarse = rng.normal(1.0, 0.02, (6, 8)).astype(np.float32)
    return np.asarray(wall * cv2.resize(coarse, (width, height))[..., None], dtype=np.float32)


def room_with_skin(rng: Rng, resolution: tuple[int, int]) -> Linear:
    """Return a room with a palm and an arm where the cube will be."""
    scene = random_room(rng, resolution)
    width, height = resolution
    palm = rng.uniform(0.35, 0.65, 2) * resolution
    cover = np.zeros((height, width), dtype=np.float32)
    axes = tuple(int(v) for v in rng.uniform(0.3, 0.55, 2) * height)
    cv2.ellipse(cover, as_pixel(palm), axes, rng.uniform(0, 180), 0.0, 360.0, 1.0, -1)
    arm = palm + np.array([rng.uniform(-0.5, 0.5) * width, height])
    cv2.line(cover, as_pixel(palm), as_pixel(arm), 1.0, int(0.35 * height), cv2.LINE_AA)
    _lay_skin(scene, cover, 0.1 * height, rng)
    return scene


def fingers(scene: Linear, corners: Corners, rng: Rng) -> None:
    """Draw fingers from two opposite sides that reach a little over the face's edge."""
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
            # A finger's round end reaches half its width beyond its line.
            tip = place + out * (width / 2 - side * rng.uniform(-0.02, 0.09))
            lean = out + rng.uniform(-0.25, 0.25) * (b - a) / side
            cv2.line(
                cover, as_pixel(tip), as_pixel(tip + lean * 2 * side), 1.0, int(width), cv2.LINE_AA
            )
    _lay_skin(scene, cover, 0.06 * side, rng)


def _lay_skin(scene: Linear, cover: Linear, roundness: float, rng: Rng) -> None:
    """Draw skin where ``cover`` is 1, darker towards its edges."""
    tone = to_linear(np.array(SKIN[rng.integers(len(SKIN))], dtype=np.uint8))
    share = np.clip(cv2.GaussianBlur(cover, (0, 0), 0.8), 0, 1)[..., None]
    shade = 0.3 + 0.7 * cv2.GaussianBlur(cover, (0, 0), roundness)[..., None] ** 2
    grain = 1 + 0.04 * rng.standard_normal(scene.shape[:2], dtype=np.float32)
    scene[:] = scene * (1 - share) + tone.reshape(3) * shade * grain[..., None] * share


def shining(exposure: Exposure, corners: Corners, rng: Rng, least: int = 1) -> Exposure:
    """Add lamps with broad reflections in the face."""
    half = half_side(corners)
    places = corners.mean(axis=0) + half * rng.uniform(-0.9, 0.9, (int(rng.integers(least, 4)), 2))
    spots = tuple(
        (float(x), float(y), half * rng.uniform(0.25, 0.6), rng.uniform(0.35, 1.3))
        for x, y in places
    )
    return replace(exposure, glare=exposure.glare + spots)


def overexposed(exposure: Exposure, corners: Corners, rng: Rng) -> Exposure:
    """Overexpose until orange and yellow look alike, sometimes with a reflection."""
    shone = shining(exposure, corners, rng, least=0)
    return shone.brighter(rng.uniform(1.0, 1.9) / max(exposure.gains))


SCENES: dict[str, Surroundings] = {
    "shine": Surroundings(make=borderless, light=shining, hand_held=True),
    "hand": Surroundings(
        make=borderless, background=room_with_skin, hold=fingers, light=shining, hand_held=True
    ),
    "white-wall": Surroundings(make=borderless, background=white_wall, hand_held=True),
    "orange-yellow": Surroundings(
        make=partial(borderless, schemes=("classic", "bright")), light=overexposed, hand_held=True
    ),
    "far": Surroundings(share=(60 / 1080, 120 / 1080), hand_held=True),
    "white-body": Surroundings(make=white_bodied, hand_held=True),
}


def render_scene(kind: str, seed: int, size: int = 3, faces: str = FACES) -> RenderedCube:
    """Return the cube of a seed, of 2 or 3 layers, in one of :data:`SCENES`."""
    if kind == "orange-yellow":
        seed = max(range(40 * seed, 40 * seed + 40), key=partial(_orange_beside_yellow, size=size))
    resolution = (1920, 1080) if kind == "far" else (640, 480)
    return render_cube(seed, size, resolution=resolution, at=SCENES[kind], faces=faces)


def _lit(kelvin: float, level: float, shaded: bool, exposure: Exposure, *_: object) -> Exposure:
    """Return the light of one lamp. If ``shaded``, it comes from the side with a shadow."""
    colour = temperature_rgb(kelvin) ** np.float32(0.6)
    red, green, blue = (level * colour / colour.max()).tolist()
    lit = replace(exposure, gains=(red, green, blue))
    return replace(lit, slope=(0.35, -0.25), shadow=(2.0, 0.1, 8.0, 0.5)) if shaded else lit


LIGHTS = {
    "day": partial(_lit, 6500, 0.8, False),
    "lamp": partial(_lit, 2700, 0.55, False),
    "dusk": partial(_lit, 4500, 0.2, False),
    "bright": partial(_lit, 5500, 1.3, False),
    "shade": partial(_lit, 5000, 0.8, True),
}
"""Five lights for faces of one colour."""


def render_plain_face(seed: int, light: str, pieces: int) -> RenderedCube:
    """Return the face F of a stickerless 3x3x3 with ``pieces`` pieces of one colour.

    It looks as in a robot's check of the solved cube; the other faces do not make a cube with it.
    """
    rng = np.random.default_rng([seed, pieces, 9])
    colour = int(rng.integers(6))
    face = [FACES[colour]] * 9
    for place in rng.permutation(9)[pieces:]:
        face[place] = FACES[(colour + int(rng.integers(1, 6))) % 6]
    others = random_facelets(3, rng)
    facelets = others[:18] + "".join(face) + others[27:]
    at = Surroundings(light=LIGHTS[light])
    return render_cube(seed, 3, stickerless=True, at=at, faces="F", facelets=facelets)


def _orange_beside_yellow(seed: int, size: int) -> int:
    """Count orange stickers beside yellow ones on the cube that :func:`render_cube` draws."""
    facelets = random_facelets(size, np.random.default_rng([seed, size]))
    faces = np.array(list(facelets)).reshape(6, size, size)
    pairs = np.concatenate(
        [
            np.char.add(faces[:, :, :-1], faces[:, :, 1:]).ravel(),
            np.char.add(faces[:, :-1], faces[:, 1:]).ravel(),
        ]
    )
    return int(np.isin(pairs, ["DL", "LD"]).sum())


NEAR = 0.3
"""Maximum error of correct corners, as a fraction of a sticker."""


def is_right(grid: FaceGrid, cube: RenderedCube, face: str) -> bool:
    miss = np.abs(grid.corners - cube.corners[face]).max()
    return grid.size == cube.size and bool(miss < NEAR * grid.pitch)


def is_true(read: str, facelets: str) -> bool:
    """Return whether a reading is correct.

    On a 2x2x2 the DBL corner counts as solved. On a 4x4x4 and 6x6x6, whose colours have no fixed
    places, the names of the colours do not matter.
    """
    size = round((len(facelets) / 6) ** 0.5)
    if size == 2:
        return read == PocketCube.from_facelets(facelets).relative.facelets()
    if size % 2:
        return read == facelets
    return len(set(zip(read, facelets, strict=True))) == 6


def outcome_of(
    read: Callable[[], CubeReading],
    facelets: str,
    refusals: tuple[type[Exception], ...] = (NoFace, Unreadable),
    *,
    alike: Sequence[str] = (),
) -> str:
    """Return ``right``, ``unsure``, ``unsure of another``, ``refused`` or, the worst, ``wrong``.

    Readings of ``alike`` also count as right: the same cube in other orientations.
    """
    try:
        reading = read()
    except refusals:
        return "refused"
    if any(is_true(reading.facelets, truth) for truth in (facelets, *alike)):
        return "right" if reading.confident else "unsure"
    return "wrong" if reading.confident else "unsure of another"


def read_outcome(cube: RenderedCube) -> str:
    return outcome_of(lambda: read_cube(scan_frames(cube.frames).colours), cube.facelets)
