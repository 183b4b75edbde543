"""USB cameras against a fake V4L2 device."""

from __future__ import annotations

import cv2
import pytest
from fake_cameras import FakeClock, FakeV4l2

from vision.cameras.base import CameraFault, CameraTrouble
from vision.cameras.usb import UsbCamera


@pytest.fixture
def fake() -> FakeV4l2:
    return FakeV4l2(FakeClock())


def opened(fake: FakeV4l2) -> UsbCamera:
    return UsbCamera(0, (640, 480), "side", clock=fake.clock, open_device=lambda device: fake)


def test_waits_for_the_light_then_locks(fake: FakeV4l2) -> None:
    camera = opened(fake)
    camera.settle()
    assert camera.locked == {"exposure", "white balance", "focus"}
    assert fake.properties[cv2.CAP_PROP_AUTO_EXPOSURE] == 1.0
    assert fake.properties[cv2.CAP_PROP_EXPOSURE] == pytest.approx(120, rel=0.03)
    assert fake.properties[cv2.CAP_PROP_AUTO_WB] == 0.0
    assert fake.properties[cv2.CAP_PROP_AUTOFOCUS] == 0.0


def test_says_what_the_driver_cannot_lock() -> None:
    unknown = frozenset({cv2.CAP_PROP_AUTOFOCUS, cv2.CAP_PROP_FOCUS, cv2.CAP_PROP_AUTO_WB})
    camera = opened(FakeV4l2(FakeClock(), unknown=unknown))
    camera.settle()
    assert camera.locked == {"exposure"}


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
    assert fake.clock.now_us - start < 5_000_000


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
    with pytest.raises(CameraFault, match="camera side: ") as error:
        for _ in range(3):
            camera.capture()
    assert error.value.trouble is trouble


def test_an_absent_device_is_named(fake: FakeV4l2) -> None:
    fake.opened = False
    with pytest.raises(CameraFault, match="video device 0") as error:
        opened(fake).settle()
    assert error.value.trouble is CameraTrouble.ABSENT
    assert fake.released
