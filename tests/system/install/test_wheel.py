"""The wheel in an environment of its own, as programs that import Cubist install it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.system.install.debian_root import CHECKOUT

pytestmark = [pytest.mark.long, pytest.mark.timeout(1800)]

EXAMPLES = re.findall(
    r"```python\n(.*?)```", (CHECKOUT / "docs/learning.md").read_text(encoding="utf-8"), re.DOTALL
)
FOREIGN = {
    "robotframework/robot/__init__.py": "",
    "robotframework/setup.py": "from setuptools import setup\n"
    "setup(name='robotframework', version='0', packages=['robot'])",
}


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a virtual environment with the wheel, installed from a file with two of its extras."""
    folder = tmp_path_factory.mktemp("wheel")
    scratch = folder / "scratch"
    scratch.mkdir()
    command = [CHECKOUT / "systemd/build-wheel", sys.executable, scratch]
    made = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
    pip = [folder / "venv/bin/python", "-m", "pip", "--quiet", "install"]
    subprocess.run([*pip, f"{made}[learning,display]"], check=True)
    return folder / "venv/bin"


def run(environment: Path, *words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    settings = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}
    settings |= {"XDG_CACHE_HOME": str(cwd)}
    command = [environment / words[0], *words[1:]]
    return subprocess.run(
        command, cwd=cwd, env=settings, capture_output=True, text=True, check=False
    )


def test_the_examples_of_the_docs_run(environment, tmp_path):
    assert len(EXAMPLES) >= 3
    for example in EXAMPLES:
        done = run(environment, "python", "-c", example, cwd=tmp_path)
        assert done.returncode == 0, done.stderr


def test_the_command_solves_a_cube(environment, tmp_path):
    done = run(environment, "cubist", "solve", "--scramble", "R U F", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert run(environment, "cubist", "config", "check", cwd=tmp_path).returncode == 0


def test_robot_framework_in_the_same_environment_is_named(environment, tmp_path):
    for name, text in FOREIGN.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    pip = ["python", "-m", "pip", "--quiet", "install", "--no-deps"]
    done = run(environment, *pip, str(tmp_path / "robotframework"), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    done = run(environment, "cubist", "--version", cwd=tmp_path)
    assert done.returncode == 2
    assert "robotframework" in done.stderr
