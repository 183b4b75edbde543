"""USB cameras against a fake V4L2 device."""

from __future__ import annotations

import cv2
import numpy as np
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


@pytest.mark.parametrize(
    ("refused", "values", "locked"),
    [
        ((), {}, {"exposure", "white balance", "focus"}),
        ((cv2.CAP_PROP_AUTO_EXPOSURE,), {}, {"white balance", "focus"}),
        ((cv2.CAP_PROP_EXPOSURE,), {}, {"white balance", "focus"}),
        ((cv2.CAP_PROP_AUTO_WB,), {}, {"exposure", "focus"}),
        ((cv2.CAP_PROP_WB_TEMPERATURE,), {}, {"exposure", "focus"}),
        ((cv2.CAP_PROP_AUTOFOCUS,), {}, {"exposure", "white balance"}),
        ((cv2.CAP_PROP_FOCUS,), {}, {"exposure", "white balance"}),
        # Not known to the driver, which keeps the gains it has found; 0 is a place of the lens.
        *(
            ((number,), {number: value}, {"exposure", "white balance", "focus"})
            for number, value in (
                (cv2.CAP_PROP_WB_TEMPERATURE, 0.0),
                (cv2.CAP_PROP_WB_TEMPERATURE, -1.0),
                (cv2.CAP_PROP_FOCUS, -1.0),
            )
        ),
        ((cv2.CAP_PROP_WB_TEMPERATURE,), {cv2.CAP_PROP_WB_TEMPERATURE: 1.0}, {"exposure", "focus"}),
        ((cv2.CAP_PROP_FOCUS,), {cv2.CAP_PROP_FOCUS: 0.0}, {"exposure", "white balance"}),
    ],
)
def test_only_what_the_driver_takes_is_locked(
    fake: FakeV4l2, refused: tuple[int, ...], values: dict[int, float], locked: set[str]
) -> None:
    fake.properties |= values
    take = fake.set
    fake.set = lambda prop, value, /: prop not in refused and take(prop, value)  # type: ignore[method-assign] # a driver's refusal
    camera = opened(fake)
    camera.settle()
    assert camera.locked == locked


def test_what_was_found_automatically_is_asked_for_by_hand(fake: FakeV4l2) -> None:
    fake.properties |= {cv2.CAP_PROP_AUTO_EXPOSURE: 1.0, cv2.CAP_PROP_AUTO_WB: 0.0}
    fake.properties |= {cv2.CAP_PROP_AUTOFOCUS: 0.0}
    told: list[tuple[int, float]] = []
    take, grab = fake.set, fake.grab
    first: list[int] = []

    def noted(prop: int, value: float, /) -> bool:
        told.append((prop, value))
        return take(prop, value)

    def grabbed() -> bool:
        first.append(len(told))
        return grab()

    fake.set, fake.grab = noted, grabbed  # type: ignore[method-assign] # to look at its order
    opened(fake).settle()
    assert dict(told[: first[0]]) == {
        cv2.CAP_PROP_FRAME_WIDTH: 640.0,
        cv2.CAP_PROP_FRAME_HEIGHT: 480.0,
        cv2.CAP_PROP_BUFFERSIZE: 1.0,
        cv2.CAP_PROP_AUTO_EXPOSURE: 3.0,
        cv2.CAP_PROP_AUTO_WB: 1.0,
        cv2.CAP_PROP_AUTOFOCUS: 1.0,
    }
    assert told[first[-1] :] == [
        (cv2.CAP_PROP_AUTO_EXPOSURE, 1.0),
        (cv2.CAP_PROP_EXPOSURE, pytest.approx(120, rel=0.03)),
        (cv2.CAP_PROP_AUTO_WB, 0.0),
        (cv2.CAP_PROP_WB_TEMPERATURE, 3000.0),
        (cv2.CAP_PROP_AUTOFOCUS, 0.0),
        (cv2.CAP_PROP_FOCUS, 30.0),
    ]


def still(fake: FakeV4l2, levels: list[int]) -> None:
    """Its pictures have these levels of grey, then the last for ever."""

    def retrieve() -> tuple[bool, np.ndarray]:
        level = levels[min(fake.frames, len(levels)) - 1]
        return True, np.full((48, 64, 3), level, np.uint8)

    fake.retrieve = retrieve  # type: ignore[method-assign] # without a sensor's noise


@pytest.mark.parametrize(
    ("levels", "frames"),
    [
        ([100], 5),
        ([100, 101], 5),  # one per cent is no change
        ([100, 102], 6),
        ([102, 100], 6),
        ([100, 100, 100, 100, 110], 9),
        ([0], 5),
    ],
)
def test_the_light_rests_when_five_pictures_are_alike(
    fake: FakeV4l2, levels: list[int], frames: int
) -> None:
    still(fake, levels)
    opened(fake).settle()
    assert fake.frames == frames


@pytest.mark.parametrize("channel", [0, 1, 2])
def test_each_colour_has_to_rest(fake: FakeV4l2, channel: int) -> None:
    def retrieve() -> tuple[bool, np.ndarray]:
        image = np.full((48, 64, 3), 100, np.uint8)
        image[..., channel] += 10 * (fake.frames < 4)
        return True, image

    fake.retrieve = retrieve  # type: ignore[method-assign] # without a sensor's noise
    opened(fake).settle()
    assert fake.frames == 8


@pytest.mark.parametrize("answer", [(False, None), (True, np.empty((0, 0, 3), np.uint8))])
def test_no_picture_in_the_driver_is_a_fault_and_gives_the_device_back(
    fake: FakeV4l2, answer: tuple[bool, np.ndarray | None]
) -> None:
    camera = opened(fake)
    taken = camera.capture()
    assert (taken.camera, taken.time_us) == ("side", fake.clock.now_us)
    assert not fake.released
    fake.retrieve = lambda: answer  # type: ignore[method-assign,assignment,return-value] # as OpenCV
    with pytest.raises(CameraFault, match="video device 0 returns no pictures") as error:
        camera.capture()
    assert error.value.trouble is CameraTrouble.VANISHED
    assert fake.released


def test_buffers_that_are_never_empty_end_after_six(fake: FakeV4l2) -> None:
    fake.buffered = 100
    opened(fake).capture()
    assert fake.frames == 6


@pytest.mark.parametrize(("waited_us", "frames"), [(4_000, 6), (4_001, 1)])
def test_a_grab_that_waited_is_of_now(fake: FakeV4l2, waited_us: int, frames: int) -> None:
    fake.FRAME_US = waited_us
    opened(fake).capture()
    assert fake.frames == frames


def test_it_is_opened_once_until_it_is_closed(fake: FakeV4l2) -> None:
    times: list[int | str] = []
    camera = UsbCamera(
        "/dev/video3", (640, 480), clock=fake.clock, open_device=lambda d: times.append(d) or fake
    )
    camera.close()
    assert not times and not fake.released
    camera.settle()
    camera.capture()
    assert times == ["/dev/video3"]
    camera.close()
    assert fake.released
    camera.capture()
    assert len(times) == 2


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
