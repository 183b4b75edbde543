"""The package for a Raspberry Pi: made on a PC, installed and run by qemu in Debian 12 and 13."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.cli.test_read_command import document
from tests.system.install.debian_root import (
    CHECKOUT,
    CODENAMES,
    bundle_checkout,
    go_through,
    why_absent,
    why_no_root,
)

HERE = Path(__file__).parent
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
    if reason := why_no_root() or why_absent("arch-test", "update-binfmts"):
        return reason
    command = ["update-binfmts", "--enable", "qemu-aarch64"]
    told = subprocess.run(command, capture_output=True, text=True, check=False)
    if not REGISTERED.exists():
        return f"the kernel runs no programs of {ARCHITECTURE} here: {told.stderr.strip()}"
    return None


@pytest.mark.parametrize("release", sorted(CODENAMES))
def test_a_package_from_a_pc_runs_on_a_pi(release: str, tmp_path: Path) -> None:
    reason = why_no_foreign_root()
    if reason:
        pytest.skip(reason)
    share = tmp_path / "share"
    share.mkdir()
    facelets, scan = document(seed=1)
    (share / "scan.json").write_text(json.dumps(scan))
    bundle_checkout(share / "cubist.bundle")
    made = go_through(release, share, HERE / "arm64_build_scenario")
    assert made["refused"] == made["lacks"] == "2", "make ends with 2 when a recipe fails"
    assert "traceback" not in made
    assert (made["remedy"], made["made"]) == ("0", "0")
    assert f"+deb{release}_{ARCHITECTURE}.deb" in made["name"]
    (share / "facts").unlink()
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(CHECKOUT / "tests", share / "tests/tests", ignore=ignored)
    (share / "tests/pytest.ini").write_text(TESTS_SETTINGS)
    scenario = HERE / "arm64_run_scenario"
    found = go_through(release, share, scenario, architecture=ARCHITECTURE)
    assert found["machine"] == "aarch64"
    assert (found["install"], found["version"], found["purge"]) == ("0", "0", "0")
    assert json.loads(found["solved"])["length"] == 3
    assert json.loads(found["read"])["facelets"] == facelets
    demo = json.loads(found["demo"])
    assert demo["solved"] is True and demo["violations"] == []
    assert demo["executed_us"] == demo["planned_us"]
    assert found["tests"] == "0"
