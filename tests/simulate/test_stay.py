"""`cubist simulate`: a robot that stays, which every other command finds by itself."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from robot.api.client import ControlClient
from robot.api.paths import Simulation, announced, control_socket, running_simulation
from robot.cli.main import run
from solver.errors import CubistError

READY_S = 120
SPEED = "20"
HOSTILE_SEED = b'{"do": "scramble", "seed": [1]}'

Ask = Callable[..., tuple[int, str, str]]


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Yield the only folder in which this test looks for daemons."""
    monkeypatch.delenv("CUBIST_RUNTIME_DIR", raising=False)
    monkeypatch.delenv("RUNTIME_DIRECTORY", raising=False)
    monkeypatch.setattr("robot.api.paths.SYSTEM_RUNTIME", Path("/nonexistent"))
    with tempfile.TemporaryDirectory(prefix="cubist-test-") as folder:
        monkeypatch.setenv("XDG_RUNTIME_DIR", folder)
        yield Path(folder)


@contextlib.contextmanager
def simulating(
    *options: str, wrapper: tuple[str, ...] = ()
) -> Iterator[tuple[subprocess.Popen[str], Any]]:
    """Run the command in a separate process; yield it and the line that reports it ready."""
    command = [sys.executable, "-m", "robot.cli.main", "simulate", "--speed", SPEED, "--json"]
    with subprocess.Popen(
        [*wrapper, *command, *options],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process, json.loads(process.stdout.readline())
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(READY_S)


@pytest.fixture
def ask(capfd: pytest.CaptureFixture[str]) -> Ask:
    def call(*arguments: str) -> tuple[int, str, str]:
        capfd.readouterr()
        code = run(list(arguments))
        return code, *capfd.readouterr()

    return call


def told(line: bytes) -> Any:
    """Return the answer of the hands to a line of bytes."""
    simulation = running_simulation()
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(simulation.hand_socket))
        connection.sendall(line + b"\n")
        return json.loads(connection.makefile("rb").readline())


def test_every_command_finds_it(place, ask):
    with simulating("--robot", "two-arm-2x2x2") as (process, ready):
        page = ready.pop("web")
        assert ready == {"socket": str(control_socket()), "robot": "two-arm-2x2x2"}
        assert ask("web")[1] == f"{page}\n"
        with urllib.request.urlopen(page) as served:
            assert b"<title>Cubist</title>" in served.read()
        code, status, note = ask("status")
        assert (code, "two-arm-2x2x2, simulated" in status) == (0, True)
        assert note.startswith("simulated two-arm-2x2x2, 20 times as fast as a real one")
        assert str(process.pid) in note and note.count("\n") == 1
        code, lines, _ = ask("doctor", "--json")
        found = {one["about"]: one["verdict"] for one in map(json.loads, lines.splitlines())}
        assert (code, found) == (0, {"robot": "ok", "daemon": "ok"}), "not this computer"
        _, lines, _ = ask("doctor", "--json", "--robot", "two-arm-2x2x2")
        (own,) = (one for one in map(json.loads, lines.splitlines()) if one["about"] == "daemon")
        assert own["verdict"] == "warning", "a simulated robot's daemon is not this computer's"
        assert json.loads(ask("status", "--json")[1])["simulated"] is True
        code, lines, _ = ask("test", "--cycles", "1", "--json")
        assert (code, json.loads(lines.splitlines()[0])["outcome"]) == (0, "solved"), lines
        assert ask("start", "--json")[1].count("already-solved") == 1
        runs = [json.loads(line) for line in ask("runs", "--json")[1].splitlines()]
        assert {one["kind"] for one in runs} == {"solve", "scramble"}
        code, shown, note = ask("runs", "show", runs[0]["id"])
        assert (code, "simulated" in shown, note.count("simulated")) == (0, False, 1)
        code, _, error = ask("simulate")
        assert (code, "is already running (two-arm-2x2x2, process" in error) == (3, True)
    assert process.returncode == 0
    assert list(place.iterdir()) == []
    assert ask("status")[0] == 3


@pytest.mark.parametrize("is_background_job", [pytest.param(False, marks=pytest.mark.long), True])
def test_one_is_killed_and_the_next_ends_in_order_while_clients_are_connected(
    place, ask, is_background_job
):
    with simulating() as (process, ready):
        process.kill()
        process.wait(READY_S)
        assert running_simulation() is None
        assert ask("status")[0] == 3
    # A script's background job ignores Ctrl-C, and nothing else.
    wrapper = ("env", "--ignore-signal=INT") if is_background_job else ()
    with contextlib.ExitStack() as clients, simulating(wrapper=wrapper) as (process, _):
        assert not Path(ready["socket"]).exists()
        simulation = running_simulation()
        for path in (simulation.hand_socket, simulation.control_socket):
            client = clients.enter_context(socket.socket(socket.AF_UNIX))
            client.connect(str(path))
        assert ask("start", "--no-wait")[0] == 0
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=READY_S)
    assert (process.returncode, said) == (0, "ended\n")
    assert list(place.iterdir()) == []


def test_hands_take_the_cube_and_faults_come_and_go(place, ask):
    with simulating("--robot", "cubotino", "--scramble", "R U F") as (process, _):
        code, line, _ = ask("simulate", "remove")
        assert (code, line.count("\n")) == (0, 1)
        ended = ask("start")[1]
        assert "no-cube" in ended and ended.count("no cube is in view") == 1, ended
        assert ask("simulate", "insert")[0] == 0
        code, line, _ = ask("simulate", "fault", "jam:lid@turn", "--json")
        assert (code, json.loads(line)["done"]) == (0, True)
        code, ended, _ = ask("start")
        assert code != 0 and " after " in ended, "a fault at a stage happens in that stage"
        assert ask("simulate", "mend")[0] == 0
        assert ask("start")[1].startswith("solved")
        unknown = ("jam", "rain", "jam:rain", "lost-steps:lid", "jam:lid@rain")
        for wrong in (*(("fault", name) for name in unknown), ("scramble", "R X")):
            code, line, error = ask("simulate", *wrong)
            assert (code, line) == (2, ""), wrong
            assert any(word in error for word in ("choose from", "is not a move", "has none"))
        for line in (b"", b"{", b"[1]", b"7", b'{"do": []}', b"x" * 20_000, HOSTILE_SEED):
            assert "error" in told(line), line
        assert ask("simulate", "scramble", "--seed", "5")[0] == 0
        with ControlClient().maintenance():
            assert "being calibrated" in ask("simulate", "scramble")[2]
        assert ask("simulate", "scramble", "R U F")[0] == 0
        ask("start", "--no-wait")
        assert "wait until it ends" in ask("simulate", "remove")[2]
        ask("stop")
        assert ask("shutdown", "--yes")[0] == 0
        assert process.wait(READY_S) == 0
    assert list(place.iterdir()) == []


def test_a_real_robot_comes_first(place):
    usual = place / "cubist" / "control.sock"
    usual.parent.mkdir()
    simulation = Simulation(os.getpid(), "cubotino", place / "simulated")
    assert control_socket() == usual
    with announced(simulation):
        assert running_simulation() == simulation
        assert control_socket() == simulation.control_socket
        with socket.socket(socket.AF_UNIX) as daemon:
            daemon.bind(str(usual))
            daemon.listen()
            assert control_socket() == usual


@pytest.mark.parametrize("text", ["", "{", "[]", '{"process": "x", "robot": 1, "folder": 2}'])
def test_a_damaged_announcement_is_none(place, text):
    file = place / "cubist-simulation.json"
    file.write_text(text)
    with file.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert running_simulation() is None
        with (
            pytest.raises(CubistError, match="simulated robot"),
            announced(Simulation(1, "x", place)),
        ):
            pass
