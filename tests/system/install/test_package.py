"""Packages in an apt repository: made in clean Debian 12 and 13 roots, and used there."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.system.install.conftest import MakePackages, RunScenario, UnpackRoot
from tests.system.install.debian_root import CODENAMES, INCLUDED, assert_story
from tests.system.install.installed import try_installed

HERE = Path(__file__).resolve().parent
NEEDED = f"{INCLUDED},systemd,systemd-sysv,udev,python3,libstdc++6,zlib1g"
"""Packages that ours depends on, and those that boot: apt gets no network."""

TESTS = (
    *("tests/solver/cube", "tests/solver/test_two_phase.py", "tests/solver/test_pocket.py"),
    *("tests/vision/test_photographs_read.py", "tests/vision/test_reader.py"),
    *("tests/link/test_plans.py", "tests/link/test_link.py"),
    *("tests/settings/test_checks.py", "tests/motion"),
)
"""Tests that run against the installed package, with the versions it brings.

Debian 12's pytest-asyncio ends at a state machine of Hypothesis, such as that of ``test_wire.py``.
"""

pytestmark = [pytest.mark.long, pytest.mark.timeout(1800)]

STORY = {
    "the repository offers every version": "update=0, versions=9.0 8.1 8.0 {version}, foreign=1",
    "apt refuses what the key did not sign": (
        "tampered_release=0 1, tampered_packages=0 1, tampered_package=100 no"
    ),
    "installing starts the service as its own user": (
        "install=0, active=yes, enabled=enabled, owner=cubist"
    ),
    "without a board it says so": "status=1, doctor=1, import=0",
    "the old version works on if the new one's script fails before unpacking": (
        "early=100, early_works=ii {version} 0 active, early_same=yes"
    ),
    "the old version works on if the disk is full": (
        "full=100, full_works=ii {version} 0 active, full_restart=0"
    ),
    "if the new one's script fails after unpacking, the old daemon runs and apt goes back": (
        "late=100, late_left=iF 8.1 active, late_back=0, late_works=ii {version} 0 active"
    ),
    "upgrading and going back keep calibration, settings and records": (
        "failed_kept=1345 1 same, upgrade=0, version=ii 9.0, restarted=yes, "
        "upgrade_kept=1345 1 same, downgrade=0, downgrade_works=ii {version} 0 active, "
        "downgrade_kept=1345 1 same"
    ),
    "removing keeps what is the owner's": (
        "remove=0, inactive=inactive, gone=yes, kept=yes, again=0, again_kept=1345 1 same"
    ),
    "purging leaves nothing": "purge=0, left=",
}
"""Facts that the owner's scenario finds, by what they show."""


@pytest.mark.parametrize("release", sorted(CODENAMES))
def test_packages_from_a_repository(
    release: str,
    make_packages: MakePackages,
    run_scenario: RunScenario,
    fresh_root: UnpackRoot,
    tmp_path: Path,
) -> None:
    packages = make_packages(release)
    _check_package(packages / "cubist.deb")
    share = tmp_path / "share"
    shutil.copytree(packages / "repository", share / "repository")
    shutil.copy(HERE / "package_scenario", share / "scenario")
    facts = run_scenario(share, fresh_root(release, NEEDED))
    for shows, expected in STORY.items():
        print(shows)
        assert_story(facts, expected.format(version=facts["old"]))
    assert "board" in facts["cause"] or "port" in facts["cause"]


@pytest.mark.parametrize("release", sorted(CODENAMES))
def test_the_installed_package_passes_tests(
    release: str, make_packages: MakePackages, tmp_path: Path
) -> None:
    shutil.copy(make_packages(release) / "cubist.deb", tmp_path)
    try_installed(release, tmp_path, *TESTS)


def _check_package(package: Path) -> None:
    """Check that it holds the rules of udev and the manual, and what lintian says if it is here."""
    listed = subprocess.run(["dpkg-deb", "-c", package], capture_output=True, text=True, check=True)
    for name in ("lib/udev/rules.d/70-cubist.rules", "share/man/man1/cubist.1.gz"):
        assert f" ./usr/{name}\n" in listed.stdout
    if shutil.which("lintian") is not None:
        command = ["lintian", "--no-cfg", "--fail-on", "error", str(package)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout
