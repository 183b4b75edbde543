"""USB cameras against a fake V4L2 device."""

from __future__ import annotations

import errno
import os
import struct
from pathlib import Path

import cv2
import numpy as np
import pytest

from solver.errors import root_sentence
from tests.rig.cameras import V4L2_RAISES, FakeClock, FakeV4l2
from vision.cameras import v4l2
from vision.cameras.base import CameraError, CameraTrouble, Unsettled
from vision.cameras.usb import UsbCamera, open_v4l2
from vision.cameras.v4l2 import device_path, examine

EXPOSURE, WHITE, FOCUS = Unsettled.EXPOSURE, Unsettled.WHITE_BALANCE, Unsettled.FOCUS


@pytest.fixture
def fake() -> FakeV4l2:
    return FakeV4l2(FakeClock())


def opened(fake: FakeV4l2) -> UsbCamera:
    return UsbCamera(0, (640, 480), "side", clock=fake.clock, open_device=lambda device: fake)


def test_waits_for_the_light_then_locks(fake: FakeV4l2) -> None:
    camera = opened(fake)
    camera.settle()
    assert camera.unsettled == set()
    assert fake.properties[cv2.CAP_PROP_AUTO_EXPOSURE] == 1.0
    assert fake.properties[cv2.CAP_PROP_EXPOSURE] == pytest.approx(120, rel=0.03)
    assert fake.properties[cv2.CAP_PROP_AUTO_WB] == 0.0
    assert fake.properties[cv2.CAP_PROP_AUTOFOCUS] == 0.0


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
        # Not known to the driver, which keeps the gains it has found; 0 is a place of the lens.
        *(
            ((number,), {number: value}, set())
            for number, value in (
                (cv2.CAP_PROP_WB_TEMPERATURE, 0.0),
                (cv2.CAP_PROP_WB_TEMPERATURE, -1.0),
                (cv2.CAP_PROP_FOCUS, -1.0),
            )
        ),
        ((cv2.CAP_PROP_WB_TEMPERATURE,), {cv2.CAP_PROP_WB_TEMPERATURE: 1.0}, {WHITE}),
        ((cv2.CAP_PROP_FOCUS,), {cv2.CAP_PROP_FOCUS: 0.0}, {FOCUS}),
    ],
)
def test_only_what_the_driver_takes_is_locked(
    fake: FakeV4l2, refused: tuple[int, ...], values: dict[int, float], unsettled: set[Unsettled]
) -> None:
    fake.properties |= values
    take = fake.set
    fake.set = lambda prop, value, /: prop not in refused and take(prop, value)  # type: ignore[method-assign] # a driver's refusal
    camera = opened(fake)
    camera.settle()
    assert camera.unsettled == unsettled


@pytest.mark.parametrize("answer", [(False, None), (True, np.empty((0, 0, 3), np.uint8))])
def test_no_picture_in_the_driver_is_a_fault_and_gives_the_device_back(
    fake: FakeV4l2, answer: tuple[bool, np.ndarray | None]
) -> None:
    camera = opened(fake)
    taken = camera.capture()
    assert (taken.camera, taken.time_us) == ("side", fake.clock.now_us)
    assert not fake.released
    fake.retrieve = lambda: answer  # type: ignore[method-assign,assignment,return-value] # as OpenCV
    with pytest.raises(CameraError, match="video device 0 returns no pictures") as error:
        camera.capture()
    assert error.value.trouble is CameraTrouble.VANISHED
    assert fake.released


def test_a_light_that_never_rests_does_not_hold_up_for_ever(fake: FakeV4l2) -> None:
    camera = opened(fake)
    start = fake.clock.now_us
    flicker = iter(range(10**6))
    grab = fake.grab

    def unsteady() -> bool:
        fake.properties[cv2.CAP_PROP_EXPOSURE] = 50.0 + 40.0 * (next(flicker) % 2)
        return grab()

    fake.grab = unsteady  # type: ignore[method-assign] # the lamp flickers
    camera.settle()
    assert 4_000_000 <= fake.clock.now_us - start < 4_000_000 + 2 * fake.FRAME_US


def test_pictures_that_waited_in_buffers_are_dropped(fake: FakeV4l2) -> None:
    camera = opened(fake)
    fake.buffered = 4
    camera.capture()
    assert fake.buffered == 0
    assert fake.frames == 5


def test_frames_are_rgb(fake: FakeV4l2) -> None:
    red, green, blue = opened(fake).capture().image[24, 32].astype(int)
    assert red > green > blue


@pytest.mark.parametrize(
    ("fault", "trouble"),
    [
        ("gone", CameraTrouble.VANISHED),
        ("dark", CameraTrouble.BLACK),
        ("frozen", CameraTrouble.FROZEN),
    ],
)
def test_faults_are_named(fake: FakeV4l2, fault: str, trouble: CameraTrouble) -> None:
    camera = opened(fake)
    camera.settle()
    setattr(fake, fault, True)
    with pytest.raises(CameraError, match="camera side: ") as error:
        for _ in range(3):
            camera.capture()
    assert error.value.trouble is trouble


def test_compressed_pictures_are_asked_for_before_their_size(fake: FakeV4l2) -> None:
    opened(fake).capture()
    assert fake.format == FakeV4l2.MJPG
    only = FakeV4l2(fake.clock)
    only.formats = {FakeV4l2.YUYV}
    assert opened(only).capture().image.any()
    assert only.format == FakeV4l2.YUYV


def test_a_damaged_picture_or_two_are_passed_over(fake: FakeV4l2) -> None:
    fake.damaged = 2
    assert opened(fake).capture().image.any()
    fake.damaged = 3
    with pytest.raises(CameraError, match="returns no pictures"):
        opened(fake).capture()


def test_all_that_a_program_may_call_may_fail() -> None:
    calls = {name for name in vars(FakeV4l2) if not name.startswith("_") and name.islower()}
    assert set(V4L2_RAISES) == calls - {"fail"}


@pytest.mark.parametrize(
    ("call", "error"), [(call, error) for call, errors in V4L2_RAISES.items() for error in errors]
)
def test_whatever_the_library_raises_is_a_fault_in_its_words_and_the_device_is_given_back(
    fake: FakeV4l2, call: str, error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    bad = FakeV4l2(fake.clock)
    bad.fail(call, error)
    devices = iter([bad, fake])
    camera = UsbCamera(0, (64, 48), "side", clock=fake.clock, open_device=lambda _: next(devices))
    try:
        camera.settle()
        camera.capture()
        camera.close()
        told = caplog.text  # that it does not close well is no reason to fail
    except CameraError as fault:
        told = str(fault)
        assert fault.trouble is CameraTrouble.VANISHED
    assert "camera side: " in told and root_sentence(error) in told
    assert bad.released or call == "release"
    camera.settle()
    assert camera.capture().image.any()


def test_one_unplugged_in_mid_solve_is_named_and_found_again(fake: FakeV4l2) -> None:
    again = FakeV4l2(fake.clock)
    plugged: list[FakeV4l2] = [fake]

    def plug(_: object) -> FakeV4l2:
        if not plugged:
            raise CameraError("", CameraTrouble.ABSENT, "video device /dev/video0: No such file")
        return plugged.pop()

    camera = UsbCamera(0, (64, 48), "side", clock=fake.clock, open_device=plug)
    camera.settle()
    fake.gone = True
    troubles = []
    for _ in range(2):
        with pytest.raises(CameraError) as fault:
            camera.capture()
        troubles.append(fault.value.trouble)
    assert troubles == [CameraTrouble.VANISHED, CameraTrouble.ABSENT]
    assert fake.released
    plugged.append(again)
    assert camera.capture().image.any()


class Driver:
    """A video device's answers to ioctl: what it can do, its controls, who has it."""

    def __init__(self, able: int = 0x1, controls: frozenset[int] | None = None) -> None:
        self.able, self.controls = able, controls
        self.fails: dict[int, int] = {}

    def __call__(self, descriptor: int, request: int, answer: bytearray) -> None:
        if request in self.fails:
            raise OSError(self.fails[request], os.strerror(self.fails[request]))
        if request == v4l2.QUERYCAP:  # of all nodes of the device, then of this one
            struct.pack_into("II", answer, 84, 0x8000_0000 | 0x1, self.able)
        if request == v4l2.QUERYCTRL and self.controls is not None:
            (control,) = struct.unpack_from("I", answer)
            if control not in self.controls:
                raise OSError(errno.EINVAL, "Invalid argument")


@pytest.mark.parametrize(
    ("request_", "number", "trouble"),
    [
        ("QUERYCAP", errno.ENOTTY, CameraTrouble.ABSENT),
        ("QUERYCAP", errno.ENODEV, CameraTrouble.ABSENT),
        ("REQBUFS", errno.EBUSY, CameraTrouble.BUSY),
        ("REQBUFS", errno.ENODEV, CameraTrouble.ABSENT),
        ("REQBUFS", errno.EINVAL, None),  # it has no buffers to map, but it may be read
    ],
)
def test_the_kernel_tells_what_opencv_does_not(
    tmp_path: Path, request_: str, number: int, trouble: CameraTrouble | None
) -> None:
    path = tmp_path / "video0"
    path.touch()
    driver = Driver()
    driver.fails[getattr(v4l2, request_)] = number
    if trouble is None:
        assert examine(path, driver) == set()
        return
    with pytest.raises(CameraError, match="video") as error:
        examine(path, driver)
    assert error.value.trouble is trouble


def test_a_node_without_pictures_is_no_camera(tmp_path: Path) -> None:
    path = tmp_path / "video1"
    path.touch()
    with pytest.raises(CameraError, match="takes no pictures") as error:
        examine(path, Driver(able=0x0080_0000))  # a webcam's metadata
    assert error.value.trouble is CameraTrouble.ABSENT


def test_a_driver_is_asked_what_it_can_lock(tmp_path: Path) -> None:
    path = tmp_path / "video0"
    path.touch()
    assert examine(path, Driver()) == set()
    assert examine(path, Driver(controls=frozenset())) == {EXPOSURE, WHITE}
    assert examine(path, Driver(controls=frozenset({0x009A_0901}))) == {WHITE}


@pytest.mark.parametrize(
    ("device", "told"),
    [
        ("/dev/no-such-video", "No such file or directory"),
        ("/dev/null", "no video device"),
        ("/", "Is a directory"),
    ],
)
def test_what_is_no_camera_is_named_by_what_it_is(device: str, told: str) -> None:
    camera = UsbCamera(device, (64, 48), "side")
    with pytest.raises(CameraError, match=f"camera side: .*{device}.*{told}") as error:
        camera.settle()
    assert error.value.trouble is CameraTrouble.ABSENT
    with pytest.raises(CameraError):
        open_v4l2(device)


@pytest.mark.parametrize(
    ("number", "trouble"),
    [
        (errno.EACCES, CameraTrouble.REFUSED),
        (errno.EPERM, CameraTrouble.REFUSED),  # of a service that may use no such devices
        (errno.EBUSY, CameraTrouble.BUSY),
        (errno.ENXIO, CameraTrouble.ABSENT),
    ],
)
def test_a_device_that_does_not_open_is_told_by_why(
    number: int, trouble: CameraTrouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path, _: int) -> int:
        raise OSError(number, os.strerror(number), path)

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(CameraError, match=f"/dev/video0: {os.strerror(number)}$") as error:
        UsbCamera(0, (64, 48), "side").settle()
    assert error.value.trouble is trouble


def test_devices_have_numbers_or_paths() -> None:
    assert device_path(2) == device_path("2") == Path("/dev/video2")
    assert device_path("/dev/v4l/by-id/cam") == Path("/dev/v4l/by-id/cam")
