"""A picture that shows how a cube was read, for a person to check at a glance.

The photographs and the grids found in them are at the top. Below them is the unfolded cube: each
sticker has its measured colour inside the colour decided for it. Beside it every sticker is a point
in a plane of hues, with one cluster per colour. Doubtful stickers are ringed everywhere. Colours
have their usual letters: W white, Y yellow, R red, O orange, G green, B blue. If the cube has other
colours, each has the letter of the face whose centre has it, and a legend in the picture says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import cv2
import numpy as np
from numpy.typing import ArrayLike, NDArray

from vision.decide.schemes import NAMES, recognise_colours
from vision.frame import Bools, Floats, Ints
from vision.measure.colour_space import LightFeatures
from vision.measure.sticker_colours import FACES, StickerColours, linear_to_srgb

if TYPE_CHECKING:
    from vision.decide.reader import CubeReading, Unreadable
    from vision.locate.six_faces import CubeScan

Colour = tuple[int, int, int]
Point = tuple[float, float]

DETAIL = 2
"""Pixels per unit while drawing."""

_FONT = cv2.FONT_HERSHEY_DUPLEX
_SHIFT = 4
"""Fractional bits of the coordinates handed to OpenCV."""


class Canvas:
    """An RGB picture of ``width`` x ``height`` units; coordinates in units, y down."""

    def __init__(self, width: int, height: int, background: Colour) -> None:
        self._pixels = np.empty((height * DETAIL, width * DETAIL, 3), dtype=np.uint8)
        self._pixels[0] = background
        self._pixels[1:] = self._pixels[0]  # whole rows: ten times as fast as pixels

    def picture(self) -> NDArray[np.uint8]:
        """Return the picture, uint8[height, width, 3]."""
        height, width = self._pixels.shape[:2]
        size = (width // DETAIL, height // DETAIL)
        small = cv2.resize(self._pixels, size, interpolation=cv2.INTER_AREA)
        return np.asarray(small, dtype=np.uint8)

    def box(self, at: Point, size: Point, colour: Colour, radius: float = 0.0) -> None:
        """Draw a filled rectangle with round corners and its top left at ``at``."""
        (x, y), (w, h) = at, size
        outline = _round_corners(x, y, w, h, min(radius, w / 2, h / 2))
        cv2.fillPoly(self._pixels, [_to_fixed_point(outline)], colour, cv2.LINE_AA, _SHIFT)

    def frame(
        self, at: Point, size: Point, colour: Colour, thickness: float, radius: float = 0.0
    ) -> None:
        """Draw the border of a rectangle with round corners."""
        (x, y), (w, h) = at, size
        self.outline(_round_corners(x, y, w, h, min(radius, w / 2, h / 2)), colour, thickness)

    def outline(self, points: ArrayLike, colour: Colour, thickness: float) -> None:
        """Draw a closed line through ``points`` float[n, 2]."""
        fixed = _to_fixed_point(np.asarray(points, dtype=np.float64))
        width = _pixels(thickness)
        cv2.polylines(self._pixels, [fixed], True, colour, width, cv2.LINE_AA, _SHIFT)

    def line(self, start: Point, end: Point, colour: Colour, thickness: float) -> None:
        """Draw a straight line."""
        points = _to_fixed_point(np.array([start, end]))
        width = _pixels(thickness)
        cv2.polylines(self._pixels, [points], False, colour, width, cv2.LINE_AA, _SHIFT)

    def dot(self, at: Point, radius: float, colour: Colour) -> None:
        """Draw a filled circle."""
        x, y = _to_fixed_point(np.array([at]))[0]
        reach = round(radius * DETAIL * (1 << _SHIFT))
        cv2.circle(self._pixels, (int(x), int(y)), reach, colour, -1, cv2.LINE_AA, _SHIFT)

    def text(
        self, at: Point, words: str, colour: Colour, height: float, bold: bool = False
    ) -> float:
        """Draw text with its baseline at ``at`` and capitals ``height`` high. Return its width."""
        scale, width = _font(height, bold)
        place = (round(at[0] * DETAIL), round(at[1] * DETAIL))
        cv2.putText(self._pixels, words, place, _FONT, scale, colour, width, cv2.LINE_AA)
        return text_width(words, height, bold)

    def paste(self, at: Point, size: Point, image: NDArray[np.uint8]) -> None:
        """Draw a picture uint8[h, w, 3], scaled to ``size``."""
        x, y = (round(value * DETAIL) for value in at)
        w, h = (round(value * DETAIL) for value in size)
        shrinks = image.shape[1] > w
        way = cv2.INTER_AREA if shrinks else cv2.INTER_LINEAR
        self._pixels[y : y + h, x : x + w] = cv2.resize(image, (w, h), interpolation=way)


def text_width(words: str, height: float, bold: bool = False) -> float:
    """Return the width of a line of text."""
    scale, width = _font(height, bold)
    return float(cv2.getTextSize(words, _FONT, scale, width)[0][0]) / DETAIL


def wrap_words(words: str, height: float, room: float) -> list[str]:
    """Return ``words`` broken into lines at most ``room`` wide."""
    lines = [""]
    for word in words.split():
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and text_width(longer, height) > room:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines


def png(picture: NDArray[np.uint8]) -> bytes:
    """Return an RGB picture uint8[h, w, 3] as the bytes of a PNG file."""
    _, data = cv2.imencode(".png", picture[..., ::-1])
    return data.tobytes()


def _font(height: float, bold: bool) -> tuple[float, int]:
    """Return scale and stroke for capitals of ``height``; Hershey's are 21 high at scale 1."""
    scale = height * DETAIL / 21.0
    return scale, max(1, round(scale * (1.9 if bold else 1.2)))


def _pixels(thickness: float) -> int:
    return max(1, round(thickness * DETAIL))


def _to_fixed_point(points: Floats) -> NDArray[np.int32]:
    return np.asarray(np.round(points * DETAIL * (1 << _SHIFT)), dtype=np.int32)


def _round_corners(x: float, y: float, w: float, h: float, radius: float) -> Floats:
    """Return the outline of a rectangle with round corners."""
    if radius <= 0:
        return np.array([(x, y), (x + w, y), (x + w, y + h), (x, y + h)], dtype=np.float64)
    quarter = np.linspace(0, np.pi / 2, 9)
    left, right, top, bottom = x + radius, x + w - radius, y + radius, y + h - radius
    middles = ((right, bottom), (left, bottom), (left, top), (right, top))
    arcs = [
        np.stack([cx + radius * np.cos(quarter + a), cy + radius * np.sin(quarter + a)], axis=1)
        for (cx, cy), a in zip(middles, np.arange(4) * np.pi / 2, strict=True)
    ]
    return np.concatenate(arcs)


_WIDTH = 1560
_MARGIN = 36
_GAP = 16
"""Drawing dimensions in units, large enough to see stickers in six photographs side by side."""

_BACKGROUND = (24, 26, 31)
_PANEL = (34, 37, 44)
_BODY = (13, 14, 17)
_FAINT = (70, 75, 86)
_QUIET = (150, 156, 168)
_BRIGHT = (236, 239, 244)
_GOOD = (126, 211, 138)
_UNSURE = (247, 201, 86)
_BAD = (248, 113, 113)
_DOUBT = (255, 64, 200)
"""Colours of a dark drawing. No sticker has the pink of ``_DOUBT``."""

_PHOTO = ((_WIDTH - 2 * _MARGIN - 5 * _GAP) / 6, 180.0)
_PLACES = {"U": (0, 1), "L": (1, 0), "F": (1, 1), "R": (1, 2), "B": (1, 3), "D": (2, 1)}
"""Row and column of the faces in the unfolded cube."""


@dataclass(frozen=True, eq=False)
class _Stickers:
    """The stickers to draw: colours float[n, 3] 0..1, letters or None, doubtful flags.

    All are in the order of the facelets; ``order`` int[n] has the number of each in the scan.
    ``names`` maps facelet letters to colour letters. It is empty if the colours are unusual.
    """

    size: int
    order: Ints
    light: Floats
    facelets: str | None
    doubtful: Bools
    seen: Bools
    names: Mapping[str, str]

    def colour_of(self, sticker: int) -> Colour:
        return _colour(self.light[sticker])

    def typical_of(self, letter: str) -> Colour:
        """Return the typical colour of a letter on this cube."""
        mine = np.array([own == letter for own in self.facelets or ""], dtype=np.bool_)
        usable = mine & self.seen
        return _colour(np.median(self.light[usable], axis=0)) if usable.any() else _FAINT


def explain(
    colours: StickerColours,
    outcome: CubeReading | Unreadable,
    scan: CubeScan | None = None,
) -> NDArray[np.uint8]:
    """Draw a reading or refusal, uint8[height, 1560, 3] in RGB.

    ``colours`` are the measured colours; ``scan`` adds the photographs and their grids.
    """
    shown = _stickers_to_draw(colours, outcome)
    # Drawn one after the other: both at once need 19 MB.
    return np.vstack([_upper_part(shown, outcome, scan), _lower_part(shown)])


def _upper_part(
    shown: _Stickers, outcome: CubeReading | Unreadable, scan: CubeScan | None
) -> NDArray[np.uint8]:
    top, photo_height = 148, 232
    height = top if scan is None else top + photo_height
    canvas = Canvas(_WIDTH, height, _BACKGROUND)
    _draw_verdict(canvas, shown.size, outcome)
    if scan is not None:
        _draw_photographs(canvas, top, scan, shown)
    return canvas.picture()


def _lower_part(shown: _Stickers) -> NDArray[np.uint8]:
    canvas = Canvas(_WIDTH, 620, _BACKGROUND)
    _draw_net(canvas, _MARGIN, 0.0, shown)
    _draw_clusters(canvas, 890.0, 0.0, shown)
    return canvas.picture()


def _stickers_to_draw(colours: StickerColours, outcome: CubeReading | Unreadable) -> _Stickers:
    light = np.maximum(colours.linear_rgb.astype(np.float64), 0.0)
    seen = colours.valid
    bright = np.quantile(light[seen].max(axis=1), 0.95) if seen.any() else 1.0
    doubtful = np.zeros(len(light), dtype=np.bool_)
    for name in outcome.doubtful:
        doubtful[FACES.index(name[0]) * colours.size**2 + int(name[1:]) - 1] = True
    order = np.array(getattr(outcome, "order", ()) or range(len(light)), dtype=np.intp)
    light = light[order] * (0.9 / max(bright, 1e-6))
    facelets = getattr(outcome, "facelets", None)
    names = colour_names(colours, order, facelets) if facelets else {}
    return _Stickers(colours.size, order, light, facelets, doubtful, seen[order], names)


def colour_names(colours: StickerColours, order: Ints, facelets: str) -> dict[str, str]:
    """Return the usual name of each letter's colour, or an empty dict if a colour is unusual."""
    features = LightFeatures.from_colours(colours)
    letters = np.array(list(facelets))
    seen = colours.valid[order]
    mine = [features.values[order][(letters == face) & seen] for face in FACES]
    if not all(len(values) for values in mine):
        return {}
    usual = recognise_colours(np.array([np.median(values, axis=0) for values in mine]), features)
    return {} if usual is None else dict(zip(FACES, (NAMES[i] for i in usual), strict=True))


def _colour(light: Floats) -> Colour:
    red, green, blue = linear_to_srgb(light).tolist()
    return red, green, blue


def _draw_verdict(canvas: Canvas, size: int, outcome: CubeReading | Unreadable) -> None:
    """Draw the verdict and up to three lines of details."""
    word, colour, details = _verdict(outcome)
    x = _MARGIN + canvas.text((_MARGIN, 58), f"{size}x{size}x{size}", _BRIGHT, 24, bold=True) + 18
    width = text_width(word, 13, bold=True) + 28
    canvas.box((x, 34), (width, 28), colour, radius=14)
    canvas.text((x + 14, 54.5), word, _BODY, 13, bold=True)
    lines = wrap_words("  |  ".join(details), 12, _WIDTH - 2 * _MARGIN)[:3]
    for number, line in enumerate(lines):
        canvas.text((_MARGIN, 88 + 22 * number), line, _QUIET, 12)


def _verdict(outcome: CubeReading | Unreadable) -> tuple[str, Colour, list[str]]:
    doubtful = ", ".join(outcome.doubtful[:12]) + (" ..." if len(outcome.doubtful) > 12 else "")
    details = [f"doubtful: {doubtful}"] if outcome.doubtful else []
    if outcome.look_again:
        details.append(f"look again at {outcome.look_again}")
    if isinstance(outcome, Exception):
        return "unreadable", _BAD, [str(outcome), *details]
    told = [outcome.reason] if outcome.reason else []
    details = [f"margin {outcome.margin:.1f}", *outcome.corrections, *told, *details]
    if len(outcome.facelets) <= 54:
        details.insert(1, outcome.facelets)
    return ("confident", _GOOD, details) if outcome.confident else ("unsure", _UNSURE, details)


def _draw_photographs(canvas: Canvas, top: float, scan: CubeScan, shown: _Stickers) -> None:
    room = _PHOTO
    for number, face in enumerate(FACES):
        x = _MARGIN + number * (room[0] + _GAP)
        image = scan.frames[face].image
        grid = scan.grids[face]
        scale = min(room[0] / image.shape[1], room[1] / image.shape[0])
        size = (image.shape[1] * scale, image.shape[0] * scale)
        at = (x + (room[0] - size[0]) / 2, top + 24 + (room[1] - size[1]) / 2)
        canvas.text((x, top + 12), face, _BRIGHT, 13, bold=True)
        canvas.text((x + 24, top + 12), f"fit {grid.fit:.2f}", _QUIET, 10)
        canvas.paste(at, size, image)
        quads = grid.quads * scale + np.array(at)
        mine = slice(number * len(quads), (number + 1) * len(quads))
        doubtful = np.isin(np.arange(len(shown.order))[mine], shown.order[shown.doubtful])
        for quad in quads[~doubtful]:
            canvas.outline(quad, _BODY, 2.5)
            canvas.outline(quad, _BRIGHT, 1.0)
        for quad in quads[doubtful]:
            canvas.outline(quad, _DOUBT, 3.0)


def _draw_net(canvas: Canvas, left: float, top: float, shown: _Stickers) -> None:
    face = 190.0
    step = face + 10
    for number, letter in enumerate(FACES):
        row, column = _PLACES[letter]
        at = (left + column * step, top + row * step)
        canvas.box(at, (face, face), _BODY, radius=12)
        _draw_face(canvas, at, face, number, shown)
    canvas.text((left + 2 * step + 8, top + 24), "outside: decided", _QUIET, 11)
    canvas.text((left + 2 * step + 8, top + 44), "inside: measured", _QUIET, 11)
    if shown.facelets:
        legend = "letters: colours" if shown.names else "letters: the face of the centre"
        canvas.text((left + 2 * step + 8, top + 64), legend, _QUIET, 11)
    if shown.doubtful.any():
        canvas.text((left + 2 * step + 8, top + 84), "ringed: doubtful", _DOUBT, 11)


def _draw_face(
    canvas: Canvas, at: tuple[float, float], side: float, number: int, shown: _Stickers
) -> None:
    size = shown.size
    pitch = (side - 12) / size
    gap = max(2.0, pitch * 0.06)
    for cell in range(size * size):
        row, column = divmod(cell, size)
        sticker = number * size * size + cell
        place = (at[0] + 6 + column * pitch + gap / 2, at[1] + 6 + row * pitch + gap / 2)
        _draw_sticker(canvas, place, pitch - gap, sticker, shown)


def _draw_sticker(
    canvas: Canvas, at: tuple[float, float], side: float, sticker: int, shown: _Stickers
) -> None:
    letter = shown.facelets[sticker] if shown.facelets else ""
    outer = shown.typical_of(letter) if letter else shown.colour_of(sticker)
    canvas.box(at, (side, side), outer, radius=side * 0.16)
    inset = side * 0.2
    inner = (at[0] + inset, at[1] + inset)
    if shown.seen[sticker]:
        canvas.box(inner, (side * 0.6, side * 0.6), shown.colour_of(sticker), radius=side * 0.1)
    if letter:
        letter = shown.names.get(letter, letter)
        high = side * 0.2
        width = text_width(letter, high, bold=True)
        base = (at[0] + (side - width) / 2, at[1] + (side + high) / 2)
        canvas.text(base, letter, _ink_for(shown.colour_of(sticker)), high, bold=True)
    if shown.doubtful[sticker]:
        canvas.frame(at, (side, side), _DOUBT, max(2.0, side * 0.07), radius=side * 0.16)


def _ink_for(colour: Colour) -> Colour:
    """Return black or white, whichever is readable on ``colour``."""
    red, green, blue = colour
    return _BODY if 0.3 * red + 0.59 * green + 0.11 * blue > 110 else _BRIGHT


def _draw_clusters(canvas: Canvas, left: float, top: float, shown: _Stickers) -> None:
    """Draw every sticker as a point by its hue, regardless of brightness."""
    width, height = _WIDTH - _MARGIN - left, 590.0
    canvas.box((left, top), (width, height), _PANEL, radius=12)
    canvas.text((left + 22, top + 32), "colours", _BRIGHT, 13, bold=True)
    words = "right: more red, up: more blue, whatever the brightness"
    canvas.text((left + 110, top + 32), words, _QUIET, 11)
    points = _chroma(shown.light[shown.seen])
    inside = (left + 64, top + 104, width - 128, height - 172)
    placed = _fit_into(points, inside)
    base = top + height - 30
    canvas.line((left + 24, base), (left + width - 24, base), _FAINT, 1)
    canvas.line((left + 24, base), (left + 24, top + 56), _FAINT, 1)
    middles = _draw_links(canvas, placed, shown)
    for place, sticker in zip(placed, np.flatnonzero(shown.seen).tolist(), strict=True):
        ring = _DOUBT if shown.doubtful[sticker] else _BODY
        canvas.dot((place[0], place[1]), 8.5 if shown.doubtful[sticker] else 7.5, ring)
        canvas.dot((place[0], place[1]), 6.0, shown.colour_of(sticker))
    for letter, middle in middles.items():
        _draw_tag(canvas, shown.names.get(letter, letter), middle, shown.typical_of(letter))


def _draw_links(canvas: Canvas, placed: Floats, shown: _Stickers) -> dict[str, tuple[float, float]]:
    """Draw lines from each cluster's middle to its stickers. Return the middles by letter."""
    letters = np.array(list(shown.facelets or ""))[shown.seen] if shown.facelets else placed[:0, 0]
    middles = {}
    for letter in np.unique(letters).tolist():
        mine = placed[letters == letter]
        x, y = np.median(mine, axis=0).tolist()
        for place in mine:
            canvas.line((x, y), (place[0], place[1]), shown.typical_of(letter), 1.5)
        middles[str(letter)] = (x, y)
    return middles


def _draw_tag(canvas: Canvas, letter: str, middle: tuple[float, float], colour: Colour) -> None:
    at = (middle[0] - 12, middle[1] - 42)
    canvas.box((at[0] - 2, at[1] - 2), (28, 28), _PANEL, radius=8)
    canvas.box(at, (24, 24), colour, radius=6)
    wide = text_width(letter, 12, bold=True)
    canvas.text((at[0] + (24 - wide) / 2, at[1] + 18), letter, _ink_for(colour), 12, bold=True)


def _chroma(light: Floats) -> Floats:
    """Return log ratios of red and blue to green, float[n, 2], with a floor against noise."""
    logs = np.log2(light + 0.015)
    return np.stack([logs[:, 0] - logs[:, 1], logs[:, 2] - logs[:, 1]], axis=1)


def _fit_into(points: Floats, inside: tuple[float, float, float, float]) -> Floats:
    """Scale points into a rectangle (left, top, width, height), y upwards."""
    if not len(points):
        return points
    low, high = points.min(axis=0), points.max(axis=0)
    unit = (points - low) / np.maximum(high - low, 1e-6)
    left, top, width, height = inside
    return np.stack([left + unit[:, 0] * width, top + (1 - unit[:, 1]) * height], axis=1)
