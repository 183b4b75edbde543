"""Photographs as files: headers, and refusals of files that are no usable photographs."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solver.files import BadFile
from tests.rig.cameras import scene
from vision.cameras.photographs import (
    PhotoHeader,
    decode_photo,
    face_files,
    load_photo,
    read_header,
)

IMAGE = scene(0.8)


def encoded(suffix: str, image: np.ndarray = IMAGE, *options: int) -> bytes:
    bgr = image[..., ::-1] if image.ndim == 3 else image
    return bytes(cv2.imencode(suffix, np.ascontiguousarray(bgr), list(options))[1])


def png_announcing(width: int, height: int) -> bytes:
    """A small whole PNG file whose header promises a picture of any size."""

    def chunk(name: bytes, body: bytes) -> bytes:
        return (
            struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
        )

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    rows = zlib.compress(bytes(1000))
    chunks = chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + chunks


def cmyk_jpeg() -> bytes:
    """A JPEG whose frame header says four channels; nothing behind it is ever decoded."""
    data = bytearray(encoded(".jpg"))
    place = data.index(b"\xff\xc0")
    data[place + 9] = 4
    return bytes(data)


@pytest.mark.parametrize("suffix", [".png", ".jpg", ".bmp", ".webp"])
def test_of_large_pictures_half_or_a_quarter_is_enough(suffix: str) -> None:
    height, width = IMAGE.shape[:2]
    side = min(height, width)
    for enough, part in ((side, 1), (side // 2 + 1, 1), (side // 2, 2), (side // 4, 4), (1, 4)):
        picture = decode_photo(encoded(suffix), "x", enough)
        assert picture.shape == (height // part, width // part, 3)
        small = cv2.resize(IMAGE, picture.shape[1::-1], interpolation=cv2.INTER_AREA)
        assert np.abs(picture.astype(int) - small.astype(int)).mean() < 8


GREY = np.repeat(IMAGE.mean(axis=2).astype(np.uint8)[..., None], 3, axis=2)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "empty"),
        (b"U is blue, mostly", "not a PNG, JPEG"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "not a PNG, JPEG"),
        (encoded(".png", IMAGE[:1, :1]), "1 x 1 pixels are too few"),
        (encoded(".png", IMAGE[..., 0]), "grey"),
        (encoded(".jpg", IMAGE[..., 0]), "grey"),
        (encoded(".png", GREY), "no colour"),
        (encoded(".png", IMAGE.astype(np.uint16) * 257), "16 bits"),
        (png_announcing(100_000, 100_000), "too many"),
        (png_announcing(30_000, 16), "too many"),
        (png_announcing(8_000, 5_001), "too many; shrink it below 40 megapixels"),
        (cmyk_jpeg(), "CMYK"),
        (encoded(".png")[:-20], "is truncated"),
        (encoded(".jpg")[:700], "is truncated"),
        (encoded(".bmp")[:-20], "is truncated"),
        (encoded(".webp")[:-20], "is truncated"),
        (encoded(".png").replace(b"IDAT", b"IDBT"), "damaged"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_refusals_name_file_and_reason(data: bytes, reason: str) -> None:
    with pytest.raises(BadFile, match=reason) as refusal:
        decode_photo(data, "folder/U.png")
    assert "folder/U.png" in str(refusal.value)


@settings(max_examples=150)
@given(
    suffix=st.sampled_from([".png", ".jpg", ".bmp", ".webp"]),
    cut=st.integers(0, 4000),
    changes=st.lists(st.tuples(st.integers(0, 4000), st.integers(0, 255)), max_size=6),
)
def test_damage_is_refused_or_survived(
    suffix: str, cut: int, changes: list[tuple[int, int]]
) -> None:
    data = bytearray(encoded(suffix))[: cut or None]
    for place, value in changes:
        if place < len(data):
            data[place] = value
    try:
        picture = decode_photo(bytes(data), "x")
    except BadFile:
        return
    assert picture.dtype == np.uint8
    assert picture.ndim == 3


def test_faces_are_found_by_name_whatever_the_capitals(tmp_path: Path) -> None:
    for name in ("u.PNG", "R.png", "F.png", "D.png", "L.png", "b.png", "notes.txt", "UF.png"):
        (tmp_path / name).write_bytes(encoded(".png"))
    assert [path.name for path in face_files(tmp_path).values()] == [
        *("u.PNG", "R.png", "F.png", "D.png", "L.png", "b.png")
    ]


def test_missing_and_double_faces_are_named(tmp_path: Path) -> None:
    for name in ("U.png", "R.png", "R.jpg", "F.png"):
        (tmp_path / name).write_bytes(encoded(".png"))
    with pytest.raises(BadFile, match=r"face R has two photographs, R\.jpg and R\.png"):
        face_files(tmp_path)
    (tmp_path / "R.jpg").unlink()
    with pytest.raises(BadFile, match=r"no photograph D\.\* L\.\* B\.\*"):
        face_files(tmp_path)
    with pytest.raises(BadFile, match="no such folder"):
        face_files(tmp_path / "none")


def test_a_telephone_s_own_format_is_named_as_the_reason(tmp_path: Path) -> None:
    for name in ("U.png", "R.heic", "F.png", "D.HEIC", "L.png", "B.png"):
        (tmp_path / name).write_bytes(encoded(".png"))
    with pytest.raises(BadFile, match=r"D\.HEIC, R\.heic cannot be read: save as JPEG"):
        face_files(tmp_path)
    (tmp_path / "U.jpg").write_bytes(b"\0\0\0\x18ftypheic" + bytes(40))
    with pytest.raises(BadFile, match="HEIC"):
        load_photo(tmp_path / "U.jpg")


def test_unreadable_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadFile, match="cannot be read"):
        load_photo(tmp_path)


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
    with pytest.raises(BadFile, match=reason):
        read_header(data)
