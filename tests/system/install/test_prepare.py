"""Tests of `.ci/prepare`: it rebuilds when a tool changes, and a half-finished step does not count.

pip, the compilers and Python are stand-ins that report the version a test chooses.
`test_newcomer.py` has the real ones.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
LOCK = f"systemd/lock/python{sys.version_info.major}.{sys.version_info.minor}"
PYTHON = """#!/bin/sh
# `-m venv PLACE` makes one of stand-ins; `-m pip` writes down what it was asked for.
here=$(dirname "$0")
if [ "$1 $2" = "-m pip" ]; then
  echo "$@" >>"$CALLS"
  case "$*" in
    *--editable*)
      [ ! -e "$BREAK" ] || exit 1
      mkdir -p build/cp311; touch build/cp311/object
      cp "$0" "$here/cubist-firmware-host" ;;
  esac
  exit 0
fi
if [ "$1 $2" = "-m venv" ]; then
  mkdir -p "$3/bin" && cp "$here/sitecustomize.py" "$3/bin/" && cp "$0" "$3/bin/python"
  echo 'include-system-site-packages = false' >"$3/pyvenv.cfg"
  echo "command = python -m venv $PWD/$3" >>"$3/pyvenv.cfg"
  exit 0
fi
PYTHONPATH=$here exec REAL "$@"
"""
COMPILER = """#!/bin/sh
case "$1" in
  --version) cat "$(dirname "$0")/compiler-version" ;;
  -E) cat "$(dirname "$0")/simavr" ;;
  *) echo nothing ;;
esac
"""


class Machine:
    """A checkout and the tools that it is prepared with."""

    def __init__(self, folder: Path) -> None:
        self.checkout = folder / "checkout"
        self.tools = folder / "tools"
        self.calls = folder / "calls"
        self.broken = folder / "broken"
        for place in (".ci", "solver/native", "firmware", "config", "systemd"):
            (self.checkout / place).mkdir(parents=True)
            (self.checkout / place / "source.c").touch()
        for name in (".ci/prepare", "pyproject.toml"):
            shutil.copy(ROOT / name, self.checkout / name)
        (self.checkout / LOCK).mkdir(parents=True)
        (self.checkout / LOCK / "program.txt").write_text("numpy==1")
        self.tools.mkdir()
        for name, program in (
            ("python3", PYTHON.replace("REAL", sys.executable)),
            ("cc", COMPILER),
        ):
            (self.tools / name).write_text(program)
            (self.tools / name).chmod(0o755)
        self.install("compiler-version", "12.2")
        self.install("simavr", "")
        self.install_python("3.11.2 of Debian")

    def install(self, tool: str, text: str) -> None:
        """Install a version of the compilers or a header of simavr."""
        (self.tools / tool).write_text(text)

    def install_python(self, version: str) -> None:
        """Install a version of Python. Existing virtual environments keep theirs."""
        self.install("sitecustomize.py", f"import sys; sys.version = {version!r}\n")

    def prepare(self) -> list[str]:
        """Run the script; return the packages that pip was told to install. "." is the build."""
        self.calls.unlink(missing_ok=True)
        environment = {name: str(self.tools / "cc") for name in ("CC", "CXX")}
        environment |= {"PYTHON": str(self.tools / "python3")}
        environment |= {"CALLS": str(self.calls), "BREAK": str(self.broken)}
        # Two sitecustomize files have the same size and the same time to the second. If the first
        # were compiled, Python would go on using it.
        environment["PYTHONDONTWRITEBYTECODE"] = "1"
        done = subprocess.run(
            [self.checkout / ".ci/prepare", "run"],
            env=os.environ | environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == (1 if self.broken.exists() else 0), done.stderr
        lines = self.calls.read_text().splitlines() if self.calls.exists() else []
        return [line.split()[-1] for line in lines if " install " in line]


ALL = [f"{LOCK}/build.txt", "."]
BUILD = ["."]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """Return a machine on which everything has been prepared once."""
    machine = Machine(tmp_path)
    assert machine.prepare() == ALL
    for old in ("build/cp311/old", ".venv/old"):
        (machine.checkout / old).touch()
    return machine


def move_checkout(machine: Machine) -> None:
    machine.checkout = machine.checkout.rename(machine.tools.parent / "elsewhere")


@pytest.mark.parametrize(
    ("change", "steps", "keeps_objects", "keeps_venv"),
    [
        (lambda m: m.install("simavr", "typedef struct avr_t avr_t;"), BUILD, True, True),
        (lambda m: m.install("compiler-version", "14.2"), BUILD, False, True),
        (lambda m: m.install_python("3.13.5 of Debian"), ALL, False, False),
        (lambda m: (m.checkout / "firmware/source.c").write_text("int x;"), BUILD, True, True),
        (move_checkout, ALL, False, False),
        (lambda m: (m.checkout / LOCK / "program.txt").write_text("numpy==2"), ALL, True, False),
        (lambda m: shutil.rmtree(m.checkout / LOCK), ["ninja>=1.11", "."], True, False),
    ],
    ids=["simulator", "compiler", "python", "source", "place", "versions", "no locked versions"],
)
def test_what_depends_on_a_change_is_made_again_once(
    machine, change, steps, keeps_objects, keeps_venv
):
    change(machine)
    assert machine.prepare() == steps
    assert (machine.checkout / "build/cp311/old").exists() == keeps_objects
    assert (machine.checkout / ".venv/old").exists() == keeps_venv
    assert machine.prepare() == []


def test_a_failed_build_leaves_nothing_that_counts_as_built(machine):
    source = machine.checkout / "solver/native/source.c"
    source.write_text("int broken;")
    machine.broken.touch()
    assert machine.prepare() == BUILD
    source.write_text("")  # as it was when the last build succeeded
    machine.broken.unlink()
    assert machine.prepare() == BUILD
