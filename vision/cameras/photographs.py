"""Photographs in files: finding the six faces in a folder, decoding whatever a file holds."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from solver.errors import CubistError
from solver.files import BadFile, read_file
from vision.cameras.photo_headers import BadHeader, PhotoHeader, read_header
from vision.measure.sticker_colours import FACES

Picture = NDArray[np.uint8]

SUFFIXES = (".png", ".jpg", ".jpeg", ".webp", ".bmp")
"""Kinds of files looked for, by the ends of their names (capitals do not matter)."""

MAX_BYTES = 64 * 2**20
MAX_PIXELS = 40_000_000
MAX_SIDE = 16_384
MIN_SIDE = 16

_GREY = 10
"""Channels that differ by less than this everywhere show no colour, only compression."""


class BadPhoto(CubistError, ValueError):
    """A file that is no photograph we can use: missing, damaged, too small, too large, grey."""


def face_files(folder: Path) -> dict[str, Path]:
    """The photographs ``U.*`` .. ``B.*`` of a folder by face letter; raises :class:`BadPhoto`."""
    if not folder.is_dir():
        raise BadPhoto(f"{folder}: no such folder; it should hold six photographs U.* R.* ... B.*")
    found: dict[str, Path] = {}
    for path in sorted(folder.iterdir()):
        letter = path.stem.upper()
        if len(letter) != 1 or letter not in FACES or path.suffix.lower() not in SUFFIXES:
            continue
        if letter in found:
            raise BadPhoto(
                f"{folder}: face {letter} has two photographs, {found[letter].name} and "
                f"{path.name}; keep one of them"
            )
        found[letter] = path
    missing = [letter for letter in FACES if letter not in found]
    if missing:
        names = " ".join(f"{letter}.*" for letter in missing)
        raise BadPhoto(f"{folder}: no photograph {names} there ({', '.join(SUFFIXES)} are read)")
    return {letter: found[letter] for letter in FACES}


def load_photo(path: Path) -> Picture:
    """A photograph as uint8[H, W, 3], R G B, turned upright; raises :class:`BadPhoto`."""
    try:
        data = read_file(path, MAX_BYTES)
    except BadFile as error:
        raise BadPhoto(str(error)) from error
    return decode_photo(data, str(path))


def decode_photo(data: bytes, name: str) -> Picture:
    """The picture uint8[H, W, 3] in the bytes of an image file; ``name`` is for complaints.

    Raises :class:`BadPhoto` for whatever does not hold 8-bit colours of a reasonable size.
    """
    try:
        header = read_header(data)
    except BadHeader as error:
        raise BadPhoto(f"{name}: {error}; save the photograph again as PNG or JPEG") from error
    _check_header(header, name)
    try:
        bgr = cv2.imdecode(np.frombuffer(data, dtype=np.uint8), cv2.IMREAD_COLOR)
    except cv2.error as error:
        raise BadPhoto(
            f"{name}: a damaged {header.kind} file; take the photograph again"
        ) from error
    if bgr is None:
        raise BadPhoto(f"{name}: a damaged {header.kind} file; take the photograph again")
    _check_colour(bgr, name)
    return np.ascontiguousarray(bgr[:, :, ::-1], dtype=np.uint8)


def _check_header(header: PhotoHeader, name: str) -> None:
    width, height = header.width, header.height
    if min(width, height) < MIN_SIDE:
        raise BadPhoto(f"{name}: {width} x {height} pixels are too few to see a cube")
    if width * height > MAX_PIXELS or max(width, height) > MAX_SIDE:
        raise BadPhoto(
            f"{name}: {width} x {height} pixels are too many; "
            f"shrink it below {MAX_PIXELS // 1_000_000} megapixels"
        )
    if header.model == "grey":
        raise BadPhoto(f"{name}: a grey picture; stickers can only be distinguished in colour")
    if header.model == "cmyk":
        raise BadPhoto(f"{name}: CMYK, meant for printing; save it as RGB (sRGB)")
    if header.bits > 8:
        raise BadPhoto(
            f"{name}: {header.bits} bits per channel, whose brightness scale is ambiguous; "
            "save it with 8 bits per channel (sRGB)"
        )


def _check_colour(bgr: NDArray[np.uint8] | cv2.typing.MatLike, name: str) -> None:
    step = max(1, min(bgr.shape[:2]) // 256)
    blue, green, red = cv2.split(bgr[::step, ::step])
    widest = max(float(cv2.norm(green, other, cv2.NORM_INF)) for other in (blue, red))
    if widest < _GREY:
        raise BadPhoto(f"{name}: no colour in the picture; stickers cannot be distinguished")
