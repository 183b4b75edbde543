"""Debian booted with systemd as PID 1: install, solve, survive, upgrade, uninstall."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
CHECKOUT = HERE.parents[1]
BOOT_LIMIT_S = 900
SYSTEM_PYTHON = "/usr/bin/python3"

pytestmark = [pytest.mark.long, pytest.mark.timeout(1800)]


def why_not() -> str | None:
    """Why a container cannot run here; None when it can."""
    if os.geteuid() != 0:
        return "only root may boot a container"
    for program in ("systemd-nspawn", "unshare"):
        if shutil.which(program) is None:
            return f"{program} is not installed"
    if not Path("/lib/systemd/systemd").exists():
        return "this machine has no systemd to boot"
    ours = f"{sys.version_info.major}.{sys.version_info.minor}"
    command = [SYSTEM_PYTHON, "-c", "import ensurepip, sys; print('%d.%d' % sys.version_info[:2])"]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    if found.stdout.strip() != ours:
        return f"{SYSTEM_PYTHON} is not Python {ours} with venv, for which the wheel is built"
    return _why_no_layer()


def _why_no_layer() -> str | None:
    """Overlays above / may be forbidden, or the machine may be a container that may not mount."""
    script = """cd "$0" && mount -t tmpfs none . && cd "$0" && mkdir upper work root &&
        mount -t overlay none -o lowerdir=/,upperdir=upper,workdir=work root"""
    with tempfile.TemporaryDirectory() as folder:
        command = ["unshare", "--mount", "bash", "-c", script, folder]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    return f"mounts are not allowed here: {done.stderr.strip()}" if done.returncode else None


@pytest.fixture(scope="module")
def facts(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """What the scenario found, by name."""
    reason = why_not()
    if reason:
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("container")
    share = folder / "share"
    share.mkdir()
    for name in ("scenario", "simulated_robot.py"):
        shutil.copy(HERE / name, share / name)
    _collect_wheels(share / "wheels", folder / "build")
    _boot(folder)
    log = share / "log"
    text = log.read_text(errors="replace") if log.exists() else "the scenario did not start"
    found = (share / "facts").read_text() if (share / "facts").exists() else ""
    facts = dict(line.split("=", 1) for line in found.splitlines())
    assert facts.get("finished") == "yes", text[-8000:]
    print(text)
    return facts


def _collect_wheels(wheels: Path, build: Path) -> None:
    """Cubist and all it needs, so that the container wants no network."""
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--prefer-binary"]
    command += ["--no-build-isolation", "--config-settings", f"build-dir={build}"]
    subprocess.run([*command, "-w", str(wheels), str(CHECKOUT)], check=True)


def _boot(folder: Path) -> None:
    """Run the container to its end; its mounts go with its namespace."""
    command = ["unshare", "--mount", "--propagation", "private", str(HERE / "boot")]
    with (folder / "console").open("wb") as console:
        container = subprocess.Popen(
            [*command, str(folder), str(CHECKOUT)],
            stdin=subprocess.DEVNULL,
            stdout=console,
            stderr=console,
            start_new_session=True,
        )
    try:
        container.wait(BOOT_LIMIT_S)
    finally:
        if container.poll() is None:
            os.killpg(container.pid, signal.SIGKILL)
            container.wait()


def test_installing_starts_a_ready_service(facts: Mapping[str, str]) -> None:
    assert facts["install"] == facts["start"] == "0"
    assert facts["idle"] == '"state": "idle"'
    assert int(facts["ready_ms"]) < 60_000


def test_the_button_solves_the_cube(facts: Mapping[str, str]) -> None:
    assert facts["solved"] == "yes"
    assert facts["verdict"] == "solved=True,violations=0"


def test_a_killed_and_a_hung_daemon_are_started_again(facts: Mapping[str, str]) -> None:
    assert facts["restarted"] == facts["unhung"] == "yes"


def test_stopping_in_the_middle_of_a_job_is_fast_and_safe(facts: Mapping[str, str]) -> None:
    assert int(facts["stop_ms"]) < 10_000
    assert facts["stop_result"] == "success"
    assert facts["stopped"] == "yes"
    assert facts["verdict_after_stop"].endswith("violations=0")


def test_strangers_may_not_talk_to_it(facts: Mapping[str, str]) -> None:
    assert facts["stranger"] == "3"


def test_a_failed_upgrade_leaves_the_old_version_running(facts: Mapping[str, str]) -> None:
    assert facts["failed_upgrade"] == facts["old_version_stays"] == "yes"
    assert facts["still_active"] == "active"


def test_an_upgrade_keeps_the_calibration(facts: Mapping[str, str]) -> None:
    assert (facts["upgrade"], facts["new_version"]) == ("0", "yes")
    assert (facts["active_again"], facts["calibration_kept"]) == ("active", "1510")


def test_uninstalling_keeps_what_is_the_owner_s(facts: Mapping[str, str]) -> None:
    assert facts["uninstall"] == "0"
    assert facts["unit_gone"] == facts["state_kept"] == "yes"
