"""``cubist solve`` says that it makes tables: a bar in a terminal, plain lines elsewhere."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

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
