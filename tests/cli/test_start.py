"""Foreign packages with the names of ours: the commands name them instead of failing inside."""

from __future__ import annotations

import base64
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

FILES = {
    "robot/__init__.py": '"""Ours."""',
    "robot/cli/__init__.py": "",
    "robot/cli/main.py": "from robot.text import words\ndef main(): print(words)",
    "robot/text.py": "words = 'ours'",
    "solver/__init__.py": "",
    "vision/__init__.py": "",
}
OTHERS = "robotframework-7.0.dist-info"


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder as pip leaves it, with small packages of our names."""
    site = tmp_path / "site"
    shutil.copytree(Path(__file__).parents[2] / "robot/cubist_robot", site / "cubist_robot")
    record = ""
    for name, text in FILES.items():
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).write_text(text)
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest())
        record += f"{name},sha256={digest.decode().rstrip('=')},{len(text)}\n"
    (site / "cubist_robot-1.0.dist-info").mkdir()
    (site / "cubist_robot-1.0.dist-info/RECORD").write_text(record)
    return site


def run_cubist(site: Path, *before: Path) -> tuple[int, str]:
    """Run the command with other folders before ours; return exit code and output."""
    path = os.pathsep.join(map(str, [*before, site]))
    # -S: without what this checkout's environment finds by itself.
    command = [sys.executable, "-S", "-c", "import cubist_robot; cubist_robot.cubist()"]
    environment = os.environ | {"PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        command, env=environment, cwd=site.parent, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout + done.stderr


def overwrite(site: Path, name: str) -> None:
    (site / name).write_text('"""Theirs."""')
    (site / OTHERS).mkdir()
    (site / OTHERS / "RECORD").write_text(f"robot/run.py,,\n{name},,\n")


def test_our_own_packages_are_run(site: Path) -> None:
    assert run_cubist(site) == (0, "ours\n")


@pytest.mark.parametrize("foreign", ["robot/__init__.py", "solver.py"])
def test_a_package_that_hides_ours_is_named_with_its_path(site: Path, foreign: str) -> None:
    hiding = site.parent / "workshop" / foreign
    hiding.parent.mkdir(parents=True)
    hiding.write_text("raise SystemExit('it ran')")
    code, said = run_cubist(site, site.parent / "workshop")
    assert code == 2
    assert str(hiding) in said and f"Take {site.parent / 'workshop'} out of PYTHONPATH" in said


@pytest.mark.parametrize("name", ["robot/__init__.py", "robot/text.py"])
def test_a_package_that_overwrote_a_file_of_ours_is_named(site: Path, name: str) -> None:
    overwrite(site, name)
    code, said = run_cubist(site)
    assert code == 2
    assert str(site / name) in said and "'robotframework'" in said


def test_a_package_that_is_missing_is_named(site: Path) -> None:
    shutil.rmtree(site / "vision")
    code, said = run_cubist(site)
    assert code == 2 and str(site / "vision") in said
