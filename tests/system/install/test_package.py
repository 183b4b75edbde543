"""Packages in an apt repository: made and used in clean Debian 12 and 13 roots; one for a Pi."""

from __future__ import annotations

import json
import platform
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.cli.test_read_command import document, scan
from tests.system.install.debian_root import (
    CHECKOUT,
    CODENAMES,
    INCLUDED,
    assert_story,
    bundle_checkout,
    go_through,
    why_absent,
    why_no_root,
)

HERE = Path(__file__).resolve().parent
NEEDED = f"{INCLUDED},systemd,systemd-sysv,udev,python3,libstdc++6,zlib1g"
"""Packages that ours depends on and those needed to boot: apt has no network."""

TESTS = (
    *("tests/solver/cube", "tests/solver/test_two_phase.py", "tests/solver/test_pocket.py"),
    *("tests/vision/test_photographs_read.py", "tests/vision/test_reader.py"),
    *("tests/link/test_plans.py", "tests/link/test_link.py"),
    *("tests/settings/test_checks.py", "tests/motion"),
)
"""Tests that run against the installed package and the library versions it brings.

Debian 12's pytest-asyncio fails with a Hypothesis state machine such as that of ``test_wire.py``.
"""

pytestmark = [pytest.mark.long, pytest.mark.timeout(3600)]

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
"""Facts of the owner's scenario, by what they show."""


@pytest.mark.parametrize("release", sorted(CODENAMES))
def test_packages_from_a_repository(release, make_packages, run_scenario, fresh_root, tmp_path):
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
def test_the_installed_package_passes_tests(release, make_packages, tmp_path):
    shutil.copy(make_packages(release) / "cubist.deb", tmp_path)
    try_installed(release, tmp_path, *TESTS)


def _check_package(package: Path) -> None:
    """Check that it holds the udev rules and the manual, and that lintian (if installed) passes."""
    listed = subprocess.run(["dpkg-deb", "-c", package], capture_output=True, text=True, check=True)
    for name in ("lib/udev/rules.d/70-cubist.rules", "share/man/man1/cubist.1.gz"):
        assert f" ./usr/{name}\n" in listed.stdout
    if shutil.which("lintian") is not None:
        command = ["lintian", "--no-cfg", "--fail-on", "error", str(package)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout


SETTINGS = """[pytest]
addopts = --import-mode=importlib
asyncio_mode = auto
markers =
    long: not here
    quick: these and others
"""
"""Settings for Debian's pytest, which is too old for some of ours."""

TAKE_PICTURES = """
import json

import cv2
import numpy as np

film = "/tmp/film.mp4"
code = cv2.VideoWriter.fourcc(*"mp4v")
assert not cv2.VideoWriter(film, code, 10, (64, 48)).isOpened()
assert not cv2.VideoCapture(film).isOpened()
assert not cv2.VideoCapture("/dev/video99", cv2.CAP_V4L2).isOpened()
black = np.zeros((48, 64, 3), dtype=np.uint8)
read = {kind: cv2.imdecode(cv2.imencode(kind, black)[1], 1) for kind in (".jpg", ".png", ".webp")}
print(json.dumps({kind: not (picture - black).any() for kind, picture in read.items()}))
"""
"""Program that shows: OpenCV without FFmpeg refuses video, and still reads and writes pictures."""


def try_installed(release: str, share: Path, *tests: str, architecture: str | None = None) -> None:
    """Install ``share/cubist.deb`` in a fresh root, use it, and run ``tests`` against it."""
    facelets, rgb = scan(1)
    (share / "scan.json").write_text(document(rgb))
    copies = share / "tests"
    ignored = shutil.ignore_patterns("__pycache__")
    for folder in ("tests", "config"):
        shutil.copytree(CHECKOUT / folder, copies / folder, ignore=ignored)
    (copies / "pytest.ini").write_text(SETTINGS)
    (share / "take_pictures.py").write_text(TAKE_PICTURES)
    scenario = Path(__file__).with_name("run_scenario")
    found = go_through(release, share, scenario, *tests, architecture=architecture)
    assert found["machine"] == ("aarch64" if architecture else platform.machine())
    assert (found["install"], found["version"], found["purge"]) == ("0", "0", "0")
    assert json.loads(found["pictures"]) == {".jpg": True, ".png": True, ".webp": True}
    assert json.loads(found["solved"])["length"] == 3
    assert json.loads(found["read"])["facelets"] == facelets
    demo = json.loads(found["demo"])
    assert demo["solved"] is True and demo["violations"] == []
    assert demo["executed_us"] == demo["planned_us"]
    assert found["tests"] == "0"


ARCHITECTURE = "arm64"
REGISTERED = Path("/proc/sys/fs/binfmt_misc/qemu-aarch64")
EMULATED_TESTS = ("tests/solver/cube", "tests/motion", "tests/link/test_plans.py")
"""Tests that an emulated processor finishes in time."""


def why_no_foreign_root() -> str | None:
    if reason := why_no_root() or why_absent("arch-test", "update-binfmts"):
        return reason
    command = ["update-binfmts", "--enable", "qemu-aarch64"]
    told = subprocess.run(command, capture_output=True, text=True, check=False)
    if not REGISTERED.exists():
        return f"the kernel runs no programs of {ARCHITECTURE} here: {told.stderr.strip()}"
    return None


@pytest.mark.parametrize("release", sorted(CODENAMES))
def test_a_package_from_a_pc_runs_on_a_pi(release, tmp_path):
    reason = why_no_foreign_root()
    if reason:
        pytest.skip(reason)
    share = tmp_path / "share"
    share.mkdir()
    bundle_checkout(share / "cubist.bundle")
    made = go_through(release, share, HERE / "arm64_build_scenario")
    assert made["refused"] == made["lacks"] == "2", "make ends with 2 when a recipe fails"
    assert "traceback" not in made
    assert (made["remedy"], made["made"]) == ("0", "0")
    assert f"+deb{release}_{ARCHITECTURE}.deb" in made["name"]
    (share / "facts").unlink()
    try_installed(release, share, *EMULATED_TESTS, architecture=ARCHITECTURE)
