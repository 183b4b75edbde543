"""Progress of a search and of its tables: a line or a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import io
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from robot.cli.search_job import ProgressLine, text_of
from solver.solution import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_texts() -> None:
    assert text_of(Progress("tables", done=0.42)) == "tables 42%"
    searching = Progress("searching", depth=15, nodes=1_200_000_000, rate=30_000_000)
    assert text_of(searching) == "searching, depth 15, 1.2 G nodes, 30.0 M/s"


def test_a_terminal_sees_one_line_at_a_time_and_it_is_wiped() -> None:
    stream, now = Terminal(), [0.0]
    with ProgressLine(stream, lambda: now[0]) as line:
        line.report(Progress("one"))
        line.report(Progress("too soon"))
        now[0] = 1.0
        line.report(Progress("two"))
    assert stream.getvalue() == "\r\x1b[Kone\r\x1b[Ktwo\r\x1b[K"


def test_a_pipe_sees_nothing_of_a_search() -> None:
    stream = io.StringIO()
    with ProgressLine(stream) as line:
        line.report(Progress("one"))
    assert stream.getvalue() == ""


def test_a_terminal_sees_a_bar_while_tables_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    stream, now = Terminal(), [0.0]
    text = "making the tables of a search in /a/folder/far/away"
    with ProgressLine(stream, lambda: now[0]) as line:
        for done, left in ((0.0, None), (0.25, 3.2), (1.0, 0.0)):
            line.report(Progress(text, done, making=True, remaining_s=left))
            now[0] += 1.0
    shown = stream.getvalue().split("\r\x1b[K")
    assert shown == [
        "",
        "[....................]   0 %: making the tables of a sea...",
        f"{text}\n",
        "[#####...............]  25 %, 3 s left: making the table...",
        "[####################] 100 %, 0 s left: making the table...",
        "",
    ]
    assert all(len(line) < 60 for line in shown if not line.endswith("\n"))


def test_a_pipe_sees_plain_lines_where_tables_take_long() -> None:
    stream, now = io.StringIO(), [0.0]
    with ProgressLine(stream, lambda: now[0]) as line:
        for done in (0.0, 0.1, 0.2, 0.3, 1.0):
            line.report(Progress("making it in /folder", done, making=True, remaining_s=3.0))
            now[0] += 0.3
    assert stream.getvalue() == (
        "making it in /folder, about 3 s left\nmaking it in /folder: done in 1.2 s\n"
    )


def test_a_pipe_sees_nothing_where_tables_are_there_at_once() -> None:
    stream = io.StringIO()
    with ProgressLine(stream, lambda: 0.0) as line:
        for done in (0.0, 0.5, 1.0):
            line.report(Progress("making it in /folder", done, making=True))
    assert stream.getvalue() == ""


COMMAND = [sys.executable, "-c"]
PROGRAM = """
import sys, time
from solver import _native
from solver.errors import SearchError

def make(*arguments):
    report = arguments[-1]
    for step in range(9):
        if not report(step / 8):
            return False
        time.sleep({pause_s})
    return True

class TwoPhase:
    def __init__(self, *tables): pass
    def solve(self, *_, **options): raise SearchError("This is no search.")

_native.phase1_size = _native.phase2_size = lambda metric: 1_000_000
_native.make_phase1 = _native.make_phase2 = make
_native.TwoPhase = TwoPhase
from robot.cli.main import main
sys.argv[1:] = ["solve", "--robot", "four-arm", "--scramble", "R U F2", *sys.argv[1:]]
main()
"""
"""The command with tables of 1 MB that are made in steps, and then no search."""

WHAT = "making the pruning tables of two-phase in axial (2 MB) in "


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CUBIST_CACHE_DIR", str(tmp_path))
    return tmp_path


def test_a_terminal_shows_a_bar(directory: Path) -> None:
    terminal, ours = pty.openpty()
    command = [*COMMAND, PROGRAM.format(pause_s=0.15)]
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=ours
    )
    os.close(ours)
    shown = b""
    try:
        while part := os.read(terminal, 4096):
            shown += part
    except OSError:
        pass  # how a terminal ends whose program is gone
    finally:
        os.close(terminal)
    process.wait()
    text = shown.decode()
    assert f"{WHAT}{directory}" in text
    assert "[....................]   0 %: making" in text
    assert "s left: making" in text
    assert "[####################] 100 %" in text
    assert "This is no search." in text.rsplit("\x1b[K", 1)[-1]  # where the bar was


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_plain_lines_elsewhere(directory: Path, options: list[str]) -> None:
    program = PROGRAM.format(pause_s=0.1)
    command = [*COMMAND, program, *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    first, last = done.stderr.splitlines()[:2]
    assert first.startswith(f"{WHAT}{directory}, about ")
    assert last.startswith(f"{WHAT}{directory}: done in ")
    assert "\x1b" not in done.stderr
    assert "\r" not in done.stderr
