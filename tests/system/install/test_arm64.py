"""The package for a Raspberry Pi: made on a PC, installed and run by qemu in Debian 12 and 13."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.cli.test_read_command import document
from tests.system.install import debian_root
from tests.system.install.conftest import read_facts, why_no_root

HERE = Path(__file__).parent
CHECKOUT = HERE.parents[2]
ARCHITECTURE = "arm64"
REGISTERED = Path("/proc/sys/fs/binfmt_misc/qemu-aarch64")
TESTS_SETTINGS = """[pytest]
addopts = --import-mode=importlib
asyncio_mode = auto
markers =
    long: not here
    quick: these and others
"""
"""Debian's pytest is too old for some of ours."""

pytestmark = [pytest.mark.long, pytest.mark.timeout(3600)]


def why_no_foreign_root() -> str | None:
    """Why no root of that architecture can be gone through here; None when it can."""
    reason = why_no_root()
    if reason:
        return reason
    absent = [each for each in ("arch-test", "update-binfmts") if shutil.which(each) is None]
    if absent:
        return f"not installed: {', '.join(absent)}"
    command = ["update-binfmts", "--enable", "qemu-aarch64"]
    told = subprocess.run(command, capture_output=True, text=True, check=False)
    if not REGISTERED.exists():
        return f"the kernel runs no programs of {ARCHITECTURE} here: {told.stderr.strip()}"
    return None


@pytest.mark.parametrize("release", sorted(debian_root.CODENAMES))
def test_a_package_from_a_pc_runs_on_a_pi(release: str, tmp_path: Path) -> None:
    reason = why_no_foreign_root()
    if reason:
        pytest.skip(reason)
    share = tmp_path / "share"
    share.mkdir()
    facelets, scan = document(seed=1)
    (share / "scan.json").write_text(json.dumps(scan))
    try:
        made = _made(release, share)
        assert made["refused"] == made["lacks"] == "2", "make ends with 2 when a recipe fails"
        assert "traceback" not in made
        assert (made["remedy"], made["made"]) == ("0", "0")
        assert f"+deb{release}_{ARCHITECTURE}.deb" in made["name"]
        found = _run(release, share)
    except debian_root.NoDebian as error:
        pytest.skip(str(error))
    assert found["machine"] == "aarch64"
    assert (found["install"], found["version"], found["purge"]) == ("0", "0", "0")
    assert json.loads(found["solved"])["length"] == 3
    assert json.loads(found["read"])["facelets"] == facelets
    demo = json.loads(found["demo"])
    assert demo["solved"] is True and demo["violations"] == []
    assert demo["executed_us"] == demo["planned_us"]
    assert found["tests"] == "0"


def _made(release: str, share: Path) -> Mapping[str, str]:
    """Make the package in a root of this machine's architecture."""
    debian_root.bundle_checkout(share / "cubist.bundle")
    with debian_root.place_for(release) as folder:
        root = debian_root.unpacked(release, folder)
        debian_root.run_in(root, release, share, HERE / "arm64_build_scenario")
    return read_facts(share)


def _run(release: str, share: Path) -> Mapping[str, str]:
    """Install and try it in a root of its own architecture."""
    (share / "facts").unlink()
    tests = share / "tests"
    shutil.copytree(
        CHECKOUT / "tests", tests / "tests", ignore=shutil.ignore_patterns("__pycache__")
    )
    (tests / "pytest.ini").write_text(TESTS_SETTINGS)
    with debian_root.place_for(f"{release}-{ARCHITECTURE}") as folder:
        root = debian_root.unpacked(release, folder, ARCHITECTURE)
        debian_root.run_in(root, release, share, HERE / "arm64_run_scenario")
    return read_facts(share)
