"""The check-up of cameras of each kind, without taking a picture."""

from __future__ import annotations

from pathlib import Path

import pytest

from solver.errors import InvalidRequest
from vision.cameras import photographs, picamera2, registry, usb
from vision.cameras.base import CameraError, CameraTrouble, Unsettled


def test_libcamera_must_see_a_raspberry_pi_camera() -> None:
    def fail() -> list[str]:
        raise CameraError(
            "", CameraTrouble.SOFTWARE, "picamera2 cannot be loaded: No module named 'libcamera'"
        )

    found = picamera2.check_camera(1, lambda: ["imx219", "imx708"])
    assert found == ("ok", "picamera2 1: imx708", "")
    verdict, text, remedy = picamera2.check_camera("0", list)
    assert (verdict, text) == ("bad", "the Pi sees no camera 0") and "ribbon" in remedy
    verdict, text, remedy = picamera2.check_camera(0, fail)
    assert verdict == "bad" and text.endswith("'libcamera'") and "apt install" in remedy


@pytest.mark.parametrize(
    ("trouble", "verdict", "remedy"),
    [
        (CameraTrouble.ABSENT, "bad", "Plug the camera in"),
        (CameraTrouble.REFUSED, "bad", "usermod -aG video"),
        (CameraTrouble.BUSY, "ok", ""),  # cubistd has it
    ],
)
def test_an_unusable_usb_camera(trouble: CameraTrouble, verdict: str, remedy: str) -> None:
    def fail(path: Path) -> frozenset[Unsettled]:
        raise CameraError("", trouble, f"video device {path}: so it is")

    found = usb.check_camera(3, fail)
    assert found.verdict == verdict and "/dev/video3" in found.text and remedy in found.remedy


def test_a_usb_driver_that_locks_less_is_a_warning() -> None:
    loose = frozenset({Unsettled.WHITE_BALANCE, Unsettled.EXPOSURE})
    found = usb.check_camera("/dev/v4l/cam", lambda _: loose)
    text = "/dev/v4l/cam: its driver does not lock exposure and white balance"
    assert found[:2] == ("warning", text) and "light" in found.remedy
    assert usb.check_camera(3, lambda _: frozenset()) == ("ok", "/dev/video3", "")


def test_other_kinds_are_checked_by_name(tmp_path: Path) -> None:
    assert photographs.check_camera(f"{tmp_path}/no").verdict == "bad"
    assert registry.check_camera("folder", str(tmp_path)) == ("ok", f"folder {tmp_path}", "")
    assert registry.check_camera("simulated", 0) == ("ok", "simulated 0", "")
    with pytest.raises(InvalidRequest, match="kind: usb"):
        registry.open_camera("simulated", 0, (640, 480), "above")
    with pytest.raises(InvalidRequest, match="no such kind"):
        registry.open_camera("film", 0, (640, 480), "above")
