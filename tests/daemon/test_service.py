"""``cubistd`` as a service: its start and its flags, its lock, and what manager and journal get."""

from __future__ import annotations

import os
import pwd
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from robot.api import paths
from robot.api.endpoints import RobotState
from robot.api.models import ALLOWED, WORKING, check_transition
from robot.api.paths import runtime_directory, state_directory
from robot.daemon.main import main
from robot.daemon.service import Notifier, hold_lock, parse
from robot.settings import profile_path
from solver.errors import InvalidRequest


def start(folder: Path, *more: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["--runtime-dir", str(folder / "run"), "--state-dir", str(folder / "state"), *more])
    assert isinstance(ended.value.code, int)
    return ended.value.code


def test_bad_configuration_is_for_a_person_and_never_tried_again(tmp_path: Path) -> None:
    broken = tmp_path / "mine.yaml"
    broken.write_text(profile_path("cubotino").read_text().replace("size: 3", "sise: 3"))
    assert start(tmp_path, "--profile", "none-such") == 2
    assert start(tmp_path, "--profile", str(broken)) == 2
    simulated = tmp_path / "simulated.yaml"
    shipped = profile_path("cubotino").read_text()
    simulated.write_text(shipped.replace("kind: picamera2", "kind: simulated"))
    assert start(tmp_path, "--profile", str(simulated)) == 2  # without --twin


def test_a_simulated_robot_that_is_not_there_is_the_robot_s_failure(tmp_path: Path) -> None:
    assert start(tmp_path, "--twin", str(tmp_path / "twin.sock"), "--port", "/dev/null") == 3


def test_a_directory_that_cannot_be_made_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "run").write_text("")
    assert start(tmp_path) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert " ERROR   " in line and str(tmp_path / "run") in line


@pytest.mark.parametrize("make", [os.mkfifo, Path.mkdir, lambda path: path.symlink_to("/dev/zero")])
def test_a_lock_that_is_no_file_is_named(
    tmp_path: Path, make: Callable[[Path], None], capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "run").mkdir()
    make(tmp_path / "run/cubistd.lock")
    assert start(tmp_path) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "cubistd.lock: " in line and line.endswith("remove it")


def test_the_journal_is_told_what_is_wrong_as_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("JOURNAL_STREAM", "8:1234")
    assert start(tmp_path, "--profile", "none-such") == 2
    lines = capsys.readouterr().err.splitlines()
    assert lines and all(line.startswith("<3>") for line in lines)


SETTINGS = {
    "profile": ("mindcuber", "v-arms", "cubotino"),
    "runtime_dir": ("/r", "/a", None),
    "state_dir": ("/s", "/b", None),
    "size": ("4", "2", None),
    "port": ("/dev/tty", "/p", None),
    "twin": ("/t", "/q", None),
    "log_level": ("debug", "error", "info"),
}
"""By option: what the environment has, what its flag has, and the default."""


@pytest.mark.parametrize("name", SETTINGS)
def test_a_flag_comes_before_the_environment(name: str) -> None:
    own, given, default = SETTINGS[name]
    environment = {f"CUBIST_{name.upper()}": own}
    flag = f"--{name.replace('_', '-')}"
    assert str(getattr(parse([], environment), name)) == own
    assert str(getattr(parse([flag, given], environment), name)) == given
    if not name.endswith("_dir"):
        assert getattr(parse([], {}), name) == default


def test_an_account_without_home_is_asked_for_a_directory(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def unknown(_: int) -> None:
        raise KeyError

    monkeypatch.delenv("HOME")
    monkeypatch.setattr(pwd, "getpwuid", unknown)
    monkeypatch.setattr(paths, "SYSTEM_STATE", tmp_path / "none")
    with pytest.raises(SystemExit, match="2"):
        parse([], {})
    assert "no home directory: set CUBIST_STATE_DIR" in capsys.readouterr().err
    assert parse(["--state-dir", "/s"], {}).state_dir == Path("/s")


def test_the_service_s_directories_come_before_the_user_s(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    service = tmp_path / "service"
    monkeypatch.setattr(paths, "SYSTEM_RUNTIME", service)
    monkeypatch.setattr(paths, "SYSTEM_STATE", service)
    own = {"XDG_RUNTIME_DIR": "/r", "XDG_STATE_HOME": "/s"}
    assert runtime_directory(own) == Path("/r/cubist")
    assert state_directory(own) == Path("/s/cubist")
    fallback = Path(f"/tmp/cubist-{os.getuid()}/cubist")
    assert runtime_directory({}) == runtime_directory({"XDG_RUNTIME_DIR": "r"}) == fallback
    service.mkdir()
    assert runtime_directory(own) == state_directory(own) == service


HOLDER = """
import sys, time
from pathlib import Path
from robot.daemon.service import hold_lock
with hold_lock(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


def test_a_second_owner_is_told_who_holds_the_lock(tmp_path: Path) -> None:
    path = tmp_path / "cubistd.lock"
    with (
        hold_lock(path),
        pytest.raises(InvalidRequest, match=f"process {os.getpid()}"),
        hold_lock(path),
    ):
        pass
    with hold_lock(path):
        pass


def test_a_killed_owner_leaves_no_lock(tmp_path: Path) -> None:
    path = tmp_path / "cubistd.lock"
    command = [sys.executable, "-c", HOLDER, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(InvalidRequest, match=str(holder.pid)), hold_lock(path):
            pass
        holder.send_signal(signal.SIGKILL)
        holder.wait()
    with hold_lock(path):
        pass


@pytest.mark.parametrize("abstract", [False, True])
def test_the_service_manager_hears_how_it_is(abstract: bool, tmp_path: Path) -> None:
    address = f"@cubist-test-{os.getpid()}" if abstract else str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind("\0" + address[1:] if abstract else address)
        manager.settimeout(30)
        notifier = Notifier(address)
        notifier.ready("two\nlines  here")
        notifier.status("idle")
        notifier.alive()
        notifier.stopping("bye")
        heard = [manager.recv(1000).decode() for _ in range(4)]
    assert heard == [
        "READY=1\nSTATUS=two lines here",
        "STATUS=idle",
        "WATCHDOG=1",
        "STOPPING=1\nSTATUS=bye",
    ]
    notifier.alive()  # the manager has gone
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        if not abstract:
            Path(address).unlink()
        manager.bind("\0" + address[1:] if abstract else address)
        notifier.status("back")
        assert manager.recv(200) == b"STATUS=back"
    Notifier(None).alive()


@pytest.mark.parametrize(
    ("environ", "watchdog_s"),
    [
        ({"WATCHDOG_USEC": "3000000"}, 3.0),
        ({"WATCHDOG_USEC": "3000000", "WATCHDOG_PID": str(os.getpid())}, 3.0),
        ({"WATCHDOG_USEC": "3000000", "WATCHDOG_PID": "1"}, None),
        ({"WATCHDOG_USEC": "0"}, None),
        ({"WATCHDOG_USEC": "x"}, None),
        ({}, None),
    ],
)
def test_the_watchdog_is_this_process_s(environ: dict[str, str], watchdog_s: float | None) -> None:
    found = Notifier.from_environment(environ | {"NOTIFY_SOCKET": "/n"})
    assert found == Notifier("/n", watchdog_s)
    assert Notifier.from_environment({}) == Notifier(None, None)


def test_every_state_can_end_in_idle_or_a_fault() -> None:
    assert set(ALLOWED) == set(RobotState)
    for state in RobotState:
        check_transition(state, RobotState.IDLE)
        if state in WORKING:
            check_transition(state, RobotState.FAULT)
    with pytest.raises(RuntimeError, match="checking cannot follow idle"):
        check_transition(RobotState.IDLE, RobotState.CHECKING)


PROGRAM = """
import logging
from robot.daemon.service import configure_logging
configure_logging("info")
log = logging.getLogger("cubistd")
log.debug("hidden")
log.info("said")
log.warning("warned")
try:
    raise ValueError("reason")
except ValueError:
    log.exception("failed")
"""


def logged(environment: dict[str, str]) -> list[str]:
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return done.stderr.splitlines()


def test_the_journal_gets_a_level_with_every_line() -> None:
    lines = logged({"JOURNAL_STREAM": "8:1234"})
    assert lines[:3] == ["<6>said", "<4>warned", "<3>failed"]
    assert lines[-1] == "<3>ValueError: reason"
    assert all(line.startswith("<3>") for line in lines[2:])


def test_elsewhere_lines_are_for_the_eye() -> None:
    first, second, *_ = logged({})
    assert first.endswith("INFO    said")
    assert second.endswith("WARNING warned")
