"""A fictitious computer, and a card for a Raspberry Pi with a package for it."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

from robot.computer.computer import Computer
from robot.link import Capabilities
from robot.link.protocol import Board, ResetCause
from robot.panel.gpio import RpiGpio
from tests.rig.gpio import FakeModule
from vision.cameras.registry import CameraFinding

RATES = (9000, 8000, 7000)
"""Steps/s for one, two and six motors."""
MODEL = b"Raspberry Pi Zero 2 W Rev 1.0\0"


def made_up_computer(folder: Path, **more: Any) -> Computer:
    """Return a computer whose user may use everything; ``more`` replaces single fields."""
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
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def become_a_pi(machine: Computer, config: bytes) -> Path:
    """Make the computer a Zero 2 W started with this config.txt; return the file."""
    put(machine.sys / "firmware/devicetree/base/model", MODEL)
    (machine.sys / "class/pwm/pwmchip0").mkdir(parents=True)
    return put(machine.boot / "firmware/config.txt", config)


FILES = {
    "config.txt": "# Enable audio\ndtparam=audio=on\n\n[all]\narm_64bit=1\n",
    "user-data": "#cloud-config\n\n#hostname: raspberrypi\n",
    "network-config": "# Some examples are commented out below\n\n#network:\n#  version: 2\n",
    "meta-data": "# The datasource\ndsmode: local\ninstance_id: rpios-image\n",
    "kernel8.img": "",
    "cmdline.txt": "console=serial0,115200 console=tty1 root=PARTUUID=1-02 rootwait resize\n",
}


def fresh_card(folder: Path) -> Path:
    folder.mkdir()
    for name, text in FILES.items():
        (folder / name).write_text(text)
    return folder


def make_package(folder: Path, version: str = "1.0+deb13", architecture: str = "arm64") -> Path:
    control = folder / "content/DEBIAN/control"
    control.parent.mkdir(parents=True, exist_ok=True)
    control.write_text(
        f"Package: cubist\nVersion: {version}\nArchitecture: {architecture}\n"
        "Maintainer: me <me@example.org>\nDescription: nothing\n"
    )
    package = folder / f"cubist_{version}_{architecture}.deb"
    places = [str(folder / "content"), str(package)]
    command = ["dpkg-deb", "--root-owner-group", "--build", *places]
    subprocess.run(command, check=True, capture_output=True)
    return package


def running(board: Board, version: str) -> Capabilities:
    return Capabilities(board, version, 1, 7, 0, ResetCause(0), 100, 100, *RATES)
