"""A kind of camera from outside the package: every part of Cubist treats it like its own."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from robot.computer.checkup import CheckResult, Computer, check_up
from robot.machine.assembly import make_machine
from robot.machine.confirmed_range import ConfirmedRange
from robot.settings import BadProfile, RobotProfile, parse_profile, profile_path
from vision.cameras import registry
from vision.cameras.base import CameraFault
from vision.cameras.registry import CameraCheck, camera_kinds
from vision.frame import Frame

ROOT = Path(__file__).parents[2]


class ToyCamera:
    """Sees grey."""

    def __init__(self, device: int | str, resolution: tuple[int, int], name: str) -> None:
        self.name, self._size = name, resolution

    def settle(self) -> None:
        pass

    def capture(self) -> Frame:
        return Frame(np.full((self._size[1], self._size[0], 3), 128, np.uint8), self.name, 0)

    def close(self) -> None:
        pass


def check_toy(device: int | str) -> CameraCheck:
    return CameraCheck("warning", f"toy {device} sees grey", "Buy another.")


def toy_robot() -> RobotProfile:
    text = profile_path("cubotino-uno").read_text()
    return parse_profile(text.replace("kind: picamera2", "kind: toy"))


def undocumented_cameras(text: str) -> list[str]:
    """Return the kinds of cameras that docs/robots.md does not list."""
    (line,) = [line for line in text.splitlines() if line.strip().startswith("kind: picamera2")]
    listed = line.partition("#")[2].replace("|", " ").split()
    return [kind for kind in camera_kinds() if kind not in listed]


def test_a_camera_kind_is_known_everywhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(BadProfile, match=r"cameras\[0\].kind: Input should be 'picamera2'"):
        toy_robot()
    monkeypatch.setattr(registry, "_KINDS", dict(registry._KINDS))
    registry.register_camera("toy", ToyCamera, check=check_toy)
    robot = toy_robot()

    machine = make_machine(robot, ConfirmedRange({}))
    assert machine.scanner.frame(None).image.shape == (480, 640, 3)
    with pytest.raises(CameraFault, match="simulat"):  # asked of the simulated robot
        make_machine(robot, ConfirmedRange({}), twin=str(tmp_path / "none"))

    found = [one for one in check_up(robot, tmp_path, Computer()) if one.about == "camera"]
    assert found == [CheckResult("camera", "warning", "toy 0 sees grey", "Buy another.")]


def test_every_camera_kind_is_documented(monkeypatch: pytest.MonkeyPatch) -> None:
    text = (ROOT / "docs/robots.md").read_text(encoding="utf-8")
    assert undocumented_cameras(text) == []
    monkeypatch.setattr(registry, "_KINDS", dict(registry._KINDS))
    registry.register_camera("toy", ToyCamera)
    assert undocumented_cameras(text) == ["toy"]
