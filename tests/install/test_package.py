"""The Debian package: it can be made, holds the service, and lintian finds no error in it."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]

pytestmark = [
    pytest.mark.long,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(shutil.which("dpkg-deb") is None, reason="dpkg-deb is not installed"),
    pytest.mark.skipif(shutil.which("lintian") is None, reason="lintian is not installed"),
]


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package, freshly made."""
    path = tmp_path_factory.mktemp("deb") / "cubist.deb"
    environment = os.environ | {"CUBIST_DEB": str(path)}
    subprocess.run([str(CHECKOUT / "systemd" / "deb")], env=environment, check=True)
    return path


def test_it_holds_the_service(package: Path) -> None:
    listed = subprocess.run(["dpkg-deb", "-c", str(package)], capture_output=True, check=True)
    names = {line.split()[5] for line in listed.stdout.decode().splitlines()}
    for name in (
        "usr/lib/cubist/bin/cubistd",
        "usr/lib/systemd/system/cubistd.service",
        "usr/lib/udev/rules.d/70-cubist.rules",
        "usr/share/man/man1/cubist.1.gz",
        "etc/cubist/cubistd.env",
    ):
        assert f"./{name}" in names


def test_lintian_finds_no_error(package: Path) -> None:
    done = subprocess.run(
        ["lintian", "--no-cfg", "--fail-on", "error", str(package)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
