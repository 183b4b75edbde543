"""First boots from cards that `cubist pi-card` prepared, with Debian's own cloud-init."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from robot.cli.main import run
from tests.rig.computers import fresh_card
from tests.system.install.debian_root import INCLUDED, assert_story

HERE = Path(__file__).resolve().parent
RELEASE = "13"
INSTALLED = (
    f"{INCLUDED},systemd,systemd-sysv,udev,dbus,openssh-server,cloud-init,netplan.io,"
    "network-manager,python3,libstdc++6,zlib1g"
)
"""Relevant packages of Raspberry Pi OS Lite, included because the container has no network."""
ADDRESS = "http://localhost:8000"
"""Address at which the container itself serves the repository."""
SETTINGS = {
    "etc/cloud/cloud.cfg.d/99_raspberry-pi.cfg": (
        "datasource_list: [NoCloud, None]\n"
        'datasource: {NoCloud: {seedfrom: "file:///boot/firmware"}}\n'
    ),
    "usr/lib/netplan/00-network-manager-all.yaml": (
        "network: {version: 2, renderer: NetworkManager}\n"
    ),
    "etc/systemd/system/repository.service": (
        "[Service]\nWorkingDirectory=/host/repository\nExecStart=python3 -m http.server\n"
        "[Install]\nWantedBy=multi-user.target\n"
    ),
}
"""Files added to Debian: settings of Raspberry Pi OS, and the repository's server."""
WIFI = 'Workshop: "1" #2'

pytestmark = [pytest.mark.long, pytest.mark.timeout(2400)]

STORY = {
    "cloud-init has taken the card's files": (
        f"cloud_init=done, host=bench, key=yes, password=L, wifi=ssid={WIFI}"
    ),
    "the user may do what a robot's owner needs": "sudo=yes, groups=yes, ssh=enabled active",
    "the robot is ready, and nobody has logged in": (
        "first_boot=inactive, ready=active, profile=soltvvo, sessions=0, told=Cubist is installed."
    ),
    "the next start is an ordinary one": "again=active, again_first_boot=disabled, same=yes",
}
"""Facts of the scenario, by what they show."""


@pytest.mark.parametrize("source", ["package", "repository"])
def test_first_start_from_a_card(source, make_packages, run_scenario, fresh_root, tmp_path):
    packages = make_packages(RELEASE)
    share = tmp_path / "share"
    shutil.copytree(packages / "repository", share / "repository")
    shutil.copy(HERE / "pi_card_scenario", share / "scenario")
    card = fresh_card(share / "card")
    options = ["--robot", "soltvvo", "--user", "owner", "--host-name", "bench"]
    options += ["--ssh-key", f"{_make_key(tmp_path)}.pub", "--wifi", WIFI, "--wifi-country", "DE"]
    (tmp_path / "password").write_text("correct horse\n")
    options += ["--wifi-password-file", str(tmp_path / "password")]
    if source == "package":
        [made] = packages.glob("repository/pool/*/*_arm64.deb")
        assert run(["pi-card", str(card), *options, "--package", str(made)]) == 0
        # The container is no Raspberry Pi: it gets the package of its own architecture.
        shutil.copyfile(packages / "cubist.deb", card / made.name)
    else:
        sources = share / "repository/cubist-trixie.sources"
        sources.write_text(sources.read_text().replace("file:/host/repository", ADDRESS))
        assert run(["pi-card", str(card), *options, "--repository", str(sources.parent)]) == 0
    root = fresh_root(RELEASE, INSTALLED)
    _make_image(root)
    facts = run_scenario(share, root, *(card / "cmdline.txt").read_text().split())
    for shows, expected in STORY.items():
        print(shows)
        assert_story(facts, expected)


def _make_key(folder: Path) -> Path:
    command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / "key")]
    subprocess.run(command, check=True)
    return folder / "key"


def _make_image(root: Path) -> None:
    """Turn a Debian root into Raspberry Pi OS as it is before its first boot."""
    for name, text in SETTINGS.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(text)
    for path in [*(root / "etc/apt").glob("sources.list*/*"), *(root / "etc/ssh").glob("*_key*")]:
        path.unlink()
    (root / "boot/firmware").symlink_to("/host/card")
    (root / "etc/machine-id").write_text("uninitialized\n")
    wants = root / "etc/systemd/system/multi-user.target.wants"
    wants.mkdir(exist_ok=True)
    (wants / "repository.service").symlink_to("../repository.service")
    (wants / "ssh.service").unlink(missing_ok=True)  # off, as in the image
    for waiting in ("systemd-networkd-wait-online", "NetworkManager-wait-online"):
        (root / f"etc/systemd/system/{waiting}.service").symlink_to("/dev/null")
