"""The lock dies with its process; the service manager hears how we are."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from robot.api.endpoints import RobotState
from robot.api.models import ALLOWED, WORKING, check_transition
from robot.daemon.service import Notifier, owned
from robot.text.faults import Conflict

HOLDER = """
import sys, time
from pathlib import Path
from robot.daemon.service import owned
with owned(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


def test_a_second_owner_is_told_who_holds_the_lock(tmp_path: Path) -> None:
    path = tmp_path / "cubistd.lock"
    with (
        owned(path),
        pytest.raises(Conflict, match=f"process {os.getpid()}"),
        owned(path),
    ):
        pass
    with owned(path):
        pass


def test_a_killed_owner_leaves_no_lock(tmp_path: Path) -> None:
    path = tmp_path / "cubistd.lock"
    command = [sys.executable, "-c", HOLDER, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(Conflict, match=str(holder.pid)), owned(path):
            pass
        holder.send_signal(signal.SIGKILL)
        holder.wait()
    with owned(path):
        pass


@pytest.fixture
def manager(tmp_path: Path) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    listener.bind(str(tmp_path / "notify"))
    return listener


def test_messages_to_the_manager(manager: socket.socket) -> None:
    notifier = Notifier(manager.getsockname())
    with manager:
        notifier.ready("idle\nREADY=0")
        assert manager.recv(200) == b"READY=1\nSTATUS=idle READY=0"
        notifier.alive()
        assert manager.recv(200) == b"WATCHDOG=1"
        notifier.stopping("bye")
        assert manager.recv(200) == b"STOPPING=1\nSTATUS=bye"


def test_without_a_manager_nothing_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    notifier = Notifier.from_environment({})
    monkeypatch.setattr(socket, "socket", lambda *_: pytest.fail("there is nobody to send to"))
    notifier.ready("idle")
    notifier.alive()


def test_a_manager_that_was_gone_is_told_again_when_it_is_back(tmp_path: Path) -> None:
    notifier = Notifier(str(tmp_path / "notify"))
    notifier.alive()
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(str(tmp_path / "notify"))
        notifier.status("back")
        assert listener.recv(200) == b"STATUS=back"


@pytest.mark.parametrize(
    ("environment", "period"),
    [
        ({"WATCHDOG_USEC": "10000000"}, 10.0),
        ({"WATCHDOG_USEC": "10000000", "WATCHDOG_PID": str(os.getpid())}, 10.0),
        ({"WATCHDOG_USEC": "10000000", "WATCHDOG_PID": "1"}, None),
        ({"WATCHDOG_USEC": "soon"}, None),
        ({}, None),
    ],
)
def test_watchdog_period(environment: dict[str, str], period: float | None) -> None:
    assert Notifier.from_environment(environment).watchdog_s == period


def test_every_state_can_end_in_idle_or_a_fault() -> None:
    assert set(ALLOWED) == set(RobotState)
    for state in RobotState:
        check_transition(state, RobotState.IDLE)
        if state in WORKING:
            check_transition(state, RobotState.FAULT)
    with pytest.raises(RuntimeError, match="checking cannot follow idle"):
        check_transition(RobotState.IDLE, RobotState.CHECKING)
