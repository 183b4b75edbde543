"""`.ci/prepare`: what was built depends on what it was built with, and half a step is no step.

pip, the compilers and Python are stand-ins here, which say they are what the test wants them to be;
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
        (self.checkout / ".ci").mkdir(parents=True)
        for place in ("solver/native", "firmware", "config", "systemd"):
            (self.checkout / place).mkdir(parents=True)
            (self.checkout / place / "source.c").touch()
        shutil.copy(ROOT / ".ci" / "prepare", self.checkout / ".ci")
        for name in ("pyproject.toml", "systemd/constraints.txt"):
            shutil.copy(ROOT / name, self.checkout / name)
        self.tools.mkdir()
        self.tool("system-python", PYTHON.replace("REAL", sys.executable))
        self.tool("cc", COMPILER)
        self.compiler("12.2")
        self.python("3.11.2 of Debian")
        (self.tools / "simavr").touch()

    def tool(self, name: str, text: str) -> None:
        """Write a program."""
        (self.tools / name).write_text(text)
        (self.tools / name).chmod(0o755)

    def compiler(self, version: str) -> None:
        """Install this version of the compilers."""
        (self.tools / "compiler-version").write_text(version)

    def python(self, version: str) -> None:
        """Install this version of Python; those in virtual environments stay what they are."""
        (self.tools / "sitecustomize.py").write_text(f"import sys; sys.version = {version!r}\n")

    def prepare(self) -> list[str]:
        """Run it; the packages that pip was told to install, those of the build as "."."""
        self.calls.unlink(missing_ok=True)
        tools = {name: str(self.tools / "cc") for name in ("CC", "CXX")}
        tools |= {"PYTHON": str(self.tools / "system-python")}
        state = {"CALLS": str(self.calls), "BREAK": str(self.broken)}
        # Another Python's sitecustomize is as long and as old, to the second: compiled, the first
        # one would go on to be used.
        state["PYTHONDONTWRITEBYTECODE"] = "1"
        command = [str(self.checkout / ".ci" / "prepare"), "run"]
        done = subprocess.run(
            command,
            env={**os.environ, **tools, **state},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == (1 if self.broken.exists() else 0), done.stderr
        lines = self.calls.read_text().splitlines() if self.calls.exists() else []
        return [line.split()[-1] for line in lines if " install " in line]

    def objects(self) -> bool:
        """Whether objects of the last build were kept until a new one made others."""
        return (self.checkout / "build/cp311/old").exists()


ALL = ["ninja", "."]
BUILD = ["."]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A machine on which everything has been prepared once."""
    machine = Machine(tmp_path)
    assert machine.prepare() == ALL
    (machine.checkout / "build/cp311/old").touch()
    return machine


def test_the_simulator_that_came_is_built_and_one_that_went_is_gone(machine: Machine) -> None:
    (machine.tools / "simavr").write_text("typedef struct avr_t avr_t;")
    assert machine.prepare() == BUILD
    assert machine.objects()  # the kernel is not compiled again for that
    assert machine.prepare() == []
    (machine.tools / "simavr").write_text("")
    assert machine.prepare() == BUILD


def test_another_compiler_compiles_everything_again(machine: Machine) -> None:
    machine.compiler("14.2")
    assert machine.prepare() == BUILD
    assert not machine.objects()


def test_a_changed_source_is_built(machine: Machine) -> None:
    (machine.checkout / "solver/native/source.c").write_text("int x;")
    assert machine.prepare() == BUILD
    assert machine.objects()


def test_another_python_gets_an_environment_of_its_own(machine: Machine) -> None:
    (machine.checkout / ".venv/old").touch()
    machine.python("3.13.5 of Debian")
    assert machine.prepare() == ALL
    assert not (machine.checkout / ".venv/old").exists()
    assert not machine.objects()
    assert machine.prepare() == []


def test_a_moved_checkout_is_prepared_again(machine: Machine, tmp_path: Path) -> None:
    machine.checkout = machine.checkout.rename(tmp_path / "elsewhere")
    assert machine.prepare() == ALL
    assert not machine.objects()


def test_a_failed_build_leaves_nothing_that_counts_as_built(machine: Machine) -> None:
    source = machine.checkout / "solver/native/source.c"
    source.write_text("int broken;")
    machine.broken.touch()
    assert machine.prepare() == BUILD
    source.write_text("")  # as it was when the last build succeeded
    machine.broken.unlink()
    assert machine.prepare() == BUILD
