"""Files that are no usable photographs are refused, each with its reason."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.rig.cameras import scene
from vision.cameras.photographs import BadPhoto, decode_photo, face_files, load_photo, read_header

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
def test_whole_files_of_every_kind_are_read(suffix: str) -> None:
    picture = decode_photo(encoded(suffix), "x")
    assert picture.shape == IMAGE.shape
    assert np.abs(picture.astype(int) - IMAGE.astype(int)).mean() < 6


@pytest.mark.parametrize("suffix", [".png", ".jpg", ".bmp", ".webp"])
def test_of_large_pictures_half_or_a_quarter_is_enough(suffix: str) -> None:
    height, width = IMAGE.shape[:2]
    side = min(height, width)
    for enough, part in ((side, 1), (side // 2 + 1, 1), (side // 2, 2), (side // 4, 4), (1, 4)):
        picture = decode_photo(encoded(suffix), "x", enough)
        assert picture.shape == (height // part, width // part, 3)
        small = cv2.resize(IMAGE, picture.shape[1::-1], interpolation=cv2.INTER_AREA)
        assert np.abs(picture.astype(int) - small.astype(int)).mean() < 8


def test_channels_are_red_green_blue() -> None:
    red, green, blue = decode_photo(encoded(".png"), "x")[24, 32].astype(int)
    assert red > green > blue


def test_header_tells_what_is_in_the_file() -> None:
    for suffix, kind in ((".png", "PNG"), (".jpg", "JPEG"), (".bmp", "BMP"), (".webp", "WebP")):
        header = read_header(encoded(suffix))
        assert (header.kind, header.width, header.height) == (kind, 64, 48)
        assert (header.bits, header.model) == (8, "rgb")


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
    with pytest.raises(BadPhoto, match=reason) as refusal:
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
    except BadPhoto:
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
    with pytest.raises(BadPhoto, match=r"face R has two photographs, R\.jpg and R\.png"):
        face_files(tmp_path)
    (tmp_path / "R.jpg").unlink()
    with pytest.raises(BadPhoto, match=r"no photograph D\.\* L\.\* B\.\*"):
        face_files(tmp_path)
    with pytest.raises(BadPhoto, match="no such folder"):
        face_files(tmp_path / "none")


def test_a_telephone_s_own_format_is_named_as_the_reason(tmp_path: Path) -> None:
    for name in ("U.png", "R.heic", "F.png", "D.HEIC", "L.png", "B.png"):
        (tmp_path / name).write_bytes(encoded(".png"))
    with pytest.raises(BadPhoto, match=r"D\.HEIC, R\.heic cannot be read: save as JPEG"):
        face_files(tmp_path)
    (tmp_path / "U.jpg").write_bytes(b"\0\0\0\x18ftypheic" + bytes(40))
    with pytest.raises(BadPhoto, match="HEIC"):
        load_photo(tmp_path / "U.jpg")


def test_unreadable_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadPhoto, match="cannot be read"):
        load_photo(tmp_path)
