"""The Raspberry Pi camera against a fake that keeps picamera2's rules."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from solver.errors import root_sentence
from tests.rig.cameras import PICAMERA2_RAISES, SENSORS, FakeClock, FakePicamera2, FakeRequest
from vision.cameras.base import CameraError, CameraTrouble, Unsettled
from vision.cameras.picamera2 import Picamera2Camera, ask_for_cameras
from vision.locate.face import FaceGrid
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
    with pytest.raises(CameraError, match="camera top: no picture") as fault:
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
    with pytest.raises(CameraError) as fault:
        for _ in range(3):
            camera.capture()
    assert fault.value.trouble is trouble
    assert "top" in str(fault.value)


@pytest.mark.parametrize(
    ("package", "told"),
    [
        (None, "picamera2 is not installed"),
        ("import libcamera_of_another_python", "No module named 'libcamera_of_another_python'"),
        ("raise ValueError('numpy.dtype size changed')", "numpy.dtype size changed"),
        ("raise OSError('libcap.so.2: cannot open shared object file')", "libcap.so.2"),
    ],
)
def test_a_library_that_cannot_be_loaded_is_told_from_a_camera_that_is_not_there(
    package: str | None, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "picamera2", raising=False)
    if package is None:
        monkeypatch.setitem(sys.modules, "picamera2", None)
    else:
        (tmp_path / "picamera2.py").write_text(package)
        monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(CameraError, match=re.escape(told)) as fault:
        Picamera2Camera(0, (64, 48)).settle()
    assert fault.value.trouble is CameraTrouble.SOFTWARE
    assert ("not installed" in str(fault.value)) is (package is None)


INFO = "class Picamera2:\n @staticmethod\n def global_camera_info():\n  "


@pytest.mark.parametrize(
    ("package", "found"),
    [
        (f"{INFO}print('a log'); return [{{'Model': 'imx219'}}, {{'Id': 'x'}}]", ["imx219", "?"]),
        (f"{INFO}return []", []),
        ("import libcamera_of_another_python", "No module named 'libcamera_of_another_python'"),
        (f"{INFO}raise RuntimeError('no tuning file')", "no tuning file"),
        (f"{INFO}import os; os.abort()", "crashed"),
        (f"{INFO}import time; time.sleep(600)", "does not answer"),
    ],
)
def test_libcamera_is_asked_for_cameras_in_a_process_of_its_own(
    package: str, found: list[str] | str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "picamera2.py").write_text(package)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    limit = {"limit_s": 2.0} if "sleep" in package else {}
    if isinstance(found, list):
        assert ask_for_cameras() == found
        return
    with pytest.raises(CameraError, match=found):
        ask_for_cameras(**limit)


def test_a_camera_in_use_is_told_from_none(clock: FakeClock) -> None:
    def taken(number: int) -> FakePicamera2:
        try:
            raise RuntimeError("Failed to acquire camera: Device or resource busy")
        except RuntimeError:
            # As picamera2 does: the cause is only in the context.
            raise RuntimeError("Camera __init__ sequence did not complete.")  # noqa: B904

    def absent(number: int) -> FakePicamera2:
        raise IndexError("list index out of range")

    def other(number: int) -> FakePicamera2:
        try:
            raise RuntimeError("Requested stream role not supported: Raw")
        except RuntimeError as error:
            raise RuntimeError("Camera __init__ sequence did not complete.") from error

    for open_device, trouble, told in (
        (taken, CameraTrouble.BUSY, "Device or resource busy"),
        (absent, CameraTrouble.ABSENT, "there is no Raspberry Pi camera 0"),
        (other, CameraTrouble.ABSENT, "role not supported: Raw"),
    ):
        with pytest.raises(CameraError, match=f"{told}$") as fault:
            Picamera2Camera(0, (64, 48), clock=clock, open_device=open_device).settle()
        assert fault.value.trouble is trouble


@pytest.mark.parametrize("sensor", SENSORS)
@pytest.mark.parametrize("resolution", [(480, 360), (640, 480), (960, 720), (1280, 960)])
def test_pictures_show_all_that_the_lens_does(
    clock: FakeClock, sensor: str, resolution: tuple[int, int]
) -> None:
    fake = FakePicamera2(clock, sensor=sensor)
    camera = Picamera2Camera(0, resolution, clock=clock, open_device=lambda number: fake)
    camera.capture()
    assert fake.seen_share > 0.98
    assert fake.mode is not None
    assert all(have >= wanted for have, wanted in zip(fake.mode[0], resolution, strict=True))
    assert fake.mode[0] < fake.modes[-1][0], "not the largest, which is slow"


def test_all_that_a_program_may_call_may_fail() -> None:
    calls = {name for name in vars(FakePicamera2) if not name.startswith("_") and name.islower()}
    assert set(PICAMERA2_RAISES) == calls - {"fail", "sensor_modes", "seen_share"}


@pytest.mark.parametrize(
    ("call", "error"),
    [(call, error) for call, errors in PICAMERA2_RAISES.items() for error in errors],
)
def test_whatever_the_library_raises_is_a_fault_in_its_words_and_the_camera_is_given_back(
    clock: FakeClock, call: str, error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    bad, good = FakePicamera2(clock), FakePicamera2(clock)
    bad.fail(call, error)
    devices = iter([bad, good])
    camera = Picamera2Camera(
        0, (64, 48), "top", clock=clock, open_device=lambda number: next(devices)
    )
    try:
        camera.settle()
        camera.capture()
        camera.close()
        told = caplog.text  # that it does not close well is no reason to fail
    except CameraError as fault:
        told = str(fault)
    assert "camera top: " in told
    assert (root_sentence(error) if str(error) else "within 3 s") in told
    assert bad.closed or call == "close"
    assert not bad.started or call in {"stop", "start"}
    camera.settle()
    assert camera.capture().image.any()


@pytest.mark.parametrize("call", ["make_array", "get_metadata", "release"])
def test_a_picture_that_cannot_be_taken_out_is_a_fault_and_its_buffer_is_given_back(
    clock: FakeClock, call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = FakeRequest.release

    def fails(request: FakeRequest, *_: object) -> None:
        if call == "release":
            release(request)
        raise RuntimeError("failed to lock-sync-write dma buf")

    fake = FakePicamera2(clock)
    camera = opened(fake)
    monkeypatch.setattr(FakeRequest, call, fails)
    with pytest.raises(CameraError, match="no picture: failed to lock-sync-write dma buf"):
        camera.capture()
    assert fake.closed and all(request.released for request in fake.requests)


@pytest.mark.parametrize("trouble", ["slow", "silent", "failed"])
def test_a_focus_that_is_not_found_ends_nothing(clock: FakeClock, trouble: str) -> None:
    fake = FakePicamera2(clock, focus_s=25.0 if trouble == "slow" else 1.0)
    fake.unsaid = {"AfState"} if trouble == "silent" else set()
    if trouble == "failed":
        fake.autofocus_cycle = lambda wait: False  # type: ignore[method-assign] # as libcamera's
    fake.state["LensPosition"] = 2.5
    camera = opened(fake)
    camera.settle()
    assert camera.unsettled == {Unsettled.LENS}
    assert fake.state["LensPosition"] == 2.5 and fake.state["AfMode"] == 0
    assert clock.now_us < 12_000_000
    fake.focus_s, fake.unsaid = 1.0, set()
    if trouble != "failed":
        camera.settle()
        assert camera.unsettled == set()


def test_a_lens_of_the_profile_stays_where_that_says(clock: FakeClock) -> None:
    fake = FakePicamera2(clock, focus_s=25.0)
    camera = Picamera2Camera(
        0, (64, 48), lens_position=6.5, clock=clock, open_device=lambda number: fake
    )
    camera.settle()
    assert fake.state["LensPosition"] == 6.5
    assert camera.unsettled == set()


def test_what_a_camera_cannot_lock_is_told_and_waited_for_in_vain_by_nobody(
    clock: FakeClock,
) -> None:
    fake = FakePicamera2(clock)
    for name in ("ExposureTime", "AeEnable", "ColourGains", "AwbEnable"):
        del fake.camera_controls[name]
    camera = opened(fake)
    camera.settle()
    assert camera.unsettled == {Unsettled.EXPOSURE, Unsettled.WHITE_BALANCE}
    assert camera.capture_at(0.4) is None
    assert camera.capture().image.any()


def test_a_camera_that_does_not_say_its_exposure_has_no_darker_pictures(clock: FakeClock) -> None:
    fake = FakePicamera2(clock)
    fake.unsaid = {"ExposureTime"}
    camera = opened(fake)
    assert camera.capture_at(0.4) is None
    assert camera.unsettled == {Unsettled.EXPOSURE}
    with pytest.raises(CameraError, match="no picture: KeyError 'ExposureTime'"):
        camera.capture()


def test_bright_stickers_are_seen_by_darker_pictures(clock: FakeClock) -> None:
    fake = FakePicamera2(clock, ideal_us=60_000)
    camera = opened(fake)
    camera.settle()
    assert isinstance(camera, BracketingCamera)
    quads = FaceGrid.from_corners([(18, 14), (46, 14), (46, 34), (18, 34)], 2).quads
    frame = camera.capture()
    colours = measure(camera, frame, quads)
    assert frame.image[24, 32, 0] == 255, "the ordinary picture clips"
    assert not colours.saturated.any()
    red, green, _ = colours.linear_rgb.mean(axis=0)
    # 0.6 : 0.1 of the scene, seen through the fake's exponent of 2.2 instead of sRGB.
    assert red / green == pytest.approx(6, rel=0.15)
    assert fake.state["ExposureTime"] == pytest.approx(60_000, rel=0.01), "the lock is back"


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
    with pytest.raises(CameraError, match="camera top: exposure and gains could not be") as fault:
        camera.settle()
    assert fault.value.trouble is CameraTrouble.STALE
    assert fake.frames - frames[0] == 20


@pytest.mark.parametrize(("ideal_us", "has_darker"), [(9_000, True), (180, False), (130, False)])
def test_an_exposure_that_no_camera_can_make_is_left_out(
    clock: FakeClock, ideal_us: int, has_darker: bool
) -> None:
    fake = FakePicamera2(clock, ideal_us=ideal_us)
    camera = opened(fake)
    camera.settle()
    usual = fake.state["ExposureTime"]
    assert (camera.capture_at(0.4) is not None) == has_darker
    assert fake.state["ExposureTime"] == usual
