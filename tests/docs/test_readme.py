"""The commands of the README do what they say, on a fresh checkout without a robot."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from robot.cli.main import run
from solver.errors import ExitCode

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
TRY_IT = README.partition("## Try it")[2].partition("## On a robot")[0]
COMMANDS = [line.strip() for line in re.findall(r"^    (cubist [^#\n]*)", TRY_IT, re.MULTILINE)]
ELSEWHERE = {
    "cubist calibrate all --robot cubotino": (ExitCode.USAGE, "terminal"),
    "cubist status": (ExitCode.FAILED, "cubist simulate"),
}
"""What needs a person at a terminal or a daemon, and what it says where there is none."""
SLOW = ("cubist demo", "cubist simulate")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_works_as_it_is_written(
    command: str,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("CUBIST_RUNTIME_DIR", str(tmp_path))
    code, words = ELSEWHERE.get(command, (ExitCode.DONE, ""))
    asked = shlex.split(command)[1:]
    if command.startswith(SLOW):  # their own tests run them: here, that their options exist
        asked.append("--help")
    assert run(asked) == code
    told = capfd.readouterr()
    assert words in told.out + told.err


def test_the_list_is_read_as_it_stands() -> None:
    assert len(COMMANDS) >= 9 and "cubist read --faces config/photographs" in COMMANDS


def test_what_is_to_be_pasted_is_no_redirection() -> None:
    """`<name>` is one for the shell."""
    for page in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md")):
        for line in page.read_text(encoding="utf-8").splitlines():
            if line.strip().startswith(("git ", "cubist ", "sudo ", "make ")):
                assert not re.search(r"<[a-z ]+>", line), f"{page.name}: {line}"
