"""Judging a camera's view of a face: focus, light and framing, as advice a person can act on."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import cv2
import numpy as np

from vision.frame import Floats, Frame, Image
from vision.locate.face import FaceGrid
from vision.locate.lattice import project
from vision.measure.sticker_colours import FaceColours, srgb_to_linear
from vision.measure.stickers import measure_face


class Matter(StrEnum):
    """The subject of a piece of advice."""

    FOCUS = "focus"
    LIGHT = "light"
    FRAMING = "framing"


@dataclass(frozen=True)
class Advice:
    """One thing to change: ``text`` for a person, and ``figure`` for its severity, 0 best."""

    matter: Matter
    text: str
    figure: float


_SMALL_PX = 14.0
"""Minimum width of a sticker. Smaller ones are mostly border and noise."""

_EDGE = 0.02
"""Minimum margin between the face and the edge, as a share of the picture."""

_FLAT = 0.78
"""Minimum ratio of the shorter to the longer axis of a cell, at a tilt of 39 degrees."""

_BLURRED = 0.075
"""Maximum width of the sharpest borders as a share of a sticker. Good cameras reach 0.03 to 0.06.
From 0.08 a turning face is no longer found at every angle, which automatic calibration needs."""

_UNEVEN = 0.45
"""Maximum loss of light from the brightest part of a face to the darkest. A third is usual and
harmless."""

_DIM = 0.06
"""Minimum linear light of the brighter stickers: sRGB 70."""

_CLIPPED = 0.15
"""Maximum share of stickers with a clipped channel; a bright colour may clip."""

_WHITE_HOT = 0.8
"""Linear light of a clipped sticker's darkest channel above which its colour is lost."""

_PLACES = (
    ("upper left", "top", "upper right"),
    ("left", "middle", "right"),
    ("lower left", "bottom", "lower right"),
)


def advise(frame: Frame, grid: FaceGrid, *, squarely: bool = True) -> list[Advice]:
    """Return advice on a view of a face found at ``grid``; empty if all is well.

    ``squarely``: the camera should see this face squarely. A camera that points at a corner sees
    three faces at an angle.
    """
    colours = measure_face(frame, grid.quads)
    found = [
        *_framing(frame, grid, squarely=squarely),
        *_light(frame, grid, colours),
        *_focus(frame, grid),
    ]
    return sorted(found, key=lambda advice: -advice.figure)


def _framing(frame: Frame, grid: FaceGrid, *, squarely: bool = True) -> list[Advice]:
    height, width = frame.image.shape[:2]
    found = []
    if grid.pitch < _SMALL_PX:
        text = f"the stickers are only {grid.pitch:.0f} pixels wide: move the camera closer"
        found.append(Advice(Matter.FRAMING, text, 1 - grid.pitch / _SMALL_PX))
    parts = grid.corners / (width, height)
    for side, distance in (
        ("left", parts[:, 0].min()),
        ("right", 1 - parts[:, 0].max()),
        ("top", parts[:, 1].min()),
        ("bottom", 1 - parts[:, 1].max()),
    ):
        if distance < _EDGE:
            text = f"the face touches the {side} edge of the picture: move the camera"
            found.append(Advice(Matter.FRAMING, text, float(_EDGE - distance) / _EDGE))
    flat = flatness(grid)
    if squarely and flat < _FLAT:
        text = "the camera sees the face at too steep an angle: point it more squarely at the face"
        found.append(Advice(Matter.FRAMING, text, 1 - flat))
    return found


def flatness(grid: FaceGrid) -> float:
    """Return the ratio of the shorter to the longer axis of a cell in the middle of the face.

    1 if seen squarely, 0 if edge-on.
    """
    n = grid.size / 2
    middle, right, down = project(grid.homography, np.array([[n, n], [n + 0.5, n], [n, n + 0.5]]))
    singular = np.linalg.svd(np.stack([right - middle, down - middle]), compute_uv=False)
    return float(singular[1] / singular[0])


def _light(frame: Frame, grid: FaceGrid, colours: FaceColours) -> list[Advice]:
    found = []
    clipped = float(colours.saturated.mean())
    if clipped > _CLIPPED:
        text = f"{clipped:.0%} of the stickers are too bright: use less light or a shorter exposure"
        found.append(Advice(Matter.LIGHT, text, clipped))
    hot = colours.saturated & (colours.linear_rgb.min(axis=1) > _WHITE_HOT)
    if clipped <= _CLIPPED and hot.any():
        down, across = divmod(int(hot.argmax()), grid.size)
        place = _PLACES[down * 3 // grid.size][across * 3 // grid.size]
        text = f"there is a reflection at the {place}: move the lamp, or shade the face"
        found.append(Advice(Matter.LIGHT, text, float(hot.mean())))
    bright = float(np.quantile(colours.linear_rgb[colours.valid].max(axis=1), 0.8, axis=0))
    if bright < _DIM:
        text = "the face is dark: use more light or a longer exposure"
        found.append(Advice(Matter.LIGHT, text, 1 - bright / _DIM))
    shading = falloff(frame, grid)
    row, column = np.unravel_index(int(shading.argmin()), (3, 3))
    lost = 1 - float(shading.min())
    if lost > _UNEVEN:
        place = _PLACES[row][column]
        text = f"the {place} is in shadow ({lost:.0%} darker): light the face more evenly"
        found.append(Advice(Matter.LIGHT, text, lost))
    return found


def falloff(frame: Frame, grid: FaceGrid) -> Floats:
    """Return the light on nine parts of the face, float64[3, 3], relative to the brightest part.

    A sticker has one colour, so the light causes any change of brightness inside it. A quadratic
    surface of the logarithm of light is fitted to the slopes inside the stickers.
    """
    light = np.log(
        srgb_to_linear(_straighten(frame, grid, _CELL)).max(axis=2).astype(np.float64) + 2e-3
    )
    slopes = _slopes(light, grid.size)
    surface = _integrate(*slopes)
    at = np.array([1 / 6, 1 / 2, 5 / 6]) - 0.5
    x, y = np.meshgrid(at, at)
    level = np.stack([x, y, x * x, x * y, y * y], axis=-1) @ surface
    return np.asarray(np.exp(level - level.max()))


_CELL = 24
"""Pixels of a straightened sticker, enough to measure a slope in noise between its quarters."""


def _straighten(frame: Frame, grid: FaceGrid, cell: int) -> Image:
    """Return the face seen straight on, ``cell`` pixels per sticker."""
    to_face = np.array([[1 / cell, 0, 0.5 / cell], [0, 1 / cell, 0.5 / cell], [0, 0, 1.0]])
    extent = grid.size * cell
    flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
    flat = cv2.warpPerspective(
        frame.image, grid.homography @ to_face, (extent, extent), flags=flags
    )
    return np.asarray(flat, dtype=np.uint8)


def _slopes(light: Floats, size: int) -> tuple[Floats, Floats, Floats]:
    """Return the stickers' centres [n, 2] in face units and their slopes across and down."""
    quarter = _CELL // 4
    cells = light.reshape(size, _CELL, size, _CELL).transpose(0, 2, 1, 3)
    inner = cells[:, :, quarter:-quarter, quarter:-quarter]
    half = inner.shape[2] // 2
    # Medians, so that a logo or glare in one half does not count as light.
    left = np.median(inner[..., :half], axis=(2, 3))
    right = np.median(inner[..., half:], axis=(2, 3))
    top = np.median(inner[:, :, :half], axis=(2, 3))
    bottom = np.median(inner[:, :, half:], axis=(2, 3))
    step = half / (_CELL * size)
    axis = (np.arange(size) + 0.5) / size - 0.5
    x, y = np.meshgrid(axis, axis)
    centres = np.stack([x.ravel(), y.ravel()], axis=1)
    return centres, ((right - left) / step).ravel(), ((bottom - top) / step).ravel()


def _integrate(centres: Floats, across: Floats, down: Floats) -> Floats:
    """Fit a surface to these slopes robustly. Return its coefficients of x, y, x^2, xy, y^2."""
    x, y = centres.T
    zero, one = np.zeros_like(x), np.ones_like(x)
    rows = np.concatenate(
        [
            np.stack([one, zero, 2 * x, y, zero], axis=1),
            np.stack([zero, one, zero, x, 2 * y], axis=1),
        ]
    )
    wanted = np.concatenate([across, down])
    # Few stickers cannot distinguish a curve from a slope: prefer the plane.
    ridge = np.diag([0.0, 0.0, 1.0, 1.0, 1.0])
    weight = np.ones_like(wanted)
    solution = np.zeros(5)
    for _ in range(5):
        scaled = rows * weight[:, None]
        solution = np.linalg.solve(rows.T @ scaled + ridge, scaled.T @ wanted)
        miss = np.abs(rows @ solution - wanted)
        scale = 1.5 * float(np.median(miss)) + 1e-3
        weight = 1.0 / np.maximum(1.0, miss / scale)
    return np.asarray(solution)


def _focus(frame: Frame, grid: FaceGrid) -> list[Advice]:
    width = edge_width(frame, grid)
    if width <= _BLURRED:
        return []
    text = "the picture is blurred: focus the camera, clean its lens, wait until the cube is still"
    return [Advice(Matter.FOCUS, text, min(1.0, width))]


def edge_width(frame: Frame, grid: FaceGrid) -> float:
    """Return the width of the sharpest borders between stickers, as a share of a sticker.

    This is the ratio of a border's step to its steepest slope. A blur of a tenth of a sticker
    begins to mix the colours of neighbours.
    """
    side = max(8, min(96, round(grid.pitch)))
    flat = _straighten(frame, grid, side).astype(np.float64)
    widths = [*_widths(flat, grid.size, side), *_widths(flat.transpose(1, 0, 2), grid.size, side)]
    return float(np.quantile(widths, 0.25)) if widths else 1.0


def _widths(flat: Floats, size: int, side: int) -> list[float]:
    """Return widths of the borders that cross the middles of rows, as shares of a sticker."""
    widths = []
    for row in range(size):
        middle = int((row + 0.5) * side)
        band = flat[middle - side // 8 : middle + side // 8 + 1].mean(axis=0)
        for column in range(1, size):
            place = column * side
            profile = band[place - side // 2 : place + side // 2]
            slope = np.abs(np.diff(profile, axis=0))
            rise = profile.max(axis=0) - profile.min(axis=0)
            channel = int(rise.argmax())
            if rise[channel] > 40:
                widths.append(float(rise[channel] / slope[:, channel].max()) / side)
    return widths
