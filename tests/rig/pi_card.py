"""A boot partition as an image of Raspberry Pi OS 13 brings it, as far as set-up goes."""

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
