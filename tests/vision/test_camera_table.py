"""The table of camera behaviour in each situation, with the stand-ins for their libraries.

``tests/system/kernel`` compares the rows of USB cameras with the real OpenCV and driver.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import Mock, patch

import pytest

from tests.rig.camera_table import TABLE, Bench, PiBench, Stage, StandIn, UsbBench, judge, observe
from tests.rig.cameras import FakeClock, FakeDriver, FakePicamera2, FakeV4l2
from vision.cameras import picamera2, usb
from vision.cameras.base import CameraError, CameraTrouble
from vision.cameras.picamera2 import ask_for_cameras
from vision.cameras.registry import CameraFinding
from vision.cameras.usb import examine

STAND_IN = {"picamera2": "import libcamera, simplejpeg", "libcamera": ""}
"""Modules that the real one loads."""


class PiStandIn(StandIn, PiBench):
    """A camera that libcamera lists and gives to one user at a time."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.device = FakePicamera2(self.clock)
        self.device.closed = True
        super().__init__(self.device)
        self.models = ["imx219"]
        self.has_other_user = False
        self.find_cameras: Callable[[], list[str]] = lambda: self.models

    def open(self, number: int) -> FakePicamera2:
        if number >= len(self.models):
            raise RuntimeError(
                f"No camera number {number} found - use `rpicam-hello --list-cameras` to check"
            )
        if self.has_other_user or not self.device.closed:
            busy = RuntimeError("Failed to acquire camera: Device or resource busy")
            raise RuntimeError("Camera __init__ sequence did not complete.") from busy
        self.device.closed = self.device.started = False
        return self.device

    def check(self) -> CameraFinding:
        return picamera2.check_camera(self.number, self.find_cameras)

    def without(self, modules: Mapping[str, str]) -> Stage:
        self.find_cameras = ask_for_cameras
        return super().without(STAND_IN | modules)

    def in_use(self) -> Stage:
        with patch.object(self, "has_other_user", True):
            yield (camera := self.camera())
        yield camera

    def user_killed(self) -> Stage:
        return self.usual()  # the kernel closes what a program leaves open

    def absent(self) -> Stage:
        with patch.object(self, "models", []):
            yield (camera := self.camera())
        yield camera

    def pulled_out(self) -> Stage:
        return self.while_used("gone", True)

    def no_permission(self) -> Stage:
        refused = PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        denied = CameraError("", CameraTrouble.REFUSED, "Permission denied")
        with patch.object(self, "find_cameras", side_effect=denied):
            yield self.camera(open_device=Mock(side_effect=refused))
        yield self.camera()

    def no_memory(self) -> Stage:
        error = OSError(errno.ENOMEM, os.strerror(errno.ENOMEM))
        with patch.object(self.device, "configure", side_effect=error):
            yield (camera := self.camera())
        yield camera

    def no_heap(self) -> Stage:
        told = "no memory for pictures: Could not open any dmaHeap device"
        none = CameraError("", CameraTrouble.FAILED, told)
        yield self.camera(open_device=Mock(side_effect=none))
        yield self.camera()

    def no_sensor_modes(self) -> Stage:
        return self.with_sensor("tells_modes", False)

    def late(self) -> Stage:
        return self.while_used("lag_us", 2_000_000)


class UsbStandIn(StandIn, UsbBench):
    """A webcam with at most one user. ``driver`` is the kernel's."""

    def __init__(self, folder: Path) -> None:
        self.clock = FakeClock()
        self.path: Path = folder / "video0"
        self.driver = FakeDriver()
        self.device = FakeV4l2(self.clock)
        self.device.closed = True

    @property
    def format(self) -> str:
        return "MJPG" if self.device.format == FakeV4l2.MJPG else "YUYV"

    def open(self, device: int | str) -> FakeV4l2:
        self.examine(usb.device_path(device))
        self.device.closed = False
        return self.device

    def examine(self, path: Path) -> Any:
        """Query the kernel."""
        busy = FakeDriver(REQBUFS=errno.EBUSY)
        return examine(path, self.driver if self.device.closed else busy)

    def check(self) -> CameraFinding:
        return usb.check_camera(str(self.asked), self.examine)

    @contextmanager
    def plugged_in(self, *formats: str, locks: bool = True) -> Iterator[Path]:
        self.path.touch()
        self.asked = self.path
        if formats == ("YUYV",):
            self.device.formats = {FakeV4l2.YUYV}
        if not locks:
            self.device.properties, self.driver = {}, FakeDriver(controls=frozenset())
        yield self.path

    def with_driver(self, driver: FakeDriver) -> Stage:
        """Yield a camera with another driver, then with the usual one."""
        with self.plugged_in():
            with patch.object(self, "driver", driver):
                yield (camera := self.camera())
            yield camera

    def in_use(self) -> Stage:
        return self.with_driver(FakeDriver(REQBUFS=errno.EBUSY))

    def user_killed(self) -> Stage:
        return self.with_driver(self.driver)

    def no_permission(self) -> Stage:
        refused = PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        with self.plugged_in():
            with patch("os.open", side_effect=refused):
                yield (camera := self.camera())
            yield camera

    def no_video_device(self) -> Stage:
        return self.with_driver(FakeDriver(QUERYCAP=errno.ENOTTY))

    def other_node(self) -> Stage:
        return self.with_driver(FakeDriver(able=0x0080_0000))

    def pulled_out(self) -> Stage:
        with self.plugged_in():
            camera = self.settled()
            self.path.unlink()
            with patch.object(self.device, "gone", True):
                yield camera
            self.path.touch()
            yield camera

    def plugged_in_again(self) -> Stage:
        with self.plugged_in():
            camera = self.settled()
            self.path.rename(self.path.with_name("video1"))
            self.device.gone = True
            yield camera
            yield camera

    def sends_nothing(self) -> Stage:
        return self.while_used("gone", True)

    def cut_short(self) -> Stage:
        return self.while_used("cut_short", True)


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.name)
def test_a_camera_behaves_as_in_the_table(row, tmp_path):
    bench: Bench = PiStandIn() if row.kind == "picamera2" else UsbStandIn(tmp_path)
    seen = observe(row, bench)
    assert judge(row, seen) == {}, seen
