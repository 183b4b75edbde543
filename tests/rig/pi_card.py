"""A boot partition as an image of Raspberry Pi OS 13 brings it, and a package for it."""

import subprocess
from pathlib import Path

FILES = {
    "config.txt": "# Enable audio\ndtparam=audio=on\n\n[all]\narm_64bit=1\n",
    "user-data": "#cloud-config\n\n#hostname: raspberrypi\n",
    "network-config": "# Some examples are commented out below\n\n#network:\n#  version: 2\n",
    "meta-data": "# The datasource\ndsmode: local\ninstance_id: rpios-image\n",
    "kernel8.img": "",
}
COMMAND_LINE = "console=serial0,115200 console=tty1 root=PARTUUID=1-02 rootwait resize"


def fresh_card(folder: Path, command_line: str = COMMAND_LINE) -> Path:
    """Make such a partition's folder and return it."""
    folder.mkdir()
    for name, text in {**FILES, "cmdline.txt": f"{command_line}\n"}.items():
        (folder / name).write_text(text)
    return folder


def make_package(folder: Path, version: str = "1.0+deb13", architecture: str = "arm64") -> Path:
    """Make a package of Cubist with nothing in it, and return its file."""
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
