"""Photographs as files: headers, files that are no usable photographs, cameras of a folder."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path
from unittest.mock import Mock

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solver.files import BadFile
from tests.rig.cameras import scene
from vision.cameras.base import CameraError, CameraTrouble
from vision.cameras.photographs import (
    FolderCamera,
    PhotoHeader,
    decode_photo,
    face_files,
    load_photo,
    read_header,
)

IMAGE = scene(0.8)


def encoded(suffix: str, image: np.ndarray = IMAGE) -> bytes:
    bgr = image[..., ::-1] if image.ndim == 3 else image
    return bytes(cv2.imencode(suffix, np.ascontiguousarray(bgr))[1])


def png(
    width: int, height: int, bits: int = 8, colour: int = 2, first: bytes = b"IHDR", end: int = 0
) -> bytes:
    """Return a PNG file whose header promises a picture. Its last ``end`` bytes are missing."""

    def chunk(name: bytes, body: bytes) -> bytes:
        checksum = zlib.crc32(name + body)
        return struct.pack(">I", len(body)) + name + body + struct.pack(">I", checksum)

    body = struct.pack(">IIBBBBB", width, height, bits, colour, 0, 0, 0)
    chunks = chunk(first, body) + chunk(b"IDAT", b"x") + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + chunks[: len(chunks) - end]


def marker(code: int, body: bytes) -> bytes:
    return bytes([0xFF, code]) + struct.pack(">H", len(body) + 2) + body


def jpeg(frame: int, channels: int, bits: int = 8, before: bytes = b"", end: bytes = b"") -> bytes:
    body = struct.pack(">BHHB", bits, 300, 700, channels) + bytes(3 * channels)
    scan = marker(0xDA, b"scan") + b"coded"
    return b"\xff\xd8" + before + marker(frame, body) + scan + (end or b"\xff\xd9")


def bmp(width: int, height: int, bits: int, data: int, compression: int = 0) -> bytes:
    file = struct.pack("<2sIHHI", b"BM", 54 + data, 0, 0, 54)
    sizes = struct.pack("<IiiHHIIiiII", 40, width, height, 1, bits, compression, *[0] * 5)
    return file + sizes + bytes(data)


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
"""An embedded small picture: neither the frame nor the end."""


@pytest.mark.parametrize(
    ("data", "header"),
    [
        (png(700, 300), ("PNG", 700, 300, 8, "rgb")),
        (png(700, 300, 4, 3), ("PNG", 700, 300, 4, "rgb")),
        (png(700, 300, 16, 6), ("PNG", 700, 300, 16, "rgb")),
        (png(70_000, 3, 8, 0), ("PNG", 70_000, 3, 8, "grey")),
        (png(3, 70_000, 8, 4), ("PNG", 3, 70_000, 8, "grey")),
        *(
            (jpeg(frame, channels), ("JPEG", 700, 300, 8, model))
            for frame in (0xC0, 0xC1, 0xC2, 0xC3, 0xC5, 0xC7, 0xC9, 0xCB, 0xCD, 0xCF)
            for channels, model in ((1, "grey"), (3, "rgb"), (4, "cmyk"), (2, "cmyk"))
        ),
        (jpeg(0xC0, 3, 12), ("JPEG", 700, 300, 12, "rgb")),
        *(
            (jpeg(0xC2, 3, 8, before), ("JPEG", 700, 300, 8, "rgb"))
            for before in (
                THUMBNAIL,
                b"\xff\xff",  # fill bytes before a marker
                *(bytes([0xFF, alone]) for alone in (0x01, 0xD0, 0xD7)),  # nothing follows these
                # Tables: of Huffman codes, of arithmetic coding, and reserved ones.
                *(marker(code, bytes(9)) for code in (0xC4, 0xC8, 0xCC, 0xDB, 0xDD, 0xE0, 0xFE)),
            )
        ),
        # Rows of 24 bits are padded to 4 bytes; negative heights begin at the top.
        (bmp(5, 3, 24, 48), ("BMP", 5, 3, 8, "rgb")),
        (bmp(5, -3, 24, 48), ("BMP", 5, 3, 8, "rgb")),
        (bmp(-5, 3, 32, 60), ("BMP", 5, 3, 8, "rgb")),
        (bmp(5, 3, 16, 36), ("BMP", 5, 3, 8, "rgb")),
        (bmp(5, 3, 8, 24), ("BMP", 5, 3, 8, "grey")),
        (bmp(33, 2, 1, 16), ("BMP", 33, 2, 8, "grey")),
        (bmp(500, 300, 24, 10, compression=1), ("BMP", 500, 300, 8, "rgb")),
        (lossy(0x3FFF, 0x4000 | 48), ("WebP", 0x3FFF, 48, 8, "rgb")),
        (lossy(0xC000 | 640, 0x3FFE), ("WebP", 640, 0x3FFE, 8, "rgb")),
        (lossless(16_384, 48), ("WebP", 16_384, 48, 8, "rgb")),
        (lossless(640, 16_384), ("WebP", 640, 16_384, 8, "rgb")),
        (extended(70_001, 2), ("WebP", 70_001, 2, 8, "rgb")),
        (extended(640, 70_000), ("WebP", 640, 70_000, 8, "rgb")),
    ],
    ids=lambda value: "" if isinstance(value, bytes) else f"{value[0]}-{value[4]}",
)
def test_a_header_says_kind_size_depth_and_model(data, header):
    assert read_header(data) == PhotoHeader(*header)


GREY = np.repeat(IMAGE.mean(axis=2).astype(np.uint8)[..., None], 3, axis=2)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "the file is empty"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "not a PNG, JPEG, WebP or BMP file"),
        (b"RIFF\x20\x00\x00\x00WAVE" + bytes(40), "not a PNG, JPEG, WebP or BMP file"),
        (b"XXXX\x20\x00\x00\x00WEBP" + bytes(40), "not a PNG, JPEG, WebP or BMP file"),
        (webp(b"VP9 ", bytes(20)), "an unknown kind of WebP file"),
        (png(70, 30, first=b"IHDX"), "a PNG file without its header"),
        (b"\xff\xd8" + marker(0xE0, bytes(9)) + b"\x00\xc0", "a JPEG marker is missing"),
        (png(70, 30, end=4), "is truncated"),
        (b"\xff\xd8" + marker(0xDA, b"scan") + b"\xff\xd9", "is truncated"),
        (jpeg(0xC0, 3, 8, THUMBNAIL, b"\xff"), "is truncated"),
        (bmp(5, 3, 24, 47), "is truncated"),
        (bmp(5, -3, 24, 47), "is truncated"),
        (bmp(33, 2, 1, 15), "is truncated"),
        (lossy(640, 480)[:-1], "is truncated"),
        (png(70, 30).replace(b"x", b"y"), r"is damaged \(a checksum in it is wrong"),
        (png(70, 30), "a damaged PNG file"),
        (png(1, 1), "1 x 1 pixels are too few"),
        (png(30_000, 16), "too many"),
        (png(8_000, 5_001), "too many; shrink it below 40 megapixels"),
        (png(70, 30, colour=0), "grey"),
        (jpeg(0xC0, 1), "grey"),
        (encoded(".png", GREY), "no colour"),
        (png(70, 30, bits=16), "16 bits"),
        (jpeg(0xC0, 4), "CMYK"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_refusals_name_file_and_reason(data, reason):
    with pytest.raises(BadFile, match=reason) as refusal:
        decode_photo(data, "folder/U.png")
    assert "folder/U.png" in str(refusal.value)


@pytest.mark.parametrize("suffix", [".png", ".jpg", ".bmp", ".webp"])
def test_of_large_pictures_half_or_a_quarter_is_enough(suffix):
    height, width = IMAGE.shape[:2]
    side = min(height, width)
    for enough, part in ((side, 1), (side // 2 + 1, 1), (side // 2, 2), (side // 4, 4), (1, 4)):
        picture = decode_photo(encoded(suffix), "x", enough)
        assert picture.shape == (height // part, width // part, 3)
        small = cv2.resize(IMAGE, picture.shape[1::-1], interpolation=cv2.INTER_AREA)
        assert np.abs(picture.astype(int) - small.astype(int)).mean() < 8


@settings(max_examples=150)
@given(
    suffix=st.sampled_from([".png", ".jpg", ".bmp", ".webp"]),
    cut=st.integers(0, 4000),
    changes=st.lists(st.tuples(st.integers(0, 4000), st.integers(0, 255)), max_size=6),
)
def test_damage_is_refused_or_survived(suffix, cut, changes):
    data = bytearray(encoded(suffix))[: cut or None]
    for place, value in changes:
        if place < len(data):
            data[place] = value
    try:
        picture = decode_photo(bytes(data), "x")
    except BadFile:
        return
    assert (picture.dtype, picture.ndim) == (np.uint8, 3)


@pytest.mark.parametrize(
    ("names", "told"),
    [
        ("u.PNG R.jpg F.png D.webp L.bmp b.jpeg notes.txt UF.png", None),
        ("U.png R.png R.jpg F.png", r"face R has two photographs, R\.jpg and R\.png"),
        ("U.png R.png F.png", r"no photograph D\.\* L\.\* B\.\*"),
        ("U.png R.heic F.png D.HEIC L.png B.png", r"D\.HEIC, R\.heic cannot be read: save as JPEG"),
    ],
)
def test_faces_are_found_by_name_and_what_is_missing_is_told(tmp_path, names, told):
    for name in names.split():
        (tmp_path / name).touch()
    if told is None:
        assert [path.name for path in face_files(tmp_path).values()] == names.split()[:6]
        return
    with pytest.raises(BadFile, match=told):
        face_files(tmp_path)


def test_what_is_no_file_or_a_telephone_s_own_is_refused(tmp_path):
    (tmp_path / "U.jpg").write_bytes(b"\0\0\0\x18ftypheic" + bytes(40))
    for path, told in ((tmp_path / "U.jpg", "HEIC"), (tmp_path, "cannot be read")):
        with pytest.raises(BadFile, match=told):
            load_photo(path)
    with pytest.raises(BadFile, match="no such folder"):
        face_files(tmp_path / "none")


def test_a_camera_of_a_folder_shows_faces_in_their_order_and_again_after_settling(tmp_path):
    camera = FolderCamera(tmp_path, clock=lambda: 7)
    with pytest.raises(CameraError, match="no photographs"):
        camera.capture()
    for number, face in enumerate("BDFLRU"):
        (tmp_path / f"{face}.png").write_bytes(encoded(".png", scene(0.5 + 0.1 * number)))
    levels = [camera.capture().image.mean() for _ in range(6)]
    assert np.argsort(levels).tolist() == [5, 3, 2, 4, 1, 0]
    with pytest.raises(CameraError, match="all 6 photographs") as fault:
        camera.capture()
    assert fault.value.trouble is CameraTrouble.EMPTY
    camera.settle()
    assert camera.capture().image.mean() == levels[0]
    (tmp_path / "R.png").write_bytes(encoded(".png")[:-16])
    with pytest.raises(CameraError, match="truncated") as fault:
        camera.capture()
    assert fault.value.trouble is CameraTrouble.VANISHED


@pytest.mark.parametrize(
    ("error", "trouble"),
    [(PermissionError, CameraTrouble.REFUSED), (FileNotFoundError, CameraTrouble.ABSENT)],
)
def test_a_folder_that_cannot_be_read_is_refused_or_absent(error, trouble, tmp_path, monkeypatch):
    monkeypatch.setattr(Path, "iterdir", Mock(side_effect=error))
    with pytest.raises(CameraError) as fault:
        FolderCamera(tmp_path).settle()
    assert fault.value.trouble is trouble
