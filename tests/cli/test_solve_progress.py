"""Progress of a search and of its tables: a line or a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import io
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from robot.cli.search_job import ProgressLine
from solver.solution import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


SEARCHING = Progress("searching", depth=15, nodes=1_200_000_000, rate=30_000_000)
MAKING = "making the tables of a search in /a/folder/far/away"
IN_STEPS = [
    Progress("making it", done / 10, making=True, remaining_s=3.0) for done in (0, 1, 2, 10)
]


@pytest.mark.parametrize(
    ("stream", "every_s", "reports", "shown"),
    [
        (Terminal(), 1.0, [Progress("one"), Progress("two")], ["", "one", "two", ""]),
        (Terminal(), 0.05, [Progress("one"), Progress("too soon")], ["", "one", ""]),
        (Terminal(), 1.0, [Progress("tables", done=0.42)], ["", "tables 42%", ""]),
        (
            Terminal(),
            1.0,
            [SEARCHING],
            ["", "searching, depth 15, 1.2 G nodes, 30.0 M/s", ""],
        ),
        (
            Terminal(),
            1.0,
            [
                Progress(MAKING, done, making=True, remaining_s=left)
                for done, left in ((0.0, None), (0.25, 3.2), (1.0, 0.0))
            ],
            [
                "",
                "[....................]   0 %: making the tables of a sea...",
                f"{MAKING}\n",
                "[#####...............]  25 %, 3 s left: making the table...",
                "[####################] 100 %, 0 s left: making the table...",
                "",
            ],
        ),
        (io.StringIO(), 1.0, [Progress("one")], [""]),
        (io.StringIO(), 0.0, IN_STEPS, [""]),
        (
            io.StringIO(),
            0.4,
            IN_STEPS,
            ["making it, about 3 s left\nmaking it: done in 1.2 s\n"],
        ),
    ],
)
def test_a_line_on_a_terminal_is_wiped_and_a_pipe_sees_only_what_takes_long(
    stream, every_s, reports, shown, monkeypatch
):
    monkeypatch.setenv("COLUMNS", "60")
    now = [0.0]
    with ProgressLine(stream, lambda: now[0]) as line:
        for progress in reports:
            line.report(progress)
            now[0] += every_s
    assert stream.getvalue().split("\r\x1b[K") == shown


PROGRAM = """
import sys, time
from solver import _native
from solver.errors import SearchError

def make(*arguments):
    report = arguments[-1]
    for step in range(9):
        if not report(step / 8):
            return False
        time.sleep(0.12)
    return True

class TwoPhase:
    def __init__(self, *tables): pass
    def solve(self, *_, **options): raise SearchError("This is no search.")

_native.phase1_size = _native.phase2_size = lambda metric: 1_000_000
_native.make_phase1 = _native.make_phase2 = make
_native.TwoPhase = TwoPhase
from robot.cli.main import main
sys.argv[1:] = ["solve", "--metric", "axial", "--scramble", "R U F2", *sys.argv[1:]]
main()
"""
"""The command with tables of 1 MB that are made in steps, and then no search."""
COMMAND = [sys.executable, "-c", PROGRAM]


@pytest.fixture
def what(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """What the command says that it makes."""
    monkeypatch.setenv("CUBIST_CACHE_DIR", str(tmp_path))
    return f"making the pruning tables of two-phase in axial (2 MB) in {tmp_path}"


def test_a_terminal_shows_a_bar(what):
    terminal, ours = pty.openpty()
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL}
    with subprocess.Popen(COMMAND, stderr=ours, **quiet), os.fdopen(terminal, "rb", 0) as screen:
        os.close(ours)
        shown = b""
        try:
            while part := screen.read(4096):
                shown += part
        except OSError:
            pass  # how a terminal ends whose program is gone
    text = shown.decode()
    assert what in text
    assert "[....................]   0 %: making" in text
    assert "s left: making" in text
    assert "[####################] 100 %" in text
    assert "This is no search." in text.rsplit("\x1b[K", 1)[-1]  # where the bar was


def test_plain_lines_elsewhere(what):
    done = subprocess.run([*COMMAND, "--json"], capture_output=True, text=True, check=False)
    first, last = done.stderr.splitlines()[:2]
    assert first.startswith(f"{what}, about ")
    assert last.startswith(f"{what}: done in ")
    assert "\x1b" not in done.stderr and "\r" not in done.stderr
