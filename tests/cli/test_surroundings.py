"""Signals and odd streams: exit codes of the contract, JSON in UTF-8, nothing left behind."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import pytest

from robot.cli.main import run
from robot.cli.output import PATIENCE_S, Interrupts, interrupted_by, run_async
from robot.cli.search_job import interruptible
from solver.solution import CancelFlag

CUBIST = (sys.executable, "-m", "robot.cli.main")
TURNED = "UUUUUUFFFUBBRRRRRRRRRFFDFFDDDBDDBDDBFFDLLLLLLLLLUBBUBB"
IGNORED = pytest.mark.parametrize("ignored", [False, True], ids=["", "ctrl-c-ignored"])


@contextlib.contextmanager
def handled(number: signal.Signals, ignored: bool) -> Iterator[None]:
    """Ignore a signal, or handle it as Python does."""
    before = signal.signal(number, signal.SIG_IGN if ignored else signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(number, before)


def test_an_interrupt_waits_for_the_search_it_cancels():
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


@IGNORED
def test_a_termination_is_an_interrupt_and_what_nohup_ignores_stays_ignored(ignored):
    with handled(signal.SIGINT, ignored), handled(signal.SIGHUP, ignored=True):
        with interrupted_by(signal.SIGHUP):
            signal.raise_signal(signal.SIGHUP)
        with pytest.raises(KeyboardInterrupt), interrupted_by(signal.SIGTERM):
            signal.raise_signal(signal.SIGTERM)


def test_only_the_first_interrupt_counts_until_patience_is_over():
    now = [100.0]
    interrupts = Interrupts(lambda: now[0])
    counted = []
    for later_s in (0.0, 0.0, PATIENCE_S - 0.1, 0.2, 0.0):
        now[0] += later_s
        counted.append(interrupts.counts())
    assert counted == [True, False, False, True, False]


@IGNORED
def test_interrupts_end_what_is_awaited_once_and_in_order(ignored):
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

    with handled(signal.SIGINT, ignored):
        if ignored:
            assert run_async(work()) == "undisturbed"
        else:
            with pytest.raises(KeyboardInterrupt):
                run_async(work())
    assert ended == [True]


@pytest.mark.parametrize("encoding", ["utf-8:strict", "ascii"])
def test_undecodable_bytes_spoil_only_their_line(encoding):
    """Check also that a byte order mark at the start is no facelet."""
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
        (f">&- <<< {TURNED}", 0, ""),
        ("<&-", 2, "Usage: cubist solve"),
        (f">/dev/full <<< {TURNED}", 2, "cubist: No space left on device"),
        ("--scramble - < <(yes R U | head -2000) | head -1", 0, ""),
    ],
)
def test_closed_full_and_abandoned_streams(redirection, code, said):
    state = "" if "--scramble" in redirection else "-"
    script = f'"$0" -m robot.cli.main solve {state} --json {redirection}'
    command = ["bash", "-o", "pipefail", "-c", script, sys.executable]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == code
    assert done.stderr.startswith(said) and bool(done.stderr) == bool(said)
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ("calibration show", "no-daemon"),
        ("calibration export -", "usage"),
        ("status", "no-daemon"),
        ("read --faces /nowhere", "bad-file"),
        ("solve --metric steps", "usage"),
        ("doctor --robot nobody's", "bad-profile"),
    ],
)
def test_with_json_every_end_is_an_object(arguments, error, capfd):
    assert run([*arguments.split(), "--json"]) in {2, 3}
    assert [json.loads(line)["error"] for line in capfd.readouterr().out.splitlines()] == [error]
