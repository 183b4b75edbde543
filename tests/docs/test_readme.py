"""The commands of the README do what they say, and the workflow runs them as a newcomer would."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import pytest
import yaml

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


WORKFLOW = yaml.safe_load((ROOT / ".github/workflows/newcomer.yml").read_text())
STEPS = [step["run"] for step in WORKFLOW["jobs"]["try-it"]["steps"] if "run" in step]


def test_the_workflow_runs_the_commands_of_readme_as_a_newcomer() -> None:
    commands = re.findall(r"^    (make \w+) ", README, re.MULTILINE)
    assert commands == ["make demo", "make test"]
    ran = [step for step in STEPS if step.startswith("su ")]
    as_newcomer = "su - newcomer -c 'cd cubist && {}'"
    assert ran == [as_newcomer.format(command) for command in [*commands, "make lint"]]


def test_the_workflow_installs_what_readme_names() -> None:
    [needed] = re.findall(r"sudo apt install (.*)", README)
    [installed] = re.findall(r"install -y --no-install-recommends (.*)", STEPS[0])
    assert set(needed.split()) <= set(installed.split())


def test_the_steps_are_shell() -> None:
    for step in STEPS:
        subprocess.run(["bash", "-n"], input=step, text=True, check=True, timeout=60)


def test_before_a_commit_the_hooks_run_make_lint() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())
    assert [hook["entry"] for repo in hooks["repos"] for hook in repo["hooks"]] == ["make lint"]
