"""The Debian package: lintian finds no error in it, and apt installs, upgrades and removes it."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.system.install.conftest import RunScenario
from tests.system.install.debian_root import assert_story

HERE = Path(__file__).resolve().parent
CHECKOUT = HERE.parents[2]
NEW_VERSION = "9.0"
NEEDED = "systemd,systemd-sysv,udev,python3,libstdc++6,zlib1g"
"""Packages that ours depends on, and those that boot: apt gets no network."""

pytestmark = [
    pytest.mark.long,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(shutil.which("dpkg-deb") is None, reason="dpkg-deb is not installed"),
]


@pytest.fixture(scope="module")
def package(wheels: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package, freshly made."""
    path = tmp_path_factory.mktemp("deb") / "cubist.deb"
    [wheel] = wheels.glob("cubist-*.whl")
    environment = os.environ | {"CUBIST_DEB": str(path), "CUBIST_WHEEL": str(wheel)}
    environment |= {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels)}
    subprocess.run([str(CHECKOUT / "systemd" / "deb")], env=environment, check=True)
    return path


def test_it_holds_the_rules_of_udev_and_the_manual(package: Path) -> None:
    listed = subprocess.run(["dpkg-deb", "-c", package], capture_output=True, text=True, check=True)
    for name in ("lib/udev/rules.d/70-cubist.rules", "share/man/man1/cubist.1.gz"):
        assert f" ./usr/{name}\n" in listed.stdout


@pytest.mark.skipif(shutil.which("lintian") is None, reason="lintian is not installed")
def test_lintian_finds_no_error(package: Path) -> None:
    done = subprocess.run(
        ["lintian", "--no-cfg", "--fail-on", "error", str(package)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


@pytest.fixture(scope="module")
def minimal_debian(containers: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The release of this machine, with nothing in it that the package does not ask for."""
    if shutil.which("debootstrap") is None:
        pytest.skip("debootstrap is not installed")
    root = tmp_path_factory.mktemp("debian") / "root"
    release = platform.freedesktop_os_release()["VERSION_CODENAME"]
    command = ["debootstrap", "--variant=minbase", f"--include={NEEDED}", release, str(root)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"no Debian to be had: {done.stdout.strip()[-500:]}")
    return root


@pytest.fixture(scope="module")
def facts(
    package: Path,
    minimal_debian: Path,
    run_scenario: RunScenario,
    tmp_path_factory: pytest.TempPathFactory,
) -> Mapping[str, str]:
    """Facts that the scenario found, by name."""
    share = tmp_path_factory.mktemp("package")
    shutil.copy(HERE / "package_scenario", share / "scenario")
    shutil.copy(package, share / "old.deb")
    _raise_version(package, share / "new.deb")
    return run_scenario(share, minimal_debian)


def _raise_version(old: Path, new: Path) -> None:
    """The same package once more under a higher version."""
    content = new.with_suffix("")
    subprocess.run(["dpkg-deb", "--raw-extract", str(old), str(content)], check=True)
    control = content / "DEBIAN" / "control"
    lines = control.read_text().splitlines(keepends=True)
    raised = [f"Version: {NEW_VERSION}\n" if "Version:" in line else line for line in lines]
    control.write_text("".join(raised))
    command = ["dpkg-deb", "--root-owner-group", "-z1", "--build", str(content), str(new)]
    subprocess.run(command, check=True)
    shutil.rmtree(content)


STORY = {
    "installing starts the service as its own user": (
        "install=0, active=yes, enabled=enabled, owner=cubist"
    ),
    "without a board it says so": "status=1, doctor=1",
    "upgrading keeps calibration and settings": (
        "import=0, upgrade=0, version=9.0, restarted=yes, calibration_kept=1345, settings_kept=1"
    ),
    "removing keeps what is the owner's": (
        "remove=0, inactive=inactive, gone=yes, kept=yes, again=0, calibration_back=1345"
    ),
    "purging leaves nothing": "purge=0, left=",
}
"""Facts that the scenario finds, by what they show."""


@pytest.mark.parametrize("expected", STORY.values(), ids=STORY)
def test_the_package_s_story(facts: Mapping[str, str], expected: str) -> None:
    assert_story(facts, expected)


def test_without_a_board_the_cause_names_it(facts: Mapping[str, str]) -> None:
    assert "board" in facts["cause"] or "port" in facts["cause"]
