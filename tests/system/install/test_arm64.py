"""The package for a Raspberry Pi: made on a PC, installed and run by qemu in Debian 12 and 13."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.system.install.debian_root import (
    CODENAMES,
    bundle_checkout,
    go_through,
    why_absent,
    why_no_root,
)
from tests.system.install.installed import try_installed

HERE = Path(__file__).parent
ARCHITECTURE = "arm64"
REGISTERED = Path("/proc/sys/fs/binfmt_misc/qemu-aarch64")
TESTS = ("tests/solver/cube", "tests/motion", "tests/link/test_plans.py")
"""Those that an emulated processor runs in time."""

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
    bundle_checkout(share / "cubist.bundle")
    made = go_through(release, share, HERE / "arm64_build_scenario")
    assert made["refused"] == made["lacks"] == "2", "make ends with 2 when a recipe fails"
    assert "traceback" not in made
    assert (made["remedy"], made["made"]) == ("0", "0")
    assert f"+deb{release}_{ARCHITECTURE}.deb" in made["name"]
    (share / "facts").unlink()
    try_installed(release, share, *TESTS, architecture=ARCHITECTURE)
