"""The workflow and the hooks of a repository service run what README and `make help` name."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import TypedDict

import yaml

ROOT = Path(__file__).parents[2]
README_COMMANDS = re.compile(r"^    (make \w+) ", re.MULTILINE)


class Step(TypedDict, total=False):
    """One step of a job."""

    name: str
    run: str
    uses: str


def steps() -> list[Step]:
    """What the newcomer's job does, in order."""
    workflow = yaml.safe_load((ROOT / ".github/workflows/newcomer.yml").read_text())
    found: list[Step] = workflow["jobs"]["try-it"]["steps"]
    return found


def test_the_workflow_runs_the_commands_of_readme_as_a_newcomer() -> None:
    commands = README_COMMANDS.findall((ROOT / "README.md").read_text())
    assert commands == ["make demo", "make test"]
    ran = [step["run"] for step in steps() if step.get("run", "").startswith("su ")]
    as_newcomer = "su - newcomer -c 'cd cubist && {}'"
    assert ran == [as_newcomer.format(command) for command in [*commands, "make lint"]]


def test_the_workflow_installs_what_readme_names() -> None:
    [needed] = re.findall(r"sudo apt install (.*)", (ROOT / "README.md").read_text())
    [installed] = re.findall(r"install -y --no-install-recommends (.*)", steps()[0]["run"])
    assert set(needed.split()) <= set(installed.split())


def test_the_steps_are_shell() -> None:
    for step in steps():
        if "run" in step:
            subprocess.run(["bash", "-n"], input=step["run"], text=True, check=True, timeout=60)


def test_before_a_commit_the_hooks_run_make_lint() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())
    assert [hook["entry"] for repo in hooks["repos"] for hook in repo["hooks"]] == ["make lint"]
