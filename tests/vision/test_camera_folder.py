"""Cameras of photographs in a folder, and pictures that every camera refuses."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
import pytest

from tests.rig.cameras import scene
from vision.cameras.base import CameraError, CameraGuard, CameraTrouble
from vision.cameras.photographs import FolderCamera
from vision.cameras.picamera2 import Picamera2Camera
from vision.cameras.registry import open_camera
from vision.cameras.usb import UsbCamera
from vision.frame import Frame


def save(folder: Path, *names: str) -> None:
    for number, name in enumerate(names):
        image = scene(0.5 + 0.1 * number)
        cv2.imwrite(str(folder / name), image[..., ::-1])


def test_faces_come_in_their_order_then_again_after_settling(tmp_path: Path) -> None:
    save(tmp_path, "B.png", "D.png", "F.png", "L.png", "R.png", "U.png")
    camera = FolderCamera(tmp_path, clock=lambda: 7)
    levels = [camera.capture().image.mean() for _ in range(6)]
    assert np.argsort(levels).tolist() == [5, 3, 2, 4, 1, 0]
    with pytest.raises(CameraError, match="all 6 photographs") as fault:
        camera.capture()
    assert fault.value.trouble is CameraTrouble.EMPTY
    camera.settle()
    assert camera.capture().image.mean() == levels[0]


@pytest.mark.parametrize(
    ("error", "trouble"),
    [
        (FileNotFoundError(2, "No such file or directory"), CameraTrouble.ABSENT),
        (NotADirectoryError(20, "Not a directory"), CameraTrouble.ABSENT),
        (PermissionError(13, "Permission denied"), CameraTrouble.REFUSED),
        (OSError(5, "Input/output error"), CameraTrouble.ABSENT),
    ],
)
def test_a_folder_that_cannot_be_had_is_no_matter_until_it_is_looked_at(
    tmp_path: Path, error: OSError, trouble: CameraTrouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_: Path) -> None:
        raise error

    monkeypatch.setattr(Path, "iterdir", fails)
    camera = FolderCamera(tmp_path)
    for ask in (camera.settle, camera.capture):
        with pytest.raises(CameraError, match=error.strerror) as fault:
            ask()
        assert fault.value.trouble is trouble


def test_an_empty_folder_is_named_and_looked_at_again(tmp_path: Path) -> None:
    camera = FolderCamera(tmp_path)
    with pytest.raises(CameraError, match="no photographs"):
        camera.capture()
    save(tmp_path, "U.png")
    assert camera.capture().image.any()


@pytest.mark.parametrize(
    ("name", "damage", "told"),
    [
        ("U.png", lambda data: data[:-30] + bytes([data[-30] ^ 1]) + data[-29:], "checksum"),
        ("U.png", lambda data: data[:-16], "truncated"),
        ("U.jpg", lambda data: data[:-2], "truncated"),
    ],
)
def test_a_file_that_is_not_whole_is_told(
    tmp_path: Path, name: str, damage: Callable[[bytes], bytes], told: str
) -> None:
    save(tmp_path, name)
    whole = (tmp_path / name).read_bytes()
    assert FolderCamera(tmp_path).capture().image.any()
    (tmp_path / name).write_bytes(damage(whole))
    with pytest.raises(CameraError, match=told):
        FolderCamera(tmp_path).capture()


def test_cameras_are_opened_by_kind(tmp_path: Path) -> None:
    save(tmp_path, "a.png")
    assert isinstance(open_camera("folder", str(tmp_path), (64, 48), "x"), FolderCamera)
    assert isinstance(open_camera("usb", "/dev/video0", (64, 48), "x"), UsbCamera)
    assert isinstance(open_camera("picamera2", 0, (64, 48), "x"), Picamera2Camera)
    with pytest.raises(ValueError, match="no such kind"):
        open_camera("webcam", 0, (64, 48), "x")


NOW_US = 10_000_000
HEIGHT, WIDTH = 80, 200
"""With every fourth pixel of every fourth row looked at: 1000, of which two must be lit."""


def picture(lit: int = 1000, level: int = 11, time_us: int = NOW_US) -> Frame:
    image = np.full((HEIGHT, WIDTH, 3), 10, np.uint8)
    looked_at = image[::4, ::4].reshape(-1, 3)
    looked_at[:lit, 1] = level
    image[::4, ::4] = looked_at.reshape(image[::4, ::4].shape)
    return Frame(image, "top", time_us)


def trouble(guard: CameraGuard, frame: Frame) -> CameraTrouble | None:
    try:
        assert guard.check(frame) is frame
    except CameraError as fault:
        return fault.trouble
    return None


@pytest.fixture
def guard() -> CameraGuard:
    return CameraGuard("top", lambda: NOW_US)


def test_a_picture_may_be_half_a_second_old(guard: CameraGuard) -> None:
    assert trouble(guard, picture(time_us=NOW_US - 500_000)) is None
    assert trouble(guard, picture(time_us=NOW_US - 500_001)) is CameraTrouble.STALE
    assert trouble(CameraGuard("top", lambda: NOW_US, 0), picture(time_us=NOW_US)) is None
    with pytest.raises(CameraError, match=r"2\.5 s old"):
        guard.check(picture(time_us=NOW_US - 2_500_000))


@pytest.mark.parametrize(
    ("lit", "level", "is_black"), [(2, 11, False), (1, 255, True), (9, 10, True)]
)
def test_a_few_lit_pixels_are_a_picture(
    guard: CameraGuard, lit: int, level: int, is_black: bool
) -> None:
    assert (trouble(guard, picture(lit, level)) is CameraTrouble.BLACK) == is_black


def test_the_third_time_the_same_picture_is_frozen(guard: CameraGuard) -> None:
    one, other = picture(level=100), picture(level=101)
    frozen = CameraTrouble.FROZEN
    assert [trouble(guard, one) for _ in range(4)] == [None, None, frozen, frozen]
    assert trouble(guard, other) is None
    assert [trouble(guard, frame) for frame in (one, one, other, one)] == [None] * 4
    with pytest.raises(CameraError, match="one picture 3 times"):
        for _ in range(3):
            guard.check(other)
