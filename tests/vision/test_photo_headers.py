"""What the first bytes of a photograph say, down to the last bit, and which sizes are refused."""

from __future__ import annotations

import struct
import zlib

import cv2
import numpy as np
import pytest

from vision.cameras.photographs import (
    MAX_PIXELS,
    BadHeader,
    BadPhoto,
    PhotoHeader,
    _check_header,
    decode_photo,
    read_header,
)


def png(width: int, height: int, bits: int, colour: int, first: bytes = b"IHDR") -> bytes:
    def chunk(name: bytes, body: bytes) -> bytes:
        checksum = zlib.crc32(name + body)
        return struct.pack(">I", len(body)) + name + body + struct.pack(">I", checksum)

    body = struct.pack(">IIBBBBB", width, height, bits, colour, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(first, body) + chunk(b"IDAT", b"x") + chunk(b"IEND", b"")


def marker(code: int, body: bytes) -> bytes:
    return bytes([0xFF, code]) + struct.pack(">H", len(body) + 2) + body


def jpeg(frame: int, channels: int, bits: int = 8, before: bytes = b"", end: bytes = b"") -> bytes:
    body = struct.pack(">BHHB", bits, 300, 700, channels) + bytes(3 * channels)
    scan = marker(0xDA, b"scan") + b"coded"
    return b"\xff\xd8" + before + marker(frame, body) + scan + (end or b"\xff\xd9")


def bmp(width: int, height: int, bits: int, data: int, compression: int = 0) -> bytes:
    file = struct.pack("<2sIHHI", b"BM", 54 + data, 0, 0, 54)
    return (
        file
        + struct.pack("<IiiHHIIiiII", 40, width, height, 1, bits, compression, *[0] * 5)
        + (bytes(data))
    )


def webp(form: bytes, body: bytes) -> bytes:
    chunk = form + struct.pack("<I", len(body)) + body
    return b"RIFF" + struct.pack("<I", len(chunk) + 4) + b"WEBP" + chunk


def lossy(width: int, height: int) -> bytes:
    return webp(b"VP8 ", b"\x30\x01\x00\x9d\x01\x2a" + struct.pack("<HH", width, height))


def lossless(width: int, height: int) -> bytes:
    packed = (width - 1) | (height - 1) << 14 | 1 << 28
    return webp(b"VP8L", b"\x2f" + struct.pack("<I", packed))


def extended(width: int, height: int) -> bytes:
    sides = (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    return webp(b"VP8X", bytes(4) + sides)


THUMBNAIL = marker(0xE1, b"\xff\xc0\x00\x11\x08\x00\x01\x00\x01\x03" + bytes(9) + b"\xff\xd9")
"""A small picture inside: not the frame, and not the end."""


@pytest.mark.parametrize(
    ("data", "header"),
    [
        (png(700, 300, 8, 2), PhotoHeader("PNG", 700, 300, 8, "rgb")),
        (png(700, 300, 4, 3), PhotoHeader("PNG", 700, 300, 4, "rgb")),
        (png(700, 300, 16, 6), PhotoHeader("PNG", 700, 300, 16, "rgb")),
        (png(70_000, 3, 8, 0), PhotoHeader("PNG", 70_000, 3, 8, "grey")),
        (png(3, 70_000, 8, 4), PhotoHeader("PNG", 3, 70_000, 8, "grey")),
        *(
            (jpeg(frame, channels), PhotoHeader("JPEG", 700, 300, 8, model))
            for frame in (0xC0, 0xC1, 0xC2, 0xC3, 0xC5, 0xC7, 0xC9, 0xCB, 0xCD, 0xCF)
            for channels, model in ((1, "grey"), (3, "rgb"), (4, "cmyk"), (2, "cmyk"))
        ),
        (jpeg(0xC0, 3, 12), PhotoHeader("JPEG", 700, 300, 12, "rgb")),
        (jpeg(0xC0, 3, 8, THUMBNAIL), PhotoHeader("JPEG", 700, 300, 8, "rgb")),
        # Filled up before a marker; markers that nothing follows.
        (jpeg(0xC0, 3, 8, b"\xff\xff"), PhotoHeader("JPEG", 700, 300, 8, "rgb")),
        *(
            (jpeg(0xC0, 3, 8, bytes([0xFF, alone])), PhotoHeader("JPEG", 700, 300, 8, "rgb"))
            for alone in (0x01, 0xD0, 0xD7)
        ),
        # Tables between: of Huffman codes, of arithmetic coding, what is reserved.
        *(
            (jpeg(0xC2, 3, 8, marker(code, bytes(9))), PhotoHeader("JPEG", 700, 300, 8, "rgb"))
            for code in (0xC4, 0xC8, 0xCC, 0xDB, 0xDD, 0xE0, 0xFE)
        ),
        # Rows of 24 bits are filled up to 4 bytes; negative heights begin at the top.
        (bmp(5, 3, 24, 48), PhotoHeader("BMP", 5, 3, 8, "rgb")),
        (bmp(5, -3, 24, 48), PhotoHeader("BMP", 5, 3, 8, "rgb")),
        (bmp(-5, 3, 32, 60), PhotoHeader("BMP", 5, 3, 8, "rgb")),
        (bmp(5, 3, 16, 36), PhotoHeader("BMP", 5, 3, 8, "rgb")),
        (bmp(5, 3, 8, 24), PhotoHeader("BMP", 5, 3, 8, "grey")),
        (bmp(33, 2, 1, 16), PhotoHeader("BMP", 33, 2, 8, "grey")),
        (bmp(500, 300, 24, 10, compression=1), PhotoHeader("BMP", 500, 300, 8, "rgb")),
        (lossy(0x3FFF, 0x4000 | 48), PhotoHeader("WebP", 0x3FFF, 48, 8, "rgb")),
        (lossy(0xC000 | 640, 0x3FFE), PhotoHeader("WebP", 640, 0x3FFE, 8, "rgb")),
        (lossless(16_384, 48), PhotoHeader("WebP", 16_384, 48, 8, "rgb")),
        (lossless(640, 16_384), PhotoHeader("WebP", 640, 16_384, 8, "rgb")),
        (extended(70_001, 2), PhotoHeader("WebP", 70_001, 2, 8, "rgb")),
        (extended(640, 70_000), PhotoHeader("WebP", 640, 70_000, 8, "rgb")),
    ],
    ids=lambda value: "" if isinstance(value, bytes) else f"{value.kind}-{value.model}",
)
def test_a_header_says_kind_size_depth_and_model(data: bytes, header: PhotoHeader) -> None:
    assert read_header(data) == header


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "the file is empty"),
        (b"BX", "not a PNG, JPEG, WebP or BMP file"),
        (b"RIFF\x20\x00\x00\x00WAVE" + bytes(40), "not a PNG, JPEG, WebP or BMP file"),
        (b"XXXX\x20\x00\x00\x00WEBP" + bytes(40), "not a PNG, JPEG, WebP or BMP file"),
        (png(70, 30, 8, 2, first=b"IHDX"), "a PNG file without its header"),
        (png(70, 30, 8, 2)[:-4], "the file is truncated"),
        (png(70, 30, 8, 2).replace(b"x", b"y"), r"the file is damaged \(a checksum in it is wrong"),
        (b"\xff\xd8" + marker(0xE0, bytes(9)) + b"\x00\xc0", "a JPEG marker is missing"),
        (b"\xff\xd8" + marker(0xDA, b"scan") + b"\xff\xd9", "the file is truncated"),
        (jpeg(0xC0, 3, 8, THUMBNAIL, b"\xff"), "the file is truncated"),
        (bmp(5, 3, 24, 47), "the file is truncated"),
        (bmp(5, -3, 24, 47), "the file is truncated"),
        (bmp(33, 2, 1, 15), "the file is truncated"),
        (lossy(640, 480)[:-1], "the file is truncated"),
        (webp(b"VP9 ", bytes(20)), "an unknown kind of WebP file"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_file_that_is_none_says_so(data: bytes, reason: str) -> None:
    with pytest.raises(BadHeader, match=reason):
        read_header(data)


@pytest.mark.parametrize(
    ("header", "told"),
    [
        (PhotoHeader("PNG", 16, 16, 8, "rgb"), ""),
        (PhotoHeader("PNG", 15, 400, 8, "rgb"), "15 x 400 pixels are too few to see a cube"),
        (PhotoHeader("PNG", 400, 15, 8, "rgb"), "400 x 15 pixels are too few to see a cube"),
        (PhotoHeader("PNG", 8_000, MAX_PIXELS // 8_000, 8, "rgb"), ""),
        (PhotoHeader("PNG", 8_000, MAX_PIXELS // 8_000 + 1, 8, "rgb"), "8000 x 5001 pixels are"),
        (PhotoHeader("PNG", 16_384, 16, 8, "rgb"), ""),
        (PhotoHeader("PNG", 16_385, 16, 8, "rgb"), "too many; shrink it below 40 megapixels"),
        (PhotoHeader("PNG", 16, 16_385, 8, "rgb"), "too many; shrink it below 40 megapixels"),
        (PhotoHeader("PNG", 16, 16, 9, "rgb"), "9 bits per channel"),
        (PhotoHeader("PNG", 16, 16, 1, "rgb"), ""),
        (PhotoHeader("PNG", 16, 16, 8, "grey"), "a grey picture"),
        (PhotoHeader("PNG", 16, 16, 8, "cmyk"), "CMYK"),
    ],
)
def test_sizes_and_models_are_refused_from_the_first_that_is_too_much(
    header: PhotoHeader, told: str
) -> None:
    if not told:
        _check_header(header, "U.png")
        return
    with pytest.raises(BadPhoto, match=told) as refusal:
        _check_header(header, "U.png")
    assert str(refusal.value).startswith("U.png: ")


@pytest.mark.parametrize("channel", [0, 2])
@pytest.mark.parametrize("side", [16, 700])
def test_channels_ten_levels_apart_are_colour(channel: int, side: int) -> None:
    """Wherever in the picture, where it is as large as a sticker."""

    def encode(picture: np.ndarray) -> bytes:
        return bytes(cv2.imencode(".png", picture)[1])

    picture = np.full((side, side + 8, 3), 100, np.uint8)
    patch = picture[-side // 8 :, -side // 8 :]
    patch[..., channel] = 109
    with pytest.raises(BadPhoto, match=r"U\.png: no colour in the picture"):
        decode_photo(encode(picture), "U.png")
    patch[..., channel] = 110
    assert (decode_photo(encode(picture), "U.png") == picture[..., ::-1]).all()
    patch[..., channel] = 90
    assert (decode_photo(encode(picture), "U.png") == picture[..., ::-1]).all()
