"""Photographs in files: finding the six faces in a folder, decoding image files, and a camera that
shows the photographs of a folder one after the other.

The header is checked before the picture is decoded.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from solver.errors import root_sentence
from solver.files import BadFile, read_file
from vision.cameras.base import CameraError, CameraTrouble, Clock, monotonic_us
from vision.cameras.registry import CameraFinding
from vision.frame import Frame, Image
from vision.measure.sticker_colours import FACES
from vision.reasons import Reason

_HEIF_BRANDS = (b"heic", b"heix", b"hevc", b"mif1", b"avif")

"""Brands in the file headers that telephones and newer browsers write."""

PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"


@dataclass(frozen=True)
class PhotoHeader:
    """An image file's ``kind``, size in pixels, ``bits`` per channel and colour ``model``
    (``rgb``, ``grey`` or ``cmyk``).
    """

    kind: str
    width: int
    height: int
    bits: int
    model: str


def read_header(data: bytes) -> PhotoHeader:
    """Return the header of an image file. Raise :class:`BadFile` if it is unknown or incomplete."""
    try:
        if data.startswith(PNG_SIGNATURE):
            return _png(data)
        if data.startswith(b"\xff\xd8\xff"):
            return _jpeg(data)
        if data.startswith(b"BM"):
            return _bmp(data)
        if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
            return _webp(data)
    except (struct.error, IndexError) as error:
        raise BadFile("the file is truncated") from error
    if data[4:8] == b"ftyp" and data[8:12] in _HEIF_BRANDS:
        raise BadFile("a HEIC file, which cannot be read: save it as JPEG")
    raise BadFile("not a PNG, JPEG, WebP or BMP file" if data else "the file is empty")


def _png(data: bytes) -> PhotoHeader:
    width, height, bits, colour_type = struct.unpack_from(">IIBB", data, 16)
    if data[12:16] != b"IHDR":
        raise BadFile("a PNG file without its header")
    _check_png_chunks(data)
    return PhotoHeader("PNG", width, height, bits, "rgb" if colour_type in (2, 3, 6) else "grey")


def _check_png_chunks(data: bytes) -> None:
    """Check that every chunk up to the end mark is complete and has the right checksum."""
    view = memoryview(data)
    place = len(PNG_SIGNATURE)
    while True:
        length, name = struct.unpack_from(">I4s", data, place)
        (checksum,) = struct.unpack_from(">I", data, place + 8 + length)
        if zlib.crc32(view[place + 4 : place + 8 + length]) != checksum:
            raise BadFile("the file is damaged (a checksum in it is wrong)")
        if name == b"IEND":
            return
        place += 12 + length


_NO_LENGTH = frozenset([0x01, *range(0xD0, 0xD8)])
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_MODELS = {1: "grey", 3: "rgb", 4: "cmyk"}


def _jpeg(data: bytes) -> PhotoHeader:
    header = None
    place = 2
    while True:
        if data[place] != 0xFF:
            raise BadFile("the file is damaged (a JPEG marker is missing)")
        marker = data[place + 1]
        if marker == 0xFF or marker in _NO_LENGTH:
            place += 1 if marker == 0xFF else 2
            continue
        (length,) = struct.unpack_from(">H", data, place + 2)
        if marker in _FRAMES:
            bits, height, width, channels = struct.unpack_from(">BHHB", data, place + 4)
            header = PhotoHeader("JPEG", width, height, bits, _MODELS.get(channels, "cmyk"))
        place += 2 + length
        if marker == 0xDA:
            break
    # Within coded data FF is always followed by 00 or a restart: FF D9 can only be the end.
    if header is None or data.rfind(b"\xff\xd9") < place:
        raise BadFile("the file is truncated")
    return header


def _bmp(data: bytes) -> PhotoHeader:
    start, _, width, height, _, bits = struct.unpack_from("<IIiiHH", data, 10)
    row = (abs(width) * bits + 31) // 32 * 4
    (compression,) = struct.unpack_from("<I", data, 30)
    if compression == 0 and len(data) < start + row * abs(height):
        raise BadFile("the file is truncated")
    return PhotoHeader("BMP", abs(width), abs(height), 8, "rgb" if bits >= 16 else "grey")


def _webp(data: bytes) -> PhotoHeader:
    (length,) = struct.unpack_from("<I", data, 4)
    if len(data) < length + 8:
        raise BadFile("the file is truncated")
    form = data[12:16]
    if form == b"VP8 ":
        width, height = struct.unpack_from("<HH", data, 26)
        return PhotoHeader("WebP", width & 0x3FFF, height & 0x3FFF, 8, "rgb")
    if form == b"VP8L":
        (packed,) = struct.unpack_from("<I", data, 21)
        return PhotoHeader("WebP", (packed & 0x3FFF) + 1, (packed >> 14 & 0x3FFF) + 1, 8, "rgb")
    if form == b"VP8X":
        width, height = (int.from_bytes(data[k : k + 3], "little") + 1 for k in (24, 27))
        return PhotoHeader("WebP", width, height, 8, "rgb")
    raise BadFile("an unknown kind of WebP file")


SUFFIXES = (".png", ".jpg", ".jpeg", ".webp", ".bmp")
"""Suffixes of the files that are read (case does not matter)."""

MAX_BYTES = 64 * 2**20
MAX_PIXELS = 40_000_000
MAX_SIDE = 16_384
MIN_SIDE = 16

ENOUGH_PIXELS = 1_200
"""Pixels of the shorter side. More than twice as many, as telephones take, only cost time."""

_REDUCED = {1: cv2.IMREAD_COLOR, 2: cv2.IMREAD_REDUCED_COLOR_2, 4: cv2.IMREAD_REDUCED_COLOR_4}

_GREY = 10
"""Difference of the channels below which there is no colour, only compression noise."""


def face_files(folder: Path) -> dict[str, Path]:
    """Return a folder's photographs ``U.*`` .. ``B.*`` by face letter. Raise :class:`BadFile`."""
    if not folder.is_dir():
        raise BadFile(f"{folder}: no such folder; it should hold six photographs U.* R.* ... B.*")
    found: dict[str, Path] = {}
    others: list[Path] = []
    for path in sorted(folder.iterdir()):
        letter = path.stem.upper()
        if len(letter) != 1 or letter not in FACES:
            continue
        if path.suffix.lower() not in SUFFIXES:
            others.append(path)
            continue
        if letter in found:
            raise BadFile(
                f"{folder}: face {letter} has two photographs, {found[letter].name} and "
                f"{path.name}; keep one of them"
            )
        found[letter] = path
    missing = [letter for letter in FACES if letter not in found]
    if missing:
        names = " ".join(f"{letter}.*" for letter in missing)
        unread = [path.name for path in others if path.stem.upper() in missing]
        instead = f"; {', '.join(unread)} cannot be read: save as JPEG" if unread else ""
        kinds = ", ".join(SUFFIXES)
        raise BadFile(f"{folder}: no photograph {names} found ({kinds} are read){instead}")
    return {letter: found[letter] for letter in FACES}


def load_photo(path: Path, enough: int = ENOUGH_PIXELS) -> Image:
    """Return a photograph as uint8[H, W, 3], R G B, turned upright. Raise :class:`BadFile`.

    If the shorter side has at least twice (four times) ``enough`` pixels, the picture is decoded at
    half (a quarter of) its size. For JPEG files this takes a quarter of the time.
    """
    return decode_photo(read_file(path, MAX_BYTES), str(path), enough)


def decode_photo(data: bytes, name: str, enough: int = ENOUGH_PIXELS) -> Image:
    """Return the picture, uint8[H, W, 3], in an image file's bytes; errors mention ``name``.

    Large pictures are reduced to ``enough`` pixels, as by :func:`load_photo`. Raises
    :class:`BadFile` unless the file holds 8-bit colours of a reasonable size.
    """
    try:
        header = read_header(data)
    except BadFile as error:
        raise BadFile(f"{name}: {error}; save the photograph again as PNG or JPEG") from error
    _check_header(header, name)
    try:
        bgr = cv2.imdecode(np.frombuffer(data, dtype=np.uint8), _REDUCED[_part(header, enough)])
    except cv2.error as error:
        raise BadFile(f"{name}: a damaged {header.kind} file; take the photograph again") from error
    if bgr is None:
        raise BadFile(f"{name}: a damaged {header.kind} file; take the photograph again")
    _check_colour(bgr, name)
    return np.asarray(cv2.cvtColor(bgr, cv2.COLOR_BGR2RGB), dtype=np.uint8)


def _part(header: PhotoHeader, enough: int) -> int:
    """Return the largest divisor of the sides (1, 2 or 4) that leaves enough pixels."""
    side = min(header.width, header.height)
    return max(part for part in _REDUCED if part == 1 or side >= part * enough)


def _check_header(header: PhotoHeader, name: str) -> None:
    width, height = header.width, header.height
    if min(width, height) < MIN_SIDE:
        raise BadFile(f"{name}: {width} x {height} pixels are too few to see a cube")
    if width * height > MAX_PIXELS or max(width, height) > MAX_SIDE:
        raise BadFile(
            f"{name}: {width} x {height} pixels are too many; "
            f"shrink it below {MAX_PIXELS // 1_000_000} megapixels"
        )
    if header.model == "grey":
        raise BadFile(f"{name}: a greyscale picture; stickers can only be told apart in colour")
    if header.model == "cmyk":
        raise BadFile(f"{name}: CMYK, meant for printing; save it as RGB (sRGB)")
    if header.bits > 8:
        raise BadFile(
            f"{name}: {header.bits} bits per channel, whose brightness scale is ambiguous; "
            "save it with 8 bits per channel (sRGB)"
        )


def _check_colour(bgr: NDArray[np.uint8] | cv2.typing.MatLike, name: str) -> None:
    step = max(1, min(bgr.shape[:2]) // 256)
    blue, green, red = cv2.split(bgr[::step, ::step])
    widest = max(float(cv2.norm(green, other, cv2.NORM_INF)) for other in (blue, red))
    if widest < _GREY:
        raise BadFile(f"{name}: no colour in the picture; stickers cannot be told apart")


class FolderCamera:
    """Shows the photographs of a folder one after the other; ``settle`` starts over.

    ``U.*`` .. ``B.*`` come first, in that order, then the others in alphabetical order. ``live`` is
    False because no second picture shows the same. The folder is read at ``settle`` or at the first
    picture.
    """

    live = False

    def __init__(self, folder: Path, name: str = "folder", clock: Clock = monotonic_us) -> None:
        self.name = name
        self._folder = folder
        self._clock = clock
        self._files: Sequence[Path] = ()
        self._shown = 0

    def settle(self) -> None:
        """Start over with the first photograph. Raise :class:`CameraError` if there is none."""
        self._files = self._sorted_files()
        self._shown = 0

    def capture(self) -> Frame:
        """Return the next photograph. Raise :class:`CameraError` after the last or if it is bad."""
        self._files = self._files or self._sorted_files()
        if self._shown == len(self._files):
            raise CameraError(
                self.name,
                CameraTrouble.EMPTY,
                f"all {self._shown} photographs of {self._folder} were shown",
            )
        path = self._files[self._shown]
        try:
            image = load_photo(path)
        except BadFile as error:
            raise CameraError(self.name, CameraTrouble.VANISHED, str(error)) from error
        self._shown += 1
        return Frame(image, self.name, self._clock())

    def close(self) -> None:
        """Do nothing: no device is open."""

    def _sorted_files(self) -> Sequence[Path]:
        try:
            files = [p for p in self._folder.iterdir() if p.suffix.lower() in SUFFIXES]
        except OSError as error:
            denied = isinstance(error, PermissionError)
            trouble = CameraTrouble.REFUSED if denied else CameraTrouble.ABSENT
            told = f"the folder {self._folder}: {root_sentence(error)}"
            raise CameraError(self.name, trouble, told) from error
        if not files:
            raise CameraError(self.name, CameraTrouble.EMPTY, f"{self._folder} has no photographs")
        return sorted(files, key=_place)


def _place(path: Path) -> tuple[int, str]:
    stem = path.stem.upper()
    return (FACES.index(stem) if len(stem) == 1 and stem in FACES else len(FACES), path.name)


def open_camera(device: int | str, _resolution: tuple[int, int], name: str) -> FolderCamera:
    """Return a camera that shows the photographs of the folder ``device``."""
    return FolderCamera(Path(str(device)), name)


def check_camera(device: int | str) -> CameraFinding:
    """Check that the folder exists."""
    if not Path(str(device)).is_dir():
        return CameraFinding(
            "bad", Reason.of("no-folder", device=device), Reason.of("correct-profile")
        )
    return CameraFinding("ok", f"folder {device}")
