"""Drawing of a view as a picture of a display's size, in colour or in black and white."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

from robot.display.view import Mood, Screenful

COLOURS: dict[Mood, str] = {"good": "#35c46a", "busy": "#4aa3ff", "bad": "#ff5b4d"}
FONTS = tuple(
    Path("/usr/share/fonts", name)
    for name in (
        "opentype/noto/NotoSansCJK-Regular.ttc",
        "truetype/dejavu/DejaVuSans.ttf",
    )
)
"""Fonts of fonts-noto-cjk, the only one with Japanese, and fonts-dejavu-core; else Pillow's own."""

JAPANESE = "ja"
SMALLEST = 8
"""Minimum height of a readable letter, in pixels."""

Font = ImageFont.FreeTypeFont | ImageFont.ImageFont


def has_font_for(language: str) -> bool:
    """Return whether this machine has a font for a language; only Japanese needs a special one."""
    return language != JAPANESE or FONTS[0].exists()


def draw(view: Screenful, size: tuple[int, int], mode: str = "RGB") -> Image.Image:
    """Return the picture, of ``size`` pixels (width, height); mode ``1`` is white on black."""
    width, height = size
    picture = Image.new(mode, size)
    pen = ImageDraw.Draw(picture)
    mono = mode == "1"
    ink = 1 if mono else "white"
    margin = max(1, min(width // 40, height // 16))
    row = max(SMALLEST, height // 8)
    _heading(pen, view, (width, row + 2 * margin), margin, mono=mono)
    top = row + 3 * margin
    if view.large:
        large = _fitting(view.large, width - 2 * margin, height // 3)
        pen.text((width // 2, top), view.large, ink, large, anchor="mt")
        top += height // 3
    bottom = height - margin
    if view.progress is not None:
        bottom -= row // 2
        box = (margin, bottom, width - margin - 1, height - margin - 1)
        pen.rectangle(box, outline=ink)
        done = round((box[2] - box[0]) * view.progress)
        pen.rectangle((*box[:2], box[0] + done, box[3]), fill=ink)
        bottom -= margin
    _lines(pen, view.lines, (margin, top, width - margin, bottom), row, ink)
    _entries(pen, view, (margin, top, width - margin - 1, bottom), ink)
    return picture


def _entries(
    pen: ImageDraw.ImageDraw, view: Screenful, box: tuple[int, int, int, int], ink: int | str
) -> None:
    """Draw a list below the heading; the chosen entry is dark on a light bar.

    If not all entries fit in readable letters, draw those around the chosen one.
    """
    if not view.entries:
        return
    left, top, right, bottom = box
    shown = min(len(view.entries), max(1, (bottom - top) // SMALLEST))
    first = min(max(0, view.chosen - shown // 2), len(view.entries) - shown)
    step = (bottom - top) // shown
    height = max(SMALLEST, step * 3 // 4)
    longest = max(view.entries, key=_font(height).getlength)
    font = _fitting(longest, right - left - 2 * left, height)
    for number, entry in enumerate(view.entries[first : first + shown], first):
        y, is_chosen = top + (number - first) * step, number == view.chosen
        if is_chosen:
            pen.rectangle((left, y, right, y + step - 1), fill=ink)
        colour = ("black" if ink == "white" else 0) if is_chosen else ink
        pen.text((2 * left, y + step // 2), entry, colour, font, anchor="lm")


def _heading(
    pen: ImageDraw.ImageDraw, view: Screenful, size: tuple[int, int], margin: int, *, mono: bool
) -> None:
    width, height = size
    pen.rectangle((0, 0, width, height - 1), fill=1 if mono else COLOURS[view.mood])
    font = _fitting(view.heading, width - 2 * margin, height - 2 * margin)
    pen.text((margin, height // 2), view.heading, 0 if mono else "black", font, anchor="lm")


def _lines(
    pen: ImageDraw.ImageDraw,
    lines: tuple[str, ...],
    box: tuple[int, int, int, int],
    row: int,
    ink: int | str,
) -> None:
    """Draw texts below each other in the largest font in which all fit; cut the rest with dots."""
    left, top, right, bottom = box
    for height in range(row, SMALLEST - 1, -1):
        font = _font(height)
        broken = [part for line in lines for part in _break_line(line, right - left, font)]
        step = height + height // 4
        room = (bottom - top) // step
        if len(broken) <= room:
            break
    if len(broken) > room:
        broken = [*broken[: room - 1], f"{broken[room - 1][:-1]}…"] if room > 0 else []
    for number, part in enumerate(broken):
        pen.text((left, top + number * step), part, ink, font, anchor="lt")


def _break_line(line: str, width: int, font: Font) -> Iterator[str]:
    """Yield the lines of a text, broken between words, or within one that is too long."""
    part = ""
    for word in line.split(" "):
        joined = f"{part} {word}" if part else word
        if font.getlength(joined) <= width:
            part = joined
            continue
        if part:
            yield part
        part = ""
        for letter in word:
            if part and font.getlength(part + letter) > width:
                yield part
                part = ""
            part += letter
    yield part


def _fitting(text: str, width: int, height: int) -> Font:
    """Return the largest font in which a text is no higher than ``height`` and fits ``width``."""
    font = _font(height)
    for smaller in range(height, SMALLEST - 1, -1):
        font = _font(smaller)
        if font.getlength(text) <= width:
            break
    return font


@cache
def _font(height: int) -> Font:
    for path in FONTS:
        with suppress(OSError):  # it is absent, or damaged
            return ImageFont.truetype(str(path), height)
    return ImageFont.load_default(height)
