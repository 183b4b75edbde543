"""Signals and odd streams: codes of the contract, JSON in UTF-8, nothing left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from robot.cli.search_job import interruptible
from robot.cli.surroundings import interrupted_by
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


def test_a_terminated_solve_ends_with_code_4() -> None:
    process = subprocess.Popen(
        [*CUBIST, "solve", "-", "--json"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(TURNED + "\n")
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["length"] == 2
        process.terminate()
        _, err = process.communicate()
    assert (process.returncode, err.strip()) == (4, "cubist: stopped")


@pytest.mark.parametrize("encoding", ["utf-8:strict", "ascii"])
def test_bytes_that_are_no_text_spoil_their_line_alone(encoding: str) -> None:
    done = subprocess.run(
        [*CUBIST, "solve", "-", "--json"],
        input=b"\xff\xfe\xc3\xa9\n" + TURNED.encode() + b"\n",
        capture_output=True,
        env=os.environ | {"PYTHONIOENCODING": encoding},
        check=False,
    )
    refused, answer = [json.loads(line) for line in done.stdout.decode("utf-8").splitlines()]
    assert (done.returncode, done.stderr) == (2, b"")
    assert refused["error"] == "bad-notation"
    assert answer["length"] == 2


def test_a_byte_order_mark_is_no_facelet() -> None:
    text = "\ufeff" + TURNED
    done = subprocess.run(
        [*CUBIST, "solve", "-", "--json"], input=text.encode(), capture_output=True, check=False
    )
    assert (done.returncode, json.loads(done.stdout)["state"]) == (0, TURNED)


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
