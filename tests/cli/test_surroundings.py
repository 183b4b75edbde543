"""Signals and odd streams: codes of the contract, JSON in UTF-8, nothing left behind."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from robot.api.paths import Simulation, announced, control_socket
from robot.cli.output import (
    PATIENCE_S,
    Interrupts,
    ending_once,
    interrupted_by,
    run_async,
)
from robot.cli.search_job import interruptible
from solver.solution import CancelFlag

CUBIST = (sys.executable, "-m", "robot.cli.main")
TURNED = "UUUUUUFFFUBBRRRRRRRRRFFDFFDDDBDDBDDBFFDLLLLLLLLLUBBUBB"


def test_an_interrupt_waits_for_the_search_it_cancels() -> None:
    ended = []

    def search(flag: CancelFlag) -> None:
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        while not flag.is_set():
            time.sleep(0.001)
        time.sleep(0.05)
        ended.append(True)

    with pytest.raises(KeyboardInterrupt):
        interruptible(search)
    assert ended == [True]


@pytest.mark.parametrize("ignored", [False, True], ids=["", "ctrl-c-ignored"])
def test_a_termination_is_an_interrupt(ignored: bool) -> None:
    before = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, signal.SIG_IGN if ignored else signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt), interrupted_by(signal.SIGTERM):
            signal.raise_signal(signal.SIGTERM)
    finally:
        signal.signal(signal.SIGINT, before)


def test_what_nohup_ignores_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with interrupted_by(signal.SIGHUP):
            signal.raise_signal(signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)


def test_only_the_first_interrupt_counts_until_patience_is_over() -> None:
    now = [100.0]
    interrupts = Interrupts(lambda: now[0])
    assert interrupts.counts()
    assert not interrupts.counts()
    now[0] += PATIENCE_S - 0.1
    assert not interrupts.counts()
    now[0] += 0.2
    assert interrupts.counts()
    assert not interrupts.counts()


def test_interrupts_do_not_disturb_how_a_command_ends() -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    ended = []
    try:
        with pytest.raises(KeyboardInterrupt), ending_once():
            try:
                signal.raise_signal(signal.SIGINT)
            finally:
                signal.raise_signal(signal.SIGINT)
                ended.append(True)
        signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)
    assert ended == [True]


@pytest.mark.parametrize("ignored", [False, True], ids=["", "ctrl-c-ignored"])
def test_interrupts_end_what_is_awaited_once_and_in_order(ignored: bool) -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN if ignored else signal.default_int_handler)
    ended = []

    async def work() -> str:
        try:
            signal.raise_signal(signal.SIGINT)
            await asyncio.sleep(0 if ignored else 600)
            return "undisturbed"
        finally:
            for _ in range(3):
                signal.raise_signal(signal.SIGINT)
                await asyncio.sleep(0)
            ended.append(True)

    try:
        if ignored:
            assert run_async(work()) == "undisturbed"
        else:
            with pytest.raises(KeyboardInterrupt):
                run_async(work())
    finally:
        signal.signal(signal.SIGINT, before)
    assert ended == [True]


def test_a_search_that_is_interrupted_again_and_again_says_so_once() -> None:
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        pytest.skip("this run was started to ignore interrupts, as would the command be")
    process = subprocess.Popen(
        [*CUBIST, "solve", "-", "--json", "--time-limit", "600", "--target", "1"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("\n" + "U" * 54 + "\n" + "R U F" * 5 + "\n")
        process.stdin.flush()
        assert "error" in json.loads(process.stdout.readline())
        while process.poll() is None:
            process.send_signal(signal.SIGINT)
            time.sleep(0.005)
        _, err = process.communicate()
    assert (process.returncode, err.strip()) == (4, "cubist: stopped")


@pytest.mark.parametrize("encoding", ["utf-8:strict", "ascii"])
def test_bytes_that_are_no_text_spoil_their_line_alone(encoding: str) -> None:
    """A mark of the byte order at the start is no facelet."""
    line = TURNED.encode() + b"\n"
    done = subprocess.run(
        [*CUBIST, "solve", "-", "--json"],
        input=b"\xef\xbb\xbf" + line + b"\xff\xfe\xc3\xa9\n" + line,
        capture_output=True,
        env=os.environ | {"PYTHONIOENCODING": encoding},
        check=False,
    )
    first, refused, last = [json.loads(line) for line in done.stdout.decode("utf-8").splitlines()]
    assert (done.returncode, done.stderr) == (2, b"")
    assert refused["error"] == "bad-notation"
    assert first["length"] == last["length"] == 2


@pytest.mark.parametrize(
    ("redirection", "code", "said"),
    [
        (">&-", 0, ""),
        ("<&-", 2, "Usage: cubist solve"),
        (">/dev/full", 2, "cubist: No space left on device"),
    ],
)
def test_closed_and_full_streams(redirection: str, code: int, said: str) -> None:
    script = f'"$0" -m robot.cli.main solve - --json {redirection} <<< {TURNED}'
    if "<" in redirection:
        script = f'"$0" -m robot.cli.main solve - --json {redirection}'
    done = subprocess.run(
        ["bash", "-c", script, sys.executable], capture_output=True, text=True, check=False
    )
    assert done.returncode == code
    assert done.stderr.startswith(said)
    assert "Traceback" not in done.stderr
    assert bool(done.stderr) == bool(said)


@pytest.mark.parametrize(
    ("refusal", "found"),
    [(PermissionError, "real"), (ConnectionRefusedError, "simulated"), (None, "real")],
)
def test_a_real_robot_comes_before_a_simulated_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, refusal: type[OSError] | None, found: str
) -> None:
    """Also one whose daemon we may not talk to: nobody is to believe that they play."""

    class Line(socket.socket):
        def connect(self, address: object) -> None:
            if refusal is not None:
                raise refusal

    monkeypatch.setattr("robot.api.paths.socket.socket", Line)
    usual = Path("/run/cubist/control.sock")
    monkeypatch.setattr("robot.api.paths.runtime_directory", lambda _: usual.parent)
    environ = {"XDG_RUNTIME_DIR": str(tmp_path)}
    playing = Simulation(os.getpid(), "cubotino", tmp_path / "demo")
    with announced(playing, environ):
        expected = {"real": usual, "simulated": playing.control_socket}[found]
        assert control_socket(environ) == expected
