"""The Raspberry Pi camera against a fake that keeps picamera2's rules."""

from __future__ import annotations

import numpy as np
import pytest
from fake_cameras import FakeClock, FakePicamera2, FakeRequest

from vision.cameras.base import CameraFault, CameraTrouble
from vision.cameras.picamera2 import Picamera2Camera
from vision.measure.stickers import BracketingCamera, measure


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


def opened(fake: FakePicamera2) -> Picamera2Camera:
    return Picamera2Camera(0, (64, 48), "top", clock=fake.clock, open_device=lambda number: fake)


def test_settles_then_locks_what_was_found(clock: FakeClock) -> None:
    fake = FakePicamera2(clock)
    camera = opened(fake)
    camera.settle()
    assert fake.state["AeEnable"] is False
    assert fake.state["AwbEnable"] is False
    assert fake.state["ExposureTime"] == pytest.approx(20_000, rel=0.02)
    assert fake.state["ColourGains"] == pytest.approx((2.0, 1.5))
    assert fake.state["LensPosition"] == 4.2
    assert fake.state["AfMode"] == 0


def test_exposure_stays_when_the_light_changes(clock: FakeClock) -> None:
    fake = FakePicamera2(clock)
    camera = opened(fake)
    camera.settle()
    fake.ideal_us = 2_000
    before = camera.capture().image.mean()
    for _ in range(20):
        after = camera.capture().image.mean()
    assert after == pytest.approx(before, rel=0.01)


def test_a_camera_without_autofocus_is_not_asked_to_focus(clock: FakeClock) -> None:
    fake = FakePicamera2(clock, focus=False)
    opened(fake).settle()
    assert "AfMode" not in fake.state
    assert fake.state["AeEnable"] is False


def test_frames_are_rgb_copies_and_requests_given_back(clock: FakeClock) -> None:
    fake = FakePicamera2(clock)
    camera = opened(fake)
    frame = camera.capture()
    assert fake.configured is not None
    assert fake.configured["main"] == {"size": (64, 48), "format": "BGR888"}
    assert all(request.released for request in fake.requests)
    red, green, blue = frame.image[24, 32].astype(int)
    assert red > green > blue, "the fake's scene is red; released buffers are black"
    assert frame.time_us == clock.now_us


def test_silence_is_a_named_fault_and_the_camera_can_be_opened_again(clock: FakeClock) -> None:
    fake = FakePicamera2(clock)
    camera = opened(fake)
    camera.settle()
    fake.hangs = True
    with pytest.raises(CameraFault, match="camera top: no picture") as fault:
        camera.capture()
    assert fault.value.trouble is CameraTrouble.VANISHED
    assert fake.closed
    fake.hangs = False
    assert camera.capture().image.any()


@pytest.mark.parametrize(
    ("set_up", "trouble"),
    [
        (lambda fake: setattr(fake, "frozen", True), CameraTrouble.FROZEN),
        (lambda fake: setattr(fake, "lag_us", 2_000_000), CameraTrouble.STALE),
        (lambda fake: fake.state.update(AnalogueGain=0.0), CameraTrouble.BLACK),
    ],
)
def test_bad_pictures_are_named(clock: FakeClock, set_up, trouble: CameraTrouble) -> None:  # type: ignore[no-untyped-def] # lambdas
    fake = FakePicamera2(clock)
    camera = opened(fake)
    camera.settle()
    set_up(fake)
    with pytest.raises(CameraFault) as fault:
        for _ in range(3):
            camera.capture()
    assert fault.value.trouble is trouble
    assert "top" in str(fault.value)


def test_no_picamera2_says_how_to_get_it(clock: FakeClock) -> None:
    def missing(number: int) -> FakePicamera2:
        raise ModuleNotFoundError("No module named 'picamera2'")

    camera = Picamera2Camera(0, (64, 48), clock=clock, open_device=missing)
    with pytest.raises(CameraFault, match="python3-picamera2") as fault:
        camera.settle()
    assert fault.value.trouble is CameraTrouble.ABSENT


def test_a_camera_in_use_is_told_from_none(clock: FakeClock) -> None:
    def taken(number: int) -> FakePicamera2:
        try:
            raise RuntimeError("Failed to acquire camera: Device or resource busy")
        except RuntimeError:
            # As picamera2 does: the cause is only in the context.
            raise RuntimeError("Camera __init__ sequence did not complete.")  # noqa: B904

    def absent(number: int) -> FakePicamera2:
        raise IndexError("list index out of range")

    for open_device, trouble in ((taken, CameraTrouble.BUSY), (absent, CameraTrouble.ABSENT)):
        with pytest.raises(CameraFault) as fault:
            Picamera2Camera(0, (64, 48), clock=clock, open_device=open_device).settle()
        assert fault.value.trouble is trouble


def test_bright_stickers_are_seen_by_darker_pictures(clock: FakeClock) -> None:
    fake = FakePicamera2(clock, ideal_us=60_000)
    camera = opened(fake)
    camera.settle()
    assert isinstance(camera, BracketingCamera)
    quad = [(18, 14), (46, 14), (46, 34), (18, 34)]
    frame = camera.capture()
    colours = measure(camera, frame, quad, 2)
    assert frame.image[24, 32, 0] == 255, "the ordinary picture clips"
    assert not colours.saturated.any()
    red, green, _ = colours.linear_rgb.mean(axis=0)
    # 0.6 : 0.1 of the scene, seen through the fake's exponent of 2.2 instead of sRGB.
    assert red / green == pytest.approx(6, rel=0.15)
    assert fake.state["ExposureTime"] == pytest.approx(60_000, rel=0.01), "the lock is back"


@pytest.mark.parametrize("name", ["ExposureTime", "AnalogueGain", "ColourGains"])
@pytest.mark.parametrize(
    ("jumps", "frames"),
    [((), 5 + 4), ((2,), 6 + 4), ((5,), 9 + 4), ((6,), 5 + 2 + 4), ((3, 7), 11 + 4)],
)
def test_it_settles_when_five_pictures_are_alike_and_is_locked_when_four_show_it(
    clock: FakeClock, name: str, jumps: tuple[int, ...], frames: int
) -> None:
    fake = FakePicamera2(clock, focus=False, steps=1)
    adapt = fake._adapt

    def jumping() -> None:
        adapt()
        if fake.state["AeEnable"]:
            factor = 1 + 0.05 * sum(fake.frames >= jump for jump in jumps)
            value = fake.state[name]
            fake.state[name] = (2.0, 1.5 * factor) if name == "ColourGains" else value * factor

    fake._adapt = jumping  # type: ignore[method-assign] # a lamp is switched
    opened(fake).settle()
    assert fake.frames == frames


def test_light_that_never_rests_is_locked_as_it_is_then(clock: FakeClock) -> None:
    fake = FakePicamera2(clock, focus=False, steps=10**6)
    adapt = fake._adapt

    def flickering() -> None:
        adapt()
        if fake.state["AwbEnable"]:
            fake.state["ColourGains"] = (1.0 + fake.frames % 2, 1.0)

    fake._adapt = flickering  # type: ignore[method-assign] # a lamp
    opened(fake).settle()
    assert 90 < fake.frames < 90 + 12
    assert fake.state["ColourGains"] == (1.0 + 90 % 2, 1.0)


@pytest.mark.parametrize("name", ["ExposureTime", "AnalogueGain", "ColourGains"])
def test_a_camera_that_does_not_keep_what_is_set_is_a_fault(clock: FakeClock, name: str) -> None:
    fake = FakePicamera2(clock, focus=False)
    camera = opened(fake)
    take, frames = fake.set_controls, []

    def forgetful(controls: dict[str, object]) -> None:
        if name in controls:
            frames.append(fake.frames)
            controls = {**controls, name: (9.0, 9.0) if name == "ColourGains" else 99}
        take(controls)

    fake.set_controls = forgetful  # type: ignore[method-assign,assignment] # does not obey
    with pytest.raises(CameraFault, match="camera top: exposure and gains could not be") as fault:
        camera.settle()
    assert fault.value.trouble is CameraTrouble.STALE
    assert fake.frames - frames[0] == 20


def test_a_darker_picture_is_asked_for_and_the_lock_set_again(clock: FakeClock) -> None:
    fake = FakePicamera2(clock)
    camera = opened(fake)
    usual = camera.capture_at(0.25).image.mean()  # settles by itself
    told: list[int] = []
    take = fake.set_controls
    fake.set_controls = lambda controls: told.append(controls["ExposureTime"]) or take(controls)  # type: ignore[method-assign,func-returns-value] # to look at
    frames = fake.frames
    assert camera.capture_at(0.25).image.mean() == pytest.approx(usual, rel=0.02)
    exposure = fake.state["ExposureTime"]
    assert told == [round(exposure * 0.25), exposure]
    assert 12 <= fake.frames - frames <= 14  # both act first, and are seen to
    with pytest.raises(CameraFault, match="could not be locked"):
        camera.capture_at(1e-9)  # no camera is as fast: the shortest that can be asked for
    assert told[2:] == [1, exposure]  # the lock is as before even so
    assert camera.capture().image.mean() > usual


def test_a_camera_that_fails_while_it_shows_less_light_is_not_set_any_more(
    clock: FakeClock,
) -> None:
    fake = FakePicamera2(clock)
    camera = opened(fake)
    camera.settle()

    def fails(wait: float) -> None:
        raise RuntimeError("gone")

    fake.capture_metadata = fails  # type: ignore[method-assign,assignment] # nothing comes
    told: list[object] = []
    fake.set_controls = told.append  # type: ignore[method-assign,assignment] # to look at
    with pytest.raises(CameraFault, match="no picture within 3 s"):
        camera.capture_at(0.25)
    assert len(told) == 1 and fake.closed


@pytest.mark.parametrize("error", [TimeoutError(), RuntimeError("stopped"), OSError("bus")])
def test_every_way_to_fail_gives_the_camera_back(clock: FakeClock, error: Exception) -> None:
    fake = FakePicamera2(clock)
    camera = opened(fake)
    camera.settle()

    def fails(wait: float, *, flush: bool) -> None:
        assert (wait, flush) == (3.0, True)
        raise error

    fake.capture_request = fails  # type: ignore[method-assign,assignment] # nothing comes
    with pytest.raises(CameraFault, match="no picture within 3 s"):
        camera.capture()
    assert fake.closed and not fake.started


def test_of_four_channels_three_are_kept(clock: FakeClock) -> None:
    fake = FakePicamera2(clock)
    take = fake.capture_request

    def with_fourth(wait: float, *, flush: bool) -> FakeRequest:
        request = take(wait, flush=flush)
        request._image = np.dstack([request._image, np.full((48, 64), 7, np.uint8)])
        return request

    fake.capture_request = with_fourth  # type: ignore[method-assign] # X of XBGR
    frame = opened(fake).capture()
    assert frame.image.shape == (48, 64, 3) and frame.image.any()
    assert frame.camera == "top"


def test_close_is_idempotent(clock: FakeClock) -> None:
    fake = FakePicamera2(clock)
    camera = opened(fake)
    camera.capture()
    camera.close()
    camera.close()
    assert fake.closed
