"""A computer that is made up: its files are in a folder, its camera and GPIO chip work."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from robot.computer.computer import Computer
from robot.panel.gpio import RpiGpio
from tests.rig.gpio import FakeModule
from vision.cameras.registry import CameraFinding

MODEL = b"Raspberry Pi Zero 2 W Rev 1.0\0"


def made_up_computer(folder: Path, **more: Any) -> Computer:
    """Return a computer whose own user may use everything; ``more`` replaces single fields."""
    places = {name: folder / name for name in ("boot", "dev", "etc", "sys", "run")}
    (folder / "dev/serial/by-id").mkdir(parents=True, exist_ok=True)
    known: dict[str, Any] = {
        "now_s": lambda: 1_800_000_000.0,
        "check_camera": lambda kind, device: CameraFinding("ok", f"{kind} {device}"),
        "open_gpio": lambda: RpiGpio(FakeModule()),
        "may_use": lambda _: True,
    }
    return Computer(**places | known | more)


def put(path: Path, content: str | bytes = b"") -> Path:
    """Write a file, and the folders that it needs."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def become_a_pi(machine: Computer, config: bytes) -> Path:
    """Make it a Zero 2 W that was started with this config.txt; return the file."""
    put(machine.sys / "firmware/devicetree/base/model", MODEL)
    (machine.sys / "class/pwm/pwmchip0").mkdir(parents=True)
    return put(machine.boot / "firmware/config.txt", config)
