"""What the header of an image file says, read before anything is decoded.

A decoder believes the header: it takes gigabytes for a small file that announces a huge picture,
fills up what a cut file lacks, and guesses at colour encodings. So the header is read first.
Formats: PNG (ISO 15948), JPEG (ITU-T T.81), BMP (BITMAPINFOHEADER), WebP (RFC 9649).
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass

PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"


class BadHeader(ValueError):
    """A file that is none of the formats read here, or breaks off; ``str()`` says which."""


@dataclass(frozen=True)
class PhotoHeader:
    """``kind`` of file, ``width`` x ``height`` pixels, ``bits`` per channel, colour ``model``
    (``rgb``, ``grey`` or ``cmyk``).
    """

    kind: str
    width: int
    height: int
    bits: int
    model: str


def read_header(data: bytes) -> PhotoHeader:
    """The header of an image file; raises :class:`BadHeader` if it is unknown or incomplete."""
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
        raise BadHeader("the file is truncated") from error
    raise BadHeader("not a PNG, JPEG, WebP or BMP file" if data else "the file is empty")


def _png(data: bytes) -> PhotoHeader:
    width, height, bits, colour_type = struct.unpack_from(">IIBB", data, 16)
    if data[12:16] != b"IHDR":
        raise BadHeader("a PNG file without its header")
    _check_png_chunks(data)
    return PhotoHeader("PNG", width, height, bits, "rgb" if colour_type in (2, 3, 6) else "grey")


def _check_png_chunks(data: bytes) -> None:
    """Every chunk whole and with the right checksum, up to the end mark."""
    view = memoryview(data)
    place = len(PNG_SIGNATURE)
    while True:
        length, name = struct.unpack_from(">I4s", data, place)
        (checksum,) = struct.unpack_from(">I", data, place + 8 + length)
        if zlib.crc32(view[place + 4 : place + 8 + length]) != checksum:
            raise BadHeader("the file is damaged (a checksum in it is wrong)")
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
            raise BadHeader("the file is damaged (a JPEG marker is missing)")
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
    if header is None or data.find(b"\xff\xd9", place) < 0:
        raise BadHeader("the file is truncated")
    return header


def _bmp(data: bytes) -> PhotoHeader:
    start, _, width, height, _, bits = struct.unpack_from("<IIiiHH", data, 10)
    row = (abs(width) * bits + 31) // 32 * 4
    (compression,) = struct.unpack_from("<I", data, 30)
    if compression == 0 and len(data) < start + row * abs(height):
        raise BadHeader("the file is truncated")
    return PhotoHeader("BMP", abs(width), abs(height), 8, "rgb" if bits >= 16 else "grey")


def _webp(data: bytes) -> PhotoHeader:
    (length,) = struct.unpack_from("<I", data, 4)
    if len(data) < length + 8:
        raise BadHeader("the file is truncated")
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
    raise BadHeader("an unknown kind of WebP file")
