"""How `cubistd` starts, and with what it ends when it cannot."""

from __future__ import annotations

import os
import pwd
from collections.abc import Callable
from pathlib import Path

import pytest

from robot.api import paths
from robot.api.paths import control_socket, runtime_directory, state_directory
from robot.daemon.main import main
from robot.daemon.service import parse
from robot.settings import profile_path


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


def test_flags_outweigh_the_environment_and_that_the_usual_places() -> None:
    environment = {
        "CUBIST_PROFILE": "mindcuber",
        "RUNTIME_DIRECTORY": "/run/cubist:/run/more",
        "STATE_DIRECTORY": "/var/lib/cubist",
        "CUBIST_PORT": "/dev/ttyUSB7",
    }
    options = parse([], environment)
    assert (options.profile, options.port) == ("mindcuber", "/dev/ttyUSB7")
    assert options.socket_path == Path("/run/cubist/control.sock")
    assert parse(["--profile", "four-arm"], environment).profile == "four-arm"


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


def test_clients_and_daemon_look_in_the_same_places() -> None:
    own = {"CUBIST_RUNTIME_DIR": "/r", "CUBIST_STATE_DIR": "/s"}
    assert runtime_directory(own) == Path("/r")
    assert control_socket(own) == Path("/r/control.sock")
    assert state_directory(own) == Path("/s")
