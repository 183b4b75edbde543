"""The service's files: hardened, consistent with each other and with the program."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from robot.daemon.main import POWER_OFF_MARK
from robot.daemon.service import parse

FOLDER = Path(__file__).resolve().parents[2] / "systemd"
needs_analyze = pytest.mark.skipif(
    shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed"
)


@needs_analyze
def test_the_service_is_hardened() -> None:
    done = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", "--no-pager", "./cubistd.service"],
        cwd=FOLDER,
        capture_output=True,
        text=True,
        check=True,
    )
    found = re.search(r"Overall exposure level for cubistd.service: ([0-9.]+)", done.stdout)
    assert found is not None
    assert float(found[1]) <= 2.0


@needs_analyze
def test_the_units_are_understood(tmp_path: Path) -> None:
    for unit in ("cubistd.service", "cubist-poweroff.path", "cubist-poweroff.service"):
        text = (FOLDER / unit).read_text()
        # The program is not installed here; its path and the manual are another test's.
        text = text.replace("/opt/cubist/current/bin/cubistd", "/bin/true")
        text = re.sub("^Documentation=.*\n", "", text, flags=re.MULTILINE)
        (tmp_path / unit).write_text(text)
    done = subprocess.run(
        ["systemd-analyze", "verify", *map(str, tmp_path.iterdir())],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"SYSTEMD_LOG_LEVEL": "warning"},
    )
    ours = [line for line in done.stderr.splitlines() if "cubist" in line]
    assert ours == []


def test_the_settings_file_is_understood() -> None:
    text = (FOLDER / "cubistd.env").read_text()
    settings = dict(re.findall(r"^#?(CUBIST_\w+)=(.*)$", text, re.MULTILINE))
    options = parse([], settings | {"CUBIST_RUNTIME_DIR": "/r", "CUBIST_STATE_DIR": "/s"})
    assert (options.profile, options.port, options.log_level) == ("cubotino", "/dev/cubist", "info")


def test_the_power_off_mark_is_the_one_that_is_waited_for() -> None:
    path = f"/run/cubist/{POWER_OFF_MARK}"
    assert f"PathExists={path}" in (FOLDER / "cubist-poweroff.path").read_text()
    assert path in (FOLDER / "cubist-poweroff.service").read_text()


SCRIPTS = ["deb", "install", "uninstall", "debian/postinst", "debian/prerm", "debian/postrm"]


@pytest.mark.parametrize("script", SCRIPTS)
def test_the_scripts_are_valid_and_executable(script: str) -> None:
    assert os.access(FOLDER / script, os.X_OK)
    shell = (FOLDER / script).read_text().splitlines()[0].rsplit("/", 1)[-1].split()[-1]
    subprocess.run([shell, "-n", str(FOLDER / script)], check=True)


def test_uninstalling_removes_what_installing_made_but_keeps_what_is_calibrated(
    tmp_path: Path,
) -> None:
    kept = ["etc/cubist/cubistd.env", "var/lib/cubist/calibration.json"]
    gone = ["opt/cubist/current/bin/cubistd", "etc/systemd/system/cubistd.service"]
    for name in kept + gone:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    environment = os.environ | {"DESTDIR": str(tmp_path)}
    subprocess.run([str(FOLDER / "uninstall")], env=environment, check=True, capture_output=True)
    assert all((tmp_path / name).exists() for name in kept)
    assert not any((tmp_path / name).exists() for name in gone)
    command = [str(FOLDER / "uninstall"), "--purge"]
    subprocess.run(command, env=environment, check=True, capture_output=True)
    assert not any((tmp_path / name).exists() for name in kept)
