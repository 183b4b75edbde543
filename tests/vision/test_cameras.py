"""Cameras with stand-ins that follow the rules of their libraries.

A table lists the behaviour of every camera in each situation. ``tests/system/kernel`` compares it
with the real libraries and drivers.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain, repeat
from pathlib import Path
from typing import Any
from unittest.mock import Mock, patch

import cv2
import pytest

from solver.errors import InvalidRequest, root_sentence
from tests.rig.camera_table import TABLE, Bench, PiBench, Stage, StandIn, UsbBench, judge, observe
from tests.rig.cameras import (
    PICAMERA2_RAISES,
    SENSORS,
    V4L2_RAISES,
    FakeClock,
    FakeDriver,
    FakePicamera2,
    FakeRequest,
    FakeV4l2,
)
from vision.cameras import photographs, picamera2, registry, usb
from vision.cameras.base import CameraError, CameraTrouble, Unsettled
from vision.cameras.picamera2 import Picamera2Camera, ask_for_cameras
from vision.cameras.registry import CameraFinding
from vision.cameras.usb import UsbCamera, examine
from vision.measure.stickers import BracketingCamera

EXPOSURE, WHITE = Unsettled.EXPOSURE, Unsettled.WHITE_BALANCE
FOCUS, LENS = Unsettled.FOCUS, Unsettled.LENS
CAMERAS = {FakePicamera2: Picamera2Camera, FakeV4l2: UsbCamera}
Fake = FakePicamera2 | FakeV4l2


def camera_of(*fakes: Fake, **options: Any) -> Picamera2Camera | UsbCamera:
    """Return a camera that finds these devices in turn, and the last one from then on."""
    devices = chain(fakes, repeat(fakes[-1]))
    options = {"resolution": (64, 48), "name": "top", "clock": fakes[0].clock} | options
    kind = CAMERAS[type(fakes[0])]
    return kind(0, open_device=lambda _: next(devices), **options)


@pytest.fixture
def v4l2() -> FakeV4l2:
    return FakeV4l2(FakeClock())


@pytest.fixture(params=list(CAMERAS), ids=["picamera2", "usb"])
def fake(request: pytest.FixtureRequest) -> Fake:
    return request.param(FakeClock())


def test_pictures_are_rgb_and_of_the_moment(fake):
    frame = camera_of(fake).capture()
    red, green, blue = frame.image[24, 32].astype(int)
    assert red > green > blue, "the fake's scene is red; buffers given back are black"
    assert (frame.camera, frame.time_us) == ("top", fake.clock.now_us)


@pytest.mark.parametrize(
    ("kind", "call", "error"),
    [
        (kind, call, error)
        for kind, raises in ((FakePicamera2, PICAMERA2_RAISES), (FakeV4l2, V4L2_RAISES))
        for call, errors in raises.items()
        for error in errors
    ],
)
def test_whatever_a_library_raises_is_a_fault_in_its_words_and_the_camera_is_given_back(
    kind, call, error, caplog
):
    bad = kind(FakeClock())
    bad.fail(call, error)
    camera = camera_of(bad, kind(bad.clock))
    try:
        camera.settle()
        camera.capture()
        camera.close()
        told = caplog.text  # a failure to close is no reason to fail
    except CameraError as fault:
        told = str(fault)
    assert "camera top: " in told
    assert (root_sentence(error) if str(error) else "within 3 s") in told
    assert bad.closed or call in {"close", "release"}
    assert not getattr(bad, "started", False) or call in {"stop", "start"}
    camera.settle()
    assert camera.capture().image.any()


# The Raspberry Pi's cameras.


@pytest.mark.parametrize(
    ("focus", "options", "lens"),
    [
        (True, {}, {"LensPosition": 4.2, "AfMode": 0}),
        (True, {"lens_position": 6.5}, {"LensPosition": 6.5, "AfMode": 0}),
        (False, {}, {}),
    ],
)
def test_picamera2_settles_then_locks_what_was_found(focus, options, lens):
    fake = FakePicamera2(FakeClock(), focus=focus, focus_s=25.0 if options else 1.0)
    camera = camera_of(fake, **options)
    camera.settle()
    assert camera.unsettled == set()
    found = {"ExposureTime": pytest.approx(20_000, rel=0.02), "AnalogueGain": pytest.approx(2.0)}
    found |= {"AeEnable": False, "AwbEnable": False, "ColourGains": pytest.approx((2.0, 1.5))}
    assert fake.state == found | lens


INFO = """class Picamera2:
 def __init__(self, camera_num=0, allocator=None): ...
 @staticmethod
 def global_camera_info():
  """


@pytest.mark.parametrize(
    ("package", "found"),
    [
        (f"{INFO}print('a log'); return [{{'Model': 'imx219'}}, {{'Id': 'x'}}]", ["imx219", "?"]),
        ("import libcamera_of_another_python", "No module named 'libcamera_of_another_python'"),
        ("raise ValueError('numpy.dtype size changed')", "cannot be loaded: numpy.dtype size"),
        (f"{INFO}raise RuntimeError('no tuning file')", "no tuning file"),
        (f"{INFO}import os; os.abort()", "crashed"),
        (f"{INFO}import time; time.sleep(600)", "does not answer"),
    ],
)
def test_libcamera_is_asked_for_cameras_in_a_process_of_its_own(
    package, found, tmp_path, monkeypatch
):
    (tmp_path / "picamera2.py").write_text(package)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    limit = {"limit_s": 1.0} if "sleep" in package else {}
    if isinstance(found, list):
        assert ask_for_cameras() == found
        return
    with pytest.raises(CameraError, match=found):
        ask_for_cameras(**limit)


@pytest.mark.parametrize("sensor", SENSORS)
@pytest.mark.parametrize("resolution", [(480, 360), (640, 480), (960, 720), (1280, 960)])
def test_pictures_show_all_that_the_lens_does(sensor, resolution):
    fake = FakePicamera2(FakeClock(), sensor=sensor)
    camera_of(fake, resolution=resolution).capture()
    assert fake.configured["main"] == {"size": resolution, "format": "BGR888"}
    assert fake.seen_share > 0.98
    assert all(have >= wanted for have, wanted in zip(fake.mode[0], resolution, strict=True))
    assert fake.mode[0] < fake.modes[-1][0], "not the largest, which is slow"


@pytest.mark.parametrize("call", ["make_array", "get_metadata", "release"])
def test_a_picture_that_cannot_be_taken_out_is_a_fault_and_its_buffer_is_given_back(
    call, monkeypatch
):
    release = FakeRequest.release

    def fails(request: FakeRequest, *_: object) -> None:
        if call == "release":
            release(request)
        raise RuntimeError("failed to lock-sync-write dma buf")

    camera = camera_of(pi := FakePicamera2(FakeClock()))
    monkeypatch.setattr(FakeRequest, call, fails)
    with pytest.raises(CameraError, match="no picture: failed to lock-sync-write dma buf"):
        camera.capture()
    assert pi.closed and all(request.released for request in pi.requests)


@pytest.mark.parametrize(("ideal_us", "has_darker"), [(60_000, True), (180, False), (130, False)])
def test_darker_pictures_are_taken_if_the_camera_can_and_the_lock_is_back(ideal_us, has_darker):
    fake = FakePicamera2(FakeClock(), ideal_us=ideal_us)
    camera = camera_of(fake)
    assert isinstance(camera, BracketingCamera)
    camera.settle()
    usual = fake.state["ExposureTime"]
    darker = camera.capture_at(0.4)
    assert fake.state["ExposureTime"] == usual
    assert (darker is not None) == has_darker
    if darker is not None:
        assert camera.capture().image[24, 32, 0] == 255, "the ordinary picture clips"
        light = (darker.image[24, 32, 0] / 255) ** 2.2
        assert light == pytest.approx(0.6 * 0.4 * usual * 2 / 40_000, rel=0.1)


# Cameras with a driver for V4L2.


@pytest.mark.parametrize(
    ("refused", "values", "unsettled"),
    [
        ((), {}, set()),
        ((cv2.CAP_PROP_AUTO_EXPOSURE,), {}, {EXPOSURE}),
        ((cv2.CAP_PROP_EXPOSURE,), {}, {EXPOSURE}),
        ((cv2.CAP_PROP_AUTO_WB,), {}, {WHITE}),
        ((cv2.CAP_PROP_WB_TEMPERATURE,), {}, {WHITE}),
        ((cv2.CAP_PROP_AUTOFOCUS,), {}, set()),  # a lens that does not move
        ((cv2.CAP_PROP_AUTO_EXPOSURE, cv2.CAP_PROP_AUTO_WB), {}, {EXPOSURE, WHITE}),
        ((cv2.CAP_PROP_FOCUS,), {}, {FOCUS}),
        # The driver does not report them and keeps the gains it has found; 0 is a lens position.
        ((cv2.CAP_PROP_WB_TEMPERATURE,), {cv2.CAP_PROP_WB_TEMPERATURE: 0.0}, set()),
        ((cv2.CAP_PROP_FOCUS,), {cv2.CAP_PROP_FOCUS: -1.0}, set()),
        ((cv2.CAP_PROP_FOCUS,), {cv2.CAP_PROP_FOCUS: 0.0}, {FOCUS}),
    ],
)
def test_only_what_the_driver_takes_is_locked(v4l2, refused, values, unsettled):
    v4l2.properties |= values
    take = v4l2.set
    v4l2.set = lambda prop, value, /: prop not in refused and take(prop, value)  # type: ignore[method-assign] # a driver's refusal
    camera = camera_of(v4l2)
    camera.settle()
    assert camera.unsettled == unsettled
    if not refused:
        assert v4l2.properties[cv2.CAP_PROP_AUTO_EXPOSURE] == 1.0
        assert v4l2.properties[cv2.CAP_PROP_EXPOSURE] == pytest.approx(120, rel=0.03)
        assert v4l2.properties[cv2.CAP_PROP_AUTO_WB] == 0.0
        assert v4l2.properties[cv2.CAP_PROP_AUTOFOCUS] == 0.0


def test_old_and_damaged_pictures_are_passed_over_and_compressed_ones_asked_for(v4l2):
    camera = camera_of(v4l2)
    v4l2.buffered = 4
    camera.capture()
    assert (v4l2.buffered, v4l2.frames, v4l2.format) == (0, 5, FakeV4l2.MJPG)
    v4l2.damaged = 2
    assert camera.capture().image.any()
    v4l2.damaged = 3
    with pytest.raises(CameraError, match="returns no pictures"):
        camera.capture()


# Checks of every kind.


def test_cameras_are_opened_and_checked_by_their_kind(tmp_path):
    kinds = {"folder": photographs.FolderCamera, "usb": UsbCamera, "picamera2": Picamera2Camera}
    for name, kind in kinds.items():
        device = str(tmp_path) if name == "folder" else 0
        assert type(registry.open_camera(name, device, (64, 48), "x")) is kind
    assert registry.check_camera("folder", f"{tmp_path}/no").verdict == "bad"
    assert registry.check_camera("folder", str(tmp_path))[:2] == ("ok", f"folder {tmp_path}")
    assert registry.check_camera("simulated", 0)[:2] == ("ok", "simulated 0")
    for kind, told in (("simulated", "kind: usb"), ("film", "no such kind")):
        with pytest.raises(InvalidRequest, match=told):
            registry.open_camera(kind, 0, (640, 480), "above")


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
