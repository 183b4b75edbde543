"""Debian booted with systemd as PID 1: install, solve, survive, upgrade, uninstall."""

from __future__ import annotations

import os
import re
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
BOOT_LIMIT_S = 600
SYSTEM_PYTHON = "/usr/bin/python3"
SIMULATOR = CHECKOUT / ".venv/bin/python"
"""What runs the simulated robot in the container, too."""
NEEDED_BYTES = 3 * 1024**3
"""Two versions of the program in memory, and what runs."""

pytestmark = pytest.mark.timeout(BOOT_LIMIT_S + 300)


def why_not() -> str | None:
    """Why a container cannot run here; None when it can."""
    if os.geteuid() != 0:
        return "only root may boot a container"
    for program in ("systemd-nspawn", "unshare"):
        if shutil.which(program) is None:
            return f"{program} is not installed"
    for path, what in (("/lib/systemd/systemd", "systemd"), (SIMULATOR, "the simulated robot")):
        if not Path(path).exists():
            return f"{what} is not to be had here: {path} does not exist"
    if _available_memory() < NEEDED_BYTES:
        return f"less than {NEEDED_BYTES // 1024**3} GB of memory are free"
    return _why_no_program() or _why_no_layer()


def _why_no_program() -> str | None:
    """The program is installed for the system's Python from a wheel made by ours."""
    ours = f"{sys.version_info.major}.{sys.version_info.minor}"
    command = [SYSTEM_PYTHON, "-c", "import ensurepip, sys; print('%d.%d' % sys.version_info[:2])"]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    if found.stdout.strip() != ours:
        return f"{SYSTEM_PYTHON} is not Python {ours} with venv, for which the wheel is built"
    return None


def _available_memory() -> int:
    lines = Path("/proc/meminfo").read_text().splitlines()
    fields = dict(line.split(":") for line in lines)
    return int(fields["MemAvailable"].split()[0]) * 1024


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
    _collect_wheels(share / "wheels")
    _boot(folder)
    log = share / "log"
    if not log.exists():
        console = (folder / "console").read_text(errors="replace").strip()
        pytest.skip(f"no container boots here: {console[-500:]}")
    found = (share / "facts").read_text() if (share / "facts").exists() else ""
    facts = dict(line.split("=", 1) for line in found.splitlines())
    print(log.read_text(errors="replace"))
    assert facts.get("finished") == "yes", f"the scenario did not end, after {found}"
    return facts | {name: (share / name).read_text() for name in ("journal", "warnings")}


def _collect_wheels(wheels: Path) -> None:
    """Cubist and all it needs, so that the container wants no network."""
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--wheel-dir", str(wheels)]
    subprocess.run([*pip, "--no-deps", "--no-build-isolation", str(CHECKOUT)], check=True)
    [wheel] = wheels.glob("cubist-*.whl")
    command = [*pip, "--prefer-binary", str(wheel)]
    fetched = subprocess.run(command, capture_output=True, text=True, check=False)
    if fetched.returncode:
        pytest.skip(f"the packages it needs cannot be fetched: {fetched.stderr.strip()[-500:]}")


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
    except subprocess.TimeoutExpired:
        # What it was at is in the log, which says more than this exception.
        pass
    finally:
        if container.poll() is None:
            os.killpg(container.pid, signal.SIGKILL)
            container.wait()


def test_installing_starts_a_ready_service(facts: Mapping[str, str]) -> None:
    assert (facts["simulated"], facts["install"], facts["active"]) == ("yes", "0", "active")
    assert facts["idle"] == '"state": "idle"'
    assert facts["owner"] == "cubist"


def test_it_is_ready_within_two_seconds_of_processor_time(facts: Mapping[str, str]) -> None:
    assert 0 < float(facts["cpu_s"]) <= 2.0


def test_stopping_in_the_middle_of_a_solve_is_in_order(facts: Mapping[str, str]) -> None:
    assert facts["stop_result"] == "success"  # "timeout" when systemd had to kill it
    assert facts["stopped"] == facts["at_rest"] == "yes"
    assert facts["start_after_stop"] == "0"


def test_a_daemon_killed_or_hung_in_the_middle_of_a_solve_is_started_again(
    facts: Mapping[str, str],
) -> None:
    assert facts["restarted"] == facts["interrupted"] == facts["unhung"] == "yes"


def test_the_button_solves_the_cube(facts: Mapping[str, str]) -> None:
    assert facts["solved"] == facts["verdict"] == "yes"


def test_the_journal_tells_the_story(facts: Mapping[str, str]) -> None:
    told = r"""button: short press
run 000004: solve started
run 000004: finding the home positions
.*run 000004: looking at . \(6 of 6\)
run 000004: searching the soonest way
run 000004: turning: \d+ moves in [\d.]+ s
.*run 000004: solved after [\d.]+ s
"""
    assert re.search(told, facts["journal"], re.DOTALL)


def test_what_is_amiss_is_a_warning(facts: Mapping[str, str]) -> None:
    assert "run 000002 was interrupted; its record is closed\n" in facts["warnings"]
    assert "solve started" not in facts["warnings"]


def test_nothing_unsafe_happened(facts: Mapping[str, str]) -> None:
    assert facts["violations"] == "violations=[]"


def test_only_the_group_may_talk_to_it(facts: Mapping[str, str]) -> None:
    assert facts["stranger"] == "3"
    assert facts["friend"] == "0"


def test_a_failed_upgrade_leaves_the_old_version_running(facts: Mapping[str, str]) -> None:
    assert facts["failed_upgrade"] == facts["old_version_stays"] == "yes"
    assert facts["still_active"] == "active"


def test_an_upgrade_keeps_what_is_the_owner_s(facts: Mapping[str, str]) -> None:
    assert (facts["upgrade"], facts["new_version"]) == ("0", "yes")
    assert (facts["active_again"], facts["calibration_kept"]) == ("active", "1510")
    assert facts["records_kept"] == "yes"


def test_a_very_long_press_switches_off(facts: Mapping[str, str]) -> None:
    assert (facts["powered_off"], facts["ended_in_order"]) == ("yes", "success")


def test_uninstalling_keeps_what_is_the_owner_s(facts: Mapping[str, str]) -> None:
    assert facts["uninstall"] == "0"
    assert facts["unit_gone"] == facts["state_kept"] == "yes"
